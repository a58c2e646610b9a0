// What a kernel takes: sizes and kinds of its parameters from its PTX, and where its name is a C++ one, their types from the name.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lockstep {

struct KernelParameter {
  enum class Kind { integer, real, bytes };  // integer: or a pointer; bytes: a structure
  Kind kind = Kind::integer;
  std::size_t bytes = 0;
  std::string type;  // "float const*"; empty: not known (extern "C")

  bool known() const { return !type.empty(); }
  bool is_pointer() const { return known() ? type.back() == '*' : kind == Kind::integer && bytes == sizeof(void*); }
  bool is_written() const { return !known() || type.find(" const*") == std::string::npos; }  // may be, where it is a pointer
};

struct KernelSignature {
  std::string symbol, readable;  // "_Z3addPKf", "add(float const*)"
  std::vector<KernelParameter> parameters;
};

// All kernels of a module of PTX that a compiler made.
std::vector<KernelSignature> kernel_signatures(const std::string& ptx);

}  // namespace lockstep
