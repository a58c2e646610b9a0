// What tracing costs: the same MNIST step without a tracer, with one, and with one that looks inside, in turns in one run; medians, fastest
// laps, and their ratios. "off again" is a second lap without a tracer: how far two equal things lie apart here. Beside each time stands
// the proof that tracing changed no bit: the checksum of the weights after so many steps.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "lockstep/lockstep.h"
#include "mirrored_step.h"
#include "model_impl.h"
#include "trace.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Lap {
  const char* name;
  bool traced;
  std::int64_t inspected;
};
constexpr Lap kLaps[] = {{"off", false, 0}, {"on", true, 0}, {"on, looking inside", true, 1 << 20}, {"off again", false, 0}};

lockstep::Sequential make_model() {
  lockstep::Sequential model(
      {lockstep::Conv2D(32, 3, "relu"), lockstep::MaxPooling2D(2), lockstep::Flatten(), lockstep::Dense(128, "relu"), lockstep::Dense(10)});
  model.set_seed(1);
  model.compile(lockstep::Adam(1e-3F), lockstep::SparseCategoricalCrossentropy().from_logits(), {"accuracy"});
  return model;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(3, std::atoi(argv[1])) : 60;
  constexpr std::int64_t kBatch = 128;
  const lockstep::MirroredStrategy strategy(lockstep::split_gpu(0, {512, 512}));
  lockstep::Array x(lockstep::Shape{kBatch, 28, 28, 1}), y(lockstep::Shape{kBatch}, lockstep::DType::int32);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = static_cast<float>(i * 37 % 256) / 255;
  for (std::int64_t i = 0; i < kBatch; ++i) y.data<std::int32_t>()[i] = static_cast<std::int32_t>(i % 10);

  // One model a lap: all take the same steps, so all must end with the same weights.
  std::vector<lockstep::Model> models;
  std::vector<std::vector<double>> times(std::size(kLaps));
  for (std::size_t lap = 0; lap < std::size(kLaps); ++lap) {
    models.push_back(strategy.scope([] { return make_model(); }));
    models.back().build(lockstep::Shape{28, 28, 1});
    for (int i = 0; i < 3; ++i) models.back().train_on_batch(x, y);  // plans, buffers
  }
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t k = 0; k < std::size(kLaps); ++k) {
      const std::size_t lap = (k + static_cast<std::size_t>(round)) % std::size(kLaps);  // nobody is always first
      lockstep::MirroredStep& step = *models[lap].impl()->step;
      const std::unique_ptr<lockstep::Tracer> tracer = kLaps[lap].traced ? std::make_unique<lockstep::Tracer>() : nullptr;
      if (tracer) tracer->set_inspected_steps(kLaps[lap].inspected);
      if (tracer) tracer->set_samples_to_keep(8);
      constexpr int kSteps = 5;  // the tracer's first step makes its events
      step.set_tracer(tracer.get());
      step.train(x, y);
      const auto begin = Clock::now();
      for (int i = 0; i < kSteps; ++i) step.train(x, y);
      times[lap].push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count() / kSteps);
      step.set_tracer(nullptr);
    }
  }
  std::printf("MNIST's network, 2 replicas, global batch %lld, median of %d rounds\n", static_cast<long long>(kBatch), rounds);
  std::printf("%-20s %10s %7s %10s %7s   %s\n", "tracing", "median ms", "ratio", "fastest ms", "ratio", "checksum of the weights");
  const auto fastest = [&](std::size_t lap) { return *std::min_element(times[lap].begin(), times[lap].end()); };
  for (std::size_t lap = 0; lap < std::size(kLaps); ++lap) {
    // Medians of ratios within a round, so that a load that comes and goes weighs on both sides; and the fastest lap of each, which a
    // busy machine disturbs least.
    std::vector<double> ratios;
    for (std::size_t i = 0; i < times[lap].size(); ++i) ratios.push_back(times[lap][i] / times[0][i]);
    std::printf("%-20s %10.3f %7.3f %10.3f %7.3f   %016llx\n", kLaps[lap].name, median(times[lap]), median(ratios), fastest(lap),
                fastest(lap) / fastest(0), static_cast<unsigned long long>(models[lap].checksums().front()));
  }
}
