#include "cli/lesson/lesson_questions.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <regex>
#include <sstream>

#include "cli/command.h"

namespace lockstep::cli {
namespace {

constexpr double kTolerance = 0.02;

bool is_number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && std::isfinite(value);
}

void check_answer(const LessonQuestion& question, std::size_t number, const std::string& answer) {
  if (question.choices.empty()) {
    if (!is_number(answer)) throw UsageError(fmt::format("question {} asks for a number, and \"{}\" is none", number, answer));
    return;
  }
  std::string letters;
  for (const std::string& choice : question.choices) {
    if (answer == choice.substr(0, 1)) return;
    letters += (letters.empty() ? "" : ", ") + choice.substr(0, 1);
  }
  throw UsageError(fmt::format("question {} has the answers {}, and \"{}\" is none of them", number, letters, answer));
}

}  // namespace

bool LessonQuestion::right(const std::string& predicted) const {
  if (!choices.empty()) return predicted == answer;
  const double wanted = std::strtod(answer.c_str(), nullptr);
  return is_number(predicted) && std::abs(std::strtod(predicted.c_str(), nullptr) - wanted) <= kTolerance * std::abs(wanted);
}

std::vector<LessonQuestion> questions_of(const Lesson& lesson) {
  static const std::regex kAnswer(R"(Answer: (\S+)\. (.*))");
  const std::filesystem::path file = lesson.folder / "questions.md";
  if (!std::filesystem::exists(file)) return {};
  std::istringstream page(read_text(file));
  std::vector<LessonQuestion> questions;
  std::smatch found;
  for (std::string line; std::getline(page, line);) {
    if (line.rfind("## ", 0) == 0) {
      questions.push_back({line.substr(3), {}, "", ""});
    } else if (!questions.empty() && line.rfind("- ", 0) == 0) {
      questions.back().choices.push_back(line.substr(2));
    } else if (!questions.empty() && std::regex_match(line, found, kAnswer)) {
      questions.back().answer = found[1];
      questions.back().why = found[2];
    }
  }
  return questions;
}

std::vector<std::string> read_predictions(const std::vector<LessonQuestion>& questions, const std::string& text) {
  std::vector<std::string> answers;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) answers.push_back(part);
  if (answers.size() != questions.size()) {
    throw UsageError(
        fmt::format("--predict needs {} answers with a comma between them, and \"{}\" has {}", questions.size(), text, answers.size()));
  }
  for (std::size_t i = 0; i < answers.size(); ++i) check_answer(questions[i], i + 1, answers[i]);
  return answers;
}

}  // namespace lockstep::cli
