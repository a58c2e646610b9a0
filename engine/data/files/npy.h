// Arrays as numpy writes them (.npy): a magic string, a header that is a Python dictionary, the elements.
// Format: numpy's NEP 1, versions 1 to 3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <type_traits>
#include <vector>

#include "lockstep/array.h"

namespace lockstep {

// In C order, elements little-endian. Arrays of Python objects (pickles) are refused, but for one kind: see parse_npy_lists.
struct NpyArray {
  std::string name;   // for messages: the file, or file and member
  std::string dtype;  // as numpy writes it: "<f4", "<f8", "<i4", "|u1", "<U14"
  Shape shape;
  std::size_t item_bytes = 0;
  std::vector<unsigned char> bytes;

  std::int64_t size() const { return shape.size(); }

  // The elements, whose type must be T: nothing is converted.
  template <typename T>
  std::vector<T> as() const {
    static_assert(std::is_arithmetic_v<T>);
    expect(std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u', sizeof(T));
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  std::vector<std::string> strings() const;  // of "<U..." (as UTF-8) or "|S..." elements
  Array array() const;                       // of "<f4" or "<i4" elements

 private:
  void expect(char kind, std::size_t bytes_each) const;
};

// `contents` is a whole .npy file; `name` is for messages.
NpyArray parse_npy(const std::string& name, const std::vector<unsigned char>& contents);
NpyArray read_npy(const std::filesystem::path& path);
// An array (n,) of Python objects, each a list of integers. Nothing is executed (pickle.h).
std::vector<std::vector<std::int32_t>> parse_npy_lists(const std::string& name, const std::vector<unsigned char>& contents);

}  // namespace lockstep
