#include "notebooks/kernel/cuda_cell.h"

#include <algorithm>
#include <cctype>
#include <regex>

namespace lockstep::kernel {
namespace {

// On one line, without comments and literals: what stands in them is no kernel.
std::string code_alone(const std::string& source) {
  std::string out;
  const auto is_blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t i = 0; i < source.size();) {
    std::size_t end = i + 1;
    const bool literal =
        source[i] == '"' || (source[i] == '\'' && (i == 0 || std::isalnum(static_cast<unsigned char>(source[i - 1])) == 0));
    if (source.compare(i, 2, "//") == 0) {
      end = source.find('\n', i);
    } else if (source.compare(i, 2, "/*") == 0) {
      end = source.find("*/", i + 2);
      if (end != std::string::npos) end += 2;
    } else if (literal) {
      while (end < source.size() && source[end] != source[i] && source[end] != '\n') end += source[end] == '\\' ? 2 : 1;
      ++end;
    } else if (!is_blank(source[i])) {
      out += source[i++];
      continue;
    }
    if (!out.empty() && out.back() != ' ') out += ' ';
    i = std::min(end, source.size());
  }
  return out;
}

// A raw string that no text can end too early.
std::string raw_string(const std::string& text) {
  std::string mark = "cuda";
  while (text.find(")" + mark + "\"") != std::string::npos) mark += "_";
  return "R\"" + mark + "(" + text + ")" + mark + "\"";
}

std::string quoted_list(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ", ") + raw_string(word);
  return "{" + list + "}";
}

}  // namespace

std::vector<std::string> kernels_in(const std::string& source) {
  static const std::regex kBounds(R"(__launch_bounds__ ?\([^)]*\) ?)");
  static const std::regex kKernel(
      R"((template ?<[^;{}]*> ?)?(?:\b(?:static|extern|inline|void) )*__global__ (?:[\w:]+ )*?(\w+) ?\([^;{}]*\) ?\{)");
  const std::string code = std::regex_replace(code_alone(source), kBounds, "");
  std::vector<std::string> names;
  for (std::sregex_iterator one(code.begin(), code.end(), kKernel), end; one != end; ++one) {
    const std::string name = (*one)[2];
    if (!(*one)[1].matched && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

std::string cuda_cell(const std::string& source, int lines_before, const std::vector<std::string>& compiler_options) {
  const std::vector<std::string> names = kernels_in(source);
  if (names.empty()) return "";
  const std::string text = std::string(static_cast<std::size_t>(lines_before), '\n') + source;
  std::string code = "#pragma cling load(\"lockstep\")\n#include <lockstep/cuda_kernel.h>\n#include <iostream>\n";
  code += "::lockstep::CudaProgram lockstep_cuda_program(" + raw_string(text) + ", " + quoted_list(names) + ", {\"cell\", " +
          quoted_list(compiler_options) + "});\n";
  for (const std::string& name : names) {
    code += "::lockstep::CudaKernel " + name + " = lockstep_cuda_program.kernel(\"" + name + "\");\n";
    code += "std::cout << \"Kernel \" << " + name + ".declaration() << \"\\n\";\n";
  }
  return code;
}

}  // namespace lockstep::kernel
