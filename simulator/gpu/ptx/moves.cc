// Copies between registers, packing and unpacking, special registers, and addresses of one space as those of another.
#include "simulator/gpu/ptx/lanewise.h"
#include "simulator/gpu/ptx/memory.h"
#include "simulator/gpu/ptx/operation_sets.h"
#include "simulator/gpu/ptx/special_registers.h"

namespace lockstep::ptx {

namespace {

template <typename T>
T same(T a) {
  return a;
}

// Slots: one wide register, then the narrow ones, or the other way round.
template <typename Wide, typename Narrow, bool kPack>
void repack(Warp& warp, const Instruction& instruction, Mask mask) {
  constexpr int kCount = sizeof(Wide) / sizeof(Narrow);
  Wide* wide = warp.lanes<Wide>(instruction.slots[kPack ? 0 : kCount]);
  const std::uint32_t* narrow = instruction.slots + (kPack ? 1 : 0);
  for (Mask left = mask; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    Wide value = kPack ? 0 : wide[i];
    for (int k = 0; k < kCount; ++k) {
      constexpr unsigned kBits = 8 * sizeof(Narrow);
      Narrow& part = warp.lanes<Narrow>(narrow[k])[i];
      if (kPack)
        value |= static_cast<Wide>(part) << (kBits * static_cast<unsigned>(k));
      else
        part = static_cast<Narrow>(value >> (kBits * static_cast<unsigned>(k)));
    }
    if (kPack) wide[i] = value;
  }
}

template <typename Wide, typename Narrow>
void add_repacking(Table& table, const std::string& type) {
  constexpr int kCount = sizeof(Wide) / sizeof(Narrow);
  Parameter wide, narrow;
  wide.bytes = sizeof(Wide);
  narrow.bytes = sizeof(Narrow);
  narrow.count = kCount;
  Operation operation;
  operation.kind = Kind::move;
  operation.name = "mov." + type + ".pack" + std::to_string(kCount);
  operation.execute = &repack<Wide, Narrow, true>;
  wide.role = Parameter::Role::write;
  narrow.role = Parameter::Role::read;
  operation.parameters = {wide, narrow};
  table.add(operation);
  operation.name = "mov." + type + ".unpack" + std::to_string(kCount);
  operation.execute = &repack<Wide, Narrow, false>;
  wide.role = Parameter::Role::read;
  narrow.role = Parameter::Role::write;
  operation.parameters = {narrow, wide};
  table.add(operation);
}

template <typename T>
void read_special(Warp& warp, const Instruction& instruction, Mask mask) {
  T* result = warp.lanes<T>(instruction.slots[0]);
  const auto which = static_cast<Special>(instruction.operation->mode);
  if (is_same_for_all_lanes(which)) {
    const auto value = static_cast<T>(special_value(warp, which, 0));
    for (int i = 0; i < kLanes; ++i) result[i] = chosen(value, result[i], (mask >> i & 1U) != 0);
    return;
  }
  for (Mask left = mask; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    result[i] = static_cast<T>(special_value(warp, which, i));
  }
}

// The offset is one in the function's own local memory.
template <typename T>
void address_in_frame(Warp& warp, const Instruction& instruction, Mask mask) {
  T* result = warp.lanes<T>(instruction.slots[0]);
  for (Mask left = mask; left != 0; left &= left - 1) {
    result[std::countr_zero(left)] = static_cast<T>(warp.frame_local + static_cast<std::uint64_t>(instruction.offset));
  }
}
template <typename T>
void add_address_in_frame(Table& table, const std::string& type) {
  Operation operation;
  operation.name = "mov." + type + ".frame";
  operation.kind = Kind::move;
  operation.execute = &address_in_frame<T>;
  Parameter result, variable;
  result.role = Parameter::Role::write;
  result.bytes = sizeof(T);
  variable.role = Parameter::Role::symbol;
  operation.parameters = {result, variable};
  table.add(std::move(operation));
}

std::uint64_t shared_to_generic(std::uint64_t a) { return a | kSharedWindow; }
std::uint64_t local_to_generic(std::uint64_t a) { return a | kLocalWindow; }
std::uint64_t out_of_window(std::uint64_t a) { return a & ~kWindowMask; }
bool is_shared(std::uint64_t a) { return space_of(a) == Space::shared; }
bool is_local(std::uint64_t a) { return space_of(a) == Space::local; }
bool is_global(std::uint64_t a) { return space_of(a) == Space::global; }

// A kernel's parameters have addresses of the host when they are taken as generic ones.
void parameter_to_generic(Warp& warp, const Instruction& instruction, Mask mask) {
  auto* result = warp.lanes<std::uint64_t>(instruction.slots[0]);
  const auto* source = warp.lanes<std::uint64_t>(instruction.slots[1]);
  for (Mask left = mask; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    result[i] = reinterpret_cast<std::uint64_t>(warp.block->parameters) + source[i];
  }
}
void parameter_from_generic(Warp& warp, const Instruction& instruction, Mask mask) {
  auto* result = warp.lanes<std::uint64_t>(instruction.slots[0]);
  const auto* source = warp.lanes<std::uint64_t>(instruction.slots[1]);
  for (Mask left = mask; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    result[i] = source[i] - reinterpret_cast<std::uint64_t>(warp.block->parameters);
  }
}

void add_parameter_address(Table& table, const std::string& name, Execute execute) {
  Operation operation;
  operation.name = name;
  operation.kind = Kind::move;
  operation.execute = execute;
  operation.parameters.assign(2, Parameter{Parameter::Role::read, 8});
  operation.parameters[0].role = Parameter::Role::write;
  table.add(std::move(operation));
}

}  // namespace

void add_moves(Table& table) {
  add_lanewise<same<bool>>(table, "mov.pred", Kind::move);
  for (const std::string kind : {"b", "u", "s"}) {
    add_lanewise<same<std::uint16_t>>(table, "mov." + kind + "16", Kind::move);
    add_lanewise<same<std::uint32_t>>(table, "mov." + kind + "32", Kind::move);
    add_lanewise<same<std::uint64_t>>(table, "mov." + kind + "64", Kind::move);
    add_address_in_frame<std::uint32_t>(table, kind + "32");
    add_address_in_frame<std::uint64_t>(table, kind + "64");
  }
  add_lanewise<same<float>>(table, "mov.f32", Kind::move);
  add_lanewise<same<double>>(table, "mov.f64", Kind::move);
  add_repacking<std::uint32_t, std::uint16_t>(table, "b32");
  add_repacking<std::uint64_t, std::uint32_t>(table, "b64");
  add_repacking<std::uint64_t, std::uint16_t>(table, "b64");
  for (const auto& [name, special, bytes] : special_registers()) {
    for (const char kind : {'b', 'u', 's'}) {
      Operation operation;
      operation.name = "mov." + std::string(1, kind) + std::to_string(8 * bytes) + " " + std::string(name);
      operation.kind = Kind::move;
      operation.execute = bytes == 8 ? &read_special<std::uint64_t> : &read_special<std::uint32_t>;
      operation.mode = static_cast<std::uint8_t>(special);
      operation.parameters.assign(1, Parameter{Parameter::Role::write, bytes});
      table.add(std::move(operation));
    }
  }
  for (const std::string space : {"global", "const"}) {
    add_lanewise<same<std::uint64_t>>(table, "cvta." + space + ".u64", Kind::move);
    add_lanewise<same<std::uint64_t>>(table, "cvta.to." + space + ".u64", Kind::move);
  }
  add_lanewise<shared_to_generic>(table, "cvta.shared.u64", Kind::move);
  add_lanewise<out_of_window>(table, "cvta.to.shared.u64", Kind::move);
  add_lanewise<local_to_generic>(table, "cvta.local.u64", Kind::move);
  add_lanewise<out_of_window>(table, "cvta.to.local.u64", Kind::move);
  add_parameter_address(table, "cvta.param.u64", &parameter_to_generic);
  add_parameter_address(table, "cvta.to.param.u64", &parameter_from_generic);
  add_lanewise<is_shared>(table, "isspacep.shared", Kind::compare);
  add_lanewise<is_local>(table, "isspacep.local", Kind::compare);
  add_lanewise<is_global>(table, "isspacep.global", Kind::compare);
}

}  // namespace lockstep::ptx
