// Models: layers put together, compiled with a loss and an optimizer, trained with `fit`. Names and defaults are Keras'.
//
// A model made inside a strategy's scope lives on every replica of that strategy; nothing else in a program changes.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/array.h"
#include "lockstep/callbacks.h"
#include "lockstep/dataset.h"
#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/metrics.h"
#include "lockstep/optimizers.h"
#include "lockstep/strategy.h"
#include "lockstep/trace.h"
#include "lockstep/training_place.h"

namespace lockstep {

// Values by Keras' names, epoch by epoch: "loss", "accuracy", "val_loss", "val_accuracy".
struct History {
  std::vector<int> epoch;
  std::map<std::string, std::vector<double>> history;
  bool stopped = false;  // a callback asked to stop
  // Beyond Keras, of the batches alone, without validation: what they took, how many there were, and samples in them.
  double training_seconds = 0;
  std::int64_t steps = 0;
  std::int64_t samples = 0;

  double last(const std::string& name) const;  // an Error that lists the names there are
};

enum class Verbose { automatic, silent, bar, line };  // automatic: a moving bar on a terminal, else a line an epoch

// Keyword arguments of Keras' fit(): FitOptions().epochs(5).validation(x_test, y_test).
class FitOptions {
 public:
  FitOptions& epochs(int n) { return epochs_ = n, *this; }
  FitOptions& initial_epoch(int n) { return place_.epoch = n, *this; }
  // Beyond Keras: batches of the first epoch to leave out, for a run that is taken up in the middle of one.
  FitOptions& initial_batch(std::int64_t n) { return place_.batch = n, *this; }
  FitOptions& batch_size(std::int64_t global) { return place_.batch_size = global, *this; }  // of arrays; default 32, over all replicas
  FitOptions& shuffle(bool yes) { return shuffle_ = yes, *this; }                            // of arrays, each epoch
  FitOptions& seed(std::uint64_t seed) { return place_.seed = seed, *this; }                 // of that shuffle
  // Beyond Keras: a name for the samples of a Dataset, kept with what is saved; arrays are named by what they hold.
  FitOptions& data_name(std::string name) { return place_.data = std::move(name), *this; }
  FitOptions& steps_per_epoch(std::int64_t n) { return steps_per_epoch_ = n, *this; }
  // One float32 a sample of the arrays: its loss counts so many times. Samples of a Dataset bring their own (Batch::w).
  FitOptions& sample_weight(Array weights) { return sample_weight_ = std::move(weights), *this; }
  // The same by label; a label that is not named counts 1. Not together with the weights of samples.
  FitOptions& class_weight(std::map<int, float> weights) { return class_weight_ = std::move(weights), *this; }
  FitOptions& validation(Array x, Array y, Array sample_weight = {}) {
    return validation_ = {std::move(x), std::move(y), std::move(sample_weight)}, *this;
  }
  FitOptions& validation(Dataset data) { return validation_data_ = std::make_shared<Dataset>(std::move(data)), *this; }
  FitOptions& verbose(Verbose how) { return verbose_ = how, *this; }
  FitOptions& callback(Callback callback) { return callbacks_.push_back(std::move(callback)), *this; }
  // Records the first steps (trace.h). To a file, by the name's end: .html is a page, .json a Chrome trace, which Perfetto
  // (ui.perfetto.dev) opens; or to an object. Each may be called more than once: it is one recording.
  FitOptions& trace(std::string path, std::int64_t steps = 20) {
    return trace_options_.steps(steps), trace(std::move(path), trace_options_);
  }
  FitOptions& trace(std::string path, const TraceOptions& options) {
    return trace_options_ = options, trace_paths_.push_back(std::move(path)), *this;
  }
  FitOptions& trace(const Trace& into, const TraceOptions& options = {}) {
    return trace_options_ = options, traces_.push_back(into), *this;
  }

 private:
  friend class Model;
  friend class Training;
  int epochs_ = 1;
  TrainingPlace place_{0, 0, 0, 32, 0, {}, 0};  // where training begins, and on which samples
  bool shuffle_ = true;
  std::int64_t steps_per_epoch_ = -1;
  Array sample_weight_;
  std::map<int, float> class_weight_;
  Batch validation_;
  std::shared_ptr<Dataset> validation_data_;
  Verbose verbose_ = Verbose::automatic;
  std::vector<Callback> callbacks_;
  std::vector<std::string> trace_paths_;
  std::vector<Trace> traces_;
  TraceOptions trace_options_;
};

// A variable as Keras lists it, with its values on the host.
struct NamedArray {
  std::string name;  // "conv2d/kernel"
  Array values;
};

// A handle: copies are the same model.
class Model {
 public:
  // A functional model: the layers between an Input and what was made of it.
  Model(const KerasTensor& input, const KerasTensor& output, const std::string& name = "functional");

  // Metrics by name or as objects: {"accuracy", SparseTopKCategoricalAccuracy(5)}. Compiling again resets the optimizer and keeps the
  // weights. Only `weighted_metrics` see the weights of samples: they are weighted means.
  void compile(Optimizer optimizer, Loss loss, const std::vector<Metric>& metrics = {}, const std::vector<Metric>& weighted_metrics = {});
  // Everything random follows from it. Before the first use: first weights, dropout. Once weights were trained, set or loaded they stay,
  // and only what layers draw from then on follows the new seed.
  void set_seed(std::uint64_t seed);
  // Compare all replicas' variables after every step; an Error names the first that differs.
  void check_mirrored(bool yes);

  History fit(const Array& x, const Array& y, const FitOptions& options = {});
  History fit(const Dataset& data, const FitOptions& options = {});

  // Values by name; batch_size is global, as everywhere.
  std::map<std::string, double> evaluate(const Array& x, const Array& y, std::int64_t batch_size = 32, const Array& sample_weight = {});
  std::map<std::string, double> evaluate(const Dataset& data);
  Array predict(const Array& x, std::int64_t batch_size = 32);

  // One step on this global batch; the loss and metrics of this batch, before the update.
  std::map<std::string, double> train_on_batch(const Array& x, const Array& y, const Array& sample_weight = {});
  std::map<std::string, double> test_on_batch(const Array& x, const Array& y, const Array& sample_weight = {});

  // The end of a custom step (gradient_tape.h): sums all replicas' gradients, updates, waits for all.
  void apply_gradients();

  // Variables in Keras' order. Setting them sets them on every replica.
  std::vector<NamedArray> get_weights() const;
  void set_weights(const std::vector<NamedArray>& weights);
  // The gradients of the last train_on_batch, summed over replicas: of the mean loss over the global batch.
  std::vector<NamedArray> get_gradients() const;

  // Makes the variables for samples of this shape; fit and the others do it by themselves.
  void build(const Shape& sample);
  bool built() const;
  Shape input_shape() const;   // of one sample; the model must be built
  Shape output_shape() const;  // of one sample
  std::int64_t count_params() const;
  std::int64_t count_trainable_params() const;
  std::string summary() const;
  std::int64_t iterations() const;  // optimizer steps taken
  // Where the last fit stood when it ended or when the file was saved; none after steps that no fit made.
  std::optional<TrainingPlace> place() const;
  Strategy strategy() const;
  Optimizer optimizer() const;  // the one it was compiled with

  // In the order of the summary, without Input. They can be frozen: for (const Layer& layer : model.layers()) layer.set_trainable(false).
  std::vector<Layer> layers() const;
  Layer get_layer(const std::string& name) const;
  void set_trainable(bool yes);  // every layer

  // Fingerprints of the bits of all weights, optimizer slots and statistics: one for each copy there is, so one for each replica; with
  // OneCopy() one in all.
  std::vector<std::uint64_t> checksums() const;
  // Keras' files, by the name's end: ".keras", or ".h5" for the older form. Weights, configuration and the optimizer's state, so that
  // training goes on where it was. The file is replaced in one stroke or not at all.
  void save(const std::string& path) const;
  // ".weights.h5": variables and the optimizer's state, without the configuration.
  void save_weights(const std::string& path) const;
  // From any of the three, into a built model with the same layers; the optimizer's state as well, where model and file have one.
  void load_weights(const std::string& path);

  // Of the last fit that traced; empty when none did.
  Trace trace() const;

  struct Impl;
  const std::shared_ptr<Impl>& impl() const& { return impl_; }
  std::shared_ptr<Impl> impl() && { return std::move(impl_); }

 protected:
  explicit Model(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

// A chain of layers.
class Sequential : public Model {
 public:
  explicit Sequential(std::initializer_list<Layer> layers) : Sequential(std::vector<Layer>(layers)) {}
  explicit Sequential(const std::vector<Layer>& layers, const std::string& name = "sequential");
};

// A model from a ".keras" or ".h5" file, of ours or of Keras', compiled where the file says how. Inside a scope it is mirrored.
Model load_model(const std::string& path);

// An Error where no model can be saved under this name (a folder, a pipe, a link to nothing, no permission): to be asked before training.
void require_savable(const std::string& path);

}  // namespace lockstep
