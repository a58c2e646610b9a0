// The virtual GPU in modelled time: what events say follows from the machine and the program, not from this computer.
#include <gtest/gtest.h>
#include <nccl.h>

#include <thread>

#include <backend/host_clock.h>
#include "engine/device/check.h"
#include "engine/device/launch.h"
#include "engine/device/stream.h"
#include "engine/distribute/replica/replica_threads.h"
#include "engine/kernels/elementwise_kernels.h"
#include "simulator/clock/collectives.h"
#include "simulator/clock/hardware.h"
#include "simulator/gpu/runtime/control.h"
#include "simulator/gpu/runtime/faults.h"

namespace lockstep {
namespace {

const clock::Machine& machine() {
  static const clock::Machine known = *clock::find_machine("4xt4");
  return known;
}

// Device memory for as long as a test runs.
class Memory {
 public:
  Memory(int device, std::size_t bytes) {
    const DeviceGuard guard(device);
    LOCKSTEP_CHECK(cudaMalloc(&data_, bytes));
  }
  ~Memory() { cudaFree(data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* get() const { return data_; }

 private:
  void* data_ = nullptr;
};

// A kernel that says of itself that it moves so many bytes, and does nothing. Its blocks fill the card.
void stream_bytes(const Stream& stream, double bytes, Grid grid = {1600, 256}) {
  launch(stream, "fill", Cost{0, bytes}, grid, kernels::fill, 0.0F, View<float>{});
}

double microseconds_of(double bytes) {
  clock::Timeline timeline;
  const clock::Hardware hardware(machine(), timeline, 1);
  const clock::Task task = hardware.kernel(0, clock::Kind::streaming, clock::Arithmetic::fp32, 0, bytes);
  return (static_cast<double>(task.fixed) + task.body) * 1e-6;
}

std::int64_t when(const Event& event) {
  event.synchronize();
  std::int64_t ns = -1;
  EXPECT_TRUE(event_clock_ns(event.get(), &ns));
  return ns;
}

TEST(ModelClock, EventsMeasureWhatTheMachineWouldTake) {
  const Stream stream(0);
  Event begin(0, Event::Timing::on), end(0, Event::Timing::on);
  begin.record(stream);
  for (int i = 0; i < 10; ++i) stream_bytes(stream, 1e8);
  end.record(stream);
  end.synchronize();
  // The first one is issued a launch later than the event.
  EXPECT_NEAR(end.milliseconds_since(begin) * 1e3, 10 * microseconds_of(1e8) + machine().launch_us, 1);
}

TEST(ModelClock, AGridThatLeavesMultiprocessorsIdleIsSlower) {
  const Stream stream(0);
  const auto microseconds = [&](Grid grid) {
    stream.synchronize();
    Event begin(0, Event::Timing::on), end(0, Event::Timing::on);
    begin.record(stream);
    stream_bytes(stream, 1e8, grid);
    end.record(stream);
    end.synchronize();
    return end.milliseconds_since(begin) * 1e3;
  };
  const double full = microseconds({4000, 256});
  EXPECT_NEAR(full, microseconds_of(1e8) + machine().launch_us, 1);
  EXPECT_GT(microseconds({1, 256}), 10 * full);
  EXPECT_GT(microseconds({1, 32}), 7 * microseconds({1, 256}));
  double before = microseconds({1, 256});
  for (const unsigned blocks : {2U, 4U, 10U}) {
    const double now = microseconds({blocks, 256});
    EXPECT_LT(now, 0.7 * before) << blocks;
    before = now;
  }
}

// Kernels of few blocks find room beside each other; two that fill all multiprocessors do not, even where both leave memory idle.
TEST(ModelClock, KernelsShareMultiprocessors) {
  clock::Timeline timeline;
  const clock::Hardware hardware(machine(), timeline, 1);
  const int first = timeline.add_lane(), second = timeline.add_lane();
  const auto together = [&](const clock::Launch& launch, double flops) {
    const clock::Task task = hardware.kernel(0, clock::Kind::gather, launch, flops, 1);
    const clock::Time begin = timeline.now();
    for (const int lane : {first, second}) timeline.append_at(lane, task, begin);
    timeline.run();
    return static_cast<double>(timeline.now() - begin) / (static_cast<double>(task.fixed) + task.body);
  };
  EXPECT_NEAR(together({10, 32}, 1e8), 1, 1e-6);
  EXPECT_GT(together({41, 1024}, 1e10), 1.9);  // a second wave of one block: nearly half of the arithmetic is idle
}

TEST(ModelClock, AGraphsKernelsKeepTheirGrids) {
  const Stream stream(0);
  LOCKSTEP_CHECK(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  stream_bytes(stream, 1e8, {1, 256});
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  LOCKSTEP_CHECK(cudaStreamEndCapture(stream.get(), &graph));
  LOCKSTEP_CHECK(cudaGraphInstantiate(&executable, graph, 0));
  const std::int64_t before = host_clock_ns();
  LOCKSTEP_CHECK(cudaGraphLaunch(executable, stream.get()));
  stream.synchronize();
  EXPECT_GT(static_cast<double>(host_clock_ns() - before), 10e3 * microseconds_of(1e8));
  LOCKSTEP_CHECK(cudaGraphExecDestroy(executable));
  LOCKSTEP_CHECK(cudaGraphDestroy(graph));
}

TEST(ModelClock, StreamsOfOneCardShareIt) {
  const Stream a(0), b(0), of_another_card(1);
  const auto together = [&](const Stream& second) {
    LOCKSTEP_CHECK(cudaDeviceSynchronize());
    Event begin(0, Event::Timing::on), end(0, Event::Timing::on);
    begin.record(a);
    stream_bytes(second, 1e9);
    stream_bytes(a, 1e9);
    end.record(a);
    end.synchronize();
    second.synchronize();
    return end.milliseconds_since(begin) * 1e3;
  };
  const double alone = together(of_another_card), shared = together(b);
  EXPECT_NEAR(alone, microseconds_of(1e9), 30);
  EXPECT_GT(shared, 1.9 * alone);
}

TEST(ModelClock, TheHostsTimeGrowsWithItsCallsAndJumpsWhenItWaits) {
  const Stream stream(0);
  const std::int64_t before = host_clock_ns();
  for (int i = 0; i < 100; ++i) stream_bytes(stream, 0);
  const std::int64_t issued = host_clock_ns();
  EXPECT_EQ(issued - before, static_cast<std::int64_t>(100 * machine().launch_us * 1000));
  stream_bytes(stream, 3e9);
  Event end(0);
  end.record(stream);
  EXPECT_LT(host_clock_ns() - issued, 20000);
  const std::int64_t done = when(end);
  EXPECT_GE(host_clock_ns(), done);
  EXPECT_GT(done - issued, static_cast<std::int64_t>(0.9e3 * microseconds_of(3e9)));
}

TEST(ModelClock, EventsOfSeveralDevicesLieOnOneClock) {
  const Stream a(0), b(1);
  Event first(0), second(1);
  stream_bytes(a, 1e9);
  first.record(a);
  LOCKSTEP_CHECK(cudaStreamWaitEvent(b.get(), first.get(), 0));
  stream_bytes(b, 1e8);
  second.record(b);
  const double between = static_cast<double>(when(second) - when(first)) * 1e-3;
  EXPECT_NEAR(between, microseconds_of(1e8), 1);
}

TEST(ModelClock, ACopyTakesItsLink) {
  constexpr std::size_t kBytes = 48 << 20;
  const Memory here(0, kBytes), there(1, kBytes);
  const Stream stream(0);
  Event begin(0, Event::Timing::on), end(0, Event::Timing::on);
  begin.record(stream);
  LOCKSTEP_CHECK(cudaMemcpyPeerAsync(there.get(), 1, here.get(), 0, kBytes, stream.get()));
  end.record(stream);
  end.synchronize();
  const double us = kBytes / (machine().peer_link.gb_s * 1e3) + machine().peer_link.alpha_us + machine().launch_us;
  EXPECT_NEAR(end.milliseconds_since(begin) * 1e3, us, 0.01 * us);
}

TEST(ModelClock, NcclTakesTheClosedForm) {
  constexpr std::size_t kElements = 1 << 20;
  int devices[] = {0, 1, 2, 3};
  ncclComm_t communicators[4];
  ASSERT_EQ(ncclCommInitAll(communicators, 4, devices), ncclSuccess);
  {
    std::vector<std::unique_ptr<Memory>> memory;
    std::vector<std::unique_ptr<Stream>> streams;
    std::vector<Event> begin, end;
    for (int d = 0; d < 4; ++d) {
      memory.push_back(std::make_unique<Memory>(d, kElements * sizeof(float)));
      streams.push_back(std::make_unique<Stream>(d));
      begin.emplace_back(d);
      end.emplace_back(d);
      stream_bytes(*streams.back(), 1e6 * (d + 1));  // they come at different times
      begin.back().record(*streams.back());
    }
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (std::size_t d = 0; d < 4; ++d) {
      ASSERT_EQ(ncclAllReduce(memory[d]->get(), memory[d]->get(), kElements, ncclFloat32, ncclSum, communicators[d], streams[d]->get()),
                ncclSuccess);
    }
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
    for (std::size_t d = 0; d < 4; ++d) end[d].record(*streams[d]);
    std::int64_t last = 0;
    for (std::size_t d = 0; d < 4; ++d) last = std::max(last, when(begin[d]));
    const double us = clock::collective_time(machine(), clock::Collective::all_reduce, 4.0 * kElements, 4).total_us();
    for (std::size_t d = 0; d < 4; ++d) {
      EXPECT_EQ(when(end[d]), when(end[0]));
      EXPECT_NEAR(static_cast<double>(when(end[d]) - last) * 1e-3, us, 0.02 * us + 8 * machine().launch_us);
    }
  }
  for (ncclComm_t communicator : communicators) ncclCommDestroy(communicator);
}

// Two replicas' threads on one card, events between them, an answer in nanoseconds.
std::vector<std::int64_t> a_small_program(unsigned seed) {
  sim::set_schedule_seed(seed);
  std::vector<std::int64_t> times;
  {
    const Stream a(0), b(0);
    Event begin(0), ready(0), end_a(0), end_b(0);
    begin.record(a);
    ReplicaThreads threads({0, 0});
    const Deadline deadline(60);
    for (int round = 0; round < 3; ++round) {
      threads.run(

          [&](int r) {
            const Stream& own = r == 0 ? a : b;
            for (int i = 0; i < 5 + 3 * r; ++i) stream_bytes(own, 1e7 * (1 + (i + r) % 3));
            (r == 0 ? end_a : end_b).record(own);
          },
          deadline);
      ready.record(a);
      LOCKSTEP_CHECK(cudaStreamWaitEvent(b.get(), ready.get(), 0));
      stream_bytes(b, 5e7);
      b.synchronize();
      const std::int64_t zero = when(begin);
      for (const Event* event : {&end_a, &end_b, &ready}) times.push_back(when(*event) - zero);
      times.push_back(host_clock_ns() - zero);
    }
  }
  sim::set_schedule_seed(0);
  return times;
}

TEST(ModelClock, TheSameProgramGivesTheSameTimesToTheNanosecond) {
  // Counted in picoseconds from another beginning each time: differences of whole nanoseconds may round the other way.
  const std::vector<std::int64_t> expected = a_small_program(0);
  for (unsigned seed = 0; seed < 8; ++seed) {
    const std::vector<std::int64_t> times = a_small_program(seed);
    ASSERT_EQ(times.size(), expected.size());
    for (std::size_t i = 0; i < times.size(); ++i) EXPECT_NEAR(static_cast<double>(times[i]), static_cast<double>(expected[i]), 1) << seed;
  }
}

TEST(ModelClock, AGraphCostsTheHostOneLaunch) {
  const Stream stream(0);
  LOCKSTEP_CHECK(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < 50; ++i) stream_bytes(stream, 0);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  LOCKSTEP_CHECK(cudaStreamEndCapture(stream.get(), &graph));
  LOCKSTEP_CHECK(cudaGraphInstantiate(&executable, graph, 0));
  const std::int64_t before = host_clock_ns();
  LOCKSTEP_CHECK(cudaGraphLaunch(executable, stream.get()));
  EXPECT_LT(host_clock_ns() - before, static_cast<std::int64_t>(2e3 * machine().launch_us));
  stream.synchronize();
  EXPECT_GE(host_clock_ns() - before, static_cast<std::int64_t>(50e3 * machine().kernel_us));
  LOCKSTEP_CHECK(cudaGraphExecDestroy(executable));
  LOCKSTEP_CHECK(cudaGraphDestroy(graph));
}

TEST(ModelClock, APlannedStallTakesModelledTime) {
  const Stream stream(0);
  stream.synchronize();
  sim::arm_faults("operation:1:stall=3");
  const std::int64_t before = host_clock_ns();
  stream_bytes(stream, 0);
  stream.synchronize();
  const std::int64_t after = host_clock_ns();
  sim::reset_faults();
  EXPECT_GE(after - before, 3'000'000);
  EXPECT_LT(after - before, 3'100'000);
}

}  // namespace
}  // namespace lockstep
