// NVTX of the virtual GPU: ranges go to the listener, if there is one.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include <nvtx3/nvToolsExt.h>
#include "simulator/gpu/nvtx/nvtx_listener.h"

struct nvtxDomainRegistration_st {
  std::string name;
};

namespace lockstep::sim {
namespace {

struct Listener {
  std::atomic<bool> attached{false};
  std::mutex mutex;
  std::deque<nvtxDomainRegistration_st> domains;  // handles stay good
  std::map<std::pair<nvtxDomainHandle_t, std::uint32_t>, std::vector<NvtxRange>> open;
  std::vector<NvtxRange> done;
  std::map<std::uint32_t, std::string> thread_names;
};

Listener& listener() {
  static Listener one;
  return one;
}

std::uint32_t this_thread() { return static_cast<std::uint32_t>(syscall(SYS_gettid)); }

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

void attach_nvtx_listener() { listener().attached = true; }

void clear_nvtx_ranges() {
  const std::lock_guard lock(listener().mutex);
  listener().done.clear();
}

std::vector<NvtxRange> nvtx_ranges() {
  const std::lock_guard lock(listener().mutex);
  return listener().done;
}

std::string nvtx_thread_name(std::uint32_t thread) {
  const std::lock_guard lock(listener().mutex);
  const auto found = listener().thread_names.find(thread);
  return found == listener().thread_names.end() ? std::string() : found->second;
}

}  // namespace lockstep::sim

using lockstep::sim::listener;
using lockstep::sim::NvtxRange;
using lockstep::sim::this_thread;

extern "C" {

nvtxDomainHandle_t nvtxDomainCreateA(const char* name) {
  if (!listener().attached) return nullptr;
  const std::lock_guard lock(listener().mutex);
  listener().domains.push_back({name});
  return &listener().domains.back();
}

int nvtxDomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  if (domain == nullptr) return NVTX_NO_PUSH_POP_TRACKING;
  NvtxRange range;
  range.domain = domain->name;
  if (attributes->messageType == NVTX_MESSAGE_TYPE_ASCII) range.name = attributes->message.ascii;
  range.has_number = attributes->payloadType == NVTX_PAYLOAD_TYPE_INT64;
  if (range.has_number) range.number = attributes->payload.llValue;
  if (attributes->colorType == NVTX_COLOR_ARGB) range.colour = attributes->color;
  range.thread = this_thread();
  const std::lock_guard lock(listener().mutex);
  std::vector<NvtxRange>& open = listener().open[{domain, range.thread}];
  range.depth = static_cast<int>(open.size());
  range.begin_ns = lockstep::sim::now_ns();
  open.push_back(std::move(range));
  return open.back().depth;
}

int nvtxDomainRangePop(nvtxDomainHandle_t domain) {
  if (domain == nullptr) return NVTX_NO_PUSH_POP_TRACKING;
  const std::lock_guard lock(listener().mutex);
  std::vector<NvtxRange>& open = listener().open[{domain, this_thread()}];
  if (open.empty()) return NVTX_NO_PUSH_POP_TRACKING;
  open.back().end_ns = lockstep::sim::now_ns();
  listener().done.push_back(std::move(open.back()));
  open.pop_back();
  return static_cast<int>(open.size());
}

void nvtxNameOsThreadA(std::uint32_t thread, const char* name) {
  if (!listener().attached) return;
  const std::lock_guard lock(listener().mutex);
  listener().thread_names[thread] = name;
}

}  // extern "C"
