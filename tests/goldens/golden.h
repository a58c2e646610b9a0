// Reading recorded numbers and judging ours against them.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "engine/data/files/npz.h"
#include "lockstep/lockstep.h"
#include "tests/goldens/recordings.h"

namespace lockstep::golden {

inline Array array_f32(Npz& file, const std::string& key) {
  const NpyArray stored = file.array(key);
  return Array(stored.shape, stored.as<float>());
}

inline Array array_i32(Npz& file, const std::string& key) {
  const NpyArray stored = file.array(key);
  return Array(stored.shape, stored.as<std::int32_t>());
}

inline double relative_l2(const std::vector<float>& ours, const std::vector<float>& theirs) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const double d = static_cast<double>(ours[i]) - theirs[i];
    difference += d * d;
    norm += static_cast<double>(theirs[i]) * theirs[i];
  }
  return std::sqrt(difference / (norm > 0 ? norm : 1));
}

struct Judgement {
  double relative_l2 = 0;
  double share_above = 0;  // share of elements that differ by more than the tolerance
  double sum_error = 0;    // of the whole tensor's sum of absolute values, relative; only where the recording is a sample
};

// Of a tensor of which every n-th element is recorded, as `key#sn`: n.
inline std::int64_t stride_of(const Npz& file, const std::string& key) {
  const std::string start = key + "#s";
  for (const std::string& name : file.names())
    if (name.compare(0, start.size(), start) == 0) return std::stoll(name.substr(start.size()));
  throw Error("nothing is recorded for " + key);
}

// Compares a whole tensor of ours with a recorded one, whole or every n-th element with check sums.
inline Judgement judge(Npz& file, const std::string& key, const Array& ours, double tolerance) {
  const float* values = ours.data<float>();
  std::vector<float> mine, theirs;
  Judgement judgement;
  if (file.contains(key)) {
    theirs = file.array(key).as<float>();
    mine.assign(values, values + ours.size());
  } else {
    const std::int64_t stride = stride_of(file, key);
    theirs = file.array(key + "#s" + std::to_string(stride)).as<float>();
    for (std::int64_t i = 0; i < ours.size(); i += stride) mine.push_back(values[i]);
    const std::vector<double> sums = file.array(key + "#chk").as<double>();
    double total = 0;
    for (std::int64_t i = 0; i < ours.size(); ++i) total += std::abs(static_cast<double>(values[i]));
    judgement.sum_error = std::abs(total - sums[1]) / sums[1];
  }
  EXPECT_EQ(mine.size(), theirs.size()) << key;
  if (mine.size() != theirs.size()) return {1, 1, 1};
  std::size_t above = 0;
  for (std::size_t i = 0; i < mine.size(); ++i) above += !(std::abs(static_cast<double>(mine[i]) - theirs[i]) <= tolerance);
  judgement.relative_l2 = relative_l2(mine, theirs);
  judgement.share_above = static_cast<double>(above) / static_cast<double>(mine.size());
  return judgement;
}

}  // namespace lockstep::golden
