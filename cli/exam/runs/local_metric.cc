// The program reports the loss of one replica as that of the run. Planted in the program's own log.
#include <fmt/format.h>

#include "cli/exam/runs/exam_files.h"
#include "cli/exam/runs/runs.h"

namespace lockstep::cli {
namespace local_metric {

constexpr int kSteps = 8;

void plant(ExamPlan& plan) {
  const int replicas = plan.whole("replicas", 3, 6);
  plan.whole("replica", 0, replicas - 1);
  plan.whole("batch", replicas + 1, 2 * replicas - 1);  // shares of two samples and of one
}

ExamMachine machine(const ExamPlan& plan) { return t4s(plan.at("replicas")); }

void run(const ExamPlan& plan, const std::filesystem::path& folder) {
  const std::int64_t batch = plan.at("batch");
  const Pictures data = make_pictures(batch * kSteps, 14, plan.seed());
  const MirroredStrategy strategy;
  Model model = strategy.scope([&] {
    Sequential network = small_network(plan.seed(), 8, 32);
    network.compile(Adam(1e-3F), SparseCategoricalCrossentropy().from_logits());
    return network;
  });
  StepLosses losses;
  Callback print;
  print.on_batch_end = [&](TrainingEvent& event) {
    fmt::print("step {}: loss {:.4f}\n", event.batch + 1, losses.of(*event.model).at(static_cast<std::size_t>(plan.at("replica"))).mean());
  };
  fmt::print("{} GPUs, global batch {}\n", plan.at("replicas"), batch);
  model.fit(data.x, data.y, traced_fit(folder, kSteps, kSteps).batch_size(batch).callback(print));
}

std::vector<ExamAnswer> answers(const ExamPlan& plan, const ExamFiles& files) {
  double sum = 0, samples = 0;
  for (int r = 0; r < files.replicas(); ++r) {
    const nlohmann::json& facts = files.phase("local gradients", files.steps().back(), r).facts;
    sum += facts.at("loss sum").get<double>();
    samples += facts.at("samples").get<double>();
  }
  return {{"replica", std::to_string(plan.at("replica"))}, {"loss", digits(sum / samples), 0.002}};
}

}  // namespace local_metric

Exam local_metric_exam() {
  return {"07-a-restless-loss", "local-metric", local_metric::plant, local_metric::machine, local_metric::run, local_metric::answers};
}

}  // namespace lockstep::cli
