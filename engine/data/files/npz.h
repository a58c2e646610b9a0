// Several named arrays in one zip file, as numpy.savez writes them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/data/files/input_file.h"
#include "engine/data/files/npy.h"

namespace lockstep {

class ZipArchive;

class Npz {
 public:
  static Npz open(const std::filesystem::path& path);
  ~Npz();
  Npz(Npz&&) noexcept;
  Npz& operator=(Npz&&) noexcept;

  std::vector<std::string> names() const;  // in the file's order, without ".npy"
  bool contains(const std::string& name) const;
  // An Error naming file and array when missing or damaged, or when it would unpack to more than `most` bytes.
  NpyArray array(const std::string& name, std::uint64_t most = kLargestArrayBytes);
  std::vector<std::vector<std::int32_t>> lists(const std::string& name);  // of Python lists of integers (parse_npy_lists)

 private:
  explicit Npz(std::unique_ptr<ZipArchive> archive);
  std::unique_ptr<ZipArchive> archive_;
};

}  // namespace lockstep
