// Training that survives an interruption: Keras' BackupAndRestore.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lockstep/callbacks.h"

namespace lockstep {

// Keeps the newest state of training (weights, optimizer, where in which epoch) in a folder. A program that is started again with the same
// folder goes on from there, and ends with the same bits as one that was never interrupted; also on another number of replicas, then
// with the same numbers up to rounding. Stopped between batches (Ctrl-C, TrainingEvent::stop), it keeps where that was; ended by an Error
// or a power cut, the newest one before. When training ends by itself the backup is removed. Several workers share the folder; worker 0
// writes. Training on other samples, in other batches or another order than those of the backup is refused (a backup of an older version
// does not name them all), and so is a folder that another process trains with.
class BackupAndRestore : public Callback {
 public:
  explicit BackupAndRestore(const std::string& backup_dir);
  BackupAndRestore& save_freq(std::int64_t batches);  // after so many batches; the default is after every epoch
  BackupAndRestore& delete_checkpoint(bool yes);      // when training has ended; the default
  void remove();          // the backup of a training that has ended by itself: for delete_checkpoint(false), once the model is saved
  bool restored() const;  // a backup was found
  static bool has_backup(const std::string& backup_dir);  // of a training that was interrupted

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace lockstep
