// The whole table, and what is control or nothing at all.
#include <bit>
#include <stdexcept>

#include "simulator/gpu/ptx/checks.h"
#include "simulator/gpu/ptx/operation_sets.h"
#include "simulator/gpu/ptx/warp.h"

namespace lockstep::ptx {

std::string_view name_of(Kind kind) {
  constexpr std::string_view kNames[kKinds] = {"integer", "float", "double", "half",   "special function", "conversion", "compare",
                                               "move",    "load",  "store",  "atomic", "exchange",         "barrier",    "control"};
  return kNames[static_cast<std::size_t>(kind)];
}

void Table::add(Operation operation) {
  const bool is_new = by_name_.emplace(operation.name, operations_.size()).second;
  if (!is_new) throw std::logic_error("operation " + operation.name + " is in the table twice");
  operations_.push_back(std::move(operation));
}

const Operation* Table::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &operations_[found->second];
}

namespace {

void nothing(Warp& /*warp*/, const Instruction& /*instruction*/, Mask /*mask*/) {}
void fence(Warp& warp, const Instruction& instruction, Mask /*mask*/) {
  if (warp.checks != nullptr) warp.checks->fence(warp, instruction);
}
void trap(Warp& /*warp*/, const Instruction& /*instruction*/, Mask mask) {
  throw Fault{std::countr_zero(mask), "the kernel ran into a trap"};
}

using Role = Parameter::Role;
Parameter place(Role role, int bytes = 4, bool optional = false) {
  Parameter parameter;
  parameter.role = role;
  parameter.bytes = bytes;
  parameter.optional = optional;
  return parameter;
}

void add_control(Table& table, std::string name, Control control, std::vector<Parameter> parameters, Kind kind = Kind::control,
                 Execute execute = &nothing, std::uint8_t mode = 0) {
  Operation operation;
  operation.name = std::move(name);
  operation.kind = kind;
  operation.control = control;
  operation.execute = execute;
  operation.parameters = std::move(parameters);
  operation.mode = mode;
  table.add(std::move(operation));
}

}  // namespace

void add_control_operations(Table& table) {
  add_control(table, "bra", Control::branch, {place(Role::target)});
  add_control(table, "brx.idx", Control::branch_table, {place(Role::read), place(Role::table)});
  add_control(table, "call", Control::call, {place(Role::function)});
  add_control(table, "ret", Control::finish, {});
  add_control(table, "exit", Control::exit, {});
  add_control(table, "trap", Control::none, {}, Kind::control, &trap);
  // The mode of a barrier: 0 waits, 1 only arrives, 2 to 4 wait and count, and or or a predicate.
  const Parameter id = place(Role::read), count = place(Role::read), any_count = place(Role::read, 4, true),
                  predicate = place(Role::read, 0);
  add_control(table, "bar.sync", Control::block_barrier, {id, any_count}, Kind::barrier, &nothing, 0);
  add_control(table, "bar.arrive", Control::block_barrier, {id, count}, Kind::barrier, &nothing, 1);
  add_control(table, "bar.red.popc.u32", Control::block_barrier, {place(Role::write), id, any_count, predicate}, Kind::barrier, &nothing,
              2);
  add_control(table, "bar.red.and.pred", Control::block_barrier, {place(Role::write, 0), id, any_count, predicate}, Kind::barrier, &nothing,
              3);
  add_control(table, "bar.red.or.pred", Control::block_barrier, {place(Role::write, 0), id, any_count, predicate}, Kind::barrier, &nothing,
              4);
  add_control(table, "bar.warp.sync", Control::warp_barrier, {place(Role::read)}, Kind::barrier, &nothing, 1);
  // Accesses are done in the order of the program, so fences matter to check mode alone; prefetches have no cache to fill.
  add_control(table, "fence", Control::none, {}, Kind::barrier, &fence);
  add_control(table, "nanosleep.u32", Control::none, {place(Role::read)});
  add_control(table, "prefetch", Control::none, {place(Role::address)});
}

const Table& operations() {
  static const Table table = [] {
    Table all;
    add_integer_operations(all);
    add_bit_operations(all);
    add_float_operations(all);
    add_rounded_operations(all);
    add_approximate_operations(all);
    add_half_operations(all);
    add_compare_operations(all);
    add_conversions(all);
    add_moves(all);
    add_memory_operations(all);
    add_atomic_operations(all);
    add_exchange_operations(all);
    add_matrix_operations(all);
    add_tile_operations(all);
    add_copy_operations(all);
    add_control_operations(all);
    return all;
  }();
  return table;
}

}  // namespace lockstep::ptx
