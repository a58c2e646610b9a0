// What NCCL refuses, is refused here: with the same code, a sentence that says why, and nothing left waiting.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>

#include "tests/simulator/gpu/nccl/support/cluster.h"

namespace lockstep::test {
namespace {

::testing::AssertionResult says(ncclComm_t comm, const std::vector<std::string>& words) {
  const std::string text = ncclGetLastError(comm);
  for (const std::string& word : words) {
    if (text.find(word) == std::string::npos) return ::testing::AssertionFailure() << "\"" << text << "\" does not say \"" << word << "\"";
  }
  return ::testing::AssertionSuccess();
}

class Refusals : public ::testing::Test {
 protected:
  Cluster cluster{2};
  std::unique_ptr<DeviceBytes> here = cluster.bytes(0, 64);
  std::unique_ptr<DeviceBytes> there = cluster.bytes(1, 64);
  ncclComm_t comm = cluster.comms[0];
  cudaStream_t stream = cluster.streams[0];
  void* buffer = here->data();

  // A refused call leaves the communicator as it was.
  void TearDown() override {
    const auto results = call_all(2, Calling::one_thread, [&](int rank) {
      void* b = rank == 0 ? here->data() : there->data();
      const auto r = static_cast<std::size_t>(rank);
      return ncclAllReduce(b, b, 16, ncclFloat32, ncclSum, cluster.comms[r], cluster.streams[r]);
    });
    EXPECT_EQ(results, (std::vector<ncclResult_t>{ncclSuccess, ncclSuccess}));
    cluster.synchronize();
  }
};

TEST_F(Refusals, NullBuffers) {
  EXPECT_EQ(ncclAllReduce(nullptr, buffer, 4, ncclFloat32, ncclSum, comm, stream), ncclInvalidArgument);
  EXPECT_TRUE(says(comm, {"ncclAllReduce", "sendbuff", "null"}));
  EXPECT_EQ(ncclAllReduce(buffer, nullptr, 4, ncclFloat32, ncclSum, comm, stream), ncclInvalidArgument);
  EXPECT_TRUE(says(comm, {"recvbuff", "null"}));
  EXPECT_EQ(ncclBroadcast(nullptr, buffer, 4, ncclFloat32, 0, comm, stream), ncclInvalidArgument);
  EXPECT_EQ(ncclReduce(buffer, nullptr, 4, ncclFloat32, ncclSum, 0, comm, stream), ncclInvalidArgument);
  EXPECT_EQ(ncclSend(nullptr, 4, ncclFloat32, 1, comm, stream), ncclInvalidArgument);
}

TEST_F(Refusals, BuffersThatAreNotOfTheRanksGpu) {
  EXPECT_EQ(ncclAllReduce(there->data(), buffer, 4, ncclFloat32, ncclSum, comm, stream), ncclInvalidArgument);
  EXPECT_TRUE(says(comm, {"sendbuff", "GPU 1", "GPU 0"}));
  float on_host[4] = {};
  EXPECT_EQ(ncclAllReduce(on_host, buffer, 4, ncclFloat32, ncclSum, comm, stream), ncclInvalidArgument);
  EXPECT_TRUE(says(comm, {"not memory of a GPU"}));
}

TEST_F(Refusals, TypesAndOperatorsThatDoNotExist) {
  EXPECT_EQ(ncclAllReduce(buffer, buffer, 4, static_cast<ncclDataType_t>(12), ncclSum, comm, stream), ncclInvalidArgument);
  EXPECT_TRUE(says(comm, {"12", "data type"}));
  EXPECT_EQ(ncclAllReduce(buffer, buffer, 4, ncclFloat32, ncclNumOps, comm, stream), ncclInvalidArgument);
  EXPECT_TRUE(says(comm, {"5", "operator"}));
  EXPECT_EQ(ncclAllReduce(buffer, buffer, 4, ncclFloat32, static_cast<ncclRedOp_t>(77), comm, stream), ncclInvalidArgument);
}

TEST_F(Refusals, RootsAndPeersOutOfRange) {
  EXPECT_EQ(ncclBroadcast(buffer, buffer, 4, ncclFloat32, 2, comm, stream), ncclInvalidArgument);
  EXPECT_TRUE(says(comm, {"root 2", "2 ranks"}));
  EXPECT_EQ(ncclReduce(buffer, buffer, 4, ncclFloat32, ncclSum, -1, comm, stream), ncclInvalidArgument);
  EXPECT_EQ(ncclRecv(buffer, 4, ncclFloat32, 2, comm, stream), ncclInvalidArgument);
  EXPECT_TRUE(says(comm, {"peer 2"}));
}

TEST_F(Refusals, AStreamOfAnotherGpu) {
  EXPECT_EQ(ncclAllReduce(buffer, buffer, 4, ncclFloat32, ncclSum, comm, cluster.streams[1]), ncclUnhandledCudaError);
  EXPECT_TRUE(says(comm, {"stream", "GPU 1", "GPU 0"}));
}

TEST_F(Refusals, CommunicatorsThatAreNone) {
  EXPECT_EQ(ncclAllReduce(buffer, buffer, 4, ncclFloat32, ncclSum, nullptr, stream), ncclInvalidArgument);
  int value = 0;
  const auto invented = reinterpret_cast<ncclComm_t>(&value);
  EXPECT_EQ(ncclAllReduce(buffer, buffer, 4, ncclFloat32, ncclSum, invented, stream), ncclInvalidArgument);
  EXPECT_EQ(ncclCommCount(invented, &value), ncclInvalidArgument);
  EXPECT_EQ(ncclCommCount(nullptr, &value), ncclInvalidArgument);
  EXPECT_EQ(ncclCommUserRank(comm, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommDestroy(invented), ncclInvalidArgument);
  EXPECT_EQ(ncclCommDestroy(nullptr), ncclSuccess);
}

TEST_F(Refusals, ARefusedCallSpoilsItsGroup) {
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclAllReduce(buffer, buffer, 4, ncclFloat32, ncclSum, comm, stream), ncclSuccess);
  EXPECT_EQ(ncclAllReduce(nullptr, there->data(), 4, ncclFloat32, ncclSum, cluster.comms[1], cluster.streams[1]), ncclInvalidArgument);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);  // and the first call was not issued either: TearDown would hang
}

TEST(Creating, RefusesAGpuTwice) {
  const int twice[] = {0, 1, 0};
  ncclComm_t comms[3] = {};
  EXPECT_EQ(ncclCommInitAll(comms, 3, twice), ncclInvalidUsage);
  EXPECT_TRUE(says(nullptr, {"rank 0", "rank 2", "device 0"}));
  for (const ncclComm_t comm : comms) EXPECT_EQ(comm, nullptr);
}

TEST(Creating, RefusesAGpuTwiceToEveryThread) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  const auto results = call_all(3, Calling::a_thread_each, [&](int rank) {
    cudaSetDevice(rank / 2);
    ncclComm_t comm = nullptr;
    const ncclResult_t result = ncclCommInitRank(&comm, 3, id, rank);
    EXPECT_EQ(comm, nullptr);
    return result;
  });
  EXPECT_EQ(results, std::vector<ncclResult_t>(3, ncclInvalidUsage));
}

TEST(Creating, RefusesDevicesAndRanksThatDoNotExist) {
  ncclComm_t comms[2] = {};
  const int devices[] = {0, kGpus};
  EXPECT_EQ(ncclCommInitAll(comms, 2, devices), ncclInvalidArgument);
  EXPECT_TRUE(says(nullptr, {"device 16", "16 GPUs"}));
  EXPECT_EQ(ncclCommInitAll(comms, 0, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitAll(nullptr, 1, nullptr), ncclInvalidArgument);
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  EXPECT_EQ(ncclCommInitRank(comms, 2, id, 2), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(comms, 2, id, -1), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(comms, 0, id, 0), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(nullptr, 1, id, 0), ncclInvalidArgument);
}

TEST(Creating, RefusesAnInventedOrUsedId) {
  ncclComm_t comm = nullptr;
  ncclUniqueId invented;
  std::memset(&invented, 7, sizeof(invented));
  EXPECT_EQ(ncclCommInitRank(&comm, 1, invented, 0), ncclInvalidArgument);
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ASSERT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclSuccess);
  ncclComm_t again = nullptr;
  EXPECT_EQ(ncclCommInitRank(&again, 1, id, 0), ncclInvalidArgument);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST(Creating, RefusesDisagreementAboutTheNumberOfRanks) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  const auto results = call_all(2, Calling::a_thread_each, [&](int rank) {
    cudaSetDevice(rank);
    ncclComm_t comm = nullptr;
    return ncclCommInitRank(&comm, rank == 0 ? 2 : 3, id, rank);
  });
  EXPECT_EQ(results, std::vector<ncclResult_t>(2, ncclInvalidUsage));
  EXPECT_TRUE(says(nullptr, {"disagree"}));
}

TEST(Creating, RefusesARankTwice) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  const auto results = call_all(2, Calling::a_thread_each, [&](int thread) {
    cudaSetDevice(thread);
    ncclComm_t comm = nullptr;
    return ncclCommInitRank(&comm, 2, id, 1);
  });
  EXPECT_EQ(results, std::vector<ncclResult_t>(2, ncclInvalidUsage));
}

TEST(Destroying, TwiceIsRefused) {
  ncclComm_t comm = nullptr;
  ASSERT_EQ(ncclCommInitAll(&comm, 1, nullptr), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(comm), ncclInvalidArgument);
}

TEST(Groups, AnEndNeedsAStart) { EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage); }

TEST(Finalizing, WaitsAndEndsTheUse) {
  Cluster cluster(2);
  std::vector<std::unique_ptr<DeviceBytes>> buffers;
  for (int r = 0; r < 2; ++r) buffers.push_back(cluster.upload(r, std::vector<float>(10000, 1.0F)));
  const auto all_reduce = [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    return ncclAllReduce(buffers[r]->data(), buffers[r]->data(), 10000, ncclFloat32, ncclSum, cluster.comms[r], cluster.streams[r]);
  };
  call_all(2, Calling::one_group, all_reduce);
  for (const ncclComm_t comm : cluster.comms) EXPECT_EQ(ncclCommFinalize(comm), ncclSuccess);
  EXPECT_EQ(all_reduce(0), ncclInvalidUsage);
  EXPECT_TRUE(says(cluster.comms[0], {"finalized"}));
  EXPECT_EQ(cluster.download<float>(1, *buffers[1]), std::vector<float>(10000, 2.0F));
}

TEST(Version, IsTheHeaders) {
  int version = 0;
  EXPECT_EQ(ncclGetVersion(&version), ncclSuccess);
  EXPECT_EQ(version, NCCL_VERSION_CODE);
  EXPECT_GE(version, 22000);
  EXPECT_EQ(ncclGetVersion(nullptr), ncclInvalidArgument);
}

TEST(ErrorStrings, ExistForEveryResult) {
  for (int code = 0; code < ncclNumResults; ++code) {
    EXPECT_STRNE(ncclGetErrorString(static_cast<ncclResult_t>(code)), "unknown result code") << code;
  }
  EXPECT_STREQ(ncclGetErrorString(ncclNumResults), "unknown result code");
}

}  // namespace
}  // namespace lockstep::test
