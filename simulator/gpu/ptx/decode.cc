// Statements become instructions: the operation is looked up by name, and operands become places.
#include "simulator/gpu/ptx/decode.h"

#include <bit>
#include <cstring>
#include <utility>

#include "simulator/gpu/ptx/control_flow.h"
#include "simulator/gpu/ptx/frame_layout.h"
#include "simulator/gpu/ptx/half.h"
#include "simulator/gpu/ptx/opcode_names.h"
#include "simulator/gpu/ptx/token_reader.h"

namespace lockstep::ptx {

namespace {

using syntax::Operand;
using Kinds = Operand::Kind;

class Decoder {
 public:
  Decoder(const syntax::Function& function, const Symbols& symbols)
      : function_(function), symbols_(symbols), layout_(function, symbols, code_), blocks_(basic_blocks(function)) {}

  Code decode() {
    code_.name = function_.name;
    code_.entry = function_.entry;
    code_.line = function_.line;
    code_.required_threads = function_.required_threads;
    code_.most_threads = function_.most_threads;
    starts_.resize(blocks_.first.size() + 1);
    for (std::size_t i = 0; i < function_.statements.size(); ++i) {
      const auto block = static_cast<std::size_t>(blocks_.block_of[i]);
      if (blocks_.first[block] == static_cast<int>(i)) begin_block(block);
      statement_ = &function_.statements[i];
      code_.places.push_back({statement_->line, statement_->location, statement_->opcode});
      statement();
    }
    begin_block(blocks_.first.size());
    code_.places.push_back({function_.line, {}, "the end of " + function_.name});
    Instruction finish;
    finish.control = Control::finish;
    finish.operation = operations().find("ret");
    finish.place = static_cast<std::uint32_t>(function_.statements.size());
    code_.instructions.push_back(finish);
    connect();
    layout_.finish();
    return std::move(code_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    TokenReader::refuse_at(statement_->line, "'" + statement_->opcode + "' " + what);
  }

  void begin_block(std::size_t block) {
    starts_[block] = static_cast<std::uint32_t>(code_.instructions.size());
    if (!blocks_.joins[block]) return;
    Instruction join;
    join.control = Control::join;
    join.place = static_cast<std::uint32_t>(code_.places.size());
    code_.instructions.push_back(join);
  }

  void statement() {
    instruction_ = Instruction{};
    instruction_.place = static_cast<std::uint32_t>(code_.places.size() - 1);
    if (statement_->guard >= 0) {
      instruction_.guard = layout_.register_slot(statement_->guard);
      instruction_.guarded = statement_->guard_negated ? Instruction::Guard::unless : Instruction::Guard::when;
    }
    first_slot_ = code_.slots.size();
    const std::string name = operation_name();
    const Operation* operation = operations().find(name);
    if (operation == nullptr) refuse("is not supported");
    instruction_.operation = operation;
    instruction_.execute = operation->execute;
    instruction_.control = operation->control;
    instruction_.space = operation->space;
    const bool whole = operation->control == Control::call || operation->control == Control::branch_table;
    if (whole && statement_->guard >= 0) refuse("with a guard is not supported");
    if (operation->control == Control::call) {
      call();
    } else {
      bind(*operation);
    }
    if (operation->control == Control::finish) finish();
    slot_starts_.emplace_back(code_.instructions.size(), first_slot_);
    code_.instructions.push_back(instruction_);
  }

  int width_of(const Operand& operand) const {
    if (operand.kind == Kinds::reg) return bytes_of(function_.registers[static_cast<std::size_t>(operand.index)]);
    if (operand.kind == Kinds::vector && !operand.parts.empty()) return width_of(operand.parts[0]);
    return -1;
  }

  // The name under which the table has what is written: with widths of registers where they are free, and with what a mov moves.
  std::string operation_name() {
    std::string name = canonical_opcode(statement_->opcode);
    const auto& operands = statement_->operands;
    const std::string opcode = name.substr(0, name.find('.'));
    const std::string type_name = name.substr(name.rfind('.') + 1);
    const auto type = type_named(type_name);
    const auto width = [&](std::size_t i, const std::string& type_text) {
      int bytes = i < operands.size() ? width_of(operands[i]) : -1;
      const auto its = type_named(type_text);
      if (bytes < 0) bytes = its ? std::max(bytes_of(*its), 2) : 4;  // a number
      return "/" + std::to_string(bytes);
    };
    if (opcode == "ld" && type) return name + width(0, type_name);
    if (opcode == "st" && type) return name + width(1, type_name);
    if (opcode == "cp" && operands.size() == 4) return name + "/part";
    if (opcode == "cvt") {
      const std::string rest = name.substr(0, name.rfind('.'));
      return name + width(0, rest.substr(rest.rfind('.') + 1)) + width(1, type_name);
    }
    if (opcode == "mov" && operands.size() == 2) {
      const Operand &to = operands[0], &from = operands[1];
      if (to.kind == Kinds::vector) return name + ".unpack" + std::to_string(to.parts.size());
      if (from.kind == Kinds::vector) return name + ".pack" + std::to_string(from.parts.size());
      if (from.kind == Kinds::special) return name + " " + from.name;
      if (from.kind == Kinds::variable && layout_.variable(from.index).in_frame) return name + ".frame";
    }
    return name;
  }

  void bind(const Operation& operation) {
    const auto& operands = statement_->operands;
    const bool special = operation.parameters.size() == 1 && operands.size() == 2 && operands[1].kind == Kinds::special;
    const bool optional = operands.size() + 1 == operation.parameters.size();
    std::size_t at = 0;
    for (const Parameter& parameter : operation.parameters) {
      if (optional && parameter.optional) {
        code_.slots.push_back(kZeroSlot);
        continue;
      }
      if (at >= operands.size()) refuse("has too few operands");
      bind(parameter, operands[at++]);
    }
    if (!special && at != operands.size()) refuse("has too many operands");
  }

  void bind(const Parameter& parameter, const Operand& operand) {
    switch (parameter.role) {
      case Parameter::Role::write:
      case Parameter::Role::read:
        values(parameter, operand);
        break;
      case Parameter::Role::address:
        address(operand);
        break;
      case Parameter::Role::source:
        source(operand);
        break;
      case Parameter::Role::symbol:
        instruction_.offset = static_cast<std::int64_t>(layout_.variable(operand.index).offset) + operand.offset;
        break;
      case Parameter::Role::target:
        branch();
        break;
      case Parameter::Role::table:
        table(operand);
        break;
      default:
        refuse("has an operand that does not fit");
    }
  }

  void values(const Parameter& parameter, const Operand& operand) {
    if (parameter.count == 1) {
      const bool in_braces = parameter.in_braces && operand.kind == Kinds::vector && operand.parts.size() == 1;
      code_.slots.push_back(value(parameter, in_braces ? operand.parts[0] : operand, parameter.bytes));
      return;
    }
    const bool pair = parameter.role == Parameter::Role::write && (parameter.beside_predicate || parameter.bytes == 0);
    if (pair && operand.kind != Kinds::vector) {  // p without q
      code_.slots.push_back(value(parameter, operand, parameter.bytes));
      code_.slots.push_back(kSinkSlot);
      return;
    }
    if (operand.kind != Kinds::vector || static_cast<int>(operand.parts.size()) != parameter.count) {
      refuse("needs " + std::to_string(parameter.count) + " registers in braces");
    }
    for (std::size_t i = 0; i < operand.parts.size(); ++i) {
      code_.slots.push_back(value(parameter, operand.parts[i], parameter.beside_predicate && i == 1 ? 0 : parameter.bytes));
    }
  }

  std::uint32_t value(const Parameter& parameter, const Operand& operand, int bytes) {
    if (parameter.role == Parameter::Role::write) {
      if (operand.kind == Kinds::sink) return kSinkSlot;
      if (operand.kind != Kinds::reg || operand.negated) refuse("writes to something that is no register");
    }
    if (operand.negated && (operand.kind != Kinds::reg || bytes != 0)) refuse("negates something that is no predicate");
    if (operand.offset != 0 && operand.kind == Kinds::reg) refuse("adds a number to a register");
    switch (operand.kind) {
      case Kinds::reg: {
        const int width = bytes_of(function_.registers[static_cast<std::size_t>(operand.index)]);
        if (width != bytes)
          refuse("has a register of " + std::to_string(8 * width) + " bits ('" + operand.name + "') where " + std::to_string(8 * bytes) +
                 " are needed");
        if (operand.negated) {
          const bool may = instruction_.operation->kind == Kind::compare || instruction_.operation->kind == Kind::exchange ||
                           instruction_.operation->control == Control::block_barrier;
          if (!may) refuse("cannot have a negated predicate here");
          instruction_.offset = 1;
        }
        return layout_.register_slot(operand.index);
      }
      case Kinds::integer:
        if (parameter.floating) refuse("needs a number like 0f3F800000 instead of a whole one");
        if (bytes == 0) return layout_.constant_slot(operand.bits != 0 ? 1 : 0, 0);
        return layout_.constant_slot(bytes == 8 ? operand.bits : operand.bits & ((std::uint64_t{1} << (8 * bytes)) - 1), bytes);
      case Kinds::real32:
      case Kinds::real64:
        return layout_.constant_slot(real(operand, bytes), bytes);
      case Kinds::symbol:
      case Kinds::variable:
        return layout_.constant_slot(symbol_value(operand, bytes), bytes);
      case Kinds::special:
        refuse("reads '" + operand.name + "': only mov reads special registers, and not every one is known");
      default:
        refuse("has an operand that does not fit");
    }
  }

  std::uint64_t real(const Operand& operand, int bytes) const {
    const double number = operand.kind == Kinds::real32
                              ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(operand.bits)))
                              : std::bit_cast<double>(operand.bits);
    if (bytes == 4 && operand.kind == Kinds::real32) return operand.bits;
    if (bytes == 4) return std::bit_cast<std::uint32_t>(static_cast<float>(number));
    if (bytes == 8) return std::bit_cast<std::uint64_t>(number);
    refuse("has a number that does not fit");
  }

  std::uint64_t symbol_value(const Operand& operand, int bytes) {
    if (operand.kind == Kinds::symbol && operand.name == "WARP_SZ") return kLanes;
    if (operand.kind == Kinds::symbol && !layout_.has_symbol(operand.name)) {
      if (symbols_.functions.count(operand.name) != 0) refuse("takes the address of a function, which is not supported");
      refuse("names '" + operand.name + "', which is not declared");
    }
    const FrameLayout::Address found = operand.kind == Kinds::symbol ? layout_.symbol(operand.name) : layout_.variable(operand.index);
    if (found.in_frame) refuse("takes the address of local memory; only mov does");
    const bool wide = found.space == Space::global || found.space == Space::constant;
    if (bytes != 8 && (wide || bytes != 4)) refuse("has an address where " + std::to_string(8 * bytes) + " bits are needed");
    return found.offset + static_cast<std::uint64_t>(operand.offset);
  }

  // The base's place, and the offset in the instruction.
  void address(const Operand& operand) {
    if (operand.kind != Kinds::address || operand.parts.size() != 1) refuse("needs an address in brackets");
    const Operand& base = operand.parts[0];
    instruction_.offset = operand.offset;
    Space& space = instruction_.space;
    std::uint32_t slot = kZeroSlot;
    switch (base.kind) {
      case Kinds::reg: {
        const int width = bytes_of(function_.registers[static_cast<std::size_t>(base.index)]);
        if (width != 8 && width != 4) refuse("has an address in a register of " + std::to_string(8 * width) + " bits");
        instruction_.narrow_address = width == 4;
        slot = layout_.register_slot(base.index);
        if (space == Space::param && !function_.entry) space = Space::local;
        break;
      }
      case Kinds::integer:
        instruction_.offset += static_cast<std::int64_t>(base.bits);
        break;
      case Kinds::symbol:
      case Kinds::variable: {
        if (base.kind == Kinds::symbol && !layout_.has_symbol(base.name)) refuse("names '" + base.name + "', which is not declared");
        const FrameLayout::Address found = base.kind == Kinds::symbol ? layout_.symbol(base.name) : layout_.variable(base.index);
        const bool own_param = space == Space::param && found.in_frame;
        if (space == Space::generic || own_param) {
          space = found.space;
        } else if (space != found.space && space != Space::none) {
          refuse("names '" + base.name + "', which is in another state space");
        }
        instruction_.offset += static_cast<std::int64_t>(found.offset);
        instruction_.in_frame = found.in_frame;
        break;
      }
      default:
        refuse("has an address that does not fit");
    }
    if (space == Space::param && instruction_.operation->kind == Kind::store) refuse("writes to a parameter of the kernel");
    code_.slots.push_back(slot);
  }

  // A second address, of global memory: the base's place, the offset's halves, and whether the base has 32 bits.
  void source(const Operand& operand) {
    const Instruction first = instruction_;
    instruction_.space = Space::global;
    address(operand);
    const Instruction second = std::exchange(instruction_, first);
    code_.slots.push_back(static_cast<std::uint32_t>(second.offset));
    code_.slots.push_back(static_cast<std::uint32_t>(second.offset >> 32));
    code_.slots.push_back(second.narrow_address ? 1 : 0);
  }

  // Targets become places of instructions once all are known. Slots: target, meeting place.
  void branch() {
    const auto block = static_cast<std::size_t>(blocks_.block_of[code_.places.size() - 1]);
    const int target = function_.labels.at(statement_->operands[0].name);
    code_.slots.push_back(block_of(target));
    code_.slots.push_back(static_cast<std::uint32_t>(blocks_.meeting[block]));
    jumps_.push_back(code_.slots.size() - 2);
    jumps_.push_back(code_.slots.size() - 1);
  }
  // Slots: index, meeting place, number of targets, targets.
  void table(const Operand& operand) {
    const auto block = static_cast<std::size_t>(blocks_.block_of[code_.places.size() - 1]);
    const auto& labels = function_.branches.at(operand.name);
    code_.slots.push_back(static_cast<std::uint32_t>(blocks_.meeting[block]));
    jumps_.push_back(code_.slots.size() - 1);
    code_.slots.push_back(static_cast<std::uint32_t>(labels.size()));
    for (const std::string& label : labels) {
      code_.slots.push_back(block_of(function_.labels.at(label)));
      jumps_.push_back(code_.slots.size() - 1);
    }
  }
  // A return is a branch to the end, where lanes that return at different places meet.
  void finish() {
    const auto block = static_cast<std::size_t>(blocks_.block_of[code_.places.size() - 1]);
    instruction_.control = Control::branch;
    code_.slots.push_back(static_cast<std::uint32_t>(blocks_.first.size()));
    code_.slots.push_back(static_cast<std::uint32_t>(blocks_.meeting[block]));
    jumps_.push_back(code_.slots.size() - 2);
    jumps_.push_back(code_.slots.size() - 1);
  }
  std::uint32_t block_of(int statement) const {
    const bool end = statement >= static_cast<int>(function_.statements.size());
    return static_cast<std::uint32_t>(end ? static_cast<int>(blocks_.first.size()) : blocks_.block_of[static_cast<std::size_t>(statement)]);
  }

  // (results), name, (arguments). Slots: how many results, where each is; how many arguments, where each is.
  void call() {
    const auto& operands = statement_->operands;
    static const Operand kNone = [] {
      Operand none;
      none.kind = Kinds::list;
      return none;
    }();
    std::size_t at = 0;
    const bool returns = !operands.empty() && operands[0].kind == Kinds::list;
    const Operand& results = returns ? operands[at++] : kNone;
    if (at >= operands.size() || operands[at].kind != Kinds::symbol)
      refuse("needs the name of a function; calls by address are not supported");
    const std::string& name = operands[at++].name;
    const Operand& arguments = at < operands.size() && operands[at].kind == Kinds::list ? operands[at++] : kNone;
    if (at != operands.size()) refuse("by a prototype is not supported");
    const auto found = symbols_.functions.find(name);
    if (found == symbols_.functions.end()) refuse("calls '" + name + "', which is not declared");
    const syntax::Function& callee = symbols_.module->functions[static_cast<std::size_t>(found->second)];
    if (callee.entry) refuse("calls a kernel, '" + name + "'");
    instruction_.offset = found->second;
    if (!callee.defined) {
      instruction_.offset = name == "vprintf" ? kPrintf : name == "__assertfail" ? kAssertFail : 0;
      const std::size_t parameters = name == "vprintf" ? 2 : 5;
      if (instruction_.offset == 0) refuse("calls '" + name + "', which this module does not define and the machine does not have");
      if (callee.parameters.size() != parameters) refuse("calls '" + name + "' with other parameters than it has");
    } else {
      code_.calls.push_back(found->second);
    }
    passed(results, callee.results, name);
    passed(arguments, callee.parameters, name);
  }
  void passed(const Operand& given, const std::vector<syntax::Variable>& wanted, const std::string& name) {
    if (given.parts.size() != wanted.size()) refuse("gives '" + name + "' another number of values than it takes or returns");
    code_.slots.push_back(static_cast<std::uint32_t>(given.parts.size()));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const Operand& part = given.parts[i];
      const bool fits = part.kind == Kinds::variable && layout_.variable(part.index).in_frame && part.offset == 0 &&
                        function_.variables[static_cast<std::size_t>(part.index)].bytes == wanted[i].bytes;
      if (!fits) refuse("gives '" + name + "' something else than a .param variable of its size");
      code_.slots.push_back(static_cast<std::uint32_t>(layout_.variable(part.index).offset));
    }
  }

  void connect() {
    for (const std::size_t slot : jumps_) code_.slots[slot] = starts_[code_.slots[slot]];
    for (const auto& [instruction, slot] : slot_starts_) code_.instructions[instruction].slots = code_.slots.data() + slot;
  }

  const syntax::Function& function_;
  const Symbols& symbols_;
  Code code_;
  FrameLayout layout_;
  BasicBlocks blocks_;
  std::vector<std::uint32_t> starts_;  // the first instruction of each block
  std::vector<std::size_t> jumps_;     // slots that hold blocks until all have their place
  std::vector<std::pair<std::size_t, std::size_t>> slot_starts_;
  const syntax::Statement* statement_ = nullptr;
  Instruction instruction_;
  std::size_t first_slot_ = 0;
};

}  // namespace

Code decode(const syntax::Function& function, const Symbols& symbols) { return Decoder(function, symbols).decode(); }

}  // namespace lockstep::ptx
