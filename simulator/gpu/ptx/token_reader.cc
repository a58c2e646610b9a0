// Questions about the next token, and what is said when the answer is no.
#include "simulator/gpu/ptx/token_reader.h"

#include "simulator/gpu/ptx/error.h"

namespace lockstep::ptx {

bool TokenReader::accept(char sign) {
  if (!peek().is(sign)) return false;
  take();
  return true;
}

void TokenReader::expect(char sign, std::string_view where) {
  if (!accept(sign)) refuse("expected '" + std::string(1, sign) + "' " + std::string(where));
}

bool TokenReader::accept_dotted(std::string_view word) {
  if (!peek().is_dotted(word)) return false;
  take();
  return true;
}

std::string TokenReader::word(std::string_view what) {
  if (peek().kind != Token::Kind::word) refuse("expected " + std::string(what));
  return std::string(take().text);
}

std::uint64_t TokenReader::integer(std::string_view what) {
  if (peek().kind != Token::Kind::integer) refuse("expected " + std::string(what));
  return take().bits;
}

std::int64_t TokenReader::signed_integer(std::string_view what) {
  const bool negative = accept('-');
  const std::uint64_t value = integer(what);
  return static_cast<std::int64_t>(negative ? 0 - value : value);
}

void TokenReader::refuse(const std::string& what) const {
  const Token& token = peek();
  const std::string found = token.kind == Token::Kind::end ? "the text ends" : "found '" + std::string(token.text) + "'";
  refuse_at(token.line, what + ", " + found);
}

void TokenReader::refuse_at(int line, const std::string& what) { throw Error("PTX line " + std::to_string(line) + ": " + what + "."); }

}  // namespace lockstep::ptx
