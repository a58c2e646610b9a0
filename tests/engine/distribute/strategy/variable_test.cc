// Mirrored and sync-on-read variables of a custom loop.
#include "lockstep/variable.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>

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
Array number(float value) { return {Shape{1}, std::vector<float>{value}}; }
float read(const Array& array) { return array.data<float>()[0]; }
std::vector<float> read(const PerReplica<Array>& arrays) {
  std::vector<float> values;
  for (const Array& one : arrays.values()) values.push_back(read(one));
  return values;
}
Variable make(const Strategy& strategy, VariableSynchronization synchronization, VariableAggregation aggregation) {
  return strategy.scope([&] { return Variable(number(10), synchronization, aggregation, "count"); });
}

TEST(Variable, AMirroredOneIsEqualEverywhereAndAggregatesWhatIsWritten) {
  const MirroredStrategy strategy = three();
  Variable sum = make(strategy, VariableSynchronization::on_write, VariableAggregation::sum);
  Variable mean = make(strategy, VariableSynchronization::on_write, VariableAggregation::mean);
  Variable first = make(strategy, VariableSynchronization::on_write, VariableAggregation::only_first_replica);
  strategy.run([&](ReplicaContext& context) {
    const auto own = static_cast<float>(context.replica_id_in_sync_group() + 1);
    sum.assign_add(number(own));
    mean.assign_add(number(own));
    first.assign(number(own));
    EXPECT_EQ(read(sum.value()), 16);
  });
  EXPECT_EQ(read(sum.copies()), (std::vector<float>{16, 16, 16}));
  EXPECT_EQ(read(mean.copies()), (std::vector<float>{12, 12, 12}));
  EXPECT_EQ(read(first.copies()), (std::vector<float>{1, 1, 1}));
  sum.assign(number(3));
  EXPECT_EQ(read(sum.copies()), (std::vector<float>{3, 3, 3}));
  Variable none = make(strategy, VariableSynchronization::on_write, VariableAggregation::none);
  EXPECT_NE(error_of([&] { strategy.run([&] { none.assign(number(1)); }); }).find("needs an aggregation"), std::string::npos);
  EXPECT_EQ(read(none.value()), 10);
}

TEST(Variable, ASyncOnReadOneIsEachReplicasOwnUntilItIsRead) {
  const MirroredStrategy strategy = three();
  Variable sum = make(strategy, VariableSynchronization::on_read, VariableAggregation::sum);
  Variable mean = make(strategy, VariableSynchronization::on_read, VariableAggregation::mean);
  EXPECT_EQ(read(sum.value()), 10) << "its first value is what it reads as";
  EXPECT_EQ(read(mean.value()), 10);
  strategy.run([&](ReplicaContext& context) {
    for (int k = 0; k <= context.replica_id_in_sync_group(); ++k) {  // as often as each likes
      sum.assign_add(number(1));
      mean.assign_add(number(3));
    }
  });
  EXPECT_EQ(read(sum.value()), 10 + 1 + 2 + 3);
  EXPECT_EQ(read(mean.value()), 10 + 6);
  sum.assign_add(number(5));
  EXPECT_EQ(read(sum.value()), 21);
  Variable none = make(strategy, VariableSynchronization::on_read, VariableAggregation::none);
  EXPECT_NE(error_of([&] { static_cast<void>(none.value()); }).find("needs an aggregation"), std::string::npos);
  EXPECT_EQ(none.copies().size(), 3);
}

TEST(Variable, MadeOutsideTheScopeAndUsedInsideIsAnError) {
  const MirroredStrategy strategy = three();
  Variable outside(number(1));
  outside.assign_add(number(2));
  EXPECT_EQ(read(outside.value()), 3) << "by itself it is a variable like any other";
  EXPECT_NE(error_of([&] { strategy.run([&] { static_cast<void>(outside.value()); }); }).find("made outside the scope"), std::string::npos);
  const OneDeviceStrategy other(testing::logical_ids()[5]);
  Variable of_other = make(other, VariableSynchronization::on_read, VariableAggregation::sum);
  EXPECT_NE(error_of([&] { strategy.run([&] { of_other.assign_add(number(1)); }); }).find("made outside the scope"), std::string::npos);
  EXPECT_NE(error_of([&] { outside.assign(Array(Shape{2})); }).find("shape (1,)"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
