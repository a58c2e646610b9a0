#include "engine/io/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "engine/data/files/input_file.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what, int code) {
  throw Error(path + ": " + what + ": " + std::generic_category().message(code) + ". A file that was there before is unchanged");
}

constexpr const char* kUnfinished = ".unfinished-";  // and six letters: what a temporary file is called behind its target's name
constexpr std::size_t kLetters = 6;

// Locked as long as it is written, so that another process can tell it from one whose writer was killed.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& target) : target_(target) {
    struct stat made = {};
    do {  // again, where another process removed it before it was locked
      close();
      name_ = target + kUnfinished + std::string(kLetters, 'X');
      descriptor_ = mkostemp(name_.data(), O_CLOEXEC);
      if (descriptor_ < 0) fail(target_, "can't be saved", errno);
      ::flock(descriptor_, LOCK_EX | LOCK_NB);  // a file system without locks: as if there were no other process
    } while (::fstat(descriptor_, &made) == 0 && made.st_nlink == 0);
  }
  ~TemporaryFile() {
    close();
    if (!renamed_) ::unlink(name_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(const Bytes& bytes) {
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) fail(target_, "can't be written", n < 0 ? errno : ENOSPC);
      done += static_cast<std::size_t>(n);
    }
  }
  // mkostemp makes a file for its owner alone; a saved model has the rights its predecessor had, or those any new file gets.
  void set_mode() {
    struct stat old = {};
    mode_t mode = 0;
    if (::stat(target_.c_str(), &old) == 0) {
      mode = old.st_mode & 07777;
    } else {
      const mode_t mask = ::umask(0);
      ::umask(mask);
      mode = 0666 & ~mask;
    }
    if (::fchmod(descriptor_, mode) != 0) fail(target_, "can't be given its rights", errno);
  }
  void sync() {
    if (::fsync(descriptor_) != 0) fail(target_, "can't be brought to the disk", errno);
  }
  void rename() {
    if (std::rename(name_.c_str(), target_.c_str()) != 0) fail(target_, "can't be replaced", errno);
    renamed_ = true;
  }

 private:
  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }

  std::string target_, name_;
  int descriptor_ = -1;
  bool renamed_ = false;
};

// Temporary files of `target` that no process has locked: their writers were killed.
void remove_unfinished(const std::string& target) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(target).parent_path();
  const std::string begin = fs::path(target).filename().string() + kUnfinished;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.empty() ? "." : folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.size() != begin.size() + kLetters || name.compare(0, begin.size(), begin) != 0) continue;
    const int descriptor = ::open(entry.path().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) continue;
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) ::unlink(entry.path().c_str());
    ::close(descriptor);
  }
}

// Some file systems can't sync a folder; the rename itself is done by then, so that is no failure.
void sync_folder(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

// Where `path` is a link, the file it names is replaced, not the link.
std::string resolved(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) return path;
  const std::filesystem::path target = std::filesystem::weakly_canonical(path, error);
  return error ? path : target.string();
}

// Where a file can be put for `path`; an Error where only something else than a file would be replaced.
std::string target_of(const std::string& path) {
  namespace fs = std::filesystem;
  const std::string target = resolved(path);
  std::error_code error;
  const fs::file_status status = fs::status(target, error);
  if (fs::is_directory(status)) throw Error(path + ": can't be saved: this is a folder");
  if (fs::exists(status) && !fs::is_regular_file(status)) throw Error(path + ": can't be saved: this is a pipe or a device, not a file");
  if (!fs::exists(status) && fs::is_symlink(path, error))
    throw Error(path + ": can't be saved: this is a link to " + target + ", which is not there");
  return target;
}

}  // namespace

void require_writable(const std::string& path) { TemporaryFile file(target_of(path)); }

void write_file_atomically(const std::string& path, const Bytes& bytes) {
  const std::string target = target_of(path);
  remove_unfinished(target);
  TemporaryFile file(target);
  file.write(bytes);
  file.set_mode();
  file.sync();
  file.rename();
  sync_folder(target);
}

Bytes read_whole_file(const std::string& path) {
  InputFile file(path);
  if (file.size() > kLargestArrayBytes) file.fail("is larger than any model file");
  Bytes bytes(static_cast<std::size_t>(file.size()));
  file.read_at(0, bytes.data(), bytes.size());
  return bytes;
}

}  // namespace lockstep
