// The tests of lesson 6. Your file is included before this one.
#include "lesson_test.h"

namespace lesson {

// Each replica writes its own buffer, meets the others, and reads theirs: only right when all waited for all.
void write_meet_read(int n) {
  Replicas replicas(n, 200, [](int, std::int64_t) { return 0.0F; });
  for (int round = 0; round < 2; ++round) {
    for (int r = 0; r < n; ++r) replicas.write_later(r, [r](std::int64_t i) { return static_cast<float>(r * 1000 + i); });
    meet(replicas.all());
    EXPECT(host_waits() == 0) << "meet() made the host wait " << host_waits() << " times. Only streams have to wait here.";
    for (int r = 0; r < n; ++r) {
      for (int other = 0; other < n; ++other) {
        if (other != r) CHECK_CUDA(cudaMemcpyPeerAsync(replicas[r].staging, r, replicas[other].buffer, other, 800, replicas[r].stream));
      }
    }
    if (round == 0) meet(replicas.all());
    forget_notes();
  }
  replicas.wait();
}

TEST(Meet, TwoStreamsWaitForEachOther) { write_meet_read(2); }
TEST(Meet, EveryStreamWaitsForEveryOther) { write_meet_read(5); }

// The host has waited, so another stream may use every buffer.
TEST(WaitForAll, TheHostHasWaitedForEveryReplica) {
  Replicas replicas(4, 200, [](int, std::int64_t) { return 0.0F; });
  for (int r = 0; r < 4; ++r) replicas.write_later(r, [r](std::int64_t i) { return static_cast<float>(r * 1000 + i); });
  wait_for_all(replicas.all());
  for (int r = 0; r < 4; ++r) {
    Replica other = replicas[r];
    CHECK_CUDA(cudaSetDevice(r));
    CHECK_CUDA(cudaStreamCreateWithFlags(&other.stream, cudaStreamNonBlocking));
    touch(other, other.buffer, other.count, "what comes after wait_for_all");
    (cudaStreamSynchronize)(other.stream);
    CHECK_CUDA(cudaStreamDestroy(other.stream));
  }
}

TEST(Checksum, EqualValuesHaveEqualChecksums) {
  EXPECT(checksum({1, 2, 3}) == checksum({1, 2, 3})) << "{1, 2, 3} has two different checksums.";
  EXPECT(checksum({1, 2, 3}) != 0) << "The checksum of {1, 2, 3} is 0. Is it computed at all?";
}

void expect_different(const std::vector<float>& a, const std::vector<float>& b, const std::string& what) {
  EXPECT(checksum(a) != checksum(b)) << what << " has the same checksum as before: " << checksum(a) << ".";
}
TEST(Checksum, AnyChangeIsSeen) {
  expect_different({1, 2, 3}, {1, 2, 4}, "{1, 2, 3} with the last number changed to 4");
  expect_different({1, 2, 3}, {2, 1, 3}, "{1, 2, 3} with the first two swapped");
  expect_different({0.0F, 1}, {-0.0F, 1}, "{0, 1} with -0.0 for 0");
  expect_different({1, 1e-30F}, {1, 2e-30F}, "{1, 1e-30} with the last number changed to 2e-30");
  expect_different({1e8F, 1}, {1e8F, 2}, "{1e8, 1} with the last number changed to 2");
}
TEST(Checksum, TheFirstReplicaThatDiffersIsNamed) {
  EXPECT(first_different({7, 7, 7, 7}) == -1) << "Checksums 7, 7, 7, 7 are all the same: -1 is wanted, not "
                                              << first_different({7, 7, 7, 7}) << ".";
  EXPECT(first_different({7, 7, 9, 8}) == 2) << "Checksums 7, 7, 9, 8: replica 2 is the first that differs from replica 0, not "
                                             << first_different({7, 7, 9, 8}) << ".";
  EXPECT(first_different({5}) == -1) << "A single replica has no other to differ from: -1 is wanted, not " << first_different({5}) << ".";
}

void expect_path(double rate, int delay, const std::vector<double>& wanted) {
  const std::vector<double> w = descend(1, rate, delay, static_cast<int>(wanted.size()) - 1);
  REQUIRE(w.size() == wanted.size()) << wanted.size() - 1 << " steps give " << wanted.size() << " values, w(0) included; you give "
                                     << w.size() << ".";
  for (std::size_t t = 0; t < w.size(); ++t) {
    REQUIRE(std::abs(w[t] - wanted[t]) < 1e-9) << "From w = 1 with learning rate " << number(rate) << " and a delay of " << delay << ", w("
                                               << t << ") should be " << number(wanted[t]) << " and is " << number(w[t]) << ".";
  }
}
TEST(Stale, FreshGradientsShrinkTheError) { expect_path(0.4, 0, {1, 0.2, 0.04, 0.008}); }
TEST(Stale, OldGradientsOvershoot) { expect_path(0.4, 1, {1, 0.2, -0.6, -0.76, -0.28, 0.328}); }
TEST(Stale, OlderOnesExplode) {
  expect_path(0.4, 2, {1, 0.2, -0.6, -1.4, -1.56, -1.08, 0.04});
  const std::vector<double> late = descend(1, 0.4, 2, 60);
  EXPECT(std::abs(late.back()) > 10) << "With a delay of 2 and learning rate 0.4, w is " << number(late.back())
                                     << " after 60 steps; it should have exploded (beyond 10).";
  const std::vector<double> slow = descend(1, 0.1, 2, 60);
  EXPECT(std::abs(slow.back()) < 0.01)
      << "With a learning rate of 0.1 the same delay is harmless: w should be near 0 after 60 steps, and is " << number(slow.back()) << ".";
}

}  // namespace lesson
