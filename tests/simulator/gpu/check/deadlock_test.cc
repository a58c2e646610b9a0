// LOCKSTEP_SIM_CHECK=deadlock: what would hang ends with an error that names the cycle; and collectives that do not fit are named.
#include <nccl.h>

#include <thread>

#include "tests/simulator/gpu/check/support/check_test.h"

namespace lockstep::test {
namespace {

class Deadlock : public CheckTest {};

TEST_F(Deadlock, TwoGatesInOppositeOrder) {
  const TestStream a, b;
  for (const bool corrected : {false, true}) {
    const auto first = sim::make_gate(2, "first meeting"), second = sim::make_gate(2, "second meeting");
    ASSERT_CUDA(sim::enqueue_gate(a, first));
    ASSERT_CUDA(sim::enqueue_gate(a, second));
    ASSERT_CUDA(sim::enqueue_gate(b, corrected ? first : second));
    ASSERT_CUDA(sim::enqueue_gate(b, corrected ? second : first));
    if (corrected) {
      expect_clean();
    } else {
      EXPECT_EQ(cudaStreamSynchronize(a), cudaErrorLaunchTimeout);
      EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchTimeout);
      expect_report({"deadlock: 2 streams wait", "'first meeting'", "'second meeting'", "1 of 2 have come", "The cycle: stream",
                     "TwoGatesInOppositeOrder", "Fix: "});
      sim::clear_device_errors();
      sim::clear_check_reports();
    }
  }
}

TEST_F(Deadlock, ThroughAnEventOfAThirdStream) {
  const TestStream a, b, c;
  const TestEvent event;
  const auto first = sim::make_gate(2, "first meeting");
  // a waits at the gate for b; b waits for an event of c; c waits at another gate that a comes to only later.
  const auto second = sim::make_gate(2, "second meeting");
  ASSERT_CUDA(sim::enqueue_gate(a, first));
  ASSERT_CUDA(sim::enqueue_gate(a, second));
  ASSERT_CUDA(sim::enqueue_gate(c, second));
  ASSERT_CUDA(cudaEventRecord(event, c));
  ASSERT_CUDA(cudaStreamWaitEvent(b, event, 0));
  ASSERT_CUDA(sim::enqueue_gate(b, first));
  EXPECT_EQ(cudaStreamSynchronize(b), cudaErrorLaunchTimeout);
  expect_report({"deadlock: 3 streams wait", "'wait for an event'", "The cycle"});
}

TEST_F(Deadlock, TheOtherStreamNeverComes) {
  const TestStream stream;
  const auto gate = sim::make_gate(2, "lonely meeting");
  ASSERT_CUDA(sim::enqueue_gate(stream, gate));
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorLaunchTimeout);
  expect_report({"deadlock: a stream waits", "lonely meeting", "it has not been issued for the other 1"});
}

TEST_F(Deadlock, SlowHostThreadIsWaitedFor) {
  const TestStream a, b;
  const auto gate = sim::make_gate(2, "meeting");
  ASSERT_CUDA(sim::enqueue_gate(a, gate));
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_CUDA(sim::enqueue_gate(b, gate));
  });
  EXPECT_CUDA(cudaStreamSynchronize(a));
  late.join();
  expect_clean();
}

TEST_F(Deadlock, LongOperationIsNotOne) {
  const TestStream a, b;
  const TestEvent event;
  sim::Operation slow;
  slow.kind = sim::OperationKind::marker;
  slow.name = "slow";
  slow.run = [](int) { std::this_thread::sleep_for(std::chrono::milliseconds(1500)); };
  ASSERT_CUDA(sim::enqueue(a, std::move(slow)));
  ASSERT_CUDA(cudaEventRecord(event, a));
  ASSERT_CUDA(cudaStreamWaitEvent(b, event, 0));
  EXPECT_CUDA(cudaStreamSynchronize(b));
  expect_clean();
}

// Two GPUs, two communicators.
class Ranks : public CheckTest {
 protected:
  void SetUp() override {
    CheckTest::SetUp();
    const int devices[] = {0, 1};
    ASSERT_EQ(ncclCommInitAll(first_, 2, devices), ncclSuccess);
    ASSERT_EQ(ncclCommInitAll(second_, 2, devices), ncclSuccess);
    for (int r = 0; r < 2; ++r) {
      cudaSetDevice(r);
      stream_[r] = std::make_unique<TestStream>();
      memory_[r] = std::make_unique<DeviceArray<float>>(std::vector<float>(1000, static_cast<float>(r)));
    }
    cudaSetDevice(0);
  }
  void TearDown() override {
    sim::clear_device_errors();
    for (int r = 0; r < 2; ++r) {
      ncclCommAbort(first_[r]);
      ncclCommAbort(second_[r]);
      stream_[r].reset();
      memory_[r].reset();
    }
    CheckTest::TearDown();
  }
  [[gnu::noinline]] ncclResult_t sum(ncclComm_t* comm, int r, std::size_t count, std::size_t from = 0) {
    float* const data = memory_[r]->data() + from;
    return ncclAllReduce(data, data, count, ncclFloat32, ncclSum, comm[r], *stream_[r]);
  }

  ncclComm_t first_[2], second_[2];
  std::unique_ptr<TestStream> stream_[2];
  std::unique_ptr<DeviceArray<float>> memory_[2];
};

TEST_F(Ranks, CollectivesOfTwoCommunicatorsInOppositeOrder) {
  EXPECT_EQ(sum(first_, 0, 100), ncclSuccess);
  EXPECT_EQ(sum(second_, 0, 100), ncclSuccess);
  EXPECT_EQ(sum(second_, 1, 100), ncclSuccess);
  EXPECT_EQ(sum(first_, 1, 100), ncclSuccess);
  EXPECT_EQ(cudaStreamSynchronize(*stream_[0]), cudaErrorLaunchTimeout);
  cudaSetDevice(1);
  EXPECT_EQ(cudaStreamSynchronize(*stream_[1]), cudaErrorLaunchTimeout);
  const auto reports = sim::check_reports();
  ASSERT_FALSE(reports.empty());
  for (const char* word : {"deadlock", "ncclAllReduce", "of device 0", "of device 1", "The cycle", "same order", "Ranks::sum"}) {
    EXPECT_NE(reports[0].find(word), std::string::npos) << word << " is not in\n" << reports[0];
  }
}

TEST_F(Ranks, CollectivesOfTwoCommunicatorsInTheSameOrder) {
  for (int r = 0; r < 2; ++r) {
    EXPECT_EQ(sum(first_, r, 100), ncclSuccess);
    EXPECT_EQ(sum(second_, r, 100), ncclSuccess);
  }
  expect_clean();
}

TEST_F(Ranks, AllReducesInDifferentOrderAreNamed) {
  EXPECT_EQ(sum(first_, 0, 100), ncclSuccess);
  EXPECT_EQ(sum(first_, 0, 200, 500), ncclSuccess);
  EXPECT_EQ(sum(first_, 1, 200, 500), ncclInvalidUsage);
  wait_for_all();
  const auto reports = sim::check_reports();
  ASSERT_FALSE(reports.empty());
  for (const char* word : {"ranks disagree about collective number 0", "rank 0 calls ncclAllReduce(count 100",
                           "rank 1 calls ncclAllReduce(count 200", "the count must be the same", "in the same order", "Ranks::sum"}) {
    EXPECT_NE(reports[0].find(word), std::string::npos) << word << " is not in\n" << reports[0];
  }
}

TEST_F(Ranks, DifferentSizesAreNamed) {
  EXPECT_EQ(sum(first_, 0, 100), ncclSuccess);
  EXPECT_EQ(sum(first_, 1, 101), ncclInvalidUsage);
  wait_for_all();
  const auto reports = sim::check_reports();
  ASSERT_FALSE(reports.empty());
  EXPECT_NE(reports[0].find("count 101"), std::string::npos) << reports[0];
}

TEST_F(Ranks, UnorderedUseOfACollectivesBufferIsARace) {
  const TestStream other;
  for (int r = 0; r < 2; ++r) EXPECT_EQ(sum(first_, r, 100), ncclSuccess);
  ASSERT_CUDA(cudaMemsetAsync(memory_[0]->data(), 0, 4, other));
  wait_for_all();
  const auto reports = sim::check_reports();
  ASSERT_FALSE(reports.empty());
  for (const char* word : {"race", "'memset'", "'ncclAllReduce'"}) EXPECT_NE(reports[0].find(word), std::string::npos) << reports[0];
}

}  // namespace
}  // namespace lockstep::test
