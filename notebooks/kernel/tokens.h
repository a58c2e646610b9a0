// The tokens of a cell, from clang's lexer, before macros are expanded.
#pragma once

#include <string>
#include <vector>

namespace lockstep::kernel {

struct Token {
  std::string text;
  std::size_t begin = 0, end = 0;
  bool directive = false;  // a whole line that begins with #
  bool name = false;       // an identifier or keyword
};

using Tokens = std::vector<Token>;

Tokens lex(const std::string& code);
int depth_change(const Token& token);  // of brackets: 1, -1 or 0

}  // namespace lockstep::kernel
