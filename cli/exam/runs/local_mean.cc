// A loss that is divided by each replica's own samples instead of the global batch. Planted by weights of samples: the step divides by the
// global batch, so weights of replicas turn that into the mean of the replica.
#include <fmt/format.h>

#include <cmath>

#include "cli/exam/runs/exam_files.h"
#include "cli/exam/runs/runs.h"

namespace lockstep::cli {
namespace local_mean {

constexpr int kSteps = 8;

void plant(ExamPlan& plan) {
  plan.whole("replicas", 2, 6);
  plan.whole("per replica", 6, 16);
}

ExamMachine machine(const ExamPlan& plan) { return t4s(plan.at("replicas")); }

Model make_model(const Strategy& strategy, const ExamPlan& plan) {
  return strategy.scope([&] {
    Sequential network = small_network(plan.seed(), 8, 32);
    network.compile(SGD(0.02F), SparseCategoricalCrossentropy().from_logits());
    return network;
  });
}

void run(const ExamPlan& plan, const std::filesystem::path& folder) {
  const int replicas = plan.at("replicas");
  const std::int64_t batch = std::int64_t{replicas} * plan.at("per replica");
  const Pictures data = make_pictures(batch * kSteps, 14, plan.seed());
  Model alone = make_model(OneDeviceStrategy(), plan);
  const double loss = alone.train_on_batch(data.x.slice(0, batch), data.y.slice(0, batch)).at("loss");
  fmt::print("1 GPU, SGD at a rate of 0.02, batch {}, step 1: loss {:.4f}, norm of the gradient {:.4f}\n", batch, loss,
             norm_of(alone.get_gradients()));
  Array weights(Shape{data.x.samples()});
  for (std::int64_t i = 0; i < weights.size(); ++i) weights.data<float>()[i] = static_cast<float>(replicas);
  Model model = make_model(MirroredStrategy(), plan);
  fmt::print("{} GPUs, the same first weights, the same batches:\n", replicas);
  Callback print;
  double before = 0;
  print.on_batch_end = [&](TrainingEvent& event) {  // the log has the mean over the epoch so far
    const double sum = event.logs->at("loss") * static_cast<double>(event.batch + 1);
    fmt::print("step {}: loss {:.4f}\n", event.batch + 1, sum - before);
    before = sum;
  };
  model.fit(data.x, data.y, traced_fit(folder, kSteps, kSteps).batch_size(batch).sample_weight(weights).callback(print));
}

std::vector<ExamAnswer> answers(const ExamPlan& /*plan*/, const ExamFiles& files) {
  const double alone = std::stod(files.logged("norm of the gradient ([0-9.]+)").front());
  const double summed = files.phase("update", files.steps().front(), 0).facts.at("gradient norm");
  const double last = std::stod(files.logged("step [0-9]+: loss ([0-9.]+)").back());
  return {{"times", digits(summed / alone), 0.03}, {"loss", digits(last / std::round(summed / alone)), 0.002}};
}

}  // namespace local_mean

Exam local_mean_exam() {
  return {"04-steps-too-long", "local-mean", local_mean::plant, local_mean::machine, local_mean::run, local_mean::answers};
}

}  // namespace lockstep::cli
