// ".keras" archives: the directory at the end, every member, sizes and checksums; and the HDF5 file inside.
#include "engine/data/files/zip_archive.h"
#include "engine/io/hdf5_file.h"
#include "tests/fuzz/harness.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace lockstep;
  const fuzz::MemoryFile file(bytes, count);
  return fuzz::read_or_refuse([&] {
    ZipArchive archive(file.path());
    for (const ZipArchive::Member& member : archive.members()) {
      fuzz::read_or_refuse([&] {
        std::vector<unsigned char> content = archive.read(member);
        if (content.size() != member.size) std::abort();
        if (member.name == "model.weights.h5") hdf5::Reader("fuzz", std::move(content)).members("layers");
      });
    }
  });
}
