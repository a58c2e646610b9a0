// Every lesson's file includes this: the CUDA runtime, the library, and a few helpers that lessons share.
//
// Your code runs on the virtual GPU in check mode. A missing wait, an access out of bounds or streams that wait for each other are found
// and explained, even when the numbers happen to be right.
#pragma once

#include <cuda_runtime.h>
#include <lockstep/lockstep.h>
#include <nccl.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <backend/kernel_support.h>

namespace lesson {

// Kernels take memory as views: View<const float> is read, View<float> is written.
using lockstep::View;

// A CUDA call that fails throws an exception with its text and CUDA's message: CHECK_CUDA(cudaMemsetAsync(...));
void check(cudaError_t status, const char* call);
void check(ncclResult_t status, const char* call);
#define CHECK_CUDA(call) ::lesson::check((call), #call)
#define CHECK_NCCL(call) ::lesson::check((call), #call)

// One replica of a model: a GPU, a queue of work for it, and memory on it.
struct Replica {
  int device = 0;                 // CUDA's number of its GPU
  cudaStream_t stream = nullptr;  // its queue: work put here runs later, in order
  float* buffer = nullptr;        // `count` numbers in the memory of that GPU: weights or gradients, as the lesson says
  float* staging = nullptr;       // room for `count` more, to receive messages in
  std::int64_t count = 0;
  cudaEvent_t ready = nullptr;  // an event of that GPU, for you to use
};

// Consecutive samples of a batch, or consecutive numbers of a buffer.
struct Range {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// to[i] += from[i] on the replica's GPU, in its stream. Like all work in a stream, it runs later.
void add(const Replica& replica, const float* from, float* to, std::int64_t count);
// to[i] *= factor
void scale(const Replica& replica, float factor, float* to, std::int64_t count);

// Lessons count messages between GPUs, and how often the host stops to wait.
struct Message {
  int from = 0, to = 0;
  std::int64_t bytes = 0;
};
void note_message(int to, int from, std::size_t bytes);
void note_host_wait();
#define cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, stream) \
  (::lesson::note_message(to_device, from_device, bytes), ::cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, stream))
#define cudaStreamSynchronize(stream) (::lesson::note_host_wait(), ::cudaStreamSynchronize(stream))
#define cudaEventSynchronize(event) (::lesson::note_host_wait(), ::cudaEventSynchronize(event))
#define cudaDeviceSynchronize() (::lesson::note_host_wait(), ::cudaDeviceSynchronize())

}  // namespace lesson
