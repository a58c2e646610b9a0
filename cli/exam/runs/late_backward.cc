// In every step one operation of one replica's backward pass waits. Planted by the virtual GPU's faults, which count operations; so the
// first steps find out how many a step has.
#include <fmt/format.h>

#include "cli/exam/runs/exam_files.h"
#include "cli/exam/runs/runs.h"
#include "cli/exam/runs/stall.h"

namespace lockstep::cli {
namespace late_backward {

constexpr int kSteps = 9;
constexpr std::int64_t kBatch = 64;
constexpr double kInBackward = 0.6;  // of a step's operations: forward, loss, then backward, and the update comes last

void plant(ExamPlan& plan) {
  plan.whole("replica", 0, 3);
  plan.whole("ms", 60, 140);
}

ExamMachine machine(const ExamPlan& /*plan*/) {
  ExamMachine machine = t4s(4);
  machine.model_clock = false;  // a stall is of this computer's time
  return machine;
}

void run(const ExamPlan& plan, const std::filesystem::path& folder) {
  const Pictures data = make_pictures(kBatch * kSteps, 14, plan.seed());
  const MirroredStrategy strategy;
  Model model = strategy.scope([&] {
    Sequential network = small_network(plan.seed(), 8, 32);
    network.compile(Adam(1e-3F), SparseCategoricalCrossentropy().from_logits());
    return network;
  });
  std::uint64_t operations = 0;
  Callback plan_next;
  plan_next.on_batch_end = [&](TrainingEvent& event) {
    if (event.batch == 0) count_operations(plan.at("replica"));
    if (event.batch == 1) operations = counted_operations();
    if (event.batch > 0)
      stall_operation(plan.at("replica"), static_cast<std::uint64_t>(kInBackward * static_cast<double>(operations)), plan.at("ms"));
  };
  const History history = model.fit(data.x, data.y, traced_fit(folder, kSteps, 0).batch_size(kBatch).callback(plan_next));
  fmt::print("4 GPUs, global batch {}, {} steps: loss {:.4f}\n", kBatch, kSteps, history.last("loss"));
  fmt::print("All replicas have the same weights: {}\n", model.checksums().front() == model.checksums().back() ? "yes" : "no");
}

std::vector<ExamAnswer> answers(const ExamPlan& plan, const ExamFiles& files) {
  const int replica = plan.at("replica");
  return {{"replica", std::to_string(replica)},
          {"ms", digits(files.median_ms("backward", replica) - files.median_of_others("backward", replica)), 0.25}};
}

}  // namespace late_backward

Exam late_backward_exam() {
  return {"11-all-all-reduces-are-long", "late-backward",    late_backward::plant,
          late_backward::machine,        late_backward::run, late_backward::answers};
}

}  // namespace lockstep::cli
