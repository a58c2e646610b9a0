// Matrices in the registers of a warp, where PTX documents which lane has which element: mma, and ldmatrix, which loads for it.
//
// A lane is 4 * group + place. Sums are made in double, along k, and rounded once, to nearest even; a GPU's tensor cores round more often,
// in an order that is not documented.
#include <cstring>

#include "simulator/gpu/ptx/checks.h"
#include "simulator/gpu/ptx/matrix.h"
#include "simulator/gpu/ptx/memory.h"
#include "simulator/gpu/ptx/narrowing.h"
#include "simulator/gpu/ptx/operation_sets.h"

namespace lockstep::ptx {

namespace {

struct Tf32 {
  std::uint32_t bits;
};
double as_double(Tf32 value) { return ptx::as_double(std::bit_cast<float>(value.bits & 0xffffe000U)); }  // the lowest 13 bits do not count

void put(float& to, double sum) { to = static_cast<float>(sum); }
void put(Half& to, double sum) { to = narrowed<Half>(sum); }

// mma of 16 x 8 x kDeep elements. Of a, a lane has the rows group and group + 8, and in each of them as many neighbours as fit in a
// register, at `place` and then half of the columns of a register's rows further; b likewise by columns; c and d the two rows at columns 2
// * place and 2 * place + 1 (PTX ISA, "Matrix fragments for mma.m16n8k8" and "for mma.m16n8k16"). Slots: d, a, b, c.
template <typename T, typename Sum, int kDeep>
struct Product {
  static constexpr int kInRegister = 4 / sizeof(T), kColumns = 4 * kInRegister;  // that one register of all lanes covers
  static constexpr int kA = 2 * kDeep / kColumns, kB = kDeep / kColumns, kSums = 4 * static_cast<int>(sizeof(Sum)) / 4;

  static double left(Warp& warp, const std::uint32_t* a, int row, int k) {
    using ptx::as_double;
    const int lane = row % 8 * 4 + k % kColumns / kInRegister;
    return as_double(warp.lanes<T>(a[row / 8 + k / kColumns * 2])[kInRegister * lane + k % kInRegister]);
  }
  static double right(Warp& warp, const std::uint32_t* b, int k, int column) {
    using ptx::as_double;
    const int lane = column * 4 + k % kColumns / kInRegister;
    return as_double(warp.lanes<T>(b[k / kColumns])[kInRegister * lane + k % kInRegister]);
  }
  static Sum& sum(Warp& warp, const std::uint32_t* slots, int row, int column) {
    constexpr int kSumsInRegister = 4 / sizeof(Sum);
    const int place = row / 8 * 2 + column % 2, lane = row % 8 * 4 + column / 2;
    return warp.lanes<Sum>(slots[place / kSumsInRegister])[kSumsInRegister * lane + place % kSumsInRegister];
  }

  static void run(Warp& warp, const Instruction& instruction, Mask mask) {
    need_all_lanes(mask);
    const std::uint32_t *d = instruction.slots, *a = d + kSums, *b = a + kA, *c = b + kB;
    Sum result[16][8];
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < 8; ++column) {
        double total = ptx::as_double(sum(warp, c, row, column));
        for (int k = 0; k < kDeep; ++k) total += left(warp, a, row, k) * right(warp, b, k, column);
        put(result[row][column], total);
      }
    }
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < 8; ++column) sum(warp, d, row, column) = result[row][column];
    }
  }

  static void add(Table& table, const std::string& type, const std::string& sums) {
    Operation operation;
    operation.name = "mma.sync.aligned.m16n8k" + std::to_string(kDeep) + ".row.col." + sums + "." + type + "." + type + "." + sums;
    operation.kind = Kind::half;
    operation.execute = &run;
    const bool floating = std::is_same_v<Sum, float>;
    operation.parameters = {registers(Parameter::Role::write, kSums, floating), registers(Parameter::Role::read, kA, false),
                            registers(Parameter::Role::read, kB, false), registers(Parameter::Role::read, kSums, floating)};
    operation.parameters[2].in_braces = true;
    table.add(std::move(operation));
  }
};

// Eight lanes for each 8 x 8 matrix have the addresses of its rows; a lane gets two neighbours of row `group`, or of column `group` of what
// is transposed. Slots: the registers, one for each matrix, and the address.
template <int kMatrices, bool kTransposed>
void load_matrices(Warp& warp, const Instruction& instruction, Mask mask) {
  need_all_lanes(mask);
  constexpr unsigned kRow = 16;
  std::uint64_t addresses[kLanes];
  addresses_of(warp, instruction, instruction.slots[kMatrices], addresses);
  std::uint16_t element[kMatrices][8][8];
  for (int i = 0; i < 8 * kMatrices; ++i) {
    const std::byte* const row = located(warp, instruction.space, addresses[i], kRow, i);
    tell(warp, instruction, {Use::Kind::read, i, row, kRow, nullptr});
    std::memcpy(element[i / 8][i % 8], row, kRow);
  }
  for (int matrix = 0; matrix < kMatrices; ++matrix) {
    auto* const result = warp.lanes<std::uint16_t>(instruction.slots[matrix]);
    for (int e = 0; e < 2 * kLanes; ++e) {
      const int first = e / 8, second = e % 8;
      result[e] = kTransposed ? element[matrix][second][first] : element[matrix][first][second];
    }
  }
}

template <int kMatrices, bool kTransposed>
void add_load(Table& table) {
  for (const Space space : {Space::generic, Space::shared}) {
    Operation operation;
    operation.name = "ldmatrix.sync.aligned.m8n8.x" + std::to_string(kMatrices) + (kTransposed ? ".trans" : "") +
                     (space == Space::shared ? ".shared" : "") + ".b16";
    operation.kind = Kind::load;
    operation.execute = &load_matrices<kMatrices, kTransposed>;
    operation.space = space;
    operation.parameters = {registers(Parameter::Role::write, kMatrices, false), registers(Parameter::Role::address, 1, false)};
    operation.parameters[0].in_braces = true;
    table.add(std::move(operation));
  }
}

}  // namespace

void add_tile_operations(Table& table) {
  Product<Half, float, 16>::add(table, "f16", "f32");
  Product<Half, float, 8>::add(table, "f16", "f32");
  Product<Half, Half, 16>::add(table, "f16", "f16");
  Product<Half, Half, 8>::add(table, "f16", "f16");
  Product<Bfloat, float, 16>::add(table, "bf16", "f32");
  Product<Bfloat, float, 8>::add(table, "bf16", "f32");
  Product<Tf32, float, 8>::add(table, "tf32", "f32");
  Product<Tf32, float, 4>::add(table, "tf32", "f32");
  add_load<1, false>(table);
  add_load<2, false>(table);
  add_load<4, false>(table);
  add_load<1, true>(table);
  add_load<2, true>(table);
  add_load<4, true>(table);
}

}  // namespace lockstep::ptx
