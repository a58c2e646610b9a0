// Several named arrays in one zip file, as numpy.savez writes them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "npy.h"

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
  NpyArray array(const std::string& name);                                // an Error naming file and array when missing or damaged
  std::vector<std::vector<std::int32_t>> lists(const std::string& name);  // of Python lists of integers (parse_npy_lists)

 private:
  explicit Npz(std::unique_ptr<ZipArchive> archive);
  std::unique_ptr<ZipArchive> archive_;
};

}  // namespace lockstep
