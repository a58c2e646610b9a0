// Host arrays.
#include "lockstep/array.h"

#include <gtest/gtest.h>

namespace lockstep::testing {

namespace {

TEST(Array, SliceCopiesSamples) {
  const Array whole(Shape{4, 2}, std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7});
  Array part = whole.slice(1, 2);
  EXPECT_EQ(part.shape(), (Shape{2, 2}));
  EXPECT_EQ(part.data<float>()[0], 2);
  part.data<float>()[0] = 9;
  EXPECT_EQ(whole.data<float>()[2], 2);
  EXPECT_EQ(whole.slice(4, 0).samples(), 0);
  EXPECT_THROW(whole.slice(3, 2), Error);
  EXPECT_THROW(whole.slice(-1, 2), Error);
  EXPECT_THROW(Array().slice(0, 0), Error);
}

TEST(Array, CloneIsACopyAndReshapedIsNot) {
  Array a(Shape{2, 3}, std::vector<std::int32_t>{1, 2, 3, 4, 5, 6});
  Array copy = a.clone();
  Array view = a.reshaped(Shape{3, 2});
  a.data<std::int32_t>()[0] = 7;
  EXPECT_EQ(copy.data<std::int32_t>()[0], 1);
  EXPECT_EQ(view.data<std::int32_t>()[0], 7);
  EXPECT_THROW(a.reshaped(Shape{4, 2}), Error);
}

}  // namespace

}  // namespace lockstep::testing
