// One of the workers is killed in the middle of a step, as by the system when memory is short. Planted by LOCKSTEP_SIM_FAULT.
#include <fmt/format.h>

#include <array>

#include "cli/command.h"
#include "cli/exam/runs/exam_files.h"
#include "cli/exam/runs/runs.h"
#include "cli/run/workers.h"

namespace lockstep::cli {
namespace dead_worker {

constexpr std::int64_t kSteps = 40, kPerReplica = 8;

void plant(ExamPlan& plan) {
  plan.whole("workers", 3, 4);
  plan.whole("worker", 0, plan.at("workers") - 1);
  plan.whole("collective", 12, 60);
}

ExamMachine machine(const ExamPlan& plan) {
  ExamMachine machine = t4s(4);
  machine.model_clock = false;
  machine.environment = {{"LOCKSTEP_SIM_FAULT", fmt::format("kill-peer:{}:device={}", plan.at("collective"), plan.at("worker"))},
                         {"LOCKSTEP_DEADLINE", "20"}};
  return machine;
}

void train(const ExamPlan& plan, int worker) {
  const std::int64_t batch = kPerReplica * plan.at("workers");
  const Pictures data = make_pictures(batch * kSteps, 14, plan.seed());
  const MultiWorkerMirroredStrategy strategy({list_gpus().at(static_cast<std::size_t>(worker))});
  Model model = strategy.scope([&] {
    Sequential network = small_network(plan.seed(), 8, 32);
    network.compile(Adam(1e-3F), SparseCategoricalCrossentropy().from_logits());
    return network;
  });
  Callback print;
  print.on_batch_end = [](TrainingEvent& event) { fmt::print(stderr, "step {} done\n", event.batch + 1); };
  FitOptions fit;
  fit.verbose(Verbose::silent).shuffle(false).batch_size(batch).callback(print);
  try {
    model.fit(data.x, data.y, fit);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    std::fflush(stderr);
    throw ReportedError(error.what());
  }
}

// The launcher starts this program again for each worker.
void run(const ExamPlan& plan, const std::filesystem::path& folder) {
  if (MultiWorkerMirroredStrategy::started_with_workers()) return train(plan, local_workers().index);
  std::array<std::string, 7> words = {"lockstep", "exam", "2", "--seed", std::to_string(plan.drawn_from()), "--inside", folder.string()};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  launch_workers(plan.at("workers"), arguments.data());
}

std::vector<ExamAnswer> answers(const ExamPlan& plan, const ExamFiles& files) {
  const int worker = plan.at("worker");
  const std::vector<std::string> steps = files.logged(fmt::format(R"(\[worker {}\] step (\d+) done)", worker));
  return {{"worker", std::to_string(worker)}, {"step", steps.back()}};
}

}  // namespace dead_worker

Exam dead_worker_exam() {
  return {"02-it-stopped", "dead-worker", dead_worker::plant, dead_worker::machine, dead_worker::run, dead_worker::answers};
}

}  // namespace lockstep::cli
