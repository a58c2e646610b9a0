// One trial of a lesson: compiles a file with the lesson's tests, runs the program and reads its results.
#pragma once

#include <string>
#include <vector>

#include "cli/lesson/lesson_files.h"

namespace lockstep::cli {

struct LessonTrial {
  enum class Ending { passed, failed, not_compiled, crashed, timed_out };
  Ending ending = Ending::failed;
  struct Test {
    std::string part, name, message;
    bool started = false, passed = false;
    bool reached = true;  // false: it passes without code, and no other test of its part passes
  };
  std::vector<Test> tests;  // all of the lesson; those the program has not come to included
  std::string message;      // the compiler's errors, or what is known about a crash
  std::string place;        // of a crash: "your line 12"
  double seconds = 0;

  int passed() const;
  const Test* last_started() const;
  const Test* first_failure() const;
};

// Compiles the headers that all lessons share, where they have changed.
void prepare_lessons(const LessonManifest& manifest);

// The program's output goes to the terminal unless `quiet`.
LessonTrial try_lesson(const LessonManifest& manifest, const Lesson& lesson, const std::filesystem::path& file,
                       const std::vector<UsedLesson>& used, bool quiet);

}  // namespace lockstep::cli
