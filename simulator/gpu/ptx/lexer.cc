// Cuts PTX text into tokens.
#include "simulator/gpu/ptx/lexer.h"

#include <bit>
#include <cstdlib>
#include <string>

#include "simulator/gpu/ptx/error.h"

namespace lockstep::ptx {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool starts_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%'; }
bool goes_on(char c) { return starts_word(c) || is_digit(c); }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<Token> all() {
    std::vector<Token> tokens;
    while (skip_blanks(), at_ < source_.size()) tokens.push_back(next());
    Token end;
    end.line = line_;
    tokens.push_back(end);
    return tokens;
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }

  [[noreturn]] void refuse(const std::string& what) const { throw Error("PTX line " + std::to_string(line_) + ": " + what + "."); }

  void skip_blanks() {
    while (at_ < source_.size()) {
      const char c = peek();
      if (c == '\n') ++line_;
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\0') {
        ++at_;
      } else if (c == '/' && peek(1) == '/') {
        while (at_ < source_.size() && peek() != '\n') ++at_;
      } else if (c == '/' && peek(1) == '*') {
        const std::size_t end = source_.find("*/", at_ + 2);
        if (end == std::string_view::npos) refuse("a comment has no end");
        for (; at_ < end + 2; ++at_) line_ += peek() == '\n' ? 1 : 0;
      } else {
        return;
      }
    }
  }

  Token next() {
    Token token;
    token.line = line_;
    const std::size_t first = at_;
    const char c = peek();
    if (starts_word(c)) {
      while (goes_on(peek())) ++at_;
      token.kind = Token::Kind::word;
      token.text = source_.substr(first, at_ - first);
    } else if (is_digit(c)) {
      number(token);
    } else if (c == '.' && goes_on(peek(1))) {
      ++at_;
      while (goes_on(peek()) || (peek() == ':' && peek(1) == ':') || (peek() == ':' && at_ > 0 && source_[at_ - 1] == ':')) ++at_;
      token.kind = Token::Kind::dotted;
      token.text = source_.substr(first + 1, at_ - first - 1);
    } else if (c == '"') {
      const std::size_t end = source_.find_first_of("\"\n", at_ + 1);
      if (end == std::string_view::npos || source_[end] == '\n') refuse("a text has no closing quote");
      token.kind = Token::Kind::text;
      token.text = source_.substr(first + 1, end - first - 1);
      at_ = end + 1;
    } else if (std::string_view(",;:(){}[]+-=<>|!@~*/&^?").find(c) != std::string_view::npos) {
      token.kind = Token::Kind::sign;
      token.text = source_.substr(at_++, 1);
    } else {
      refuse("PTX has no character with code " + std::to_string(static_cast<int>(static_cast<unsigned char>(c))) + " here");
    }
    return token;
  }

  void number(Token& token) {
    const std::size_t first = at_;
    const char mark = peek(1);
    token.kind = Token::Kind::integer;
    if (peek() == '0' && (mark == 'f' || mark == 'F' || mark == 'd' || mark == 'D')) {
      const bool single = mark == 'f' || mark == 'F';
      at_ += 2;
      token.kind = single ? Token::Kind::real32 : Token::Kind::real64;
      token.bits = digits(16, single ? 8 : 16, single ? 8 : 16);
    } else if (peek() == '0' && (mark == 'x' || mark == 'X')) {
      at_ += 2;
      token.bits = digits(16, 1, 16);
    } else if (peek() == '0' && (mark == 'b' || mark == 'B')) {
      at_ += 2;
      token.bits = digits(2, 1, 64);
    } else {
      std::size_t end = at_;
      while (end < source_.size() && is_digit(source_[end])) ++end;
      const bool real = end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1]);
      const bool exponent = end < source_.size() && (source_[end] == 'e' || source_[end] == 'E');
      if (real || exponent) return decimal(token);
      token.bits = peek() == '0' && end > at_ + 1 ? digits(8, 1, 23) : digits(10, 1, 20);
    }
    if (peek() == 'U') ++at_;
    if (goes_on(peek())) refuse("the number " + std::string(source_.substr(first, at_ - first + 1)) + " goes on with a letter");
    token.text = source_.substr(first, at_ - first);
  }

  void decimal(Token& token) {
    const std::string text(source_.substr(at_, 64));
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    token.kind = Token::Kind::real64;
    token.bits = std::bit_cast<std::uint64_t>(value);
    token.text = source_.substr(at_, static_cast<std::size_t>(end - text.c_str()));
    at_ += token.text.size();
  }

  std::uint64_t digits(unsigned base, std::size_t least, std::size_t most) {
    std::uint64_t value = 0;
    std::size_t count = 0;
    for (; is_hex(peek()); ++at_, ++count) {
      const char c = peek();
      const auto digit = static_cast<unsigned>(is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
      if (digit >= base) break;
      if (value > (~std::uint64_t{0} - digit) / base) refuse("a number has more than 64 bits");
      value = value * base + digit;
    }
    if (count < least || count > most) refuse("a number in base " + std::to_string(base) + " has " + std::to_string(count) + " digits");
    return value;
  }

  std::string_view source_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source) { return Lexer(source).all(); }

}  // namespace lockstep::ptx
