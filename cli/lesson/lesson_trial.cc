#include "cli/lesson/lesson_trial.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "cli/child.h"
#include "lockstep/error.h"

namespace lockstep::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
constexpr int kMostSeconds = 300;  // of a lesson's program, which takes about two, and which ends a test that does not end by itself
constexpr int kMostCompileSeconds = 600;

// The folder for compiled files: the build's, or the user's own where that one is not writable.
fs::path cache_folder(const LessonManifest& manifest) {
  std::error_code none;
  fs::create_directories(manifest.cache, none);
  if (access(manifest.cache.c_str(), W_OK) == 0) return manifest.cache;
  const char* home = std::getenv("HOME");
  const fs::path own = fs::path(home != nullptr ? home : "/tmp") / ".cache" / "lockstep" / "lessons";
  fs::create_directories(own, none);
  return own;
}

std::vector<std::string> compile_command(const LessonManifest& manifest) {
  std::vector<std::string> command{manifest.compiler};
  command.insert(command.end(), manifest.flags.begin(), manifest.flags.end());
  for (const fs::path& folder : manifest.include) command.push_back("-I" + folder.string());
  return command;
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

// Whether the program has come to its end, after all tests.
bool read_results(const fs::path& path, LessonTrial& trial) {
  std::ifstream file(path);
  bool complete = false;
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> fields;
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, '\t');) fields.push_back(cell);
    fields.resize(4);
    std::replace(fields[3].begin(), fields[3].end(), '\x1f', '\n');
    if (fields[0] == "plan") trial.tests.push_back({fields[1], fields[2], "not reached", false, false, true});
    if (fields[0] == "complete") complete = true;
    if (fields[0] == "stopped") trial.ending = LessonTrial::Ending::timed_out;
    if (fields[0] == "stopped" || fields[0] == "crashed") trial.message = fields[3];
    if (fields[0] == "place") trial.place = fields[3];
    for (LessonTrial::Test& test : trial.tests) {
      if (test.part != fields[1] || test.name != fields[2]) continue;
      if (fields[0] == "start") test.started = true;
      if (fields[0] == "start") test.message = "the program ended before this test did";
      if (fields[0] == "pass" || fields[0] == "fail" || fields[0] == "unreached") test.message = fields[3];
      if (fields[0] == "unreached") test.reached = false;
      test.passed = fields[0] == "pass";
    }
  }
  return complete;
}

// The test's message has the virtual GPU's lines on stderr in full; the other lines are the learner's own.
void print_learners_errors(const std::string& errors) {
  std::istringstream lines(errors);
  bool theirs = false;
  for (std::string line; std::getline(lines, line);) {
    theirs = line.rfind("virtual ", 0) == 0 || (theirs && line.rfind("  ", 0) == 0);
    if (!theirs) fmt::print(stderr, "{}\n", line);
  }
}

std::string in_test(const LessonTrial& trial) {
  const LessonTrial::Test* const last = trial.last_started();
  return last == nullptr ? "" : " in the test \"" + last->name + "\"";
}

std::string crash_message(int status, const LessonTrial& trial) {
  const std::string where = (trial.place.empty() ? "" : " at " + trial.place) + in_test(trial);
  if (!WIFSIGNALED(status)) {
    return fmt::format(
        "The program ended{} with the exit code {}, before all tests were done. Does your code call exit()? Return from your function "
        "instead.",
        where, WEXITSTATUS(status));
  }
  switch (WTERMSIG(status)) {
    case SIGSEGV:
      return "The program accessed an invalid address (a segmentation fault)" + where +
             ".\nAn index may be outside its vector, or the host uses a pointer to GPU memory.";
    case SIGABRT:
      return "The program was aborted" + where +
             ": an exception was not caught in a thread, or one of the checks that are built in found an error.";
    case SIGFPE:
      return "The program divided by zero" + where + ".";
    default:
      return fmt::format("The program was ended by signal {}{}.", strsignal(WTERMSIG(status)), where);
  }
}

}  // namespace

int LessonTrial::passed() const {
  return static_cast<int>(std::count_if(tests.begin(), tests.end(), [](const Test& test) { return test.passed; }));
}

const LessonTrial::Test* LessonTrial::last_started() const {
  const Test* last = nullptr;
  for (const Test& test : tests) last = test.started ? &test : last;
  return last;
}

const LessonTrial::Test* LessonTrial::first_failure() const {
  for (const Test& test : tests) {
    if (!test.passed && test.reached) return &test;
  }
  return nullptr;
}

void prepare_lessons(const LessonManifest& manifest) {
  const fs::path folder = cache_folder(manifest);
  const fs::path header = folder / "lesson_all.h", compiled = folder / "lesson_all.h.gch";
  std::error_code none;
  const fs::path flags = manifest.folder / "lessons.json";
  bool stale = !fs::exists(compiled) || fs::last_write_time(flags, none) > fs::last_write_time(compiled, none);
  for (const fs::path& include : manifest.include) stale = stale || newer_than(include, fs::last_write_time(compiled, none));
  if (!stale) return;
  // Under a unique name first: several processes may do this at the same time.
  const std::string own = (folder / fmt::format("lesson_all.{}", getpid())).string();
  std::ofstream(own + ".h") << "#include \"lesson.h\"\n#include \"lesson_test.h\"\n";
  std::vector<std::string> command = compile_command(manifest);
  for (const std::string& word : {std::string("-x"), std::string("c++-header"), own + ".h", std::string("-o"), own + ".gch"})
    command.push_back(word);
  const ChildResult ended = run_child(command, {"", own + ".log", {}, kMostCompileSeconds});
  const std::string log = read_text(own + ".log");
  fs::remove(own + ".log", none);
  if (ended.status != 0)
    throw Error("the lessons' headers do not compile. Fix: install a C++20 compiler (g++ 11 or newer).\n" + head(log, 20));
  fs::rename(own + ".h", header);
  fs::rename(own + ".gch", compiled);
}

LessonTrial try_lesson(const LessonManifest& manifest, const Lesson& lesson, const fs::path& file, const std::vector<UsedLesson>& used,
                       bool quiet) {
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

  std::vector<std::string> command = compile_command(manifest);
  for (const UsedLesson& other : used)
    command.push_back(fmt::format("-DLESSON_{}=\"{}\"", other.lesson.number, fs::absolute(other.file).string()));
  for (const std::string& word :
       {"-I" + lesson.folder.string(), std::string("-include"), (folder / "lesson_all.h").string(), std::string("-include"),
        fs::absolute(file).string(), std::string("-fmax-errors=3"), std::string("-fdiagnostics-color=never"),
        (lesson.folder / "lesson_test.cc").string(), std::string("-o"), program})
    command.push_back(word);
  command.insert(command.end(), manifest.link.begin(), manifest.link.end());
  command.push_back("-L" + manifest.folder.string());
  command.push_back("-Wl,-rpath," + manifest.folder.string() + ",-rpath-link," + manifest.folder.string());
  for (const std::string& library : manifest.libraries) command.push_back("-l" + library);
  const ChildResult compiled = run_child(command, {"", log, {}, kMostCompileSeconds});
  if (compiled.status != 0) {
    trial.ending = LessonTrial::Ending::not_compiled;
    std::string errors = read_text(log);
    if (errors.rfind("In file included from <command-line>", 0) == 0) errors = errors.substr(errors.find('\n') + 1);
    trial.message = head(errors, 24);
    return trial;
  }
  if (const std::string warnings = read_text(log); !warnings.empty() && !quiet) fmt::print(stderr, "{}\n", head(warnings, 12));

  const ChildResult ended = run_child(
      {program},
      {quiet ? "/dev/null" : "",
       log,
       {{"LOCKSTEP_LESSON_RESULTS", results}, {"LOCKSTEP_LESSON_FILE", fs::absolute(file).string()}, {"UBSAN_OPTIONS", "abort_on_error=1"}},
       kMostSeconds});
  trial.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const bool complete = read_results(results, trial);
  const std::string errors = read_text(log);
  if (trial.ending == LessonTrial::Ending::timed_out) {
    // the program has said where
  } else if (ended.timed_out) {
    trial.ending = LessonTrial::Ending::timed_out;
    trial.message = fmt::format("The program was still running after {} seconds and was stopped{}. Does a loop in your code ever end?",
                                kMostSeconds, in_test(trial));
  } else if (WIFSIGNALED(ended.status) || WEXITSTATUS(ended.status) > 1 || !complete) {
    trial.ending = LessonTrial::Ending::crashed;
    if (trial.message.empty()) trial.message = crash_message(ended.status, trial);
    trial.message += (errors.empty() ? "" : "\n" + head(errors, 12));
  } else {
    trial.ending = ended.status == 0 && trial.first_failure() == nullptr ? LessonTrial::Ending::passed : LessonTrial::Ending::failed;
    if (!quiet) print_learners_errors(errors);
  }
  return trial;
}

}  // namespace lockstep::cli
