// Places for registers, constants and variables.
#include "simulator/gpu/ptx/frame_layout.h"

#include <cstring>

#include "simulator/gpu/ptx/token_reader.h"
#include "simulator/gpu/ptx/variable_parser.h"

namespace lockstep::ptx {

namespace {

constexpr std::int64_t kMostShared = 232448;  // bytes of a block, on an H100
constexpr std::int64_t kMostLocal = 512 << 10;
constexpr std::int64_t kMostParameters = 32764;

std::int64_t aligned(std::int64_t value, std::int64_t align) { return (value + align - 1) / align * align; }

}  // namespace

FrameLayout::FrameLayout(const syntax::Function& function, const Symbols& symbols, Code& code)
    : function_(function), symbols_(symbols), code_(code) {
  registers_.resize(function.registers.size());
  end_ = kFirstSlot;
  for (const int bytes : {8, 4, 2, 0}) {
    for (std::size_t i = 0; i < function.registers.size(); ++i) {
      if (bytes_of(function.registers[i]) != bytes) continue;
      registers_[i] = end_;
      end_ += bytes == 0 ? sizeof(Mask) : static_cast<std::uint32_t>(bytes) * kLanes;
    }
  }
  end_ = static_cast<std::uint32_t>(aligned(end_, 256));
  code.register_bytes = end_;

  std::int64_t local = 0, parameters = 0;
  const std::size_t formals = function.parameters.size() + (function.entry ? 0 : function.results.size());
  for (std::size_t i = 0; i < function.variables.size(); ++i) {
    const syntax::Variable& variable = function.variables[i];
    Address address;
    address.space = variable.space;
    if (variable.space == Space::shared) {
      if (!function.entry)
        TokenReader::refuse_at(variable.line,
                               "shared variables of functions that are not inlined are not supported ('" + variable.name + "')");
      address.offset = shared_place(variable.bytes, variable.align, variable.line);
    } else if (variable.space == Space::param && function.entry && i < formals) {
      parameters = aligned(parameters, variable.align);
      address.offset = static_cast<std::uint64_t>(parameters);
      code.parameters.push_back({static_cast<std::uint32_t>(parameters), static_cast<std::uint32_t>(variable.bytes)});
      parameters += variable.bytes;
    } else {
      local = aligned(local, variable.align);
      address = {Space::local, static_cast<std::uint64_t>(local), true};
      if (i < formals) {
        auto& list = i < function.results.size() ? code.results : code.parameters;
        list.push_back({static_cast<std::uint32_t>(local), static_cast<std::uint32_t>(variable.bytes)});
      }
      local += variable.bytes;
    }
    if (local > kMostLocal)
      TokenReader::refuse_at(variable.line, "function '" + function.name + "' has more than 512 KiB of local memory for a thread");
    if (parameters > kMostParameters)
      TokenReader::refuse_at(variable.line, "kernel '" + function.name + "' has more than 32764 bytes of parameters");
    variables_.push_back(address);
  }
  code.local_bytes = static_cast<std::uint32_t>(aligned(local, 16));
  code.parameter_bytes = static_cast<std::uint32_t>(parameters);

  for (const syntax::Statement& statement : function.statements) {
    for (const syntax::Operand& operand : statement.operands) place_shared(operand, statement.line);
  }
  code.dynamic_offset = static_cast<std::uint32_t>(aligned(code.static_shared_bytes, dynamic_align_));
  for (const std::string& name : dynamic_) shared_.at(name).offset = code.dynamic_offset;
}

std::uint32_t FrameLayout::shared_place(std::int64_t bytes, std::int64_t align, int line) {
  const std::int64_t place = aligned(code_.static_shared_bytes, align);
  if (place + bytes > kMostShared) TokenReader::refuse_at(line, "kernel '" + function_.name + "' has more shared memory than a GPU");
  code_.static_shared_bytes = static_cast<std::uint32_t>(place + bytes);
  return static_cast<std::uint32_t>(place);
}

std::uint32_t FrameLayout::constant_slot(std::uint64_t bits, int bytes) {
  if (bits == 0) return kZeroSlot;
  const auto [found, is_new] = constants_.emplace(std::make_pair(bits, bytes), end_);
  if (is_new) end_ += bytes == 0 ? 64U : static_cast<std::uint32_t>(bytes) * kLanes;
  return found->second;
}

FrameLayout::Address FrameLayout::symbol(const std::string& name) const {
  const Symbols::Symbol& symbol = symbols_.variables.at(name);
  return symbol.space == Space::shared ? shared_.at(name) : Address{symbol.space, symbol.address, false};
}

// Dynamic shared memory begins after everything else, so names are looked for before the first one is used.
void FrameLayout::place_shared(const syntax::Operand& operand, int line) {
  for (const syntax::Operand& part : operand.parts) place_shared(part, line);
  if (operand.kind != syntax::Operand::Kind::symbol) return;
  const auto found = symbols_.variables.find(operand.name);
  if (found == symbols_.variables.end() || found->second.space != Space::shared) return;
  const syntax::Variable& variable = *found->second.variable;
  if (!function_.entry)
    TokenReader::refuse_at(line, "shared variables of functions that are not inlined are not supported ('" + operand.name + "')");
  if (shared_.count(operand.name) != 0) return;
  Address address{Space::shared, 0, false};
  if (variable.unsized) {
    code_.dynamic_shared = true;
    if (variable.align > dynamic_align_) dynamic_align_ = variable.align;
    dynamic_.push_back(operand.name);
  } else {
    address.offset = shared_place(variable.bytes, variable.align, line);
  }
  shared_.emplace(operand.name, address);
}

void FrameLayout::finish() {
  code_.constants.assign(end_ - code_.register_bytes, std::byte{0});
  for (const auto& [key, slot] : constants_) {
    const auto& [bits, bytes] = key;
    std::byte* place = code_.constants.data() + (slot - code_.register_bytes);
    if (bytes == 0) {
      std::memset(place, 0xff, sizeof(Mask));
      continue;
    }
    for (int i = 0; i < kLanes; ++i) std::memcpy(place + static_cast<std::size_t>(i * bytes), &bits, static_cast<std::size_t>(bytes));
  }
}

}  // namespace lockstep::ptx
