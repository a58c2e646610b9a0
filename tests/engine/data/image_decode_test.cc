// Pictures from bytes: against what TensorFlow decoded (tests/engine/data/images/record.py), and bytes that are damaged or lie.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "engine/data/files/npz.h"
#include "engine/data/image/image.h"
#include "engine/data/image/resize.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;

const fs::path kFolder = LOCKSTEP_TEST_PICTURES;

Bytes read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> pictures() {
  std::vector<std::string> names;
  for (const std::string& name : Npz::open(kFolder / "recorded.npz").names())
    if (name.find('@') == std::string::npos) names.push_back(name);
  return names;
}

TEST(DecodeImage, GivesWhatTensorFlowGives) {
  Npz recorded = Npz::open(kFolder / "recorded.npz");
  ASSERT_EQ(pictures().size(), 17U);
  for (const std::string& name : pictures()) {
    SCOPED_TRACE(name);
    const NpyArray expected = recorded.array(name);
    const Image image = decode_image(read(kFolder / name));
    ASSERT_EQ(Shape({image.height, image.width, 3}), expected.shape);
    // libjpeg-turbo's transforms differ by a step between its versions and processors; everything else is exact.
    const int allowed = name.find(".jpg") != std::string::npos ? 3 : 0;
    int worst = 0;
    for (std::size_t i = 0; i < image.pixels.size(); ++i) worst = std::max(worst, std::abs(int{image.pixels[i]} - int{expected.bytes[i]}));
    EXPECT_LE(worst, allowed);
  }
}

TEST(ResizeBilinear, GivesWhatTensorFlowGives) {
  Npz recorded = Npz::open(kFolder / "recorded.npz");
  int compared = 0;
  for (const std::string& name : recorded.names()) {
    const std::size_t at = name.find('@');
    if (at == std::string::npos) continue;
    SCOPED_TRACE(name);
    const NpyArray pixels = recorded.array(name.substr(0, at));
    const NpyArray expected = recorded.array(name);
    Image image{static_cast<int>(pixels.shape[0]), static_cast<int>(pixels.shape[1]), pixels.bytes};
    std::vector<float> resized(static_cast<std::size_t>(expected.size()));
    resize_bilinear(image, static_cast<int>(expected.shape[0]), static_cast<int>(expected.shape[1]), resized.data());
    const std::vector<float> values = expected.as<float>();
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(resized[i], values[i], 1e-4) << "element " << i;
    ++compared;
  }
  EXPECT_GE(compared, 6);
}

TEST(ResizeBilinear, OfTheSameSizeChangesNothing) {
  Image image = make_image("test", 5, 7);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<std::uint8_t>(i * 37);
  std::vector<float> same(image.pixels.size());
  resize_bilinear(image, 5, 7, same.data());
  for (std::size_t i = 0; i < same.size(); ++i) EXPECT_EQ(same[i], static_cast<float>(image.pixels[i]));
}

std::string fault_of(const Bytes& bytes) {
  try {
    decode_image(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(DecodeImage, SaysWhatIsWrong) {
  EXPECT_EQ(fault_of({}), "an empty file");
  EXPECT_EQ(fault_of({'h', 'e', 'l', 'l', 'o'}), "neither JPEG nor PNG, GIF or BMP");
  for (const std::string& name : pictures()) {
    Bytes bytes = read(kFolder / name);
    bytes.resize(bytes.size() / 2);
    EXPECT_NE(fault_of(bytes).find("damaged"), std::string::npos) << name << ": " << fault_of(bytes);
  }
}

// A header that claims a size no memory should be taken for.
TEST(DecodeImage, ChecksClaimedSizesBeforeAllocating) {
  Bytes bmp = read(kFolder / "rgb.bmp");
  for (const std::size_t at : {18U, 22U}) bmp[at] = bmp[at + 1] = 0xff, bmp[at + 2] = 0x7f;
  EXPECT_NE(fault_of(bmp).find("claims"), std::string::npos) << fault_of(bmp);
  Bytes smaller = read(kFolder / "rgb.bmp");
  smaller[19] = 0x10;  // 4,130 columns: fine by itself, but the bytes are not there
  EXPECT_NE(fault_of(smaller).find("truncated"), std::string::npos) << fault_of(smaller);
  Bytes gif = read(kFolder / "still.gif");
  gif[6] = gif[7] = gif[8] = gif[9] = 0xff;
  EXPECT_NE(fault_of(gif).find("claims"), std::string::npos) << fault_of(gif);
  Bytes jpeg = read(kFolder / "baseline_444.jpg");
  for (std::size_t i = 0; i + 8 < jpeg.size(); ++i)
    if (jpeg[i] == 0xff && jpeg[i + 1] == 0xc0) jpeg[i + 5] = jpeg[i + 6] = jpeg[i + 7] = jpeg[i + 8] = 0xf0;
  EXPECT_NE(fault_of(jpeg).find("claims"), std::string::npos) << fault_of(jpeg);
}

// Whatever bytes are changed: a picture of at most the size allowed, or an Error; never a crash (the sanitizer presets run this as well).
TEST(DecodeImage, SurvivesChangedBytes) {
  std::mt19937 random(7);
  int decoded = 0, refused = 0;
  for (const std::string& name : pictures()) {
    const Bytes whole = read(kFolder / name);
    for (int round = 0; round < 150; ++round) {
      Bytes bytes = whole;
      const int changes = 1 + static_cast<int>(random() % 4);
      for (int k = 0; k < changes; ++k) {
        // Half of the changes go to the header, where sizes and tables are.
        const std::size_t reach = random() % 2 == 0 ? bytes.size() : std::min<std::size_t>(64, bytes.size());
        bytes[random() % reach] = static_cast<std::uint8_t>(random());
      }
      if (random() % 4 == 0) bytes.resize(random() % bytes.size());
      try {
        const Image image = decode_image(bytes);
        ASSERT_EQ(image.pixels.size(), static_cast<std::size_t>(image.height) * static_cast<std::size_t>(image.width) * 3);
        ++decoded;
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(decoded, 100);
  EXPECT_GT(refused, 100);
}

// Every odd file of the real set and what becomes of it: its size, and the mean of its bytes as TensorFlow decodes it.
struct Odd {
  const char* name;
  int height, width;
  double mean;
};
// By tf.io.decode_image(channels=3, expand_animations=False); no size where nothing can be decoded.
constexpr Odd kOddFiles[] = {
    {"cat.10925.jpg", 94, 125, 134.6274}, {"cat.11091.jpg", 82, 90, 119.1106},  {"cat.1418.jpg", 154, 152, 108.6676},
    {"cat.1614.jpg", 200, 150, 131.7492}, {"cat.2939.jpg", 307, 229, 238.1176}, {"cat.4821.jpg", 40, 60, 107.2282},
    {"cat.6421.jpg", 341, 256, 155.6042}, {"cat.7201.jpg", 240, 320, 123.4960}, {"cat.8470.jpg", 80, 75, 226.7185},
    {"dog.1028.jpg", 100, 100, 101.7391}, {"dog.10733.jpg", 63, 42, 77.9153},   {"dog.10747.jpg", 39, 50, 126.0079},
    {"dog.11702.jpg", 0, 0, 0},           {"dog.1773.jpg", 326, 268, 154.1275}, {"dog.3119.jpg", 150, 200, 174.9747},
    {"dog.4297.jpg", 182, 120, 136.1410}, {"dog.4323.jpg", 240, 320, 112.3271}, {"dog.5528.jpg", 224, 360, 139.3074},
    {"dog.6318.jpg", 157, 185, 105.7783}, {"dog.7654.jpg", 154, 200, 182.4422}, {"dog.9078.jpg", 400, 400, 97.7566},
    {"dog.9999.jpg", 150, 97, 170.8873},
};

TEST(DecodeImage, GivesEveryOddPhotoItsStatedOutcome) {
  const char* data = std::getenv("LOCKSTEP_DATA");
  const fs::path folder = fs::path(data ? data : "") / "cats_vs_dogs" / "odd";
  if (!data || !fs::exists(folder)) GTEST_SKIP() << "skipped: LOCKSTEP_DATA names no folder with cats_vs_dogs/odd";
  for (const Odd& odd : kOddFiles) {
    SCOPED_TRACE(odd.name);
    const Bytes bytes = read(folder / odd.name);
    if (odd.height == 0) {
      EXPECT_EQ(fault_of(bytes), "an empty file");
      continue;
    }
    const Image image = decode_image(bytes);
    EXPECT_EQ(image.height, odd.height);
    EXPECT_EQ(image.width, odd.width);
    double sum = 0;
    for (const std::uint8_t byte : image.pixels) sum += byte;
    EXPECT_NEAR(sum / static_cast<double>(image.pixels.size()), odd.mean, 0.02);
  }
  EXPECT_EQ(std::size(kOddFiles), static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator())));
}

}  // namespace
}  // namespace lockstep
