// The state of context.h. It is in the shared library of the kernels, below everything that launches them.
#include <backend/context.h>

#include <memory>
#include <utility>

#include <backend/watching.h>

constinit thread_local lockstep::sim::Coordinates threadIdx{0, 0, 0};
constinit thread_local lockstep::sim::Coordinates blockIdx{0, 0, 0};
constinit thread_local lockstep::sim::Coordinates blockDim{1, 1, 1};
constinit thread_local lockstep::sim::Coordinates gridDim{1, 1, 1};

namespace lockstep {
namespace sim {

constinit thread_local KernelContext kernel_context;

namespace {

constinit thread_local LaunchNote launch_note;
constinit thread_local int watchings = 0;

std::int64_t volume(const Coordinates& size) { return static_cast<std::int64_t>(size.x) * size.y * size.z; }

std::int64_t linear(const Coordinates& at, const Coordinates& size) {
  return at.x + static_cast<std::int64_t>(size.x) * (at.y + static_cast<std::int64_t>(size.y) * at.z);
}

}  // namespace

void set_block(Coordinates grid, Coordinates block_size, Coordinates block) {
  std::construct_at(&gridDim, grid);
  std::construct_at(&blockDim, block_size);
  std::construct_at(&blockIdx, block);
  kernel_context.block = linear(block, grid);
  kernel_context.blocks = volume(grid);
  kernel_context.block_threads = volume(block_size);
}

void set_thread(Coordinates thread) {
  std::construct_at(&threadIdx, thread);
  kernel_context.thread = linear(thread, blockDim);
}

LaunchNote take_launch_note() { return std::exchange(launch_note, LaunchNote{}); }

bool is_watching() { return watchings > 0; }

}  // namespace sim

Watching::Watching() { ++sim::watchings; }
Watching::~Watching() { --sim::watchings; }

void annotate_next_launch(const char* name, Cost cost) { sim::launch_note = {name, cost}; }

}  // namespace lockstep
