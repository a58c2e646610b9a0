// BackupAndRestore. Two files: the weights with the optimizer's state, under a name of its own for each backup, and a small one that says
// which is the newest and where training stood. The second is replaced in one stroke, so whenever the power goes one whole backup is there.
#include "lockstep/backup_and_restore.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "engine/io/backup_pointer.h"
#include "lockstep/error.h"
#include "lockstep/model.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

bool is_weights(const fs::path& path) { return path.filename().string().rfind(BackupPointer::kPrefix, 0) == 0; }

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

// Two processes that train with one folder would take each other's backups away. Held by the process until training has ended, or it has.
class FolderLock {
 public:
  FolderLock() = default;
  ~FolderLock() { release(); }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  void hold(const fs::path& folder) {
    if (descriptor_ >= 0) return;
    descriptor_ = ::open(path_in(folder).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) throw fs::filesystem_error("can't be locked", folder, std::error_code(errno, std::generic_category()));
    struct flock whole = {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    if (::fcntl(descriptor_, F_SETLK, &whole) == 0 || (errno != EAGAIN && errno != EACCES)) return;  // some file systems have no locks
    release();
    throw Error("BackupAndRestore: another process trains with the folder " + folder.string() +
                ": wait for its end, or use another folder");
  }
  void release() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }
  static fs::path path_in(const fs::path& folder) { return folder / "training.lock"; }

 private:
  int descriptor_ = -1;
};

struct BackupAndRestore::State {
  fs::path folder;
  std::int64_t batches = 0;  // 0: once an epoch
  bool remove = true;
  bool restored = false;
  bool ended = false;  // by itself: what is kept is no longer needed
  std::int64_t since = 0;
  FolderLock lock;

  void restore(TrainingEvent& event) {
    restored = ended = false;
    since = 0;
    if (event.model->strategy().worker() == 0) {
      fs::create_directories(folder);  // now, not after the first hour
      lock.hold(folder);
    }
    if (!fs::exists(BackupPointer::path_in(folder))) return;
    const BackupPointer backup = BackupPointer::read(folder);
    const TrainingPlace& place = backup.place;
    if (place.batch > 0 && place.batch_size != event.batch_size)
      throw Error("BackupAndRestore: " + folder.string() + " was left after " + std::to_string(place.batch) + " global batches of " +
                  std::to_string(place.batch_size) + " samples, in the middle of an epoch; now a global batch has " +
                  std::to_string(event.batch_size) + ". Fix: use the same, or remove the folder to begin again");
    if (const std::string other = difference(place, *event.place); !other.empty())
      throw Error("BackupAndRestore: " + folder.string() + " was left in epoch " + std::to_string(place.epoch + 1) + " of training with " +
                  other + ". Fix: use the same, or remove the folder to begin again");
    event.weights = (folder / backup.weights).string();
    event.epoch = place.epoch;
    event.batch = place.batch;
    restored = true;
  }

  // What comes next: batch `batch` of epoch `epoch`. Workers hold the same bits, so one of them writes.
  void save(const TrainingEvent& event, int epoch, std::int64_t batch) const {
    if (event.model->strategy().worker() != 0) return;
    fs::create_directories(folder);  // it may have been removed
    const std::string name = BackupPointer::kPrefix + std::to_string(epoch) + "-" + std::to_string(batch) + ".weights.h5";
    event.model->save_weights((folder / name).string());
    BackupPointer pointer{name, *event.place};
    pointer.place.epoch = epoch;
    pointer.place.batch = batch;
    pointer.write(folder);
    for (const fs::directory_entry& entry : fs::directory_iterator(folder))
      if (is_weights(entry.path()) && entry.path().filename() != name) fs::remove(entry.path());
  }

  void end(const TrainingEvent& event) {
    ended = event.model->strategy().worker() == 0;
    if (remove) clean_up();
  }

  void clean_up() {
    if (!ended || !fs::exists(folder)) return;
    fs::remove(BackupPointer::path_in(folder));  // first: weights that no pointer names are no backup
    for (const fs::directory_entry& entry : fs::directory_iterator(folder))
      if (is_weights(entry.path())) fs::remove(entry.path());
    fs::remove(FolderLock::path_in(folder));
    lock.release();
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
    if (!event.interrupted) in_folder(state->folder, [&] { state->end(event); });
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
void BackupAndRestore::remove() {
  in_folder(state_->folder, [&] { state_->clean_up(); });
}
bool BackupAndRestore::restored() const { return state_->restored; }
bool BackupAndRestore::has_backup(const std::string& backup_dir) { return fs::exists(BackupPointer::path_in(backup_dir)); }

}  // namespace lockstep
