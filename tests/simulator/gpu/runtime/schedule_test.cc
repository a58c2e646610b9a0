// Gates, and seeded schedules: other seeds, other orders, all of them legal.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "tests/simulator/gpu/runtime/support/gpu_test.h"

namespace lockstep::test {
namespace {

class ScheduleTest : public GpuTest {};

TEST_F(ScheduleTest, GateHoldsUntilAllHaveCome) {
  const TestStream a, b, c;
  RunLog ran;
  const auto gate = sim::make_gate(3, "three");
  ASSERT_CUDA(sim::enqueue_gate(a, gate));
  ran.note(a, "x");
  ASSERT_CUDA(sim::enqueue_gate(b, gate));
  ran.note(b, "x");
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(ran.text(), "");
  ran.note(c, "first ");
  ASSERT_CUDA(sim::enqueue_gate(c, gate));
  ran.note(c, "x");
  ASSERT_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(ran.text(), "first xxx");
}

TEST_F(ScheduleTest, GatesOfManyStreamsNeedNoWorkers) {
  // Far more streams wait than there are workers.
  constexpr int kStreams = 40;
  std::vector<std::unique_ptr<TestStream>> streams;
  for (int s = 0; s < kStreams; ++s) streams.push_back(std::make_unique<TestStream>());
  std::atomic<int> before{0}, after{0}, early{0};
  for (int round = 0; round < 20; ++round) {
    const auto gate = sim::make_gate(kStreams, "all");
    for (auto& stream : streams) {
      sim::Operation come;
      come.run = [&](int) { ++before; };
      ASSERT_CUDA(sim::enqueue(*stream, std::move(come)));
      ASSERT_CUDA(sim::enqueue_gate(*stream, gate));
      sim::Operation go;
      go.run = [&, round](int) {
        if (before < (round + 1) * kStreams) ++early;
        ++after;
      };
      ASSERT_CUDA(sim::enqueue(*stream, std::move(go)));
    }
  }
  ASSERT_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(early, 0);
  EXPECT_EQ(after, 20 * kStreams);
}

TEST_F(ScheduleTest, OpenedGateLetsAllThrough) {
  const TestStream a, b;
  const auto gate = sim::make_gate(5, "never full");
  ASSERT_CUDA(sim::enqueue_gate(a, gate));
  EXPECT_EQ(cudaStreamQuery(a), cudaErrorNotReady);
  sim::open_gate(gate);
  EXPECT_CUDA(cudaStreamSynchronize(a));
  ASSERT_CUDA(sim::enqueue_gate(b, gate));
  EXPECT_CUDA(cudaStreamSynchronize(b));
}

TEST_F(ScheduleTest, GatesWorkAcrossDevices) {
  const TestStream here;
  ASSERT_CUDA(cudaSetDevice(1));
  const TestStream there;
  const auto gate = sim::make_gate(2, "both");
  ASSERT_CUDA(sim::enqueue_gate(here, gate));
  EXPECT_EQ(cudaStreamQuery(here), cudaErrorNotReady);
  ASSERT_CUDA(sim::enqueue_gate(there, gate));
  EXPECT_CUDA(cudaStreamSynchronize(here));
  EXPECT_CUDA(cudaStreamSynchronize(there));
  ASSERT_CUDA(cudaSetDevice(0));
}

// Three streams of four operations; all are queued before the first may run.
std::string interleaving(std::uint64_t seed) {
  sim::set_schedule_seed(seed);
  const TestStream a, b, c;
  RunLog ran;
  const auto gate = sim::make_gate(1 << 30, "start");
  for (cudaStream_t stream : {cudaStream_t(a), cudaStream_t(b), cudaStream_t(c)}) {
    EXPECT_CUDA(sim::enqueue_gate(stream, gate));
    const std::string name = stream == a ? "a" : stream == b ? "b" : "c";
    for (int i = 0; i < 4; ++i) ran.note(stream, name + std::to_string(i));
  }
  sim::open_gate(gate);
  EXPECT_CUDA(cudaDeviceSynchronize());
  return ran.text();
}

TEST_F(ScheduleTest, OtherSeedsGiveOtherOrders) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const std::string order = interleaving(seed);
    seen.insert(order);
    for (const char name : {'a', 'b', 'c'}) {  // each stream is still in order
      std::string own;
      for (std::size_t i = 0; i < order.size(); i += 2) {
        if (order[i] == name) own += order[i + 1];
      }
      EXPECT_EQ(own, "0123") << order;
    }
  }
  EXPECT_GE(seen.size(), 25U);
}

TEST_F(ScheduleTest, SeedsShuffleParts) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    sim::set_schedule_seed(seed);
    const TestStream stream;
    std::string order;  // one worker: no lock is needed
    sim::Operation operation;
    operation.parts = 6;
    operation.run = [&](int part) { order += std::to_string(part); };
    ASSERT_CUDA(sim::enqueue(stream, std::move(operation)));
    ASSERT_CUDA(cudaStreamSynchronize(stream));
    std::string sorted = order;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, "012345");
    seen.insert(order);
  }
  EXPECT_GE(seen.size(), 10U);
}

TEST_F(ScheduleTest, SeedsLetTheHostRunAheadNowAndThen) {
  // How many of ten operations have run when the last one is queued: some seeds are quick, some hold back.
  std::set<std::size_t> seen;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    sim::set_schedule_seed(seed);
    const TestStream stream;
    RunLog ran;
    for (int i = 0; i < 10; ++i) {
      ran.note(stream, "x");
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    seen.insert(ran.entries().size());
    ASSERT_CUDA(cudaStreamSynchronize(stream));
  }
  EXPECT_GE(seen.size(), 3U);
}

TEST_F(ScheduleTest, SeededEventsAndGatesStillHold) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    sim::set_schedule_seed(seed);
    const TestStream a, b;
    const TestEvent event(cudaEventDisableTiming);
    RunLog ran;
    ran.note(a, "1");
    ASSERT_CUDA(cudaEventRecord(event, a));
    ASSERT_CUDA(cudaStreamWaitEvent(b, event));
    ran.note(b, "2");
    const auto gate = sim::make_gate(2, "both");
    ASSERT_CUDA(sim::enqueue_gate(a, gate));
    ASSERT_CUDA(sim::enqueue_gate(b, gate));
    ran.note(a, "3");
    ASSERT_CUDA(cudaDeviceSynchronize());
    EXPECT_EQ(ran.text(), "123");
  }
}

TEST_F(ScheduleTest, SmallBlockingCopyMayArriveLateUnderASeed) {
  // CUDA promises only that the pageable source may be reused. A stream that does not wait can see the old bytes: under some
  // seed it does.
  int late = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    sim::set_schedule_seed(0);
    const DeviceArray<int> device(std::vector<int>{0});
    const TestStream stream;
    sim::set_schedule_seed(seed);
    const int fresh = 1;
    int seen = -1;
    ASSERT_CUDA(cudaMemcpy(device.data(), &fresh, sizeof(fresh), cudaMemcpyHostToDevice));
    sim::Operation look;
    look.run = [&](int) { seen = *sim::resolve(device.data()); };
    ASSERT_CUDA(sim::enqueue(stream, std::move(look)));
    ASSERT_CUDA(cudaDeviceSynchronize());
    if (seen == 0) ++late;
    EXPECT_EQ(device.get().at(0), 1);
  }
  EXPECT_GT(late, 0);
}

TEST_F(ScheduleTest, NothingIsLeftBehind) {
  const sim::Counters before = sim::counters();
  for (int round = 0; round < 50; ++round) {
    const TestStream stream, other;
    const TestEvent event;
    const DeviceArray<int> memory(1000);
    int* host = nullptr;
    ASSERT_CUDA(cudaMallocHost(&host, 4000));
    ASSERT_CUDA(cudaMemcpyAsync(memory.data(), host, 4000, cudaMemcpyHostToDevice, stream));
    ASSERT_CUDA(cudaEventRecord(event, stream));
    ASSERT_CUDA(cudaStreamWaitEvent(other, event));
    ASSERT_CUDA(cudaFreeHost(host));
  }
  ASSERT_CUDA(cudaDeviceSynchronize());
  const sim::Counters after = sim::counters();
  EXPECT_EQ(after.live_allocations, before.live_allocations);
  EXPECT_EQ(after.live_device_bytes, before.live_device_bytes);
  EXPECT_EQ(after.live_host_allocations, before.live_host_allocations);
  EXPECT_EQ(after.live_streams, before.live_streams);
  EXPECT_EQ(after.live_events, before.live_events);
  EXPECT_EQ(after.operations, before.operations + 50);
}

}  // namespace
}  // namespace lockstep::test
