// Folders that vanish, and a small model to save.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "engine/io/atomic_file.h"
#include "lockstep/lockstep.h"

namespace lockstep::io_test {

class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-io-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw Error("no temporary folder");
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::size_t count() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator()));
  }

 private:
  std::filesystem::path path_;
};

// The number of virtual GPUs is set before their first use; a real GPU that is alone is split.
inline const int kTwoGpus = setenv("LOCKSTEP_SIM_GPUS", "2", 0);

inline Strategy strategy_of(int replicas) {
  if (replicas == 1) return OneDeviceStrategy();
  const std::vector<GpuId> gpus = list_gpus();
  if (gpus.size() >= 2) return MirroredStrategy(std::vector<GpuId>(gpus.begin(), gpus.begin() + 2));
  return MirroredStrategy(split_gpu(0, std::vector<std::int64_t>(2, 256)));
}

struct Batch {
  Array x{Shape{8, 6, 6, 1}};
  Array y{Shape{8}, DType::int32};
};

inline Batch batch(unsigned seed) {
  std::mt19937 random(seed);
  Batch made;
  for (std::int64_t i = 0; i < made.x.size(); ++i) made.x.data<float>()[i] = static_cast<float>(random() % 1000) / 1000;
  for (std::int64_t i = 0; i < made.y.size(); ++i) made.y.data<std::int32_t>()[i] = static_cast<std::int32_t>(random() % 3);
  return made;
}

inline Sequential small_model(const Optimizer& optimizer = Adam(2e-3F), std::uint64_t seed = 7) {
  Sequential model({Conv2D(4, 3, "relu"), MaxPooling2D(2), Flatten(), Dense(5, "relu"), Dense(3)});
  model.set_seed(seed);
  model.compile(optimizer, SparseCategoricalCrossentropy().from_logits(), {"accuracy"});
  model.build(Shape{6, 6, 1});
  return model;
}

inline void train(Model& model, int first, int steps) {
  for (int i = first; i < first + steps; ++i) {
    const Batch samples = batch(static_cast<unsigned>(i));
    model.train_on_batch(samples.x, samples.y);
  }
}

}  // namespace lockstep::io_test
