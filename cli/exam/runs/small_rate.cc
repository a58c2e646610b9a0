// The global batch grew with the GPUs, and the learning rate stayed. Planted in the program.
#include <fmt/format.h>

#include "cli/exam/runs/exam_files.h"
#include "cli/exam/runs/runs.h"

namespace lockstep::cli {
namespace small_rate {

constexpr int kSamples = 768, kEpochs = 3;

void plant(ExamPlan& plan) {
  plan.whole("replicas", 4, 8);
  plan.real("rate", 0.02, 0.04, 0.001);
  plan.whole("batch", 8, 16);
  plan.whole("share", 12, 24);
}

ExamMachine machine(const ExamPlan& plan) { return t4s(plan.at("replicas")); }

void train(const Strategy& strategy, const ExamPlan& plan, const Pictures& data, std::int64_t batch, FitOptions fit) {
  Model model = strategy.scope([&] {
    Sequential network = small_network(plan.seed(), 4, 24);
    network.compile(SGD(static_cast<float>(plan["rate"])), SparseCategoricalCrossentropy().from_logits(), {"accuracy"});
    return network;
  });
  fmt::print("replicas: {}, global batch: {}, SGD, learning rate: {:g}\n", strategy.num_replicas_in_sync(), batch, plan["rate"]);
  Callback print;
  print.on_epoch_end = [](TrainingEvent& event) {
    fmt::print("  epoch {}: {} steps, loss {:.4f}, accuracy {:.4f}\n", event.epoch + 1, event.batch + 1, event.logs->at("loss"),
               event.logs->at("accuracy"));
  };
  fit.verbose(Verbose::silent).shuffle(false).steps_per_epoch(-1).epochs(kEpochs).batch_size(batch).callback(print);
  model.fit(data.x, data.y, fit);
}

void run(const ExamPlan& plan, const std::filesystem::path& folder) {
  const Pictures data = make_pictures(kSamples, 14, plan.seed());
  train(OneDeviceStrategy(), plan, data, plan.at("batch"), {});
  train(MirroredStrategy(), plan, data, std::int64_t{plan.at("replicas")} * plan.at("share"), traced_fit(folder, 6, 6));
}

std::vector<ExamAnswer> answers(const ExamPlan& /*plan*/, const ExamFiles& files) {
  const std::vector<std::string> batches = files.logged("global batch: ([0-9]+)");
  const double rate = std::stod(files.logged("learning rate: ([0-9.]+)").front());
  return {{"rate", digits(rate * std::stod(batches.back()) / std::stod(batches.front())), 0.02}};
}

}  // namespace small_rate

Exam small_rate_exam() {
  return {"10-an-epoch-teaches-less", "small-rate", small_rate::plant, small_rate::machine, small_rate::run, small_rate::answers};
}

}  // namespace lockstep::cli
