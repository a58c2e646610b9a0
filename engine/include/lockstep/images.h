// Folders of pictures as datasets, in the manner of keras.utils.image_dataset_from_directory, and the cats-vs-dogs photos.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/dataset.h"

namespace lockstep {

class ImageDataset;
class ImageDatasetOptions;
ImageDataset image_dataset_from_directory(const std::string& directory, const ImageDatasetOptions& options);

// Keyword arguments of image_dataset_from_directory.
class ImageDatasetOptions {
 public:
  ImageDatasetOptions& image_size(int height, int width) {
    return height_ = height, width_ = width, *this;
  }                                                                         // default 256 x 256, as in Keras
  ImageDatasetOptions& shuffle(bool yes) { return shuffle_ = yes, *this; }  // the files, once, in the order Keras gives them for that seed
  ImageDatasetOptions& seed(std::uint32_t seed) { return seed_ = seed, *this; }
  // That share of the files, taken from the end of the (shuffled) list, is "validation", the others are "training".
  ImageDatasetOptions& validation_split(double share) { return validation_split_ = share, *this; }
  ImageDatasetOptions& subset(const std::string& which) { return subset_ = which, *this; }
  ImageDatasetOptions& class_names(std::vector<std::string> names) { return class_names_ = std::move(names), *this; }  // default: sorted
  ImageDatasetOptions& scale(float scale, float offset = 0) {
    return scale_ = scale, offset_ = offset, *this;
  }                                                                    // beyond Keras: pixel * scale + offset
  ImageDatasetOptions& threads(int n) { return threads_ = n, *this; }  // that decode; 0: as many as cores
  // Told once about every file that could not be decoded, with a sentence; default: a warning on stderr. Such files are left out.
  ImageDatasetOptions& on_skipped(std::function<void(const std::string& sentence)> f) { return on_skipped_ = std::move(f), *this; }

 private:
  friend class ImageRows;
  friend ImageDataset image_dataset_from_directory(const std::string& directory, const ImageDatasetOptions& options);
  int height_ = 256, width_ = 256;
  bool shuffle_ = true;
  std::uint32_t seed_ = 0;
  double validation_split_ = 0;
  std::string subset_;
  std::vector<std::string> class_names_;
  float scale_ = 1, offset_ = 0;
  int threads_ = 0;
  std::function<void(const std::string&)> on_skipped_;
};

// Samples (height, width, 3) of floats from 0 to 255, resized with tf.image.resize's bilinear method, and an int32 label. Files are decoded
// when they are asked for, several at once; put `.cache()` behind it to decode them only once. Not batched.
class ImageDataset : public Dataset {
 public:
  std::vector<std::string> class_names;  // label k is class_names[k]
  std::vector<std::string> file_paths;
  std::vector<std::int32_t> labels;  // of file_paths

 private:
  friend ImageDataset image_dataset_from_directory(const std::string& directory, const ImageDatasetOptions& options);
  explicit ImageDataset(const Dataset& data) : Dataset(data) {}
};

// Every folder in `directory` is a class, in sorted order; its files (and those in folders below it) whose names end in .jpg, .jpeg, .png,
// .gif or .bmp are its pictures. What a file is follows from its first bytes, not from its name.
ImageDataset image_dataset_from_directory(const std::string& directory, const ImageDatasetOptions& options);
inline ImageDataset image_dataset_from_directory(const std::string& directory) { return image_dataset_from_directory(directory, {}); }

// One picture as a sample of shape (height, width, channels), floats from 0 to 255, resized as above: Keras' load_img and img_to_array. One
// channel: grey, weighted as Pillow does.
Array load_image(const std::string& path, int height, int width, int channels = 3);

// The cats and dogs of Microsoft's data set (Kaggle's "Dogs vs. Cats"), 0 cat, 1 dog.
struct CatsVsDogs {
  ImageDataset train, validation;
  std::string source;  // a sentence: where they came from
};

class CatsVsDogsOptions {
 public:
  CatsVsDogsOptions& image_size(int height, int width) { return height_ = height, width_ = width, *this; }     // default 224 x 224
  CatsVsDogsOptions& scale(float scale, float offset = 0) { return scale_ = scale, offset_ = offset, *this; }  // default 1 / 255
  CatsVsDogsOptions& seed(std::uint32_t seed) { return seed_ = seed, *this; }
  CatsVsDogsOptions& directory(std::string folder) { return directory_ = std::move(folder), *this; }  // looked into first
  CatsVsDogsOptions& validation_split(double share) { return validation_split_ = share, *this; }      // where the files are in one heap
  CatsVsDogsOptions& on_skipped(std::function<void(const std::string& sentence)> f) { return on_skipped_ = std::move(f), *this; }

 private:
  friend struct CatsVsDogsLoader;
  int height_ = 224, width_ = 224;
  float scale_ = 1.0F / 255.0F, offset_ = 0;
  std::uint32_t seed_ = 1337;  // that of Keras' guide
  std::string directory_;
  double validation_split_ = 0.2;
  std::function<void(const std::string&)> on_skipped_;
};

// Under LOCKSTEP_DATA, ./data or ~/.keras/datasets, there or in a folder cats_vs_dogs: train/ and validation/ (or test/) with a folder for
// each class, as in cats_and_dogs_filtered; or PetImages/Cat and PetImages/Dog, as in Microsoft's zip, split by `validation_split`. Nothing
// is downloaded by itself: without files an Error says where to get them.
CatsVsDogs load_cats_vs_dogs(const CatsVsDogsOptions& options = {});

}  // namespace lockstep
