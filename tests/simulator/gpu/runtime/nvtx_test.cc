// NVTX of the virtual GPU: as with the real one, a tool must be attached before the first call to receive ranges.
#include <nvtx3/nvToolsExt.h>

#include <gtest/gtest.h>

#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

#include "simulator/gpu/nvtx/nvtx_listener.h"

namespace {

nvtxEventAttributes_t named(const char* name, std::int64_t number) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = name;
  attributes.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  attributes.payload.llValue = number;
  return attributes;
}

// One test: a listener that was attached stays for the rest of the process.
TEST(Nvtx, AnAttachedListenerRecordsRangesByThreadAndDomain) {
  const nvtxDomainHandle_t unattached = nvtxDomainCreateA("before");
  EXPECT_EQ(unattached, nullptr);
  const nvtxEventAttributes_t first = named("first", 1), second = named("second", 2), other = named("other", 3);
  EXPECT_LT(nvtxDomainRangePushEx(unattached, &first), 0);
  EXPECT_LT(nvtxDomainRangePop(unattached), 0);

  lockstep::sim::attach_nvtx_listener();
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("test"), another = nvtxDomainCreateA("another");
  ASSERT_NE(domain, nullptr);
  EXPECT_EQ(nvtxDomainRangePushEx(domain, &first), 0);
  EXPECT_EQ(nvtxDomainRangePushEx(domain, &second), 1);
  EXPECT_EQ(nvtxDomainRangePushEx(another, &other), 0);  // another domain's depth
  std::uint32_t helper = 0;
  std::thread([&] {
    helper = static_cast<std::uint32_t>(syscall(SYS_gettid));
    nvtxNameOsThreadA(helper, "helper");
    EXPECT_EQ(nvtxDomainRangePushEx(domain, &other), 0);  // another thread's depth
    EXPECT_EQ(nvtxDomainRangePop(domain), 0);
  }).join();
  EXPECT_EQ(nvtxDomainRangePop(another), 0);
  EXPECT_EQ(nvtxDomainRangePop(domain), 1);
  EXPECT_EQ(nvtxDomainRangePop(domain), 0);
  EXPECT_LT(nvtxDomainRangePop(domain), 0);  // none is open

  const std::vector<lockstep::sim::NvtxRange> recorded = lockstep::sim::nvtx_ranges();
  ASSERT_EQ(recorded.size(), 4U);
  EXPECT_EQ(recorded[0].thread, helper);
  EXPECT_EQ(lockstep::sim::nvtx_thread_name(helper), "helper");
  EXPECT_EQ(recorded[1].domain, "another");
  EXPECT_EQ(recorded[2].name, "second");
  EXPECT_EQ(recorded[2].number, 2);
  EXPECT_EQ(recorded[2].depth, 1);
  EXPECT_EQ(recorded[3].name, "first");
  EXPECT_EQ(recorded[3].depth, 0);
  EXPECT_LE(recorded[3].begin_ns, recorded[2].begin_ns);
  EXPECT_GE(recorded[3].end_ns, recorded[2].end_ns);
}

}  // namespace
