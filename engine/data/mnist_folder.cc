#include "engine/data/mnist_folder.h"

#include <algorithm>
#include <utility>

#include "engine/data/files/idx.h"
#include "engine/data/files/npz.h"

namespace lockstep {

namespace fs = std::filesystem;

const std::array<MnistFile, 4> kMnistFiles = {{
    {"train-images-idx3-ubyte", 9912422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"},
    {"train-labels-idx1-ubyte", 28881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"},
    {"t10k-images-idx3-ubyte", 1648877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"},
    {"t10k-labels-idx1-ubyte", 4542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"},
}};

namespace {

constexpr std::int64_t kSide = 28;

// One of the four arrays, with what to call it in a message.
struct Bytes {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> bytes;
};

Array checked_images(const Bytes& images) {
  if (images.shape.size() != 3 || images.shape[1] != kSide || images.shape[2] != kSide || images.shape[0] == 0) {
    throw Error(images.name + ": has shape " + Shape(images.shape).str() + " where MNIST's images are (n, 28, 28)");
  }
  return scale_images(images.shape[0], images.bytes);
}

Array checked_labels(const Bytes& labels, const Bytes& images) {
  if (labels.shape.size() != 1) throw Error(labels.name + ": has shape " + Shape(labels.shape).str() + " where MNIST's labels are (n,)");
  if (labels.shape[0] != images.shape[0]) {
    throw Error(labels.name + ": has " + std::to_string(labels.shape[0]) + " labels for the " + std::to_string(images.shape[0]) +
                " images of " + images.name);
  }
  const auto wrong = std::find_if(labels.bytes.begin(), labels.bytes.end(), [](std::uint8_t label) { return label > 9; });
  if (wrong != labels.bytes.end()) {
    throw Error(labels.name + ": label " + std::to_string(wrong - labels.bytes.begin()) + " is " + std::to_string(*wrong) +
                "; digits are 0 to 9");
  }
  return widen_labels(labels.bytes);
}

Mnist assemble(const std::array<Bytes, 4>& parts, std::string source) {
  Mnist mnist;
  mnist.x_train = checked_images(parts[0]);
  mnist.y_train = checked_labels(parts[1], parts[0]);
  mnist.x_test = checked_images(parts[2]);
  mnist.y_test = checked_labels(parts[3], parts[2]);
  mnist.source = std::move(source);
  return mnist;
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// Unpacked or not, and with the dot some copies have: train-images.idx3-ubyte.
std::optional<fs::path> find_idx(const fs::path& folder, const std::string& name) {
  std::string dotted = name;
  dotted[dotted.rfind("-idx")] = '.';
  for (const std::string& candidate : {name, name + ".gz", dotted, dotted + ".gz"}) {
    if (is_there(folder / candidate)) return folder / candidate;
  }
  return std::nullopt;
}

std::optional<Mnist> read_idx_files(const fs::path& folder) {
  std::array<std::optional<fs::path>, 4> paths;
  const fs::path* present = nullptr;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    paths[i] = find_idx(folder, kMnistFiles[i].name);
    if (paths[i]) present = &*paths[i];
  }
  if (!present) return std::nullopt;
  std::array<Bytes, 4> parts;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (!paths[i]) {
      throw Error(present->string() + ": is one of MNIST's four files, but " + kMnistFiles[i].name +
                  " (or .gz) is not beside it; add it, or take the others away");
    }
    IdxArray array = read_idx(*paths[i]);
    parts[i] = {paths[i]->string(), std::move(array.shape), std::move(array.bytes)};
  }
  return assemble(parts, "MNIST, from the four IDX files in " + folder.string());
}

std::optional<Mnist> read_keras_file(const fs::path& path) {
  if (!is_there(path)) return std::nullopt;
  Npz npz = Npz::open(path);
  std::array<Bytes, 4> parts;
  std::size_t next = 0;
  for (const char* name : {"x_train", "y_train", "x_test", "y_test"}) {
    const NpyArray array = npz.array(name, kLargestIdxBytes);
    parts[next++] = {array.name, array.shape.extents(), array.as<std::uint8_t>()};
  }
  return assemble(parts, "MNIST, from " + path.string());
}

}  // namespace

std::optional<Mnist> read_mnist_folder(const fs::path& folder) {
  if (auto mnist = read_idx_files(folder)) return mnist;
  return read_keras_file(folder / "mnist.npz");
}

Array scale_images(std::int64_t count, const std::vector<std::uint8_t>& pixels) {
  std::array<float, 256> scaled{};
  for (std::size_t value = 0; value < scaled.size(); ++value) scaled[value] = static_cast<float>(value) / 255.0F;
  Array images(Shape{count, kSide, kSide, 1});
  if (static_cast<std::size_t>(images.size()) != pixels.size()) throw Error("scale_images: the number of pixels is not that of the images");
  std::transform(pixels.begin(), pixels.end(), images.data<float>(), [&scaled](std::uint8_t pixel) { return scaled[pixel]; });
  return images;
}

Array widen_labels(const std::vector<std::uint8_t>& labels) {
  Array wide(Shape{static_cast<std::int64_t>(labels.size())}, DType::int32);
  std::copy(labels.begin(), labels.end(), wide.data<std::int32_t>());
  return wide;
}

}  // namespace lockstep
