#include "notebooks/kernel/magics.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

#include "notebooks/kernel/cuda_cell.h"

namespace lockstep::kernel {
namespace {

Magic write_file(std::istringstream& words, const std::string& body) {
  std::string name, mode;
  words >> name;
  if (name == "-a") mode = name, words >> name;
  if (name.empty()) return {"", "", "%%file needs a name: %%file header.h, or %%file -a header.h to append"};
  std::ofstream file(name, mode == "-a" ? std::ios::app : std::ios::trunc);
  file << body << (body.empty() || body.back() == '\n' ? "" : "\n");
  file.close();
  if (!file) return {"", "", "%%file: " + name + " can't be written"};
  return {"", (mode == "-a" ? "Appended to " : "Wrote ") + name + "\n", ""};
}

// Lines stay where they are, so that errors name them rightly.
Magic measure(std::istringstream& words, const std::string& body, bool whole_cell) {
  int loops = 0, runs = 7;
  std::string word, statement;
  while (words >> word) {
    if (word == "-n" || word == "-r") {
      int& value = word == "-n" ? loops : runs;
      if (!(words >> value) || value < 1) return {"", "", "%timeit " + word + " needs a number of 1 or more"};
    } else {
      std::getline(words, statement);
      statement = word + statement;
    }
  }
  const std::string code = statement + "\n" + (whole_cell ? body : "");
  if (code.find_first_not_of(" \t\n;") == std::string::npos) return {"", "", "%timeit needs something to measure"};
  const std::string call = "::xcpp_kernel::timeit(" + std::to_string(loops) + ", " + std::to_string(runs) + ", [&] { ";
  return {call + code + "\n;});" + (whole_cell ? "" : "\n" + body), "", ""};
}

Magic compile_kernels(std::istringstream& words, const std::string& body, int lines_before) {
  std::vector<std::string> options;
  for (std::string word; words >> word;) options.push_back(word);
  const std::string code = cuda_cell(body, lines_before, options);
  if (code.empty())
    return {"", "", "%%cuda: the cell has no kernel, a function that begins with `__global__ void` (templates don't count)"};
  return {code, "", ""};
}

}  // namespace

std::optional<Magic> read_magic(const std::string& cell) {
  const std::size_t first = cell.find_first_not_of(" \t\n");
  if (first == std::string::npos || cell[first] != '%') return std::nullopt;
  const std::size_t end = std::min(cell.find('\n', first), cell.size());
  const std::string body = end < cell.size() ? cell.substr(end + 1) : "";
  std::istringstream words(cell.substr(first, end - first));
  std::string name;
  words >> name;
  if (name == "%%file" || name == "%%writefile") return write_file(words, body);
  if (name == "%%timeit" || name == "%timeit") return measure(words, body, name == "%%timeit");
  if (name == "%%cuda")
    return compile_kernels(words, body,
                           static_cast<int>(std::count(cell.begin(), cell.begin() + static_cast<std::ptrdiff_t>(end), '\n')) + 1);
  return Magic{"", "", name + " is not supported; %%cuda, %%file, %%timeit and %timeit are"};
}

}  // namespace lockstep::kernel
