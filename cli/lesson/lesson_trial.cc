#include "cli/lesson/lesson_trial.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "lockstep/error.h"

namespace lockstep::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
constexpr int kMostSeconds = 180;  // a lesson takes two; a loop without end takes this

struct Ended {
  int status = 0;  // as waitpid gives it
  bool timed_out = false;
};

// Runs words as a program; its output goes to these files where they are named.
Ended run(const std::vector<std::string>& words, const std::string& out, const std::string& errors,
          const std::vector<std::pair<std::string, std::string>>& environment, int seconds) {
  std::fflush(stdout);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw Error(std::string("can't start a process: ") + std::strerror(errno));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    for (const auto& [path, to] : {std::pair{&out, 1}, std::pair{&errors, 2}}) {
      if (path->empty()) continue;
      const int file = open(path->c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
      if (file >= 0) dup2(file, to);
    }
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    fmt::print(stderr, "{}: {}\n", words[0], std::strerror(errno));
    _exit(127);
  }
  Ended ended;
  const Clock::time_point stop = Clock::now() + std::chrono::seconds(seconds);
  while (waitpid(child, &ended.status, WNOHANG) == 0) {
    if (Clock::now() > stop && !ended.timed_out) {
      ended.timed_out = true;
      kill(child, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return ended;
}

// Where what is compiled may lie: the build's folder, or the user's own where that one is not writable.
fs::path cache_folder(const LessonManifest& manifest) {
  std::error_code none;
  fs::create_directories(manifest.cache, none);
  if (access(manifest.cache.c_str(), W_OK) == 0) return manifest.cache;
  const char* home = std::getenv("HOME");
  const fs::path own = fs::path(home != nullptr ? home : "/tmp") / ".cache" / "lockstep" / "lessons";
  fs::create_directories(own, none);
  return own;
}

std::vector<std::string> compile_words(const LessonManifest& manifest) {
  std::vector<std::string> words{manifest.compiler};
  words.insert(words.end(), manifest.flags.begin(), manifest.flags.end());
  for (const fs::path& folder : manifest.include) words.push_back("-I" + folder.string());
  return words;
}

std::string head(const std::string& text, std::size_t lines) {
  std::istringstream all(text);
  std::string some, line;
  while (lines-- > 0 && std::getline(all, line)) some += line + "\n";
  return some;
}

bool newer_than(const fs::path& folder, const fs::file_time_type& time) {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.last_write_time() > time) return true;
  }
  return false;
}

void read_results(const fs::path& path, LessonTrial& trial) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> fields;
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, '\t');) fields.push_back(cell);
    fields.resize(4);
    std::replace(fields[3].begin(), fields[3].end(), '\x1f', '\n');
    if (fields[0] == "start") {
      trial.tests.push_back({fields[1], fields[2], "the program ended before this test did", false});
    } else if (!trial.tests.empty()) {
      trial.tests.back().passed = fields[0] == "pass";
      trial.tests.back().message = fields[3];
    }
  }
}

// What the virtual GPU says on stderr, the test says in full; the rest is the learner's.
void pass_on_own_words(const std::string& errors) {
  std::istringstream lines(errors);
  bool theirs = false;
  for (std::string line; std::getline(lines, line);) {
    theirs = line.rfind("virtual ", 0) == 0 || (theirs && line.rfind("  ", 0) == 0);
    if (!theirs) fmt::print(stderr, "{}\n", line);
  }
}

std::string crash_words(int status, const LessonTrial& trial) {
  const std::string where = trial.tests.empty() ? "" : " in the test \"" + trial.tests.back().name + "\"";
  if (!WIFSIGNALED(status)) return fmt::format("The program ended{} with the code {}.", where, WEXITSTATUS(status));
  switch (WTERMSIG(status)) {
    case SIGSEGV:
      return "The program touched memory that is not there (a segmentation fault)" + where +
             ".\nOn the host an index may be outside its vector, or the pointer is one of a GPU.";
    case SIGABRT:
      return "The program was aborted" + where + ": an exception left a thread, or the C++ library found a misuse.";
    case SIGFPE:
      return "The program divided by zero" + where + ".";
    default:
      return fmt::format("The program was ended by the signal {}{}.", strsignal(WTERMSIG(status)), where);
  }
}

}  // namespace

int LessonTrial::passed() const {
  return static_cast<int>(std::count_if(tests.begin(), tests.end(), [](const Test& test) { return test.passed; }));
}

const LessonTrial::Test* LessonTrial::first_failure() const {
  for (const Test& test : tests) {
    if (!test.passed) return &test;
  }
  return nullptr;
}

void prepare_lessons(const LessonManifest& manifest) {
  const fs::path folder = cache_folder(manifest);
  const fs::path header = folder / "lesson_all.h", compiled = folder / "lesson_all.h.gch";
  std::error_code none;
  bool stale = !fs::exists(compiled);
  for (const fs::path& include : manifest.include) stale = stale || newer_than(include, fs::last_write_time(compiled, none));
  if (!stale) return;
  // Under a name of its own first: several may do this at the same time.
  const std::string own = (folder / fmt::format("lesson_all.{}", getpid())).string();
  std::ofstream(own + ".h") << "#include \"lesson.h\"\n#include \"lesson_test.h\"\n";
  std::vector<std::string> words = compile_words(manifest);
  for (const std::string& word : {std::string("-x"), std::string("c++-header"), own + ".h", std::string("-o"), own + ".gch"})
    words.push_back(word);
  const Ended ended = run(words, "", own + ".log", {}, 600);
  const std::string log = read_text(own + ".log");
  fs::remove(own + ".log", none);
  if (ended.status != 0) throw Error("the lessons' headers do not compile; is a C++20 compiler (g++ 11 or newer) here?\n" + head(log, 20));
  fs::rename(own + ".h", header);
  fs::rename(own + ".gch", compiled);
}

LessonTrial try_lesson(const LessonManifest& manifest, const Lesson& lesson, const fs::path& file, bool quiet) {
  prepare_lessons(manifest);
  LessonTrial trial;
  const Clock::time_point begin = Clock::now();
  const fs::path folder = cache_folder(manifest);
  const std::string program = (folder / fmt::format("{}.{}", lesson.name, getpid())).string();
  const std::string log = program + ".log", results = program + ".results";
  struct Remove {
    std::vector<std::string> paths;
    ~Remove() {
      std::error_code none;
      for (const std::string& path : paths) fs::remove(path, none);
    }
  } const remove{{program, log, results}};

  std::vector<std::string> words = compile_words(manifest);
  for (const std::string& word :
       {"-I" + lesson.folder.string(), std::string("-include"), (folder / "lesson_all.h").string(), std::string("-include"),
        fs::absolute(file).string(), std::string("-fmax-errors=3"), std::string("-fdiagnostics-color=never"),
        (lesson.folder / "lesson_test.cc").string(), std::string("-o"), program})
    words.push_back(word);
  words.insert(words.end(), manifest.link.begin(), manifest.link.end());
  words.push_back("-L" + manifest.folder.string());
  words.push_back("-Wl,-rpath," + manifest.folder.string() + ",-rpath-link," + manifest.folder.string());
  for (const std::string& library : manifest.libraries) words.push_back("-l" + library);
  const Ended compiled = run(words, "", log, {}, 600);
  if (compiled.status != 0) {
    trial.ending = LessonTrial::Ending::not_compiled;
    std::string said = read_text(log);
    if (said.rfind("In file included from <command-line>", 0) == 0) said = said.substr(said.find('\n') + 1);
    trial.words = head(said, 24);
    return trial;
  }
  if (const std::string warnings = read_text(log); !warnings.empty() && !quiet) fmt::print(stderr, "{}\n", head(warnings, 12));

  const Ended ended = run({program}, quiet ? "/dev/null" : "", log, {{"LOCKSTEP_LESSON_RESULTS", results}}, kMostSeconds);
  trial.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  read_results(results, trial);
  const std::string errors = read_text(log);
  if (ended.timed_out) {
    trial.ending = LessonTrial::Ending::timed_out;
    trial.words = fmt::format("The program was still running after {} seconds and was stopped{}. Does a loop in your code ever end?",
                              kMostSeconds, trial.tests.empty() ? "" : ", in the test \"" + trial.tests.back().name + "\"");
  } else if (WIFSIGNALED(ended.status) || WEXITSTATUS(ended.status) > 1) {
    trial.ending = LessonTrial::Ending::crashed;
    trial.words = crash_words(ended.status, trial) + (errors.empty() ? "" : "\n" + head(errors, 12));
  } else {
    trial.ending = ended.status == 0 ? LessonTrial::Ending::passed : LessonTrial::Ending::failed;
    if (!quiet) pass_on_own_words(errors);
  }
  return trial;
}

}  // namespace lockstep::cli
