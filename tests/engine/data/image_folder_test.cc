// Folders of pictures as datasets: classes, order, files that can't be decoded, caches; and where cats and dogs are looked for.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "lockstep/images.h"
#include "tests/engine/data/support/tiny_files.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

const fs::path kPictures = LOCKSTEP_TEST_PICTURES;

class ImageFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() /
            ("lockstep-images-" + std::to_string(::getpid()) + "-" + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void put(const std::string& picture, const std::string& place) {
    fs::create_directories((root_ / place).parent_path());
    fs::copy_file(kPictures / picture, root_ / place);
  }
  void write(const std::string& text, const std::string& place) {
    fs::create_directories((root_ / place).parent_path());
    std::ofstream(root_ / place) << text;
  }
  // Two classes of five pictures of all kinds, some with names that lie.
  void fill(const std::string& below = "") {
    int k = 0;
    for (const char* name : {"rgb.png", "grey.jpg", "still.gif", "rgb.bmp", "cmyk.jpg"}) {
      put(name, below + "cats/cat." + std::to_string(k) + ".jpg");
      put(k % 2 == 0 ? "progressive.jpg" : "palette.png", below + "dogs/dog." + std::to_string(k) + ".jpg");
      ++k;
    }
  }
  ImageDatasetOptions small() {
    return ImageDatasetOptions().image_size(8, 6).on_skipped([this](const std::string& s) { skipped_.push_back(s); });
  }

  fs::path root_;
  std::vector<std::string> skipped_;
};

Batch all_of(const Dataset& data, std::int64_t epoch = 0) {
  const auto batches = data.batch(1000).iterate(epoch);
  Batch batch;
  EXPECT_TRUE(batches->next(batch));
  return batch;
}

bool same(const Array& a, const Array& b) {
  return a.shape() == b.shape() && a.bytes() == b.bytes() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

TEST_F(ImageFolder, ClassesAreFoldersInSortedOrder) {
  fill();
  write("not a picture by name", "cats/notes.txt");
  put("rgb.png", "dogs/more/deep.PNG");
  const ImageDataset data = image_dataset_from_directory(root_.string(), small().shuffle(false));
  EXPECT_EQ(data.class_names, (std::vector<std::string>{"cats", "dogs"}));
  EXPECT_EQ(data.labels, (std::vector<std::int32_t>{0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(fs::path(data.file_paths.front()).filename(), "cat.0.jpg");
  EXPECT_EQ(data.cardinality(), 11);
  EXPECT_EQ(data.sample_shape(), Shape({8, 6, 3}));
  const Batch batch = all_of(data);
  EXPECT_EQ(batch.x.shape(), Shape({11, 8, 6, 3}));
  EXPECT_EQ(batch.y.data<std::int32_t>()[5], 1);
  EXPECT_TRUE(skipped_.empty());
}

// numpy.random.RandomState(3).shuffle on [0, ..., 9]: as Keras orders files.
TEST_F(ImageFolder, IsShuffledAsKerasShuffles) {
  fill();
  const ImageDataset plain = image_dataset_from_directory(root_.string(), small().shuffle(false));
  const ImageDataset shuffled = image_dataset_from_directory(root_.string(), small().seed(3));
  const std::vector<std::size_t> order = {5, 4, 1, 2, 9, 6, 7, 0, 3, 8};
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(shuffled.file_paths[i], plain.file_paths[order[i]]) << i;
  const ImageDataset train = image_dataset_from_directory(root_.string(), small().seed(3).validation_split(0.25).subset("training"));
  const ImageDataset rest = image_dataset_from_directory(root_.string(), small().seed(3).validation_split(0.25).subset("validation"));
  EXPECT_EQ(train.cardinality(), 8);
  EXPECT_EQ(rest.cardinality(), 2);
  EXPECT_EQ(rest.file_paths.back(), shuffled.file_paths.back());
}

TEST_F(ImageFolder, IsTheSameWithAnyNumberOfThreads) {
  fill();
  const Batch one = all_of(image_dataset_from_directory(root_.string(), small().threads(1)));
  for (const int threads : {2, 3, 16}) {
    const Batch many = all_of(image_dataset_from_directory(root_.string(), small().threads(threads)));
    EXPECT_TRUE(same(one.x, many.x) && same(one.y, many.y)) << threads;
  }
}

TEST_F(ImageFolder, DamagedFilesAreNamedOnceAndLeftOut) {
  fill();
  write("", "cats/empty.jpg");
  write("GIF89a", "dogs/cut.gif");
  const ImageDataset data = image_dataset_from_directory(root_.string(), small());
  for (int epoch = 0; epoch < 2; ++epoch) EXPECT_EQ(all_of(data, epoch).x.samples(), 10);
  // One by one, and in batches that hold nothing else.
  std::int64_t seen = 0;
  Batch batch;
  for (const auto batches = data.batch(1).iterate(); batches->next(batch);) seen += batch.x.samples();
  EXPECT_EQ(seen, 10);
  seen = 0;
  for (const auto samples = data.iterate(); samples->next(batch);) ++seen;
  EXPECT_EQ(seen, 10);
  ASSERT_EQ(skipped_.size(), 2U);
  std::sort(skipped_.begin(), skipped_.end());
  EXPECT_NE(skipped_[0].find("empty.jpg: an empty file"), std::string::npos) << skipped_[0];
  EXPECT_NE(skipped_[1].find("cut.gif: a damaged GIF"), std::string::npos) << skipped_[1];
}

TEST_F(ImageFolder, CachesGiveTheSameAndNeedTheFilesNoMore) {
  fill();
  const Dataset data = image_dataset_from_directory(root_.string(), small());
  const std::string file = (root_ / "kept").string();
  const Dataset in_memory = data.cache(), in_file = data.cache(file);
  const Batch first = all_of(data);
  EXPECT_TRUE(same(all_of(in_memory).x, first.x));
  EXPECT_TRUE(same(all_of(in_file).x, first.x));
  fs::remove_all(root_ / "cats");
  fs::remove_all(root_ / "dogs");
  const Batch again = all_of(in_memory), from_file = all_of(in_file);
  EXPECT_TRUE(same(again.x, first.x) && same(again.y, first.y));
  EXPECT_TRUE(same(from_file.x, first.x) && same(from_file.y, first.y));
  // Behind a cache the order is the shuffle's, whatever was read first.
  EXPECT_TRUE(same(all_of(in_memory.shuffle(100, 5), 3).x, all_of(in_file.shuffle(100, 5), 3).x));
}

TEST_F(ImageFolder, ACacheFileIsUsedByTheNextRunAndRefusedByAnotherRecipe) {
  const std::string file = (root_ / "kept").string();
  Array x(Shape{4, 2}), y(Shape{4}, std::vector<std::int32_t>{0, 1, 2, 3});
  for (int i = 0; i < 8; ++i) x.data<float>()[i] = static_cast<float>(i);
  EXPECT_TRUE(same(all_of(Dataset::from_arrays(x, y).cache(file)).x, x));
  Array others = x.clone();
  others.data<float>()[0] = 99;
  EXPECT_TRUE(same(all_of(Dataset::from_arrays(others, y).cache(file)).x, x)) << "the file is what counts";
  EXPECT_THROW(all_of(Dataset::from_arrays(Array(Shape{4, 3}), y).cache(file)), Error);
  fs::resize_file(file, fs::file_size(file) - 1);
  EXPECT_THROW(all_of(Dataset::from_arrays(x, y).cache(file)), Error);
  std::ofstream(file) << "something else";
  EXPECT_THROW(all_of(Dataset::from_arrays(x, y).cache(file)), Error);
  EXPECT_THROW(all_of(Dataset::from_arrays(x, y).cache((root_ / "no/such/folder").string())), Error);
  for (const auto& entry : fs::directory_iterator(root_)) EXPECT_EQ(entry.path().filename(), "kept") << "nothing half made is left";
}

TEST_F(ImageFolder, WrongFoldersGetASentence) {
  EXPECT_THROW(image_dataset_from_directory((root_ / "none").string()), Error);
  EXPECT_THROW(image_dataset_from_directory(root_.string()), Error);
  fs::create_directories(root_ / "cats");
  EXPECT_THROW(image_dataset_from_directory(root_.string()), Error);
  fill();
  EXPECT_THROW(image_dataset_from_directory(root_.string(), small().subset("training")), Error);
  EXPECT_THROW(image_dataset_from_directory(root_.string(), small().validation_split(0.5).subset("some")), Error);
  EXPECT_THROW(image_dataset_from_directory(root_.string(), ImageDatasetOptions().image_size(0, 4)), Error);
}

TEST_F(ImageFolder, CatsAndDogsAreFoundInBothLayouts) {
  fill("cats_vs_dogs/train/");
  fill("cats_vs_dogs/validation/");
  const CatsVsDogs split = load_cats_vs_dogs(CatsVsDogsOptions().directory(root_.string()).image_size(4, 4));
  EXPECT_EQ(split.train.cardinality(), 10);
  EXPECT_EQ(split.validation.cardinality(), 10);
  EXPECT_NE(split.source.find("cats_vs_dogs"), std::string::npos);
  const Batch batch = all_of(split.train);
  for (std::int64_t i = 0; i < batch.x.size(); ++i) ASSERT_LE(batch.x.data<float>()[i], 1.0F);

  fs::rename(root_ / "cats_vs_dogs" / "train" / "cats", root_ / "Cat");
  fs::rename(root_ / "cats_vs_dogs" / "train" / "dogs", root_ / "Dog");
  fs::remove_all(root_ / "cats_vs_dogs");
  fs::create_directories(root_ / "PetImages");
  fs::rename(root_ / "Cat", root_ / "PetImages" / "Cat");
  fs::rename(root_ / "Dog", root_ / "PetImages" / "Dog");
  const CatsVsDogs heap = load_cats_vs_dogs(CatsVsDogsOptions().directory(root_.string()).image_size(4, 4));
  EXPECT_EQ(heap.train.cardinality(), 8);
  EXPECT_EQ(heap.validation.cardinality(), 2);
  EXPECT_EQ(heap.train.class_names, (std::vector<std::string>{"Cat", "Dog"}));
}

}  // namespace
}  // namespace lockstep
