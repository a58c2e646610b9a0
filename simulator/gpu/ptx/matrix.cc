// Products of small matrices by a whole warp: wmma on 16 x 16 x 16 halves, summed in floats or halves.
//
// How a fragment lies in registers is not documented for wmma, so it is chosen here: a lane holds 8 neighbouring elements of a row. Where a
// fragment has room for twice as many (a and b) they are there twice, so a program that changes all elements changes both. A sum is made
// in double, along k, and rounded once, to nearest even; a GPU's tensor cores round more often, and their order is not documented either.
#include <array>
#include <bit>
#include <cstring>

#include "simulator/gpu/ptx/checks.h"
#include "simulator/gpu/ptx/lanewise.h"
#include "simulator/gpu/ptx/matrix.h"
#include "simulator/gpu/ptx/memory.h"
#include "simulator/gpu/ptx/narrowing.h"
#include "simulator/gpu/ptx/operation_sets.h"

namespace lockstep::ptx {

namespace {

constexpr int kSide = 16, kElements = kSide * kSide, kOfLane = kElements / kLanes;

// Element e, row by row, of a fragment whose registers' places are in `slots`.
template <typename T>
T& element(Warp& warp, const std::uint32_t* slots, int e, int copy = 0) {
  constexpr int kIn32Bits = 4 / sizeof(T);
  const int within = e % kOfLane, place = within / kIn32Bits + copy * (kOfLane / kIn32Bits);
  return warp.lanes<T>(slots[place])[e / kOfLane * kIn32Bits + within % kIn32Bits];
}

// Where element e is in memory: rows or columns are a stride of elements apart.
template <typename T>
std::byte* place_of(Warp& warp, const Instruction& instruction, std::uint32_t address, std::uint32_t stride, int e) {
  const int lane = e / kOfLane;
  const bool by_row = instruction.operation->mode == 0;
  const auto row = static_cast<std::uint64_t>(e / kSide), column = static_cast<std::uint64_t>(e % kSide);
  const std::uint64_t apart = warp.lanes<std::uint32_t>(stride)[lane];
  std::uint64_t addresses[kLanes];
  addresses_of(warp, instruction, address, addresses);
  const std::uint64_t at = addresses[lane] + sizeof(T) * (by_row ? row * apart + column : column * apart + row);
  return located(warp, instruction.space, at, sizeof(T), lane);
}

// Slots: the fragment, the address, the stride.
template <typename T, int kRegisters>
void load_matrix(Warp& warp, const Instruction& instruction, Mask mask) {
  need_all_lanes(mask);
  constexpr int kCopies = kRegisters * 4 / (kOfLane * static_cast<int>(sizeof(T)));
  for (int e = 0; e < kElements; ++e) {
    T value;
    const std::byte* const place = place_of<T>(warp, instruction, instruction.slots[kRegisters], instruction.slots[kRegisters + 1], e);
    tell(warp, instruction, {Use::Kind::read, e / kOfLane, place, sizeof(T), nullptr});
    std::memcpy(&value, place, sizeof(T));
    for (int copy = 0; copy < kCopies; ++copy) element<T>(warp, instruction.slots, e, copy) = value;
  }
}

// Slots: the address, the fragment, the stride.
template <typename T, int kRegisters>
void store_matrix(Warp& warp, const Instruction& instruction, Mask mask) {
  need_all_lanes(mask);
  for (int e = 0; e < kElements; ++e) {
    const T value = element<T>(warp, instruction.slots + 1, e);
    std::byte* const place = place_of<T>(warp, instruction, instruction.slots[0], instruction.slots[kRegisters + 1], e);
    tell(warp, instruction, {Use::Kind::write, e / kOfLane, place, sizeof(T), reinterpret_cast<const std::byte*>(&value)});
    std::memcpy(place, &value, sizeof(T));
  }
}

// Slots: d, a, b, c. The layouts of a and b were those of memory: in registers elements lie by row.
template <typename D, typename C>
void multiply_matrices(Warp& warp, const Instruction& instruction, Mask mask) {
  need_all_lanes(mask);
  constexpr int kOfD = kOfLane * sizeof(D) / 4;
  const std::uint32_t *d = instruction.slots, *a = d + kOfD, *b = a + kOfLane, *c = b + kOfLane;
  std::array<D, kElements> result;
  for (int e = 0; e < kElements; ++e) {
    double sum = as_double(element<C>(warp, c, e));
    for (int k = 0; k < kSide; ++k) {
      sum += as_double(element<Half>(warp, a, e / kSide * kSide + k)) * as_double(element<Half>(warp, b, k * kSide + e % kSide));
    }
    if constexpr (std::is_same_v<D, float>) {
      result[static_cast<std::size_t>(e)] = static_cast<float>(sum);
    } else {
      result[static_cast<std::size_t>(e)] = narrowed<Half>(sum);
    }
  }
  for (int e = 0; e < kElements; ++e) element<D>(warp, d, e) = result[static_cast<std::size_t>(e)];
}

template <typename T, int kRegisters>
void add_transfers(Table& table, const std::string& fragment, bool stores, const std::string& type) {
  const bool floating = type == "f32";
  for (const bool by_row : {true, false}) {
    for (const Space space : {Space::generic, Space::global, Space::shared}) {
      Operation operation;
      operation.name = std::string(stores ? "wmma.store." : "wmma.load.") + fragment + ".sync.aligned." + (by_row ? "row" : "col") +
                       ".m16n16k16" + (space == Space::generic ? "" : "." + std::string(name_of(space))) + "." + type;
      operation.kind = stores ? Kind::store : Kind::load;
      operation.execute = stores ? &store_matrix<T, kRegisters> : &load_matrix<T, kRegisters>;
      operation.space = space;
      operation.mode = by_row ? 0 : 1;
      const Parameter address = registers(Parameter::Role::address, 1, false), stride = registers(Parameter::Role::read, 1, false),
                      values = registers(stores ? Parameter::Role::read : Parameter::Role::write, kRegisters, floating);
      operation.parameters = stores ? std::vector{address, values, stride} : std::vector{values, address, stride};
      table.add(std::move(operation));
    }
  }
}

template <typename D, typename C>
void add_products(Table& table, const std::string& types) {
  constexpr int kOfD = kOfLane * sizeof(D) / 4, kOfC = kOfLane * sizeof(C) / 4;
  for (const std::string a : {"row", "col"}) {
    for (const std::string b : {"row", "col"}) {
      Operation operation;
      operation.name = "wmma.mma.sync.aligned." + a + "." + b + ".m16n16k16." + types;
      operation.kind = Kind::half;
      operation.execute = &multiply_matrices<D, C>;
      operation.parameters = {registers(Parameter::Role::write, kOfD, std::is_same_v<D, float>),
                              registers(Parameter::Role::read, kOfLane, false), registers(Parameter::Role::read, kOfLane, false),
                              registers(Parameter::Role::read, kOfC, std::is_same_v<C, float>)};
      table.add(std::move(operation));
    }
  }
}

}  // namespace

void add_matrix_operations(Table& table) {
  add_transfers<Half, 8>(table, "a", false, "f16");
  add_transfers<Half, 8>(table, "b", false, "f16");
  add_transfers<Half, 4>(table, "c", false, "f16");
  add_transfers<float, 8>(table, "c", false, "f32");
  add_transfers<Half, 4>(table, "d", true, "f16");
  add_transfers<float, 8>(table, "d", true, "f32");
  add_products<float, float>(table, "f32.f32");
  add_products<float, Half>(table, "f32.f16");
  add_products<Half, float>(table, "f16.f32");
  add_products<Half, Half>(table, "f16.f16");
}

}  // namespace lockstep::ptx
