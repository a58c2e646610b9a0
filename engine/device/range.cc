// Ranges through NVTX, in a domain of our own: a tool can show them without those of NVIDIA's libraries.
#include "engine/device/range.h"

#include <nvtx3/nvToolsExt.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace lockstep {
namespace {

// Null for good when no tool was attached at the first call.
nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t ours = nvtxDomainCreateA("lockstep");
  return ours;
}

// The six phases, as in a trace's page.
constexpr std::array<std::uint32_t, 6> kColours = {0xff8d949e, 0xff56b4e9, 0xff009e73, 0xffe69f00, 0xffcc79a7, 0xff0072b2};

}  // namespace

Range::Range(const char* name, std::int64_t number, int colour) : open_(name != nullptr && domain() != nullptr) {
  if (!open_) return;
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = name;
  if (number != kNoNumber) {
    attributes.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    attributes.payload.llValue = number;
  }
  if (colour >= 0) {
    attributes.colorType = NVTX_COLOR_ARGB;
    attributes.color = kColours.at(static_cast<std::size_t>(colour));
  }
  nvtxDomainRangePushEx(domain(), &attributes);
}

Range::~Range() {
  if (open_) nvtxDomainRangePop(domain());
}

void name_this_thread(const char* name) {
  if (domain() != nullptr) nvtxNameOsThreadA(static_cast<std::uint32_t>(syscall(SYS_gettid)), name);
}

}  // namespace lockstep
