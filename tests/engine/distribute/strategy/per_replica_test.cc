// The parts of a custom training loop: functions on every replica, sums over them, datasets cut among them.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <set>
#include <thread>

#include "lockstep/error.h"
#include "lockstep/strategy.h"
#include "tests/engine/distribute/support/gpus.h"
#include "tests/support/error_of.h"

namespace lockstep {
namespace {

MirroredStrategy three() {
  std::vector<GpuId> ids = testing::logical_ids();
  ids.resize(3);
  return MirroredStrategy(ids);
}

Array row(const std::vector<float>& values) { return {Shape{static_cast<std::int64_t>(values.size())}, values}; }

TEST(Run, CallsTheFunctionOnEveryReplicaAtOnce) {
  const MirroredStrategy strategy = three();
  EXPECT_EQ(ReplicaContext::current(), nullptr);
  const PerReplica<int> given(std::vector<int>{10, 20, 30});
  std::atomic<int> here = 0;
  const PerReplica<int> got = strategy.run(
      [&](ReplicaContext& context, int number) {
        ++here;
        while (here < 3) std::this_thread::yield();  // would never end if they ran one after another
        EXPECT_EQ(ReplicaContext::current(), &context);
        EXPECT_EQ(context.num_replicas_in_sync(), 3);
        return number + context.replica_id_in_sync_group();
      },
      given);
  EXPECT_EQ(got.values(), (std::vector<int>{10, 21, 32}));
  EXPECT_EQ(strategy.run([](int number) { return 2 * number; }, given).values(), (std::vector<int>{20, 40, 60}));
  int calls = 0;
  OneDeviceStrategy(testing::logical_ids()[0]).run([&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST(Run, AllReduceGivesEveryReplicaTheSameSum) {
  const MirroredStrategy strategy = three();
  const PerReplica<double> sums = strategy.run([](ReplicaContext& context) {
    double last = 0;
    for (int round = 0; round < 50; ++round)
      last = context.all_reduce(ReduceOp::sum, 0.1 * (context.replica_id_in_sync_group() + 1) + round);
    return last;
  });
  for (const double sum : sums.values()) EXPECT_EQ(sum, (0.1 * 1 + 49) + (0.1 * 2 + 49) + (0.1 * 3 + 49)) << "every bit of a double";
  const PerReplica<Array> means = strategy.run([](ReplicaContext& context) {
    return context.all_reduce(ReduceOp::mean, row({static_cast<float>(context.replica_id_in_sync_group()), 6}));
  });
  for (const Array& mean : means.values()) {
    EXPECT_EQ(mean.data<float>()[0], 1.0F);
    EXPECT_EQ(mean.data<float>()[1], 6.0F);
  }
}

TEST(Run, AReplicaThatThrowsEndsAllAndIsNamed) {
  const MirroredStrategy strategy = three();
  for (int failing = 0; failing < 3; ++failing) {
    const std::string text = error_of([&] {
      strategy.run([&](ReplicaContext& context) {
        if (context.replica_id_in_sync_group() == failing) throw Error("no more");
        context.all_reduce(ReduceOp::sum, 1.0);  // the others wait here and must not wait for ever
      });
    });
    EXPECT_EQ(text, "replica " + std::to_string(failing) + ", run: no more");
  }
  EXPECT_EQ(strategy.run([](ReplicaContext& context) { return context.replica_id_in_sync_group(); })[2], 2) << "and it can go on";
}

TEST(Run, CantBeNested) {
  const MirroredStrategy strategy = three();
  EXPECT_NE(error_of([&] { strategy.run([&] { strategy.run([] {}); }); }).find("inside a function that run started"), std::string::npos);
}

TEST(Reduce, AddsNumbersAndArraysInTheOrderOfReplicas) {
  const MirroredStrategy strategy = three();
  EXPECT_EQ(strategy.reduce(ReduceOp::sum, PerReplica<double>({0.1, 0.2, 0.3})), (0.1 + 0.2) + 0.3);
  EXPECT_EQ(strategy.reduce(ReduceOp::mean, PerReplica<double>({1, 2, 6})), 3);
  const Array sum = strategy.reduce(ReduceOp::sum, PerReplica<Array>({row({1, 2}), row({3, 4}), row({5, 6})}));
  EXPECT_EQ(sum.data<float>()[0], 9);
  EXPECT_EQ(sum.data<float>()[1], 12);
  EXPECT_NE(error_of([&] {
              strategy.reduce(ReduceOp::sum, PerReplica<double>({1, 2}));
            }).find("2 values were given for 3 replicas"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              strategy.reduce(ReduceOp::sum, PerReplica<Array>({row({1}), row({3, 4}), row({5})}));
            }).find("axis"),
            std::string::npos);
}

TEST(Reduce, AlongAnAxisCountsEverySampleOnce) {
  const MirroredStrategy strategy = three();
  const PerReplica<Array> losses({row({1, 2, 3}), row({4}), Array(Shape{0})});
  EXPECT_EQ(strategy.reduce(ReduceOp::mean, losses, 0).data<float>()[0], 2.5F);
  EXPECT_EQ(strategy.reduce(ReduceOp::sum, losses, 0).data<float>()[0], 10);
}

TEST(Gather, PutsArraysBehindOneAnotherAlongAnyAxis) {
  const MirroredStrategy strategy = three();
  const Array a(Shape{2, 2}, std::vector<float>{1, 2, 3, 4}), b(Shape{2, 1}, std::vector<float>{5, 6});
  const Array wide = strategy.gather(PerReplica<Array>({a, b, b}), 1);
  EXPECT_EQ(wide.shape(), (Shape{2, 4}));
  EXPECT_EQ(std::vector<float>(wide.data<float>(), wide.data<float>() + 8), (std::vector<float>{1, 2, 5, 5, 3, 4, 6, 6}));
  const Array tall = strategy.gather(PerReplica<Array>({a, a, a}));
  EXPECT_EQ(tall.shape(), (Shape{6, 2}));
  EXPECT_NE(error_of([&] { strategy.gather(PerReplica<Array>({a, b, b})); }).find("differ in more than axis 0"), std::string::npos);
}

Dataset numbers(std::int64_t n) {
  Array x(Shape{n, 1}), y(Shape{n}, DType::int32);
  for (std::int64_t i = 0; i < n; ++i) x.data<float>()[i] = static_cast<float>(i), y.data<std::int32_t>()[i] = static_cast<std::int32_t>(i);
  return Dataset::from_arrays(x, y);
}

TEST(Distribute, CutsEveryGlobalBatchWithoutLosingASample) {
  const MirroredStrategy strategy = three();
  const DistributedDataset distributed = strategy.distribute(numbers(20).batch(9));
  EXPECT_EQ(distributed.cardinality(), 3);
  std::vector<std::vector<std::int64_t>> sizes;
  std::vector<int> seen;
  for (const PerReplica<Batch>& batch : distributed.epoch(0)) {
    sizes.emplace_back();
    for (const Batch& share : batch.values()) {
      sizes.back().push_back(share.x.samples());
      for (std::int64_t i = 0; i < share.y.samples(); ++i) seen.push_back(share.y.data<std::int32_t>()[i]);
      for (std::int64_t i = 0; i < share.y.samples(); ++i)
        EXPECT_EQ(share.x.data<float>()[i], static_cast<float>(share.y.data<std::int32_t>()[i]));
    }
  }
  EXPECT_EQ(sizes, (std::vector<std::vector<std::int64_t>>{{3, 3, 3}, {3, 3, 3}, {1, 1, 0}}));
  std::vector<int> all(20);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(seen, all);
  EXPECT_NE(error_of([&] { strategy.distribute(numbers(4)); }).find("not batched"), std::string::npos);
}

TEST(Distribute, CutsWeightsWithTheirSamples) {
  const Array x(Shape{4, 1}), y(Shape{4}, DType::int32);
  const Array w(Shape{4}, std::vector<float>{1, 2, 3, 4});
  const PerReplica<Batch> batch = *three().distribute(Dataset::from_arrays(x, y, w).batch(4)).epoch(0).begin();
  std::vector<float> seen;
  for (const Batch& share : batch.values()) {
    ASSERT_EQ(share.w.size(), share.x.samples());
    seen.insert(seen.end(), share.w.data<float>(), share.w.data<float>() + share.w.size());
  }
  EXPECT_EQ(seen, (std::vector<float>{1, 2, 3, 4}));
}

TEST(Distribute, FromAFunctionGivesReplicasBatchesInTurn) {
  const MirroredStrategy strategy = three();
  const DistributedDataset distributed = strategy.distribute_from_function([](const InputContext& context) {
    EXPECT_EQ(context.num_replicas_in_sync, 3);
    EXPECT_EQ(error_of([&] { context.get_per_replica_batch_size(7); }), "A global batch of 7 can't be divided evenly by 3 replicas.");
    return numbers(10).batch(context.get_per_replica_batch_size(6));
  });
  EXPECT_EQ(distributed.cardinality(), 2);
  std::vector<std::vector<int>> firsts;
  for (const PerReplica<Batch>& batch : distributed.epoch(0)) {
    firsts.emplace_back();
    for (const Batch& share : batch.values()) firsts.back().push_back(share.y.samples() ? share.y.data<std::int32_t>()[0] : -1);
  }
  EXPECT_EQ(firsts, (std::vector<std::vector<int>>{{0, 2, 4}, {6, 8, -1}}));
}

TEST(ComputeAverageLoss, DividesByTheGlobalBatch) {
  const MirroredStrategy strategy = three();
  EXPECT_EQ(strategy.compute_average_loss(row({3, 6})), 1.5);
  EXPECT_EQ(strategy.compute_average_loss(row({3, 6}), {}, 18), 0.5);
  EXPECT_EQ(strategy.compute_average_loss(row({3, 6}), row({2, 0}), 6), 1.0);
}

}  // namespace
}  // namespace lockstep
