#include "notebooks/kernel/words.h"

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

Words lex(const std::string& code) {
  clang::LangOptions options;
  options.CPlusPlus = options.CPlusPlus11 = options.CPlusPlus14 = options.CPlusPlus17 = true;
  options.LineComment = true;
  options.RawStringLiterals = true;
  options.Bool = true;
  const unsigned base = 2;
  clang::Lexer lexer(clang::SourceLocation::getFromRawEncoding(base), options, code.data(), code.data(), code.data() + code.size());
  Words words;
  std::size_t skip_to = 0;
  clang::Token token;
  for (;;) {
    lexer.LexFromRawLexer(token);
    if (token.is(clang::tok::eof)) return words;
    const std::size_t begin = token.getLocation().getRawEncoding() - base;
    if (begin < skip_to) continue;
    Word word{code.substr(begin, token.getLength()), begin, begin + token.getLength()};
    if (token.is(clang::tok::hash) && token.isAtStartOfLine()) {
      word.directive = true;
      word.end = skip_to = end_of_directive(code, begin);
    }
    word.name = token.is(clang::tok::raw_identifier);
    words.push_back(std::move(word));
  }
}

int depth_change(const Word& word) {
  if (word.directive) return 0;
  if (word.text == "(" || word.text == "[" || word.text == "{") return 1;
  if (word.text == ")" || word.text == "]" || word.text == "}") return -1;
  return 0;
}

}  // namespace lockstep::kernel
