// Declarations, with their initial values.
#include "simulator/gpu/ptx/variable_parser.h"

#include <bit>

namespace lockstep::ptx {

namespace {

using syntax::Initial;
using syntax::Variable;

Initial value(TokenReader& reader, Type type) {
  Initial initial;
  if (reader.peek().kind == Token::Kind::word) {
    std::string name = reader.word("a value");
    if (name == "generic") {
      reader.expect('(', "after 'generic'");
      name = reader.word("a name");
      reader.expect(')', "after the name");
      initial.generic = true;
    }
    initial.symbol = name;
    if (reader.accept('+')) {
      initial.bits = reader.integer("an offset");
    } else if (reader.accept('-')) {
      initial.bits = 0 - reader.integer("an offset");
    }
    return initial;
  }
  const bool negative = reader.accept('-');
  const Token& token = reader.take();
  switch (token.kind) {
    case Token::Kind::integer: {
      const std::uint64_t whole = negative ? 0 - token.bits : token.bits;
      const auto number = static_cast<double>(static_cast<std::int64_t>(whole));
      initial.bits = type == Type::f64   ? std::bit_cast<std::uint64_t>(number)
                     : type == Type::f32 ? std::bit_cast<std::uint32_t>(static_cast<float>(number))
                                         : whole;
      break;
    }
    case Token::Kind::real32:
      initial.bits = token.bits ^ (negative ? 0x80000000U : 0U);
      break;
    case Token::Kind::real64: {
      const double number = std::bit_cast<double>(token.bits) * (negative ? -1.0 : 1.0);
      initial.bits = type == Type::f32 ? std::bit_cast<std::uint32_t>(static_cast<float>(number)) : std::bit_cast<std::uint64_t>(number);
      break;
    }
    default:
      TokenReader::refuse_at(token.line, "expected an initial value, found '" + std::string(token.text) + "'");
  }
  return initial;
}

// Braces in braces are rows of an array: the values follow each other.
void values(TokenReader& reader, Type type, std::vector<Initial>& all, int depth) {
  if (!reader.accept('{')) {
    all.push_back(value(reader, type));
    return;
  }
  if (depth > 8) reader.refuse("braces in an initialiser are nested more than 8 deep");
  if (reader.accept('}')) return;
  do values(reader, type, all, depth + 1);
  while (reader.accept(','));
  reader.expect('}', "at the end of an initialiser");
}

void dimensions(TokenReader& reader, Variable& variable) {
  while (reader.accept('[')) {
    if (reader.accept(']')) {
      variable.unsized = true;
      continue;
    }
    const std::uint64_t count = reader.integer("the number of elements");
    reader.expect(']', "after the number of elements");
    if (count > static_cast<std::uint64_t>(kMostVariableBytes) || variable.bytes * static_cast<std::int64_t>(count) > kMostVariableBytes) {
      TokenReader::refuse_at(variable.line, "'" + variable.name + "' has more than 2^30 bytes");
    }
    variable.bytes *= static_cast<std::int64_t>(count);
  }
}

}  // namespace

std::vector<Variable> parse_variables(TokenReader& reader, Space space, bool external, bool list) {
  Variable model;
  model.space = space;
  model.external = external;
  int vector = 1;
  bool typed = false;
  while (reader.peek().kind == Token::Kind::dotted) {
    const Token& token = reader.take();
    if (token.text == "align") {
      model.align = static_cast<std::int64_t>(reader.integer("an alignment"));
      if (model.align < 1 || model.align > 4096 || !std::has_single_bit(static_cast<std::uint64_t>(model.align))) {
        TokenReader::refuse_at(token.line, "an alignment is a power of two up to 4096");
      }
    } else if (token.text == "v2" || token.text == "v4") {
      vector = token.text == "v2" ? 2 : 4;
    } else if (token.text == "ptr") {  // .ptr .global .align 4: what a parameter points to
      while (reader.peek().kind == Token::Kind::dotted && space_named(reader.peek().text)) reader.take();
      if (reader.accept_dotted("align")) reader.integer("an alignment");
    } else if (token.text == "attribute") {
      // Where a managed variable lies is the loader's business; a kernel uses it as any other.
      if (!reader.accept('(') || !reader.accept_dotted("managed") || !reader.accept(')')) {
        TokenReader::refuse_at(token.line, "of the attributes of variables only .managed is supported");
      }
    } else if (const auto type = type_named(token.text); type && *type != Type::pred) {
      model.type = *type;
      typed = true;
    } else {
      TokenReader::refuse_at(token.line, "'." + std::string(token.text) + "' in a declaration is not known");
    }
  }
  if (!typed) reader.refuse("expected a type in a declaration");
  const std::int64_t element = bytes_of(model.type) * vector;
  if (element > model.align) model.align = element;
  std::vector<Variable> all;
  do {
    Variable variable = model;
    variable.line = reader.peek().line;
    variable.name = reader.word("the name of a variable");
    variable.bytes = element;
    dimensions(reader, variable);
    if (reader.accept('=')) {
      values(reader, variable.type, variable.initial, 0);
      const auto filled = static_cast<std::int64_t>(variable.initial.size()) * bytes_of(variable.type);
      if (variable.unsized) {
        variable.unsized = false;
        variable.bytes = filled;
      }
      if (filled > variable.bytes) TokenReader::refuse_at(variable.line, "'" + variable.name + "' has more initial values than elements");
    }
    all.push_back(std::move(variable));
  } while (list && reader.accept(','));
  return all;
}

std::vector<RegisterNames> parse_registers(TokenReader& reader) {
  const Token& token = reader.take();
  const auto type = token.kind == Token::Kind::dotted ? type_named(token.text) : std::nullopt;
  if (!type || bytes_of(*type) == 1) {
    TokenReader::refuse_at(token.line, "registers of type '" + std::string(token.text) + "' are not supported");
  }
  std::vector<RegisterNames> all;
  do {
    RegisterNames names{*type, reader.word("the name of a register"), -1};
    if (reader.accept('<')) {
      const std::uint64_t count = reader.integer("the number of registers");
      if (count > kMostRegisters) reader.refuse("a function has at most 131072 registers");
      names.count = static_cast<int>(count);
      reader.expect('>', "after the number of registers");
    }
    all.push_back(std::move(names));
  } while (reader.accept(','));
  reader.expect(';', "after the names of registers");
  return all;
}

}  // namespace lockstep::ptx
