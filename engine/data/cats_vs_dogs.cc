// load_cats_vs_dogs: where the photos lie, and in which of the layouts people have.
#include <array>
#include <filesystem>
#include <optional>

#include "engine/data/places.h"
#include "lockstep/images.h"

namespace lockstep {

namespace fs = std::filesystem;

struct CatsVsDogsLoader {
  const CatsVsDogsOptions& options;

  static bool is_folder(const fs::path& path) {
    std::error_code ignored;
    return fs::is_directory(path, ignored);
  }
  // The names people give the two classes; sorted order is always cat, dog.
  static std::optional<std::vector<std::string>> classes_in(const fs::path& folder) {
    static constexpr std::array<std::array<const char*, 2>, 4> kNames = {
        {{"cats", "dogs"}, {"cat", "dog"}, {"Cat", "Dog"}, {"Cats", "Dogs"}}};
    for (const auto& [cat, dog] : kNames)
      if (is_folder(folder / cat) && is_folder(folder / dog)) return std::vector<std::string>{cat, dog};
    return std::nullopt;
  }

  ImageDatasetOptions reading(const std::vector<std::string>& classes) const {
    ImageDatasetOptions how;
    how.image_size(options.height_, options.width_).scale(options.scale_, options.offset_).seed(options.seed_).class_names(classes);
    if (options.on_skipped_) how.on_skipped(options.on_skipped_);
    return how;
  }

  std::optional<CatsVsDogs> read(const fs::path& folder) const {
    const fs::path train = folder / "train";
    for (const char* name : {"validation", "test"}) {
      const auto classes = classes_in(train);
      const auto others = classes_in(folder / name);
      if (classes && others) {
        return CatsVsDogs{image_dataset_from_directory(train.string(), reading(*classes)),
                          image_dataset_from_directory((folder / name).string(), reading(*others)),
                          "Cats and dogs from " + folder.string()};
      }
    }
    for (const fs::path& heap : {folder / "PetImages", folder}) {
      const auto classes = classes_in(heap);
      if (!classes) continue;
      ImageDatasetOptions how = reading(*classes);
      how.validation_split(options.validation_split_);
      ImageDataset first = image_dataset_from_directory(heap.string(), how.subset("training"));
      return CatsVsDogs{first, image_dataset_from_directory(heap.string(), how.subset("validation")),
                        "Cats and dogs from " + heap.string()};
    }
    return std::nullopt;
  }

  CatsVsDogs load() const {
    for (const fs::path& place : data_places(options.directory_, "cats_vs_dogs")) {
      if (auto found = read(place)) return *found;
    }
    for (const fs::path& place : data_places(options.directory_, "cats_and_dogs_filtered")) {
      if (auto found = read(place)) return *found;
    }
    throw Error(
        "No photos of cats and dogs were found. Unpack https://storage.googleapis.com/mledu-datasets/cats_and_dogs_filtered.zip (3,000 of "
        "them, "
        "69 MB) or Microsoft's whole set, https://www.microsoft.com/download/details.aspx?id=54765 (PetImages, 25,000, 787 MB), in ./data "
        "or "
        "~/.keras/datasets, or let LOCKSTEP_DATA name the folder that holds them; they are not downloaded by themselves. Any folder with "
        "train/ "
        "and validation/ that have cats/ and dogs/ in them does as well.");
  }
};

CatsVsDogs load_cats_vs_dogs(const CatsVsDogsOptions& options) { return CatsVsDogsLoader{options}.load(); }

}  // namespace lockstep
