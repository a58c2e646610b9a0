// One of four GPUs computes slower than the others, as one does that is too hot. Planted in the machine.
#include <fmt/format.h>

#include "cli/exam/runs/exam_files.h"
#include "cli/exam/runs/runs.h"

namespace lockstep::cli {
namespace slow_gpu {

constexpr int kSteps = 12;
constexpr std::int64_t kBatch = 256;

void plant(ExamPlan& plan) {
  plan.whole("replica", 0, 3);
  plan.real("times", 1.8, 3.8, 0.1);
}

ExamMachine machine(const ExamPlan& plan) {
  return t4s(4, fmt::format(R"("slow": {{"gpu": {}, "kernels": {}}})", plan.at("replica"), plan["times"]));
}

void run(const ExamPlan& plan, const std::filesystem::path& folder) {
  const Pictures data = make_pictures(kBatch * kSteps, 28, plan.seed());
  const MirroredStrategy strategy;
  Model model = strategy.scope([&] {
    Sequential network = small_network(plan.seed(), 32, 128);
    network.compile(Adam(1e-3F), SparseCategoricalCrossentropy().from_logits(), {"accuracy"});
    return network;
  });
  const History history = model.fit(data.x, data.y, traced_fit(folder, kSteps, 2).batch_size(kBatch));
  fmt::print("4 GPUs, global batch {}, {} steps: loss {:.4f}, accuracy {:.4f}\n", kBatch, kSteps, history.last("loss"),
             history.last("accuracy"));
  fmt::print("All replicas have the same weights: {}\n", model.checksums().front() == model.checksums().back() ? "yes" : "no");
}

std::vector<ExamAnswer> answers(const ExamPlan& plan, const ExamFiles& files) {
  const int replica = plan.at("replica");
  const double times = files.median_ms("local gradients", replica) / files.median_of_others("local gradients", replica);
  return {{"replica", std::to_string(replica)}, {"times", digits(times), 0.1}};
}

}  // namespace slow_gpu

Exam slow_gpu_exam() { return {"01-hardly-faster", "slow-gpu", slow_gpu::plant, slow_gpu::machine, slow_gpu::run, slow_gpu::answers}; }

}  // namespace lockstep::cli
