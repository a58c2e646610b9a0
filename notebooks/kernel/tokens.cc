#include "notebooks/kernel/tokens.h"

#include <algorithm>

#include "clang/Basic/LangOptions.h"
#include "clang/Lex/Lexer.h"

namespace lockstep::kernel {
namespace {

std::size_t end_of_directive(const std::string& code, std::size_t at) {
  while (at < code.size()) {
    const std::size_t line = std::min(code.find('\n', at), code.size());
    if (line == code.size() || line == 0 || code[line - 1] != '\\') return line;
    at = line + 1;
  }
  return code.size();
}

}  // namespace

Tokens lex(const std::string& code) {
  clang::LangOptions options;
  options.CPlusPlus = options.CPlusPlus11 = options.CPlusPlus14 = options.CPlusPlus17 = true;
  options.LineComment = true;
  options.RawStringLiterals = true;
  options.Bool = true;
  const unsigned base = 2;
  clang::Lexer lexer(clang::SourceLocation::getFromRawEncoding(base), options, code.data(), code.data(), code.data() + code.size());
  Tokens tokens;
  std::size_t skip_to = 0;
  clang::Token raw;
  for (;;) {
    lexer.LexFromRawLexer(raw);
    if (raw.is(clang::tok::eof)) return tokens;
    const std::size_t begin = raw.getLocation().getRawEncoding() - base;
    if (begin < skip_to) continue;
    Token token{code.substr(begin, raw.getLength()), begin, begin + raw.getLength()};
    if (raw.is(clang::tok::hash) && raw.isAtStartOfLine()) {
      token.directive = true;
      token.end = skip_to = end_of_directive(code, begin);
    }
    token.name = raw.is(clang::tok::raw_identifier);
    tokens.push_back(std::move(token));
  }
}

int depth_change(const Token& token) {
  if (token.directive) return 0;
  if (token.text == "(" || token.text == "[" || token.text == "{") return 1;
  if (token.text == ")" || token.text == "]" || token.text == "}") return -1;
  return 0;
}

}  // namespace lockstep::kernel
