// The header of a .npy file: a Python dictionary with three keys,
//   {'descr': '<f4', 'fortran_order': False, 'shape': (16, 28, 28, 1), }
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

struct NpyHeader {
  std::string dtype;
  std::size_t item_bytes = 0;
  std::vector<std::uint64_t> extents;
};

// Throws an Error that begins with `name` for anything but an array of plain elements, little-endian, in C order. Python objects ("|O",
// of 0 bytes each) only where `objects` says so.
NpyHeader parse_npy_header(const std::string& name, std::string_view text, bool objects = false);

}  // namespace lockstep
