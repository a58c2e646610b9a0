#include "engine/distribute/replica/phase_times.h"

#include <algorithm>

#include <backend/host_clock.h>

namespace lockstep {

PhaseMarks::PhaseMarks(int device)
    : events_{Event(device, Event::Timing::on), Event(device, Event::Timing::on), Event(device, Event::Timing::on),
              Event(device, Event::Timing::on), Event(device, Event::Timing::on)} {}

void PhaseTimes::begin_step() { begun_ns_ = host_clock_ns(); }

void PhaseTimes::end_step(const std::vector<const PhaseMarks*>& marks, bool updates) {
  const double whole = static_cast<double>(host_clock_ns() - begun_ns_) * 1e-9;
  begun_ns_ = -1;
  const auto add = [](ReplicaTimes& times, Phase phase, double seconds) { times.seconds[static_cast<std::size_t>(phase)] += seconds; };
  for (std::size_t r = 0; r < marks.size(); ++r) {
    ReplicaTimes& times = times_[r];
    const PhaseMarks& mark = *marks[r];
    const auto last = updates ? PhaseMarks::updated : PhaseMarks::computed;
    add(times, Phase::shard, mark.seconds(PhaseMarks::begin, PhaseMarks::sharded));
    add(times, Phase::local_gradients, mark.seconds(PhaseMarks::sharded, PhaseMarks::computed));
    if (updates) {
      add(times, Phase::all_reduce, mark.seconds(PhaseMarks::computed, PhaseMarks::summed));
      add(times, Phase::update, mark.seconds(PhaseMarks::summed, PhaseMarks::updated));
    }
    add(times, Phase::barrier, std::max(0.0, whole - mark.seconds(PhaseMarks::begin, last)));
    ++times.steps;
  }
}

void PhaseTimes::add_replicate(double seconds, const std::vector<std::int64_t>& bytes) {
  for (ReplicaTimes& times : times_) {
    times.seconds[static_cast<std::size_t>(Phase::replicate)] += seconds;
    ++times.replications;
  }
  for (std::size_t r = 0; r < bytes.size(); ++r) times_[r].replicated_bytes += bytes[r];
}

void PhaseTimes::add_sum(const std::vector<std::int64_t>& bytes) {
  for (std::size_t r = 0; r < bytes.size(); ++r) times_[r].summed_bytes += bytes[r];
}

void PhaseTimes::add_samples(std::size_t replica, std::int64_t samples, double loss_sum) {
  times_[replica].samples += samples;
  times_[replica].loss_sum += loss_sum;
}

}  // namespace lockstep
