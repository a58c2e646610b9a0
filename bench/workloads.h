// The reference models and data in memory for them: what profile.cc and the comparison with peers train.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "lockstep/lockstep.h"

namespace lockstep::bench {

inline Model mnist() {
  Sequential model({Conv2D(32, 3, "relu"), MaxPooling2D(2), Flatten(), Dense(128, "relu"), Dense(10)});
  model.compile(Adam(1e-3F), SparseCategoricalCrossentropy().from_logits(), {"accuracy"});
  return model;
}

inline Model reuters() {
  Sequential model({Embedding(30982, 7), Conv1D(64, 5, "relu"), MaxPooling1D(2), Conv1D(32, 3, "relu"), MaxPooling1D(2), Flatten(),
                    Dense(46, "softmax")});
  model.compile(Nadam(1e-3F), SparseCategoricalCrossentropy(),
                {SparseCategoricalAccuracy("accuracy"), SparseTopKCategoricalAccuracy(5, "top_5_accuracy")});
  return model;
}

inline Model mobilenet_v2(int image) {
  Model model = applications::MobileNetV2(applications::MobileNetV2Options().input_shape({image, image, 3}).classes(2));
  model.compile(Adam(1e-3F), SparseCategoricalCrossentropy(), {"accuracy"});
  return model;
}

struct Workload {
  Shape sample;
  std::int32_t classes = 0;
  bool words = false;
  std::int64_t batch = 0;
  Model (*make)() = nullptr;
};

inline Workload find_workload(const std::string& name) {
  if (name == "mnist") return {Shape{28, 28, 1}, 10, false, 128, mnist};
  if (name == "reuters") return {Shape{300}, 46, true, 32, reuters};
  if (name == "mobilenet-v2-96") return {Shape{96, 96, 3}, 2, false, 32, [] { return mobilenet_v2(96); }};
  if (name == "mobilenet-v2-224") return {Shape{224, 224, 3}, 2, false, 16, [] { return mobilenet_v2(224); }};
  std::fprintf(stderr, "%s is none of mnist, reuters, mobilenet-v2-96, mobilenet-v2-224\n", name.c_str());
  std::exit(2);
}

inline Array inputs(const Workload& what, std::int64_t samples) {
  std::mt19937 random(1);
  Array x(what.sample.batched(samples), what.words ? DType::int32 : DType::float32);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    if (what.words)
      x.data<std::int32_t>()[i] = static_cast<std::int32_t>(random() % 30982);
    else
      x.data<float>()[i] = static_cast<float>(random() % 256) / 255.0F;
  }
  return x;
}

inline Array labels(const Workload& what, std::int64_t samples) {
  std::mt19937 random(2);
  Array y(Shape{samples}, DType::int32);
  for (std::int64_t i = 0; i < samples; ++i)
    y.data<std::int32_t>()[i] = static_cast<std::int32_t>(random() % static_cast<unsigned>(what.classes));
  return y;
}

// Logical GPUs of one card that share what memory there is.
inline MirroredStrategy logical_gpus(int replicas, const CrossDeviceOpsName& ops = {}) {
  const std::int64_t limit = std::min<std::int64_t>(8192, 15000 / replicas);
  return MirroredStrategy(split_gpu(0, std::vector<std::int64_t>(static_cast<std::size_t>(replicas), limit)), ops);
}

}  // namespace lockstep::bench
