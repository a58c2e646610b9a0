// Replicas that are compared have memory of their own: one fingerprint each, and all of them equal.
#pragma once

#include <gtest/gtest.h>

#include "lockstep/lockstep.h"

namespace lockstep::testing {

inline void expect_equal_copies(const Model& model) {
  const std::vector<std::uint64_t> sums = model.checksums();
  ASSERT_EQ(sums.size(), static_cast<std::size_t>(model.strategy().num_replicas_in_sync()))
      << "replicas share a copy: nothing was compared";
  for (std::size_t r = 1; r < sums.size(); ++r) EXPECT_EQ(sums[r], sums.front()) << "replica " << r << " differs";
}

}  // namespace lockstep::testing
