// Gradients are summed in buckets of some bytes, so that each variable is an all-reduce of its own. Planted by the option of the step.
#include <fmt/format.h>

#include "cli/exam/runs/exam_files.h"
#include "cli/exam/runs/runs.h"

namespace lockstep::cli {
namespace small_buckets {

constexpr int kSteps = 10;
constexpr std::int64_t kBatch = 64;

void plant(ExamPlan& plan) {
  plan.whole("layers", 9, 18);
  plan.whole("width", 48, 96);
  plan.whole("bytes", 16, 64);
}

ExamMachine machine(const ExamPlan& /*plan*/) { return t4s(4); }

void run(const ExamPlan& plan, const std::filesystem::path& folder) {
  const Pictures data = make_pictures(kBatch * kSteps, 14, plan.seed());
  const MirroredStrategy strategy;
  StepOptions options;
  options.bucket_bytes = options.first_bucket_bytes = plan.at("bytes");
  strategy.set_step_options(options);
  Model model = strategy.scope([&] {
    std::vector<Layer> layers = {Flatten()};
    for (int i = 0; i < plan.at("layers"); ++i) layers.emplace_back(Dense(plan.at("width"), "relu"));
    layers.emplace_back(Dense(10));
    Sequential network(layers);
    network.set_seed(plan.seed());
    network.compile(Adam(1e-3F), SparseCategoricalCrossentropy().from_logits());
    return network;
  });
  const History history = model.fit(data.x, data.y, traced_fit(folder, kSteps, 2).batch_size(kBatch));
  fmt::print("4 GPUs, global batch {}, {} parameters, {} steps: loss {:.4f}\n", kBatch, model.count_params(), kSteps, history.last("loss"));
}

std::vector<ExamAnswer> answers(const ExamPlan& /*plan*/, const ExamFiles& files) {
  int buckets = 0;
  double bytes = 0;
  for (const TraceSlice& slice : files.slices()) {
    if (slice.phase != "all-reduce" || slice.depth != 0 || slice.step != files.steps().back() || slice.replica != 0) continue;
    ++buckets;
    bytes += slice.facts.at("bytes").get<double>();
  }
  if (buckets == 0) throw Error("the exam's trace has no all-reduce");
  return {{"buckets", std::to_string(buckets)}, {"bytes", digits(bytes / buckets), 0.05}};
}

}  // namespace small_buckets

Exam small_buckets_exam() {
  return {"09-a-small-model-crawls", "small-buckets",    small_buckets::plant,
          small_buckets::machine,    small_buckets::run, small_buckets::answers};
}

}  // namespace lockstep::cli
