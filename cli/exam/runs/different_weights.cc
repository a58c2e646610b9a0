// After the update of one step one bit of one replica's weights is flipped, as by memory without error correction. Planted by the step's
// own option for it (lockstep/flipped_bit.h).
#include <fmt/format.h>

#include "cli/exam/runs/exam_files.h"
#include "cli/exam/runs/runs.h"

namespace lockstep::cli {
namespace different_weights {

constexpr int kSteps = 12;
constexpr std::int64_t kPerReplica = 8;

void plant(ExamPlan& plan) {
  plan.whole("replicas", 3, 5);
  plan.whole("replica", 0, plan.at("replicas") - 1);
  plan.whole("step", 2, kSteps - 2);
  plan.whole("variable", 0, 2);
}

ExamMachine machine(const ExamPlan& plan) { return t4s(plan.at("replicas")); }

void run(const ExamPlan& plan, const std::filesystem::path& folder) {
  const std::vector<std::string> variables = {"conv2d/kernel", "dense/kernel", "dense_1/kernel"};
  const std::int64_t batch = kPerReplica * plan.at("replicas");
  const Pictures data = make_pictures(batch * kSteps, 14, plan.seed());
  const MirroredStrategy strategy;
  StepOptions options;
  options.flipped_bit = FlippedBit{plan.at("replica"), variables.at(static_cast<std::size_t>(plan.at("variable"))), plan.at("step")};
  strategy.set_step_options(options);
  Model model = strategy.scope([&] {
    Sequential network = small_network(plan.seed(), 8, 32);
    network.compile(Adam(1e-3F), SparseCategoricalCrossentropy().from_logits());
    return network;
  });
  StepLosses losses;
  Callback print;
  print.on_batch_end = [&](TrainingEvent& event) {
    fmt::print("step {:>2}:", event.batch + 1);
    for (const StepLoss& loss : losses.of(*event.model)) fmt::print("  {:.4f}", loss.mean());
    fmt::print("\n");
  };
  fmt::print("{} GPUs, global batch {}; the loss of each replica's samples:\n", plan.at("replicas"), batch);
  model.fit(data.x, data.y, traced_fit(folder, kSteps, kSteps).batch_size(batch).callback(print));
}

// The first step after which this replica's fingerprint is another than that of a neighbour.
std::int64_t first_difference(const ExamFiles& files, int replica) {
  const int other = replica == 0 ? 1 : 0;
  for (const std::int64_t step : files.steps()) {
    const auto checksum = [&](int of) { return files.phase("barrier", step, of).facts.at("checksum"); };
    if (checksum(replica) != checksum(other)) return step;
  }
  throw Error("the exam's replicas never differ");
}

std::vector<ExamAnswer> answers(const ExamPlan& plan, const ExamFiles& files) {
  const int replica = plan.at("replica");
  return {{"replica", std::to_string(replica)}, {"step", std::to_string(first_difference(files, replica))}};
}

}  // namespace different_weights

Exam different_weights_exam() {
  return {"03-one-model-two-opinions", "different-weights",    different_weights::plant,
          different_weights::machine,  different_weights::run, different_weights::answers};
}

}  // namespace lockstep::cli
