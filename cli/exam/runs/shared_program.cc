#include <fmt/format.h>

#include <cmath>
#include <random>

#include "cli/exam/runs/runs.h"

namespace lockstep::cli {

Pictures make_pictures(std::int64_t samples, std::int64_t side, std::uint64_t seed) {
  constexpr int kKinds = 10;
  constexpr double kNoise = 0.5, kPerWord = 1.0 / 4294967296.0;
  std::mt19937 words(static_cast<std::uint32_t>(seed));  // its numbers are fixed by the standard
  Pictures pictures{Array(Shape{samples, side, side, 1}), Array(Shape{samples}, DType::int32)};
  for (std::int64_t i = 0; i < samples; ++i) {
    const auto kind = static_cast<std::int32_t>(words() % kKinds);
    pictures.y.data<std::int32_t>()[i] = kind;
    const double slope = 0.3 * (1 + kind % 5), turn = kind < 5 ? 1.0 : -1.0;
    for (std::int64_t p = 0; p < side * side; ++p) {
      const auto row = static_cast<double>(p / side), column = static_cast<double>(p % side);
      const double pattern = 0.5 + 0.5 * std::sin(slope * (row + turn * column));
      const double noise = kNoise * static_cast<double>(words()) * kPerWord;
      pictures.x.data<float>()[i * side * side + p] = static_cast<float>((1 - kNoise) * pattern + noise);
    }
  }
  return pictures;
}

ExamMachine t4s(int gpus, const std::string& more) {
  ExamMachine machine;
  machine.json = fmt::format(R"({{"like": "4xt4", "gpus": {}{}}})", gpus, more.empty() ? "" : ", " + more);
  return machine;
}

Sequential small_network(std::uint64_t seed, int filters, int hidden) {
  Sequential model({Conv2D(filters, 3, "relu"), MaxPooling2D(2), Flatten(), Dense(hidden, "relu"), Dense(10)});
  model.set_seed(seed);
  return model;
}

FitOptions traced_fit(const std::filesystem::path& folder, int steps, int inspected) {
  constexpr int kSamplesShown = 8;
  const TraceOptions trace = TraceOptions().steps(steps).inspect(inspected).samples(kSamplesShown).title("the run of an exam");
  FitOptions fit;
  fit.verbose(Verbose::silent).shuffle(false).steps_per_epoch(steps);
  fit.trace((folder / "trace.json").string(), trace).trace((folder / "trace.html").string(), trace);
  return fit;
}

std::vector<StepLoss> StepLosses::of(const Model& model) {
  const std::vector<ReplicaReport> now = replica_reports(model);
  std::vector<StepLoss> losses;
  for (std::size_t r = 0; r < now.size(); ++r) {
    const ReplicaReport step = r < before_.size() ? now[r].since(before_[r]) : now[r];
    losses.push_back({step.loss_sum, step.samples});
  }
  before_ = now;
  return losses;
}

double norm_of(const std::vector<NamedArray>& gradients) {
  double squares = 0;
  for (const NamedArray& gradient : gradients) {
    const float* values = gradient.values.data<float>();
    for (std::int64_t i = 0; i < gradient.values.size(); ++i) squares += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  }
  return std::sqrt(squares);
}

}  // namespace lockstep::cli
