// Batch normalisation takes each replica's samples for itself: with few of them the statistics are noise. It is the layer's default, as in
// Keras.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/exam/runs/exam_files.h"
#include "cli/exam/runs/runs.h"

namespace lockstep::cli {
namespace local_statistics {

constexpr int kSteps = 8;

void plant(ExamPlan& plan) {
  const int replicas = plan.whole("replicas", 3, 6);
  plan.whole("batch", 2 * replicas + 1, 6 * replicas - 1);
}

ExamMachine machine(const ExamPlan& plan) { return t4s(plan.at("replicas")); }

Model make_model(const Strategy& strategy, const ExamPlan& plan) {
  return strategy.scope([&] {
    Sequential network({Conv2D(8, 3), BatchNormalization(), MaxPooling2D(2), Flatten(), Dense(10)});
    network.set_seed(plan.seed());
    network.compile(SGD(0.02F), SparseCategoricalCrossentropy().from_logits());
    return network;
  });
}

void run(const ExamPlan& plan, const std::filesystem::path& folder) {
  const std::int64_t batch = plan.at("batch");
  const Pictures data = make_pictures(batch * kSteps, 14, plan.seed());
  const auto print_loss = [](TrainingEvent& event) {
    fmt::print("step {}: mean loss of the steps so far {:.5f}\n", event.batch + 1, event.logs->at("loss"));
  };
  Callback print;
  print.on_batch_end = print_loss;
  FitOptions usual;
  usual.verbose(Verbose::silent).shuffle(false).batch_size(batch).callback(print);
  fmt::print("1 GPU, batch {}:\n", batch);
  make_model(OneDeviceStrategy(), plan).fit(data.x, data.y, usual);
  fmt::print("{} GPUs, the same first weights, the same batches:\n", plan.at("replicas"));
  make_model(MirroredStrategy(), plan).fit(data.x, data.y, traced_fit(folder, kSteps, kSteps).batch_size(batch).callback(print));
}

std::vector<ExamAnswer> answers(const ExamPlan& /*plan*/, const ExamFiles& files) {
  int least = files.phase("shard", files.steps().front(), 0).facts.at("global batch");
  for (int r = 0; r < files.replicas(); ++r)
    least = std::min<int>(least, files.phase("shard", files.steps().front(), r).facts.at("samples"));
  const std::vector<std::string> losses = files.logged("step 1: mean loss of the steps so far ([0-9.]+)");
  return {{"samples", std::to_string(least)}, {"difference", digits(std::abs(std::stod(losses.back()) - std::stod(losses.front()))), 0.02}};
}

}  // namespace local_statistics

Exam local_statistics_exam() {
  return {"06-not-the-same-from-the-start", "local-statistics",    local_statistics::plant,
          local_statistics::machine,        local_statistics::run, local_statistics::answers};
}

}  // namespace lockstep::cli
