// The HDF5 reader: every group and dataset, and the attributes Keras' files have.
#include "engine/io/hdf5_file.h"
#include "tests/fuzz/harness.h"

namespace {

void walk(const lockstep::hdf5::Reader& file, const std::string& path, int depth, int& budget) {
  using lockstep::fuzz::read_or_refuse;
  for (const char* attribute : {"layer_names", "weight_names", "model_config", "name"}) {
    read_or_refuse([&] { file.text(path, attribute); });
    read_or_refuse([&] { file.texts(path, attribute); });
  }
  std::vector<std::string> members;
  read_or_refuse([&] { members = file.members(path); });
  for (const std::string& name : members) {
    if (--budget < 0) return;
    const std::string child = path.empty() ? name : path + "/" + name;
    read_or_refuse([&] { file.read(child); });
    if (depth < 6) walk(file, child, depth + 1, budget);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace lockstep;
  return fuzz::read_or_refuse([&] {
    const hdf5::Reader file("fuzz", Bytes(bytes, bytes + count));
    int budget = 200;
    walk(file, "", 0, budget);
  });
}
