#include "lesson.h"

#include "lesson_test.h"

#undef cudaMemcpyPeerAsync
#undef cudaMemcpyAsync
#undef cudaMemsetAsync
#undef cudaMemset
#undef cudaEventRecord
#undef cudaStreamWaitEvent
#undef cudaStreamSynchronize
#undef cudaEventSynchronize
#undef cudaDeviceSynchronize

#include <fmt/format.h>

#include <mutex>

#include "simulator/gpu/check/reports.h"
#include "simulator/gpu/runtime/control.h"
#include "simulator/gpu/runtime/queue.h"
#include "source_lines.h"

namespace lesson {

__global__ void add_kernel(View<const float> from, View<float> to) {
  lockstep::each_in_grid(to.count, [=](std::int64_t i) { to[i] += from[i]; });
}
__global__ void scale_kernel(float factor, View<float> to) {
  lockstep::each_in_grid(to.count, [=](std::int64_t i) { to[i] *= factor; });
}

namespace {

// Threads of a lesson may record messages at the same time.
struct Notes {
  std::mutex mutex;
  std::vector<Message> messages;
  int host_waits = 0;
  std::string failed;               // a call that failed and that nothing has looked at yet
  std::vector<std::string> unseen;  // those before it
  std::vector<std::string> remarks;
};
Notes& notes() {
  static Notes all;
  return all;
}

// Restores the learner's current device at the end.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    cudaGetDevice(&previous_);
    CHECK_CUDA(cudaSetDevice(device));
  }
  ~OnDevice() { cudaSetDevice(previous_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int previous_ = 0;
};

cudaLaunchConfig_t one_block(cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(32);
  config.stream = stream;
  return config;
}

}  // namespace

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  std::string more;
  {
    const std::lock_guard lock(notes().mutex);
    more = std::exchange(notes().failed, "");
  }
  throw std::runtime_error(
      fmt::format("{} gave {}: {}{}", call, cudaGetErrorName(status), cudaGetErrorString(status), more.empty() ? "" : ".\n" + more));
}

cudaError_t note_call(cudaError_t status, const char* call, cudaStream_t stream, cudaEvent_t event, const void* filled) {
  if (status == cudaErrorInvalidResourceHandle || status == cudaErrorInvalidValue || status == cudaErrorInvalidDevice) {
    const std::string place = place_of_caller();
    std::string why = fmt::format("{}{} failed: {}.", place.empty() ? "" : "At " + place + " ", call, cudaGetErrorString(status));
    if (event != nullptr && stream != nullptr && event->alive && stream->alive && event->device != stream->device) {
      why += fmt::format(
          " The event belongs to GPU {} and the stream to GPU {}: an event is recorded in a stream of its own GPU. Fix: record the event "
          "of "
          "the replica whose stream it is.",
          event->device, stream->device);
    }
    cudaPointerAttributes memory{};
    if (filled != nullptr && (cudaPointerGetAttributes(&memory, filled) != cudaSuccess || memory.type != cudaMemoryTypeDevice))
      why += " Its address is not memory of a GPU, or not any more: was it freed before?";
    const std::lock_guard lock(notes().mutex);
    if (!notes().failed.empty()) notes().unseen.push_back(notes().failed);
    notes().failed = why;
  } else if (status == cudaSuccess && std::strcmp(call, "cudaStreamWaitEvent") == 0 && event->last.stream == nullptr) {
    const std::string place = place_of_caller();
    const std::lock_guard lock(notes().mutex);
    const std::string text = fmt::format(
        "The wait{} does nothing: its event was never recorded. Fix: cudaEventRecord(event, ...) before it, in the stream that does the "
        "work.",
        place.empty() ? "" : " at " + place);
    auto& all = notes().remarks;
    if (!place.empty() && std::find(all.begin(), all.end(), text) == all.end()) all.push_back(text);
  }
  return status;
}

void name_stream(cudaStream_t stream, const std::string& name) { lockstep::sim::name_stream(stream, name); }
void name_memory(const void* address, const std::string& name) { lockstep::sim::name_memory(address, name); }

std::vector<std::string> unseen_failures() {
  const std::lock_guard lock(notes().mutex);
  std::vector<std::string> all = notes().unseen;
  if (!notes().failed.empty()) all.push_back(notes().failed);
  return all;
}

std::vector<std::string> remarks() {
  const std::lock_guard lock(notes().mutex);
  return notes().remarks;
}

void check(ncclResult_t status, const char* call) {
  if (status == ncclSuccess) return;
  const char* more = ncclGetLastError(nullptr);
  throw std::runtime_error(
      fmt::format("{} gave \"{}\"{}{}", call, ncclGetErrorString(status), more && *more ? ": " : "", more ? more : ""));
}

void add(const Replica& replica, const float* from, float* to, std::int64_t count) {
  const OnDevice here(replica.device);
  const auto config = one_block(replica.stream);
  lockstep::annotate_next_launch("add", {});
  CHECK_CUDA(cudaLaunchKernelEx(&config, add_kernel, View<const float>{from, count}, View<float>{to, count}));
}

void scale(const Replica& replica, float factor, float* to, std::int64_t count) {
  const OnDevice here(replica.device);
  const auto config = one_block(replica.stream);
  lockstep::annotate_next_launch("scale", {});
  CHECK_CUDA(cudaLaunchKernelEx(&config, scale_kernel, factor, View<float>{to, count}));
}

void note_message(int to, int from, std::size_t bytes) {
  const std::lock_guard lock(notes().mutex);
  notes().messages.push_back({from, to, static_cast<std::int64_t>(bytes)});
}

void note_host_wait() {
  const std::lock_guard lock(notes().mutex);
  ++notes().host_waits;
}

const std::vector<Message>& messages() { return notes().messages; }
int host_waits() { return notes().host_waits; }
void forget_notes() {
  const std::lock_guard lock(notes().mutex);
  notes().messages.clear();
  notes().host_waits = 0;
}
void forget_calls() {
  const std::lock_guard lock(notes().mutex);
  notes().failed.clear();
  notes().unseen.clear();
  notes().remarks.clear();
}

Replicas::Replicas(int n, std::int64_t count, const std::function<float(int, std::int64_t)>& value) {
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
  for (int r = 0; r < n; ++r) {
    const OnDevice here(r);
    Replica replica;
    replica.device = r;
    replica.count = count;
    CHECK_CUDA(cudaStreamCreateWithFlags(&replica.stream, cudaStreamNonBlocking));
    CHECK_CUDA(cudaEventCreateWithFlags(&replica.ready, cudaEventDisableTiming));
    CHECK_CUDA(cudaMalloc(&replica.buffer, bytes + (count == 0)));
    CHECK_CUDA(cudaMalloc(&replica.staging, bytes + (count == 0)));
    float* source = nullptr;
    CHECK_CUDA(cudaMallocHost(&source, bytes + (count == 0)));
    for (std::int64_t i = 0; i < count; ++i) source[i] = value(r, i);
    CHECK_CUDA(cudaMemcpyAsync(replica.buffer, source, bytes, cudaMemcpyHostToDevice, replica.stream));
    CHECK_CUDA(cudaStreamSynchronize(replica.stream));
    lockstep::sim::name_stream(replica.stream, fmt::format("replica {}'s stream", r));
    lockstep::sim::name_memory(replica.buffer, fmt::format("replica {}'s buffer", r));
    lockstep::sim::name_memory(replica.staging, fmt::format("replica {}'s staging", r));
    replicas_.push_back(replica);
    sources_.push_back(source);
  }
  forget_notes();
}

Replicas::~Replicas() {
  lockstep::sim::wait_for_all_devices();
  for (const Replica& replica : replicas_) {
    cudaSetDevice(replica.device);
    cudaFree(replica.buffer);
    cudaFree(replica.staging);
    cudaEventDestroy(replica.ready);
    cudaStreamDestroy(replica.stream);
  }
  for (float* source : sources_) cudaFreeHost(source);
  cudaSetDevice(0);
}

void Replicas::write_later(int r, const std::function<float(std::int64_t)>& value) {
  const Replica& replica = replicas_[static_cast<std::size_t>(r)];
  float* const source = sources_[static_cast<std::size_t>(r)];
  for (std::int64_t i = 0; i < replica.count; ++i) source[i] = value(i);
  const OnDevice here(replica.device);
  const std::size_t bytes = static_cast<std::size_t>(replica.count) * sizeof(float);
  CHECK_CUDA(cudaMemcpyAsync(replica.buffer, source, bytes, cudaMemcpyHostToDevice, replica.stream));
}

void Replicas::wait() {
  for (const Replica& replica : replicas_) {
    const OnDevice here(replica.device);
    cudaDeviceSynchronize();
  }
}

std::vector<float> Replicas::read(int r) { return lesson::read(replicas_[static_cast<std::size_t>(r)].buffer, (*this)[r].count); }

std::vector<float> read(const float* device, std::int64_t count) {
  lockstep::sim::wait_for_all_devices();
  std::vector<float> values(static_cast<std::size_t>(count), std::nanf(""));
  if (check_mode_complained()) return values;
  CHECK_CUDA(cudaMemcpy(values.data(), device, values.size() * sizeof(float), cudaMemcpyDeviceToHost));
  return values;
}

void write(float* device, const std::vector<float>& values) {
  lockstep::sim::wait_for_all_devices();
  CHECK_CUDA(cudaMemcpy(device, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice));
  lockstep::sim::wait_for_all_devices();
}

void touch(const Replica& replica, float* buffer, std::int64_t count, const char* name) {
  const OnDevice here(replica.device);
  const auto config = one_block(replica.stream);
  lockstep::annotate_next_launch(name, {});
  CHECK_CUDA(cudaLaunchKernelEx(&config, scale_kernel, 1.0F, View<float>{buffer, count}));
}

void shuffle_threads(std::uint64_t seed) { lockstep::sim::set_schedule_seed(seed); }

bool check_mode_complained() { return !lockstep::sim::check_reports().empty(); }

std::string number(double value) { return fmt::format("{:.6g}", value); }

std::string list(const std::vector<float>& values, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < values.size() && i < most; ++i) text += (i ? ", " : "") + number(values[i]);
  return text + (values.size() > most ? ", ..." : "");
}

std::string list(const std::vector<Range>& ranges) {
  std::string text;
  for (const Range& range : ranges) text += fmt::format("{}[{}, {})", text.empty() ? "" : " ", range.first, range.first + range.count);
  return text;
}

std::string picture(const std::vector<Message>& messages, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < messages.size() && i < most; ++i)
    text += fmt::format("{}GPU {} -> GPU {}  {} bytes", i ? "\n" : "", messages[i].from, messages[i].to, messages[i].bytes);
  if (messages.size() > most) text += fmt::format("\n... and {} more", messages.size() - most);
  return text.empty() ? "none (they are counted where you call cudaMemcpyPeerAsync)" : text;
}

std::int64_t first_difference(const std::vector<float>& a, const std::vector<float>& b, double tolerance) {
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i >= a.size() || i >= b.size() || !(std::abs(a[i] - b[i]) <= tolerance)) return static_cast<std::int64_t>(i);
  }
  return -1;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

}  // namespace lesson
