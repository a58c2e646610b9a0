// The form of an exam: a text file with a line for each answer, as `fault: slow-gpu`. What follows a # is a comment.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cli/exam/exam_page.h"

namespace lockstep::cli {

// Empty, with the questions as comments.
std::string empty_form(const Exam& exam, std::uint64_t seed, const ExamPage& page, const std::vector<FaultKind>& kinds);

struct ExamForm {
  int exam = 0;
  std::uint64_t seed = 0;
  std::map<std::string, std::string> answers;  // by field; "" where there is none
};
// A UsageError says which line can't be understood.
ExamForm read_form(const std::filesystem::path& file);
// A UsageError where a fault is none of the list, or a field is none of this exam's.
void check_form(const ExamForm& form, const ExamPage& page, const std::vector<FaultKind>& kinds);

}  // namespace lockstep::cli
