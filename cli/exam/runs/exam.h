// An exam: a run of the real engine on the virtual GPU with a planted fault, drawn from a seed, and what its form asks for.
//
// Each exam is a file of this folder, which says what is planted, trains with the public API, and reads the right answers from what the run
// left; its texts are in lessons/exams/NN-name. To add one: such a file, its folder, and its name in exam_list.cc.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::cli {

// What is planted, by name: "replica", "times", ... The same numbers for the same exam and seed, on every computer.
class ExamPlan {
 public:
  ExamPlan(int exam, std::uint64_t seed);

  // Draws a value and keeps it under this name.
  int whole(const std::string& name, int least, int most);
  double real(const std::string& name, double least, double most, double step);

  double operator[](const std::string& name) const { return values_.at(name); }
  int at(const std::string& name) const { return static_cast<int>(values_.at(name)); }
  const std::map<std::string, double>& values() const { return values_; }
  std::uint64_t drawn_from() const { return drawn_from_; }  // the exam's own seed
  std::uint64_t seed() const { return seed_; }              // of the run's data and first weights

 private:
  std::uint64_t drawn_from_ = 0, seed_ = 0, state_ = 0;
  std::map<std::string, double> values_;
};

// How the run's process is started. The virtual GPU reads these settings at its first use.
struct ExamMachine {
  std::string json;                                              // a machine file, written for the run only (docs/model-clock.md)
  bool model_clock = true;                                       // else times are those of this computer
  std::vector<std::pair<std::string, std::string>> environment;  // more settings, such as LOCKSTEP_SIM_FAULT
};

// The files that a run left: run.log, and trace.json where it got so far.
class ExamFiles;

// A field of the form besides `fault`.
struct ExamAnswer {
  std::string field;
  std::string text;      // the right answer
  double tolerance = 0;  // above 0: a number, which may be off by this part of it
};

struct Exam {
  const char* folder;  // in lessons/exams: "01-hardly-faster"
  const char* fault;   // its name in lessons/exams/faults.md
  void (*plant)(ExamPlan& plan);
  ExamMachine (*machine)(const ExamPlan& plan);
  void (*run)(const ExamPlan& plan, const std::filesystem::path& folder);
  // The right answers, read from the files as a learner would, where the plan does not hold them.
  std::vector<ExamAnswer> (*answers)(const ExamPlan& plan, const ExamFiles& files);

  int number() const;
};

const std::vector<Exam>& exams();
const Exam& exam_with(int number);  // an Error where there is none
ExamPlan plan_of(const Exam& exam, std::uint64_t seed);

// A number as the form has it: "2.43", four digits.
std::string digits(double value);

}  // namespace lockstep::cli
