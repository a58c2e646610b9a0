// The command line: words to options, options to a workload, errors to one sentence.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "lockstep/error.h"
#include "run_options.h"
#include "workers.h"

namespace {

constexpr int kWrongWords = 2;

void add_run(CLI::App& app, lockstep::cli::RunOptions& options) {
  CLI::App* run = app.add_subcommand("run", "Train one of the reference programs");
  run->add_option("workload", options.workload, "What to train")->required()->check(CLI::IsMember({"mnist", "reuters", "cats-vs-dogs"}));
  auto* gpus = run->add_option("--gpus", options.gpus, "Physical GPUs to use, one replica each")->check(CLI::Range(1, 64));
  auto* logical = run->add_option("--logical", options.logical, "Split GPU 0 into so many logical GPUs")->check(CLI::Range(1, 64));
  auto* devices = run->add_option("--devices", options.devices, "GPUs by name, as gpu:0,gpu:1")->delimiter(',');
  run->add_option("--workers", options.workers, "Start so many processes, each with --gpus GPUs, that train together")
      ->check(CLI::Range(1, 64));
  gpus->excludes(logical)->excludes(devices);
  logical->excludes(devices);
  run->add_option("--memory-limit", options.memory_limit_mib, "MiB for each logical GPU")->check(CLI::Range(16, 1 << 20))->needs(logical);
  run->add_option("--all-reduce", options.all_reduce, "How gradients are summed")
      ->check(CLI::IsMember({"nccl", "ring", "tree", "hierarchical-copy", "one-device"}));
  run->add_option("--epochs", options.epochs, "Passes over the training data [5 for mnist, 10 for reuters, 30 for cats-vs-dogs]")
      ->check(CLI::Range(1, 100000));
  run->add_option("--batch-per-replica", options.batch_per_replica,
                  "Samples a replica takes in a step [64 for mnist, 32 over all replicas for reuters, 16 for cats-vs-dogs]")
      ->check(CLI::Range(1, 1 << 20));
  run->add_option("--learning-rate", options.learning_rate, "The optimizer's step size [0.001; 0.002 at first for cats-vs-dogs]")
      ->check(CLI::PositiveNumber);
  run->add_option("--seed", options.seed, "First weights and order of samples follow from it")->capture_default_str();
  run->add_option("--load", options.load, "Go on from a model saved here or by Keras (.keras, .h5, .weights.h5)");
  run->add_option("--save", options.save, "Save the model after training, also after Ctrl-C; with it training goes on exactly");
  auto* backup =
      run->add_option("--backup", options.backup,
                      "A folder that holds the state of training until it has ended: the same command goes on after an interruption");
  run->add_option("--backup-batches", options.backup_batches, "Back up after so many batches [after every epoch]")
      ->check(CLI::Range(1, 1 << 30))
      ->needs(backup);
  run->add_option("--trace", options.trace, "Write the first steps as a Chrome trace (JSON; ui.perfetto.dev opens it)");
  run->add_option("--trace-steps", options.trace_steps, "How many steps to trace")->check(CLI::Range(1, 100000))->capture_default_str();
  run->add_flag("--check-mirrored", options.check_mirrored, "Compare all replicas' variables after every step");
  run->add_flag("--json", options.json, "A line of JSON an epoch instead of progress");
  run->add_flag("--quick", options.quick, "One epoch on a tenth of the data");
  auto* published = run->add_flag("--as-published", options.as_published,
                                  "cats-vs-dogs: alpha 1, 224 x 224, 64 photos a replica, 5 epochs, no flips, BN momentum 0.999");
  run->add_option("--alpha", options.alpha, "cats-vs-dogs: width of MobileNetV2 [0.35]")->check(CLI::Range(0.05, 4.0));
  run->add_option("--image", options.image, "cats-vs-dogs: height and width of the pictures [96]")->check(CLI::Range(32, 1024));
  run->add_option("--feature-extraction", options.feature_extraction,
                  "cats-vs-dogs: train only a classifier on the features of trained weights (.npz of folded ones, or Keras' .h5)")
      ->check(CLI::ExistingFile)
      ->excludes(published);
  run->footer(
      "Examples:\n  lockstep run mnist\n  lockstep run mnist --logical 4 --trace step.json\n  lockstep run mnist --gpus 2 --all-reduce "
      "nccl\n  lockstep run reuters --logical 2\n  lockstep run mnist --workers 2\n  lockstep run cats-vs-dogs --epochs 10");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Lockstep: run, see and learn synchronous mirrored training", "lockstep");
  app.set_version_flag("--version", LOCKSTEP_VERSION);
  app.require_subcommand(1);
  lockstep::cli::RunOptions options;
  add_run(app, options);
  CLI::App* devices = app.add_subcommand("devices", "List the GPUs there are, real or virtual");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    fmt::print(stderr, "lockstep: {}\nTry: lockstep --help, or lockstep run --help\n", error.what());
    return kWrongWords;
  }
  try {
    if (devices->parsed()) return lockstep::cli::list_devices();
    if (options.workers > 1 && std::getenv("LOCKSTEP_WORKERS") == nullptr) return lockstep::cli::launch_workers(options.workers, argv);
    lockstep::cli::be_quiet_unless_first(options);
    if (options.workload == "cats-vs-dogs") return lockstep::cli::run_cats_vs_dogs(options);
    return options.workload == "reuters" ? lockstep::cli::run_reuters(options) : lockstep::cli::run_mnist(options);
  } catch (const lockstep::Error& error) {
    fmt::print(stderr, "lockstep: {}\n", error.what());
    return 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "lockstep: {}\n", error.what());
    return 1;
  }
}
