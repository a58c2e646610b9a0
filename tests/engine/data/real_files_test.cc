// The real MNIST files, where LOCKSTEP_DATA names a folder that has them.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "common/sha256.h"
#include "engine/data/download.h"
#include "engine/data/files/npz.h"
#include "engine/data/mnist_download.h"
#include "engine/data/mnist_folder.h"
#include "tests/engine/data/support/tiny_files.h"
#include "tests/goldens/recordings.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

class RealFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* data = std::getenv("LOCKSTEP_DATA");
    if (!data || !*data) GTEST_SKIP() << "LOCKSTEP_DATA is not set: no real files to read";
    folder_ = data;
    mnist_ = fs::exists(folder_ / "mnist") ? folder_ / "mnist" : folder_;
  }
  void need(const fs::path& path) {
    if (!fs::exists(path)) GTEST_SKIP() << path << " is not there";
  }
  fs::path folder_, mnist_;
};

std::array<int, 10> counts(const Array& labels) {
  std::array<int, 10> all{};
  for (std::int64_t i = 0; i < labels.size(); ++i) ++all.at(static_cast<std::size_t>(labels.data<std::int32_t>()[i]));
  return all;
}

double mean(const Array& images) {
  double sum = 0;
  for (std::int64_t i = 0; i < images.size(); ++i) sum += images.data<float>()[i];
  return sum / static_cast<double>(images.size());
}

TEST_F(RealFiles, AreMnist) {
  need(mnist_ / "train-images-idx3-ubyte.gz");
  if (IsSkipped()) return;
  const Mnist mnist = load_mnist();
  EXPECT_FALSE(mnist.drawn);
  EXPECT_EQ(mnist.x_train.shape(), Shape({60000, 28, 28, 1}));
  EXPECT_EQ(mnist.x_test.shape(), Shape({10000, 28, 28, 1}));
  EXPECT_EQ(counts(mnist.y_train), (std::array<int, 10>{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949}));
  EXPECT_EQ(counts(mnist.y_test), (std::array<int, 10>{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009}));
  EXPECT_NEAR(mean(mnist.x_train), 0.1307, 5e-5);  // the mean that MNIST is usually normalised by
  EXPECT_EQ(mnist.y_train.data<std::int32_t>()[0], 5);
}

TEST_F(RealFiles, HaveTheChecksumsDownloadsAreHeldTo) {
  need(mnist_ / "train-images-idx3-ubyte.gz");
  if (IsSkipped()) return;
  for (const MnistFile& file : kMnistFiles) {
    std::ifstream stream(mnist_ / (std::string(file.name) + ".gz"), std::ios::binary);
    const std::string contents((std::istreambuf_iterator<char>(stream)), {});
    EXPECT_EQ(contents.size(), file.gz_bytes);
    Sha256 sha;
    sha.update(contents.data(), contents.size());
    EXPECT_EQ(sha.hex(), file.gz_sha256);
  }
}

TEST_F(RealFiles, CanBeDownloadedFromAMirror) {
  need(mnist_ / "train-images-idx3-ubyte.gz");
  if (IsSkipped()) return;
  if (!can_download()) GTEST_SKIP() << "built without libcurl";
  const testing::TempFolder to;
  std::string why;
  const std::string good = "file://" + fs::absolute(mnist_).string() + "/";
  EXPECT_EQ(download_mnist(to.path(), {"https://localhost:1/", good}, why), good) << why;
  EXPECT_EQ(read_mnist_folder(to.path())->x_test.samples(), 10000);
}

TEST_F(RealFiles, NumpyFilesAreRead) {
  const fs::path path = folder_ / "weights" / "mobilenet_v2_1.0_224_float32.npz";
  need(path);
  if (IsSkipped()) return;
  Npz npz = Npz::open(path);
  EXPECT_EQ(npz.names().size(), 106U);
  std::int64_t values = 0;
  for (const std::string& name : npz.names()) values += static_cast<std::int64_t>(npz.array(name).as<float>().size());
  EXPECT_EQ(values, 3489097);
}

TEST_F(RealFiles, PicklesAreRefused) {
  const fs::path path = folder_ / "reuters" / "reuters.npz";
  need(path);
  if (IsSkipped()) return;
  Npz npz = Npz::open(path);
  EXPECT_EQ(npz.array("y").as<std::int64_t>().size(), 11228U);
  EXPECT_NE(error_of([&] { npz.array("x"); }).find("array `x`: holds Python objects (a pickle)"), std::string::npos);
}

TEST(RecordedNumbers, AreReadWhole) {
  Npz npz = Npz::open(fs::path(golden::directory()) / "mnist.npz");
  std::set<char> kinds;
  for (const std::string& name : npz.names()) {
    const NpyArray array = npz.array(name);
    kinds.insert(array.dtype.at(1));
    EXPECT_EQ(array.bytes.size(), static_cast<std::size_t>(array.size()) * array.item_bytes) << name;
  }
  EXPECT_EQ(kinds, (std::set<char>{'U', 'f', 'i'}));
  EXPECT_EQ(npz.array("x").shape, Shape({16, 28, 28, 1}));
  for (const std::string& name : npz.array("trainable").strings()) EXPECT_TRUE(npz.contains("init/" + name)) << name;

  // An n-th of a tensor's values has about an n-th of its sum.
  for (const std::string& name : npz.names()) {
    const std::size_t mark = name.find("#s");
    if (mark == std::string::npos) continue;
    const double stride = std::stod(name.substr(mark + 2));
    const std::vector<float> thinned = npz.array(name).as<float>();
    const std::vector<double> sums = npz.array(name.substr(0, mark) + "#chk").as<double>();
    double absolute = 0;
    for (const float value : thinned) absolute += std::abs(value);
    EXPECT_NEAR(absolute * stride / sums.at(1), 1, 0.1) << name;
  }
}

}  // namespace
}  // namespace lockstep
