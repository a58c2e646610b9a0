// The exams, and what their programs share.
#pragma once

#include "cli/exam/runs/exam.h"
#include "lockstep/lockstep.h"

namespace lockstep::cli {

Exam slow_gpu_exam();
Exam dead_worker_exam();
Exam different_weights_exam();
Exam local_mean_exam();
Exam same_samples_exam();
Exam local_statistics_exam();
Exam local_metric_exam();
Exam slow_link_exam();
Exam small_buckets_exam();
Exam small_rate_exam();
Exam late_backward_exam();
Exam slow_input_exam();

// Grey pictures of ten kinds, a pattern each with noise on it, and their labels.
struct Pictures {
  Array x, y;
};
Pictures make_pictures(std::int64_t samples, std::int64_t side, std::uint64_t seed);

// A machine of T4s in the model clock. `more` is put into its JSON, as "slow": {...}
ExamMachine t4s(int gpus, const std::string& more = "");

// A convolution, pooling and two dense layers; `learn` compiles it.
Sequential small_network(std::uint64_t seed, int filters, int hidden);

// Trains silently, and writes trace.json and trace.html of the first `steps` steps into the folder; `inspected` of them with norms, losses
// and checksums.
FitOptions traced_fit(const std::filesystem::path& folder, int steps, int inspected);

// Of a step's log: the loss of replica r's samples, and how many there were.
struct StepLoss {
  double sum = 0;
  std::int64_t samples = 0;
  double mean() const { return samples > 0 ? sum / static_cast<double>(samples) : 0; }
};
// What each replica's losses were since the last call.
class StepLosses {
 public:
  std::vector<StepLoss> of(const Model& model);

 private:
  std::vector<ReplicaReport> before_;
};

double norm_of(const std::vector<NamedArray>& gradients);

}  // namespace lockstep::cli
