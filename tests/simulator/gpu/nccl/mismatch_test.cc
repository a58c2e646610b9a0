// Ranks that do not call the same collective: real GPUs hang. Here the call that does not fit is refused, the error of every rank says
// which ranks differ in what, and no stream is left waiting.
#include <gtest/gtest.h>

#include <string>

#include "simulator/gpu/runtime/control.h"
#include "tests/simulator/gpu/nccl/support/cluster.h"

namespace lockstep::test {
namespace {

class Mismatch : public ::testing::Test, public ThreeRanks {
 protected:
  Mismatch() : ThreeRanks(Way::direct) {}

  // All streams run dry, all ranks see the error, later calls are refused, and the data of the cancelled call is untouched.
  void expect_failed(ncclResult_t code, const std::vector<std::string>& words) {
    cluster.synchronize();
    for (std::size_t r = 0; r < 3; ++r) {
      if (cluster.comms[r] == nullptr) continue;
      ncclResult_t error = ncclSuccess;
      ASSERT_EQ(ncclCommGetAsyncError(cluster.comms[r], &error), ncclSuccess);
      EXPECT_EQ(error, code) << "rank " << r;
      const std::string text = ncclGetLastError(cluster.comms[r]);
      for (const std::string& word : words) EXPECT_NE(text.find(word), std::string::npos) << "\"" << text << "\" lacks " << word;
      EXPECT_EQ(sum(static_cast<int>(r)), code);
    }
    cluster.synchronize();
    for (int r = 0; r < 3; ++r) {
      EXPECT_EQ(cluster.download<float>(r, *buffers[static_cast<std::size_t>(r)]), std::vector<float>(3000, static_cast<float>(r)));
    }
  }
};

TEST_F(Mismatch, OfTheCountNamesTheRanks) {
  EXPECT_EQ(sum(0), ncclSuccess);
  EXPECT_EQ(sum(1, 101), ncclInvalidUsage);
  EXPECT_EQ(sum(2), ncclInvalidUsage);
  expect_failed(ncclInvalidUsage, {"rank 0", "rank 1", "count 100", "count 101", "the count must be"});
}

TEST_F(Mismatch, OfTheType) {
  EXPECT_EQ(sum(2), ncclSuccess);
  EXPECT_EQ(sum(0, 100, ncclInt32), ncclInvalidUsage);
  expect_failed(ncclInvalidUsage, {"rank 2", "rank 0", "float32", "int32", "the type"});
}

TEST_F(Mismatch, OfTheOperator) {
  EXPECT_EQ(sum(0), ncclSuccess);
  EXPECT_EQ(sum(1), ncclSuccess);
  EXPECT_EQ(sum(2, 100, ncclFloat32, ncclMax), ncclInvalidUsage);
  expect_failed(ncclInvalidUsage, {"rank 2", "sum", "max", "the operator"});
}

TEST_F(Mismatch, OfTheRoot) {
  EXPECT_EQ(broadcast(0, 0), ncclSuccess);
  EXPECT_EQ(broadcast(1, 1), ncclInvalidUsage);
  expect_failed(ncclInvalidUsage, {"root 0", "root 1", "the root"});
}

TEST_F(Mismatch, OfTheOrderOfCalls) {
  EXPECT_EQ(sum(0), ncclSuccess);
  EXPECT_EQ(broadcast(0), ncclSuccess);
  EXPECT_EQ(broadcast(1), ncclInvalidUsage);
  expect_failed(ncclInvalidUsage, {"ncclAllReduce", "ncclBroadcast", "the collective", "number 0"});
}

TEST_F(Mismatch, WithNothingOnOneSide) {
  EXPECT_EQ(sum(0, 0), ncclSuccess);
  EXPECT_EQ(sum(1, 5), ncclInvalidUsage);
  expect_failed(ncclInvalidUsage, {"count 0", "count 5"});
}

TEST_F(Mismatch, InAGroupIsReturnedByItsEnd) {
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(sum(0), ncclSuccess);
  EXPECT_EQ(sum(1, 7), ncclSuccess);
  EXPECT_EQ(sum(2), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  expect_failed(ncclInvalidUsage, {"rank 0", "rank 1", "count 7"});
}

TEST_F(Mismatch, LeavesNothingWaitingUnderAnySchedule) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    sim::set_schedule_seed(seed);
    const Cluster fresh(3);
    // Rank 0 runs ahead by several collectives before rank 2 says something else.
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(ncclAllReduce(buffers[0]->data(), buffers[0]->data(), 10, ncclFloat32, ncclSum, fresh.comms[0], fresh.streams[0]),
                ncclSuccess);
    }
    ASSERT_EQ(ncclAllReduce(buffers[1]->data(), buffers[1]->data(), 10, ncclFloat32, ncclSum, fresh.comms[1], fresh.streams[1]),
              ncclSuccess);
    ASSERT_EQ(ncclAllReduce(buffers[2]->data(), buffers[2]->data(), 11, ncclFloat32, ncclSum, fresh.comms[2], fresh.streams[2]),
              ncclInvalidUsage);
    fresh.synchronize();
  }
  sim::set_schedule_seed(0);
}

TEST_F(Mismatch, DoesNotTouchWhatAllHadCalledBefore) {
  for (int r = 0; r < 3; ++r) EXPECT_EQ(sum(r), ncclSuccess);
  EXPECT_EQ(sum(0), ncclSuccess);
  EXPECT_EQ(sum(1, 99), ncclInvalidUsage);
  cluster.synchronize();
  for (int r = 0; r < 3; ++r) {
    const auto values = cluster.download<float>(r, *buffers[static_cast<std::size_t>(r)]);
    EXPECT_EQ(std::vector<float>(values.begin(), values.begin() + 100), std::vector<float>(100, 3.0F));
  }
}

TEST_F(Mismatch, AbortReleasesTheOthersAndNamesTheRank) {
  EXPECT_EQ(sum(0), ncclSuccess);
  EXPECT_EQ(sum(2), ncclSuccess);
  EXPECT_EQ(ncclCommAbort(cluster.comms[1]), ncclSuccess);
  cluster.comms[1] = nullptr;
  expect_failed(ncclRemoteError, {"rank 1", "aborted"});
}

TEST_F(Mismatch, ADestroyedRankIsNotWaitedFor) {
  EXPECT_EQ(sum(0), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(cluster.comms[2]), ncclSuccess);
  cluster.comms[2] = nullptr;
  expect_failed(ncclInvalidUsage, {"rank 2", "destroyed"});
}

TEST_F(Mismatch, ADestroyedRankIsNotCalledUpon) {
  EXPECT_EQ(ncclCommDestroy(cluster.comms[2]), ncclSuccess);
  cluster.comms[2] = nullptr;
  EXPECT_EQ(sum(0), ncclInvalidUsage);
  expect_failed(ncclInvalidUsage, {"rank 2", "destroyed"});
}

TEST_F(Mismatch, OfATransferNamesBothSides) {
  EXPECT_EQ(ncclSend(buffers[0]->data(), 10, ncclFloat32, 1, cluster.comms[0], cluster.streams[0]), ncclSuccess);
  EXPECT_EQ(ncclRecv(buffers[1]->data(), 11, ncclFloat32, 0, cluster.comms[1], cluster.streams[1]), ncclInvalidUsage);
  expect_failed(ncclInvalidUsage, {"rank 0 sends 10", "rank 1 expects 11"});
}

// A destroyed communicator whose calls all ranks had made completes them.
TEST(Destroying, LeavesQueuedCollectivesToComplete) {
  Cluster cluster(2);
  std::vector<std::unique_ptr<DeviceBytes>> buffers;
  for (int r = 0; r < 2; ++r) buffers.push_back(cluster.upload(r, std::vector<float>(50000, 1.0F)));
  call_all(2, Calling::one_group, [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    return ncclAllReduce(buffers[r]->data(), buffers[r]->data(), 50000, ncclFloat32, ncclSum, cluster.comms[r], cluster.streams[r]);
  });
  for (ncclComm_t& comm : cluster.comms) {
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
    comm = nullptr;
  }
  EXPECT_EQ(cluster.download<float>(0, *buffers[0]), std::vector<float>(50000, 2.0F));
  EXPECT_EQ(cluster.download<float>(1, *buffers[1]), std::vector<float>(50000, 2.0F));
}

}  // namespace
}  // namespace lockstep::test
