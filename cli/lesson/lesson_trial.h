// One trial of a lesson: a file is compiled with the lesson's tests, the program runs, and what it did is read back.
#pragma once

#include <string>
#include <vector>

#include "cli/lesson/lesson_shelf.h"

namespace lockstep::cli {

struct LessonTrial {
  enum class Ending { passed, failed, not_compiled, crashed, timed_out };
  Ending ending = Ending::failed;
  struct Test {
    std::string part, name, message;
    bool passed = false;
  };
  std::vector<Test> tests;
  std::string words;  // the compiler's, or about a crash
  double seconds = 0;

  int passed() const;
  const Test* first_failure() const;
};

// Headers that all lessons share, compiled once; done again when they have changed.
void prepare_lessons(const LessonManifest& manifest);

// What the program prints goes to the terminal unless `quiet`.
LessonTrial try_lesson(const LessonManifest& manifest, const Lesson& lesson, const std::filesystem::path& file, bool quiet);

}  // namespace lockstep::cli
