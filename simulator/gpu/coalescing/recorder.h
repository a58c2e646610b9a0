// What the threads of one block have done since they last stopped together. Each worker has one and is the only thread that uses it.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "simulator/gpu/coalescing/coalescing.h"

namespace lockstep::coalescing {

class Recorder {
 public:
  void begin(const sim::KernelCall& call);
  void replay();  // and forgets
  KernelCount end();

  const std::string& kernel() const { return kernel_; }

  void touch(const void* at, std::uint32_t bytes, bool write, const void* place);
  void reach(const void* place);
  void leave();  // a function; g++ reports no block for what follows, though it is one

 private:
  struct ViewBytes {
    std::uint64_t begin = 0, end = 0;
    int argument = 0;
  };
  static std::size_t thread();

  std::string kernel_;
  std::vector<ViewBytes> views_;
  std::vector<Trace> traces_;  // by thread of the block; kept between blocks, with their memory
  std::vector<bool> in_block_;
  std::unordered_map<void (*)(), FlowGraph> graphs_;  // of all kernels that this worker has seen
  FlowGraph* graph_ = nullptr;
  KernelCount count_;
};

// Of the block that this worker runs; null: accesses are not counted.
Recorder*& current_recorder();

}  // namespace lockstep::coalescing
