// A place in the tokens of a module, with the questions a parser asks there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/gpu/ptx/lexer.h"

namespace lockstep::ptx {

class TokenReader {
 public:
  explicit TokenReader(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& peek(std::size_t ahead = 0) const { return tokens_[at_ + ahead < tokens_.size() ? at_ + ahead : tokens_.size() - 1]; }
  const Token& take() {
    const Token& token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool at_end() const { return peek().kind == Token::Kind::end; }
  bool accept(char sign);
  void expect(char sign, std::string_view where);
  bool accept_dotted(std::string_view word);
  std::string word(std::string_view what);
  std::uint64_t integer(std::string_view what);  // without a sign in front
  std::int64_t signed_integer(std::string_view what);
  [[noreturn]] void refuse(const std::string& what) const;
  [[noreturn]] static void refuse_at(int line, const std::string& what);

 private:
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace lockstep::ptx
