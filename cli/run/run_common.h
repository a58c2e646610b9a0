// What every `lockstep run` does around its own model: devices, Ctrl-C, progress or JSON, and a report with its proof.
#pragma once

#include <functional>

#include "cli/run/run_options.h"
#include "lockstep/lockstep.h"

namespace lockstep::cli {

// The GPUs that were asked for; one GPU alone is split into two logical ones, and that is said.
// Several workers compare their data, by the fingerprint; it is asked for only then.
using DataFingerprint = std::function<std::string()>;
Strategy make_strategy(const RunOptions& options, const DataFingerprint& data);

// Samples of all replicas in a step: --batch, or --batch-per-replica (else the workload's own) for each.
std::int64_t global_batch(const RunOptions& options, const Strategy& strategy, std::int64_t per_replica);

// The model of `make`, or the one of --load, on the strategy's replicas. `sample` is the shape of one sample.
Model make_or_load(const RunOptions& options, const Strategy& strategy, const std::function<Model()>& make, const Shape& sample);

// The first tenth of the samples, and at least one.
Array a_tenth(const Array& all);

// With --json: which data they are, since drawn digits are not MNIST.
void say_source(const std::string& source, bool drawn);

// A loaded model goes on where it was saved, in the order the samples would have had without the break. An epoch that was left in the
// middle is the first of those asked for; with other samples, batches or another seed than its own it begins anew, and that is said.
void take_up(const RunOptions& options, const Model& model, const Array& x, const Array& y, std::int64_t batch, int epochs,
             FitOptions& fit);

// Fits the model with what the options add (trace, JSON, Ctrl-C), reports, and returns the program's exit code: 1 when the replicas
// differ at the end.
int train(const RunOptions& options, Model& model, const Array& x, const Array& y, const FitOptions& fit, const TraceOptions& trace = {});
int train(const RunOptions& options, Model& model, const Dataset& data, const FitOptions& fit, const TraceOptions& trace = {});

}  // namespace lockstep::cli
