// Events: the only order between streams.
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "tests/simulator/gpu/runtime/support/gpu_test.h"

namespace lockstep::test {
namespace {

class EventTest : public GpuTest {};

TEST_F(EventTest, WaitOrdersTwoStreams) {
  const TestStream first, second;
  const TestEvent event(cudaEventDisableTiming);
  RunLog ran;
  Hold hold(first);
  ran.note(first, "a");
  ASSERT_CUDA(cudaEventRecord(event, first));
  ASSERT_CUDA(cudaStreamWaitEvent(second, event));
  ran.note(second, "b");
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(ran.text(), "");
  hold.release();
  ASSERT_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(ran.text(), "ab");
}

TEST_F(EventTest, WaitOrdersStreamsOfTwoDevices) {
  const TestStream first;
  const TestEvent event;
  ASSERT_CUDA(cudaSetDevice(1));
  const TestStream second;
  RunLog ran;
  Hold hold(first);
  ran.note(first, "a");
  ASSERT_CUDA(cudaEventRecord(event, first));
  ASSERT_CUDA(cudaStreamWaitEvent(second, event));
  ran.note(second, "b");
  hold.release();
  ASSERT_CUDA(cudaStreamSynchronize(second));
  EXPECT_EQ(ran.text(), "ab");
  ASSERT_CUDA(cudaSetDevice(0));
}

TEST_F(EventTest, UnrecordedEventIsNotWaitedFor) {
  const TestStream stream;
  const TestEvent event;
  RunLog ran;
  ASSERT_CUDA(cudaStreamWaitEvent(stream, event));
  ran.note(stream, "a");
  EXPECT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(ran.text(), "a");
  EXPECT_CUDA(cudaEventQuery(event));
  EXPECT_CUDA(cudaEventSynchronize(event));
}

TEST_F(EventTest, RecordAfterTheWaitIsNotWaitedFor) {
  const TestStream first, second;
  const TestEvent event;
  Hold hold(first);
  ASSERT_CUDA(cudaStreamWaitEvent(second, event));
  ASSERT_CUDA(cudaEventRecord(event, first));
  EXPECT_CUDA(cudaStreamSynchronize(second));  // would hang otherwise
}

TEST_F(EventTest, WaitMeansTheLatestRecordAtTheTimeOfTheCall) {
  const TestStream first, second, third;
  const TestEvent event;
  RunLog ran;
  ran.note(first, "a");
  ASSERT_CUDA(cudaEventRecord(event, first));
  ASSERT_CUDA(cudaStreamWaitEvent(second, event));
  Hold hold(first);
  ASSERT_CUDA(cudaEventRecord(event, first));  // the same event again, behind the hold
  EXPECT_CUDA(cudaStreamSynchronize(second));
  ASSERT_CUDA(cudaStreamWaitEvent(third, event));
  EXPECT_EQ(cudaStreamQuery(third), cudaErrorNotReady);
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  hold.release();
  EXPECT_CUDA(cudaStreamSynchronize(third));
  EXPECT_CUDA(cudaEventQuery(event));
}

TEST_F(EventTest, RecordMeansTheTailAtTheTimeOfTheCall) {
  const TestStream stream;
  const TestEvent event;
  RunLog ran;
  ran.note(stream, "a");
  ASSERT_CUDA(cudaEventRecord(event, stream));
  const Hold hold(stream);
  ran.note(stream, "b");
  EXPECT_CUDA(cudaEventSynchronize(event));
  EXPECT_EQ(ran.text(), "a");
}

TEST_F(EventTest, EventOnTheLegacyStreamCoversBlockingStreams) {
  const TestStream blocking(cudaStreamDefault);
  const TestEvent event;
  Hold hold(blocking);
  ASSERT_CUDA(cudaEventRecord(event, nullptr));
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  hold.release();
  EXPECT_CUDA(cudaEventSynchronize(event));
}

TEST_F(EventTest, ElapsedTimeIsThatBetweenTheRecords) {
  const TestStream stream;
  const TestEvent start, end;
  ASSERT_CUDA(cudaEventRecord(start, stream));
  ASSERT_CUDA(cudaLaunchHostFunc(
      stream, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }, nullptr));
  ASSERT_CUDA(cudaEventRecord(end, stream));
  ASSERT_CUDA(cudaEventSynchronize(end));
  float forward = 0, backward = 0;
  ASSERT_CUDA(cudaEventElapsedTime(&forward, start, end));
  ASSERT_CUDA(cudaEventElapsedTime(&backward, end, start));
  EXPECT_GE(forward, 5.0F);
  EXPECT_EQ(backward, -forward);
}

TEST_F(EventTest, ElapsedTimeRefusesWhatItCannotMeasure) {
  const TestStream stream;
  const TestEvent start, end, never, untimed(cudaEventDisableTiming);
  float ms = 0;
  ASSERT_CUDA(cudaEventRecord(start, stream));
  ASSERT_CUDA(cudaEventRecord(untimed, stream));
  {
    Hold hold(stream);
    ASSERT_CUDA(cudaEventRecord(end, stream));
    EXPECT_EQ(cudaEventElapsedTime(&ms, start, end), cudaErrorNotReady);
  }
  ASSERT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, never), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventElapsedTime(&ms, untimed, end), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventElapsedTime(nullptr, start, end), cudaErrorInvalidValue);

  ASSERT_CUDA(cudaSetDevice(1));
  const TestStream of_device_1;
  const TestEvent foreign;
  ASSERT_CUDA(cudaEventRecord(foreign, of_device_1));
  ASSERT_CUDA(cudaEventSynchronize(foreign));
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, foreign), cudaErrorInvalidResourceHandle);
  ASSERT_CUDA(cudaSetDevice(0));
}

TEST_F(EventTest, EventIsRecordedOnItsOwnDeviceOnly) {
  const TestEvent event;
  ASSERT_CUDA(cudaSetDevice(1));
  const TestStream of_device_1;
  EXPECT_EQ(cudaEventRecord(event, of_device_1), cudaErrorInvalidResourceHandle);
  ASSERT_CUDA(cudaSetDevice(0));
}

TEST_F(EventTest, DestroyedEventStillHoldsBackThoseThatWait) {
  const TestStream first, second;
  RunLog ran;
  Hold hold(first);
  ran.note(first, "a");
  {
    const TestEvent event;
    ASSERT_CUDA(cudaEventRecord(event, first));
    ASSERT_CUDA(cudaStreamWaitEvent(second, event));
  }
  ran.note(second, "b");
  hold.release();
  ASSERT_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(ran.text(), "ab");
}

// A chain through many streams, drawn at random: every operation must come after those its event stands for.
TEST_F(EventTest, RandomGraphsRunInALegalOrder) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    sim::set_schedule_seed(round % 2 == 0 ? 0 : static_cast<std::uint64_t>(round));
    constexpr int kStreams = 5, kNodes = 60;
    std::vector<std::unique_ptr<TestStream>> streams;
    for (int s = 0; s < kStreams; ++s) streams.push_back(std::make_unique<TestStream>());
    std::vector<std::unique_ptr<TestEvent>> events;
    std::vector<std::pair<int, int>> before;  // (earlier, later)
    std::vector<int> last(kStreams, -1);
    std::vector<std::atomic<int>> when(kNodes);
    std::atomic<int> clock{0};
    for (int n = 0; n < kNodes; ++n) {
      const auto s = random() % kStreams;
      for (int edge = 0; edge < 2 && n > 0; ++edge) {
        const int other = static_cast<int>(random() % static_cast<unsigned>(n));
        ASSERT_CUDA(cudaStreamWaitEvent(*streams[s], *events[static_cast<std::size_t>(other)]));
        before.emplace_back(other, n);
      }
      if (last[s] >= 0) before.emplace_back(last[s], n);
      last[s] = n;
      sim::Operation operation;
      operation.run = [&when, &clock, n](int) { when[static_cast<std::size_t>(n)] = ++clock; };
      ASSERT_CUDA(sim::enqueue(*streams[s], std::move(operation)));
      events.push_back(std::make_unique<TestEvent>(cudaEventDisableTiming));
      ASSERT_CUDA(cudaEventRecord(*events.back(), *streams[s]));
    }
    ASSERT_CUDA(cudaDeviceSynchronize());
    for (const auto& [earlier, later] : before) {
      EXPECT_LT(when[static_cast<std::size_t>(earlier)], when[static_cast<std::size_t>(later)]) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace lockstep::test
