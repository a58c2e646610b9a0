// The main function of every lesson's program: test names become sentences, failures become paragraphs, and a report of check mode
// becomes a failure of the test that was running. The first failure is shown in full, the others by name.
//
// LOCKSTEP_LESSON_RESULTS names a file for `lockstep lesson`. It has a line for every test (plan), then one for each event: start, pass,
// fail or unreached (it passes without code, and nothing else in its part does), the test's name and the message; and `complete` after the
// last test.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cctype>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "lesson_test.h"
#include "simulator/gpu/check/reports.h"
#include "simulator/gpu/runtime/control.h"
#include "source_lines.h"
#include "watchdog.h"

namespace lesson {
namespace {

constexpr std::size_t kColumns = 78;
constexpr std::size_t kShownFailures = 1;  // of one test
constexpr const char* kCheckModeSays = "Check mode says: ";

// "TheRingOfFourGPUsSendsTheLeast" -> "The ring of four GPUs sends the least": a word begins with a capital that follows a small letter or
// comes before one; only words of several capitals keep them.
std::string sentence(const std::string& name) {
  const auto capital = [&](std::size_t i) { return i < name.size() && std::isupper(static_cast<unsigned char>(name[i])) != 0; };
  const auto digit = [&](std::size_t i) { return i < name.size() && std::isdigit(static_cast<unsigned char>(name[i])) != 0; };
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool small_next = i + 1 < name.size() && !capital(i + 1) && name[i + 1] != 's';
    const bool begins = i > 0 && ((capital(i) && (!capital(i - 1) || small_next)) || (digit(i) && !digit(i - 1)));
    if (begins) text += ' ';
    const bool in_capitals = capital(i + 1) && (i + 2 >= name.size() || capital(i + 2) || name[i + 2] == 's');
    text += begins && !in_capitals ? static_cast<char>(std::tolower(static_cast<unsigned char>(name[i]))) : name[i];
  }
  return text;
}

std::string wrapped(const std::string& text, const std::string& indent) {
  std::string all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::size_t own = line.find_first_not_of(' ');
    if (own == std::string::npos) own = 0;
    std::string now = indent + line.substr(0, own);
    const std::string hang = indent + std::string(own, ' ');
    if (indent.size() + line.size() <= kColumns) {
      all += indent + line + "\n";
      continue;
    }
    std::istringstream words(line);
    bool fresh = true;
    for (std::string word; words >> word;) {
      if (!fresh && now.size() + 1 + word.size() > kColumns) {
        all += now + "\n";
        now = hang;
        fresh = true;
      }
      now += (fresh ? "" : " ") + word;
      fresh = false;
    }
    all += now + "\n";
  }
  return all;
}

// Removes what gtest puts around a message.
std::string plain(std::string text) {
  const std::string failed = "Failed\n", thrown = "C++ exception with description \"";
  if (text.rfind(failed, 0) == 0) text = text.substr(failed.size());
  if (text.rfind(thrown, 0) == 0) {
    text = text.substr(thrown.size());
    text = text.substr(0, text.rfind("\" thrown in"));
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string one_line(std::string text) {
  for (char& letter : text) {
    if (letter == '\n') letter = '\x1f';
  }
  return text;
}

// A reader that has gone (`| head`) does not end the program: its results are still wanted.
template <typename... Values>
void say(fmt::format_string<Values...> text, Values&&... values) {
  const std::string line = fmt::format(text, std::forward<Values>(values)...);
  std::fflush(stdout);  // what the learner has printed
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t count = ::write(STDOUT_FILENO, line.data() + at, line.size() - at);
    if (count <= 0) return;
    at += static_cast<std::size_t>(count);
  }
}

// Without the lines that name the functions which issued an operation, unless LOCKSTEP_LESSON_VERBOSE is set.
std::string without_stacks(const std::string& report) {
  if (std::getenv("LOCKSTEP_LESSON_VERBOSE") != nullptr) return report;
  std::istringstream lines(report);
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("  '", 0) != 0 || line.find(" was issued by ") == std::string::npos) text += line + "\n";
  }
  return text;
}

bool without_code = false;  // of the test that runs
std::string& shown_text() {
  static std::string text;  // of the test that runs
  return text;
}

class Reporter : public testing::EmptyTestEventListener {
 public:
  Reporter() : color_(isatty(1) != 0) {
    if (const char* path = std::getenv("LOCKSTEP_LESSON_RESULTS")) results_.open(path);
  }

  void OnTestProgramStart(const testing::UnitTest& all) override {
    for (int p = 0; p < all.total_test_suite_count(); ++p) {
      const testing::TestSuite& part = *all.GetTestSuite(p);
      for (int t = 0; t < part.total_test_count(); ++t) note("plan", *part.GetTestInfo(t), "");
    }
  }

  void OnTestSuiteStart(const testing::TestSuite& part) override {
    if (testing::UnitTest::GetInstance()->test_suite_to_run_count() > 1) say("  {}\n", sentence(part.name()));
  }

  void OnTestStart(const testing::TestInfo& test) override {
    note("start", test, "");
    watch_test(sentence(test.name()));
    without_code = false;
    shown_text().clear();
    failures_.clear();
    lockstep::sim::clear_device_errors();
    lockstep::sim::clear_check_reports();
    cudaSetDevice(0);
    cudaGetLastError();
    forget_notes();
    forget_calls();
  }

  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    const std::string text = plain(result.message());
    // A race explains wrong numbers, so it comes first. That a GPU refuses further work has a cause, which another report names.
    const bool explains = text.rfind(kCheckModeSays, 0) == 0 && text.find("refuses the operation") == std::string::npos;
    failures_.insert(explains ? failures_.begin() : failures_.end(), text);
  }

  void OnTestEnd(const testing::TestInfo& test) override {
    watch_test("");
    const bool good = failures_.empty();
    if (good && without_code) {
      waiting_.push_back(&test);
      return;
    }
    part_passed_ = part_passed_ || good;
    if (good) {
      for (const std::string& remark : remarks()) say("{}", wrapped("Note: " + remark, "        "));
    } else if (!remarks().empty()) {
      failures_.front() = remarks().front() + "\n" + failures_.front();
    }
    note(good ? "pass" : "fail", test, good ? "" : failures_.front());
    say("  {}  {}\n", good ? paint("ok  ", 32) : paint("FAIL", 31), sentence(test.name()));
    if (good) say("{}", wrapped(shown_text(), "        "));
    passed_ += good;
    if (!good && !shown_) {
      shown_ = true;
      for (std::size_t i = 0; i < failures_.size() && i < kShownFailures; ++i) say("{}", wrapped(failures_[i], "        "));
      if (failures_.size() > kShownFailures) say("        (and {} more like it)\n", failures_.size() - kShownFailures);
    }
  }

  void OnTestSuiteEnd(const testing::TestSuite&) override {
    for (const testing::TestInfo* test : waiting_) {
      note(part_passed_ ? "pass" : "unreached", *test, part_passed_ ? "" : "not reached: it passes without your code");
      say("  {}  {}\n", part_passed_ ? paint("ok  ", 32) : "--  ", sentence(test->name()) + (part_passed_ ? "" : " (not reached)"));
      passed_ += part_passed_;
    }
    waiting_.clear();
    part_passed_ = false;
  }

  void OnTestProgramEnd(const testing::UnitTest& all) override {
    say("\n{} of {} tests pass.\n", passed_, all.test_to_run_count());
    results_ << "complete" << std::endl;
  }

  // The last thing the program says: why it ends early.
  void tell(const std::string& kind, const std::string& text) { results_ << kind << "\t\t\t" << one_line(text) << std::endl; }

 private:
  void note(const char* event, const testing::TestInfo& test, const std::string& text) {
    if (!results_) return;
    results_ << event << '\t' << test.test_suite_name() << '\t' << sentence(test.name()) << '\t' << one_line(text) << std::endl;
  }
  std::string paint(const std::string& text, int code) const { return color_ ? fmt::format("\033[{}m{}\033[0m", code, text) : text; }

  std::ofstream results_;
  const bool color_;
  bool shown_ = false;
  int passed_ = 0;
  bool part_passed_ = false;                       // a test of this part that needs code
  std::vector<const testing::TestInfo*> waiting_;  // passed, and do not need code
  std::vector<std::string> failures_;
};

// Runs at the end of every test: a report of check mode is a failure of this test.
class CheckModeListener : public testing::EmptyTestEventListener {
 public:
  void OnTestEnd(const testing::TestInfo&) override {
    lockstep::sim::wait_for_all_devices();
    for (const std::string& report : lockstep::sim::check_reports()) ADD_FAILURE() << kCheckModeSays << without_stacks(report);
    for (const std::string& call : unseen_failures())
      ADD_FAILURE() << call << "\nYour code does not look at what the call returns. Fix: CHECK_CUDA(...) around it.";
  }
};

}  // namespace

void passes_without_code() { without_code = true; }
void show(const std::string& text) { shown_text() = text; }

}  // namespace lesson

int main(int argc, char** argv) {
  // The same virtual machine on every computer, whatever the environment says; only the order of runnable work (LOCKSTEP_SIM_SEED) may be
  // set.
  setenv("LOCKSTEP_SIM_MACHINE", "t4", 1);
  setenv("LOCKSTEP_SIM_GPUS", "8", 1);
  setenv("LOCKSTEP_SIM_WORKERS", "2", 1);
  setenv("LOCKSTEP_SIM_CHECK", "memory,race,deadlock", 1);
  setenv("LOCKSTEP_SIM_CHECK_GRACE", "15000", 0);
  unsetenv("LOCKSTEP_SIM_FAULT");
  signal(SIGPIPE, SIG_IGN);
  testing::InitGoogleTest(&argc, argv);
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());  // NOLINT(cppcoreguidelines-owning-memory): gtest's way
  auto* const reporter = new lesson::Reporter;                   // NOLINT(cppcoreguidelines-owning-memory): gtest's way
  listeners.Append(reporter);
  listeners.Append(new lesson::CheckModeListener);  // gtest calls OnTestEnd in reverse order, so this one first
  // Before the first use of the virtual GPU, whose own handlers come first.
  lesson::start_watchdog({[](const std::string& text) { lesson::say("{}", text); },
                          [reporter](const std::string& kind, const std::string& text) { reporter->tell(kind, text); }});
  lockstep::sim::set_place_of_call(&lesson::place_of_call);
  return RUN_ALL_TESTS();
}
