#include "simulator/gpu/modules/ptx_kernel.h"

#include <cstdio>

#include "simulator/gpu/ptx/checks.h"
#include "simulator/gpu/ptx/counts.h"
#include "simulator/gpu/ptx/error.h"

namespace lockstep::sim {

namespace {

class ReachablePtxMemory : public ptx::GlobalMemory {
 public:
  explicit ReachablePtxMemory(const Reach& reach) : reach_(reach) {}
  std::optional<ptx::Region> region(std::uint64_t address, std::string& why) const override {
    const auto found = reach_.find(address, why);
    if (!found) return std::nullopt;
    return ptx::Region{found->address, found->count, found->data};
  }

 private:
  const Reach& reach_;
};

class WrittenOnDevice : public ptx::WrittenMemory {
 public:
  explicit WrittenOnDevice(const AccessChecks& checks) : checks_(checks) {}
  std::vector<ptx::Bytes> unwritten(ptx::Bytes allocation) const override {
    std::vector<ptx::Bytes> holes;
    for (const Reach::Bytes& hole : checks_.unwritten(allocation.address, allocation.count)) holes.push_back({hole.address, hole.count});
    return holes;
  }

 private:
  const AccessChecks& checks_;
};

void say_touched(const AccessChecks& checks, ptx::Checks& checked) {
  std::vector<Touch> touches;
  for (const auto& [bytes, written] : checked.touched())
    touches.push_back({reinterpret_cast<const void*>(bytes.address), bytes.count, written});
  checks.touched(touches);
}

cudaError_t status_of(ptx::Failure failure) {
  switch (failure) {
    case ptx::Failure::illegal_address:
      return cudaErrorIllegalAddress;
    case ptx::Failure::misaligned_address:
      return cudaErrorMisalignedAddress;
    case ptx::Failure::assertion:
      return cudaErrorAssert;
    case ptx::Failure::check:
      return cudaErrorIllegalState;
    case ptx::Failure::no_end:
      return cudaErrorLaunchTimeout;
    default:
      return cudaErrorLaunchFailure;
  }
}

}  // namespace

std::shared_ptr<const PtxKernel> PtxKernel::make(std::shared_ptr<const ptx::Module> module, const std::string& name, ptx::Counts* counts) {
  const ptx::Code* const code = module->kernel(name);
  return code == nullptr ? nullptr : std::make_shared<const PtxKernel>(std::move(module), *code, counts);
}

ptx::Launch PtxKernel::launch_of(const DeviceLaunch& launch) const {
  ptx::Launch made;
  made.grid = {launch.grid.x, launch.grid.y, launch.grid.z};
  made.block = {launch.block.x, launch.block.y, launch.block.z};
  made.shared_bytes = static_cast<std::uint32_t>(launch.shared_bytes);
  made.parameters = launch.arguments;
  return made;
}

cudaError_t PtxKernel::check(const DeviceLaunch& launch) const {
  try {
    ptx::check(code_, launch_of(launch));
  } catch (const ptx::Error& error) {
    std::fprintf(stderr, "virtual GPU: %s\n", error.what());
    return cudaErrorInvalidConfiguration;
  }
  return cudaSuccess;
}

void PtxKernel::run(const DeviceLaunch& launch, std::int64_t first, std::int64_t last) const {
  ptx::Launch made = launch_of(launch);
  std::optional<ReachablePtxMemory> memory;
  if (launch.reach != nullptr) made.memory = &memory.emplace(*launch.reach);
  ptx::Counts counted;
  if (counts_ != nullptr) made.counts = &counted;
  std::optional<WrittenOnDevice> written;
  std::optional<ptx::Checks> checks;
  if (launch.checks != nullptr) {
    if (launch.reach != nullptr) written.emplace(*launch.checks);
    const ptx::Checks::Wanted wanted{launch.checks->races(), launch.checks->memory()};
    made.checks = &checks.emplace(*module_, wanted, written ? &*written : nullptr);
  }
  try {
    ptx::run_blocks(*module_, code_, made, static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(last));
    if (counts_ != nullptr) counts_->add(counted);
    if (written) say_touched(*launch.checks, *checks);
  } catch (const ptx::Error& error) {
    throw Fault{status_of(error.failure()), error.what()};
  }
}

}  // namespace lockstep::sim
