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

// What check mode calls a stream or memory: "replica 0's communication stream".
void name_stream(cudaStream_t stream, const std::string& name);
void name_memory(const void* address, const std::string& name);

// Keeps what a call returned until CHECK_CUDA has seen it, and looks at the events of waits: a wait for an event that was never recorded
// does nothing.
cudaError_t note_call(cudaError_t status, const char* call, cudaStream_t stream, cudaEvent_t event = nullptr, const void* filled = nullptr);
inline cudaError_t noted_copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream = nullptr) {
  return note_call(cudaMemcpyAsync(to, from, bytes, kind, stream), "cudaMemcpyAsync", stream);
}
inline cudaError_t noted_fill(void* to, int value, std::size_t bytes, cudaStream_t stream = nullptr) {
  return note_call(cudaMemsetAsync(to, value, bytes, stream), "cudaMemsetAsync", stream, nullptr, to);
}
inline cudaError_t noted_fill_now(void* to, int value, std::size_t bytes) {
  return note_call(cudaMemset(to, value, bytes), "cudaMemset", nullptr, nullptr, to);
}
inline cudaError_t noted_record(cudaEvent_t event, cudaStream_t stream = nullptr) {
  return note_call(cudaEventRecord(event, stream), "cudaEventRecord", stream, event);
}
inline cudaError_t noted_wait(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0) {
  return note_call(cudaStreamWaitEvent(stream, event, flags), "cudaStreamWaitEvent", stream, event);
}

// Lessons count messages between GPUs, and how often the host stops to wait.
struct Message {
  int from = 0, to = 0;
  std::int64_t bytes = 0;
};
void note_message(int to, int from, std::size_t bytes);
void note_host_wait();
#define cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, stream) \
  (::lesson::note_message(to_device, from_device, bytes),                    \
   ::lesson::note_call(::cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, stream), "cudaMemcpyPeerAsync", stream))
#define cudaMemcpyAsync(...) ::lesson::noted_copy(__VA_ARGS__)
#define cudaMemsetAsync(...) ::lesson::noted_fill(__VA_ARGS__)
#define cudaMemset(...) ::lesson::noted_fill_now(__VA_ARGS__)
#define cudaEventRecord(...) ::lesson::noted_record(__VA_ARGS__)
#define cudaStreamWaitEvent(...) ::lesson::noted_wait(__VA_ARGS__)
#define cudaStreamSynchronize(stream) (::lesson::note_host_wait(), ::cudaStreamSynchronize(stream))
#define cudaEventSynchronize(event) (::lesson::note_host_wait(), ::cudaEventSynchronize(event))
#define cudaDeviceSynchronize() (::lesson::note_host_wait(), ::cudaDeviceSynchronize())

}  // namespace lesson
