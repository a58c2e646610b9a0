// `lockstep lesson`: the list, a learner's file built and tested, hints, and a class' results for its teacher.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <thread>

#include "cli/command.h"
#include "cli/lesson/lesson_shelf.h"
#include "cli/lesson/lesson_trial.h"
#include "cli/validators.h"
#include "lockstep/error.h"

namespace lockstep::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Ending = LessonTrial::Ending;
constexpr int kNotCompiled = 3;

struct LessonOptions {
  int number = 0;  // 0: none was named
  bool hint = false, solution = false, watch = false, reset = false, all = false, json = false;
  bool prepare = false;  // only what all lessons share is compiled
  std::string file;      // tested instead of the learner's own
  std::string work;      // the folder with the learner's files
};

std::string paint(const std::string& text, int code) { return isatty(1) ? fmt::format("\033[{}m{}\033[0m", code, text) : text; }

// Words in lines of at most 78 columns.
std::string in_lines(const std::string& text) {
  constexpr std::size_t kColumns = 78;
  std::istringstream words(text);
  std::string all;
  std::size_t column = 0;
  for (std::string word; words >> word;) {
    const bool breaks = column > 0 && column + 1 + word.size() > kColumns;
    if (column > 0) all += breaks ? "\n" : " ";
    column = (breaks || column == 0 ? 0 : column + 1) + word.size();
    all += word;
  }
  return all;
}

const Lesson& lesson_with(const std::vector<Lesson>& lessons, int number) {
  for (const Lesson& lesson : lessons) {
    if (lesson.number == number) return lesson;
  }
  throw Error(fmt::format("there is no lesson {}; they go from {} to {}", number, lessons.front().number, lessons.back().number));
}

void list(const std::vector<Lesson>& lessons, LessonDesk& desk) {
  int done = 0, next = 0;
  for (const Lesson& lesson : lessons) {
    done += desk.progress(lesson).done;
    if (next == 0 && !desk.progress(lesson).done) next = lesson.number;
  }
  fmt::print("Lessons: {} of {} done\n\n", done, lessons.size());
  for (const Lesson& lesson : lessons) {
    const LessonProgress& progress = desk.progress(lesson);
    std::string state;
    if (progress.done)
      state = paint("done", 32);
    else if (progress.tests > 0)
      state = fmt::format("{} of {} tests pass", progress.passed, progress.tests);
    else if (fs::exists(desk.file_of(lesson)))
      state = "begun";
    if (lesson.number == next) state += state.empty() ? "next" : ", next";
    fmt::print("  {:>2}  {}\n", lesson.number, state.empty() ? lesson.title : fmt::format("{:<52}{}", lesson.title, state));
  }
  if (next != 0) {
    const Lesson& lesson = lesson_with(lessons, next);
    fmt::print("\nRead {}, then: lockstep lesson {}\n", shown(lesson.folder / "lesson.md"), next);
  } else {
    fmt::print("\nAll done. What next? docs/design.md shows how the engine does it.\n");
  }
}

void show_hint(const Lesson& lesson, LessonDesk& desk, bool next) {
  LessonProgress& progress = desk.progress(lesson);
  const std::vector<std::string> hints = hints_for(lesson, progress.part);
  if (hints.empty()) {
    if (next)
      fmt::print("{}\n", progress.done ? "This lesson is done: no hint is needed."
                                       : "Try it once first, then there are hints: lockstep lesson " + std::to_string(lesson.number));
    return;
  }
  int& seen = progress.hints[progress.part];
  const int most = static_cast<int>(hints.size());
  if (next && seen >= most) {
    fmt::print("There are no more hints for this part. The solution is {} (lockstep lesson {} --solution).\n",
               shown(lesson.folder / "solution.h"), lesson.number);
    return;
  }
  seen = next ? seen + 1 : std::max(seen, 1);
  const int which = next ? seen : 1;
  fmt::print("{}\n", in_lines(fmt::format("Hint {} of {}: {}", which, most, hints[static_cast<std::size_t>(which - 1)])));
}

// Makes the learner's file where there is none.
fs::path begin_work(const Lesson& lesson, const LessonDesk& desk, bool reset, bool quiet) {
  const fs::path file = desk.file_of(lesson);
  std::error_code problem;
  fs::create_directories(desk.folder(), problem);
  if (fs::exists(file) && !reset) return file;
  fs::path kept;
  if (fs::exists(file)) {
    kept = file.string() + ".before-reset";
    fs::rename(file, kept, problem);
  }
  fs::copy_file(lesson.folder / "exercise.h", file, fs::copy_options::overwrite_existing, problem);
  if (problem) throw Error("can't write " + file.string() + ": " + problem.message() + ". Give another folder with --work.");
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read | fs::perms::others_read, problem);
  if (!quiet) {
    fmt::print("Your file:  {}  ({})\n", shown(file), kept.empty() ? "new" : "as at the beginning; what you had is " + shown(kept));
    fmt::print("The lesson: {}\n", shown(lesson.folder / "lesson.md"));
  }
  return file;
}

int exit_code(const LessonTrial& trial) {
  return trial.ending == Ending::passed ? 0 : trial.ending == Ending::not_compiled ? kNotCompiled : 1;
}

void remember(LessonProgress& progress, const LessonTrial& trial) {
  progress.done = trial.ending == Ending::passed;
  progress.passed = trial.passed();
  if (!trial.tests.empty()) progress.tests = static_cast<int>(trial.tests.size());
  const LessonTrial::Test* failure = trial.first_failure();
  progress.part = failure != nullptr ? failure->part : "";
}

LessonTrial try_and_tell(const LessonManifest& manifest, const std::vector<Lesson>& lessons, const Lesson& lesson, const fs::path& file,
                         LessonDesk* desk) {
  fmt::print("\nLesson {}: {}\n\n", lesson.number, lesson.title);
  const LessonTrial trial = try_lesson(manifest, lesson, file, false);
  if (trial.ending == Ending::not_compiled)
    fmt::print("{} does not compile yet. The first that the compiler says:\n\n{}", shown(file), trial.words);
  else if (trial.ending == Ending::crashed || trial.ending == Ending::timed_out)
    fmt::print("\n{}\n", trial.words);
  if (desk == nullptr) return trial;
  remember(desk->progress(lesson), trial);
  if (trial.ending == Ending::passed) {
    fmt::print("{}", paint("Well done. ", 32));
    const bool more = lesson.number < lessons.back().number;
    if (more)
      fmt::print("Next: lockstep lesson {}\n", lesson.number + 1);
    else
      fmt::print("That was the last lesson.\n");
  } else if (trial.first_failure() != nullptr) {
    fmt::print("\n");
    show_hint(lesson, *desk, false);
    fmt::print("More: lockstep lesson {} --hint. Your file: {}\n", lesson.number, shown(file));
  }
  desk->save();
  return trial;
}

Json as_json(const Lesson& lesson, const LessonTrial* trial, const LessonProgress& progress) {
  int hints = 0;
  for (const auto& [part, seen] : progress.hints) hints += seen;
  Json json = {{"lesson", lesson.number}, {"name", lesson.name}, {"title", lesson.title}, {"hints", hints}};
  if (trial == nullptr) {
    json["state"] = "not begun";
    return json;
  }
  switch (trial->ending) {
    case Ending::passed:
      json["state"] = "done";
      break;
    case Ending::failed:
      json["state"] = "fails";
      break;
    case Ending::not_compiled:
      json["state"] = "does not compile";
      break;
    case Ending::crashed:
      json["state"] = "crashes";
      break;
    case Ending::timed_out:
      json["state"] = "does not end";
      break;
  }
  json["passed"] = trial->passed();
  json["tests"] = trial->tests.size();
  json["failures"] = Json::array();
  for (const LessonTrial::Test& test : trial->tests) {
    if (!test.passed) json["failures"].push_back({{"part", test.part}, {"test", test.name}, {"message", test.message}});
  }
  if (!trial->words.empty()) json["words"] = trial->words;
  return json;
}

// For teachers: every lesson that was begun, tested.
int grade_all(const LessonManifest& manifest, const std::vector<Lesson>& lessons, LessonDesk& desk, bool as_json_text) {
  Json graded = Json::array();
  int done = 0;
  for (const Lesson& lesson : lessons) {
    const fs::path file = desk.file_of(lesson);
    std::optional<LessonTrial> trial;
    if (fs::exists(file)) {
      trial = try_lesson(manifest, lesson, file, true);
      remember(desk.progress(lesson), *trial);
    }
    const Json entry = as_json(lesson, trial ? &*trial : nullptr, desk.progress(lesson));
    done += entry["state"] == "done";
    graded.push_back(entry);
    if (!as_json_text) {
      std::string state = entry["state"];
      if (state == "fails") state = fmt::format("{} of {} tests pass", trial->passed(), trial->tests.size());
      fmt::print("  {:>2}  {:<52}{}\n", lesson.number, lesson.title, state);
      std::fflush(stdout);
    }
  }
  if (as_json_text)
    fmt::print("{}\n",
               Json{{"done", done}, {"of", lessons.size()}, {"lessons", graded}}.dump(2, ' ', false, Json::error_handler_t::replace));
  else
    fmt::print("\n{} of {} done\n", done, lessons.size());
  return done == static_cast<int>(lessons.size()) ? 0 : 1;
}

// Until Ctrl-C: again whenever the file was saved.
[[noreturn]] void watch(const LessonManifest& manifest, const std::vector<Lesson>& lessons, const Lesson& lesson, const fs::path& file,
                        LessonDesk& desk) {
  std::error_code problem;
  for (fs::file_time_type seen{};;) {
    const fs::file_time_type now = fs::last_write_time(file, problem);
    if (!problem && now != seen) {
      seen = now;
      if (isatty(1)) fmt::print("\033[2J\033[H");
      try_and_tell(manifest, lessons, lesson, file, &desk);
      fmt::print("\nWatching {}: save it to try again, Ctrl-C to end.\n", shown(file));
      std::fflush(stdout);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

fs::path work_folder(const LessonOptions& options, const LessonManifest& manifest) {
  if (!options.work.empty()) return fs::absolute(options.work);
  if (const char* folder = std::getenv("LOCKSTEP_LESSON_WORK"); folder != nullptr && *folder != '\0') return fs::absolute(folder);
  return manifest.lessons / "work";
}

int run_lesson(const LessonOptions& options) {
  const LessonManifest manifest = read_lesson_manifest();
  if (options.prepare) return prepare_lessons(manifest), 0;
  const std::vector<Lesson> lessons = list_lessons(manifest);
  LessonDesk desk(work_folder(options, manifest));
  if (options.all) {
    const int code = grade_all(manifest, lessons, desk, options.json);
    if (fs::exists(desk.folder())) desk.save();
    return code;
  }
  if (options.number == 0) return list(lessons, desk), 0;
  const Lesson& lesson = lesson_with(lessons, options.number);
  if (options.solution) {
    fmt::print("{}", read_text(lesson.folder / "solution.h"));
    return 0;
  }
  if (options.hint) {
    show_hint(lesson, desk, true);
    desk.save();
    return 0;
  }
  if (options.reset) {
    begin_work(lesson, desk, true, false);
    desk.progress(lesson) = {};
    desk.save();
    return 0;
  }
  const bool own = options.file.empty();
  const fs::path file = own ? begin_work(lesson, desk, false, options.json) : fs::path(options.file);
  if (options.json) {
    const LessonTrial trial = try_lesson(manifest, lesson, file, true);
    if (own) {
      remember(desk.progress(lesson), trial);
      desk.save();
    }
    fmt::print("{}\n", as_json(lesson, &trial, desk.progress(lesson)).dump(2, ' ', false, Json::error_handler_t::replace));
    return exit_code(trial);
  }
  if (options.watch) watch(manifest, lessons, lesson, file, desk);
  return exit_code(try_and_tell(manifest, lessons, lesson, file, own ? &desk : nullptr));
}

}  // namespace

Command add_lesson(CLI::App& app) {
  auto shared = std::make_shared<LessonOptions>();
  LessonOptions& options = *shared;
  CLI::App* words = app.add_subcommand("lesson", "Learn mirrored training by building it: lessons, and tests for what you write");
  auto* number = words->add_option("number", options.number, "Which one: your file is built and its tests run")->check(whole_number(1, 99));
  words->add_flag("--hint", options.hint, "The next hint for the test that fails")->needs(number);
  words->add_flag("--solution", options.solution, "Show a solution")->needs(number);
  words->add_flag("--watch", options.watch, "Try again whenever you save your file")->needs(number);
  words->add_flag("--reset", options.reset, "Start the lesson over; what you had is kept beside it")->needs(number);
  words->add_flag("--all", options.all, "Test every lesson that was begun")->excludes(number);
  words->add_flag("--json", options.json, "The result as JSON, for grading; with a number or with --all");
  words->add_flag("--prepare", options.prepare, "Compile what all lessons share, and stop")->group("");
  words->add_option("--file", options.file, "Test this file instead of your own")->check(file_to_read())->needs(number);
  words->add_option("--work", options.work, "The folder with your files [lessons/work, or LOCKSTEP_LESSON_WORK]")->check(folder_to_write());
  words->footer(
      "Examples:\n  lockstep lesson\n  lockstep lesson 4 --watch\n  lockstep lesson 4 --hint\n"
      "  lockstep lesson --all --json --work submissions/ada");
  return {words, [shared] { return run_lesson(*shared); }};
}

}  // namespace lockstep::cli
