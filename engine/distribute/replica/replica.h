// A replica: a logical GPU, its variables, its programs by batch size, its running sums, its host thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "engine/nn/graph.h"
#include "engine/nn/program.h"
#include "engine/nn/variables.h"
#include "simulator/logical/logical_gpu.h"

namespace lockstep {

class Replica {
 public:
  // `lender`, where given, is a replica on the same card whose weights and slots this one uses too.
  Replica(int index, LogicalGpu& gpu, const Graph& graph, Replica* lender = nullptr);

  int index() const { return index_; }
  LogicalGpu& gpu() { return *gpu_; }
  VariableStore& variables() { return variables_; }
  Program& program(std::int64_t batch, Mode mode);  // planned at first use
  OpContext compute_context();                      // the compute stream, no scratch

  static constexpr int kSums = 16;
  double* sums();  // kSums doubles on the device: slot 0 is the loss, then the metrics
  void clear_sums();
  void read_sums(double* host);  // waits for the compute stream

 private:
  std::string which_batch_fits(std::int64_t batch, Mode mode) const;

  int index_;
  LogicalGpu* gpu_;
  const Graph* graph_;
  VariableStore variables_;
  Workspace workspace_;
  std::map<std::pair<std::int64_t, Mode>, std::unique_ptr<Program>> programs_;
  Buffer sums_;
};

}  // namespace lockstep
