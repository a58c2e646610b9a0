#include "cli/run/run_common.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "cli/command.h"
#include "cli/put.h"
#include "cli/run/run_report.h"
#include "cli/run/workers.h"
#include "lockstep/flipped_bit.h"

namespace lockstep::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;   // the signal's number
std::atomic<std::int64_t> interrupted_at{0};  // in milliseconds

// The first signal asks training to stop, a later one ends the program. A terminal and the launcher of a worker may both send the same
// Ctrl-C.
void on_signal(int number) {
  constexpr std::int64_t kSameMs = 500, kMs = 1000, kNsInMs = 1000000;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t ms = now.tv_sec * kMs + now.tv_nsec / kNsInMs;
  if (interrupted == 0) {
    interrupted = number;
    interrupted_at = ms;
  } else if (ms - interrupted_at > kSameMs) {
    std::signal(number, SIG_DFL);
    std::raise(number);
  }
}

// Ctrl-C, SIGTERM and SIGHUP end training after the batch; a second one ends the program.
class InterruptGuard {
 public:
  InterruptGuard() {
    interrupted = 0;
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      previous_[i] = std::signal(kSignals[i], on_signal);
      if (kSignals[i] == SIGHUP && previous_[i] == SIG_IGN) std::signal(SIGHUP, SIG_IGN);  // nohup
    }
  }
  ~InterruptGuard() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) std::signal(kSignals[i], previous_[i]);
  }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<void (*)(int), kSignals.size()> previous_{};
};

const char* signal_name() { return interrupted == SIGTERM ? "SIGTERM" : interrupted == SIGHUP ? "SIGHUP" : "Ctrl-C"; }

CrossDeviceOpsName chosen(const RunOptions& options) { return CrossDeviceOpsName{options.all_reduce}; }

std::string json_line(int epoch, const Logs& logs) {
  std::string line = fmt::format("{{\"epoch\": {}", epoch + 1);
  for (const auto& [name, value] : logs) line += fmt::format(", \"{}\": {:.6g}", name, value);
  return line + "}";
}

using Clock = std::chrono::steady_clock;
const Clock::time_point program_start = Clock::now();

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Also measures the time from the start of the program to the end of the first step.
Callback stop_on_interrupt(double& first_step) {
  Callback callback;
  callback.should_stop = [&first_step] {
    if (first_step == 0) first_step = seconds_since(program_start);
    return interrupted != 0;
  };
  return callback;
}

Callback print_json() {
  Callback callback;
  callback.on_epoch_end = [](TrainingEvent& event) { put(json_line(event.epoch, *event.logs) + "\n"); };
  return callback;
}

// Prints where training continues from a backup.
Callback print_resumed(const BackupAndRestore& backup, bool json) {
  Callback callback;
  callback.on_train_begin = [=](TrainingEvent& event) {
    if (!backup.restored()) return;
    if (json)
      fmt::print("{{\"resumed\": {{\"epoch\": {}, \"batch\": {}}}}}\n", event.epoch + 1, event.batch + 1);
    else
      fmt::print("Resumed at epoch {}{}.\n", event.epoch + 1, event.batch > 0 ? fmt::format(", batch {}", event.batch + 1) : "");
    std::fflush(stdout);
  };
  return callback;
}

bool is_weights_file(const std::string& name) { return name.ends_with(".weights.h5"); }

// --learning-rate replaces the rate that was saved with the model.
void set_rate(const RunOptions& options, const Model& model) {
  if (options.learning_rate > 0) model.optimizer().set_learning_rate(static_cast<float>(options.learning_rate));
}

void print_loaded(const RunOptions& options, const Model& model) {
  if (!options.json) fmt::print("Loaded {}: {} steps so far.\n", options.load, model.iterations());
}

bool all_equal(const std::vector<std::uint64_t>& checksums) {
  return std::all_of(checksums.begin(), checksums.end(), [&](std::uint64_t sum) { return sum == checksums.front(); });
}

// Compares the checksums: one for each replica, or one in all where replicas share a copy.
std::string compare_copies(const std::vector<std::uint64_t>& checksums, int replicas) {
  const std::string first = fmt::format("checksum {:016x}", checksums.front());
  if (checksums.size() < static_cast<std::size_t>(replicas))
    return fmt::format("{} replicas, one shared copy: nothing to compare; {}", replicas, first);
  if (all_equal(checksums)) return fmt::format("{} replica{} bit-identical: {}", replicas, replicas == 1 ? "" : "s", first);
  std::string others;
  for (std::size_t r = 1; r < checksums.size(); ++r)
    if (checksums[r] != checksums.front()) others += fmt::format(", on replica {} {:016x}", r, checksums[r]);
  return fmt::format("{} replicas DIFFER: {} on replica 0{}", replicas, first, others);
}

std::string title_of(const std::string& workload) {
  return workload == "mnist" ? "MNIST" : workload == "reuters" ? "Reuters newswires" : "Cats and dogs";
}

void print_trace(const RunOptions& options, const Model& model) {
  fmt::print("\n{}\n", model.trace().summary());
  for (const std::string& path : options.trace) {
    const bool page = path.ends_with(".html") || path.ends_with(".htm");
    fmt::print("Trace: {} ({})\n", path, page ? "open it in a browser" : "open it at ui.perfetto.dev");
  }
}

struct Times {
  double whole = 0;       // training, saving and validation
  double first_step = 0;  // from the start of the program
  bool modelled = false;  // the steps' times are those of a modelled machine
};

void report(const RunOptions& options, const Model& model, const History& history, const Times& times) {
  const std::vector<std::uint64_t> checksums = model.checksums();
  const double seconds = times.whole;
  const StepTimes phases = step_times(replica_reports(model), times.modelled ? 0 : history.training_seconds);
  const bool one_copy = checksums.size() < static_cast<std::size_t>(model.strategy().num_replicas_in_sync());
  const char* identical = one_copy ? "null" : all_equal(checksums) ? "true" : "false";
  if (options.json) {
    std::string sums;
    for (std::uint64_t sum : checksums) sums += fmt::format("{}\"{:016x}\"", sums.empty() ? "" : ", ", sum);
    fmt::print(
        "{{\"summary\": {{\"replicas\": {}, \"all_reduce\": \"{}\", \"val_accuracy\": {:.6g}, \"seconds\": {:.3f}, \"steps\": {}, "
        "\"training_seconds\": {:.6f}, \"samples_per_second\": {:.6g}, \"replicas_identical\": {}, \"first_step_seconds\": {:.3f}, "
        "\"phase_seconds\": {}, \"phases_did\": {}, \"checksums\": [{}]}}}}\n",
        model.strategy().num_replicas_in_sync(), model.strategy().cross_device_ops(),
        history.history.count("val_accuracy") ? history.last("val_accuracy") : 0.0, seconds, history.steps, history.training_seconds,
        history.training_seconds > 0 ? static_cast<double>(history.samples) / history.training_seconds : 0.0, identical, times.first_step,
        json_of_phases(phases), json_of_work(replica_reports(model)), sums);
    return;
  }
  if (interrupted) fmt::print("Stopped by {} after {} steps.\n", signal_name(), model.iterations());
  if (history.history.count("val_accuracy")) {
    const std::vector<double>& values = history.history.at("val_accuracy");
    const auto best = std::max_element(values.begin(), values.end());
    fmt::print("Test accuracy {:.2f} % after {} epoch{}{}, {:.1f} s; first step after {:.1f} s.\n", 100 * values.back(),
               history.epoch.size(), history.epoch.size() == 1 ? "" : "s",
               *best > values.back() ? fmt::format(" (best {:.2f} % after {})", 100 * *best, best - values.begin() + 1) : "", seconds,
               times.first_step);
  }
  fmt::print("{}\n", compare_copies(checksums, model.strategy().num_replicas_in_sync()));
  fmt::print("\n{}", table_of_work(replica_reports(model)));
  if (!options.trace.empty())
    print_trace(options, model);  // has the same table for the recorded steps
  else
    fmt::print("\n{}", table_of_phases(phases));
  fmt::print("\n{}", what_next(options, phases));
}

}  // namespace

namespace {

// Workers on one machine share its GPUs where there are enough; else each uses the GPUs it sees, and NCCL may refuse.
Strategy strategy_of_workers(const RunOptions& options, const DataFingerprint& data) {
  if (options.logical > 0) throw Error("--logical splits a GPU of one process. Fix: give several workers GPUs of their own with --gpus");
  if (!options.all_reduce.empty() && options.all_reduce != "nccl")
    throw Error("several workers are connected by NCCL. Fix: --all-reduce nccl");
  std::vector<GpuId> gpus = list_gpus();
  const LocalWorkers here = local_workers();
  const auto present = static_cast<int>(gpus.size());
  const int wanted = options.gpus > 0 ? options.gpus : std::max(1, present / here.count);
  const int first = present >= wanted * here.count ? wanted * here.index : 0;
  if (first + wanted > present) throw Error(fmt::format("--gpus {}: this machine has {}", wanted, present));
  return MultiWorkerMirroredStrategy(std::vector<GpuId>(gpus.begin() + first, gpus.begin() + first + wanted), in_common(options, data()));
}

// One replica and nothing to sum: the reference for the other strategies.
Strategy one_device(const RunOptions& options) {
  if (options.gpus > 1 || options.logical > 1 || options.devices.size() > 1)
    throw Error("--strategy one-device uses one GPU. Fix: leave out --gpus and --logical, or choose --strategy mirrored");
  return OneDeviceStrategy(options.devices.empty() ? "gpu:0" : options.devices.front());
}

Strategy strategy_of(const RunOptions& options, const DataFingerprint& data) {
  if (options.strategy == "one-device") return one_device(options);
  // Sets the number of virtual GPUs, which the virtual GPU reads at its first use; real GPUs ignore it.
  if (options.gpus > 0) setenv("LOCKSTEP_SIM_GPUS", std::to_string(options.gpus).c_str(), 0);
  const bool workers = MultiWorkerMirroredStrategy::started_with_workers();
  if (!workers && options.strategy == "multi-worker")
    throw Error("--strategy multi-worker needs workers. Fix: start them with --workers 2, or with mpirun");
  if (workers && options.strategy == "mirrored")
    throw Error("--strategy mirrored is for one process. Fix: --strategy multi-worker for several workers");
  if (workers) return strategy_of_workers(options, data);
  if (!options.devices.empty()) return MirroredStrategy(options.devices, chosen(options));
  std::vector<GpuId> gpus = list_gpus();
  if (options.gpus > static_cast<int>(gpus.size()))
    throw Error(
        fmt::format("--gpus {}: this machine has {}. Fix: --logical {} splits one GPU instead", options.gpus, gpus.size(), options.gpus));
  if (options.gpus > 0) gpus.resize(static_cast<std::size_t>(options.gpus));
  const bool split = options.logical > 0 || (options.gpus == 0 && gpus.size() == 1);
  if (!split) return MirroredStrategy(gpus, chosen(options));

  const int parts = options.logical > 0 ? options.logical : 2;
  const std::int64_t share = describe_gpu(0).memory_mib / parts;
  const std::int64_t limit = options.memory_limit_mib > 0 ? options.memory_limit_mib : std::min(options.usual_limit_mib, share);
  const std::vector<GpuId> logical = split_gpu(0, std::vector<std::int64_t>(static_cast<std::size_t>(parts), limit));
  if (!options.json)
    fmt::print("{} Physical GPU{}, {} Logical GPU{}, {} MiB each\n", gpus.size(), gpus.size() == 1 ? "" : "s", parts, parts == 1 ? "" : "s",
               limit);
  return MirroredStrategy(logical, chosen(options));
}

}  // namespace

Strategy make_strategy(const RunOptions& options, const DataFingerprint& data) {
  Strategy strategy = strategy_of(options, data);
  strategy.set_step_options(step_options(options.step));
  return strategy;
}

std::int64_t global_batch(const RunOptions& options, const Strategy& strategy, std::int64_t per_replica) {
  if (options.batch > 0) return options.batch;
  return (options.batch_per_replica > 0 ? options.batch_per_replica : per_replica) * strategy.num_replicas_in_sync();
}

Model make_or_load(const RunOptions& options, const Strategy& strategy, const std::function<Model()>& make, const Shape& sample) {
  return strategy.scope([&] {
    if (options.load.empty()) {
      Model model = make();
      if (!options.step.flip_bit.empty()) model.build(sample);  // names its variables
      return model;
    }
    if (!is_weights_file(options.load)) {
      Model model = load_model(options.load);
      model.set_seed(options.seed);  // for random layers; the weights stay
      model.check_mirrored(options.check_mirrored);
      set_rate(options, model);
      print_loaded(options, model);
      return model;
    }
    Model model = make();
    model.build(sample);
    model.load_weights(options.load);
    set_rate(options, model);
    print_loaded(options, model);
    return model;
  });
}

namespace {

// After Ctrl-C the model is saved even without --save, so that nothing learnt is lost.
void save_after_training(const RunOptions& options, const Model& model) {
  std::string path = options.save;
  if (path.empty() && interrupted && this_worker() == 0) path = options.workload + "-interrupted.keras";
  if (path.empty()) return;
  model.save(path);
  if (options.json) return;
  fmt::print("Saved {} after {} steps.{}\n", path, model.iterations(),
             interrupted ? fmt::format(" To continue: lockstep run {} --load {}", options.workload, path) : "");
}

// Why --flip-bit flips nothing, which would let a check pass without a test; empty: it does.
std::string why_no_flipped_bit(const RunOptions& options, const Model& model, bool trained) {
  if (options.step.flip_bit.empty()) return "";
  const FlippedBit bit = parse_flipped_bit(options.step.flip_bit);
  const int replicas = model.strategy().num_replicas_in_sync();
  if (trained) return bit.step > model.iterations() ? fmt::format("training ended after step {}", model.iterations()) : "";
  if (bit.replica >= replicas) return fmt::format("there is no replica {} among {}", bit.replica, replicas);
  if (!model.built()) return "";
  if (model.strategy().cross_device_ops() == "one-copy") return "one shared copy: no replica can differ";
  std::string names;
  for (const NamedArray& weight : model.get_weights()) {
    if (weight.name == bit.variable) return "";
    names += (names.empty() ? "" : ", ") + weight.name;
  }
  return fmt::format("the model has no variable '{}'; its variables are {}", bit.variable, names);
}

// Prints an error at once, because destructors may wait for a GPU that never answers. The program ends within another deadline even then.
template <typename Function>
auto print_errors_first(Function function) {
  try {
    return function();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lockstep: %s\n", error.what());
    std::fflush(stderr);
    const char* text = std::getenv("LOCKSTEP_DEADLINE");
    const double seconds = text != nullptr ? std::atof(text) : 0;
    constexpr double kUsual = 120;
    std::thread([left = std::chrono::duration<double>(seconds > 0 && seconds < kUsual ? seconds : kUsual)] {
      std::this_thread::sleep_for(left);
      std::_Exit(1);
    }).detach();
    throw ReportedError(error.what());
  }
}

void print_restart(const RunOptions& options, const std::string& why, int epoch) {
  if (options.json)
    fmt::print("{}\n", nlohmann::json{{"restarted", {{"epoch", epoch + 1}, {"why", options.load + " " + why}}}}.dump());
  else
    fmt::print("{} {}: epoch {} starts over.\n", options.load, why, epoch + 1);
}

int train_with(const RunOptions& options, Model& model, FitOptions fit, const TraceOptions& trace,
               const std::function<History(const FitOptions&)>& run) {
  Times times;
  const char* clock = std::getenv("LOCKSTEP_SIM_CLOCK");
  times.modelled = clock != nullptr && std::string(clock) == "model";
  fit.callback(stop_on_interrupt(times.first_step));
  if (options.verbose && !options.json) fit.callback(print_replicas());
  std::optional<BackupAndRestore> backup;
  if (!options.backup.empty()) {
    backup.emplace(options.backup).delete_checkpoint(false);  // removed after the model is saved
    if (options.backup_batches > 0) backup->save_freq(options.backup_batches);
    fit.callback(*backup).callback(print_resumed(*backup, options.json));
  }
  TraceOptions recording = trace;
  recording.steps(options.trace_steps).inspect(options.trace_inspect).title(title_of(options.workload));
  for (const std::string& path : options.trace) fit.trace(path, recording);
  if (options.json) fit.verbose(Verbose::silent).callback(print_json());
  const auto no_bit = [&](bool trained) {
    const std::string why = why_no_flipped_bit(options, model, trained);
    if (!why.empty()) fmt::print(stderr, "--flip-bit: {}\n", why);
    return !why.empty();
  };
  constexpr int kUsageError = 2;
  if (no_bit(false)) return kUsageError;
  const InterruptGuard guard;
  const Clock::time_point begin = Clock::now();
  const History history = print_errors_first([&] { return run(fit); });
  save_after_training(options, model);
  if (backup) backup->remove();
  times.whole = seconds_since(begin);
  report(options, model, history, times);
  if (!all_equal(model.checksums())) return 1;
  if (no_bit(true)) return kUsageError;
  constexpr int kSignalled = 128;  // plus its number, as a shell reports it
  return interrupted ? kSignalled + interrupted : 0;
}

}  // namespace

Array a_tenth(const Array& all) {
  constexpr std::int64_t kShare = 10;
  return all.slice(0, std::max<std::int64_t>(1, all.samples() / kShare));
}

void print_source(const std::string& source, bool drawn) {
  fmt::print("{}\n", nlohmann::json{{"data", {{"source", source}, {"drawn", drawn}}}}.dump());
}

void resume(const RunOptions& options, const Model& model, const Array& x, const Array& y, std::int64_t batch, int epochs,
            FitOptions& fit) {
  TrainingPlace begin;
  begin.samples = x.samples();
  begin.batch_size = batch;
  begin.seed = options.seed;
  begin.data = data_name(x, y);
  const std::int64_t steps = (begin.samples + batch - 1) / batch;
  std::string why;
  if (const std::optional<TrainingPlace> saved = model.place()) {
    const std::string other = difference(*saved, begin);
    if (!other.empty()) why = "was saved in training with " + other;
    begin.epoch = saved->epoch;
    begin.batch = other.empty() ? saved->batch : 0;
  } else {
    begin.epoch = static_cast<int>(model.iterations() / steps);
    if (model.iterations() % steps != 0) why = "does not record its position in an epoch (files of Keras and of older versions do not)";
  }
  if (!why.empty()) print_restart(options, why, begin.epoch);
  fit.initial_epoch(begin.epoch).initial_batch(begin.batch).epochs(begin.epoch + epochs);
}

int train(const RunOptions& options, Model& model, const Array& x, const Array& y, const FitOptions& fit, const TraceOptions& trace) {
  return train_with(options, model, fit, trace, [&](const FitOptions& all) { return model.fit(x, y, all); });
}

int train(const RunOptions& options, Model& model, const Dataset& data, const FitOptions& fit, const TraceOptions& trace) {
  return train_with(options, model, fit, trace, [&](const FitOptions& all) { return model.fit(data, all); });
}

}  // namespace lockstep::cli
