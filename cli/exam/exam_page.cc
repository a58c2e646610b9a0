#include "cli/exam/exam_page.h"

#include <regex>
#include <sstream>

#include "cli/lesson/lesson_files.h"
#include "cli/text.h"
#include "lockstep/error.h"

namespace lockstep::cli {
namespace {

namespace fs = std::filesystem;
}  // namespace

std::vector<std::pair<std::string, std::string>> sections_of(const std::string& markdown) {
  std::vector<std::pair<std::string, std::string>> sections = {{"", ""}};
  std::istringstream lines(markdown);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("## ", 0) == 0)
      sections.emplace_back(line.substr(3), "");
    else
      sections.back().second += line + "\n";
  }
  for (auto& [heading, text] : sections) text = trimmed(text);
  return sections;
}

std::string folded(const std::string& markdown) {
  std::string all, part;
  const auto end_part = [&] {
    if (!part.empty()) all += wrapped(part, kColumns) + "\n";
    part.clear();
  };
  std::istringstream lines(markdown);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.rfind("- ", 0) == 0) end_part();
    if (line.empty()) all += "\n";
    part += (part.empty() ? "" : " ") + line;
  }
  end_part();
  return all;
}

ExamPage read_exam_page(const fs::path& exams, const Exam& exam) {
  static const std::regex kTitle(R"(^# Exam \d+: ([^\n]+))");
  ExamPage page;
  const fs::path folder = exams / exam.folder;
  for (const auto& [heading, text] : sections_of(read_text(folder / "exam.md"))) {
    if (heading.empty()) {
      std::smatch found;
      if (!std::regex_search(text, found, kTitle)) throw Error((folder / "exam.md").string() + " has no title");
      page.title = found[1];
      page.situation = trimmed(found.suffix());
    } else if (heading == "Form") {
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);) {
        const std::size_t colon = line.find(": ");
        if (line.rfind("- ", 0) != 0 || colon == std::string::npos)
          throw Error((folder / "exam.md").string() + ": not a field of the form: " + line);
        page.fields.emplace_back(line.substr(2, colon - 2), line.substr(colon + 2));
      }
    }
  }
  for (const auto& [heading, text] : sections_of(read_text(folder / "solution.md"))) {
    if (!heading.empty()) page.solution[heading] = text;
  }
  return page;
}

std::vector<FaultKind> read_fault_kinds(const fs::path& exams) {
  std::vector<FaultKind> kinds;
  const std::string mark = "Signs: ";
  for (const auto& [heading, text] : sections_of(read_text(exams / "faults.md"))) {
    if (heading.empty()) continue;
    const std::size_t at = text.find(mark);
    if (at == std::string::npos) throw Error((exams / "faults.md").string() + ": " + heading + " has no signs");
    kinds.push_back({heading, trimmed(text.substr(0, at)), trimmed(text.substr(at + mark.size()))});
  }
  return kinds;
}

}  // namespace lockstep::cli
