// Where load_mnist looks, in which order, and what it does about damaged files and without a network.
#include <gtest/gtest.h>

#include <fstream>

#include "common/sha256.h"
#include "engine/data/download.h"
#include "engine/data/mnist_download.h"
#include "engine/data/mnist_folder.h"
#include "tests/engine/data/support/tiny_files.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using testing::Bytes;
using testing::Environment;
using testing::TempFolder;
using testing::write_tiny_keras_mnist;
using testing::write_tiny_mnist;

// A home, a data folder and a working folder of its own, and no network.
class MnistPlaces : public ::testing::Test {
 protected:
  MnistPlaces() { fs::create_directories(folder_.path() / "work"), fs::current_path(folder_.path() / "work"); }
  ~MnistPlaces() override { fs::current_path(before_); }

  Mnist load(const std::string& directory = {}) {
    DataOptions options;
    options.directory = directory;
    options.drawn_train = 20;
    options.drawn_test = 10;
    return load_mnist(options);
  }
  int mark(const std::string& directory = {}) { return load(directory).y_train.data<std::int32_t>()[0]; }
  std::string place(const std::string& name) const { return (folder_.path() / name).string(); }

  fs::path before_ = fs::current_path();
  TempFolder folder_;
  Environment home_{"HOME", place("home")};
  Environment data_{"LOCKSTEP_DATA", place("data")};
  Environment cache_{"XDG_CACHE_HOME", std::nullopt};
  Environment offline_{"LOCKSTEP_OFFLINE", "1"};
};

TEST_F(MnistPlaces, AreTriedInTheOrderPromised) {
  write_tiny_mnist(folder_, "home/.cache/lockstep/mnist", 2);
  EXPECT_EQ(mark(), 2);
  write_tiny_keras_mnist(folder_, "home/.keras/datasets", 3);
  EXPECT_EQ(mark(), 3);
  write_tiny_mnist(folder_, "home/.keras/datasets", 4);
  EXPECT_EQ(mark(), 4) << "IDX files before mnist.npz in the same folder";
  write_tiny_mnist(folder_, "work/data/mnist", 5);
  EXPECT_EQ(mark(), 5);
  write_tiny_mnist(folder_, "work/data", 6, false);
  EXPECT_EQ(mark(), 6);
  write_tiny_mnist(folder_, "data/mnist", 7);
  EXPECT_EQ(mark(), 7);
  write_tiny_mnist(folder_, "data", 8, false);
  EXPECT_EQ(mark(), 8);
  write_tiny_mnist(folder_, "given", 9);
  EXPECT_EQ(mark(), 8);
  EXPECT_EQ(mark(place("given")), 9);
  EXPECT_EQ(load(place("given")).source, "MNIST, from the four IDX files in " + place("given"));
  EXPECT_EQ(mark(place("other")), 8) << "a folder without them is passed over";
}

TEST_F(MnistPlaces, GiveScaledImagesAndLabels) {
  write_tiny_keras_mnist(folder_, "data", 3);
  const Mnist mnist = load();
  EXPECT_EQ(mnist.source, "MNIST, from " + place("data/mnist.npz"));
  EXPECT_FALSE(mnist.drawn);
  EXPECT_EQ(mnist.x_train.shape(), Shape({6, 28, 28, 1}));
  EXPECT_EQ(mnist.y_train.shape(), Shape({6}));
  EXPECT_EQ(mnist.x_test.shape(), Shape({4, 28, 28, 1}));
  EXPECT_EQ(mnist.y_test.shape(), Shape({4}));
  EXPECT_EQ(mnist.x_train.data<float>()[5], 35.0F / 255.0F);
}

TEST_F(MnistPlaces, CacheFolderFollowsXdg) {
  write_tiny_mnist(folder_, "xdg/lockstep/mnist", 5);
  const Environment xdg("XDG_CACHE_HOME", place("xdg"));
  EXPECT_EQ(mark(), 5);
}

TEST_F(MnistPlaces, ADamagedFileOnTheWayIsAnErrorThatNamesIt) {
  write_tiny_mnist(folder_, "home/.keras/datasets", 4);  // would be fine, but comes later
  write_tiny_mnist(folder_, "data", 8);
  folder_.write("data/t10k-images-idx3-ubyte.gz", {0x1f, 0x8b, 8, 0, 1, 2});
  EXPECT_EQ(error_of([&] { load(); }).find(place("data/t10k-images-idx3-ubyte.gz") + ": truncated"), 0U) << error_of([&] { load(); });
  fs::remove(place("data/t10k-images-idx3-ubyte.gz"));
  EXPECT_NE(error_of([&] { load(); }).find("t10k-images-idx3-ubyte (or .gz) is not beside it"), std::string::npos);
  fs::remove_all(place("data"));
  folder_.write("data/mnist/mnist.npz", {'P', 'K', 3, 4});
  EXPECT_EQ(error_of([&] { load(); }).find(place("data/mnist/mnist.npz") + ": not a zip file"), 0U);
}

TEST_F(MnistPlaces, RefuseImagesAndLabelsThatAreNotMnists) {
  const auto fault = [&](const std::string& name, const Bytes& contents) {
    write_tiny_mnist(folder_, "data", 8, false);
    folder_.write("data/" + name, contents);
    return error_of([&] { load(); });
  };
  EXPECT_NE(fault("train-labels-idx1-ubyte", testing::idx_bytes({5}, Bytes(5))).find("has 5 labels for the 6 images"), std::string::npos);
  EXPECT_NE(fault("train-labels-idx1-ubyte", testing::idx_bytes({6}, {0, 1, 2, 10, 4, 5})).find("label 3 is 10"), std::string::npos);
  EXPECT_NE(fault("train-images-idx3-ubyte", testing::idx_bytes({6, 2, 2}, Bytes(24))).find("(6, 2, 2)"), std::string::npos);
}

TEST_F(MnistPlaces, WithNothingThereDigitsAreDrawnAndItSaysSo) {
  const Mnist mnist = load();
  EXPECT_TRUE(mnist.drawn);
  EXPECT_EQ(mnist.x_train.shape(), Shape({20, 28, 28, 1}));
  EXPECT_EQ(mnist.y_test.shape(), Shape({10}));
  EXPECT_EQ(mnist.source,
            "No MNIST files found and downloads are switched off (LOCKSTEP_OFFLINE): digits drawn by this program instead (not MNIST; "
            "accuracy is not "
            "comparable)");
}

class MnistDownload : public MnistPlaces {
 protected:
  void SetUp() override {
    if (!can_download()) GTEST_SKIP() << "built without libcurl";
  }
  std::string url(const std::string& name) const { return "file://" + place(name); }
  std::string why_;
};

TEST_F(MnistDownload, KeepsWhatHasTheRightChecksum) {
  const std::string text = "the contents";
  folder_.write("served", Bytes(text.begin(), text.end()));
  Sha256 sha;
  sha.update(text.data(), text.size());
  const std::string sum = sha.hex();
  download({url("served"), text.size(), sum}, place("kept"));
  std::string kept;
  std::getline(std::ifstream(place("kept")), kept);
  EXPECT_EQ(kept, text);

  EXPECT_NE(error_of([&] {
              download({url("served"), text.size(), std::string(64, '0')}, place("wrong"));
            }).find("discarded"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              download({url("served"), text.size() - 1, sum}, place("long"));
            }).find("more than the 11 bytes"),
            std::string::npos);
  EXPECT_NE(error_of([&] { download({url("nothing"), 1, sum}, place("none")); }), "");
  EXPECT_NE(error_of([&] { download({"http://localhost/x", 1, sum}, place("plain")); }), "") << "https only";
  int files = 0;
  for (const auto& entry : fs::directory_iterator(folder_.path())) files += entry.is_regular_file();
  EXPECT_EQ(files, 2) << "nothing but `served` and `kept` is left";
}

TEST_F(MnistDownload, SaysWhatTheMirrorsDidWrong) {
  write_tiny_mnist(folder_, "mirror", 1);  // right names, wrong contents
  EXPECT_EQ(download_mnist(place("to"), {url("mirror/")}, why_), "");
  EXPECT_NE(why_.find("the download failed ("), std::string::npos) << why_;
  EXPECT_NE(why_.find("discarded)"), std::string::npos) << why_;
  EXPECT_TRUE(fs::is_empty(place("to")));
  EXPECT_EQ(download_mnist(place("to"), {}, why_), "");
  EXPECT_EQ(why_, "no network");
}

TEST_F(MnistDownload, SaysNoNetworkWhenNoMirrorCanBeReached) {
  EXPECT_EQ(download_mnist(place("to"), {"https://localhost:1/"}, why_), "");
  EXPECT_EQ(why_, "no network");
}

TEST_F(MnistDownload, SaysWhenThereIsNoFolderForIt) {
  folder_.write("file", {1});
  EXPECT_EQ(download_mnist(place("file/below"), {url("mirror/")}, why_), "");
  EXPECT_NE(why_.find("no folder to download to"), std::string::npos) << why_;
}

TEST(MnistPixels, AreExactlyTheByteOverTwoHundredFiftyFive) {
  std::vector<std::uint8_t> pixels(28 * 28);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i);
  const Array images = scale_images(1, pixels);
  for (std::size_t i = 0; i < pixels.size(); ++i) EXPECT_EQ(images.data<float>()[i], static_cast<float>(pixels[i]) / 255.0F);
}

}  // namespace
}  // namespace lockstep
