// Loading a module.
#include "simulator/gpu/ptx/module.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <new>

#include "simulator/gpu/ptx/decode.h"
#include "simulator/gpu/ptx/parser.h"
#include "simulator/gpu/ptx/token_reader.h"
#include "simulator/gpu/ptx/warp.h"

namespace lockstep::ptx {

namespace {

constexpr std::align_val_t kAlign{4096};
constexpr std::uint64_t kRecursionBytes = 64 << 10;  // of a lane, where functions call themselves

void fill(const syntax::Variable& variable, const Symbols& symbols, std::byte* data) {
  const auto element = static_cast<std::size_t>(bytes_of(variable.type));
  for (std::size_t i = 0; i < variable.initial.size(); ++i) {
    const syntax::Initial& initial = variable.initial[i];
    std::uint64_t bits = initial.bits;
    if (!initial.symbol.empty()) {
      const auto found = symbols.variables.find(initial.symbol);
      const bool has_address =
          found != symbols.variables.end() && (found->second.space == Space::global || found->second.space == Space::constant);
      if (!has_address || element != 8) {
        TokenReader::refuse_at(variable.line, "'" + variable.name + "' is initialised with '" + initial.symbol +
                                                  "', which is no variable with an address of 64 bits");
      }
      bits += found->second.address;
    }
    std::memcpy(data + i * element, &bits, element);
  }
}

bool orders_blocks(const Code& code) {
  return std::any_of(code.instructions.begin(), code.instructions.end(), [](const Instruction& each) {
    const bool prints = each.control == Control::call && each.offset == kPrintf;
    return prints || (each.operation != nullptr && each.operation->kind == Kind::atomic && each.space != Space::shared);
  });
}

}  // namespace

void Module::Aligned::operator()(std::byte* bytes) const { ::operator delete(bytes, kAlign); }

Module::Module(std::string_view source) {
  const syntax::Module module = parse(source);
  files_ = module.files;
  Symbols symbols;
  symbols.module = &module;
  for (const syntax::Variable& variable : module.variables) {
    Symbols::Symbol symbol{variable.space, 0, &variable};
    if (variable.space != Space::shared) {
      if (variable.external || variable.unsized)
        TokenReader::refuse_at(variable.line, "'" + variable.name + "' is defined in another module; linking is not supported");
      const auto bytes = static_cast<std::size_t>(variable.bytes);
      Owned owned{std::unique_ptr<std::byte, Aligned>(static_cast<std::byte*>(::operator new(bytes == 0 ? 1 : bytes, kAlign))), bytes};
      std::memset(owned.data.get(), 0, bytes);
      symbol.address = reinterpret_cast<std::uint64_t>(owned.data.get());
      variables_[variable.name] = std::move(owned);
    } else if (!variable.initial.empty()) {
      TokenReader::refuse_at(variable.line, "shared variable '" + variable.name + "' cannot have initial values");
    }
    if (!symbols.variables.emplace(variable.name, symbol).second)
      TokenReader::refuse_at(variable.line, "'" + variable.name + "' is there twice");
  }
  for (const syntax::Variable& variable : module.variables) {
    if (variable.space != Space::shared) fill(variable, symbols, variables_.at(variable.name).data.get());
  }
  for (std::size_t i = 0; i < module.functions.size(); ++i) symbols.functions[module.functions[i].name] = static_cast<int>(i);
  for (const syntax::Function& function : module.functions) {
    if (function.entry && function.defined) kernels_[function.name] = functions_.size();
    functions_.push_back(function.defined ? decode(function, symbols) : Code{});
    functions_.back().blocks_in_order = orders_blocks(functions_.back());
  }
  // A function's own memory and the most that those it calls need. On the way down `open` finds functions that come back to themselves.
  std::vector<bool> open(functions_.size(), false), done(functions_.size(), false);
  const std::function<std::uint64_t(std::size_t, int)> stack = [&](std::size_t index, int depth) -> std::uint64_t {
    Code& code = functions_[index];
    if (open[index] || depth > 1000) return kRecursionBytes;
    if (done[index]) return code.stack_bytes;
    open[index] = true;
    std::uint64_t deepest = 0;
    for (const int callee : code.calls) {
      deepest = std::max(deepest, stack(static_cast<std::size_t>(callee), depth + 1));
      code.blocks_in_order = code.blocks_in_order || functions_[static_cast<std::size_t>(callee)].blocks_in_order;
    }
    open[index] = false;
    done[index] = true;
    return code.stack_bytes = code.local_bytes + deepest;
  };
  for (std::size_t i = 0; i < functions_.size(); ++i) stack(i, 0);
}

const Code* Module::kernel(const std::string& name) const {
  const auto found = kernels_.find(name);
  return found == kernels_.end() ? nullptr : &functions_[found->second];
}

std::vector<std::string> Module::kernels() const {
  std::vector<std::string> names;
  for (const auto& [name, index] : kernels_) names.push_back(name);
  return names;
}

std::string Module::describe(const Place& place) const {
  const std::string text = "PTX line " + std::to_string(place.line) + " '" + place.opcode + "'";
  return place.location.line > 0 ? text + ", " + file(place.location.file) + " line " + std::to_string(place.location.line) : text;
}

const std::string& Module::file(int number) const {
  static const std::string kNone;
  const auto found = files_.find(number);
  return found == files_.end() ? kNone : found->second;
}

Module::Memory Module::variable(const std::string& name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? Memory{} : Memory{found->second.data.get(), found->second.bytes};
}

std::vector<Module::Memory> Module::memory() const {
  std::vector<Memory> all;
  for (const auto& [name, owned] : variables_) all.push_back({owned.data.get(), owned.bytes});
  return all;
}

}  // namespace lockstep::ptx
