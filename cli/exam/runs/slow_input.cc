// The input pipeline reads a file that is slow to come, every few batches, and nothing is read ahead. Planted in the program's own
// pipeline.
#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "cli/exam/runs/exam_files.h"
#include "cli/exam/runs/runs.h"

namespace lockstep::cli {
namespace slow_input {

constexpr int kSteps = 13;
constexpr std::int64_t kBatch = 64;

void plant(ExamPlan& plan) {
  plan.whole("every", 2, 4);
  plan.whole("ms", 150, 300);
}

ExamMachine machine(const ExamPlan& /*plan*/) {
  ExamMachine machine = t4s(4);
  machine.model_clock = false;  // the model clock does not model how samples are read
  return machine;
}

void run(const ExamPlan& plan, const std::filesystem::path& folder) {
  const Pictures data = make_pictures(kBatch * kSteps, 14, plan.seed());
  int batches = 0;
  const Dataset pipeline = Dataset::from_arrays(data.x, data.y).batch(kBatch).map([&](Batch batch) {
    if (++batches % plan.at("every") == 0) std::this_thread::sleep_for(std::chrono::milliseconds(plan.at("ms")));
    return batch;
  });
  const MirroredStrategy strategy;
  Model model = strategy.scope([&] {
    Sequential network = small_network(plan.seed(), 8, 32);
    network.compile(Adam(1e-3F), SparseCategoricalCrossentropy().from_logits());
    return network;
  });
  const History history = model.fit(pipeline, traced_fit(folder, kSteps, 0));
  fmt::print("4 GPUs, global batch {}, {} steps: loss {:.4f}\n", kBatch, kSteps, history.last("loss"));
  fmt::print("All replicas have the same weights: {}\n", model.checksums().front() == model.checksums().back() ? "yes" : "no");
}

// Milliseconds between the end of the step before and the beginning of this one.
double gap(const ExamFiles& files, std::int64_t step) {
  double ended = 0, began = files.phase("shard", step, 0).begin_ms;
  for (int r = 0; r < files.replicas(); ++r) {
    const TraceSlice& barrier = files.phase("barrier", step - 1, r);
    ended = std::max(ended, barrier.begin_ms + barrier.ms);
    began = std::min(began, files.phase("shard", step, r).begin_ms);
  }
  return began - ended;
}

std::vector<ExamAnswer> answers(const ExamPlan& plan, const ExamFiles& files) {
  std::vector<double> gaps;
  std::vector<std::int64_t> late;
  const std::vector<std::int64_t> steps = files.steps();
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const double ms = gap(files, steps[i]);
    if (ms < plan["ms"] / 2) continue;
    gaps.push_back(ms);
    late.push_back(steps[i]);
  }
  if (late.size() < 2) throw Error("the exam's trace has fewer than two waits for a batch");
  return {{"every", std::to_string(late[1] - late[0])}, {"ms", digits(median(gaps)), 0.25}};
}

}  // namespace slow_input

Exam slow_input_exam() {
  return {"12-idle-now-and-then", "slow-input", slow_input::plant, slow_input::machine, slow_input::run, slow_input::answers};
}

}  // namespace lockstep::cli
