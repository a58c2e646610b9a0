// What a program wants to hear while a model trains, and how it says stop.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace lockstep {

using Logs = std::map<std::string, double>;  // "loss", "accuracy", "val_loss", ...

// What training tells a callback; setting `stop` ends training after this batch.
struct TrainingEvent {
  int epoch = 0;           // counts from 0, as in Keras
  std::int64_t batch = 0;  // in this epoch, from 0
  const Logs* logs = nullptr;
  bool stop = false;
};

// Functions that are not set are not called. Batch logs are not computed unless on_batch_end is set: they need the GPU's sums.
struct Callback {
  std::function<void(TrainingEvent&)> on_epoch_begin;
  std::function<void(TrainingEvent&)> on_batch_end;
  std::function<void(TrainingEvent&)> on_epoch_end;
  std::function<bool()> should_stop;  // asked after every batch; cheap
};

}  // namespace lockstep
