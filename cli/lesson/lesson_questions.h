// The two questions a lesson opens with: the learner predicts, then runs, then sees both.
#pragma once

#include <string>
#include <vector>

#include "cli/lesson/lesson_files.h"

namespace lockstep::cli {

struct LessonQuestion {
  std::string text;
  std::vector<std::string> choices;  // "a. To one device"; none: the answer is a number
  std::string answer, why;

  // A number is right within 2 %.
  bool right(const std::string& predicted) const;
};

// Of questions.md: a heading is a question, "- a. ..." are choices, "Answer: 40. Because ..." is the answer. Without the file: none.
std::vector<LessonQuestion> questions_of(const Lesson& lesson);

// "40,c": an answer to each question; a UsageError says what is wrong with them.
std::vector<std::string> read_predictions(const std::vector<LessonQuestion>& questions, const std::string& text);

}  // namespace lockstep::cli
