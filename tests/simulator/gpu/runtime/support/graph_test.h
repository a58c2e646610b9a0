// Helpers of the tests of graphs and stream capture.
#pragma once

#include <backend/kernel_support.h>
#include "tests/simulator/gpu/runtime/support/gpu_test.h"

namespace lockstep::test {

inline __global__ void add_to(float what, View<float> y) {
  each_in_grid(y.count, [=](std::int64_t i) { y[i] += what; });
}

inline __global__ void multiply_by(float what, View<float> y) {
  each_in_grid(y.count, [=](std::int64_t i) { y[i] *= what; });
}

class GraphTest : public GpuTest {};

inline cudaError_t launch_add(cudaStream_t stream, float what, View<float> y) {
  const auto config = configuration(2, 32, stream);
  return cudaLaunchKernelEx(&config, add_to, what, y);
}

inline cudaError_t launch_multiply(cudaStream_t stream, float what, View<float> y) {
  const auto config = configuration(2, 32, stream);
  return cudaLaunchKernelEx(&config, multiply_by, what, y);
}

inline cudaStreamCaptureStatus status_of(cudaStream_t stream) {
  auto status = cudaStreamCaptureStatusNone;
  EXPECT_CUDA(cudaStreamIsCapturing(stream, &status));
  return status;
}

// A graph that can be launched, and cleans up after itself.
class Executable {
 public:
  explicit Executable(cudaStream_t captured) {
    EXPECT_CUDA(cudaStreamEndCapture(captured, &graph_));
    EXPECT_CUDA(cudaGraphInstantiate(&executable_, graph_, 0));
  }
  ~Executable() {
    EXPECT_CUDA(cudaGraphExecDestroy(executable_));
    EXPECT_CUDA(cudaGraphDestroy(graph_));
  }
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;
  std::size_t nodes() const {
    std::size_t count = 0;
    EXPECT_CUDA(cudaGraphGetNodes(graph_, nullptr, &count));
    return count;
  }
  operator cudaGraphExec_t() const { return executable_; }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

inline void begin(cudaStream_t stream, cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
  ASSERT_CUDA(cudaStreamBeginCapture(stream, mode));
}

// Ends a capture from which no graph comes, and leaves the stream as it was.
inline void expect_end(cudaStream_t stream, cudaError_t status) {
  auto* graph = reinterpret_cast<cudaGraph_t>(1);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), status);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(status_of(stream), cudaStreamCaptureStatusNone);
  EXPECT_CUDA(cudaStreamSynchronize(stream));
  cudaGetLastError();
}

}  // namespace lockstep::test
