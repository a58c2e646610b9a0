// The words of a cell: what clang's lexer makes of its text, before any macro is looked at.
#pragma once

#include <string>
#include <vector>

namespace lockstep::kernel {

struct Word {
  std::string text;
  std::size_t begin = 0, end = 0;
  bool directive = false;  // a whole line that begins with #
  bool name = false;       // an identifier or keyword
};

using Words = std::vector<Word>;

Words lex(const std::string& code);
int depth_change(const Word& word);  // of brackets: 1, -1 or 0

}  // namespace lockstep::kernel
