#include "engine/data/files/idx.h"

#include <memory>
#include <string>

#include "engine/data/files/inflater.h"
#include "engine/data/files/input_file.h"

namespace lockstep {
namespace {

constexpr std::uint8_t kUnsignedByte = 8;
constexpr std::size_t kMostExtents = 8;

// One way to read both kinds: the next bytes of the contents, plain or inflated.
class IdxContents {
 public:
  explicit IdxContents(InputFile& file) : file_(file) {
    unsigned char magic[2] = {};
    file.read_at(0, magic, sizeof magic);
    if (magic[0] == 0x1f && magic[1] == 0x8b) inflater_ = std::make_unique<Inflater>(file, 0, file.size(), Inflater::Format::gzip);
  }

  void read(void* to, std::size_t bytes) {
    if (inflater_) {
      inflater_->read(to, bytes);
    } else {
      file_.read_at(position_, to, bytes);
    }
    position_ += bytes;
  }

  // Called with the claim, before memory is taken for it.
  void check_claim(std::uint64_t bytes) const {
    const std::string claim =
        "its header claims " + (bytes > kLargestArrayBytes ? "more than 4 GiB" : std::to_string(bytes) + " bytes") + " of data, ";
    if (bytes > kLargestArrayBytes) file_.fail(claim + "which no data set for this program has");
    if (inflater_) {
      if (bytes > Inflater::largest_output(file_.size())) {
        file_.fail(claim + "more than its " + std::to_string(file_.size()) + " compressed bytes can hold");
      }
    } else if (bytes != file_.size() - position_) {
      file_.fail(claim + "but " + std::to_string(file_.size() - position_) +
                 " follow: " + (bytes > file_.size() - position_ ? "it is truncated" : "there is something behind its end"));
    }
    if (bytes > kLargestIdxBytes) file_.fail(claim + "more than any data set for this program has (256 MiB)");
  }

  void expect_end() {
    if (inflater_) inflater_->expect_end();
  }

 private:
  InputFile& file_;
  std::unique_ptr<Inflater> inflater_;
  std::uint64_t position_ = 0;
};

}  // namespace

IdxArray read_idx(const std::filesystem::path& path) {
  InputFile file(path);
  IdxContents contents(file);

  unsigned char magic[4] = {};
  contents.read(magic, sizeof magic);
  if (magic[0] != 0 || magic[1] != 0) file.fail("not an IDX file: it does not begin with two zero bytes");
  if (magic[2] != kUnsignedByte)
    file.fail("holds elements of IDX type " + std::to_string(magic[2]) + "; only type 8 (unsigned bytes) is read");
  const std::size_t rank = magic[3];
  if (rank == 0 || rank > kMostExtents) file.fail("claims " + std::to_string(rank) + " extents; 1 to 8 are read");

  IdxArray array;
  std::vector<std::uint64_t> extents;
  for (std::size_t i = 0; i < rank; ++i) {
    unsigned char extent[4] = {};
    contents.read(extent, sizeof extent);
    extents.push_back(big_endian_32(extent));
    array.shape.push_back(static_cast<std::int64_t>(extents.back()));
  }
  const std::uint64_t bytes = product_up_to(kLargestArrayBytes, extents);
  contents.check_claim(bytes);
  array.bytes.resize(static_cast<std::size_t>(bytes));
  contents.read(array.bytes.data(), array.bytes.size());
  contents.expect_end();
  return array;
}

}  // namespace lockstep
