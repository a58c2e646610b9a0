// PTX text as words, numbers and signs, each with its line.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace lockstep::ptx {

struct Token {
  enum class Kind : std::uint8_t { word, dotted, integer, real32, real64, text, sign, end };
  Kind kind = Kind::end;
  std::string_view text;   // of a dotted word without the dot, of a text without quotes
  std::uint64_t bits = 0;  // of a number: the integer, or the bits of a float or double
  int line = 0;

  bool is(char sign) const { return kind == Kind::sign && text.size() == 1 && text[0] == sign; }
  bool is_word(std::string_view word) const { return kind == Kind::word && text == word; }
  bool is_dotted(std::string_view word) const { return kind == Kind::dotted && text == word; }
};

// The tokens refer to `source`. The last one is of kind `end`. Throws Error for a character or number that PTX does not have.
std::vector<Token> tokens_of(std::string_view source);

}  // namespace lockstep::ptx
