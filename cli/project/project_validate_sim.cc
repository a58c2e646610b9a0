// `lockstep project --validate`: compares the model with published measurements.
//
// A process models one machine, so measurements of a step run this program again, with --json.
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/child.h"
#include "cli/project/nccl_groups.h"
#include "cli/project/project.h"
#include "cli/project/validation.h"
#include "lockstep/error.h"
#include "simulator/clock/framework_host.h"
#include "simulator/clock/micro_benchmarks.h"
#include "simulator/clock/network_fit.h"
#include "simulator/clock/published.h"

namespace lockstep::cli {

namespace {

constexpr double kKiB = 1024, kMiB = kKiB * kKiB, kGiB = kKiB * kMiB;

double first_row(const std::vector<std::string>& words, const std::string& figure) {
  std::vector<std::string> arguments = {"project", "--json", "--nodes=1"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  const ChildResult result = run_self(arguments);
  if (result.code() != 0) throw Error("lockstep project failed for a published measurement:\n" + result.output);
  return nlohmann::json::parse(result.output).at("rows").at(0).at(figure);
}

// Milliseconds of a step in TensorFlow, with so many samples on each of so many GPUs.
double tensorflow_step(const clock::Published& row, int gpus, long batch) {
  std::vector<std::string> words = {row.workload, "--framework=tensorflow", "--machine=" + row.machine,
                                    fmt::format("--batch-per-replica={}", batch)};
  words.push_back(row.logical > 0 ? fmt::format("--logical={}", row.logical) : fmt::format("--gpus={}", gpus));
  return first_row(words, "step_ms");
}

double modelled(const clock::Published& row) {
  if (row.measure == "bus_gb_s" || row.measure == "us") return clock::modelled_all_reduce(row);
  const long batch = row.batch_per_replica;
  if (row.measure == "step_ms") return tensorflow_step(row, 1, batch);
  if (row.measure == "same_batch_ratio") return tensorflow_step(row, 2, batch / 2) / tensorflow_step(row, 1, batch);
  const double steps = tensorflow_step(row, 2, batch) / tensorflow_step(row, 1, batch);
  return row.measure == "same_steps_ratio" ? steps : steps / 2;  // the same samples with 2 GPUs take half as many steps
}

std::string unit_of(const std::string& measure) {
  return measure == "bus_gb_s" ? "GB/s" : measure == "us" ? "us" : measure == "step_ms" ? "ms" : "times";
}

std::string size_of(double bytes) {
  if (bytes >= kGiB) return fmt::format("{:g} GiB", bytes / kGiB);
  return bytes >= kMiB ? fmt::format("{:g} MiB", bytes / kMiB) : fmt::format("{:g} KiB", bytes / kKiB);
}

void add_nccl(Validation& validation) {
  const auto without = fits_without_each_group();
  MeanAndWorst fitted, held_out, small_fitted, small_held_out;
  for (const clock::NcclMeasurement& row : clock::nccl_measurements()) {
    ValidatedRow one{.group = nccl_group(row),
                     .name = size_of(row.bytes) + ", " + row.source,
                     .unit = "us",
                     .source = clock::nccl_source(row.source),
                     .published = row.us,
                     .model = clock::modelled_us(row),
                     .held_out = without.at(nccl_group(row)).modelled_us(row),
                     .fitted = true};
    fitted.add(one.error());
    held_out.add(*one.held_out_error());
    if (row.bytes <= 64 * kKiB) {
      small_fitted.add(one.error());
      small_held_out.add(*one.held_out_error());
    }
    validation.rows.push_back(one);
  }
  validation.bounds.push_back({"NCCL, mean error, fitted", fitted.average(), 0.10});
  validation.bounds.push_back({"NCCL, mean error, each group of machine and ranks left out once", held_out.average(), 0.20});
  validation.bounds.push_back({"NCCL, 64 KiB and less, fitted", small_fitted.average(), 0.25});
  validation.bounds.push_back({"NCCL, 64 KiB and less, left out", small_held_out.average(), 0.25});
}

// Two sources measured A100s in one node: what one says of the other, by the model and by itself.
void add_sources(Validation& validation) {
  const auto counts = [](const clock::NcclMeasurement& row) { return row.machine == "a100x8" && row.ranks <= 8 && row.bytes >= kMiB; };
  for (const char* source : {"echo", "vtrain"}) {
    const clock::NcclFit fit =
        clock::fit_nccl([&](const clock::NcclMeasurement& row) { return row.machine != "a100x8" || row.source != source; });
    MeanAndWorst errors;
    for (const clock::NcclMeasurement& row : clock::nccl_measurements()) {
      if (counts(row) && row.source == source) errors.add(fit.modelled_us(row) / row.us - 1);
    }
    validation.bounds.push_back({fmt::format("A100s, one node, 1 MiB and more, source {} left out", source), errors.average(), 0.20});
  }
  MeanAndWorst disagreement;
  for (const clock::NcclMeasurement& a : clock::nccl_measurements()) {
    for (const clock::NcclMeasurement& b : clock::nccl_measurements()) {
      if (counts(a) && counts(b) && a.source == "echo" && b.source == "vtrain" && a.ranks == b.ranks && a.bytes == b.bytes)
        disagreement.add(2 * (a.us - b.us) / (a.us + b.us));
    }
  }
  validation.bounds.push_back(
      {fmt::format("The two sources' difference from each other (worst {:.0f} %)", 100 * disagreement.worst), disagreement.average(), 0});
}

void add_resnet(Validation& validation) {
  std::map<std::string, clock::NetworkFit> without;
  MeanAndWorst fitted, scaling;
  const auto& rows = clock::network_measurements();
  for (const clock::NetworkMeasurement& row : rows) {
    if (!without.contains(row.group()))
      without[row.group()] = clock::fit_network([&](const clock::NetworkMeasurement& other) { return other.group() != row.group(); });
    ValidatedRow one{.group = "ResNet-50, " + row.group(),
                     .name = fmt::format("{} x, {}, batch {}{}", row.gpus, row.precision, row.batch, row.inference ? ", inference" : ""),
                     .unit = "images/s",
                     .source = "NVIDIA DeepLearningExamples, ResNet50 v1.5 read-me: " + row.source,
                     .published = row.images_per_second,
                     .model = clock::images_per_second(row),
                     .held_out = without.at(row.group()).images_per_second(row),
                     .fitted = true};
    fitted.add(one.error());
    validation.rows.push_back(one);
    for (const clock::NetworkMeasurement& single : rows) {
      if (row.gpus == 1 || single.gpus != 1 || single.machine != row.machine || single.precision != row.precision ||
          single.batch != row.batch || single.source != row.source)
        continue;
      const double published = row.images_per_second / single.images_per_second / row.gpus;
      scaling.add(clock::images_per_second(row) / clock::images_per_second(single) / row.gpus - published);
    }
  }
  validation.bounds.push_back({"ResNet-50, mean error, fitted", fitted.average(), 0.15});
  validation.bounds.push_back({"ResNet-50, worst row, fitted", fitted.worst, 0.30});
  validation.bounds.push_back({"ResNet-50, scaling from 1 to 8 GPUs, most points off", scaling.worst, 0.05});
}

void add_micro_benchmarks(Validation& validation) {
  MeanAndWorst errors;
  for (const clock::MicroBenchmark& row : clock::micro_benchmarks()) {
    const double model = clock::modelled(row);
    ValidatedRow one{.group = "Micro-benchmarks, " + row.machine,
                     .name = row.measure + ", " + row.of,
                     .unit = row.unit,
                     .source = row.source,
                     .published = row.published,
                     .model = model,
                     .held_out = row.fitted ? std::nullopt : std::optional(model),
                     .fitted = row.fitted};
    if (!row.fitted) errors.add(one.error());
    validation.rows.push_back(one);
  }
  validation.bounds.push_back({"Micro-benchmarks, mean error, held out", errors.average(), 0.15});
  validation.bounds.push_back({"Micro-benchmarks, worst row, held out", errors.worst, 0.50});
}

// What the costs of TensorFlow's host say of the steps that were measured to find them, and of the reference programs.
void add_tensorflow_host(Validation& validation) {
  const clock::FrameworkHost& host = clock::tensorflow_host();
  MeanAndWorst fitted;
  for (const clock::FrameworkHost::Measured& row : host.rows) {
    const double model = host.modelled_us(row);
    ValidatedRow one{.group = "TensorFlow, tiny layers on CPUs",
                     .name = fmt::format("{}, {} x", row.program, row.replicas),
                     .unit = "us",
                     .source = host.source,
                     .published = row.us,
                     .model = model,
                     .held_out = row.fitted ? std::nullopt : std::optional(model),
                     .fitted = row.fitted};
    if (row.fitted) fitted.add(one.error());
    validation.rows.push_back(one);
  }
  validation.bounds.push_back({"TensorFlow's host, steps of tiny layers, mean error, fitted", fitted.average(), 0.15});
}

void add_others(Validation& validation) {
  MeanAndWorst ratios;
  for (const clock::Published& row : clock::published_measurements()) {
    const bool training = !row.workload.empty();
    ValidatedRow one{.group = training ? "TensorFlow, published steps" : "other all-reduces",
                     .name = row.name,
                     .unit = unit_of(row.measure),
                     .source = row.source,
                     .published = row.published,
                     .model = modelled(row),
                     .held_out = {},
                     .fitted = row.fitted};
    if (!row.fitted) one.held_out = one.model;
    if (one.unit == "times") ratios.add(one.model > 1 ? 0 : 1);
    validation.rows.push_back(one);
  }
  validation.bounds.push_back({"TensorFlow, rows where 2 GPUs are not slower than 1, as published", ratios.average(), 0.01});
}

}  // namespace

int validate_model(const ProjectOptions& options) {
  Validation validation;
  add_nccl(validation);
  add_sources(validation);
  add_resnet(validation);
  add_micro_benchmarks(validation);
  add_tensorflow_host(validation);
  add_others(validation);
  if (!options.svg.empty()) {
    std::ofstream file(options.svg);
    file << svg_of(validation);
    if (!file) throw Error("--svg " + options.svg + ": the file can't be written");
  }
  fmt::print("{}", options.json ? json_of(validation) : table_of(validation));
  if (!options.json) fmt::print("\nTensorFlow's steps are issued by its own host (--framework tensorflow). Sources: --validate --json\n");
  return validation.holds() ? 0 : 1;
}

}  // namespace lockstep::cli
