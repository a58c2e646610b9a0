// Ranks that send each other messages, through shared memory and over TCP: transfers, disagreements, aborts, ranks that leave. What goes
// wrong is known to all, and no stream is left waiting.
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <string>
#include <thread>

#include "simulator/gpu/nccl/statistics.h"
#include "simulator/gpu/runtime/control.h"
#include "tests/simulator/gpu/nccl/support/cluster.h"

namespace lockstep::test {
namespace {

class Messages : public ::testing::TestWithParam<Way>, public ThreeRanks {
 protected:
  Messages() : ThreeRanks(GetParam()) {}

  // Disagreements are found when the streams get there: all streams run dry, all ranks learn of it, later calls are refused.
  void expect_failed(ncclResult_t code, const std::vector<std::string>& words) {
    cluster.synchronize();
    for (std::size_t r = 0; r < 3; ++r) {
      if (cluster.comms[r] == nullptr) continue;
      ncclResult_t error = ncclSuccess;
      for (int wait = 0; wait < 5000 && error == ncclSuccess; ++wait) {
        ASSERT_EQ(ncclCommGetAsyncError(cluster.comms[r], &error), ncclSuccess);
        if (error == ncclSuccess) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
      EXPECT_EQ(error, code) << "rank " << r;
      EXPECT_EQ(sum(static_cast<int>(r)), code);
      const std::string text = ncclGetLastError(cluster.comms[r]);
      for (const std::string& word : words) EXPECT_NE(text.find(word), std::string::npos) << "\"" << text << "\" lacks " << word;
    }
    cluster.synchronize();
  }
};

INSTANTIATE_TEST_SUITE_P(Ways, Messages, ::testing::Values(Way::shared_memory, Way::tcp),
                         [](const auto& way) { return way.param == Way::tcp ? "tcp" : "shared_memory"; });

TEST_P(Messages, OfADisagreementNameTheRanks) {
  EXPECT_EQ(sum(0), ncclSuccess);
  EXPECT_EQ(sum(1, 101), ncclSuccess);
  sum(2);
  expect_failed(ncclInvalidUsage, {"count 100", "count 101", "rank 1", "the count must be the same"});
}

TEST_P(Messages, AboutAnotherCollective) {
  EXPECT_EQ(sum(0), ncclSuccess);
  EXPECT_EQ(sum(1), ncclSuccess);
  broadcast(2);
  expect_failed(ncclInvalidUsage, {"ncclAllReduce", "ncclBroadcast", "rank 2", "number 0"});
}

TEST_P(Messages, AboutNothingOnOneSide) {
  EXPECT_EQ(sum(0, 0), ncclSuccess);
  sum(1, 5);
  sum(2, 5);
  expect_failed(ncclInvalidUsage, {"count 0", "count 5"});
}

TEST_P(Messages, OfATransferThatDoesNotFitNameBothSides) {
  EXPECT_EQ(ncclSend(buffers[0]->data(), 10, ncclFloat32, 1, cluster.comms[0], cluster.streams[0]), ncclSuccess);
  EXPECT_EQ(ncclRecv(buffers[1]->data(), 11, ncclFloat32, 0, cluster.comms[1], cluster.streams[1]), ncclSuccess);
  expect_failed(ncclInvalidUsage, {"rank 0 sends 10", "rank 1 expects 11"});
}

TEST_P(Messages, OfAnAbortReleaseTheOthers) {
  EXPECT_EQ(sum(0), ncclSuccess);
  EXPECT_EQ(sum(2), ncclSuccess);
  EXPECT_EQ(ncclCommAbort(cluster.comms[1]), ncclSuccess);
  cluster.comms[1] = nullptr;
  expect_failed(ncclRemoteError, {"rank 1", "aborted"});
}

TEST_P(Messages, OfARankThatHasLeftAreNotWaitedFor) {
  EXPECT_EQ(sum(0), ncclSuccess);
  EXPECT_EQ(sum(1), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(cluster.comms[2]), ncclSuccess);
  cluster.comms[2] = nullptr;
  expect_failed(ncclInvalidUsage, {"rank 2", "destroyed"});
}

TEST_P(Messages, OfARankThatHasLeftAreNotReceived) {
  EXPECT_EQ(ncclRecv(buffers[0]->data(), 10, ncclFloat32, 2, cluster.comms[0], cluster.streams[0]), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(cluster.comms[2]), ncclSuccess);
  cluster.comms[2] = nullptr;
  expect_failed(ncclInvalidUsage, {"rank 2", "destroyed"});
}

TEST_P(Messages, ThatAllHaveCalledForArriveAlsoAfterTheCommunicatorIsDestroyed) {
  for (int r = 0; r < 3; ++r) EXPECT_EQ(sum(r), ncclSuccess);
  for (ncclComm_t& comm : cluster.comms) {
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
    comm = nullptr;
  }
  for (int r = 0; r < 3; ++r) {
    const auto values = cluster.download<float>(r, *buffers[static_cast<std::size_t>(r)]);
    EXPECT_EQ(std::vector<float>(values.begin(), values.begin() + 100), std::vector<float>(100, 3.0F));
  }
}

TEST_P(Messages, LeaveNothingWaitingUnderAnySchedule) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    sim::set_schedule_seed(seed);
    const Cluster fresh(3, GetParam());
    const auto one = [&](std::size_t r, std::size_t count) {
      return ncclAllReduce(buffers[r]->data(), buffers[r]->data(), count, ncclFloat32, ncclSum, fresh.comms[r], fresh.streams[r]);
    };
    for (int i = 0; i < 3; ++i) ASSERT_EQ(one(0, 10), ncclSuccess);
    ASSERT_EQ(one(1, 10), ncclSuccess);
    one(2, 11);
    fresh.synchronize();
  }
  sim::set_schedule_seed(0);
}

// A rank that runs ahead fills a window, not the memory; a rank that comes late receives everything in order.
TEST_P(Messages, KeepTheirOrderWhenARankRunsAhead) {
  constexpr std::size_t kCount = 3 << 20;  // 12 MiB, three windows
  constexpr int kTimes = 4;
  std::vector<std::vector<std::unique_ptr<DeviceBytes>>> data(3);
  for (int i = 0; i < kTimes; ++i) {
    for (int r = 0; r < 3; ++r) {
      data[static_cast<std::size_t>(r)].push_back(cluster.upload(r, std::vector<float>(kCount, static_cast<float>(r == 0 ? i + 1 : 0))));
    }
  }
  for (int rank = 0; rank < 3; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    for (const auto& buffer : data[r]) {
      ASSERT_EQ(ncclBroadcast(buffer->data(), buffer->data(), kCount, ncclFloat32, 0, cluster.comms[r], cluster.streams[r]), ncclSuccess);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
  for (int rank = 1; rank < 3; ++rank) {
    for (int i = 0; i < kTimes; ++i) {
      const auto got = cluster.download<float>(rank, *data[static_cast<std::size_t>(rank)][static_cast<std::size_t>(i)]);
      ASSERT_EQ(got, std::vector<float>(kCount, static_cast<float>(i + 1)));
    }
  }
}

TEST_P(Messages, OfAGroupOfTransfersTravelTogether) {
  for (std::uint64_t seed = 0; seed <= 10; ++seed) {
    sim::set_schedule_seed(seed);
    std::vector<std::unique_ptr<DeviceBytes>> to;
    for (int r = 0; r < 3; ++r) to.push_back(cluster.bytes(r, 12000));
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (int rank = 0; rank < 3; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      ASSERT_EQ(ncclSend(buffers[r]->data(), 3000, ncclFloat32, (rank + 1) % 3, cluster.comms[r], cluster.streams[r]), ncclSuccess);
      ASSERT_EQ(ncclRecv(to[r]->data(), 3000, ncclFloat32, (rank + 2) % 3, cluster.comms[r], cluster.streams[r]), ncclSuccess);
      ASSERT_EQ(ncclSend(buffers[r]->data(), 0, ncclFloat32, rank, cluster.comms[r], cluster.streams[r]), ncclSuccess);
      ASSERT_EQ(ncclRecv(nullptr, 0, ncclFloat32, rank, cluster.comms[r], cluster.streams[r]), ncclSuccess);
    }
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
    for (int r = 0; r < 3; ++r) {
      EXPECT_EQ(cluster.download<float>(r, *to[static_cast<std::size_t>(r)]), std::vector<float>(3000, static_cast<float>((r + 2) % 3)));
    }
  }
  sim::set_schedule_seed(0);
  EXPECT_EQ(sim::nccl::traffic(cluster.comms[0]).messages, 11U);
  EXPECT_EQ(sim::nccl::traffic(cluster.comms[0]).bytes, 11U * 12000);
}

// Collectives and transfers on streams of their own do not wait for each other.
TEST_P(Messages, OfTransfersPassThoseOfCollectives) {
  EXPECT_EQ(sum(0), ncclSuccess);  // rank 1 comes to it only after the transfer
  cudaStream_t side[2] = {};
  for (int r = 0; r < 2; ++r) {
    ASSERT_EQ(cudaSetDevice(r), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&side[r], cudaStreamNonBlocking), cudaSuccess);
  }
  const auto to = cluster.bytes(1, 400);
  ASSERT_EQ(ncclSend(buffers[0]->data() + 4000, 100, ncclFloat32, 1, cluster.comms[0], side[0]), ncclSuccess);
  ASSERT_EQ(ncclRecv(to->data(), 100, ncclFloat32, 0, cluster.comms[1], side[1]), ncclSuccess);
  ASSERT_EQ(cudaStreamSynchronize(side[1]), cudaSuccess);
  EXPECT_EQ(sum(1), ncclSuccess);
  EXPECT_EQ(sum(2), ncclSuccess);
  cluster.synchronize();
  for (int r = 0; r < 2; ++r) EXPECT_EQ(cudaStreamDestroy(side[r]), cudaSuccess);
}

// Each rank has a thread of its own, so some have connected and left before others begin to.
TEST(Initialisation, SucceedHoweverLateARankIs) {
  const UseWay way(Way::tcp);
  constexpr int kRanks = 4;
  for (int round = 0; round < 100; ++round) {
    ncclUniqueId id{};
    ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    std::vector<ncclResult_t> results(kRanks, ncclInternalError);
    std::vector<std::thread> ranks;
    for (int r = 0; r < kRanks; ++r) {
      ranks.emplace_back([&, r] {
        cudaSetDevice(r);
        ncclComm_t comm = nullptr;
        results[static_cast<std::size_t>(r)] = ncclCommInitRank(&comm, kRanks, id, r);
        ncclCommDestroy(comm);
      });
    }
    for (std::thread& rank : ranks) rank.join();
    ASSERT_EQ(results, std::vector<ncclResult_t>(kRanks, ncclSuccess)) << "round " << round << ": " << ncclGetLastError(nullptr);
  }
}

}  // namespace
}  // namespace lockstep::test
