// The one kind of pickle that is read, without the archive around it.
#include "engine/data/files/pickle.h"
#include "tests/fuzz/harness.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace lockstep;
  return fuzz::read_or_refuse([&] {
    // The header's promise comes from the file too.
    const std::uint64_t promised = count > 0 ? bytes[0] : 0;
    const std::string_view rest(reinterpret_cast<const char*>(bytes) + (count > 0 ? 1 : 0), count > 0 ? count - 1 : 0);
    if (parse_pickled_lists("fuzz", rest, promised).size() != promised) std::abort();
  });
}
