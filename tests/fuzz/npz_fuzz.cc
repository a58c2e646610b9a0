// numpy's archives: the zip, the arrays' headers, and the pickled lists of reuters.npz.
#include "engine/data/files/npz.h"
#include "tests/fuzz/harness.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace lockstep;
  const fuzz::MemoryFile file(bytes, count);
  return fuzz::read_or_refuse([&] {
    Npz archive = Npz::open(file.path());
    for (const std::string& name : archive.names()) {
      fuzz::read_or_refuse([&] { archive.array(name); });
      fuzz::read_or_refuse([&] { archive.lists(name); });
    }
  });
}
