// The small file of a backup: which weights are the newest, and where training stood.
#pragma once

#include <filesystem>
#include <string>

#include "lockstep/training_place.h"

namespace lockstep {

struct BackupPointer {
  static constexpr const char* kPrefix =
      "backup-";  // of the names of weights; besides this file and a lock nothing else in the folder is ours

  std::string weights;  // a file name
  TrainingPlace place;

  static std::filesystem::path path_in(const std::filesystem::path& folder) { return folder / "training.json"; }
  static BackupPointer read(const std::filesystem::path& folder);  // an Error that names the file where it makes no sense
  void write(const std::filesystem::path& folder) const;           // in one stroke
};

}  // namespace lockstep
