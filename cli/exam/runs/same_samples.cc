// Each replica's samples come from an input pipeline of its own, and two of these shuffle with the same seed. Planted by the pipelines'
// seeds.
#include <fmt/format.h>

#include <cstring>

#include "cli/exam/runs/exam_files.h"
#include "cli/exam/runs/runs.h"

namespace lockstep::cli {
namespace same_samples {

constexpr int kSteps = 8;
constexpr std::int64_t kSide = 14;

void plant(ExamPlan& plan) {
  const int replicas = plan.whole("replicas", 4, 6);
  const int first = plan.whole("first", 0, replicas - 2);
  plan.whole("second", first + 1, replicas - 1);
  plan.whole("per replica", 7, 20);
}

ExamMachine machine(const ExamPlan& plan) { return t4s(plan.at("replicas")); }

// Batch after batch of all pipelines side by side: replica r gets those of pipeline r.
Pictures side_by_side(const ExamPlan& plan, const Pictures& data) {
  const std::int64_t replicas = plan.at("replicas"), share = plan.at("per replica");
  Pictures batches{Array(Shape{replicas * share * kSteps, kSide, kSide, 1}), Array(Shape{replicas * share * kSteps}, DType::int32)};
  const Dataset all = Dataset::from_arrays(data.x, data.y);
  for (std::int64_t r = 0; r < replicas; ++r) {
    const std::int64_t number = r == plan.at("second") ? plan.at("first") : r;  // the fault
    const auto pipeline = all.shuffle(data.x.samples(), plan.seed() + static_cast<std::uint64_t>(number)).batch(share, true).iterate();
    Batch batch;
    for (int step = 0; step < kSteps && pipeline->next(batch); ++step) {
      const std::int64_t at = (step * replicas + r) * share;
      std::memcpy(batches.x.data<float>() + at * kSide * kSide, batch.x.raw(), batch.x.bytes());
      std::memcpy(batches.y.data<std::int32_t>() + at, batch.y.raw(), batch.y.bytes());
    }
  }
  return batches;
}

void run(const ExamPlan& plan, const std::filesystem::path& folder) {
  const int replicas = plan.at("replicas");
  const std::int64_t batch = std::int64_t{replicas} * plan.at("per replica");
  const Pictures data = side_by_side(plan, make_pictures(2 * batch * kSteps, kSide, plan.seed()));
  const MirroredStrategy strategy;
  Model model = strategy.scope([&] {
    Sequential network = small_network(plan.seed(), 8, 32);
    network.compile(Adam(1e-3F), SparseCategoricalCrossentropy().from_logits(), {"accuracy"});
    return network;
  });
  const History history = model.fit(data.x, data.y, traced_fit(folder, kSteps, kSteps).batch_size(batch));
  fmt::print("{} GPUs, an input pipeline each, global batch {}, {} steps: loss {:.4f}, accuracy {:.4f}\n", replicas, batch, kSteps,
             history.last("loss"), history.last("accuracy"));
  fmt::print("All replicas have the same weights: {}\n", model.checksums().front() == model.checksums().back() ? "yes" : "no");
}

// The first two replicas whose samples have the same losses in every step.
std::vector<ExamAnswer> answers(const ExamPlan& /*plan*/, const ExamFiles& files) {
  const auto equal = [&](int a, int b) {
    for (const std::int64_t step : files.steps()) {
      if (files.phase("local gradients", step, a).facts.at("losses") != files.phase("local gradients", step, b).facts.at("losses"))
        return false;
    }
    return true;
  };
  const nlohmann::json& shard = files.phase("shard", files.steps().front(), 0).facts;
  const int different = shard.at("global batch").get<int>() - shard.at("samples").get<int>();
  for (int a = 0; a < files.replicas(); ++a) {
    for (int b = a + 1; b < files.replicas(); ++b) {
      if (equal(a, b)) return {{"replicas", fmt::format("{},{}", a, b)}, {"samples", std::to_string(different)}};
    }
  }
  throw Error("no two replicas of this exam have the same samples");
}

}  // namespace same_samples

Exam same_samples_exam() {
  return {"05-a-smaller-batch", "same-samples", same_samples::plant, same_samples::machine, same_samples::run, same_samples::answers};
}

}  // namespace lockstep::cli
