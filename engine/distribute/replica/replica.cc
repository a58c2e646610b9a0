// One replica: programs are planned when a batch size is first seen, sums stay on the device until they are read.
#include "engine/distribute/replica/replica.h"

#include <algorithm>
#include <string>

#include "engine/device/check.h"
#include "engine/nn/program_plan.h"

namespace lockstep {

namespace {

VariableStore store(int index, LogicalGpu& gpu, const Graph& graph, Replica* lender) {
  const std::string owner = "replica " + std::to_string(index);
  if (lender == nullptr) return {gpu, graph.layout(), owner};
  return {gpu, graph.layout(), owner, lender->variables()};
}

}  // namespace

Replica::Replica(int index, LogicalGpu& gpu, const Graph& graph, Replica* lender)
    : index_(index),
      gpu_(&gpu),
      graph_(&graph),
      variables_(store(index, gpu, graph, lender)),
      workspace_(gpu, "replica " + std::to_string(index) + ": activations"),
      sums_(gpu.arena().allocate(kSums * sizeof(double), "replica " + std::to_string(index) + ": sums of loss and metrics")) {
  clear_sums();
}

Program& Replica::program(std::int64_t batch, Mode mode) {
  std::unique_ptr<Program>& program = programs_[{batch, mode}];
  if (program) return *program;
  try {
    program = std::make_unique<Program>(*graph_, variables_, workspace_, batch, mode);
  } catch (const OutOfMemory& error) {
    throw OutOfMemory(error.what() + std::string("\n") + which_batch_fits(batch, mode));
  }
  return *program;
}

std::string Replica::which_batch_fits(std::int64_t batch, Mode mode) const {
  const Arena& arena = gpu_->arena();
  std::size_t room = arena.limit() - std::min(arena.limit(), arena.used());
  {
    const DeviceGuard guard(gpu_->physical());
    std::size_t free = 0, total = 0;
    LOCKSTEP_CHECK(cudaMemGetInfo(&free, &total));
    room = std::min(room, free);
  }
  const auto bytes = [&](std::int64_t samples) {
    // Labels, losses and weights come on top; the plan has all the rest.
    const auto beside = static_cast<std::size_t>(samples * (graph_->output().size() + 2)) * sizeof(float);
    return plan_program(*graph_, *gpu_, samples, mode).memory.total + beside + 1024;
  };
  if (bytes(1) > room) return "By the memory plan not even one sample fits.";
  std::int64_t fits = 1, too_many = batch;  // what a plan needs grows with the batch
  while (too_many - fits > 1) {
    const std::int64_t middle = fits + (too_many - fits) / 2;
    (bytes(middle) <= room ? fits : too_many) = middle;
  }
  return "By the memory plan this replica has room for a batch of " + std::to_string(fits) + ", not of " + std::to_string(batch) + ".";
}

OpContext Replica::compute_context() { return {gpu_, &gpu_->compute(), {}}; }

double* Replica::sums() { return sums_.data<double>(); }

void Replica::clear_sums() {
  const DeviceGuard guard(gpu_->physical());
  LOCKSTEP_CHECK(cudaMemsetAsync(sums_.raw(), 0, kSums * sizeof(double), gpu_->compute().get()));
}

void Replica::read_sums(double* host) {
  const DeviceGuard guard(gpu_->physical());
  LOCKSTEP_CHECK(cudaMemcpyAsync(host, sums_.raw(), kSums * sizeof(double), cudaMemcpyDeviceToHost, gpu_->compute().get()));
  gpu_->compute().synchronize();
}

}  // namespace lockstep
