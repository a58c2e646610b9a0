#include "notebooks/kernel/cell.h"

#include <algorithm>
#include <regex>
#include <set>

#include "notebooks/kernel/tokens.h"

namespace lockstep::kernel {
namespace {

const std::set<std::string> kClassKeys{"struct", "class", "union", "enum"};
const std::set<std::string> kControl{"if", "for", "while", "do", "switch", "try", "{"};
const std::set<std::string> kSpecifiers{"typedef", "static",   "inline",       "const",   "constexpr", "consteval",
                                        "extern",  "volatile", "thread_local", "mutable", "constinit"};
const std::set<std::string> kTypes{"auto",  "int",    "double",   "float",  "char",      "bool",    "void",     "long", "short",
                                   "const", "signed", "unsigned", "static", "constexpr", "typedef", "template", "using"};
// Tokens with which only a statement begins.
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

// One pass over the tokens of a scope.
class Splitter {
 public:
  Splitter(const std::string& code, const Tokens& tokens) : code_(code), tokens_(tokens) {}

  std::vector<Piece> split() {
    std::vector<Piece> pieces;
    while (at_ < tokens_.size()) {
      if (tokens_[at_].directive) {
        pieces.push_back(make(Piece::Kind::directive, at_, at_ + 1));
        ++at_;
      } else if (tokens_[at_].text == ";") {
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
    return i < tokens_.size() && !tokens_[i].directive ? tokens_[i].text : none;
  }
  bool is_name(std::size_t i) const { return i < tokens_.size() && tokens_[i].name; }

  Piece make(Piece::Kind kind, std::size_t first, std::size_t last) const {
    Piece piece;
    piece.kind = kind;
    // With the comments before it, which inspection shows.
    piece.begin = kind == Piece::Kind::wrapped ? (first > 0 ? tokens_[first - 1].end : 0) : tokens_[first].begin;
    piece.end = tokens_[last - 1].end;
    piece.line = 1 + static_cast<int>(std::count(code_.begin(), code_.begin() + static_cast<std::ptrdiff_t>(tokens_[first].begin), '\n'));
    return piece;
  }

  // The index after the angle brackets that open at i.
  std::size_t skip_angles(std::size_t i) const {
    int angles = 0;
    for (int depth = 0; i < tokens_.size(); ++i) {
      depth += depth_change(tokens_[i]);
      if (depth > 0) continue;
      const std::string& token = text(i);
      if (token == "<") ++angles;
      if (token == ">") --angles;
      if (token == ">>") angles -= 2;
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
    for (; i < tokens_.size(); ++i) {
      if (tokens_[i].directive) {
        if (depth == 0 && i > first) break;
        continue;
      }
      const std::string& token = text(i);
      if (depth == 0) {
        if (token == "=" && text(i - 1) != "operator") assigned = true;
        if (token == "(" && i > first) called = true;
        if (token == "{") {
          block = is_control || is_block || (!head.is_class && !assigned && called && begin != "[");
          if (body == 0) body = i;
        }
      }
      depth += depth_change(tokens_[i]);
      if (depth < 0) depth = 0;
      if (depth > 0) continue;
      const std::string& follows = text(i + 1);
      if (token == ";") {
        if (is_control && (follows == "else" || (begin == "do" && follows == "while"))) continue;
        return finish(first, i + 1, head, is_space ? body : 0, is_control, assigned, function, false);
      }
      if (token == "}" && block) {
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
      piece.body_begin = tokens_[body].end;
      piece.body_end = tokens_[last - 1].begin;
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

  // Declarations that belong to an existing scope.
  bool stays_outside(std::size_t first, std::size_t last, bool function) const {
    const std::string& begin = text(first);
    if (begin == "namespace" || (begin == "using" && text(first + 2) != "=" && text(first + 2) != "[")) return true;
    if (begin == "extern" && text(first + 1)[0] == '"') return true;
    return defines_member(first, last) && (function || !is_call_or_assignment(first));
  }

  // What can only be a statement.
  bool is_statement(std::size_t first) const {
    const std::string& begin = text(first);
    if (kStatements.count(begin) != 0) return true;
    if (!tokens_[first].name && begin != "::" && begin != "[" && begin != "~") return true;
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
      const std::string& token = text(i);
      if (depth == 0 && (token == "(" || token == "=" || token == ";" || token == "{")) {
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
      if (token == "<") {
        i = skip_angles(i) - 1;
        continue;
      }
      depth += depth_change(tokens_[i]);
    }
    return false;
  }

  const std::string& code_;
  const Tokens& tokens_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<Piece> split_cell(const std::string& code) {
  const Tokens tokens = lex(code);
  return Splitter(code, tokens).split();
}

bool is_complete(const std::string& code) {
  int depth = 0;
  for (const Token& token : lex(code)) depth += depth_change(token);
  const std::size_t last = code.find_last_not_of(" \t\n");
  const bool continued = last != std::string::npos && code[last] == '\\';
  return depth <= 0 && !continued;
}

// The start of a comment after the last token that is never closed.
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
  std::vector<const Token*> open;
  const Tokens tokens = lex(code);
  for (const Token& token : tokens) {
    // Text that #if or #define leaves out may have brackets; only the compiler can tell.
    const std::string directive = token.directive ? code.substr(token.begin, token.end - token.begin) : "";
    if (directive.find("if") != std::string::npos || directive.find("define") != std::string::npos) return "";
    if (depth_change(token) > 0) open.push_back(&token);
    if (depth_change(token) < 0 && !open.empty()) open.pop_back();
  }
  const std::size_t at = open.empty() ? open_comment(code, tokens.empty() ? 0 : tokens.back().end) : open.back()->begin;
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
