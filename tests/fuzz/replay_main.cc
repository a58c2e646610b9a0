// Runs a harness once on every file of a folder: the seeds, and what the fuzzer found, in every build.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

#include "tests/fuzz/harness.h"

int main(int argc, char** argv) {
  int files = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
      const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data());
      LLVMFuzzerTestOneInput(first, bytes.size());
      // Cut short at many places, and with single bytes changed: cheap, and it finds what a seed alone does not.
      for (std::size_t k = 0; k < 64 && !bytes.empty(); ++k) {
        LLVMFuzzerTestOneInput(first, bytes.size() * k / 64);
        std::vector<char> changed = bytes;
        changed[(k * 2654435761U) % changed.size()] ^= static_cast<char>(1U << (k % 8));
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(changed.data()), changed.size());
      }
      ++files;
    }
  }
  std::cout << files << " files\n";
  return files > 0 ? 0 : 1;
}
