#include "cli/exam/exam_grade.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <sstream>

#include "cli/command.h"

namespace lockstep::cli {
namespace {

std::optional<double> number_in(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value)) return std::nullopt;
  return value;
}

// The words between commas and spaces, in any order.
std::multiset<std::string> words_of(std::string list) {
  std::replace(list.begin(), list.end(), ',', ' ');
  std::istringstream words(list);
  std::multiset<std::string> all;
  for (std::string word; words >> word;) all.insert(word);
  return all;
}

std::string why_not(const std::string& fault, const ExamPage& page, const std::vector<FaultKind>& kinds) {
  if (const auto found = page.solution.find("Not " + fault); found != page.solution.end()) return found->second;
  for (const FaultKind& kind : kinds) {
    if (kind.name == fault) return fmt::format("Of a run with {} you would expect this: {} Look for it in this run.", fault, kind.signs);
  }
  return "The form does not say what is wrong.";
}

}  // namespace

int ExamGrade::right() const {
  return static_cast<int>(std::count_if(answers.begin(), answers.end(), [](const GradedAnswer& answer) { return answer.right; }));
}

bool is_right(const ExamAnswer& expected, const std::string& answered) {
  if (words_of(expected.text) == words_of(answered)) return true;
  const std::optional<double> wanted = number_in(expected.text), got = number_in(answered);
  return wanted && got && std::abs(*got - *wanted) <= expected.tolerance * std::abs(*wanted);
}

std::string filled(std::string text, const ExamPlan& plan, const std::vector<ExamAnswer>& expected) {
  std::map<std::string, std::string> words;
  for (const auto& [name, value] : plan.values()) words[name] = digits(value);
  for (const ExamAnswer& answer : expected) words[answer.field] = answer.text;
  for (const auto& [name, value] : words) {
    const std::string place = "{" + name + "}";
    for (std::size_t at = 0; (at = text.find(place, at)) != std::string::npos; at += value.size()) text.replace(at, place.size(), value);
  }
  return text;
}

ExamGrade grade(const Exam& exam, const ExamPlan& plan, const ExamPage& page, const std::vector<FaultKind>& kinds,
                const std::vector<ExamAnswer>& expected, const ExamForm& form) {
  const auto answered = [&](const std::string& field) {
    const auto found = form.answers.find(field);
    return found == form.answers.end() ? std::string() : found->second;
  };
  ExamGrade result;
  const std::string fault = answered("fault");
  const bool right_fault = fault == exam.fault;
  result.answers.push_back({"fault", fault, right_fault, right_fault ? "" : why_not(fault, page, kinds)});
  for (const ExamAnswer& answer : expected) {
    const std::string its = answered(answer.field);
    if (answer.tolerance > 0 && !its.empty() && !number_in(its))
      throw UsageError(fmt::format("{}: \"{}\" is not a number. Fix: write the number alone, as 2.5", answer.field, its));
    const bool right = is_right(answer, its);
    result.answers.push_back({answer.field, its, right, right ? "" : page.solution.at(answer.field)});
  }
  result.reasoning = filled(page.solution.at("Reasoning"), plan, expected);
  return result;
}

nlohmann::json grade_json(const Exam& exam, const ExamPage& page, const ExamForm& form, const ExamGrade& grade) {
  nlohmann::json json = {{"exam", exam.number()},    {"title", page.title},    {"seed", form.seed},
                         {"passed", grade.passed()}, {"right", grade.right()}, {"of", grade.answers.size()}};
  for (const GradedAnswer& answer : grade.answers) {
    json["answers"].push_back({{"field", answer.field}, {"answered", answer.answered}, {"right", answer.right}});
    if (!answer.right) json["answers"].back()["explanation"] = answer.explanation;
  }
  if (grade.passed()) json["reasoning"] = grade.reasoning;
  return json;
}

}  // namespace lockstep::cli
