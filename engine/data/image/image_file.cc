#include "engine/data/image/image_file.h"

#include "engine/data/files/input_file.h"

namespace lockstep {
namespace {

constexpr std::uint64_t kLargestFile = std::uint64_t{256} << 20;

}  // namespace

Image read_image(const std::string& path) {
  InputFile file(path);
  if (file.size() > kLargestFile) file.fail("larger than 256 MiB");
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(file.size()));
  if (!bytes.empty()) file.read_at(0, bytes.data(), bytes.size());
  try {
    return decode_image(bytes);
  } catch (const Error& error) {
    file.fail(error.what());
  }
}

}  // namespace lockstep
