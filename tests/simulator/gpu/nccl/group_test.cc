// Groups, several threads, default streams, and transfers between two ranks.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

#include "simulator/gpu/nccl/statistics.h"
#include "simulator/gpu/runtime/control.h"
#include "tests/simulator/gpu/nccl/support/cluster.h"

namespace lockstep::test {
namespace {

TEST(Groups, OneThreadCreatesAllRanks) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::vector<ncclComm_t> comms(4);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int r = 0; r < 4; ++r) {
    ASSERT_EQ(cudaSetDevice(3 - r), cudaSuccess);
    ASSERT_EQ(ncclCommInitRank(&comms[static_cast<std::size_t>(r)], 4, id, r), ncclSuccess);
  }
  ncclResult_t state = ncclSuccess;
  EXPECT_EQ(ncclCommGetAsyncError(comms[0], &state), ncclSuccess);
  EXPECT_EQ(state, ncclInProgress);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  for (int r = 0; r < 4; ++r) {
    int count = 0;
    int rank = 0;
    int device = 0;
    const ncclComm_t comm = comms[static_cast<std::size_t>(r)];
    EXPECT_EQ(ncclCommCount(comm, &count), ncclSuccess);
    EXPECT_EQ(ncclCommUserRank(comm, &rank), ncclSuccess);
    EXPECT_EQ(ncclCommCuDevice(comm, &device), ncclSuccess);
    EXPECT_EQ(count, 4);
    EXPECT_EQ(rank, r);
    EXPECT_EQ(device, 3 - r);
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  }
}

TEST(Threads, CreateAndReduceEachTheirOwnRank) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  constexpr int n = 6;
  const auto results = call_all(n, Calling::a_thread_each, [&](int rank) {
    ncclComm_t comm = nullptr;
    cudaStream_t stream = nullptr;
    EXPECT_EQ(cudaSetDevice(rank), cudaSuccess);
    EXPECT_EQ(ncclCommInitRank(&comm, n, id, rank), ncclSuccess);
    EXPECT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    DeviceBytes buffer(rank, 4000);
    const std::vector<std::int32_t> ones(1000, rank + 1);
    EXPECT_EQ(cudaMemcpy(buffer.data(), ones.data(), 4000, cudaMemcpyHostToDevice), cudaSuccess);
    ncclResult_t result = ncclSuccess;
    for (int i = 0; i < 5 && result == ncclSuccess; ++i) {
      result = ncclAllReduce(buffer.data(), buffer.data(), 1000, ncclInt32, ncclSum, comm, stream);
    }
    std::vector<std::int32_t> sums(1000);
    EXPECT_EQ(cudaMemcpyAsync(sums.data(), buffer.data(), 4000, cudaMemcpyDeviceToHost, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(sums, std::vector<std::int32_t>(1000, 21 * 6 * 6 * 6 * 6));
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    return result;
  });
  EXPECT_EQ(results, std::vector<ncclResult_t>(n, ncclSuccess));
}

TEST(Groups, NothingIsIssuedBeforeTheOutermostEnd) {
  const Cluster cluster(2);
  std::vector<std::unique_ptr<DeviceBytes>> buffers;
  for (int r = 0; r < 2; ++r) buffers.push_back(cluster.upload(r, std::vector<float>(8, 1.0F)));
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  call_all(2, Calling::one_group, [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    return ncclAllReduce(buffers[r]->data(), buffers[r]->data(), 8, ncclFloat32, ncclSum, cluster.comms[r], cluster.streams[r]);
  });
  EXPECT_EQ(cluster.download<float>(0, *buffers[0]), std::vector<float>(8, 1.0F));
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(cluster.download<float>(0, *buffers[0]), std::vector<float>(8, 2.0F));
  cluster.synchronize();
}

TEST(Groups, KeepTheCurrentDevice) {
  const Cluster cluster(3);
  std::vector<std::unique_ptr<DeviceBytes>> buffers;
  for (int r = 0; r < 3; ++r) buffers.push_back(cluster.bytes(r, 64));
  ASSERT_EQ(cudaSetDevice(5), cudaSuccess);
  call_all(3, Calling::one_group, [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    return ncclBcast(buffers[r]->data(), 16, ncclFloat32, 1, cluster.comms[r], cluster.streams[r]);
  });
  int device = 0;
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, 5);
  cluster.synchronize();
}

// A null stream is the default stream of the communicator's device, whichever is current.
TEST(Streams, TheDefaultOneIsTheRanks) {
  const Cluster cluster(2);
  std::vector<std::unique_ptr<DeviceBytes>> buffers;
  for (int r = 0; r < 2; ++r) buffers.push_back(cluster.upload(r, std::vector<float>(8, 1.0F)));
  cluster.synchronize();
  ASSERT_EQ(cudaSetDevice(7), cudaSuccess);
  call_all(2, Calling::one_group, [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    return ncclAllReduce(buffers[r]->data(), buffers[r]->data(), 8, ncclFloat32, ncclSum, cluster.comms[r], nullptr);
  });
  for (int r = 0; r < 2; ++r) {
    ASSERT_EQ(cudaSetDevice(r), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cluster.download<float>(r, *buffers[static_cast<std::size_t>(r)]), std::vector<float>(8, 2.0F));
  }
}

// A collective is ordered in its stream like any operation, and no rank goes on before all are done.
TEST(Streams, NoRankLeavesBeforeAllHaveCome) {
  for (std::uint64_t seed = 0; seed <= 20; ++seed) {
    sim::set_schedule_seed(seed);
    const Cluster cluster(3);
    std::vector<std::unique_ptr<DeviceBytes>> buffers;
    for (int r = 0; r < 3; ++r) buffers.push_back(cluster.upload(r, std::vector<float>(64, 1.0F)));
    std::atomic<bool> late_came{false};
    std::atomic<bool> early_left{false};
    struct Flags {
      std::atomic<bool>*late, *early;
    } flags{&late_came, &early_left};
    const auto reduce = [&](std::size_t r) {
      return ncclAllReduce(buffers[r]->data(), buffers[r]->data(), 64, ncclFloat32, ncclSum, cluster.comms[r], cluster.streams[r]);
    };
    ASSERT_EQ(reduce(0), ncclSuccess);
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    const auto leave = [](void* data) {
      const auto* f = static_cast<Flags*>(data);
      if (!f->late->load()) f->early->store(true);
    };
    ASSERT_EQ(cudaLaunchHostFunc(cluster.streams[0], leave, &flags), cudaSuccess);
    ASSERT_EQ(reduce(1), ncclSuccess);
    ASSERT_EQ(cudaSetDevice(2), cudaSuccess);
    const auto come = [](void* data) { static_cast<Flags*>(data)->late->store(true); };
    ASSERT_EQ(cudaLaunchHostFunc(cluster.streams[2], come, &flags), cudaSuccess);
    ASSERT_EQ(reduce(2), ncclSuccess);
    cluster.synchronize();
    EXPECT_TRUE(late_came);
    EXPECT_FALSE(early_left);
  }
  sim::set_schedule_seed(0);
}

// Two communicators on two streams of each GPU, called in opposite orders by two threads' ranks: no cycle, no hang.
TEST(Communicators, OnSeparateStreamsDoNotBlockEachOther) {
  const Cluster one(2);
  const Cluster two(2);
  std::vector<std::unique_ptr<DeviceBytes>> buffers;
  for (int i = 0; i < 4; ++i) buffers.push_back(one.upload(i % 2, std::vector<float>(100, 1.0F)));
  one.synchronize();
  const auto reduce = [&](const Cluster& c, std::size_t r, std::size_t buffer) {
    return ncclAllReduce(buffers[buffer]->data(), buffers[buffer]->data(), 100, ncclFloat32, ncclSum, c.comms[r], c.streams[r]);
  };
  EXPECT_EQ(reduce(one, 0, 0), ncclSuccess);
  EXPECT_EQ(reduce(two, 0, 2), ncclSuccess);
  EXPECT_EQ(reduce(two, 1, 3), ncclSuccess);
  EXPECT_EQ(reduce(one, 1, 1), ncclSuccess);
  one.synchronize();
  two.synchronize();
  EXPECT_EQ(two.download<float>(1, *buffers[3]), std::vector<float>(100, 2.0F));
}

TEST(Transfers, ASendMeetsItsReceive) {
  const Cluster cluster(3);
  std::vector<std::int64_t> values(1001);
  std::iota(values.begin(), values.end(), 0);
  const auto from = cluster.upload(2, values);
  const auto to = cluster.bytes(0, values.size() * 8);
  ASSERT_EQ(ncclRecv(to->data(), values.size(), ncclInt64, 2, cluster.comms[0], cluster.streams[0]), ncclSuccess);
  ASSERT_EQ(ncclSend(from->data(), values.size(), ncclInt64, 0, cluster.comms[2], cluster.streams[2]), ncclSuccess);
  EXPECT_EQ(cluster.download<std::int64_t>(0, *to), values);
  cluster.synchronize();
  EXPECT_EQ(sim::nccl::traffic(cluster.comms[2]).messages, 1U);
  EXPECT_EQ(sim::nccl::traffic(cluster.comms[2]).bytes, 8008U);
  EXPECT_EQ(sim::nccl::traffic(cluster.comms[0]).messages, 0U);
}

// Every rank sends to its successor first and receives afterwards: without the group that would be a cycle.
TEST(Transfers, OfAGroupHappenTogether) {
  for (std::uint64_t seed = 0; seed <= 20; ++seed) {
    sim::set_schedule_seed(seed);
    constexpr int n = 5;
    const Cluster cluster(n);
    std::vector<std::unique_ptr<DeviceBytes>> from;
    std::vector<std::unique_ptr<DeviceBytes>> to;
    for (int r = 0; r < n; ++r) {
      from.push_back(cluster.upload(r, std::vector<float>(77, static_cast<float>(r))));
      to.push_back(cluster.bytes(r, 77 * 4));
    }
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (int rank = 0; rank < n; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      ASSERT_EQ(ncclSend(from[r]->data(), 77, ncclFloat32, (rank + 1) % n, cluster.comms[r], cluster.streams[r]), ncclSuccess);
      ASSERT_EQ(ncclRecv(to[r]->data(), 77, ncclFloat32, (rank + n - 1) % n, cluster.comms[r], cluster.streams[r]), ncclSuccess);
    }
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
    for (int r = 0; r < n; ++r) {
      EXPECT_EQ(cluster.download<float>(r, *to[static_cast<std::size_t>(r)]), std::vector<float>(77, static_cast<float>((r + n - 1) % n)));
    }
  }
  sim::set_schedule_seed(0);
}

TEST(Transfers, BetweenTwoRanksKeepTheirOrder) {
  const Cluster cluster(2);
  std::vector<std::unique_ptr<DeviceBytes>> from;
  std::vector<std::unique_ptr<DeviceBytes>> to;
  for (int i = 0; i < 4; ++i) {
    from.push_back(cluster.upload(0, std::vector<float>(10, static_cast<float>(i))));
    to.push_back(cluster.bytes(1, 40));
  }
  for (const auto& buffer : from)
    ASSERT_EQ(ncclSend(buffer->data(), 10, ncclFloat32, 1, cluster.comms[0], cluster.streams[0]), ncclSuccess);
  for (const auto& buffer : to) ASSERT_EQ(ncclRecv(buffer->data(), 10, ncclFloat32, 0, cluster.comms[1], cluster.streams[1]), ncclSuccess);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(cluster.download<float>(1, *to[static_cast<std::size_t>(i)]), std::vector<float>(10, static_cast<float>(i)));
  }
  cluster.synchronize();
}

TEST(Transfers, ToOneselfWorkInAGroup) {
  const Cluster cluster(1);
  const auto from = cluster.upload(0, std::vector<float>(10, 4.0F));
  const auto to = cluster.bytes(0, 40);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  ASSERT_EQ(ncclSend(from->data(), 10, ncclFloat32, 0, cluster.comms[0], cluster.streams[0]), ncclSuccess);
  ASSERT_EQ(ncclRecv(to->data(), 10, ncclFloat32, 0, cluster.comms[0], cluster.streams[0]), ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(cluster.download<float>(0, *to), std::vector<float>(10, 4.0F));
}

}  // namespace
}  // namespace lockstep::test
