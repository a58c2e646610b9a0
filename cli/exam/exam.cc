// `lockstep exam`: lists the exams, makes a run with a planted fault for one, and grades the form that a learner filled in.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/child.h"
#include "cli/command.h"
#include "cli/exam/exam_grade.h"
#include "cli/exam/runs/exam_files.h"
#include "cli/lesson/lesson_files.h"
#include "cli/text.h"
#include "cli/validators.h"
#include "lockstep/error.h"

namespace lockstep::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
constexpr int kRunSeconds = 300;  // a run takes seconds; on a machine with much else to do, more

struct ExamOptions {
  std::optional<int> number;
  std::optional<std::uint64_t> seed;
  bool solution = false, json = false;
  std::string answer, work;
  std::string inside;  // train here: the process of the run itself
};

// How the program was called, as the script that starts it says.
std::string command_name() {
  const char* const command = std::getenv("LOCKSTEP_COMMAND");
  return command != nullptr && *command != '\0' ? command : "lockstep";
}

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  if (!file) throw Error("can't write " + path.string() + ". Fix: choose another folder with --work.");
}

fs::path exam_work(const ExamOptions& options, const LessonManifest& manifest) {
  if (!options.work.empty()) return fs::absolute(options.work);
  if (const char* folder = std::getenv("LOCKSTEP_LESSON_WORK"); folder != nullptr && *folder != '\0') return fs::absolute(folder);
  return manifest.lessons / "work";
}

fs::path folder_of(const fs::path& work, const Exam& exam, std::uint64_t seed) {
  return work / fmt::format("exam-{:02}-seed-{}", exam.number(), seed);
}

// Trains in a process of its own and keeps what it prints. The folder gets its name when all is there.
void make_run(const Exam& exam, const ExamPlan& plan, const fs::path& folder, const std::string& form) {
  const fs::path making = folder.string() + ".new";
  std::error_code problem;
  fs::remove_all(making, problem);
  fs::create_directories(making, problem);
  const ExamMachine machine = exam.machine(plan);
  write_text(making / "machine.json", machine.json);
  ChildOptions options;
  options.out = making / "run.log";
  options.errors = making / "errors";
  options.seconds = kRunSeconds;
  options.environment = machine.environment;
  options.environment.emplace_back("LOCKSTEP_SIM_MACHINE", making / "machine.json");
  options.environment.emplace_back("LOCKSTEP_SIM_CLOCK", machine.model_clock ? "model" : "wall");
  const ChildResult result = run_child(
      {"/proc/self/exe", "exam", std::to_string(exam.number()), "--seed", std::to_string(plan.drawn_from()), "--inside", making.string()},
      options);
  const std::string errors = read_text(making / "errors");
  if (result.code() != 0) throw Error(fmt::format("the run of this exam ended with code {}: {}", result.code(), errors));
  write_text(making / "run.log", read_text(making / "run.log") + errors);
  fs::remove(making / "errors", problem);
  fs::remove(making / "machine.json", problem);  // it has the answer
  write_text(making / "form.txt", form);
  fs::rename(making, folder, problem);
  if (problem) throw Error(fmt::format("can't make {}: {}", shown(folder), problem.message()));
}

// One exam with one seed, its texts and its folder.
struct Sitting {
  const Exam& exam;
  ExamPlan plan;
  ExamPage page;
  std::vector<FaultKind> kinds;
  fs::path folder;

  Sitting(const Exam& which, std::uint64_t seed, const fs::path& exams, const fs::path& work)
      : exam(which),
        plan(plan_of(which, seed)),
        page(read_exam_page(exams, which)),
        kinds(read_fault_kinds(exams)),
        folder(folder_of(work, which, seed)) {}

  void make_if_missing() const {
    if (!fs::exists(folder)) make_run(exam, plan, folder, empty_form(exam, plan.drawn_from(), page, kinds));
  }
  std::vector<ExamAnswer> answers() const { return exam.answers(plan, ExamFiles(folder)); }
};

void start(const Sitting& sitting) {
  sitting.make_if_missing();
  const std::string folder = shown(sitting.folder);
  fmt::print("Exam {}: {} (seed {})\n\n{}\n", sitting.exam.number(), sitting.page.title, sitting.plan.drawn_from(),
             folded(sitting.page.situation));
  fmt::print("In {}:\n  run.log      what the program printed\n", folder);
  if (fs::exists(sitting.folder / "trace.json"))
    fmt::print("  trace.html   the recorded steps, for a browser\n  trace.json   the same for {} trace and for ui.perfetto.dev\n",
               command_name());
  else
    fmt::print("               (there is no trace: the program ended before it was written)\n");
  fmt::print("  form.txt     the questions; write your answers there\n\nThen: {} exam {} --answer {}/form.txt\n", command_name(),
             sitting.exam.number(), folder);
}

int answer(const Sitting& sitting, const ExamForm& form, bool json) {
  check_form(form, sitting.page, sitting.kinds);
  sitting.make_if_missing();
  const ExamGrade result = grade(sitting.exam, sitting.plan, sitting.page, sitting.kinds, sitting.answers(), form);
  const Json as_json = grade_json(sitting.exam, sitting.page, form, result);
  write_text(sitting.folder / "grade.json", as_json.dump(2) + "\n");
  if (json) {
    fmt::print("{}\n", as_json.dump(2, ' ', false, Json::error_handler_t::replace));
    return result.passed() ? 0 : 1;
  }
  fmt::print("Exam {}, seed {}: {} of {} answers are right\n\n", sitting.exam.number(), form.seed, result.right(), result.answers.size());
  for (const GradedAnswer& one : result.answers)
    fmt::print("  {:<10} {:<20} {}\n", one.field, one.answered.empty() ? "-" : one.answered, one.right ? "right" : "not right");
  for (const GradedAnswer& one : result.answers) {
    if (!one.right) fmt::print("\n{}", folded(one.field + ": " + one.explanation));
  }
  if (result.passed()) fmt::print("\n{}", folded(result.reasoning));
  return result.passed() ? 0 : 1;
}

int show_solution(const Sitting& sitting, bool json) {
  sitting.make_if_missing();
  const std::vector<ExamAnswer> expected = sitting.answers();
  if (json) {
    Json solution = {{"exam", sitting.exam.number()}, {"seed", sitting.plan.drawn_from()}, {"planted", sitting.plan.values()}};
    solution["form"]["fault"] = sitting.exam.fault;
    for (const ExamAnswer& one : expected) solution["form"][one.field] = one.text;
    fmt::print("{}\n", solution.dump(2));
    return 0;
  }
  fmt::print("fault: {}\n", sitting.exam.fault);
  for (const ExamAnswer& one : expected) fmt::print("{}: {}\n", one.field, one.text);
  fmt::print("\n{}", folded(filled(sitting.page.solution.at("Reasoning"), sitting.plan, expected)));
  return 0;
}

// How often an exam was passed, and how many of its folders wait for an answer.
std::string state_of(const Exam& exam, const fs::path& work) {
  int passed = 0, begun = 0;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(work, none)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(fmt::format("exam-{:02}-seed-", exam.number()), 0) != 0 || name.ends_with(".new")) continue;
    const fs::path file = entry.path() / "grade.json";
    const Json grade = fs::exists(file) ? Json::parse(read_text(file), nullptr, false) : Json();
    (grade.is_object() && grade.value("passed", false) ? passed : begun) += 1;
  }
  if (passed > 0) return passed == 1 ? "passed" : fmt::format("passed with {} seeds", passed);
  return begun > 0 ? "begun" : "";
}

void list_exams(const fs::path& exams_folder, const fs::path& work) {
  fmt::print("Exams: each is a recorded run with a fault. Find it in the trace and the log.\n\n");
  for (const Exam& exam : exams()) {
    const std::string title = read_exam_page(exams_folder, exam).title, state = state_of(exam, work);
    fmt::print("  {:>2}  {}\n", exam.number(), state.empty() ? title : fmt::format("{:<52}{}", title, state));
  }
  fmt::print("\n{} exam 1 starts the first; --seed gives a run of its own to each student.\n", command_name());
}

int run_exam(const ExamOptions& options) {
  if (!options.inside.empty()) {
    const Exam& exam = exam_with(options.number.value_or(0));
    exam.run(plan_of(exam, options.seed.value_or(0)), options.inside);
    return 0;
  }
  const LessonManifest manifest = read_lesson_manifest();
  const fs::path pages = manifest.lessons / "exams", work = exam_work(options, manifest);
  if (!options.answer.empty()) {
    const ExamForm form = read_form(options.answer);
    if (options.number && *options.number != form.exam)
      throw UsageError(fmt::format("{} is the form of exam {}, not of exam {}", options.answer, form.exam, *options.number));
    if (options.seed && *options.seed != form.seed)
      throw UsageError(fmt::format("{} is the form of seed {}, not of seed {}", options.answer, form.seed, *options.seed));
    return answer(Sitting(exam_with(form.exam), form.seed, pages, work), form, options.json);
  }
  if (!options.number) {
    if (options.json) throw UsageError("--json prints a grade. Fix: --answer FILE --json");
    return list_exams(pages, work), 0;
  }
  const Sitting sitting(exam_with(*options.number), options.seed.value_or(1), pages, work);
  if (options.solution) return show_solution(sitting, options.json);
  if (options.json) throw UsageError("--json prints a grade. Fix: --answer FILE --json");
  return start(sitting), 0;
}

}  // namespace

Command add_exam(CLI::App& app) {
  auto shared = std::make_shared<ExamOptions>();
  ExamOptions& options = *shared;
  CLI::App* command = app.add_subcommand("exam", "Find the fault in a recorded run: exams on the lessons, graded with the reasoning");
  auto* number = command->add_option("number", options.number, "Which exam: makes its run and its form")->check(whole_number(1, 99));
  command->add_option("--seed", options.seed, "Which run of this exam: another seed has another replica, magnitude and data [1]")
      ->check(whole_number(0, INT64_MAX));
  auto* answered = command->add_option("--answer", options.answer, "Grade this form")->check(file_to_read());
  command->add_flag("--solution", options.solution, "Show the answers and the reasoning")->needs(number)->excludes(answered);
  command->add_flag("--json", options.json, "Print the grade as JSON");
  command->add_option("--work", options.work, "The folder for runs and forms [lessons/work, or LOCKSTEP_LESSON_WORK]")
      ->check(folder_to_write());
  command->add_option("--inside", options.inside, "Train for the exam in this folder")->group("")->needs(number);
  command->footer("Examples:\n  lockstep exam\n  lockstep exam 1 --seed 7\n  lockstep exam --answer lessons/work/exam-01-seed-7/form.txt");
  return {command, [shared] { return run_exam(*shared); }};
}

}  // namespace lockstep::cli
