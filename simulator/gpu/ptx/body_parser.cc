// Statements of a function.
#include "simulator/gpu/ptx/body_parser.h"

#include <unordered_map>

#include "simulator/gpu/ptx/variable_parser.h"

namespace lockstep::ptx {

namespace {

using syntax::Operand;

constexpr int kMostScopes = 200;

struct Name {
  bool reg;
  int index;
};

class BodyParser {
 public:
  BodyParser(TokenReader& reader, syntax::Function& function) : reader_(reader), function_(function) {
    scopes_.emplace_back();
    for (std::size_t i = 0; i < function_.variables.size(); ++i) scopes_[0][function_.variables[i].name] = {false, static_cast<int>(i)};
  }

  void parse() {
    reader_.expect('{', "at the start of a function");
    scopes_.emplace_back();
    while (scopes_.size() > 1) statement();
  }

 private:
  void statement() {
    if (reader_.at_end()) reader_.refuse("function '" + function_.name + "' has no closing brace");
    if (reader_.accept('{')) {
      if (scopes_.size() > kMostScopes) reader_.refuse("scopes are nested more than 200 deep");
      scopes_.emplace_back();
    } else if (reader_.accept('}')) {
      scopes_.pop_back();
    } else if (reader_.accept(';')) {
      return;
    } else if (reader_.peek().kind == Token::Kind::dotted) {
      directive();
    } else if (reader_.peek().kind == Token::Kind::word && reader_.peek(1).is(':')) {
      label();
    } else {
      instruction();
    }
  }

  void directive() {
    const Token& token = reader_.peek();
    if (token.text == "loc") {
      location_ = parse_location(reader_);
      return;
    }
    reader_.take();
    if (token.text == "reg") {
      for (const RegisterNames& names : parse_registers(reader_)) declare(names);
    } else if (token.text == "pragma") {
      while (!reader_.at_end() && !reader_.accept(';')) reader_.take();
    } else if (const auto space = space_named(token.text); space && *space != Space::constant && *space != Space::global) {
      for (auto& variable : parse_variables(reader_, *space, false, true)) {
        if (!variable.initial.empty()) TokenReader::refuse_at(variable.line, "'" + variable.name + "' cannot have initial values");
        if (variable.unsized) TokenReader::refuse_at(variable.line, "'" + variable.name + "' needs a size here");
        scopes_.back()[variable.name] = {false, static_cast<int>(function_.variables.size())};
        function_.variables.push_back(std::move(variable));
      }
      reader_.expect(';', "after a declaration");
    } else {
      TokenReader::refuse_at(token.line, "'." + std::string(token.text) + "' inside a function is not supported");
    }
  }

  void declare(const RegisterNames& names) {
    if (static_cast<int>(function_.registers.size()) + (names.count < 0 ? 1 : names.count) > kMostRegisters) {
      reader_.refuse("a function has at most 131072 registers");
    }
    for (int i = 0; i < (names.count < 0 ? 1 : names.count); ++i) {
      scopes_.back()[names.count < 0 ? names.name : names.name + std::to_string(i)] = {true, static_cast<int>(function_.registers.size())};
      function_.registers.push_back(names.type);
    }
  }

  void label() {
    const int line = reader_.peek().line;
    const std::string name = reader_.word("a label");
    reader_.take();
    if (reader_.accept_dotted("branchtargets")) {
      auto& targets = function_.branches[name];
      do targets.push_back(reader_.word("a label"));
      while (reader_.accept(','));
      reader_.expect(';', "after the labels");
      return;
    }
    if (reader_.peek().is_dotted("callprototype") || reader_.peek().is_dotted("calltargets")) {
      TokenReader::refuse_at(line, "calls by address are not supported ('." + std::string(reader_.peek().text) + "')");
    }
    if (!function_.labels.emplace(name, static_cast<int>(function_.statements.size())).second) {
      TokenReader::refuse_at(line, "label '" + name + "' is there twice");
    }
  }

  void instruction() {
    syntax::Statement statement;
    statement.line = reader_.peek().line;
    statement.location = location_;
    if (reader_.accept('@')) {
      statement.guard_negated = reader_.accept('!');
      const Operand guard = operand();
      if (guard.kind != Operand::Kind::reg || function_.registers[static_cast<std::size_t>(guard.index)] != Type::pred) {
        TokenReader::refuse_at(statement.line, "a guard is a predicate register");
      }
      statement.guard = guard.index;
    }
    statement.opcode = reader_.word("an instruction");
    while (reader_.peek().kind == Token::Kind::dotted) statement.opcode += "." + std::string(reader_.take().text);
    if (!reader_.accept(';')) {
      do statement.operands.push_back(operand());
      while (reader_.accept(','));
      reader_.expect(';', "after '" + statement.opcode + "'");
    }
    function_.statements.push_back(std::move(statement));
  }

  Operand operand() {
    if (++depth_ > 8) reader_.refuse("operands are nested too deep");
    Operand first = single();
    if (reader_.accept('|')) {
      Operand pair;
      pair.kind = Operand::Kind::vector;
      pair.parts.push_back(std::move(first));
      pair.parts.push_back(single());
      first = std::move(pair);
    }
    --depth_;
    return first;
  }

  Operand group(Operand::Kind kind, char end) {
    Operand all;
    all.kind = kind;
    if (reader_.accept(end)) return all;
    do all.parts.push_back(operand());
    while (reader_.accept(','));
    reader_.expect(end, "after the operands");
    return all;
  }

  Operand single() {
    Operand operand_read;
    if (reader_.accept('{')) return group(Operand::Kind::vector, '}');
    if (reader_.accept('(')) return group(Operand::Kind::list, ')');
    if (reader_.accept('[')) {
      operand_read.kind = Operand::Kind::address;
      operand_read.parts.push_back(single());
      operand_read.offset = operand_read.parts[0].offset;
      operand_read.parts[0].offset = 0;
      while (reader_.accept(',')) operand_read.parts.push_back(operand());  // coordinates of a texture: refused when it is bound
      reader_.expect(']', "after an address");
      return operand_read;
    }
    operand_read.negated = reader_.accept('!');
    const bool minus = reader_.accept('-');
    const Token& token = reader_.peek();
    switch (token.kind) {
      case Token::Kind::integer:
        operand_read.kind = Operand::Kind::integer;
        operand_read.bits = minus ? 0 - token.bits : token.bits;
        reader_.take();
        return operand_read;
      case Token::Kind::real32:
        operand_read.kind = Operand::Kind::real32;
        operand_read.bits = token.bits ^ (minus ? 0x80000000U : 0U);
        reader_.take();
        return operand_read;
      case Token::Kind::real64:
        operand_read.kind = Operand::Kind::real64;
        operand_read.bits = token.bits ^ (minus ? std::uint64_t{1} << 63 : 0U);
        reader_.take();
        return operand_read;
      case Token::Kind::word:
        break;
      default:
        reader_.refuse("expected an operand");
    }
    if (minus) reader_.refuse("a minus stands in front of numbers only");
    named(operand_read);
    return operand_read;
  }

  void named(Operand& operand_read) {
    operand_read.name = reader_.word("an operand");
    if (operand_read.name == "_") return;
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      const auto found = scope->find(operand_read.name);
      if (found == scope->end()) continue;
      operand_read.kind = found->second.reg ? Operand::Kind::reg : Operand::Kind::variable;
      operand_read.index = found->second.index;
      break;
    }
    if (operand_read.kind == Operand::Kind::sink) {
      operand_read.kind = operand_read.name[0] == '%' ? Operand::Kind::special : Operand::Kind::symbol;
    }
    if (reader_.peek().kind == Token::Kind::dotted) {
      if (operand_read.kind != Operand::Kind::special) reader_.refuse("elements of vector registers are not supported");
      operand_read.name += "." + std::string(reader_.take().text);
    }
    if (reader_.accept('+')) {
      operand_read.offset = reader_.signed_integer("an offset");
    } else if (reader_.peek().is('-')) {
      operand_read.offset = reader_.signed_integer("an offset");
    }
  }

  TokenReader& reader_;
  syntax::Function& function_;
  std::vector<std::unordered_map<std::string, Name>> scopes_;
  syntax::Location location_;
  int depth_ = 0;
};

}  // namespace

syntax::Location parse_location(TokenReader& reader) {
  reader.take();
  syntax::Location location;
  location.file = static_cast<int>(reader.integer("the number of a file"));
  location.line = static_cast<int>(reader.integer("a line"));
  reader.integer("a column");
  while (reader.accept(',')) {
    const std::string word = reader.word("function_name or inlined_at");
    if (word == "function_name") {
      reader.word("a label");
      if (reader.accept('+')) reader.integer("an offset");
    } else if (word == "inlined_at") {
      for (int i = 0; i < 3; ++i) reader.integer("a place");
    } else {
      reader.refuse("expected function_name or inlined_at");
    }
  }
  return location;
}

void parse_body(TokenReader& reader, syntax::Function& function) { BodyParser(reader, function).parse(); }

}  // namespace lockstep::ptx
