// `lockstep run`: the options of a training run.
#include <fmt/format.h>

#include <cstdlib>
#include <memory>

#include "cli/command.h"
#include "cli/machine_options.h"
#include "cli/run/run_options.h"
#include "cli/run/workers.h"
#include "cli/validators.h"
#include "lockstep/lockstep.h"

namespace lockstep::cli {
namespace {

void add_device_options(CLI::App& run, RunOptions& options) {
  auto* gpus = run.add_option("--gpus", options.gpus, "Physical GPUs to use, one replica each")->check(whole_number(1, 64));
  auto* logical = run.add_option("--logical", options.logical, "Split GPU 0 into this many logical GPUs")->check(whole_number(1, 64));
  auto* devices = run.add_option("--devices", options.devices, "GPUs by name, as gpu:0,gpu:1")->delimiter(',')->check(gpu_name());
  gpus->excludes(logical)->excludes(devices);
  logical->excludes(devices);
  run.add_option("--memory-limit", options.memory_limit_mib, "MiB for each logical GPU")->check(whole_number(16, 1 << 20))->needs(logical);
  run.add_option("--workers", options.workers, "Start this many processes that train together, each with --gpus GPUs")
      ->check(whole_number(1, 64));
  run.add_option("--strategy", options.strategy, "The strategy [mirrored; multi-worker with --workers]; one-device: one replica")
      ->check(one_of({"mirrored", "one-device", "multi-worker"}));
  run.add_option("--all-reduce", options.all_reduce, "The algorithm that sums gradients")->check(one_of(cross_device_ops_names()));
}

void add_training_options(CLI::App& run, RunOptions& options) {
  run.add_option("--epochs", options.epochs, "Passes over the training data [5 for mnist, 10 for reuters, 30 for cats-vs-dogs]")
      ->check(whole_number(1, 100000));
  auto* share = run.add_option("--batch-per-replica", options.batch_per_replica,
                               "Samples of each replica in a step [64 for mnist, 32 over all replicas for reuters, 16 for cats-vs-dogs]")
                    ->check(whole_number(1, 1 << 20));
  run.add_option("--batch", options.batch, "The global batch: samples of all replicas in a step")
      ->check(whole_number(1, 1 << 20))
      ->excludes(share);
  run.add_option("--learning-rate", options.learning_rate, "The learning rate [0.001; cats-vs-dogs starts with 0.002]")
      ->check(number(0, 1000));
  run.add_option("--seed", options.seed, "Determines the first weights and the order of samples")
      ->check(whole_number(0, INT64_MAX))
      ->capture_default_str();
  run.add_flag("--quick", options.quick, "Use a tenth of the data, for one epoch unless --epochs is given");
  auto* published = run.add_flag("--as-published", options.as_published,
                                 "cats-vs-dogs: alpha 1, 224 x 224, 64 photos a replica, 5 epochs, no flips, BN momentum 0.999");
  run.add_option("--alpha", options.alpha, "cats-vs-dogs: width of MobileNetV2 [0.35]")->check(number(0.04, 4));
  run.add_option("--image", options.image, "cats-vs-dogs: height and width of the pictures [96]")->check(whole_number(32, 1024));
  run.add_option("--feature-extraction", options.feature_extraction,
                 "cats-vs-dogs: train only a classifier on the features of these trained weights (.npz with folded ones, or Keras' .h5)")
      ->check(file_to_read())
      ->excludes(published);
}

void add_file_options(CLI::App& run, RunOptions& options) {
  run.add_option("--load", options.load, "Continue from a model saved here or by Keras (.keras, .h5, .weights.h5)")
      ->check(model_file())
      ->check(file_to_read());
  run.add_option("--save", options.save, "Save the model and the state of training at the end, also after Ctrl-C")
      ->check(model_file())
      ->check(file_to_write());
  auto* backup =
      run.add_option("--backup", options.backup,
                     "Keep the state of training in this folder until it has ended: the same command continues after an interruption")
          ->check(folder_to_write());
  run.add_option("--backup-batches", options.backup_batches, "Back up after this many batches [after every epoch]")
      ->check(whole_number(1, 1 << 30))
      ->needs(backup);
}

void add_trace_options(CLI::App& run, RunOptions& options) {
  auto* trace = run.add_option("--trace", options.trace, "Record the first steps: step.html is a page, step.json is for ui.perfetto.dev")
                    ->delimiter(',')
                    ->allow_extra_args(false)
                    ->check(file_to_write({".html", ".json"}));
  run.add_option("--trace-steps", options.trace_steps, "The number of steps to record")
      ->check(whole_number(1, 100000))
      ->capture_default_str()
      ->needs(trace);
  run.add_option("--trace-inspect", options.trace_inspect, "The number of these with norms, partial sums and checksums (slower)")
      ->check(whole_number(0, 100000))
      ->capture_default_str()
      ->needs(trace);
  run.add_flag("--check-mirrored", options.check_mirrored, "Compare all replicas' variables after every step");
  run.add_option("--flip-bit", options.step.flip_bit, "Test the checks: flip one bit of a replica's copy of a variable after that step")
      ->check(bit_to_flip());
  auto* json = run.add_flag("--json", options.json, "Print a line of JSON for each epoch instead of progress");
  run.add_flag("--verbose", options.verbose, "Print a line for each replica after every epoch: samples, loss, time by phase, memory")
      ->excludes(json);
}

void refuse_contradictions(const RunOptions& options, const MachineOptions& machine) {
  if (options.workers > 1 && (machine.clock == "model" || machine.no_math))
    throw Error("--workers starts processes, and each would model its own time. Fix: use one process (--gpus) with --clock model");
  if (options.check_mirrored && options.all_reduce == "one-copy")
    throw Error("--check-mirrored with --all-reduce one-copy: one shared copy, nothing to compare. Fix: leave out one of the two");
  if (machine.no_math && !(options.save.empty() && options.backup.empty()))
    throw Error("--no-math computes no weights, so there are none to save. Fix: leave out --save and --backup");
}

// An option that would change nothing is a mistake, so it is refused.
void refuse_unused_options(const RunOptions& options) {
  const bool cats = options.workload == "cats-vs-dogs";
  const std::vector<std::pair<const char*, bool>> of_cats = {{"--alpha", options.alpha > 0},
                                                             {"--image", options.image > 0},
                                                             {"--as-published", options.as_published},
                                                             {"--feature-extraction", !options.feature_extraction.empty()}};
  for (const auto& [word, given] : of_cats)
    if (given && !cats) throw UsageError(fmt::format("{} is only for cats-vs-dogs, not for {}", word, options.workload));
  const bool several = options.workers > 1 || MultiWorkerMirroredStrategy::started_with_workers();
  if (several && !options.devices.empty()) throw UsageError("--devices names GPUs of one process. Fix: give several workers --gpus");
  if (several && (options.strategy == "one-device" || options.strategy == "mirrored"))
    throw UsageError(fmt::format("--strategy {} is for one process. Fix: --strategy multi-worker for several workers", options.strategy));
  if (several && options.logical > 0)
    throw UsageError("--logical splits a GPU of one process. Fix: give several workers GPUs of their own with --gpus");
  if (std::getenv("LOCKSTEP_WORKER") != nullptr && !several)
    throw Error("LOCKSTEP_WORKER is set, but LOCKSTEP_WORKERS (the number of workers) is not. Fix: set both, or none to train alone");
}

int start(const RunOptions& asked) {
  RunOptions options = asked;
  be_quiet_unless_first(options);
  if (!options.save.empty()) require_savable(options.save);
  if (options.workload == "cats-vs-dogs") return run_cats_vs_dogs(options);
  return options.workload == "reuters" ? run_reuters(options) : run_mnist(options);
}

}  // namespace

Command add_run(CLI::App& app, char** argv) {
  CLI::App* run = app.add_subcommand("run", "Train one of the reference programs");
  auto options = std::make_shared<RunOptions>();
  run->add_option("workload", options->workload, "What to train")->required()->check(one_of({"mnist", "reuters", "cats-vs-dogs"}));
  add_device_options(*run, *options);
  add_training_options(*run, *options);
  add_file_options(*run, *options);
  add_trace_options(*run, *options);
  auto machine = std::make_shared<MachineOptions>();
  add_machine_options(*run, *machine, true);
  add_step_flags(*run, options->step);
  run->footer(
      "Examples:\n  lockstep run mnist\n  lockstep run mnist --logical 4 --trace step.html\n  lockstep run mnist --gpus 2 --all-reduce "
      "nccl --verbose\n  lockstep run reuters --logical 2\n  lockstep run mnist --workers 2\n  lockstep run cats-vs-dogs --epochs 10");
  return {run, [options, machine, argv] {
            use_machine(*machine);
            refuse_contradictions(*options, *machine);
            refuse_unused_options(*options);
            const bool to_launch = options->workers > 1 && std::getenv("LOCKSTEP_WORKERS") == nullptr;
            return to_launch ? launch_workers(options->workers, argv) : start(*options);
          }};
}

}  // namespace lockstep::cli
