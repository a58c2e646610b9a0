#include "engine/nvrtc/kernel_signature.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <sstream>

namespace lockstep {

namespace {

std::string demangled(const std::string& symbol) {
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, nullptr), &std::free);
  return text == nullptr ? symbol : text.get();
}

// "void scale<float>(float*, std::pair<int, int>)" into "float*" and "std::pair<int, int>".
std::vector<std::string> types_in(const std::string& readable) {
  std::vector<std::string> types;
  int depth = 0;
  std::size_t open = readable.size();
  while (open-- > 0) {  // from the end, since a template's arguments may have brackets too
    if (readable[open] == ')') ++depth;
    if (readable[open] == '(' && --depth == 0) break;
  }
  if (open >= readable.size()) return types;
  std::string type;
  depth = 0;
  for (const char c : readable.substr(open + 1, readable.size() - open - 2)) {
    if (c == '(' || c == '<') ++depth;
    if (c == ')' || c == '>') --depth;
    if (c == ',' && depth == 0) {
      types.push_back(type);
      type.clear();
    } else if (c != ' ' || !type.empty()) {
      type += c;
    }
  }
  if (!type.empty()) types.push_back(type);
  return types;
}

// ".param .align 4 .b8 name_param_4[8]": words of PTX.
KernelParameter read_parameter(const std::string& text) {
  KernelParameter parameter;
  std::istringstream words(text);
  std::string word;
  while (words >> word) {
    if (word == ".align") {
      words >> word;
    } else if (word.size() >= 3 && word[0] == '.' && word.find_first_not_of("0123456789", 2) == std::string::npos) {
      parameter.bytes = static_cast<std::size_t>(std::stoi(word.substr(2))) / 8;
      parameter.kind = word[1] == 'f' ? KernelParameter::Kind::real : KernelParameter::Kind::integer;
    } else if (const std::size_t bracket = word.find('['); word[0] != '.' && bracket != std::string::npos) {
      parameter.bytes *= static_cast<std::size_t>(std::stoul(word.substr(bracket + 1)));
      parameter.kind = KernelParameter::Kind::bytes;
    }
  }
  return parameter;
}

}  // namespace

std::vector<KernelSignature> kernel_signatures(const std::string& ptx) {
  std::vector<KernelSignature> kernels;
  const std::string entry = ".entry ";
  for (std::size_t at = ptx.find(entry); at != std::string::npos; at = ptx.find(entry, at)) {
    at += entry.size();
    const std::size_t open = ptx.find('(', at), close = ptx.find(')', at);
    if (open == std::string::npos || close == std::string::npos) break;
    KernelSignature kernel;
    std::istringstream(ptx.substr(at, open - at)) >> kernel.symbol;
    kernel.readable = demangled(kernel.symbol);
    std::istringstream parameters(ptx.substr(open + 1, close - open - 1));
    for (std::string one; std::getline(parameters, one, ',');) {
      if (one.find(".param") != std::string::npos) kernel.parameters.push_back(read_parameter(one));
    }
    const std::vector<std::string> types = types_in(kernel.readable);
    if (types.size() == kernel.parameters.size()) {
      for (std::size_t i = 0; i < types.size(); ++i) kernel.parameters[i].type = types[i];
    }
    kernels.push_back(kernel);
  }
  return kernels;
}

}  // namespace lockstep
