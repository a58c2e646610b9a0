// The link of one GPU is slow, as that of a card whose slot has four lanes of sixteen. Planted in the machine.
#include <fmt/format.h>

#include "cli/exam/runs/exam_files.h"
#include "cli/exam/runs/runs.h"

namespace lockstep::cli {
namespace slow_link {

constexpr int kSteps = 10;
constexpr std::int64_t kBatch = 128;

void plant(ExamPlan& plan) {
  plan.whole("replica", 0, 3);
  plan.real("times", 4, 9, 0.25);
}

ExamMachine machine(const ExamPlan& plan) {
  return t4s(4, fmt::format(R"("slow": {{"gpu": {}, "link": {}}})", plan.at("replica"), plan["times"]));
}

void run(const ExamPlan& plan, const std::filesystem::path& folder) {
  const Pictures data = make_pictures(kBatch * kSteps, 28, plan.seed());
  const MirroredStrategy strategy(list_gpus(), RingAllReduce());
  Model model = strategy.scope([&] {
    Sequential network = small_network(plan.seed(), 16, 128);
    network.compile(Adam(1e-3F), SparseCategoricalCrossentropy().from_logits());
    return network;
  });
  const History history = model.fit(data.x, data.y, traced_fit(folder, kSteps, 2).batch_size(kBatch));
  fmt::print("4 GPUs in a ring, global batch {}, {} steps: loss {:.4f}\n", kBatch, kSteps, history.last("loss"));
  fmt::print("All replicas have the same weights: {}\n", model.checksums().front() == model.checksums().back() ? "yes" : "no");
}

// How long a message of the largest bucket takes: over the links of this replica, and over the others.
struct Messages {
  double slow = 0, others = 0;
};
Messages messages(const ExamFiles& files, int replica) {
  std::vector<double> slow, others;
  for (const TraceSlice& slice : files.slices()) {
    if (slice.phase != "all-reduce" || !slice.facts.contains("to") || slice.facts.at("bucket") != 0 || slice.step < 2) continue;
    const bool its = slice.facts.at("to") == replica || slice.facts.at("from").at(0) == replica;
    (its ? slow : others).push_back(slice.ms);
  }
  return {median(slow), median(others)};
}

std::vector<ExamAnswer> answers(const ExamPlan& plan, const ExamFiles& files) {
  const Messages found = messages(files, plan.at("replica"));
  return {{"replica", std::to_string(plan.at("replica"))}, {"times", digits(found.slow / found.others), 0.2}};
}

}  // namespace slow_link

Exam slow_link_exam() {
  return {"08-the-ring-waits", "slow-link", slow_link::plant, slow_link::machine, slow_link::run, slow_link::answers};
}

}  // namespace lockstep::cli
