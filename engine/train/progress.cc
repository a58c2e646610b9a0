#include "engine/train/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "engine/train/interrupt.h"

namespace lockstep {
namespace {

constexpr int kBarCells = 20;
constexpr int kUnlimited = 1 << 20;  // characters of a line in a file
constexpr std::chrono::milliseconds kRefresh{100};

int terminal_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

std::string duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::lround(seconds));
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string per_step(double seconds) {
  if (seconds >= 1) return fmt::format("{:.0f}s/step", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.0f}ms/step", seconds * 1e3);
  return fmt::format("{:.0f}us/step", seconds * 1e6);
}

std::string value(double number) {
  if (number != 0 && std::abs(number) < 1e-3) return fmt::format("{:.4e}", number);
  return fmt::format("{:.4f}", number);
}

std::string rate(double samples_per_second) {
  if (samples_per_second >= 10000) return fmt::format("{:.1f}k samples/s", samples_per_second / 1000);
  return fmt::format("{:.0f} samples/s", samples_per_second);
}

// Cells filled so far; the bar is as long as there is room for.
std::string bar(std::int64_t done, std::int64_t total, int cells) {
  const int filled = total > 0 ? static_cast<int>(done * cells / total) : cells;
  std::string text;
  for (int i = 0; i < cells; ++i) text += i < filled ? "━" : "─";
  return text;
}

// As many bytes: these are all ASCII. The last column stays free, where some terminals wrap.
std::string cut_to(const std::string& text, int width) { return text.substr(0, static_cast<std::size_t>(std::max(width - 1, 0))); }

// Training goes on when the terminal has gone: what can't be written is noticed by the program, at its end.
void put(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// One that can move back and clear a line.
bool is_terminal() {
  const char* kind = std::getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && (kind == nullptr || std::strcmp(kind, "dumb") != 0);
}

}  // namespace

std::string format_progress(const ProgressLine& line, int width) {
  const std::string count = line.total > 0 ? fmt::format("{:>{}}/{}", line.done, std::to_string(line.total).size(), line.total)
                                           : fmt::format("{}/Unknown", line.done);
  const double remaining = line.total > 0 ? static_cast<double>(line.total - line.done) * line.step_seconds : 0;
  const std::string time = duration(line.finished || line.total <= 0 ? line.seconds : remaining) + " " + per_step(line.step_seconds);
  std::vector<std::string> values;
  for (const auto& [name, number] : line.logs) values.push_back(fmt::format("{}: {}", name, value(number)));
  if (line.samples_per_second > 0) values.push_back(rate(line.samples_per_second));

  int room = width - static_cast<int>(count.size() + time.size()) - 2;  // what stands on the line, and the space before the bar
  std::size_t shown = 0;
  while (shown < values.size() && room >= static_cast<int>(values[shown].size()) + 3) room -= static_cast<int>(values[shown++].size()) + 3;
  // A finished line has all it knows, on further lines where it must; then there is room for the bar.
  const bool wraps = line.finished && shown < values.size();
  const int cells = std::clamp(wraps ? width - static_cast<int>(count.size() + time.size()) - 2 : room - 1, 0, kBarCells);
  std::string text = count + " " + (cells > 0 ? bar(line.done, line.total, cells) + " " : "") + time;
  if (!wraps) {
    for (std::size_t i = 0; i < shown; ++i) text += " - " + values[i];
    return line.finished || cells > 0 ? text : cut_to(text, width);
  }
  int column = static_cast<int>(count.size() + time.size()) + 1 + (cells > 0 ? cells + 1 : 0);
  for (const std::string& one : values) {
    const bool fits = column + 3 + static_cast<int>(one.size()) <= width;
    const std::string between = fits ? " - " : "\n" + std::string(count.size() + 1, ' ');
    column = (fits ? column + 3 : static_cast<int>(between.size()) - 1) + static_cast<int>(one.size());
    text += between + one;
  }
  return text;
}

ProgressBar::ProgressBar(Verbose verbose, int epochs) : verbose_(verbose), epochs_(epochs) {
  if (verbose_ == Verbose::automatic) verbose_ = is_terminal() || in_notebook() ? Verbose::bar : Verbose::line;
}

void ProgressBar::begin_epoch(int epoch, std::int64_t steps) {
  steps_ = steps;
  samples_ = 0;
  begin_ = shown_ = Clock::now();
  if (verbose_ == Verbose::silent) return;
  put(fmt::format("Epoch {}/{}\n", epoch + 1, epochs_));
}

bool ProgressBar::due() { return verbose_ == Verbose::bar && Clock::now() - shown_ >= kRefresh; }

std::string ProgressBar::line(std::int64_t done, const Logs& logs, bool finished, int width) const {
  ProgressLine line;
  const Clock::time_point now = Clock::now();
  const double training = std::chrono::duration<double>((finished ? batches_end_ : now) - begin_).count();
  line.done = done;
  line.total = finished ? done : steps_;
  line.seconds = std::chrono::duration<double>(now - begin_).count();
  line.step_seconds = training / static_cast<double>(std::max<std::int64_t>(1, done));
  line.samples_per_second = training > 0 ? static_cast<double>(samples_) / training : 0;
  line.finished = finished;
  line.logs = logs;
  return format_progress(line, width);
}

void ProgressBar::show(std::int64_t done, const Logs& logs) {
  shown_ = Clock::now();
  put(fmt::format("\r{}\x1b[K", line(done, logs, false, terminal_width())));
}

void ProgressBar::end_batches() { batches_end_ = Clock::now(); }

void ProgressBar::end_epoch(std::int64_t done, const Logs& logs) {
  if (verbose_ == Verbose::silent) return;
  const std::string text = line(done, logs, true, verbose_ == Verbose::bar ? terminal_width() : kUnlimited);
  put(fmt::format("{}{}\n", verbose_ == Verbose::bar ? "\r\x1b[K" : "", text));
}

}  // namespace lockstep
