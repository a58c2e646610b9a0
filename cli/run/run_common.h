// What all workloads of `lockstep run` share: devices, Ctrl-C, progress or JSON, and the report at the end.
#pragma once

#include <functional>

#include "cli/run/run_options.h"
#include "lockstep/lockstep.h"

namespace lockstep::cli {

// A strategy on the GPUs of the options. A single GPU is split into two logical ones, and the program prints that.
// Several workers compare their data by its fingerprint, which is computed only then.
using DataFingerprint = std::function<std::string()>;
Strategy make_strategy(const RunOptions& options, const DataFingerprint& data);

// Samples of all replicas in a step: --batch, or --batch-per-replica (else the workload's own) for each.
std::int64_t global_batch(const RunOptions& options, const Strategy& strategy, std::int64_t per_replica);

// The model of `make`, or the one of --load, on the strategy's replicas. `sample` is the shape of one sample.
Model make_or_load(const RunOptions& options, const Strategy& strategy, const std::function<Model()>& make, const Shape& sample);

// The first tenth of the samples, and at least one.
Array a_tenth(const Array& all);

// With --json: prints where the data came from, since drawn digits are not MNIST.
void print_source(const std::string& source, bool drawn);

// A loaded model continues where it was saved, with the samples in the order of an uninterrupted run. An epoch that was saved in the middle
// is the first of those asked for; with other samples, another batch size or another seed it starts over, and the program prints that.
void resume(const RunOptions& options, const Model& model, const Array& x, const Array& y, std::int64_t batch, int epochs, FitOptions& fit);

// Fits the model with trace, JSON and Ctrl-C as the options ask for, prints the report and returns the exit code: 1 when the replicas
// differ at the end.
int train(const RunOptions& options, Model& model, const Array& x, const Array& y, const FitOptions& fit, const TraceOptions& trace = {});
int train(const RunOptions& options, Model& model, const Dataset& data, const FitOptions& fit, const TraceOptions& trace = {});

}  // namespace lockstep::cli
