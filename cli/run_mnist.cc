// Mirrored MNIST from end to end: data, devices, strategy, model, training, and what came out.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>

#include "lockstep/lockstep.h"
#include "run_options.h"

namespace lockstep::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;

// Ctrl-C ends training after the batch; a second one ends the program.
class InterruptGuard {
 public:
  InterruptGuard() {
    interrupted = 0;
    previous_ = std::signal(SIGINT, [](int) {
      interrupted = 1;
      std::signal(SIGINT, SIG_DFL);
    });
  }
  ~InterruptGuard() { std::signal(SIGINT, previous_); }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  void (*previous_)(int) = SIG_DFL;
};

constexpr std::int64_t kDefaultLimitMib = 1024;

CrossDeviceOpsName chosen(const RunOptions& options) { return CrossDeviceOpsName{options.all_reduce}; }

Strategy make_strategy(const RunOptions& options) {
  // A virtual machine has as many GPUs as it is told before its first use; real ones do not look at this.
  if (options.gpus > 0) setenv("LOCKSTEP_SIM_GPUS", std::to_string(options.gpus).c_str(), 0);
  if (!options.devices.empty()) return MirroredStrategy(options.devices, chosen(options));
  std::vector<GpuId> gpus = list_gpus();
  if (options.gpus > static_cast<int>(gpus.size()))
    throw Error(fmt::format("--gpus {}: this machine has {}; --logical {} splits one GPU instead", options.gpus, gpus.size(), options.gpus));
  if (options.gpus > 0) gpus.resize(static_cast<std::size_t>(options.gpus));
  const bool split = options.logical > 0 || (options.gpus == 0 && gpus.size() == 1);
  if (!split) return MirroredStrategy(gpus, chosen(options));

  const int parts = options.logical > 0 ? options.logical : 2;
  const std::int64_t limit = options.memory_limit_mib > 0 ? options.memory_limit_mib : kDefaultLimitMib;
  const std::vector<GpuId> logical = split_gpu(0, std::vector<std::int64_t>(static_cast<std::size_t>(parts), limit));
  if (!options.json)
    fmt::print("{} Physical GPU{}, {} Logical GPU{}, {} MiB each\n", gpus.size(), gpus.size() == 1 ? "" : "s", parts, parts == 1 ? "" : "s", limit);
  return MirroredStrategy(logical, chosen(options));
}

Sequential make_model(const RunOptions& options) {
  Sequential model({Conv2D(32, 3, "relu"), MaxPooling2D(2), Flatten(), Dense(128, "relu"), Dense(10)});
  model.set_seed(options.seed);
  model.compile(Adam(static_cast<float>(options.learning_rate)), SparseCategoricalCrossentropy().from_logits(), {"accuracy"});
  model.check_mirrored(options.check_mirrored);
  return model;
}

void use_a_tenth(Mnist& data) {
  data.x_train = data.x_train.slice(0, data.x_train.samples() / 10);
  data.y_train = data.y_train.slice(0, data.y_train.samples() / 10);
  data.x_test = data.x_test.slice(0, data.x_test.samples() / 10);
  data.y_test = data.y_test.slice(0, data.y_test.samples() / 10);
}

std::string json_line(int epoch, const Logs& logs) {
  std::string line = fmt::format("{{\"epoch\": {}", epoch + 1);
  for (const auto& [name, value] : logs) line += fmt::format(", \"{}\": {:.6g}", name, value);
  return line + "}";
}

Callback stop_on_interrupt() {
  Callback callback;
  callback.should_stop = [] { return interrupted != 0; };
  return callback;
}

Callback print_json() {
  Callback callback;
  callback.on_epoch_end = [](TrainingEvent& event) {
    fmt::print("{}\n", json_line(event.epoch, *event.logs));
    std::fflush(stdout);
  };
  return callback;
}

bool all_equal(const std::vector<std::uint64_t>& checksums) {
  return std::all_of(checksums.begin(), checksums.end(), [&](std::uint64_t sum) { return sum == checksums.front(); });
}

void report(const RunOptions& options, const Model& model, const History& history, double seconds) {
  const std::vector<std::uint64_t> checksums = model.checksums();
  const bool equal = all_equal(checksums);
  if (options.json) {
    std::string sums;
    for (std::uint64_t sum : checksums) sums += fmt::format("{}\"{:016x}\"", sums.empty() ? "" : ", ", sum);
    fmt::print("{{\"summary\": {{\"replicas\": {}, \"all_reduce\": \"{}\", \"val_accuracy\": {:.6g}, \"seconds\": {:.3f}, \"replicas_identical\": {}, \"checksums\": [{}]}}}}\n",
               checksums.size(), model.strategy().cross_device_ops(), history.history.count("val_accuracy") ? history.last("val_accuracy") : 0.0, seconds, equal, sums);
    return;
  }
  if (history.stopped) fmt::print("Stopped by Ctrl-C after {} steps.\n", model.iterations());
  if (history.history.count("val_accuracy")) fmt::print("Test accuracy {:.2f} % after {} epochs, {:.1f} s.\n", 100 * history.last("val_accuracy"), history.epoch.size(), seconds);
  fmt::print("{} replica{} {}: checksum {:016x}\n", checksums.size(), checksums.size() == 1 ? "" : "s", equal ? "bit-identical" : "DIFFER", checksums.front());
  if (!options.trace.empty()) fmt::print("\n{}\nTrace of the first {} steps: {} (open it at ui.perfetto.dev)\n", model.phase_summary(), std::min(options.trace_steps, model.iterations()), options.trace);
}

}  // namespace

int run_mnist(const RunOptions& options) {
  Mnist data = load_mnist();
  const Strategy strategy = make_strategy(options);
  if (options.quick) use_a_tenth(data);
  const int epochs = options.quick ? 1 : options.epochs;
  if (!options.json)
    fmt::print("{}\n{} training and {} test images\n{}\n", data.source, data.x_train.samples(), data.x_test.samples(), strategy.describe());

  Model model = strategy.scope([&] { return make_model(options); });
  const std::int64_t global_batch = options.batch_per_replica * strategy.num_replicas_in_sync();
  FitOptions fit;
  fit.epochs(epochs).batch_size(global_batch).seed(options.seed).validation(data.x_test, data.y_test).callback(stop_on_interrupt());
  if (!options.trace.empty()) fit.trace(options.trace, options.trace_steps);
  if (options.json) fit.verbose(Verbose::silent).callback(print_json());

  const InterruptGuard guard;
  const auto begin = std::chrono::steady_clock::now();
  const History history = model.fit(data.x_train, data.y_train, fit);
  report(options, model, history, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  if (!all_equal(model.checksums())) return 1;
  constexpr int kInterrupted = 130;  // what a shell reports for SIGINT
  return history.stopped ? kInterrupted : 0;
}

int list_devices() {
  for (const GpuId& gpu : list_gpus()) fmt::print("{}\n", gpu.name());
  return 0;
}

}  // namespace lockstep::cli
