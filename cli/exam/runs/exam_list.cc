#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "cli/exam/runs/exam.h"
#include "cli/exam/runs/runs.h"
#include "lockstep/error.h"

namespace lockstep::cli {
namespace {

// SplitMix64 (Steele, Lea and Flood, 2014): good draws from any seed, the same on every computer.
std::uint64_t next_word(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15U;
  std::uint64_t word = state;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9U;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebU;
  return word ^ (word >> 31);
}

}  // namespace

ExamPlan::ExamPlan(int exam, std::uint64_t seed) : drawn_from_(seed), state_(seed) {
  constexpr std::uint64_t kSeeds = 1000003;  // so that an exam's draws do not depend on another exam's
  state_ = next_word(state_) + kSeeds * static_cast<std::uint64_t>(exam);
  constexpr std::uint64_t kMostSeed = 1 << 20;
  seed_ = next_word(state_) % kMostSeed;
}

int ExamPlan::whole(const std::string& name, int least, int most) {
  const auto choices = static_cast<std::uint64_t>(most - least + 1);
  const int value = least + static_cast<int>(next_word(state_) % choices);
  values_[name] = value;
  return value;
}

double ExamPlan::real(const std::string& name, double least, double most, double step) {
  const int steps = static_cast<int>((most - least) / step + 0.5);
  const double value = least + step * whole(name, 0, steps);
  values_[name] = value;
  return value;
}

int Exam::number() const { return std::atoi(folder); }

const std::vector<Exam>& exams() {
  static const std::vector<Exam> all = {
      slow_gpu_exam(),     dead_worker_exam(), different_weights_exam(), local_mean_exam(), same_samples_exam(),  local_statistics_exam(),
      local_metric_exam(), slow_link_exam(),   small_buckets_exam(),     small_rate_exam(), late_backward_exam(), slow_input_exam(),
  };
  return all;
}

const Exam& exam_with(int number) {
  for (const Exam& exam : exams()) {
    if (exam.number() == number) return exam;
  }
  throw Error(fmt::format("there is no exam {}; they go from 1 to {}", number, exams().size()));
}

ExamPlan plan_of(const Exam& exam, std::uint64_t seed) {
  ExamPlan plan(exam.number(), seed);
  exam.plant(plan);
  return plan;
}

std::string digits(double value) { return std::abs(value) < 1e4 ? fmt::format("{:.4g}", value) : fmt::format("{:.0f}", value); }

}  // namespace lockstep::cli
