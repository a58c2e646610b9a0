// A recording, played: what it says does not depend on which thread was recorded first.
#include "simulator/clock/recording.h"

#include <gtest/gtest.h>

namespace lockstep::clock {
namespace {

// Two streams of one card, each fed by a thread of its own; both want the copy engine at the same moment, and what follows takes longer on
// one of them: who comes first makes a difference to the whole.
double step_us(bool first_stream_comes_first, double long_bytes, double short_bytes) {
  const Machine machine = *find_machine("t4");
  Timeline timeline;
  const Hardware hardware(machine, timeline, 1);
  Recording recording;
  const auto record = [&](int stream, double bytes) {
    const int lane = 10 + stream, host = stream;
    recording.append({lane, 1}, hardware.copy(0, kHost, 0, 1e6), host, 0, nullptr);
    recording.append({lane, 2}, hardware.kernel(0, Kind::matmul, Arithmetic::fp32, bytes, 0), host, 0, nullptr);
    recording.wait(host, Moment{lane, 2});
  };
  if (first_stream_comes_first) record(0, long_bytes);
  record(1, short_bytes);
  if (!first_stream_comes_first) record(0, long_bytes);
  return recording.play(machine, {}).step_us;
}

TEST(Recording, DoesNotDependOnWhichThreadWasRecordedFirst) {
  EXPECT_EQ(step_us(true, 1e9, 1e6), step_us(false, 1e9, 1e6));
  EXPECT_EQ(step_us(true, 1e6, 1e9), step_us(false, 1e6, 1e9));
  EXPECT_NE(step_us(true, 1e9, 1e6), step_us(true, 1e6, 1e9)) << "the order of the streams should matter here, or this shows nothing";
}

}  // namespace
}  // namespace lockstep::clock
