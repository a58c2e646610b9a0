#include "simulator/gpu/check/order.h"

#include <algorithm>

namespace lockstep::sim {

Order::Line& Order::line(const Stream* stream) {
  const auto [found, fresh] = lines_.try_emplace(stream);
  Line& line = found->second;
  if (fresh) {
    line.index = static_cast<int>(by_index_.size());
    by_index_.push_back(&line);
    line.history.emplace_back(0, std::make_shared<VectorClock>());
    if (stream->legacy) line.name = "the legacy stream of device " + std::to_string(stream->device);
  }
  if (line.name.empty()) {
    line.name = "stream " + std::to_string(++numbers_[stream->device]) + " of device " + std::to_string(stream->device);
  }
  return line;
}

void Order::created(const Stream* stream) {
  const auto known = lines_.find(stream);
  if (known != lines_.end()) {
    known->second.name.clear();
    known->second.waits.clear();
  }
  line(stream);
}

void Order::destroyed(const Stream* stream) {
  auto* const handle = const_cast<Stream*>(stream);
  std::uint64_t& last = retired_[{stream->device, stream->blocking()}][handle];
  last = std::max(last, stream->submitted);
}

// What the host knows to be done orders everything that is issued from now on, and need not be listed any more.
std::vector<Moment> Order::retired(int device, bool blocking_only) {
  std::vector<Moment> moments;
  for (const bool blocking : {true, false}) {
    if (blocking_only && !blocking) continue;
    const auto found = retired_.find({device, blocking});
    if (found == retired_.end()) continue;
    std::erase_if(found->second, [&](const auto& entry) { return host_->of(line(entry.first).index) >= entry.second; });
    for (const auto& [stream, sequence] : found->second) moments.push_back({stream, sequence});
  }
  return moments;
}

void Order::issued(const Stream* stream, std::uint64_t sequence, const std::vector<Moment>& after, std::uint64_t number) {
  constexpr std::size_t kKept = 64;
  Line& here = line(stream);
  for (const Moment& moment : after) {
    if (moment.stream == nullptr || moment.stream == stream) continue;
    here.waits.push_back({sequence, line(moment.stream).index, number});
    if (here.waits.size() > kKept) here.waits.pop_front();
  }
}

std::vector<std::string> Order::waited_for(const Access& access) const {
  std::vector<std::string> names;
  const auto& waits = by_index_[static_cast<std::size_t>(access.stream)]->waits;
  for (auto wait = waits.rbegin(); wait != waits.rend(); ++wait) {
    if (wait->sequence > access.sequence) continue;
    const std::string& name = by_index_[static_cast<std::size_t>(wait->other)]->name;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

bool Order::has_waited_for(const Access& access, int other, std::uint64_t since) const {
  const auto& waits = by_index_[static_cast<std::size_t>(access.stream)]->waits;
  return std::any_of(waits.begin(), waits.end(),
                     [&](const Wait& wait) { return wait.sequence <= access.sequence && wait.other == other && wait.number >= since; });
}

VectorClock Order::clock_at(const Moment& moment) {
  const Line& there = line(moment.stream);
  auto entry = std::upper_bound(there.history.begin(), there.history.end(), moment.sequence,
                                [](std::uint64_t sequence, const auto& e) { return sequence < e.first; });
  if (entry != there.history.begin()) --entry;
  VectorClock clock = *entry->second;
  clock.raise(there.index, moment.sequence);
  return clock;
}

// A moment older than the history is treated as the oldest one that was kept: that may hide a race, and never reports a false one.
void Order::changed(Line& line, std::uint64_t sequence) {
  constexpr std::size_t kKept = 1024;
  line.history.emplace_back(sequence, std::make_shared<VectorClock>(line.now));
  if (line.history.size() > kKept) line.history.pop_front();
}

void Order::started(const Stream* stream, std::uint64_t sequence, const std::vector<Moment>& waited,
                    const std::shared_ptr<const VectorClock>& host) {
  Line& here = line(stream);
  bool advanced = false;
  for (const Moment& moment : waited) {
    if (moment.stream == nullptr || moment.stream == stream) continue;
    advanced = here.now.join(clock_at(moment)) || advanced;
  }
  if (host != nullptr && host != here.host) {
    advanced = here.now.join(*host) || advanced;
    here.host = host;
  }
  if (advanced) changed(here, sequence);
}

void Order::reached_gate(const Stream* stream, std::uint64_t sequence, VectorClock& gate) {
  const Line& here = line(stream);
  gate.join(here.now);
  gate.raise(here.index, sequence);
}

void Order::left_gate(const Stream* stream, std::uint64_t sequence, const VectorClock& gate) {
  Line& here = line(stream);
  if (here.now.join(gate)) changed(here, sequence);
}

void Order::host_saw(const Moment& moment) {
  if (moment.stream == nullptr) return;
  const VectorClock seen = clock_at(moment);
  VectorClock now = *host_;
  if (now.join(seen)) host_ = std::make_shared<const VectorClock>(std::move(now));
}

bool Order::before(const Access& access, const Stream* stream) {
  if (access.stream < 0) return true;
  const Line& here = line(stream);
  return access.stream == here.index || here.now.of(access.stream) >= access.sequence;
}

}  // namespace lockstep::sim
