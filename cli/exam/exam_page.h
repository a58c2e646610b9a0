// The texts of the exams, in lessons/exams: what the learner reads, what the form asks for, and how the run is understood.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/exam/runs/exam.h"

namespace lockstep::cli {

// Of exam.md and solution.md in the exam's folder.
struct ExamPage {
  std::string title;                                        // "Hardly faster"
  std::string situation;                                    // Markdown: paragraphs and lists
  std::vector<std::pair<std::string, std::string>> fields;  // of the form besides `fault`: {"replica", "which replica it is, ..."}
  std::map<std::string, std::string> solution;              // by heading: "Reasoning", "Not slow-link", "replica"
};
ExamPage read_exam_page(const std::filesystem::path& exams, const Exam& exam);

// Of faults.md: the answers to `fault`.
struct FaultKind {
  std::string name;   // "slow-gpu"
  std::string what;   // a sentence
  std::string signs;  // what a run with it looks like
};
std::vector<FaultKind> read_fault_kinds(const std::filesystem::path& exams);

// Text between `## ` headings, by heading; what comes before the first one has the heading "".
std::vector<std::pair<std::string, std::string>> sections_of(const std::string& markdown);

// Paragraphs and lists in lines of 78 characters.
std::string folded(const std::string& markdown);

}  // namespace lockstep::cli
