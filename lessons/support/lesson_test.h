// Helpers of the lessons' tests: GPUs with known contents, and failures as sentences.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "lesson.h"

// A failure is a sentence: what was expected, what was computed, and for which input. EXPECT continues, REQUIRE ends the test.
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

// Replicas on GPUs 0 .. n-1, each with a stream and `count` numbers; freed at the end. Buffers hold `value(replica, i)`; staging is
// uninitialised, and check mode reports a read of it before a write.
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
  std::vector<float*> sources_;  // pinned host memory that write_later copies from
};

std::vector<float> read(const float* device, std::int64_t count);  // after waiting for all GPUs
void write(float* device, const std::vector<float>& values);

// Recorded since the last call of `forget_notes`, which every test starts with.
const std::vector<Message>& messages();
int host_waits();
void forget_notes();

// Writes a buffer in the replica's stream under this name: check mode reports what it is not ordered with.
void touch(const Replica& replica, float* buffer, std::int64_t count, const char* name);

// Calls that failed unseen, and waits that did nothing, since the test began.
std::vector<std::string> unseen_failures();
std::vector<std::string> remarks();
void forget_calls();

// Another order of the threads of a block, and of blocks; 0: in order.
void shuffle_threads(std::uint64_t seed);

// At the start of a test that a function without code passes: it counts once another test of its part has passed.
void passes_without_code();

// Printed as it is below the name of this test, when it passes.
void show(const std::string& text);

// Whether check mode has reported something in this test.
bool check_mode_complained();

std::string number(double value);                                          // short: 0.25, 3, 1e-07
std::string list(const std::vector<float>& values, std::size_t most = 8);  // "1, 2, 3, ..."
std::string list(const std::vector<Range>& ranges);                        // "[0, 3) [3, 5)"
std::string picture(const std::vector<Message>& messages, std::size_t most = 12);
// The first index where they differ by more than the tolerance; -1: none.
std::int64_t first_difference(const std::vector<float>& a, const std::vector<float>& b, double tolerance = 0);
bool same_bits(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace lesson
