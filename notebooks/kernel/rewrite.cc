#include <algorithm>
#include <optional>
#include <set>

#include "notebooks/kernel/cell.h"
#include "notebooks/kernel/headers.h"
#include "notebooks/kernel/tokens.h"

namespace lockstep::kernel {
namespace {

// A variable's declaration as the compiler takes it at the top of a file, with every column where it was.
//   - clang's interpreter makes `const` variables before all others of a cell, out of order. So where the value is computed, the const is
//     left out; `const int n = 4` stays, and is a constant.
//   - A lambda that is no local one may not capture by default; there is nothing to capture either.
class VariableText {
 public:
  explicit VariableText(std::string text) : text_(std::move(text)), tokens_(lex(text_)) {
    drop_captures();
    drop_const();
  }
  const std::string& text() const { return text_; }

 private:
  void drop_captures() {
    int depth = 0;
    for (std::size_t i = 0; i + 2 < tokens_.size(); ++i) {
      const std::string& token = tokens_[i].text;
      if (token == "{") ++depth;
      if (token == "}") --depth;
      const bool by_default = token == "[" && (tokens_[i + 1].text == "&" || tokens_[i + 1].text == "=") && tokens_[i + 2].text == "]";
      if (by_default && depth == 0) text_[tokens_[i + 1].begin] = ' ';
    }
  }

  // Whether the value is more than numbers, names and operators.
  bool is_computed(std::size_t from) const {
    static const std::set<std::string> makes{"(", "[", "{", ".", "->"};
    return std::any_of(tokens_.begin() + static_cast<std::ptrdiff_t>(from), tokens_.end(),
                       [](const Token& token) { return makes.count(token.text) != 0; });
  }

  void drop_const() {
    static const std::set<std::string> kept{"static", "extern", "typedef", "using", "constexpr", "template", "inline", "thread_local"};
    std::size_t constant = tokens_.size();
    int angles = 0;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const std::string& token = tokens_[i].text;
      angles += token == "<" ? 1 : token == ">" ? -1 : token == ">>" ? -2 : 0;
      if (angles > 0) continue;
      if (kept.count(token) != 0) return;
      if (token == "const") constant = i;
      if (constant < i && (token == "*" || token == "&" || token == "&&")) constant = tokens_.size();  // of what it points to
      if (token != "=" && token != "(" && token != "{") continue;
      if (constant < i && is_computed(i)) text_.replace(tokens_[constant].begin, 5, 5, ' ');
      return;
    }
  }

  std::string text_;
  Tokens tokens_;
};

// Writes pieces with the lines and columns they have in the cell.
class Writer {
 public:
  Writer(const std::string& code, std::string name, std::string space, UserHeaders& headers, int& names)
      : code_(code), name_(std::move(name)), space_(std::move(space)), headers_(headers), names_(names) {}

  std::string write(const std::vector<Piece>& pieces, bool marked) {
    marked_ = marked;
    for (const Piece& piece : pieces) one(piece);
    return std::move(out_);
  }

 private:
  void one(const Piece& piece) {
    switch (piece.kind) {
      case Piece::Kind::directive:
        return directive(piece);
      case Piece::Kind::plain:
        // In a block, so that the pragma is met before machine code is made: safe_points.h.
        if (piece.body) out_ += "extern \"C++\" {\n";
        copy(piece.begin, piece.end);
        if (piece.body) out_ += "}\n#pragma xcpp_piece\n";
        return;
      case Piece::Kind::statement:
        return statement(piece, piece.open);
      case Piece::Kind::wrapped:
        if (piece.open && !piece.declares) return statement(piece, true);
        if (piece.runs && marked_) out_ += "inline namespace " + space_ + " { int " + next_name() + " = (" + mark(piece) + "0); }\n";
        out_ += "inline namespace " + space_ + " {\n";
        if (piece.runs) {
          copy(piece.begin, VariableText(code_.substr(piece.begin, piece.end - piece.begin)).text());
        } else {
          copy(piece.begin, piece.end);
        }
        out_ += piece.open ? ";}\n#pragma xcpp_piece\n" : "}\n#pragma xcpp_piece\n";
        return;
      case Piece::Kind::space:
        copy(piece.begin, piece.body_begin);
        body(piece.body_begin, piece.body_end);
        out_ += "}\n#pragma xcpp_piece\n";
    }
  }

  void directive(const Piece& piece) {
    const std::optional<UserHeaders::Header> header = headers_.take(code_.substr(piece.begin, piece.end - piece.begin), name_);
    if (!header) return copy(piece.begin, piece.end);
    if (!header->guard.empty()) out_ += "#undef " + header->guard + "\n";
    out_ += Writer(header->text, header->path, space_, headers_, names_).write(split_cell(header->text), false);
  }

  // What stands in a namespace of its own is wrapped there.
  void body(std::size_t begin, std::size_t end) {
    const std::string text = blank(begin) + code_.substr(begin, end - begin);
    for (Piece& piece : split_cell(text)) {
      piece.begin = std::max(piece.begin, begin);
      one(piece);
    }
  }

  std::string blank(std::size_t end) const {
    std::string text = code_.substr(0, end);
    for (char& c : text) {
      if (c != '\n') c = ' ';
    }
    return text;
  }

  // A function, called by a variable's initialiser: so it runs in its turn among the variables. (clang's own way for statements at the top
  // of a file, version 19, fails on some templates.)
  void statement(const Piece& piece, bool shown) {
    const std::string name = next_name();
    out_ += "inline namespace " + space_ + " { static void " + name + "() {\n" + (shown ? "::xcpp_kernel::show((\n" : "");
    copy(piece.begin, piece.end);
    out_ += shown ? ", ::xcpp_kernel::nothing));\n" : "";
    out_ += "} int " + next_name() + " = (" + (marked_ ? mark(piece) : "") + name + "(), 0); }\n#pragma xcpp_piece\n";
  }

  static std::string mark(const Piece& piece) { return "::xcpp_kernel::mark(" + std::to_string(piece.line) + "), "; }
  std::string next_name() { return "of_" + space_ + "_" + std::to_string(++names_); }

  void copy(std::size_t begin, std::size_t end) { copy(begin, code_.substr(begin, end - begin)); }
  void copy(std::size_t begin, const std::string& text) {
    const auto from = code_.begin();
    const auto line = 1 + std::count(from, from + static_cast<std::ptrdiff_t>(begin), '\n');
    const std::size_t newline = begin == 0 ? std::string::npos : code_.rfind('\n', begin - 1);
    const std::size_t column = newline == std::string::npos ? begin : begin - newline - 1;
    out_ += "#line " + std::to_string(line) + " \"" + name_ + "\"\n" + std::string(column, ' ') + text + "\n";
  }

  const std::string& code_;
  std::string name_, space_, out_;
  UserHeaders& headers_;
  int& names_;
  bool marked_ = false;
};

}  // namespace

std::string rewrite_cell(const std::string& code, const std::string& name, const std::string& space, UserHeaders& headers) {
  int names = 0;
  const std::vector<Piece> pieces = split_cell(code);
  return Writer(code, name, space, headers, names).write(pieces, pieces.size() > 1);
}

}  // namespace lockstep::kernel
