// The lessons on disk, and a learner's files and progress.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace lockstep::cli {

// Written by the build: folders, and how a lesson is compiled. Paths are absolute once read.
struct LessonManifest {
  std::filesystem::path folder;   // of the manifest and the libraries
  std::filesystem::path lessons;  // 01-replicate, ...
  std::filesystem::path cache;    // for compiled files
  std::string compiler;
  std::vector<std::string> flags, link, libraries;
  std::vector<std::filesystem::path> include;
};
LessonManifest read_lesson_manifest();  // lib/lessons.json beside the program's folder

struct Lesson {
  int number = 0;
  std::string name;   // "04-all-reduce"
  std::string title;  // "All-reduce"
  std::filesystem::path folder;
};
std::vector<Lesson> list_lessons(const LessonManifest& manifest);

// Hints by the part of the lesson (gtest's suite) they belong to, in the order of the page.
std::vector<std::string> hints_for(const Lesson& lesson, const std::string& part);

// Kept between commands, in progress.json beside the learner's files.
struct LessonProgress {
  int passed = 0, tests = 0;
  bool done = false;
  std::size_t text = 0;                // a hash of the file that was tried; 0: not known
  std::string part;                    // of the first failing test
  std::map<std::string, int> hints;    // shown, by part
  std::vector<std::string> predicted;  // answers to the lesson's questions; empty: none yet
  bool answered = false;               // the answers were shown
  int asked = 0;                       // how often the learner asked for one
};

class LessonWork {
 public:
  // Progress of files that are gone is forgotten.
  explicit LessonWork(std::filesystem::path folder);
  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path file_of(const Lesson& lesson) const { return folder_ / (lesson.name + ".h"); }
  LessonProgress& progress(const Lesson& lesson) { return progress_[lesson.name]; }
  void save() const;

 private:
  std::filesystem::path folder_;
  std::map<std::string, LessonProgress> progress_;
};

// A lesson whose functions another lesson uses: the learner's file where it is done, else its solution.
struct UsedLesson {
  Lesson lesson;
  std::filesystem::path file;
  std::string why_given;  // empty: the learner's own
};
std::vector<UsedLesson> lessons_used_by(const Lesson& lesson, const std::vector<Lesson>& lessons, LessonWork& work);

std::size_t hash_of(const std::filesystem::path& file);
std::string read_text(const std::filesystem::path& path);
std::string shown(const std::filesystem::path& path);  // relative to the current folder where it is below it

}  // namespace lockstep::cli
