#include "cell.h"

#include <algorithm>
#include <regex>
#include <set>

#include "clang/Basic/LangOptions.h"
#include "clang/Lex/Lexer.h"
#include "headers.h"

namespace lockstep::kernel {
namespace {

struct Word {
  std::string text;
  std::size_t begin = 0, end = 0;
  bool directive = false;  // a whole line that begins with #
  bool name = false;       // an identifier or keyword
};

using Words = std::vector<Word>;

const std::set<std::string> kClassKeys{"struct", "class", "union", "enum"};
const std::set<std::string> kControl{"if", "for", "while", "do", "switch", "try", "{"};
const std::set<std::string> kSpecifiers{"typedef", "static",   "inline",       "const",   "constexpr", "consteval",
                                        "extern",  "volatile", "thread_local", "mutable", "constinit"};
const std::set<std::string> kTypes{"auto",  "int",    "double",   "float",  "char",      "bool",    "void",     "long", "short",
                                   "const", "signed", "unsigned", "static", "constexpr", "typedef", "template", "using"};
// Words with which only a statement begins.
const std::set<std::string> kStatements{"if",
                                        "for",
                                        "while",
                                        "do",
                                        "switch",
                                        "try",
                                        "delete",
                                        "throw",
                                        "new",
                                        "this",
                                        "return",
                                        "goto",
                                        "sizeof",
                                        "static_cast",
                                        "const_cast",
                                        "dynamic_cast",
                                        "typeid",
                                        "break",
                                        "continue",
                                        "assert",
                                        "static_assert",
                                        "reinterpret_cast",
                                        "asm",
                                        "true",
                                        "false",
                                        "nullptr"};

std::size_t end_of_directive(const std::string& code, std::size_t at) {
  while (at < code.size()) {
    const std::size_t line = std::min(code.find('\n', at), code.size());
    if (line == code.size() || line == 0 || code[line - 1] != '\\') return line;
    at = line + 1;
  }
  return code.size();
}

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

// One pass over the words of a scope.
class Splitter {
 public:
  Splitter(const std::string& code, const Words& words) : code_(code), words_(words) {}

  std::vector<Piece> split() {
    std::vector<Piece> pieces;
    while (at_ < words_.size()) {
      if (words_[at_].directive) {
        pieces.push_back(make(Piece::Kind::directive, at_, at_ + 1));
        ++at_;
      } else if (words_[at_].text == ";") {
        ++at_;
      } else {
        pieces.push_back(next());
      }
    }
    return pieces;
  }

 private:
  const std::string& text(std::size_t i) const {
    static const std::string none;
    return i < words_.size() && !words_[i].directive ? words_[i].text : none;
  }
  bool is_name(std::size_t i) const { return i < words_.size() && words_[i].name; }

  Piece make(Piece::Kind kind, std::size_t first, std::size_t last) const {
    Piece piece;
    piece.kind = kind;
    // With the comments before it, which tell what it is for.
    piece.begin = kind == Piece::Kind::wrapped ? (first > 0 ? words_[first - 1].end : 0) : words_[first].begin;
    piece.end = words_[last - 1].end;
    piece.line = 1 + static_cast<int>(std::count(code_.begin(), code_.begin() + static_cast<std::ptrdiff_t>(words_[first].begin), '\n'));
    return piece;
  }

  // Behind the angle brackets that open at i.
  std::size_t skip_angles(std::size_t i) const {
    int angles = 0;
    for (int depth = 0; i < words_.size(); ++i) {
      depth += depth_change(words_[i]);
      if (depth > 0) continue;
      const std::string& word = text(i);
      if (word == "<") ++angles;
      if (word == ">") --angles;
      if (word == ">>") angles -= 2;
      if (angles <= 0) return i + 1;
    }
    return i;
  }

  struct Head {
    std::size_t declaration = 0;  // behind template<...>
    bool is_template = false, specialises = false, is_class = false;
  };

  Head read_head(std::size_t first) const {
    Head head;
    std::size_t i = first;
    while (text(i) == "template") {
      head.is_template = true;
      if (text(i + 1) != "<" || text(i + 2) == ">") head.specialises = true;  // template <> or an instantiation
      if (text(i + 1) != "<") {
        ++i;
        break;
      }
      i = skip_angles(i + 1);
    }
    head.declaration = i;
    while (kSpecifiers.count(text(i)) != 0) ++i;
    if (kClassKeys.count(text(i)) != 0) {
      head.is_class = true;
      ++i;
      if (text(i) == "class" || text(i) == "struct") ++i;  // enum class
      if (is_name(i) && text(i + 1) == "<" && head.is_template) head.specialises = true;
    }
    return head;
  }

  Piece next() {
    const std::size_t first = at_;
    const Head head = read_head(first);
    const std::string begin = text(first);
    const bool is_space = begin == "namespace" || (begin == "inline" && text(first + 1) == "namespace");
    const bool is_block = is_space || (begin == "extern" && text(first + 1)[0] == '"');
    const bool is_control = kControl.count(begin) != 0;
    bool assigned = false, called = false, block = false, function = false;
    int depth = 0;
    std::size_t body = 0;
    std::size_t i = head.declaration;
    for (; i < words_.size(); ++i) {
      if (words_[i].directive) {
        if (depth == 0 && i > first) break;
        continue;
      }
      const std::string& word = text(i);
      if (depth == 0) {
        if (word == "=" && text(i - 1) != "operator") assigned = true;
        if (word == "(" && i > first) called = true;
        if (word == "{") {
          block = is_control || is_block || (!head.is_class && !assigned && called && begin != "[");
          if (body == 0) body = i;
        }
      }
      depth += depth_change(words_[i]);
      if (depth < 0) depth = 0;
      if (depth > 0) continue;
      const std::string& follows = text(i + 1);
      if (word == ";") {
        if (is_control && (follows == "else" || (begin == "do" && follows == "while"))) continue;
        return finish(first, i + 1, head, is_space ? body : 0, is_control, assigned, function, false);
      }
      if (word == "}" && block) {
        if (is_control && (follows == "else" || follows == "catch" || (begin == "do" && follows == "while"))) continue;
        if (!is_control && !is_block && (follows == "," || follows == "{")) continue;  // A::A() : x{1}, y{2} {}
        function = !is_control && !is_block;
        return finish(first, i + 1, head, is_space ? body : 0, is_control, assigned, function, false);
      }
    }
    return finish(first, i, head, 0, is_control, assigned, function, true);
  }

  Piece finish(std::size_t first, std::size_t last, const Head& head, std::size_t body, bool is_control, bool assigned, bool function,
               bool open) {
    at_ = last;
    Piece piece = make(Piece::Kind::wrapped, first, last);
    piece.open = open;
    piece.runs = !(function || head.is_class || head.is_template);
    if (body != 0) {
      piece.kind = Piece::Kind::space;
      piece.body_begin = words_[body].end;
      piece.body_end = words_[last - 1].begin;
      piece.runs = false;
    } else if (!is_control && kStatements.count(text(first)) == 0 && (head.specialises || stays_outside(first, last, function))) {
      piece.kind = Piece::Kind::plain;
      piece.runs = false;
      piece.body = function;
    } else if (is_control || is_statement(first)) {
      piece.kind = Piece::Kind::statement;
    }
    piece.declares = open && piece.kind == Piece::Kind::wrapped && (assigned || head.is_class || kTypes.count(text(first)) != 0);
    return piece;
  }

  // Declarations that belong to a scope which is there already.
  bool stays_outside(std::size_t first, std::size_t last, bool function) const {
    const std::string& begin = text(first);
    if (begin == "namespace" || (begin == "using" && text(first + 2) != "=" && text(first + 2) != "[")) return true;
    if (begin == "extern" && text(first + 1)[0] == '"') return true;
    return defines_member(first, last) && (function || !is_call_or_assignment(first));
  }

  // What nobody takes for a declaration.
  bool is_statement(std::size_t first) const {
    const std::string& begin = text(first);
    if (kStatements.count(begin) != 0) return true;
    if (!words_[first].name && begin != "::" && begin != "[" && begin != "~") return true;
    if (begin == "[" && text(first + 1) != "[") return true;
    return is_call_or_assignment(first);
  }

  // a::b.c(...), x = 1, std::cout << ...
  bool is_call_or_assignment(std::size_t i) const {
    if (text(i) == "::") ++i;
    if (!is_name(i) || kTypes.count(text(i)) != 0 || kSpecifiers.count(text(i)) != 0) return false;
    while (is_name(i) && text(i + 1) == "::") i += 2;
    const std::string& then = text(i + 1);
    return is_name(i) && !then.empty() && !is_name(i + 1) && then != "<" && then != "*" && then != "&" && then != "&&" && then != "::";
  }

  // T Class::member(...) { ... }, Class::Class(...), T Class::value = ...
  bool defines_member(std::size_t first, std::size_t last) const {
    int depth = 0;
    for (std::size_t i = first; i < last; ++i) {
      const std::string& word = text(i);
      if (depth == 0 && (word == "(" || word == "=" || word == ";" || word == "{")) {
        std::size_t name = i - 1;
        if (i <= first + 2) return false;
        if (text(name - 1) == "~") --name;
        for (std::size_t back = name; back > first; --back) {  // X::operator+(
          if (text(back) == "operator") {
            name = back;
            break;
          }
        }
        return name > first + 1 && text(name - 1) == "::" && (name < first + 3 || text(name - 3) != "<<");
      }
      if (word == "<") {
        i = skip_angles(i) - 1;
        continue;
      }
      depth += depth_change(words_[i]);
    }
    return false;
  }

  const std::string& code_;
  const Words& words_;
  std::size_t at_ = 0;
};

// A variable's declaration as the compiler takes it at the top of a file, with every column where it was.
//   - clang's interpreter makes `const` variables before all others of a cell, out of order. So where the value is computed, the const is
//     left out; `const int n = 4` stays, and is a constant.
//   - A lambda that is no local one may not capture by default; there is nothing to capture either.
class VariableText {
 public:
  explicit VariableText(std::string text) : text_(std::move(text)), words_(lex(text_)) {
    drop_captures();
    drop_const();
  }
  const std::string& text() const { return text_; }

 private:
  void drop_captures() {
    int depth = 0;
    for (std::size_t i = 0; i + 2 < words_.size(); ++i) {
      const std::string& word = words_[i].text;
      if (word == "{") ++depth;
      if (word == "}") --depth;
      const bool by_default = word == "[" && (words_[i + 1].text == "&" || words_[i + 1].text == "=") && words_[i + 2].text == "]";
      if (by_default && depth == 0) text_[words_[i + 1].begin] = ' ';
    }
  }

  // Whether the value is more than numbers, names and operators.
  bool is_computed(std::size_t from) const {
    static const std::set<std::string> makes{"(", "[", "{", ".", "->"};
    return std::any_of(words_.begin() + static_cast<std::ptrdiff_t>(from), words_.end(),
                       [](const Word& word) { return makes.count(word.text) != 0; });
  }

  void drop_const() {
    static const std::set<std::string> kept{"static", "extern", "typedef", "using", "constexpr", "template", "inline", "thread_local"};
    std::size_t constant = words_.size();
    int angles = 0;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const std::string& word = words_[i].text;
      angles += word == "<" ? 1 : word == ">" ? -1 : word == ">>" ? -2 : 0;
      if (angles > 0) continue;
      if (kept.count(word) != 0) return;
      if (word == "const") constant = i;
      if (constant < i && (word == "*" || word == "&" || word == "&&")) constant = words_.size();  // of what it points to
      if (word != "=" && word != "(" && word != "{") continue;
      if (constant < i && is_computed(i)) text_.replace(words_[constant].begin, 5, 5, ' ');
      return;
    }
  }

  std::string text_;
  Words words_;
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
    const Words words = lex(text);
    for (Piece& piece : Splitter(text, words).split()) {
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

std::vector<Piece> split_cell(const std::string& code) {
  const Words words = lex(code);
  return Splitter(code, words).split();
}

std::string rewrite_cell(const std::string& code, const std::string& name, const std::string& space, UserHeaders& headers) {
  int names = 0;
  const std::vector<Piece> pieces = split_cell(code);
  return Writer(code, name, space, headers, names).write(pieces, pieces.size() > 1);
}

bool is_complete(const std::string& code) {
  int depth = 0;
  for (const Word& word : lex(code)) depth += depth_change(word);
  const std::size_t last = code.find_last_not_of(" \t\n");
  const bool continued = last != std::string::npos && code[last] == '\\';
  return depth <= 0 && !continued;
}

// Where a comment begins that never ends, behind the last word.
static std::size_t open_comment(const std::string& code, std::size_t at) {
  while ((at = code.find('/', at)) != std::string::npos) {
    if (code.compare(at, 2, "/*") == 0) {
      const std::size_t end = code.find("*/", at + 2);
      if (end == std::string::npos) return at;
      at = end + 2;
    } else {
      at = code.find('\n', at);
    }
  }
  return at;
}

std::string unclosed_bracket(const std::string& code) {
  std::vector<const Word*> open;
  const Words words = lex(code);
  for (const Word& word : words) {
    // What #if or #define leaves out may hold brackets: the compiler knows.
    const std::string directive = word.directive ? code.substr(word.begin, word.end - word.begin) : "";
    if (directive.find("if") != std::string::npos || directive.find("define") != std::string::npos) return "";
    if (depth_change(word) > 0) open.push_back(&word);
    if (depth_change(word) < 0 && !open.empty()) open.pop_back();
  }
  const std::size_t at = open.empty() ? open_comment(code, words.empty() ? 0 : words.back().end) : open.back()->begin;
  if (at == std::string::npos) return "";
  const auto line = 1 + std::count(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  const std::size_t newline = at == 0 ? std::string::npos : code.rfind('\n', at - 1);
  const std::size_t column = newline == std::string::npos ? at + 1 : at - newline;
  return std::to_string(line) + ":" + std::to_string(column) + ": error: this " + (open.empty() ? "/*" : open.back()->text) +
         " is never closed";
}

std::vector<Setting> take_settings(std::string& code) {
  static const std::regex form(R"re([ \t]*#[ \t]*pragma[ \t]+cling[ \t]+(\w+)[ \t]*\(?[ \t]*"([^"\n]*)"[ \t]*\)?[ \t]*;?[ \t]*(//.*)?)re");
  std::vector<Setting> settings;
  std::size_t begin = 0;
  for (int line = 1; begin <= code.size(); ++line) {
    const std::size_t end = std::min(code.find('\n', begin), code.size());
    const std::string text = code.substr(begin, end - begin);
    std::smatch match;
    if (std::regex_match(text, match, form)) {
      settings.push_back({match[1], match[2], line});
      std::fill(code.begin() + static_cast<std::ptrdiff_t>(begin), code.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    }
    begin = end + 1;
  }
  return settings;
}

}  // namespace lockstep::kernel
