// Where a function's registers, constants and variables are.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "simulator/gpu/ptx/code.h"
#include "simulator/gpu/ptx/decode.h"

namespace lockstep::ptx {

class FrameLayout {
 public:
  FrameLayout(const syntax::Function& function, const Symbols& symbols, Code& code);

  std::uint32_t register_slot(int index) const { return registers_[static_cast<std::size_t>(index)]; }
  // A number in all lanes. `bytes` 0 is a predicate.
  std::uint32_t constant_slot(std::uint64_t bits, int bytes);

  struct Address {
    Space space = Space::none;
    std::uint64_t offset = 0;
    bool in_frame = false;  // relative to the function's local memory
  };
  Address variable(int index) const { return variables_[static_cast<std::size_t>(index)]; }
  Address symbol(const std::string& name) const;  // of a variable of the module
  bool has_symbol(const std::string& name) const { return symbols_.variables.count(name) != 0; }

  // The code's constants and sizes, once everything is decoded.
  void finish();

 private:
  void place_shared(const syntax::Operand& operand, int line);
  std::uint32_t shared_place(std::int64_t bytes, std::int64_t align, int line);

  const syntax::Function& function_;
  const Symbols& symbols_;
  Code& code_;
  std::vector<std::uint32_t> registers_;
  std::vector<Address> variables_;
  std::map<std::pair<std::uint64_t, int>, std::uint32_t> constants_;
  std::map<std::string, Address> shared_;
  std::uint32_t end_ = 0;  // of registers and constants
  std::int64_t dynamic_align_ = 16;
  std::vector<std::string> dynamic_;
};

}  // namespace lockstep::ptx
