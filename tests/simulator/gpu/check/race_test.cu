// LOCKSTEP_SIM_CHECK=race: operations that touch the same bytes must be ordered, and what is missing is said in words.
#include <atomic>
#include <random>
#include <thread>

#include <backend/kernel_support.h>
#include "tests/simulator/gpu/check/support/check_test.h"

namespace lockstep::test {

__global__ void produce(View<float> y) {
  each_in_grid(y.count, [=](std::int64_t i) { y[i] = 1; });
}

__global__ void consume(View<const float> x, View<float> y) {
  each_in_grid(x.count, [=](std::int64_t i) { y[i] = x[i]; });
}

namespace {

class Race : public CheckTest {
 protected:
  const TestStream a, b, c;
  const TestEvent event;
  const DeviceArray<float> x{std::vector<float>(1000, 0.0F)}, y{std::vector<float>(1000, 0.0F)};

  static void wait_until_run(std::uint64_t operations) {
    while (sim::counters().operations < operations) std::this_thread::yield();
  }

  [[gnu::noinline]] void start_producing(cudaStream_t stream) { launch_on(stream, "produce", produce, x.view()); }
  [[gnu::noinline]] void start_consuming(cudaStream_t stream) { launch_on(stream, "consume", consume, x.view(), y.view()); }
};

TEST_F(Race, MissingWaitNamesBothOperationsAndWhatToDo) {
  start_producing(a);
  start_consuming(b);
  cudaDeviceSynchronize();
  // Whichever came to run first: both are named, and where they come from.
  expect_report({"race", "'produce' on stream", "'consume' on stream", "nothing orders the two", "start_producing", "start_consuming",
                 "the 4000 bytes that cudaMalloc in", "has never waited for", "cudaEventRecord(event, stream",
                 "cudaStreamWaitEvent(stream"});
}

TEST_F(Race, EventOrdersThem) {
  start_producing(a);
  ASSERT_CUDA(cudaEventRecord(event, a));
  ASSERT_CUDA(cudaStreamWaitEvent(b, event, 0));
  start_consuming(b);
  expect_clean();
}

TEST_F(Race, WaitOnTheWrongStreamIsFound) {
  start_producing(a);
  ASSERT_CUDA(cudaEventRecord(event, a));
  ASSERT_CUDA(cudaStreamWaitEvent(c, event, 0));
  start_consuming(b);
  cudaDeviceSynchronize();
  expect_report({"race", "'produce'", "'consume'", "cudaStreamWaitEvent(stream"});
}

TEST_F(Race, EventOfTheWrongStreamIsFound) {
  RunLog ran;
  ran.note(c, "c");
  start_producing(a);
  ASSERT_CUDA(cudaEventRecord(event, c));
  ASSERT_CUDA(cudaStreamWaitEvent(b, event, 0));
  ASSERT_CUDA(cudaStreamSynchronize(c));
  start_consuming(b);
  cudaDeviceSynchronize();
  expect_report({"race", "'produce'", "'consume'", "has never waited for"});
}

TEST_F(Race, EventRecordedTooEarlyIsSaid) {
  const std::uint64_t before = sim::counters().operations;
  launch_on(a, "earlier", produce, y.view().part(0, 1));
  ASSERT_CUDA(cudaEventRecord(event, a));
  start_producing(a);
  ASSERT_CUDA(cudaStreamWaitEvent(b, event, 0));
  ASSERT_CUDA(cudaStreamSynchronize(b));
  wait_until_run(before + 2);  // so that produce is the first of the two
  start_consuming(b);
  cudaDeviceSynchronize();
  expect_report({"race", "'produce'", "'consume'"});
  EXPECT_NE(sim::check_reports()[0].find("recorded too early"), std::string::npos) << sim::check_reports()[0];
}

// The worker that runs `held` waits for the host, so the operation that was issued second runs first.
class Held {
 public:
  explicit Held(cudaStream_t stream) {
    EXPECT_EQ(cudaSuccess, cudaLaunchHostFunc(
                               stream,
                               [](void* go) {
                                 while (!*static_cast<std::atomic<bool>*>(go)) std::this_thread::yield();
                               },
                               &go_));
  }
  void release() { go_ = true; }

 private:
  std::atomic<bool> go_{false};
};

TEST_F(Race, FollowsTheOrderOfTheCallsWhicheverRanFirst) {
  std::vector<std::string> reports;
  for (const bool second_runs_first : {false, true}) {
    const std::uint64_t before = sim::counters().operations;
    Held held(a);
    if (!second_runs_first) {
      held.release();
      start_producing(a);
      wait_until_run(before + 2);
      start_consuming(b);
    } else {
      start_producing(a);
      start_consuming(b);
      wait_until_run(before + 1);
      held.release();
    }
    wait_for_all();
    expect_report(
        {"race: 'produce' on stream", "writes", "then 'consume' on stream", "reads it", "[ produce writes ]", "[ consume reads ]"});
    const std::string report = sim::check_reports().at(0);
    reports.push_back(report.substr(0, report.find("was issued by")));
    EXPECT_LT(report.find("[ produce writes ]"), report.find("[ consume reads ]"));
    sim::clear_device_errors();
    sim::clear_check_reports();
  }
  EXPECT_EQ(reports[0], reports[1]);
}

TEST_F(Race, AWaitThatIsThereIsNotAdvisedAgain) {
  for (const bool second_runs_first : {false, true}) {
    const std::uint64_t before = sim::counters().operations;
    ASSERT_CUDA(cudaEventRecord(event, a));
    Held held(a);
    if (!second_runs_first) held.release();
    start_producing(a);
    if (!second_runs_first) wait_until_run(before + 2);
    ASSERT_CUDA(cudaStreamWaitEvent(b, event, 0));
    start_consuming(b);
    if (second_runs_first) wait_until_run(before + 1);
    held.release();
    wait_for_all();
    const std::string report = sim::check_reports().at(0);
    EXPECT_NE(report.find("recorded too early"), std::string::npos) << report;
    EXPECT_EQ(report.find("cudaStreamWaitEvent"), report.rfind("cudaStreamWaitEvent in")) << report;  // not in the advice
    sim::clear_device_errors();
    sim::clear_check_reports();
  }
}

TEST_F(Race, NamesOfStreamsAndMemoryAreUsedAndAdviceIsForTheReadersCode) {
  sim::name_stream(a, "replica 0's stream");
  sim::name_memory(x.data(), "replica 0's buffer");
  sim::set_place_of_call([](const std::vector<const void*>& frames) { return std::string(frames.empty() ? "" : "your line 7"); });
  start_producing(a);
  start_consuming(b);
  wait_for_all();
  expect_report(
      {"'produce' on replica 0's stream (your line 7) writes replica 0's buffer, then 'consume'", "before 'consume' (your line 7)"});
  sim::clear_device_errors();
  sim::clear_check_reports();
  sim::set_place_of_call([](const std::vector<const void*>&) { return std::string(); });
  start_producing(a);
  start_consuming(b);
  wait_for_all();
  expect_report({"before your function returns: 'consume' comes after it"});
  sim::set_place_of_call(nullptr);
}

TEST_F(Race, WriteAfterReadNeedsOrderToo) {
  start_consuming(a);
  start_producing(b);
  cudaDeviceSynchronize();
  expect_report({"race", "'produce'", "'consume'"});
}

TEST_F(Race, ReadersDoNotRace) {
  const DeviceArray<float> z(1000);
  launch_on(a, "consume", consume, x.view(), y.view());
  launch_on(b, "consume", consume, x.view(), z.view());
  expect_clean();
}

TEST_F(Race, DifferentBytesDoNotRace) {
  launch_on(a, "produce", produce, x.view().part(0, 500));
  launch_on(b, "produce", produce, x.view().part(500, 500));
  expect_clean();
  launch_on(a, "produce", produce, x.view().part(0, 501));
  launch_on(b, "produce", produce, x.view().part(500, 500));
  wait_for_all();
  expect_report({"race", "bytes 2000 to 2003 of the 4000 bytes"});
}

TEST_F(Race, HostSynchronisationOrders) {
  start_producing(a);
  ASSERT_CUDA(cudaStreamSynchronize(a));
  start_consuming(b);
  ASSERT_CUDA(cudaEventRecord(event, b));
  ASSERT_CUDA(cudaEventSynchronize(event));
  start_producing(c);
  while (cudaStreamQuery(c) == cudaErrorNotReady) {
  }
  start_consuming(a);
  ASSERT_CUDA(cudaEventRecord(event, a));
  while (cudaEventQuery(event) == cudaErrorNotReady) {
  }
  start_producing(b);
  ASSERT_CUDA(cudaDeviceSynchronize());
  start_consuming(c);
  cudaGetLastError();  // not ready is one
  expect_clean();
}

TEST_F(Race, HostFunctionTellsTheHost) {
  start_producing(a);
  std::atomic<bool> told{false};
  ASSERT_CUDA(cudaLaunchHostFunc(
      a, [](void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; }, &told));
  while (!told) std::this_thread::yield();
  start_consuming(b);
  expect_clean();
}

TEST_F(Race, LegacyStreamOrdersBlockingStreamsAlsoWhenTheyAreDone) {
  const TestStream blocking(cudaStreamDefault), other(cudaStreamDefault);
  for (const bool pause : {false, true}) {
    start_producing(blocking);
    if (pause) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    start_consuming(nullptr);
    if (pause) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    start_producing(other);
    expect_clean();
  }
}

TEST_F(Race, LegacyStreamDoesNotOrderNonBlockingStreams) {
  start_producing(a);
  start_consuming(nullptr);
  cudaDeviceSynchronize();
  expect_report({"race", "the legacy stream of device 0"});
}

TEST_F(Race, DestroyedStreamStillOrders) {
  for (int i = 0; i < 30; ++i) {
    {
      const TestStream gone(cudaStreamDefault);
      start_producing(gone);
    }
    start_consuming(nullptr);
    {
      const TestStream gone;
      ASSERT_CUDA(cudaDeviceSynchronize());
      start_producing(gone);
    }
    ASSERT_CUDA(cudaDeviceSynchronize());
  }
  expect_clean();
}

TEST_F(Race, GateOrdersAllThatMeet) {
  const auto gate = sim::make_gate(2, "meeting");
  start_producing(a);
  ASSERT_CUDA(sim::enqueue_gate(a, gate));
  ASSERT_CUDA(sim::enqueue_gate(b, gate));
  start_consuming(b);
  expect_clean();
}

TEST_F(Race, CopiesAndFillsCount) {
  float* host = nullptr;
  ASSERT_CUDA(cudaMallocHost(&host, 4000));
  ASSERT_CUDA(cudaMemcpyAsync(x.data(), host, 4000, cudaMemcpyHostToDevice, a));
  ASSERT_CUDA(cudaMemsetAsync(x.data(), 0, 4000, b));
  wait_for_all();
  expect_report({"race", "'copy'", "'memset'"});
  sim::clear_device_errors();
  sim::clear_check_reports();
  ASSERT_CUDA(cudaMemcpyAsync(host, x.data(), 4000, cudaMemcpyDeviceToHost, a));
  ASSERT_CUDA(cudaMemcpyAsync(host, y.data(), 4000, cudaMemcpyDeviceToHost, b));
  wait_for_all();
  expect_report({"race", "page-locked host memory"});
  sim::clear_device_errors();
  ASSERT_CUDA(cudaFreeHost(host));
}

TEST_F(Race, AThreadThatSeesTheErrorFindsItsReport) {
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 60; ++i) {
    start_producing(a);
    start_consuming(b);
    while (cudaPeekAtLastError() == cudaSuccess) std::this_thread::yield();
    ASSERT_EQ(sim::check_reports().size(), 1U) << "attempt " << i;
    sim::clear_device_errors();
    sim::clear_check_reports();
  }
  ::testing::internal::GetCapturedStderr();
}

TEST_F(Race, FreeingWhatAPeerStillReadsIsFound) {
  ASSERT_CUDA(cudaSetDevice(1));
  const TestStream far;
  const DeviceArray<float> there(1000);
  float* memory = nullptr;
  ASSERT_CUDA(cudaSetDevice(0));
  for (const bool waits : {false, true}) {
    ASSERT_CUDA(cudaMalloc(&memory, 4000));
    ASSERT_CUDA(cudaMemset(memory, 0, 4000));
    ASSERT_CUDA(cudaDeviceSynchronize());
    const std::uint64_t before = sim::counters().operations;
    ASSERT_CUDA(cudaMemcpyPeerAsync(there.data(), 1, memory, 0, 4000, far));
    wait_until_run(before + 1);  // it has run, but no CUDA call has waited for it
    if (waits) cudaStreamSynchronize(far);
    EXPECT_EQ(cudaFree(memory), waits ? cudaSuccess : cudaErrorIllegalState);
    if (!waits) expect_report({"freed too early", "'copy' on stream", "reads it", "cudaFree in", "cudaStreamSynchronize"});
    sim::clear_device_errors();
    if (!waits) sim::clear_check_reports();
  }
  expect_clean();
}

// Random programs, each judged by following its edges: a race is reported if and only if there is one.
class Program {
 public:
  explicit Program(std::uint32_t seed) : random_(seed) {}

  struct Step {
    int stream = 0;
    int first = 0, count = 0;  // elements
    bool write = false;
    std::vector<int> after;  // steps
  };

  // Draws a step on one of the streams and issues it.
  void draw(const std::vector<cudaStream_t>& streams, const std::vector<cudaEvent_t>& events, View<float> memory, View<float> aside) {
    const int s = static_cast<int>(random_() % streams.size());
    const std::size_t e = random_() % events.size();
    last_.resize(streams.size(), {});
    recorded_.resize(events.size(), {});
    switch (random_() % 8) {
      case 0:
      case 1:
        cudaEventRecord(events[e], streams[static_cast<std::size_t>(s)]);
        recorded_[e] = last_[static_cast<std::size_t>(s)];
        return;
      case 2:
      case 3:
        cudaStreamWaitEvent(streams[static_cast<std::size_t>(s)], events[e], 0);
        append(last_[static_cast<std::size_t>(s)], recorded_[e]);
        return;
      case 4:
        if (random_() % 4 != 0) return;
        cudaStreamSynchronize(streams[static_cast<std::size_t>(s)]);
        append(host_, last_[static_cast<std::size_t>(s)]);
        return;
      default:
        break;
    }
    Step step;
    step.stream = s;
    step.first = static_cast<int>(random_() % 8) * 10;
    step.count = 10 + static_cast<int>(random_() % 2) * 10;
    step.write = random_() % 2 == 0;
    step.after = last_[static_cast<std::size_t>(s)];
    append(step.after, host_);
    const View<float> part = memory.part(step.first, step.count);
    if (step.write) {
      launch_on(streams[static_cast<std::size_t>(s)], "write", produce, part);
    } else {
      launch_on(streams[static_cast<std::size_t>(s)], "read", consume, part, aside.part(100 * s, step.count));
    }
    steps_.push_back(step);
    last_[static_cast<std::size_t>(s)] = {static_cast<int>(steps_.size()) - 1};
  }

  bool races() const {
    for (int later = 0; later < static_cast<int>(steps_.size()); ++later) {
      std::vector<bool> before(steps_.size(), false);
      mark(later, before);
      for (int earlier = 0; earlier < later; ++earlier) {
        const Step &p = at(earlier), &q = at(later);
        const bool overlap = p.first < q.first + q.count && q.first < p.first + p.count;
        if (overlap && (p.write || q.write) && !before[static_cast<std::size_t>(earlier)]) return true;
      }
    }
    return false;
  }

 private:
  const Step& at(int i) const { return steps_[static_cast<std::size_t>(i)]; }
  static void append(std::vector<int>& to, const std::vector<int>& from) { to.insert(to.end(), from.begin(), from.end()); }
  void mark(int step, std::vector<bool>& before) const {
    for (const int other : at(step).after) {
      if (before[static_cast<std::size_t>(other)]) continue;
      before[static_cast<std::size_t>(other)] = true;
      mark(other, before);
    }
  }

  std::mt19937 random_;
  std::vector<Step> steps_;
  std::vector<std::vector<int>> last_, recorded_;  // steps that have happened when a stream is here, when an event is
  std::vector<int> host_;
};

TEST_F(Race, ReportedIfAndOnlyIfThereIsOne) {
  const DeviceArray<float> memory(std::vector<float>(1000, 0.0F)), aside(std::vector<float>(1000, 0.0F));
  int racy = 0;
  constexpr int kPrograms = 250;
  ::testing::internal::CaptureStderr();
  for (int p = 0; p < kPrograms; ++p) {
    const TestStream s0, s1, s2;
    const TestEvent e0, e1;
    Program program(static_cast<std::uint32_t>(p));
    for (int step = 0; step < 12; ++step) program.draw({s0, s1, s2}, {e0, e1}, memory.view(), aside.view());
    cudaDeviceSynchronize();
    EXPECT_EQ(!sim::check_reports().empty(), program.races()) << "program " << p;
    racy += program.races() ? 1 : 0;
    sim::clear_device_errors();
    sim::clear_check_reports();
  }
  ::testing::internal::GetCapturedStderr();
  EXPECT_GT(racy, kPrograms / 5);
  EXPECT_LT(racy, kPrograms * 4 / 5);
}

}  // namespace
}  // namespace lockstep::test
