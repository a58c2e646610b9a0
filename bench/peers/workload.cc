// One of the reference models on data in memory, trained window by window on command: Lockstep's side of the comparison with its peers.
//
// workload NAME REPLICAS BATCH SAMPLES; NAME: mnist, reuters, mobilenet-v2-96, mobilenet-v2-224. After its first step it says so; then each
// line "N" on stdin trains N steps with `fit` and answers with a line of JSON. peers.py drives it and the others alike.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "lockstep/lockstep.h"

using namespace lockstep;

namespace {

Model mnist() {
  Sequential model({Conv2D(32, 3, "relu"), MaxPooling2D(2), Flatten(), Dense(128, "relu"), Dense(10)});
  model.compile(Adam(1e-3F), SparseCategoricalCrossentropy().from_logits(), {"accuracy"});
  return model;
}

Model reuters() {
  Sequential model({Embedding(30982, 7), Conv1D(64, 5, "relu"), MaxPooling1D(2), Conv1D(32, 3, "relu"), MaxPooling1D(2), Flatten(),
                    Dense(46, "softmax")});
  model.compile(Nadam(1e-3F), SparseCategoricalCrossentropy(),
                {SparseCategoricalAccuracy("accuracy"), SparseTopKCategoricalAccuracy(5, "top_5_accuracy")});
  return model;
}

Model mobilenet_v2(int image) {
  Model model = applications::MobileNetV2(applications::MobileNetV2Options().input_shape({image, image, 3}).classes(2));
  model.compile(Adam(1e-3F), SparseCategoricalCrossentropy(), {"accuracy"});
  return model;
}

struct Workload {
  Shape sample;
  std::int32_t classes = 0;
  bool words = false;
  Model (*make)() = nullptr;
};

Workload find(const std::string& name) {
  if (name == "mnist") return {Shape{28, 28, 1}, 10, false, mnist};
  if (name == "reuters") return {Shape{300}, 46, true, reuters};
  if (name == "mobilenet-v2-96") return {Shape{96, 96, 3}, 2, false, [] { return mobilenet_v2(96); }};
  if (name == "mobilenet-v2-224") return {Shape{224, 224, 3}, 2, false, [] { return mobilenet_v2(224); }};
  std::fprintf(stderr, "workload: %s is none of mnist, reuters, mobilenet-v2-96, mobilenet-v2-224\n", name.c_str());
  std::exit(2);
}

Array inputs(const Workload& what, std::int64_t samples) {
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

Array labels(const Workload& what, std::int64_t samples) {
  std::mt19937 random(2);
  Array y(Shape{samples}, DType::int32);
  for (std::int64_t i = 0; i < samples; ++i)
    y.data<std::int32_t>()[i] = static_cast<std::int32_t>(random() % static_cast<unsigned>(what.classes));
  return y;
}

long peak_kib() {
  std::FILE* status = std::fopen("/proc/self/status", "r");
  char line[256];
  long kib = 0;
  while (status != nullptr && std::fgets(line, sizeof(line), status) != nullptr)
    if (std::strncmp(line, "VmHWM:", 6) == 0) kib = std::strtol(line + 6, nullptr, 10);
  if (status != nullptr) std::fclose(status);
  return kib;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const Workload what = find(argv[1]);
  const int replicas = std::atoi(argv[2]);
  const std::int64_t batch = std::atoll(argv[3]), samples = std::atoll(argv[4]);
  const Array x = inputs(what, samples), y = labels(what, samples);
  const std::int64_t limit = std::min<std::int64_t>(8192, 15000 / replicas);
  const MirroredStrategy strategy(split_gpu(0, std::vector<std::int64_t>(static_cast<std::size_t>(replicas), limit)));
  Model model = strategy.scope([&] { return what.make(); });
  model.train_on_batch(x.slice(0, batch), y.slice(0, batch));
  std::printf("{\"first_step\": true}\n");
  std::fflush(stdout);

  const Dataset data = Dataset::from_arrays(x, y).shuffle(samples, 3).batch(batch).prefetch().repeat();
  long steps = 0;
  while (std::scanf("%ld", &steps) == 1) {
    const History history = model.fit(data, FitOptions().steps_per_epoch(steps).verbose(Verbose::silent));
    std::printf("{\"steps\": %ld, \"seconds\": %.6f, \"loss\": %.6f, \"peak_mib\": %.1f, \"replicas_identical\": %s}\n", steps,
                history.training_seconds, history.last("loss"), static_cast<double>(peak_kib()) / 1024, [&] {
                  const std::vector<std::uint64_t> sums = model.checksums();
                  for (const std::uint64_t sum : sums)
                    if (sum != sums.front()) return "false";
                  return "true";
                }());
    std::fflush(stdout);
  }
}
