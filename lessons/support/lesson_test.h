// What the lessons' tests are written with: GPUs with known contents, and failures in sentences.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "lesson.h"

// A failure is a sentence: what was expected, what came, and for which input. EXPECT goes on, REQUIRE ends the test.
#define EXPECT(good) \
  if (good)          \
    ;                \
  else               \
    ADD_FAILURE()
#define REQUIRE(good) \
  if (good)           \
    ;                 \
  else                \
    FAIL()

namespace lesson {

// Replicas on GPUs 0 .. n-1, each with a stream and `count` numbers; given back at the end. Buffers hold what `value(replica, i)` says,
// staging holds nothing yet: reading it before something was written there is found.
class Replicas {
 public:
  Replicas(int n, std::int64_t count, const std::function<float(int, std::int64_t)>& value);
  ~Replicas();
  Replicas(const Replicas&) = delete;
  Replicas& operator=(const Replicas&) = delete;

  const std::vector<Replica>& all() const { return replicas_; }
  const Replica& operator[](int r) const { return replicas_[static_cast<std::size_t>(r)]; }
  // Puts work into replica r's stream that writes value(i) to its buffer: later, not now.
  void write_later(int r, const std::function<float(std::int64_t)>& value);
  void wait();  // for everything
  std::vector<float> read(int r);

 private:
  std::vector<Replica> replicas_;
  std::vector<float*> sources_;  // of writes to come
};

std::vector<float> read(const float* device, std::int64_t count);  // after waiting for all GPUs
void write(float* device, const std::vector<float>& values);

// What was noted since the last call of `forget_notes` (which every test begins with).
const std::vector<Message>& messages();
int host_waits();
void forget_notes();

// Work of one's own in a stream that reads or writes a buffer: check mode sees it, and says what it is not ordered with.
void touch(const Replica& replica, float* buffer, std::int64_t count, const char* name);

// Whether check mode has found something so far in this test.
bool check_mode_complained();

std::string number(double value);                                          // short: 0.25, 3, 1e-07
std::string list(const std::vector<float>& values, std::size_t most = 8);  // "1, 2, 3, ..."
std::string list(const std::vector<Range>& ranges);                        // "[0, 3) [3, 5)"
std::string picture(const std::vector<Message>& messages, std::size_t most = 12);
// The first place where they differ by more than the tolerance; -1: nowhere.
std::int64_t first_difference(const std::vector<float>& a, const std::vector<float>& b, double tolerance = 0);
bool same_bits(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace lesson
