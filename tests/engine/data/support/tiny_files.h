// Small files written by a test: IDX, gzip, .npy and .npz, right or deliberately wrong; and the places tests put them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/dataset.h"
#include "tests/support/error_of.h"

namespace lockstep::testing {

using Bytes = std::vector<unsigned char>;

// A folder of its own, gone afterwards.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::string& name, const Bytes& contents) const;  // makes folders on the way

 private:
  std::filesystem::path path_;
};

// A variable of the environment set (or, without a value, taken away) for a while.
class Environment {
 public:
  Environment(std::string name, const std::optional<std::string>& value);
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::string name_;
  std::optional<std::string> before_;
};

Bytes idx_bytes(const std::vector<std::uint32_t>& extents, const Bytes& elements, unsigned char type = 8);
Bytes gzip(const Bytes& contents);
Bytes npy_bytes(const std::string& dtype, const std::string& shape, const Bytes& elements, bool fortran = false);
// Members in this order; deflated or stored; zip64 moves every size and offset into extra fields.
Bytes zip_bytes(const std::vector<std::pair<std::string, Bytes>>& members, bool deflated, bool zip64 = false);

template <typename T>
Bytes raw(const std::vector<T>& values) {
  const auto* p = reinterpret_cast<const unsigned char*>(values.data());
  return Bytes(p, p + values.size() * sizeof(T));
}

// Four IDX files (gz or not) or a mnist.npz with a few images; the first training label is `mark`, to tell sets apart.
void write_tiny_mnist(const TempFolder& folder, const std::string& below, unsigned char mark, bool compressed = true);
void write_tiny_keras_mnist(const TempFolder& folder, const std::string& below, unsigned char mark);

// The sentence of the lockstep::Error that `function` throws; empty when it throws none. Any other exception passes.
}  // namespace lockstep::testing
