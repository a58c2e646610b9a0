// BackupAndRestore. Two files: the weights with the optimizer's state, under a name of its own for each backup, and a small one that says
// which is the newest and where training stood. The second is replaced in one stroke, so whenever the power goes one whole backup is there.
#include "lockstep/backup_and_restore.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "atomic_file.h"
#include "lockstep/error.h"
#include "lockstep/model.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

fs::path pointer_in(const fs::path& folder) { return folder / "training.json"; }

constexpr const char* kPrefix = "backup-";  // of the names of weights; nothing else in the folder is ours

struct Backup {
  std::string weights;  // a file name
  int epoch = 0;        // the one to go on with
  std::int64_t batch = 0;
  std::int64_t batch_size = 0;
};

Backup read_pointer(const fs::path& folder) {
  std::ifstream file(pointer_in(folder));
  try {
    const nlohmann::json text = nlohmann::json::parse(file);
    Backup backup{text.at("weights").get<std::string>(), text.at("epoch").get<int>(), text.at("batch").get<std::int64_t>(),
                  text.at("batch_size").get<std::int64_t>()};
    if (backup.epoch < 0 || backup.batch < 0 || backup.weights.rfind(kPrefix, 0) != 0 || fs::path(backup.weights).has_parent_path())
      throw Error("its values make no sense");
    return backup;
  } catch (const std::exception& error) {
    throw Error("BackupAndRestore: " + pointer_in(folder).string() + " can't be read (" + error.what() +
                "); remove the folder to begin anew");
  }
}

// What the file system says, as a sentence of ours.
template <typename Function>
void in_folder(const fs::path& folder, Function function) {
  try {
    function();
  } catch (const fs::filesystem_error& error) {
    throw Error("BackupAndRestore: the folder " + folder.string() + " can't be used (" + error.what() + ")");
  }
}

}  // namespace

struct BackupAndRestore::State {
  fs::path folder;
  std::int64_t batches = 0;  // 0: once an epoch
  bool remove = true;
  bool restored = false;
  std::int64_t since = 0;

  void restore(TrainingEvent& event) {
    restored = false;
    since = 0;
    if (event.model->strategy().worker() == 0) fs::create_directories(folder);  // now, not after the first hour
    if (!fs::exists(pointer_in(folder))) return;
    const Backup backup = read_pointer(folder);
    if (backup.batch > 0 && backup.batch_size != event.batch_size)
      throw Error("BackupAndRestore: " + folder.string() + " was left after " + std::to_string(backup.batch) + " global batches of " +
                  std::to_string(backup.batch_size) + " samples, in the middle of an epoch; now a global batch has " +
                  std::to_string(event.batch_size) + ": use the same, or remove the folder to begin anew");
    event.weights = (folder / backup.weights).string();
    event.epoch = backup.epoch;
    event.batch = backup.batch;
    restored = true;
  }

  // What comes next: batch `batch` of epoch `epoch`. Workers hold the same bits, so one of them writes.
  void save(const TrainingEvent& event, int epoch, std::int64_t batch) const {
    if (event.model->strategy().worker() != 0) return;
    fs::create_directories(folder);  // somebody may have removed it
    const std::string name = kPrefix + std::to_string(epoch) + "-" + std::to_string(batch) + ".weights.h5";
    event.model->save_weights((folder / name).string());
    const std::string text =
        nlohmann::json{{"weights", name}, {"epoch", epoch}, {"batch", batch}, {"batch_size", event.batch_size}}.dump() + "\n";
    write_file_atomically(pointer_in(folder).string(), Bytes(text.begin(), text.end()));
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      const std::string other = entry.path().filename().string();
      if (other != name && other.rfind(kPrefix, 0) == 0) fs::remove(entry.path());
    }
  }

  void clean_up(const TrainingEvent& event) const {
    if (event.model->strategy().worker() != 0 || !remove || !fs::exists(pointer_in(folder))) return;
    fs::remove(pointer_in(folder));  // first: without it the rest is nothing
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      if (entry.path().filename().string().rfind(kPrefix, 0) == 0) fs::remove(entry.path());
    }
    if (fs::is_empty(folder)) fs::remove(folder);
  }
};

BackupAndRestore::BackupAndRestore(const std::string& backup_dir) : state_(std::make_shared<State>()) {
  if (backup_dir.empty()) throw Error("BackupAndRestore: the folder has no name");
  state_->folder = backup_dir;
  on_train_begin = [state = state_](TrainingEvent& event) { in_folder(state->folder, [&] { state->restore(event); }); };
  on_epoch_end = [state = state_](TrainingEvent& event) {
    in_folder(state->folder, [&] {
      if (event.interrupted)
        state->save(event, event.epoch, event.batch + 1);
      else
        state->save(event, event.epoch + 1, 0);
    });
  };
  on_train_end = [state = state_](TrainingEvent& event) {
    if (!event.interrupted) in_folder(state->folder, [&] { state->clean_up(event); });
  };
}

BackupAndRestore& BackupAndRestore::save_freq(std::int64_t batches) {
  if (batches < 1) throw Error("BackupAndRestore: save_freq is a number of batches, at least 1, not " + std::to_string(batches));
  state_->batches = batches;
  on_batch_end = [state = state_](TrainingEvent& event) {
    if (++state->since < state->batches) return;
    state->since = 0;
    in_folder(state->folder, [&] { state->save(event, event.epoch, event.batch + 1); });
  };
  return *this;
}

BackupAndRestore& BackupAndRestore::delete_checkpoint(bool yes) { return state_->remove = yes, *this; }
bool BackupAndRestore::restored() const { return state_->restored; }
bool BackupAndRestore::has_backup(const std::string& backup_dir) { return fs::exists(pointer_in(backup_dir)); }

}  // namespace lockstep
