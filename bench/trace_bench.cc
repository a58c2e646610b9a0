// What tracing costs: the same step without a tracer, with one, and with one that looks inside, in turns in one run: wall time and the CPU
// time of all threads, as ratios to the mean of the two laps without a tracer of the same round, since a load that comes and goes weighs on
// all of them then. How far "off" and "off again" lie apart is what cannot be measured here. Beside each stands the proof that tracing
// changed no bit: the loss and the weights' checksum after the same steps. Last, what a step pays without a tracer: its hooks are
// comparisons with null, so they are counted, and one is measured by itself.
//
//   trace_bench [mnist|mobilenet] [rounds]
#include <sys/resource.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "engine/distribute/step/mirrored_step.h"
#include "engine/train/model_impl.h"
#include "lockstep/lockstep.h"
#include "simulator/trace/trace.h"

namespace {

using namespace lockstep;

struct Lap {
  const char* name;
  bool traced;
  std::int64_t inspected;
};
constexpr Lap kLaps[] = {{"off", false, 0}, {"on", true, 0}, {"on, looking inside", true, 1 << 20}, {"off again", false, 0}};

struct Workload {
  const char* title;
  Shape sample;
  int classes, batch, steps;  // of a lap
  Model (*make)();
};

Model mnist() {
  Sequential model({Conv2D(32, 3, "relu"), MaxPooling2D(2), Flatten(), Dense(128, "relu"), Dense(10)});
  model.set_seed(1);
  model.compile(Adam(1e-3F), SparseCategoricalCrossentropy().from_logits(), {"accuracy"});
  return model;
}

Model mobilenet() {
  Model model = applications::MobileNetV2(applications::MobileNetV2Options().input_shape({96, 96, 3}).classes(2).classifier_activation(""));
  model.compile(Adam(1e-4F), SparseCategoricalCrossentropy().from_logits(), {"accuracy"});
  return model;
}

struct Times {
  std::vector<double> wall, cpu;
};

double wall_ms() { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
double cpu_ms() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& time) { return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) * 1e-3; };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}
// The median of ratios within a round, to the mean of two.
double ratio(const std::vector<double>& these, const std::vector<double>& those, const std::vector<double>& others) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < these.size(); ++i) ratios.push_back(2 * these[i] / (those[i] + others[i]));
  return median(std::move(ratios));
}

// Nanoseconds that a span's hooks take without a tracer.
double hook_ns(const Stream& stream) {
  Tracer* volatile none = nullptr;
  constexpr int kTimes = 10'000'000;
  const double begin = wall_ms();
  for (int i = 0; i < kTimes; ++i) {
    SpanRecord record;
    record.replica = i;
    const DeviceSpan span(none, stream, record);
  }
  return (wall_ms() - begin) * 1e6 / kTimes;
}

}  // namespace

int main(int argc, char** argv) {
  const bool small = argc < 2 || std::string(argv[1]) == "mnist";
  const Workload work = small ? Workload{"MNIST's network", Shape{28, 28, 1}, 10, 128, 10, mnist}
                              : Workload{"MobileNetV2 of 96 x 96 pixels", Shape{96, 96, 3}, 2, 32, 1, mobilenet};
  const int rounds = argc > 2 ? std::max(3, std::atoi(argv[2])) : small ? 60 : 12;
  const MirroredStrategy strategy(split_gpu(0, {2048, 2048}));
  Array x(work.sample.batched(work.batch)), y(Shape{work.batch}, DType::int32);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = static_cast<float>(i * 37 % 256) / 255;
  for (std::int64_t i = 0; i < work.batch; ++i) y.data<std::int32_t>()[i] = static_cast<std::int32_t>(i % work.classes);

  // One model a lap: all take the same steps, so all must end with the same weights.
  std::vector<Model> models;
  std::vector<Times> times(std::size(kLaps));
  for (std::size_t lap = 0; lap < std::size(kLaps); ++lap) {
    models.push_back(strategy.scope([&] { return work.make(); }));
    models.back().build(work.sample);
    for (int i = 0; i < 2; ++i) models.back().train_on_batch(x, y);  // plans, buffers
  }
  std::size_t spans = 0;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t k = 0; k < std::size(kLaps); ++k) {
      const std::size_t lap = (k + static_cast<std::size_t>(round)) % std::size(kLaps);  // each is first in turn
      TrainingStep& step = *models[lap].impl()->step;
      const std::unique_ptr<Tracer> tracer = kLaps[lap].traced ? std::make_unique<Tracer>() : nullptr;
      if (tracer) tracer->set_inspected_steps(kLaps[lap].inspected);
      if (tracer) tracer->set_samples_to_keep(8);
      step.set_tracer(tracer.get());
      step.train(x, y);  // the tracer's first step makes its events
      const double wall = wall_ms(), cpu = cpu_ms();
      for (int i = 0; i < work.steps; ++i) step.train(x, y);
      times[lap].cpu.push_back((cpu_ms() - cpu) / work.steps);
      times[lap].wall.push_back((wall_ms() - wall) / work.steps);
      step.set_tracer(nullptr);
      if (tracer && kLaps[lap].inspected == 0) spans = tracer->spans().size() / static_cast<std::size_t>(work.steps + 1);
    }
  }
  std::printf("%s, 2 replicas, global batch %d, medians of %d rounds of %d steps; %zu spans a step\n", work.title, work.batch, rounds,
              work.steps, spans);
  std::printf("%-20s %9s %7s %9s %7s  %-17s %s\n", "tracing", "wall ms", "ratio", "CPU ms", "ratio", "loss (bits)", "weights (checksum)");
  for (std::size_t lap = 0; lap < std::size(kLaps); ++lap) {
    const auto loss = std::bit_cast<std::uint64_t>(models[lap].impl()->step->totals().sums.front());
    std::printf("%-20s %9.3f %7.3f %9.3f %7.3f  %016llx  %016llx\n", kLaps[lap].name, median(times[lap].wall),
                ratio(times[lap].wall, times[0].wall, times[3].wall), median(times[lap].cpu),
                ratio(times[lap].cpu, times[0].cpu, times[3].cpu), static_cast<unsigned long long>(loss),
                static_cast<unsigned long long>(models[lap].checksums().front()));
  }
  const double hook = hook_ns(dynamic_cast<MirroredStep&>(*models[0].impl()->step).replica(0).gpu().compute()),
               all = hook * static_cast<double>(spans) * 1e-6;
  std::printf("off: %zu hooks a step at %.2f ns are %.5f ms, %.4f %% of it\n", spans, hook, all, 100 * all / median(times[0].wall));
}
