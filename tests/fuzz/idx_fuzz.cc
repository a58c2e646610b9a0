// MNIST's IDX files, compressed or not.
#include "engine/data/files/idx.h"
#include "tests/fuzz/harness.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace lockstep;
  const fuzz::MemoryFile file(bytes, count);
  return fuzz::read_or_refuse([&] {
    const IdxArray array = read_idx(file.path());
    std::uint64_t elements = 1;
    for (const std::int64_t extent : array.shape) elements *= static_cast<std::uint64_t>(extent);
    if (elements != array.bytes.size()) std::abort();
  });
}
