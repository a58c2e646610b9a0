// Directives of a module, and functions.
#include "simulator/gpu/ptx/parser.h"

#include <algorithm>

#include "simulator/gpu/ptx/body_parser.h"
#include "simulator/gpu/ptx/token_reader.h"
#include "simulator/gpu/ptx/variable_parser.h"

namespace lockstep::ptx {

namespace {

using syntax::Function;
using syntax::Variable;

// nvcc 12.4 writes 8.4 and nvcc 13.0 writes 9.0. Older modules are parts of newer ones; what a newer version brings cannot be known.
constexpr int kOldestVersion = 60, kNewestVersion = 93;
constexpr int kOldestTarget = 50, kNewestTarget = 121;

class ModuleParser {
 public:
  explicit ModuleParser(std::string_view source) : reader_(tokens_of(source)) {}

  syntax::Module parse() {
    header();
    while (!reader_.at_end()) item();
    return std::move(module_);
  }

 private:
  void header() {
    if (!reader_.accept_dotted("version")) reader_.refuse("a module begins with .version");
    const int line = reader_.peek().line;
    const Token& number = reader_.take();  // 9.0 is read as a decimal number
    std::string text(number.text);
    const std::size_t dot = text.find('.');
    if (number.kind != Token::Kind::real64 || dot == std::string::npos || dot + 2 != text.size() || dot > 2) {
      TokenReader::refuse_at(line, "'" + text + "' is no version of PTX");
    }
    module_.version = (dot == 2 ? (text[0] - '0') * 100 : 0) + (text[dot - 1] - '0') * 10 + (text[dot + 1] - '0');
    if (module_.version < kOldestVersion || module_.version > kNewestVersion) {
      TokenReader::refuse_at(line, "version " + text + " of PTX is not supported; this machine reads 6.0 to 9.3");
    }
    if (!reader_.accept_dotted("target")) reader_.refuse("expected .target after .version");
    const int target_line = reader_.peek().line;
    std::string target = reader_.word("a target such as sm_75");
    const std::string whole = target;
    if (!target.empty() && (target.back() == 'a' || target.back() == 'f')) target.pop_back();
    const bool digits = target.size() >= 5 && target.size() <= 6 && target.rfind("sm_", 0) == 0 &&
                        std::all_of(target.begin() + 3, target.end(), [](char c) { return c >= '0' && c <= '9'; });
    module_.target = digits ? std::stoi(target.substr(3)) : 0;
    if (module_.target < kOldestTarget || module_.target > kNewestTarget) {
      TokenReader::refuse_at(target_line, "target '" + whole + "' is not supported; compile for sm_75 to sm_90");
    }
    while (reader_.accept(',')) reader_.word("an option of the target");  // debug, texmode_...
    if (reader_.accept_dotted("address_size") && reader_.integer("32 or 64") != 64) reader_.refuse("addresses have 64 bits");
  }

  void item() {
    const Token& token = reader_.peek();
    if (token.kind != Token::Kind::dotted) reader_.refuse("expected a directive such as .entry");
    if (token.text == "file") return file();
    if (token.text == "section") return section();
    if (token.text == "loc") {
      parse_location(reader_);
      return;
    }
    if (token.text == "pragma") {
      while (!reader_.at_end() && !reader_.accept(';')) reader_.take();
      return;
    }
    bool external = false;
    for (;; reader_.take()) {
      if (reader_.peek().is_dotted("extern")) external = true;
      if (!external && !reader_.peek().is_dotted("visible") && !reader_.peek().is_dotted("weak") && !reader_.peek().is_dotted("common"))
        break;
      if (external && !reader_.peek().is_dotted("extern")) break;
    }
    const Token& what = reader_.peek();
    if (what.kind != Token::Kind::dotted) reader_.refuse("expected a directive");
    if (what.text == "entry" || what.text == "func") return function();
    const auto space = space_named(what.text);
    if (!space || *space == Space::param || *space == Space::local) {
      TokenReader::refuse_at(what.line, "directive '." + std::string(what.text) + "' is not supported");
    }
    reader_.take();
    for (auto& variable : parse_variables(reader_, *space, external, true)) module_.variables.push_back(std::move(variable));
    reader_.expect(';', "after a declaration");
  }

  void file() {
    reader_.take();
    const auto number = static_cast<int>(reader_.integer("the number of a file"));
    if (reader_.peek().kind != Token::Kind::text) reader_.refuse("expected the name of a file");
    module_.files[number] = std::string(reader_.take().text);
    while (reader_.accept(',')) reader_.integer("a date or size");
  }

  void section() {  // debug information: nothing that runs
    reader_.take();
    if (reader_.peek().kind != Token::Kind::dotted && reader_.peek().kind != Token::Kind::word)
      reader_.refuse("expected the name of a section");
    reader_.take();
    reader_.expect('{', "at the start of a section");
    while (!reader_.accept('}')) {
      if (reader_.at_end()) reader_.refuse("a section has no closing brace");
      reader_.take();
    }
  }

  void function() {
    Function function;
    function.entry = reader_.take().text == "entry";
    function.line = reader_.peek().line;
    if (!function.entry && reader_.peek().is('(')) function.results = parameters();
    function.name = reader_.word("the name of a function");
    if (reader_.peek().is('(')) function.parameters = parameters();
    limits(function);
    if (!reader_.accept(';')) {
      function.defined = true;
      // A kernel's parameters are the launch's; a function's are variables of its own.
      if (!function.entry) {
        for (const Variable& variable : function.results) function.variables.push_back(variable);
      }
      for (const Variable& variable : function.parameters) function.variables.push_back(variable);
      parse_body(reader_, function);
    }
    keep(std::move(function));
  }

  void keep(Function function) {
    for (Function& known : module_.functions) {
      if (known.name != function.name) continue;
      if (known.defined && function.defined) TokenReader::refuse_at(function.line, "function '" + function.name + "' is there twice");
      if (function.defined) known = std::move(function);
      return;
    }
    module_.functions.push_back(std::move(function));
  }

  std::vector<Variable> parameters() {
    std::vector<Variable> all;
    reader_.expect('(', "before parameters");
    if (reader_.accept(')')) return all;
    do {
      if (!reader_.accept_dotted("param")) reader_.refuse("parameters are in the state space .param");
      for (Variable& variable : parse_variables(reader_, Space::param, false, false)) {
        if (variable.unsized) TokenReader::refuse_at(variable.line, "functions with any number of parameters are not supported");
        all.push_back(std::move(variable));
      }
    } while (reader_.accept(','));
    reader_.expect(')', "after parameters");
    return all;
  }

  void limits(Function& function) {
    while (reader_.peek().kind == Token::Kind::dotted) {
      const Token& token = reader_.take();
      std::vector<std::int64_t> numbers;
      while (reader_.peek().kind == Token::Kind::integer) {
        numbers.push_back(static_cast<std::int64_t>(reader_.integer("a number")));
        if (!reader_.accept(',')) break;
      }
      if (token.text == "reqntid") {
        if (numbers.empty() || numbers.size() > 3) TokenReader::refuse_at(token.line, ".reqntid has one to three numbers");
        function.required_threads = {1, 1, 1};
        std::copy(numbers.begin(), numbers.end(), function.required_threads.begin());
      } else if (token.text == "maxntid") {
        function.most_threads = 1;
        for (const std::int64_t n : numbers) function.most_threads *= std::clamp<std::int64_t>(n, 1, 1 << 20);
      } else if (token.text == "pragma") {
        while (!reader_.at_end() && !reader_.accept(';')) reader_.take();
      } else if (token.text != "minnctapersm" && token.text != "maxnctapersm" && token.text != "maxnreg" && token.text != "noreturn") {
        TokenReader::refuse_at(token.line, "'." + std::string(token.text) + "' of a function is not supported");
      }
    }
  }

  TokenReader reader_;
  syntax::Module module_;
};

}  // namespace

syntax::Module parse(std::string_view source) { return ModuleParser(source).parse(); }

}  // namespace lockstep::ptx
