// `lockstep lesson`: lists the lessons, builds and tests a learner's file, shows hints, and grades a class for its teacher.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <thread>

#include "cli/command.h"
#include "cli/lesson/lesson_files.h"
#include "cli/lesson/lesson_questions.h"
#include "cli/lesson/lesson_trial.h"
#include "cli/text.h"
#include "cli/validators.h"
#include "lockstep/error.h"

namespace lockstep::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Ending = LessonTrial::Ending;
constexpr int kNotCompiled = 3;

struct LessonOptions {
  std::optional<int> number;
  bool hint = false, solution = false, watch = false, reset = false, all = false, json = false;
  bool verbose = false;  // check mode names the functions that issued an operation
  bool prepare = false;  // compile only what all lessons share
  std::string file;      // tested in place of the learner's own
  std::string work;      // the folder with the learner's files
  std::string predict;   // "40,c"
};

std::string paint(const std::string& text, int code) { return isatty(1) ? fmt::format("\033[{}m{}\033[0m", code, text) : text; }

const Lesson& lesson_with(const std::vector<Lesson>& lessons, int number) {
  for (const Lesson& lesson : lessons) {
    if (lesson.number == number) return lesson;
  }
  throw Error(fmt::format("there is no lesson {}; they go from {} to {}", number, lessons.front().number, lessons.back().number));
}

// How the program was called, as the script that starts it says.
std::string called() {
  const char* const command = std::getenv("LOCKSTEP_COMMAND");
  return command != nullptr && *command != '\0' ? command : "lockstep";
}

// After a lesson is done: the next open one, which may be an earlier one.
void show_next(const std::vector<Lesson>& lessons, const Lesson& lesson, LessonWork& work) {
  int open = 0, first = 0, later = 0;
  for (const Lesson& other : lessons) {
    if (work.progress(other).done) continue;
    ++open;
    if (first == 0) first = other.number;
    if (later == 0 && other.number > lesson.number) later = other.number;
  }
  if (open == 0)
    fmt::print("All lessons are done. docs/design.md describes how the engine does it.\n");
  else if (later != 0)
    fmt::print("Next: {} lesson {}\n", called(), later);
  else
    fmt::print("{} open. Next: {} lesson {}\n", open == 1 ? "One lesson is" : fmt::format("{} lessons are", open), called(), first);
}

void list(const std::vector<Lesson>& lessons, LessonWork& work) {
  int done = 0, next = 0;
  for (const Lesson& lesson : lessons) {
    done += work.progress(lesson).done;
    if (next == 0 && !work.progress(lesson).done) next = lesson.number;
  }
  fmt::print("Lessons: {} of {} done\n\n", done, lessons.size());
  for (const Lesson& lesson : lessons) {
    const LessonProgress& progress = work.progress(lesson);
    std::string state;
    if (progress.done)
      state = paint("done", 32);
    else if (progress.tests > 0)
      state = fmt::format("{} of {} tests pass", progress.passed, progress.tests);
    else if (fs::exists(work.file_of(lesson)))
      state = "begun";
    if (lesson.number == next) state += state.empty() ? "next" : ", next";
    fmt::print("  {:>2}  {}\n", lesson.number, state.empty() ? lesson.title : fmt::format("{:<52}{}", lesson.title, state));
  }
  if (next != 0) {
    const Lesson& lesson = lesson_with(lessons, next);
    fmt::print("\nRead {}, then: {} lesson {}\n", shown(lesson.folder / "lesson.md"), called(), next);
  } else {
    fmt::print("\nAll lessons are done. docs/design.md describes how the engine does it.\n");
  }
}

void show_hint(const Lesson& lesson, LessonWork& work, bool next) {
  LessonProgress& progress = work.progress(lesson);
  const std::vector<std::string> hints = hints_for(lesson, progress.part);
  if (hints.empty()) {
    if (next)
      fmt::print("{}\n", progress.done ? "This lesson is done; it needs no hint."
                                       : "Try it once first; hints follow from the test that fails: " + called() + " lesson " +
                                             std::to_string(lesson.number));
    return;
  }
  int& seen = progress.hints[progress.part];
  const int most = static_cast<int>(hints.size());
  if (next && seen >= most) {
    fmt::print("There are no more hints for this part. The solution is in {} ({} lesson {} --solution).\n",
               shown(lesson.folder / "solution.h"), called(), lesson.number);
    return;
  }
  seen = next ? seen + 1 : std::max(seen, 1);
  progress.asked += next;  // the first one comes with the failure
  const int which = next ? seen : 1;
  fmt::print("{}\n", wrapped(fmt::format("Hint {} of {}: {}", which, most, hints[static_cast<std::size_t>(which - 1)]), kColumns));
}

// Before the first run that is predicted.
void ask_questions(const Lesson& lesson) {
  const std::vector<LessonQuestion> questions = questions_of(lesson);
  if (questions.empty()) return;
  fmt::print("\nPredict, then run:\n");
  std::string form;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    fmt::print("{}\n", wrapped(fmt::format("{}. {}", i + 1, questions[i].text), kColumns));
    for (const std::string& choice : questions[i].choices) fmt::print("   {}\n", choice);
    form += std::string(i == 0 ? "" : ",") + (questions[i].choices.empty() ? "NUMBER" : "LETTER");
  }
  fmt::print("Answer with: {} lesson {} --predict {}\n", called(), lesson.number, form);
}

void show_answers(const Lesson& lesson, LessonProgress& progress) {
  progress.answered = true;
  const std::vector<LessonQuestion> questions = questions_of(lesson);
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const LessonQuestion& question = questions[i];
    const std::string said = i < progress.predicted.size() ? "You predicted " + progress.predicted[i] + ". " : "";
    const std::string mark = said.empty() ? "" : question.right(progress.predicted[i]) ? " (right)" : " (not what you predicted)";
    fmt::print("{}\n", wrapped(fmt::format("{}. {}", i + 1, question.text), kColumns));
    fmt::print("{}\n\n", wrapped(fmt::format("{}It is {}{}: {}", said, question.answer, mark, question.why), kColumns));
  }
}

// Kept until the run that passes shows the answers.
void keep_predictions(const Lesson& lesson, LessonWork& work, const std::vector<std::string>& answers) {
  LessonProgress& progress = work.progress(lesson);
  if (progress.answered) throw Error(fmt::format("lesson {} has shown its answers, so they can't be predicted any more", lesson.number));
  progress.predicted = answers;
  work.save();
  fmt::print("Your predictions are kept. Now: {} lesson {}\n", called(), lesson.number);
}

// Creates the learner's file where there is none.
fs::path begin_work(const Lesson& lesson, const LessonWork& work, bool reset, bool quiet) {
  const fs::path file = work.file_of(lesson);
  std::error_code problem;
  fs::create_directories(work.folder(), problem);
  if (fs::exists(file) && !reset) return file;
  if (fs::exists(file) && read_text(file) == read_text(lesson.folder / "exercise.h")) {
    fmt::print("{} is the exercise already; there is nothing to reset.\n", shown(file));
    return file;
  }
  fs::path kept;
  if (fs::exists(file)) {
    kept = file.string() + ".before-reset";
    for (int copy = 2; fs::exists(kept); ++copy) kept = fmt::format("{}.before-reset-{}", file.string(), copy);
    fs::rename(file, kept, problem);
  }
  fs::copy_file(lesson.folder / "exercise.h", file, fs::copy_options::overwrite_existing, problem);
  if (problem) throw Error("can't write " + file.string() + ": " + problem.message() + ". Fix: choose another folder with --work.");
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read | fs::perms::others_read, problem);
  if (!quiet) {
    fmt::print("Your file:  {}  ({})\n", shown(file), kept.empty() ? "new" : "reset; your old file is " + shown(kept));
    fmt::print("The lesson: {}\n", shown(lesson.folder / "lesson.md"));
  }
  return file;
}

int exit_code(const LessonTrial& trial) {
  return trial.ending == Ending::passed ? 0 : trial.ending == Ending::not_compiled ? kNotCompiled : 1;
}

void remember(LessonProgress& progress, const LessonTrial& trial, const fs::path& file) {
  progress.text = hash_of(file);
  progress.done = trial.ending == Ending::passed;
  progress.passed = trial.passed();
  if (!trial.tests.empty()) progress.tests = static_cast<int>(trial.tests.size());
  const LessonTrial::Test* failure = trial.first_failure();
  progress.part = failure != nullptr ? failure->part : "";
}

LessonTrial try_and_print(const LessonManifest& manifest, const std::vector<Lesson>& lessons, const Lesson& lesson, const fs::path& file,
                          LessonWork& work, bool own) {
  fmt::print("\nLesson {}: {}\n\n", lesson.number, lesson.title);
  const std::vector<UsedLesson> used = lessons_used_by(lesson, lessons, work);
  for (const UsedLesson& other : used)
    fmt::print("  {}  {:<17}{}\n", other.lesson.number, other.lesson.title,
               other.why_given.empty() ? "yours: " + shown(other.file) : "given: " + other.why_given);
  if (!used.empty()) fmt::print("\n");
  std::fflush(stdout);
  const LessonTrial trial = try_lesson(manifest, lesson, file, used, false);
  if (own) {
    remember(work.progress(lesson), trial, file);
    work.save();  // before more is printed: the reader of a pipe may have gone
  }
  if (trial.ending == Ending::not_compiled)
    fmt::print("{} does not compile yet. The compiler's first errors:\n\n{}", shown(file), trial.message);
  else if (trial.ending == Ending::crashed || trial.ending == Ending::timed_out)
    fmt::print("\n{}\n", trial.message);
  if (!own) return trial;
  if (trial.ending == Ending::passed) {
    show_answers(lesson, work.progress(lesson));
    fmt::print("{}", paint("Well done. ", 32));
    show_next(lessons, lesson, work);
  } else if (trial.first_failure() != nullptr) {
    fmt::print("\n");
    show_hint(lesson, work, false);
    fmt::print("More: {} lesson {} --hint. Your file: {}\n", called(), lesson.number, shown(file));
  }
  work.save();
  return trial;
}

Json as_json(const Lesson& lesson, const LessonTrial* trial, const LessonProgress& progress, const std::vector<UsedLesson>& used) {
  Json json = {{"lesson", lesson.number}, {"name", lesson.name}, {"title", lesson.title}, {"hints", progress.asked}};
  json["predictions"] = Json::array();
  const std::vector<LessonQuestion> questions = questions_of(lesson);
  for (std::size_t i = 0; i < progress.predicted.size() && i < questions.size(); ++i) {
    json["predictions"].push_back({{"question", questions[i].text},
                                   {"predicted", progress.predicted[i]},
                                   {"answer", questions[i].answer},
                                   {"right", questions[i].right(progress.predicted[i])}});
  }
  if (trial == nullptr) {
    json["state"] = "not begun";
    return json;
  }
  constexpr std::array<const char*, 5> states = {"done", "fails", "does not compile", "crashes", "does not end"};  // as Ending lists them
  json["state"] = states.at(static_cast<std::size_t>(trial->ending));
  json["passed"] = trial->passed();
  json["tests"] = trial->tests.size();
  json["failures"] = Json::array();
  for (const LessonTrial::Test& test : trial->tests) {
    if (!test.passed && test.reached) json["failures"].push_back({{"part", test.part}, {"test", test.name}, {"message", test.message}});
  }
  for (const UsedLesson& other : used) json["uses"][std::to_string(other.lesson.number)] = other.why_given.empty() ? "own" : "given";
  if (!trial->message.empty()) json["message"] = trial->message;
  return json;
}

// For teachers: tests every lesson that was begun.
int grade_all(const LessonManifest& manifest, const std::vector<Lesson>& lessons, LessonWork& work, bool as_json_text) {
  Json graded = Json::array();
  int done = 0;
  for (const Lesson& lesson : lessons) {
    const fs::path file = work.file_of(lesson);
    std::optional<LessonTrial> trial;
    const std::vector<UsedLesson> used = lessons_used_by(lesson, lessons, work);
    if (fs::exists(file)) {
      trial = try_lesson(manifest, lesson, file, used, true);
      remember(work.progress(lesson), *trial, file);
    }
    const Json entry = as_json(lesson, trial ? &*trial : nullptr, work.progress(lesson), used);
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

// Until Ctrl-C: tests the file whenever it was saved.
[[noreturn]] void watch(const LessonManifest& manifest, const std::vector<Lesson>& lessons, const Lesson& lesson, const fs::path& file,
                        LessonWork& work) {
  std::error_code problem;
  for (fs::file_time_type seen{};;) {
    const fs::file_time_type now = fs::last_write_time(file, problem);
    if (!problem && now != seen) {
      seen = now;
      if (isatty(1)) fmt::print("\033[2J\033[H");
      try_and_print(manifest, lessons, lesson, file, work, true);
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
  if (options.verbose) setenv("LOCKSTEP_LESSON_VERBOSE", "1", 1);
  if (options.prepare) return prepare_lessons(manifest), 0;
  const std::vector<Lesson> lessons = list_lessons(manifest);
  LessonWork work(work_folder(options, manifest));
  if (options.all) {
    const int code = grade_all(manifest, lessons, work, options.json);
    if (fs::exists(work.folder())) work.save();
    return code;
  }
  if (!options.number && options.json) throw Error("--json needs the number of a lesson, or --all");
  if (!options.number) return list(lessons, work), 0;
  const Lesson& lesson = lesson_with(lessons, *options.number);
  if (options.solution) {
    fmt::print("{}", read_text(lesson.folder / "solution.h"));
    return 0;
  }
  if (options.hint) {
    show_hint(lesson, work, true);
    work.save();
    return 0;
  }
  if (options.reset) {
    begin_work(lesson, work, true, false);
    const LessonProgress before = work.progress(lesson);
    work.progress(lesson) = {};
    work.progress(lesson).predicted = before.predicted;
    work.progress(lesson).answered = before.answered;
    work.save();
    return 0;
  }
  if (!options.predict.empty()) {
    const std::vector<std::string> answers = read_predictions(questions_of(lesson), options.predict);
    begin_work(lesson, work, false, false);
    keep_predictions(lesson, work, answers);
    return 0;
  }
  const bool own = options.file.empty();
  const fs::path file = own ? begin_work(lesson, work, false, options.json) : fs::path(options.file);
  if (options.json) {
    const std::vector<UsedLesson> used = lessons_used_by(lesson, lessons, work);
    const LessonTrial trial = try_lesson(manifest, lesson, file, used, true);
    if (own) {
      remember(work.progress(lesson), trial, file);
      work.save();
    }
    fmt::print("{}\n", as_json(lesson, &trial, work.progress(lesson), used).dump(2, ' ', false, Json::error_handler_t::replace));
    return exit_code(trial);
  }
  if (own && work.progress(lesson).predicted.empty() && !work.progress(lesson).answered) ask_questions(lesson);
  if (options.watch) watch(manifest, lessons, lesson, file, work);
  return exit_code(try_and_print(manifest, lessons, lesson, file, work, own));
}

}  // namespace

Command add_lesson(CLI::App& app) {
  auto shared = std::make_shared<LessonOptions>();
  LessonOptions& options = *shared;
  CLI::App* command = app.add_subcommand("lesson", "Learn mirrored training by building it: lessons, and tests for your code");
  auto* number =
      command->add_option("number", options.number, "Which lesson: builds your file and runs its tests")->check(whole_number(0, 99));
  command->add_flag("--hint", options.hint, "The next hint for the test that fails")->needs(number);
  command->add_option("--predict", options.predict, "Your answers to the lesson's questions, kept until your code passes: 40,c")
      ->needs(number);
  command->add_flag("--solution", options.solution, "Show a solution")->needs(number);
  command->add_flag("--watch", options.watch, "Try again whenever you save your file")->needs(number);
  command->add_flag("--reset", options.reset, "Start the lesson over; your old file is kept beside the new one")->needs(number);
  command->add_flag("--all", options.all, "Test every lesson that was begun")->excludes(number);
  command->add_flag("--json", options.json, "Print the result as JSON, for grading; with a number or with --all");
  command->add_flag("--verbose", options.verbose, "Reports of check mode with the functions that issued each operation")->needs(number);
  command->add_flag("--prepare", options.prepare, "Compile what all lessons share, and stop")->group("");
  command->add_option("--file", options.file, "Test this file instead of your own")->check(file_to_read())->needs(number);
  command->add_option("--work", options.work, "The folder with your files [lessons/work, or LOCKSTEP_LESSON_WORK]")
      ->check(folder_to_write());
  command->footer(
      "Examples:\n  lockstep lesson\n  lockstep lesson 4 --watch\n  lockstep lesson 4 --hint\n"
      "  lockstep lesson --all --json --work submissions/ada");
  return {command, [shared] { return run_lesson(*shared); }};
}

}  // namespace lockstep::cli
