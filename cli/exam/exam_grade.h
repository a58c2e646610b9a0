// Compares a form with the right answers, and explains both.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/exam/exam_form.h"

namespace lockstep::cli {

struct GradedAnswer {
  std::string field, answered;
  bool right = false;
  std::string explanation;  // of a wrong one: what in this run speaks against it, or how to find the answer
};

struct ExamGrade {
  std::vector<GradedAnswer> answers;
  std::string reasoning;  // how this run is understood; shown once all answers are right

  int right() const;
  bool passed() const { return right() == static_cast<int>(answers.size()); }
};

ExamGrade grade(const Exam& exam, const ExamPlan& plan, const ExamPage& page, const std::vector<FaultKind>& kinds,
                const std::vector<ExamAnswer>& expected, const ExamForm& form);

// Whether an answer is right: text, a list in any order, or a number within its tolerance.
bool is_right(const ExamAnswer& expected, const std::string& answered);

// "{replica}" in a text is replaced by the right answer to `replica`, or by what is planted under that name.
std::string filled(std::string text, const ExamPlan& plan, const std::vector<ExamAnswer>& expected);

nlohmann::json grade_json(const Exam& exam, const ExamPage& page, const ExamForm& form, const ExamGrade& grade);

}  // namespace lockstep::cli
