#include "engine/data/files/input_file.h"

#include <cerrno>
#include <system_error>

#include "lockstep/error.h"

namespace lockstep {

InputFile::InputFile(const std::filesystem::path& path) : path_(path) {
  std::error_code error;
  const auto status = std::filesystem::status(path_, error);
  if (!std::filesystem::exists(status)) fail("there is no such file");
  // A pipe or a device has no size to check claims against.
  if (!std::filesystem::is_regular_file(status)) fail("this is not a regular file");
  errno = 0;
  stream_.open(path_, std::ios::binary);
  if (!stream_) fail("can't be opened: " + std::generic_category().message(errno));
  size_ = std::filesystem::file_size(path_, error);
  if (error) fail("its size can't be read: " + error.message());
}

void InputFile::read_at(std::uint64_t offset, void* to, std::size_t bytes) {
  if (offset > size_ || bytes > size_ - offset) {
    fail("truncated: " + std::to_string(bytes) + " bytes are missing or cut at byte " + std::to_string(offset) + " of " +
         std::to_string(size_));
  }
  stream_.clear();
  stream_.seekg(static_cast<std::streamoff>(offset));
  stream_.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes));
  if (!stream_) fail("can't be read at byte " + std::to_string(offset));
}

void InputFile::fail(const std::string& fault) const { throw Error(path_.string() + ": " + fault); }

std::uint64_t product_up_to(std::uint64_t limit, const std::vector<std::uint64_t>& extents) {
  std::uint64_t product = 1;  // of those that are not zero: nothing that multiplies them later may overflow either
  bool zero = false;
  for (const std::uint64_t extent : extents) {
    if (extent == 0) {
      zero = true;
    } else if (product > limit / extent) {
      return limit + 1;
    } else {
      product *= extent;
    }
  }
  return zero ? 0 : product;
}

}  // namespace lockstep
