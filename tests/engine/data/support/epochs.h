// Datasets whose samples say which they are, and what an epoch of them gives.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "lockstep/dataset.h"

namespace lockstep::testing {

// Sample i is x = {10 i, 10 i + 1, 10 i + 2}, y = i.
inline Dataset numbered(std::int64_t n) {
  Array x(Shape{n, 3}), y(Shape{n}, DType::int32);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < 3; ++j) x.data<float>()[3 * i + j] = static_cast<float>(10 * i + j);
    y.data<std::int32_t>()[i] = static_cast<std::int32_t>(i);
  }
  return Dataset::from_arrays(x, y);
}

// True when every x is its y's.
inline bool belong_together(const Batch& batch) {
  for (std::int64_t i = 0; i < batch.y.size(); ++i) {
    for (std::int64_t j = 0; j < 3; ++j) {
      if (batch.x.data<float>()[3 * i + j] != static_cast<float>(10 * batch.y.data<std::int32_t>()[i] + j)) return false;
    }
  }
  return batch.x.size() == 3 * batch.y.size();
}

// The numbers of an epoch's samples, element by element.
inline std::vector<std::vector<int>> elements(const Dataset& dataset, std::int64_t epoch = 0) {
  std::vector<std::vector<int>> all;
  const auto iterator = dataset.iterate(epoch);
  Batch batch;
  while (iterator->next(batch)) {
    if (!belong_together(batch)) throw Error("a sample lost its label");
    const auto* y = batch.y.data<std::int32_t>();
    all.emplace_back(y, y + batch.y.size());
  }
  return all;
}

inline std::vector<int> order(const Dataset& dataset, std::int64_t epoch = 0) {
  std::vector<int> all;
  for (const auto& element : elements(dataset, epoch)) all.insert(all.end(), element.begin(), element.end());
  return all;
}

inline std::vector<int> count_to(int n) {
  std::vector<int> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace lockstep::testing
