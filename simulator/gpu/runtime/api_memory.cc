// CUDA runtime: memory, copies and fills.
#include <algorithm>
#include <cstring>
#include <memory>

#include "simulator/gpu/runtime/checker.h"
#include "simulator/gpu/runtime/runtime.h"

using namespace lockstep::sim;

namespace {

// The status that refuses a call that may have to wait for the device; cudaSuccess: it may go on.
cudaError_t ready_to_wait() {
  if (const cudaError_t status = ready_to_use_device()) return status;
  return runtime().captures.any() ? runtime().captures.refuse_unsafe() : cudaSuccess;
}

cudaError_t ready_to_release() {
  if (const cudaError_t status = ready_to_call()) return status;
  return runtime().captures.any() ? runtime().captures.refuse_unsafe() : cudaSuccess;
}

// A stream that captures can't do this.
cudaError_t refuse_capture(Stream* stream) { return runtime().captures.any() ? runtime().captures.refuse(stream) : cudaSuccess; }

// --- Allocation

cudaError_t allocate(void** out, std::size_t bytes) {
  if (out == nullptr) return cudaErrorInvalidValue;
  *out = nullptr;
  if (bytes == 0) return cudaSuccess;
  *out = runtime().memory.allocate(current_device(), bytes);
  return *out != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t allocate_now(void** out, std::size_t bytes) {
  if (const cudaError_t status = ready_to_wait()) return status;
  return allocate(out, bytes);
}

// Memory is reserved at the call. Where it does not fit, the call waits for what the stream has still to free, and tries once more.
cudaError_t allocate_ordered(void** out, std::size_t bytes, cudaStream_t handle) {
  if (const cudaError_t status = ready_to_use_device()) return status;
  Stream* const stream = stream_behind(handle);
  if (stream == nullptr || stream->device != current_device()) return cudaErrorInvalidResourceHandle;
  if (const cudaError_t status = refuse_capture(stream)) return status;
  const cudaError_t status = allocate(out, bytes);
  if (status != cudaErrorMemoryAllocation) return status;
  runtime().executor.wait_stream(stream);
  return allocate(out, bytes);
}

// The block that begins at this address, on whatever device.
std::optional<Block> block_at(const void* address) {
  const auto block = runtime().memory.find(address);
  if (!block || block->begin != reinterpret_cast<std::uintptr_t>(address) || block->device == kHostDevice) return std::nullopt;
  if (runtime().memory.device_of(address) == kHostDevice) return std::nullopt;  // a module's variable
  return block;
}

cudaError_t release_host(void* address);

// A device that has failed frees its memory too and returns its error, so a test can see whether a program frees everything.
cudaError_t release_now(void* address) {
  if (const cudaError_t status = ready_to_release()) return status;
  if (address == nullptr) return runtime().executor.error(current_device());
  if (const auto shared = runtime().memory.find(address); shared && shared->managed) return release_host(address);
  const auto block = block_at(address);
  if (!block || !runtime().memory.begin_release(address)) return cudaErrorInvalidValue;
  runtime().executor.wait_device(block->device);
  if (Checker* const checker = runtime().checker.get()) {
    const std::string problem = checker->still_in_use(block->begin);
    if (!problem.empty()) runtime().executor.fail(block->device, cudaErrorIllegalState, problem);
  }
  if (!runtime().memory.release(address)) return cudaErrorInvalidValue;
  if (const cudaError_t status = runtime().executor.error(current_device())) return status;
  return runtime().executor.error(block->device);
}

cudaError_t release_ordered(void* address, cudaStream_t handle) {
  if (const cudaError_t status = ready_to_use_device()) return status;
  Stream* const stream = stream_behind(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (address == nullptr) return cudaSuccess;
  const auto block = block_at(address);
  if (!block) return cudaErrorInvalidValue;
  if (const cudaError_t status = refuse_capture(stream)) return status;
  if (!runtime().memory.begin_release(address)) return cudaErrorInvalidValue;  // it is being freed already
  Operation operation;
  operation.kind = OperationKind::marker;
  operation.name = "cudaFreeAsync";
  operation.touches = {{address, block->bytes, true}};
  std::shared_ptr<const CallSite> site;
  if (const Checker* const checker = runtime().checker.get()) site = checker->caller();
  operation.run = [address, site](int) { runtime().memory.release(address, site.get()); };
  return enqueue(handle, std::move(operation));
}

// Memory that host and devices share lies with the host, where every device reaches it. Its bytes do not count as the device's.
cudaError_t allocate_managed(void** out, std::size_t bytes, unsigned flags) {
  if (const cudaError_t status = ready_to_wait()) return status;
  if (out == nullptr || bytes == 0 || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)) return cudaErrorInvalidValue;
  *out = runtime().memory.allocate_host(bytes, true);
  return *out != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}

// The program's own memory becomes page-locked; flags are those of cudaHostAlloc with others behind them, and none changes anything here.
cudaError_t register_host(void* address, std::size_t bytes) {
  if (const cudaError_t status = ready_to_use_device()) return status;
  if (address == nullptr || bytes == 0 || runtime().memory.device_of(address) != kHostDevice) return cudaErrorInvalidValue;
  return runtime().memory.register_host(address, bytes) ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered;
}

cudaError_t unregister_host(void* address) {
  if (const cudaError_t status = ready_to_release()) return status;
  const auto block = runtime().memory.find(address);
  if (!block || !block->registered || block->begin != reinterpret_cast<std::uintptr_t>(address)) return cudaErrorHostMemoryNotRegistered;
  for (int d = 0; d < runtime().devices(); ++d) runtime().executor.wait_device_untimed(d);
  return runtime().memory.unregister_host(address) ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
}

cudaError_t flags_of_host(unsigned* flags, const void* address) {
  if (const cudaError_t status = ready_to_use_device()) return status;
  const auto block = runtime().memory.find(address);
  if (flags == nullptr || !block || block->device != kHostDevice || block->managed) return cudaErrorInvalidValue;
  *flags = cudaHostAllocPortable | cudaHostAllocMapped;
  return cudaSuccess;
}

cudaError_t allocate_host(void** out, std::size_t bytes, unsigned flags) {
  if (const cudaError_t status = ready_to_wait()) return status;
  constexpr unsigned kKnown = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
  if (out == nullptr || (flags & ~kKnown) != 0) return cudaErrorInvalidValue;
  *out = nullptr;
  if (bytes == 0) return cudaSuccess;
  *out = runtime().memory.allocate_host(bytes);
  return *out != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t release_host(void* address) {
  if (const cudaError_t status = ready_to_release()) return status;
  if (address == nullptr) return runtime().executor.error(current_device());
  const auto block = runtime().memory.find(address);
  if (!block || block->device != kHostDevice || block->registered) return cudaErrorInvalidValue;
  if (block->begin != reinterpret_cast<std::uintptr_t>(address)) return cudaErrorInvalidValue;
  // Any device may still use it. Modelled time does not wait: how much work the devices have by now depends on the threads that issue it,
  // so the time would differ from run to run.
  for (int d = 0; d < runtime().devices(); ++d) runtime().executor.wait_device_untimed(d);
  return runtime().memory.release_host(address) ? runtime().executor.error(current_device()) : cudaErrorInvalidValue;
}

// --- Copies

enum class MemoryType { device, pinned, pageable };

struct End {
  MemoryType type = MemoryType::pageable;
  bool inside = true;  // of its allocation, to the last byte
  bool managed = false;
};

End look_at(const void* address, std::size_t bytes) {
  const auto block = runtime().memory.find(address);
  if (!block) {
    const bool host = runtime().memory.device_of(address) == kHostDevice;
    return {host ? MemoryType::pageable : MemoryType::device, host, false};
  }
  const bool inside = block->contains(reinterpret_cast<std::uintptr_t>(address), bytes);
  if (block->device == kHostDevice) return {MemoryType::pinned, inside, block->managed};
  return {MemoryType::device, inside, false};
}

// Managed memory is on either side.
bool fits(cudaMemcpyKind kind, const End& source, const End& target) {
  const auto is = [](const End& end, bool device) { return end.managed || (end.type == MemoryType::device) == device; };
  switch (kind) {
    case cudaMemcpyHostToHost:
      return is(source, false) && is(target, false);
    case cudaMemcpyHostToDevice:
      return is(source, false) && is(target, true);
    case cudaMemcpyDeviceToHost:
      return is(source, true) && is(target, false);
    case cudaMemcpyDeviceToDevice:
      return is(source, true) && is(target, true);
    case cudaMemcpyDefault:
      return true;
  }
  return false;
}

// Parts of whole cache lines.
std::pair<std::size_t, std::size_t> share(std::size_t bytes, int part, int parts) {
  const std::size_t lines = (bytes + 63) / 64;
  const auto p = static_cast<std::size_t>(part), n = static_cast<std::size_t>(parts);
  return {lines * p / n * 64, std::min(bytes, lines * (p + 1) / n * 64)};
}

Operation copy_operation(void* to, const void* from, std::size_t bytes) {
  Operation operation;
  operation.kind = OperationKind::copy;
  operation.name = "copy";
  operation.cost.bytes = 2.0 * static_cast<double>(bytes);
  operation.touches = {{from, bytes, false}, {to, bytes, true}};
  operation.parts = parts_for(operation.cost);
  operation.run = [to, from, bytes, parts = operation.parts](int part) {
    const auto [first, last] = share(bytes, part, parts);
    std::memmove(resolve(static_cast<std::byte*>(to)) + first, resolve(static_cast<const std::byte*>(from)) + first, last - first);
  };
  return operation;
}

// From memory that the caller may change as soon as the call returns.
Operation staged_copy(void* to, const void* from, std::size_t bytes) {
  const std::shared_ptr<std::byte[]> stage(new std::byte[bytes]);
  std::memcpy(stage.get(), from, bytes);
  Operation operation = copy_operation(to, stage.get(), bytes);
  operation.touches.erase(operation.touches.begin());
  operation.run = [stage, run = std::move(operation.run)](int part) { run(part); };
  return operation;
}

constexpr std::size_t kStageBytes = 64 << 10;

enum class Wait { as_documented, until_done };

cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t handle, Wait wait) {
  if (const cudaError_t status = ready_to_use_device()) return status;
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  Stream* const stream = stream_behind(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (bytes == 0) return cudaSuccess;
  if (to == nullptr || from == nullptr) return cudaErrorInvalidValue;
  const End source = look_at(from, bytes), target = look_at(to, bytes);
  const bool from_device = source.type == MemoryType::device, to_device = target.type == MemoryType::device;
  if (Checker* const checker = runtime().checker.get(); checker != nullptr && (!source.inside || !target.inside)) {
    checker->refused_copy(source.inside ? to : from, bytes, !source.inside);
  }
  if (!source.inside || !target.inside || !fits(kind, source, target)) return cudaErrorInvalidValue;

  if (runtime().captures.any()) {
    if (wait == Wait::until_done) {
      if (const cudaError_t status = runtime().captures.refuse_unsafe()) return status;
    }
    if (source.type == MemoryType::pageable || target.type == MemoryType::pageable) {
      if (const cudaError_t status = runtime().captures.refuse(stream)) return status;
    }
  }

  const int device = stream->device;
  Executor& executor = runtime().executor;
  const auto finish = [&] {
    executor.wait_stream(stream);
    return executor.error(device);
  };
  if (source.type == MemoryType::pageable && to_device) {
    // The caller's buffer is free again when the call returns; the device may get its bytes later. A blocking copy has usually
    // arrived by then, but CUDA does not promise that for small ones: under a seeded schedule it arrives later.
    if (wait == Wait::until_done) executor.wait_stream(stream);
    const bool later = bytes <= kStageBytes && (wait == Wait::as_documented || executor.seed() != 0);
    if (const cudaError_t status = enqueue(handle, later ? staged_copy(to, from, bytes) : copy_operation(to, from, bytes))) return status;
    return later ? cudaSuccess : finish();
  }
  if (const cudaError_t status = enqueue(handle, copy_operation(to, from, bytes))) return status;
  // Into pageable memory, and between host buffers, even the asynchronous copy returns only when it is done; between devices
  // even the other one does not wait.
  const bool on_host = !from_device && !to_device;
  const bool must_wait = wait == Wait::until_done ? !(from_device && to_device)
                                                  : target.type == MemoryType::pageable || (on_host && source.type == MemoryType::pageable);
  return must_wait ? finish() : cudaSuccess;
}

cudaError_t check_peer(const void* to, int to_device, const void* from, int from_device) {
  if (const cudaError_t status = ready_to_use_device()) return status;
  const int devices = runtime().devices();
  if (to_device < 0 || from_device < 0 || to_device >= devices || from_device >= devices) return cudaErrorInvalidDevice;
  const Memory& memory = runtime().memory;
  return memory.device_of(to) == to_device && memory.device_of(from) == from_device ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t copy_peer(void* to, int to_device, const void* from, int from_device, std::size_t bytes, cudaStream_t stream) {
  if (const cudaError_t status = check_peer(to, to_device, from, from_device)) return bytes == 0 ? cudaSuccess : status;
  return copy(to, from, bytes, cudaMemcpyDeviceToDevice, stream, Wait::as_documented);
}

// The form without a stream: behind all work of the three devices, and before all that comes later.
cudaError_t copy_peer_in_turn(void* to, int to_device, const void* from, int from_device, std::size_t bytes) {
  if (const cudaError_t status = check_peer(to, to_device, from, from_device)) return bytes == 0 ? cudaSuccess : status;
  if (bytes == 0) return cudaSuccess;
  if (!look_at(from, bytes).inside || !look_at(to, bytes).inside) return cudaErrorInvalidValue;
  Executor& executor = runtime().executor;
  Stream* const stream = executor.legacy_stream(current_device());
  if (Captures& captures = runtime().captures; captures.any()) {
    for (const int device : {current_device(), to_device, from_device}) {
      if (const cudaError_t status = captures.refuse_legacy(executor.legacy_stream(device))) return status;
    }
  }
  Node* const node = executor.take_node(NodeKind::operation);
  node->operation = copy_operation(to, from, bytes);
  node->parts = node->operation.parts;
  executor.append_fenced(stream, node, {current_device(), to_device, from_device});
  return cudaSuccess;
}

cudaError_t fill(void* address, int value, std::size_t bytes, cudaStream_t stream) {
  if (const cudaError_t status = ready_to_use_device()) return status;
  if (stream_behind(stream) == nullptr) return cudaErrorInvalidResourceHandle;
  if (bytes == 0) return cudaSuccess;
  const End target = look_at(address, bytes);
  if (target.type == MemoryType::pageable || !target.inside) return cudaErrorInvalidValue;
  Operation operation;
  operation.kind = OperationKind::memset;
  operation.name = "memset";
  operation.cost.bytes = static_cast<double>(bytes);
  operation.touches = {{address, bytes, true}};
  operation.parts = parts_for(operation.cost);
  operation.run = [address, value, bytes, parts = operation.parts](int part) {
    const auto [first, last] = share(bytes, part, parts);
    std::memset(resolve(static_cast<std::byte*>(address)) + first, value, last - first);
  };
  return enqueue(stream, std::move(operation));
}

cudaError_t attributes_of(cudaPointerAttributes* attributes, const void* address) {
  if (const cudaError_t status = ready_to_use_device()) return status;
  if (attributes == nullptr) return cudaErrorInvalidValue;
  void* const pointer = const_cast<void*>(address);
  *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, pointer, {}};
  const auto block = runtime().memory.find(address);
  if (!block) return cudaSuccess;
  if (block->device == kHostDevice) {
    *attributes = {block->managed ? cudaMemoryTypeManaged : cudaMemoryTypeHost, 0, pointer, pointer, {}};
  } else {
    *attributes = {cudaMemoryTypeDevice, block->device, pointer, nullptr, {}};
  }
  return cudaSuccess;
}

cudaError_t memory_info(std::size_t* free, std::size_t* total) {
  if (const cudaError_t status = ready_to_use_device()) return status;
  if (free == nullptr || total == nullptr) return cudaErrorInvalidValue;
  *total = runtime().memory.total();
  *free = *total - runtime().memory.used(current_device());
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** devPtr, size_t size) {
  return called(__func__, [&] { return allocate_now(devPtr, size); });
}
cudaError_t cudaFree(void* devPtr) {
  return called(__func__, [&] { return release_now(devPtr); });
}
cudaError_t cudaMallocAsync(void** devPtr, size_t size, cudaStream_t hStream) {
  return called(__func__, [&] { return allocate_ordered(devPtr, size, hStream); });
}
cudaError_t cudaFreeAsync(void* devPtr, cudaStream_t hStream) {
  return called(__func__, [&] { return release_ordered(devPtr, hStream); });
}
cudaError_t cudaMallocHost(void** ptr, size_t size) {
  return called(__func__, [&] { return allocate_host(ptr, size, cudaHostAllocDefault); });
}
cudaError_t cudaHostAlloc(void** pHost, size_t size, unsigned int flags) {
  return called(__func__, [&] { return allocate_host(pHost, size, flags); });
}
cudaError_t cudaFreeHost(void* ptr) {
  return called(__func__, [&] { return release_host(ptr); });
}
cudaError_t cudaMallocManaged(void** devPtr, size_t size, unsigned int flags) {
  return called(__func__, [&] { return allocate_managed(devPtr, size, flags); });
}
cudaError_t cudaHostRegister(void* ptr, size_t size, unsigned int) {
  return called(__func__, [&] { return register_host(ptr, size); });
}
cudaError_t cudaHostUnregister(void* ptr) {
  return called(__func__, [&] { return unregister_host(ptr); });
}
cudaError_t cudaHostGetFlags(unsigned int* pFlags, void* pHost) {
  return called(__func__, [&] { return flags_of_host(pFlags, pHost); });
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return called(__func__, [&] { return memory_info(free, total); });
}
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes* attributes, const void* ptr) {
  return called(__func__, [&] { return attributes_of(attributes, ptr); });
}

cudaError_t cudaMemcpy(void* dst, const void* src, size_t count, enum cudaMemcpyKind kind) {
  return called(__func__, [&] { return copy(dst, src, count, kind, nullptr, Wait::until_done); });
}
cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t count, enum cudaMemcpyKind kind, cudaStream_t stream) {
  return called(__func__, [&] { return copy(dst, src, count, kind, stream, Wait::as_documented); });
}
cudaError_t cudaMemcpyPeer(void* dst, int dstDevice, const void* src, int srcDevice, size_t count) {
  return called(__func__, [&] { return copy_peer_in_turn(dst, dstDevice, src, srcDevice, count); });
}
cudaError_t cudaMemcpyPeerAsync(void* dst, int dstDevice, const void* src, int srcDevice, size_t count, cudaStream_t stream) {
  return called(__func__, [&] { return copy_peer(dst, dstDevice, src, srcDevice, count, stream); });
}
cudaError_t cudaMemset(void* devPtr, int value, size_t count) {
  return called(__func__, [&] { return fill(devPtr, value, count, nullptr); });
}
cudaError_t cudaMemsetAsync(void* devPtr, int value, size_t count, cudaStream_t stream) {
  return called(__func__, [&] { return fill(devPtr, value, count, stream); });
}
}
