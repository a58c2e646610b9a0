#include "simulator/gpu/runtime/execute.h"

#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <optional>

#include <backend/context.h>
#include "simulator/gpu/runtime/block_runner.h"
#include "simulator/gpu/runtime/checker.h"
#include "simulator/gpu/runtime/profile.h"
#include "simulator/gpu/runtime/runtime.h"

namespace lockstep::sim {

namespace {

std::string kernel_name(void (*kernel)()) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(kernel), &info) == 0 || info.dli_sname == nullptr) return "kernel";
  int status = 0;
  char* const readable = abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status);
  std::string name = status == 0 ? readable : info.dli_sname;
  std::free(readable);
  return name;
}

// A device reaches its own memory, that of a peer that it was given access to, and page-locked host memory. Why it does not reach this, as
// the end of a sentence; empty: it does.
std::string why_unreachable(int device, const void* begin, std::size_t bytes, const std::optional<Block>& block) {
  if (!block) {
    if (runtime().memory.device_of(begin) != kHostDevice) return "is not allocated";
    return "is host memory that was not page-locked by CUDA: copy it to the device (cudaMemcpy), or allocate it with cudaMallocHost";
  }
  if (!block->contains(reinterpret_cast<std::uintptr_t>(begin), bytes)) return "reaches beyond its allocation";
  if (block->device != kHostDevice && block->device != device && !runtime().peer_access(device, block->device)) {
    return "belongs to device " + std::to_string(block->device) + ", and peer access from device " + std::to_string(device) +
           " is not enabled: call cudaDeviceEnablePeerAccess(" + std::to_string(block->device) + ", 0) while device " +
           std::to_string(device) + " is current, or copy with cudaMemcpyPeer";
  }
  return "";
}

void check_reachable(int device, const void* begin, std::size_t bytes, const std::string& what) {
  const std::string why = why_unreachable(device, begin, bytes, runtime().memory.find(begin));
  if (why.empty()) return;
  char address[32];
  std::snprintf(address, sizeof(address), "%p", begin);
  throw Fault{cudaErrorIllegalAddress, what + " (" + std::to_string(bytes) + " bytes at " + address + ") " + why};
}

class ReachOfDevice : public Reach {
 public:
  explicit ReachOfDevice(int device) : device_(device) {}
  std::optional<Bytes> find(std::uint64_t address, std::string& why) const override {
    auto* const begin = reinterpret_cast<std::byte*>(address);
    const auto block = runtime().memory.find(begin);
    why = why_unreachable(device_, begin, 1, block);
    if (!why.empty()) {
      why = "which " + why;
      return std::nullopt;
    }
    return Bytes{block->begin, block->bytes, resolve(reinterpret_cast<std::byte*>(block->begin))};
  }

 private:
  int device_;
};

class ChecksOfNode : public AccessChecks {
 public:
  ChecksOfNode(Checker& checker, Node& node) : checker_(checker), node_(node) {}
  bool races() const override { return checker_.checks().race; }
  bool memory() const override { return checker_.checks().memory; }
  std::vector<Reach::Bytes> unwritten(std::uint64_t address, std::uint64_t bytes) const override {
    std::vector<Reach::Bytes> holes;
    for (const Touch& hole : checker_.unwritten(address, bytes)) holes.push_back({reinterpret_cast<std::uint64_t>(hole.begin), hole.bytes});
    return holes;
  }
  void touched(const std::vector<Touch>& touches) const override { checker_.touched(node_, touches); }

 private:
  Checker& checker_;
  Node& node_;
};

void run_device_code(Node& node, int part) {
  const KernelCall& call = node.kernel;
  const int parts = node.parts;
  const auto blocks = static_cast<std::int64_t>(call.grid.x) * call.grid.y * call.grid.z;
  const ReachOfDevice reach(node.stream->device);
  DeviceLaunch launch{call.grid, call.block, call.shared_bytes, {call.packed(), call.bytes()}};
  if (call.kernel == nullptr) launch.reach = &reach;  // views are checked and resolved already
  std::optional<ChecksOfNode> checks;
  if (runtime().checker != nullptr && watches_accesses(runtime().checker->checks()))
    launch.checks = &checks.emplace(*runtime().checker, node);
  call.code->run(launch, blocks * part / parts, blocks * (part + 1) / parts);
}

AnyView view_of(const std::byte* packed, const Argument& argument) {
  AnyView view;
  std::memcpy(static_cast<void*>(&view), packed + argument.offset, sizeof(view));
  return view;
}

void prepare_kernel(Node& node) {
  KernelCall& call = node.kernel;
  std::byte* const packed = call.packed();
  for (int i = 0; i < call.signature->count; ++i) {
    const Argument& argument = call.signature->arguments[i];
    if (argument.kind == ArgumentKind::value) continue;
    AnyView view = view_of(packed, argument);
    if (view.count <= 0) continue;
    const std::size_t bytes = static_cast<std::size_t>(view.count) * argument.element;
    const Memory& memory = runtime().memory;
    const auto block = memory.find(view.data);
    if (!block || block->device != node.stream->device || !block->contains(reinterpret_cast<std::uintptr_t>(view.data), bytes)) {
      check_reachable(node.stream->device, view.data, bytes, "view argument " + std::to_string(i));
    }
    view.data = resolve(view.data);
    std::memcpy(packed + argument.offset, &view, sizeof(view));
  }
}

void prepare_operation(Node& node) {
  const Operation& operation = node.what();
  switch (operation.kind) {
    case OperationKind::kernel:
    case OperationKind::matmul:
    case OperationKind::convolution:
      for (const Touch& touch : operation.touches) {
        if (touch.bytes > 0) check_reachable(node.stream->device, touch.begin, touch.bytes, touch.write ? "output" : "input");
      }
      break;
    default:
      break;
  }
}

void compute_part(Node& node, int part) {
  if (node.kind == NodeKind::operation) {
    if (const Operation& operation = node.what(); operation.run) operation.run(part);
    return;
  }
  KernelCall& call = node.kernel;
  if (call.mode == KernelMode::faithful) return run_faithful(call, part, node.parts);
  if (call.mode == KernelMode::ptx) return run_device_code(node, part);
  set_block({static_cast<unsigned>(node.parts), 1, 1}, {1, 1, 1}, {static_cast<unsigned>(part), 0, 0});
  set_thread({0, 0, 0});
  kernel_context.threads = nullptr;
  call.signature->call(call.kernel, call.packed());
}

}  // namespace

void prepare(Node& node) {
  if (node.planned != cudaSuccess) throw Fault{node.planned, "fails as planned"};
  Checker* const checker = runtime().checker.get();
  if (checker != nullptr) checker->before_run(node, touches_of(node));
  if (node.kind == NodeKind::kernel) {
    prepare_kernel(node);
  } else {
    prepare_operation(node);
  }
  if (checker != nullptr) checker->guard_views(node);
}

void run_part(Node& node, int part) {
  if (!profile().on()) return compute_part(node, part);
  const double begin = thread_seconds();
  compute_part(node, part);
  profile().add(node, part, thread_seconds() - begin);
}

std::string name_of(const Node& node) {
  if (node.kind == NodeKind::kernel) return node.kernel.name != nullptr ? node.kernel.name : kernel_name(node.kernel.kernel);
  return node.what().name;
}

std::vector<Touch> touches_of(Node& node) {
  if (node.kind != NodeKind::kernel) return node.what().touches;
  std::vector<Touch> touches;
  for (int i = 0; i < node.kernel.signature->count; ++i) {
    const Argument& argument = node.kernel.signature->arguments[i];
    if (argument.kind == ArgumentKind::value) continue;
    const AnyView view = view_of(node.kernel.packed(), argument);
    if (view.count <= 0) continue;
    touches.push_back({view.data, static_cast<std::size_t>(view.count) * argument.element, argument.kind == ArgumentKind::write});
  }
  return touches;
}

}  // namespace lockstep::sim
