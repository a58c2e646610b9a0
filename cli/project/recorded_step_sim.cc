#include "cli/project/recorded_step.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "cli/command.h"

#include "simulator/gpu/runtime/model_clock.h"
#include "simulator/gpu/runtime/runtime.h"

namespace lockstep::cli {

namespace {

Model make_mnist() {
  Sequential model({Conv2D(32, 3, "relu"), MaxPooling2D(2), Flatten(), Dense(128, "relu"), Dense(10)});
  model.compile(Adam(1e-3F), SparseCategoricalCrossentropy().from_logits(), {"accuracy"});
  return model;
}

constexpr std::int32_t kWords = 30982;

Model make_reuters() {
  Sequential model({Embedding(kWords, 7), Conv1D(64, 5, "relu"), MaxPooling1D(2), Conv1D(32, 3, "relu"), MaxPooling1D(2), Flatten(),
                    Dense(46, "softmax")});
  model.compile(Nadam(1e-3F), SparseCategoricalCrossentropy(),
                {SparseCategoricalAccuracy("accuracy"), SparseTopKCategoricalAccuracy(5, "top_5_accuracy")});
  return model;
}

Model make_mobilenet() {
  Model model =
      applications::MobileNetV2(applications::MobileNetV2Options().classes(2).classifier_activation("softmax").input_shape({224, 224, 3}));
  model.compile(Adam(1e-3F), SparseCategoricalCrossentropy(), {"accuracy"});
  return model;
}

// Only the set of words matters: an embedding's gradient is sent by rows in use. Sixteen newswires use about 2,000.
void fill_with_words(Array& x) {
  constexpr std::int64_t kDifferent = 125;  // words of a sample, which no other sample has
  const std::int64_t length = x.size() / x.samples();
  for (std::int64_t i = 0; i < x.size(); ++i)
    x.data<std::int32_t>()[i] = static_cast<std::int32_t>((i / length * kDifferent + i % length % kDifferent) % kWords);
}

// The same batch in every step.
Dataset batches_of(const Workload& workload, std::int64_t samples, int steps) {
  const double gib = static_cast<double>(samples) * static_cast<double>(workload.sample.size()) * sizeof(float) / (1 << 30);
  const double here = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 30);
  if (gib > here / 2)
    throw UsageError(
        fmt::format("a step of {} samples takes {:.0f} GiB on the host, and this machine has {:.0f}. Fix: use a smaller "
                    "--batch-per-replica or --global-batch",
                    samples, gib, here));
  Array x(workload.sample.batched(samples), workload.type);
  if (workload.type == DType::int32) fill_with_words(x);
  const Array y(Shape{samples}, DType::int32);
  return Dataset::from_arrays(Array(Shape{samples, 1}), Array(Shape{samples}, DType::int32))
      .batch(samples)
      .map([x, y](const Batch&) {
        return Batch{x, y};
      })
      .repeat(steps);
}

}  // namespace

Workload workload_named(const std::string& name) {
  if (name == "mnist") return {name, "MNIST", {28, 28, 1}, DType::float32, 64, make_mnist};
  if (name == "reuters") return {name, "Reuters", {300}, DType::int32, 32, make_reuters};
  return {name, "MobileNetV2 (224 x 224)", {224, 224, 3}, DType::float32, 64, make_mobilenet};
}

clock::Machine modelled_machine() {
  setenv("LOCKSTEP_SIM_NO_MATH", "1", 1);
  setenv("LOCKSTEP_SIM_CLOCK", "model", 1);
  const sim::Config& config = sim::runtime().config;
  if (!config.problem.empty()) throw Error(config.problem);
  return sim::modelled_machine();
}

RecordedStep record_step(const Workload& workload, const std::vector<GpuId>& gpus, std::int64_t batch_per_replica,
                         const StepOptions& options) {
  constexpr int kSteps = 3;
  RecordedStep step;
  sim::ModelClock& model_clock = *sim::model_clock();
  try {
    const MirroredStrategy strategy(gpus);
    strategy.set_step_options(options);
    Model model = strategy.scope([&] { return workload.make(); });
    int done = 0;
    Callback watch;
    watch.should_stop = [&] {
      ++done;
      if (done == kSteps - 1) model_clock.start_recording();
      if (done == kSteps) {
        step.recording = model_clock.take_recording();
        step.memory_gib = static_cast<double>(sim::runtime().memory.used(0)) / (1 << 30);
      }
      return false;
    };
    model.fit(batches_of(workload, batch_per_replica * static_cast<std::int64_t>(gpus.size()), kSteps),
              FitOptions().verbose(Verbose::silent).callback(watch));
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    model_clock.take_recording();
    step.recording.reset();
    const std::string text = error.what();
    const bool memory = text.find("memory") != std::string::npos || text.find("MiB") != std::string::npos;
    if (!memory) throw;
    step.problem = text;
  }
  return step;
}

}  // namespace lockstep::cli
