#include "notebooks/kernel/output.h"

#include <algorithm>
#include <cstdio>

namespace lockstep::kernel {

void Output::begin_cell() {
  flush();
  shown_ = cut_ = 0;
}

void Output::add(const std::string& stream, const std::string& text) {
  std::size_t room = std::min(text.size(), kMost - shown_);
  while (room > 0 && room < text.size() && (static_cast<unsigned char>(text[room]) & 0xC0) == 0x80) --room;  // whole characters
  (stream == "stderr" ? err_ : out_).append(text, 0, room);
  shown_ += room;
  cut_ += text.size() - room;
  if (cut_ > 0) shown_ = kMost;
  tick();
}

void Output::tick() {
  if ((!out_.empty() || !err_.empty()) && Clock::now() - last_ >= kPause) flush();
}

void Output::flush() {
  send(out_, "stdout");
  send(err_, "stderr");
}

void Output::send(std::string& text, const char* stream) {
  if (text.empty()) return;
  publish_(stream, text);
  text.clear();
  last_ = Clock::now();
}

void Output::end_cell() {
  flush();
  if (cut_ == 0) return;
  char notice[160];
  std::snprintf(notice, sizeof notice, "\n[Output was cut after 5 MiB: %.1f MiB more were printed. Fix: print less, or write to a file.]\n",
                static_cast<double>(cut_) / (1 << 20));
  publish_("stderr", notice);
  cut_ = 0;
}

int Output::wait() const {
  if (out_.empty() && err_.empty()) return -1;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(last_ + kPause - Clock::now()).count();
  return static_cast<int>(std::max<long>(0, left)) + 1;
}

}  // namespace lockstep::kernel
