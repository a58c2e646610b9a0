// What a program is called with while a model trains, and how it stops training.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>

namespace lockstep {

class Model;
struct TrainingPlace;

using Logs = std::map<std::string, double>;  // "loss", "accuracy", "val_loss", ...

// What training tells a callback; setting `stop` ends training after this batch. on_train_begin may set epoch and batch to where training
// shall begin, and name a file of weights to begin with.
struct TrainingEvent {
  int epoch = 0;           // counts from 0, as in Keras
  std::int64_t batch = 0;  // in this epoch, from 0
  const Logs* logs = nullptr;
  bool stop = false;
  Model* model = nullptr;                // the one that is trained
  bool interrupted = false;              // it was stopped between batches, so this epoch or the training is not complete
  std::int64_t batch_size = 0;           // global
  std::string weights;                   // for on_train_begin: load these, with the optimizer's state
  const TrainingPlace* place = nullptr;  // on which samples, and how far
};

// Functions that are not set are not called. With several workers each calls its own; those below write files on worker 0 only.
// Batch logs are not computed unless on_batch_end is set: they need the GPU's sums.
struct Callback {
  std::function<void(TrainingEvent&)> on_train_begin;
  std::function<void(TrainingEvent&)> on_epoch_begin;
  std::function<void(TrainingEvent&)> on_batch_end;
  std::function<void(TrainingEvent&)> on_epoch_end;
  std::function<void(TrainingEvent&)> on_train_end;
  std::function<bool()> should_stop;  // asked after every batch; cheap
};
using LambdaCallback = Callback;  // Keras' name for a callback made of functions

// The ones below have Keras' names and defaults. Each is a handle: what training changes can be read from the object that was given to fit.

// Stops when `monitor` has not become better for `patience` epochs.
class EarlyStopping : public Callback {
 public:
  explicit EarlyStopping(const std::string& monitor = "val_loss");
  EarlyStopping& min_delta(double delta);  // less than this is not better
  EarlyStopping& patience(int epochs);
  EarlyStopping& mode(const std::string& mode);          // "min", "max", or "auto": "max" for names that end in "accuracy", "acc" or "auc"
  EarlyStopping& baseline(double value);                 // to be beaten from the start
  EarlyStopping& restore_best_weights(bool yes = true);  // of the best epoch, when training ends
  EarlyStopping& start_from_epoch(int epoch);
  int stopped_epoch() const;  // 0 when it did not stop training
  int best_epoch() const;
  double best() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Multiplies the learning rate by `factor` when `monitor` has not become better for `patience` epochs.
class ReduceLROnPlateau : public Callback {
 public:
  explicit ReduceLROnPlateau(const std::string& monitor = "val_loss", float factor = 0.1F, int patience = 10);
  ReduceLROnPlateau& min_delta(double delta);  // default 1e-4
  ReduceLROnPlateau& mode(const std::string& mode);
  ReduceLROnPlateau& cooldown(int epochs);  // to wait after a reduction
  ReduceLROnPlateau& min_lr(float rate);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Saves the model after every epoch. The path may name values: "weights.{epoch:02d}-{val_loss:.2f}.keras"; epochs count from 1 there.
// Folders that are missing are made.
class ModelCheckpoint : public Callback {
 public:
  explicit ModelCheckpoint(const std::string& filepath, const std::string& monitor = "val_loss");
  ModelCheckpoint& save_best_only(bool yes = true);        // only where `monitor` became better
  ModelCheckpoint& save_weights_only(bool yes = true);     // then the path ends in ".weights.h5", else in ".keras" or ".h5"
  ModelCheckpoint& mode(const std::string& mode);          // as EarlyStopping's
  ModelCheckpoint& save_freq(const std::string& epoch);    // "epoch", the default
  ModelCheckpoint& save_freq(std::int64_t batches);        // after so many batches instead
  ModelCheckpoint& initial_value_threshold(double value);  // to be beaten from the start
  double best() const;
  std::string last_saved() const;  // the path; empty when nothing was saved

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// A line an epoch: its number, then the values in the order of their names, which stand in the first line.
class CSVLogger : public Callback {
 public:
  explicit CSVLogger(const std::string& filename, const std::string& separator = ",", bool append = false);
};

}  // namespace lockstep
