// What an unmodified program and the library mean by a structure must be the same bytes.
#include "tests/simulator/gpu/nvidia/layout/layout.h"

#include <gtest/gtest.h>

namespace lockstep::nvidia {
namespace {

TEST(NvidiaLayout, IsThatOfTheToolkitsHeaders) {
  const std::vector<Field> ours = our_layout(), theirs = nvidias_layout();
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) EXPECT_EQ(ours[i], theirs[i]) << ours[i].first;
}

}  // namespace
}  // namespace lockstep::nvidia
