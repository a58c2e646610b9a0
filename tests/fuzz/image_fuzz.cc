// Pictures of every supported format.
#include "engine/data/image/image.h"
#include "tests/fuzz/harness.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace lockstep;
  return fuzz::read_or_refuse([&] {
    const Image image = decode_image(bytes, count);
    if (image.height <= 0 || image.width <= 0 ||
        image.pixels.size() != static_cast<std::size_t>(image.height) * static_cast<std::size_t>(image.width) * 3)
      std::abort();
  });
}
