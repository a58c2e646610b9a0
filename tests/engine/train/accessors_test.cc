// A loop over a part of something that a function returned must not read memory that is gone: C++17 keeps the part alive, not the whole.
// So every accessor of the public headers gives a reference to something with a name, and a value where the whole is a temporary.
#include <gtest/gtest.h>

#include <type_traits>
#include <utility>

#include "lockstep/lockstep.h"

namespace lockstep {
namespace {

#define GIVES_A_VALUE_OF_A_TEMPORARY(Type, call)                                                                                  \
  static_assert(std::is_lvalue_reference_v<decltype(std::declval<const Type&>() call)>, #Type " " #call ": copies without need"); \
  static_assert(!std::is_reference_v<decltype(std::declval<Type>() call)>, #Type " " #call ": dangles when a temporary ends")

using Arrays = PerReplica<Array>;
using Batches = DistributedDataset::Iterator;

GIVES_A_VALUE_OF_A_TEMPORARY(Arrays, .values());
GIVES_A_VALUE_OF_A_TEMPORARY(Arrays, [0]);
GIVES_A_VALUE_OF_A_TEMPORARY(Array, .shape());
GIVES_A_VALUE_OF_A_TEMPORARY(Shape, .extents());
GIVES_A_VALUE_OF_A_TEMPORARY(KerasTensor, .shape());
GIVES_A_VALUE_OF_A_TEMPORARY(KerasTensor, .node());
GIVES_A_VALUE_OF_A_TEMPORARY(Layer, .impl());
GIVES_A_VALUE_OF_A_TEMPORARY(Loss, .impl());
GIVES_A_VALUE_OF_A_TEMPORARY(Metric, .impl());
GIVES_A_VALUE_OF_A_TEMPORARY(Mean, .name());
GIVES_A_VALUE_OF_A_TEMPORARY(Model, .impl());
GIVES_A_VALUE_OF_A_TEMPORARY(Optimizer, .impl());
GIVES_A_VALUE_OF_A_TEMPORARY(LearningRate, .description());
GIVES_A_VALUE_OF_A_TEMPORARY(MirroredStrategy, .gpus());
GIVES_A_VALUE_OF_A_TEMPORARY(MirroredStrategy, .impl());
GIVES_A_VALUE_OF_A_TEMPORARY(Variable, .name());
static_assert(!std::is_reference_v<decltype(*std::declval<Batches>())>, "the batch of a temporary iterator dangles");

Shape made() { return Shape{2, 3}; }

TEST(Accessors, OfATemporaryCanBeLoopedOver) {
  std::int64_t product = 1;
  for (const std::int64_t extent : made().extents()) product *= extent;
  EXPECT_EQ(product, 6);
  std::vector<float> seen;
  for (const Array& copy : PerReplica<Array>({Array(Shape{1}, std::vector<float>{7}), Array(Shape{1}, std::vector<float>{8})}).values())
    seen.push_back(copy.data<float>()[0]);
  EXPECT_EQ(seen, (std::vector<float>{7, 8}));
}

}  // namespace
}  // namespace lockstep
