// One replica: programs are planned when a batch size is first seen, sums are kept on the device until somebody looks.
#include "replica.h"

#include <string>

#include "check.h"

namespace lockstep {

Replica::Replica(int index, LogicalGpu& gpu, const Graph& graph)
    : index_(index),
      gpu_(&gpu),
      graph_(&graph),
      variables_(gpu, graph.layout(), "replica " + std::to_string(index)),
      workspace_(gpu, "replica " + std::to_string(index) + ": activations"),
      sums_(gpu.arena().allocate(kSums * sizeof(double), "replica " + std::to_string(index) + ": sums of loss and metrics")) {
  clear_sums();
}

Program& Replica::program(std::int64_t batch, Mode mode) {
  std::unique_ptr<Program>& program = programs_[{batch, mode}];
  if (!program) program = std::make_unique<Program>(*graph_, variables_, workspace_, batch, mode);
  return *program;
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
