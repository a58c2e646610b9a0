#include "simulator/gpu/coalescing/recorder.h"

#include <algorithm>
#include <cstring>

#include <backend/context.h>
#include <backend/launch.h>

namespace lockstep::coalescing {

namespace {

// Places are kept as distances from here: the kernels are part of the same program.
std::uint32_t place_of(const void* address) {
  static const char anchor = 0;
  const auto distance = reinterpret_cast<std::intptr_t>(address) - reinterpret_cast<std::intptr_t>(&anchor);
  return static_cast<std::uint32_t>(distance + (std::intptr_t{1} << 31));
}

}  // namespace

Recorder*& current_recorder() {
  static constinit thread_local Recorder* one = nullptr;
  return one;
}

std::size_t Recorder::thread() { return static_cast<std::size_t>(sim::kernel_context.thread); }

void Recorder::begin(const sim::KernelCall& call) {
  kernel_ = call.name != nullptr ? call.name : "kernel";
  views_.clear();
  for (int i = 0; i < call.signature->count; ++i) {
    const sim::Argument& argument = call.signature->arguments[i];
    if (argument.kind == sim::ArgumentKind::value) continue;
    sim::AnyView view;
    std::memcpy(static_cast<void*>(&view), call.packed() + argument.offset, sizeof(view));
    const auto begin = reinterpret_cast<std::uint64_t>(view.data);
    if (view.count > 0) views_.push_back({begin, begin + static_cast<std::uint64_t>(view.count) * argument.element, i});
  }
  const std::size_t threads = std::size_t{call.block.x} * call.block.y * call.block.z;
  traces_.resize(threads);
  for (Trace& trace : traces_) trace.clear();
  in_block_.assign(threads, false);
  graph_ = &graphs_[call.kernel];
  count_ = {};
  count_.blocks = 1;
}

void Recorder::touch(const void* at, std::uint32_t bytes, bool write, const void* place) {
  const auto address = reinterpret_cast<std::uint64_t>(at);
  for (const ViewBytes& view : views_) {
    if (address < view.begin || address >= view.end) continue;
    const std::size_t t = thread();
    if (!in_block_[t]) reach(place);
    // Longer than any instruction's: a copy of a large struct, which a GPU makes of the widest pieces there are.
    for (std::uint32_t done = 0; done < bytes; done += 16) {
      const std::uint32_t piece = std::min<std::uint32_t>(bytes - done, 16);
      traces_[t].push_back(
          {address + done, place_of(place), static_cast<std::uint8_t>(piece), static_cast<std::uint8_t>(view.argument), write});
    }
    return;
  }
}

void Recorder::reach(const void* place) {
  const std::size_t t = thread();
  in_block_[t] = true;
  traces_[t].push_back({0, static_cast<std::uint32_t>(graph_->node_at(place_of(place))), 0, 0, false});
}

void Recorder::leave() { in_block_[thread()] = false; }

void Recorder::replay() {
  const int threads = static_cast<int>(traces_.size());
  for (const Trace& trace : traces_) learn(*graph_, trace);
  for (int first = 0; first < threads; first += kWarp) {
    replay_warp(*graph_, traces_.data() + first, std::min(kWarp, threads - first), [&](const Request& request) {
      ArgumentCount& argument = count_.arguments[request.view];
      (request.write ? argument.stores : argument.loads).add(request);
    });
  }
  for (Trace& trace : traces_) trace.clear();
  in_block_.assign(traces_.size(), false);
}

KernelCount Recorder::end() { return std::move(count_); }

}  // namespace lockstep::coalescing
