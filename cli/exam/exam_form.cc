#include "cli/exam/exam_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "cli/command.h"
#include "cli/lesson/lesson_files.h"
#include "cli/text.h"
#include "cli/validators.h"

namespace lockstep::cli {
namespace {

std::string as_comment(const std::string& text) {
  std::istringstream lines(wrapped(text, kColumns - 2));
  std::string all;
  for (std::string line; std::getline(lines, line);) all += "# " + line + "\n";
  return all;
}

template <typename Number>
Number number_of(const std::map<std::string, std::string>& answers, const std::string& field) {
  const auto found = answers.find(field);
  Number number{};
  if (found != answers.end()) {
    const char* const end = found->second.data() + found->second.size();
    if (const auto read = std::from_chars(found->second.data(), end, number); read.ec == std::errc{} && read.ptr == end) return number;
  }
  throw UsageError(fmt::format("the form has no line \"{}: NUMBER\". Fix: use the form that the exam wrote", field));
}

}  // namespace

std::string empty_form(const Exam& exam, std::uint64_t seed, const ExamPage& page, const std::vector<FaultKind>& kinds) {
  std::string names;
  for (const FaultKind& kind : kinds) names += (names.empty() ? "" : ", ") + kind.name;
  std::string form = "# Write each answer behind its colon.\n";
  form += fmt::format("exam: {}\nseed: {}\n\n", exam.number(), seed);
  form += as_comment("What is wrong in this run; one of: " + names + " (lessons/exams/faults.md describes them).") + "fault:\n";
  for (const auto& [field, question] : page.fields) form += "\n" + as_comment(question) + field + ":\n";
  return form;
}

ExamForm read_form(const std::filesystem::path& file) {
  ExamForm form;
  std::istringstream lines(read_text(file));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos)
      throw UsageError(fmt::format("{}:{}: an answer is a line such as \"fault: slow-gpu\"", shown(file), number));
    form.answers[trimmed(line.substr(0, colon))] = trimmed(line.substr(colon + 1));
  }
  form.exam = number_of<int>(form.answers, "exam");
  form.seed = number_of<std::uint64_t>(form.answers, "seed");
  form.answers.erase("exam");
  form.answers.erase("seed");
  return form;
}

void check_form(const ExamForm& form, const ExamPage& page, const std::vector<FaultKind>& kinds) {
  std::vector<std::string> names, fields = {"fault"};
  for (const FaultKind& kind : kinds) names.push_back(kind.name);
  for (const auto& [field, question] : page.fields) fields.push_back(field);
  const auto among = [](const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  };
  const auto fix = [](const std::string& word, const std::vector<std::string>& all) {
    const std::string near = nearest(word, all);
    return near.empty() ? std::string("; they are ") + fmt::format("{}", fmt::join(all, ", ")) : "; did you mean " + near + "?";
  };
  for (const auto& [field, answer] : form.answers) {
    if (!among(fields, field)) throw UsageError(fmt::format("\"{}\" is not a field of this form{}", field, fix(field, fields)));
    if (field == "fault" && !answer.empty() && !among(names, answer))
      throw UsageError(fmt::format("\"{}\" is not one of the faults{}", answer, fix(answer, names)));
  }
}

}  // namespace lockstep::cli
