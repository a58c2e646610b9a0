// mistake: {line}: cudaErrorStreamCaptureUnsupported
#include "tests/exec/check.h"

__global__ void scale(float* values, float factor) { values[threadIdx.x] *= factor; }

int main(int argc, char** argv) {
  float* const values = on_device(std::vector<float>(64, 1.0f));
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  scale<<<1, 64, 0, stream>>>(values, 2);
  scale<<<1, 64, 0, stream>>>(values, 3);
  if (with_mistake(argc, argv)) CHECK(cudaStreamSynchronize(stream));  // planted
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&ready, graph, 0));
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(ready, stream));
  CHECK(cudaStreamSynchronize(stream));
  bool right = true;
  for (const float value : on_host(values, 64)) right = right && value == 216;
  CHECK(cudaGraphExecDestroy(ready));
  CHECK(cudaGraphDestroy(graph));
  return result(right);
}
