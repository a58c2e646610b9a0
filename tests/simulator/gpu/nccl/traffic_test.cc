// What a rank sends has a closed form; the counters must meet it exactly.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

#include "simulator/gpu/nccl/statistics.h"
#include "tests/simulator/gpu/nccl/support/cluster.h"

namespace lockstep::test {
namespace {

using sim::nccl::Message;
using sim::nccl::Traffic;

using CollectiveOf = std::function<ncclResult_t(int rank, void* send, void* receive)>;

// One collective on a fresh communicator; buffers have room for `ranks` blocks of `count` floats.
std::vector<Traffic> traffic_of(int ranks, std::size_t count, const std::function<CollectiveOf(const Cluster&)>& make) {
  const Cluster cluster(ranks);
  const CollectiveOf collective = make(cluster);
  std::vector<std::unique_ptr<DeviceBytes>> send;
  std::vector<std::unique_ptr<DeviceBytes>> receive;
  const std::size_t bytes = (count + 1) * 4 * static_cast<std::size_t>(ranks);
  for (int r = 0; r < ranks; ++r) {
    send.push_back(cluster.bytes(r, bytes));
    receive.push_back(cluster.bytes(r, bytes));
  }
  const auto results = call_all(ranks, Calling::one_group, [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    return collective(rank, send[r]->data(), receive[r]->data());
  });
  EXPECT_EQ(results[0], ncclSuccess) << ncclGetLastError(nullptr);
  cluster.synchronize();
  std::vector<Traffic> all;
  for (const ncclComm_t comm : cluster.comms) all.push_back(sim::nccl::traffic(comm));
  return all;
}

std::size_t slice_bytes(std::size_t count, int ranks, int slice) {
  const auto n = static_cast<std::size_t>(ranks);
  return 4 * (count / n + (static_cast<std::size_t>(slice % ranks) < count % n ? 1 : 0));
}

TEST(Traffic, RingAllReduceSendsTwiceNMinusOneMessagesARank) {
  for (int n = 1; n <= kGpus; ++n) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{5}, std::size_t{840}, std::size_t{10007}}) {
      const auto all = traffic_of(n, count, [&](const Cluster& c) {
        return [&c, count](int rank, void* send, void* receive) {
          const auto r = static_cast<std::size_t>(rank);
          return ncclAllReduce(send, receive, count, ncclFloat32, ncclSum, c.comms[r], c.streams[r]);
        };
      });
      std::uint64_t sum = 0;
      for (int r = 0; r < n; ++r) {
        const Traffic& t = all[static_cast<std::size_t>(r)];
        EXPECT_EQ(t.collectives, 1U);
        EXPECT_EQ(t.messages, static_cast<std::uint64_t>(2 * (n - 1)));
        // Everything twice, but its own slice when reducing and its successor's when gathering.
        EXPECT_EQ(t.bytes, n == 1 ? 0 : 2 * 4 * count - slice_bytes(count, n, r) - slice_bytes(count, n, r + 1)) << n << " " << count;
        if (n > 1 && count % static_cast<std::size_t>(n) == 0) {
          EXPECT_EQ(t.bytes * static_cast<std::uint64_t>(n), 2 * 4 * count * static_cast<std::uint64_t>(n - 1));
        }
        sum += t.bytes;
      }
      EXPECT_EQ(sum, 2 * 4 * count * static_cast<std::uint64_t>(n - 1));
    }
  }
}

TEST(Traffic, TheOtherRingsMeetTheirClosedForms) {
  const int n = 5;
  const std::size_t count = 103;
  const int root = 3;
  const std::uint64_t bytes = 4 * count;
  const auto check = [&](const std::vector<Traffic>& all, const std::function<std::uint64_t(int rank)>& messages) {
    for (int r = 0; r < n; ++r) {
      EXPECT_EQ(all[static_cast<std::size_t>(r)].messages, messages(r)) << "rank " << r;
      EXPECT_EQ(all[static_cast<std::size_t>(r)].bytes, messages(r) * bytes) << "rank " << r;
    }
  };
  const auto at = [](const auto& list, int rank) { return list[static_cast<std::size_t>(rank)]; };
  check(traffic_of(n, count,
                   [&](const Cluster& c) {
                     return
                         [&](int r, void* s, void* d) { return ncclAllGather(s, d, count, ncclFloat32, at(c.comms, r), at(c.streams, r)); };
                   }),
        [](int) { return n - 1; });
  check(traffic_of(n, count,
                   [&](const Cluster& c) {
                     return [&](int r, void* s, void* d) {
                       return ncclReduceScatter(s, d, count, ncclFloat32, ncclSum, at(c.comms, r), at(c.streams, r));
                     };
                   }),
        [](int) { return n - 1; });
  check(traffic_of(n, count,
                   [&](const Cluster& c) {
                     return [&](int r, void* s, void* d) {
                       return ncclBroadcast(s, d, count, ncclFloat32, root, at(c.comms, r), at(c.streams, r));
                     };
                   }),
        [](int r) { return r == (root + n - 1) % n ? 0 : 1; });
  check(traffic_of(n, count,
                   [&](const Cluster& c) {
                     return [&](int r, void* s, void* d) {
                       return ncclReduce(s, d, count, ncclFloat32, ncclSum, root, at(c.comms, r), at(c.streams, r));
                     };
                   }),
        [](int r) { return r == root ? 0 : 1; });
}

TEST(Traffic, NothingIsSentForNothing) {
  const auto all = traffic_of(4, 0, [&](const Cluster& c) {
    return [&c](int rank, void* send, void* receive) {
      const auto r = static_cast<std::size_t>(rank);
      return ncclAllReduce(send, receive, 0, ncclFloat32, ncclSum, c.comms[r], c.streams[r]);
    };
  });
  for (const Traffic& t : all) EXPECT_EQ(t.messages + t.bytes, 0U);
}

TEST(Traffic, CountersAccumulateAndReset) {
  const Cluster cluster(2);
  std::vector<std::unique_ptr<DeviceBytes>> buffers;
  for (int r = 0; r < 2; ++r) buffers.push_back(cluster.bytes(r, 400));
  for (int i = 0; i < 3; ++i) {
    for (std::size_t r = 0; r < 2; ++r) {
      ASSERT_EQ(ncclAllReduce(buffers[r]->data(), buffers[r]->data(), 100, ncclFloat32, ncclSum, cluster.comms[r], cluster.streams[r]),
                ncclSuccess);
    }
  }
  cluster.synchronize();
  EXPECT_EQ(sim::nccl::traffic(cluster.comms[0]).messages, 6U);
  EXPECT_EQ(sim::nccl::traffic(cluster.comms[0]).bytes, 1200U);
  sim::nccl::reset_traffic(cluster.comms[0]);
  EXPECT_EQ(sim::nccl::traffic(cluster.comms[0]).bytes, 0U);
  EXPECT_EQ(sim::nccl::traffic(cluster.comms[1]).bytes, 1200U);
  EXPECT_EQ(sim::nccl::traffic(nullptr).bytes, 0U);
}

// The double tree: in each tree 2(n - 1) messages of half the elements; the leaves of one are inner nodes of the other.
TEST(Traffic, TreeAllReduceSendsUpAndDownTwoTrees) {
  setenv("NCCL_ALGO", "Tree", 1);
  for (int n = 2; n <= kGpus; ++n) {
    const std::size_t count = 101;
    const auto all = traffic_of(n, count, [&](const Cluster& c) {
      return [&c, count](int rank, void* send, void* receive) {
        const auto r = static_cast<std::size_t>(rank);
        return ncclAllReduce(send, receive, count, ncclFloat32, ncclSum, c.comms[r], c.streams[r]);
      };
    });
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    for (const Traffic& t : all) {
      EXPECT_LE(t.messages, 6U);  // up in one or two trees, down to at most two children each
      messages += t.messages;
      bytes += t.bytes;
    }
    EXPECT_EQ(messages, static_cast<std::uint64_t>(4 * (n - 1)));
    EXPECT_EQ(bytes, static_cast<std::uint64_t>(2 * (n - 1)) * 4 * count);
  }
  unsetenv("NCCL_ALGO");
}

// Follows the messages of one half (or slice) step by step: after them every rank must have the values of all ranks.
void expect_all_ranks_know_all(int n, const std::vector<Message>& messages) {
  const auto size = static_cast<std::size_t>(n);
  std::vector<std::set<int>> known(size);
  for (int r = 0; r < n; ++r) known[static_cast<std::size_t>(r)] = {r};
  int step = 0;
  auto before = known;
  for (const Message& m : messages) {
    if (m.step != step) before = known;  // messages of one step travel at the same time
    step = m.step;
    const auto& sent = before[static_cast<std::size_t>(m.from)];
    known[static_cast<std::size_t>(m.to)].insert(sent.begin(), sent.end());
  }
  for (const auto& set : known) ASSERT_EQ(set.size(), size) << n << " ranks";
}

TEST(Traffic, ATreeTakesLogarithmicallyManySteps) {
  for (const int n : {2, 3, 4, 5, 6, 7, 8, 13, 64, 100}) {
    int ring = 0;
    for (const Message& m : sim::nccl::all_reduce_messages("ring", n, 1001, ncclFloat32)) ring = std::max(ring, m.step + 1);
    EXPECT_EQ(ring, 2 * (n - 1));
    const auto messages = sim::nccl::all_reduce_messages("tree", n, 1001, ncclFloat32);
    std::map<std::size_t, std::vector<Message>> trees;  // 501 elements go through one, 500 through the other
    int tree = 0;
    for (const Message& m : messages) {
      tree = std::max(tree, m.step + 1);
      trees[m.bytes].push_back(m);
    }
    int log = 0;
    while ((1 << log) < n) ++log;
    EXPECT_EQ(tree, 2 * log) << n;
    ASSERT_EQ(trees.size(), 2U);
    for (const auto& [bytes, half] : trees) {
      EXPECT_EQ(half.size(), static_cast<std::size_t>(2 * (n - 1)));
      expect_all_ranks_know_all(n, half);
    }
  }
}

}  // namespace
}  // namespace lockstep::test
