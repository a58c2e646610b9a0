// image_dataset_from_directory: a list of files with labels, decoded side by side on host threads when they are asked for.
#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "engine/data/dataset_impl.h"
#include "engine/data/image/image_file.h"
#include "engine/data/image/resize.h"
#include "engine/data/legacy_random.h"
#include "lockstep/images.h"

namespace lockstep {

namespace fs = std::filesystem;

namespace {

bool has_image_name(const fs::path& path) {
  std::string end = path.extension().string();
  std::transform(end.begin(), end.end(), end.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  static const std::set<std::string> kKnown = {".bmp", ".gif", ".jpeg", ".jpg", ".png"};
  return kKnown.count(end) > 0;
}

std::vector<std::string> sorted_entries(const fs::path& folder, bool folders) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->path().filename().string().front() == '.') continue;
    if (folders ? at->is_directory(ignored) : at->is_regular_file(ignored)) names.push_back(at->path().filename().string());
  }
  if (error) throw Error(folder.string() + ": can't be listed: " + error.message());
  std::sort(names.begin(), names.end());
  return names;
}

// As os.walk gives them: a folder's own files, then those of its folders, each in sorted order.
void list_images(const fs::path& folder, std::vector<std::string>& files) {
  for (const std::string& name : sorted_entries(folder, false))
    if (has_image_name(name)) files.push_back((folder / name).string());
  for (const std::string& name : sorted_entries(folder, true)) list_images(folder / name, files);
}

}  // namespace

class ImageRows : public Rows {
 public:
  ImageRows(std::vector<std::string> files, std::vector<std::int32_t> labels, const ImageDatasetOptions& options)
      : files_(std::move(files)), labels_(std::move(labels)), options_(options) {}

  std::int64_t count() const override { return static_cast<std::int64_t>(files_.size()); }
  Shape sample_shape() const override { return {options_.height_, options_.width_, 3}; }
  bool costly() const override { return true; }

  // Every picture goes to its own place, whichever thread decodes it; those left out are closed up afterwards.
  Batch gather(const std::vector<std::int64_t>& rows) const override {
    const auto pixels = static_cast<std::size_t>(sample_shape().size());
    Array x(sample_shape().batched(static_cast<std::int64_t>(rows.size())));
    std::vector<std::string> faults(rows.size());
    on_threads(rows.size(), [&](std::size_t k) { faults[k] = decode(rows[k], x.data<float>() + k * pixels); });

    std::vector<std::int32_t> labels;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      if (!faults[k].empty()) {
        tell(rows[k], faults[k]);
        continue;
      }
      if (labels.size() < k) std::memmove(x.data<float>() + labels.size() * pixels, x.data<float>() + k * pixels, pixels * sizeof(float));
      labels.push_back(labels_[static_cast<std::size_t>(rows[k])]);
    }
    const auto found = static_cast<std::int64_t>(labels.size());
    return {labels.size() < rows.size() ? x.slice(0, found) : x, Array(Shape{found}, labels)};
  }

 private:
  std::string decode(std::int64_t row, float* to) const {
    try {
      const Image image = read_image(files_[static_cast<std::size_t>(row)]);
      resize_bilinear(image, options_.height_, options_.width_, to);
    } catch (const Error& error) {
      return error.what();
    }
    if (options_.scale_ != 1 || options_.offset_ != 0) {
      const std::int64_t n = sample_shape().size();
      for (std::int64_t i = 0; i < n; ++i) to[i] = to[i] * options_.scale_ + options_.offset_;
    }
    return {};
  }

  template <typename Function>
  void on_threads(std::size_t tasks, const Function& function) const {
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex mutex;
    const auto work = [&] {
      try {
        for (std::size_t k = next++; k < tasks; k = next++) function(k);
      } catch (...) {  // out of memory, say
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
      }
    };
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    const std::size_t wanted = std::min(tasks, options_.threads_ > 0 ? static_cast<std::size_t>(options_.threads_) : cores);
    std::vector<std::thread> others;
    for (std::size_t t = 1; t < wanted; ++t) others.emplace_back(work);
    work();
    for (std::thread& thread : others) thread.join();
    if (failure) std::rethrow_exception(failure);
  }

  void tell(std::int64_t row, const std::string& fault) const {
    {
      const std::lock_guard lock(mutex_);
      if (!told_.insert(row).second) return;
    }
    if (options_.on_skipped_)
      options_.on_skipped_(fault);
    else
      std::cerr << "Warning: " << fault << "; left out\n";
  }

  std::vector<std::string> files_;
  std::vector<std::int32_t> labels_;
  ImageDatasetOptions options_;
  mutable std::mutex mutex_;
  mutable std::set<std::int64_t> told_;
};

namespace {

struct Listed {
  std::vector<std::string> files;
  std::vector<std::int32_t> labels;
};

Listed list_classes(const fs::path& directory, const std::vector<std::string>& class_names) {
  Listed all;
  for (std::size_t k = 0; k < class_names.size(); ++k) {
    list_images(directory / class_names[k], all.files);
    all.labels.resize(all.files.size(), static_cast<std::int32_t>(k));
  }
  if (all.files.empty()) throw Error(directory.string() + ": its folders hold no .jpg, .png, .gif or .bmp files");
  return all;
}

// [first, last) of `count` files that belong to the subset.
std::pair<std::size_t, std::size_t> range_of(std::size_t count, double split, const std::string& subset) {
  if (!(split >= 0 && split < 1)) throw Error("image_dataset_from_directory: validation_split must be in [0, 1)");
  if (subset.empty() != (split == 0)) throw Error("image_dataset_from_directory: validation_split and subset go together");
  const auto validation = static_cast<std::size_t>(split * static_cast<double>(count));
  if (subset.empty()) return {0, count};
  if (subset == "training") return {0, count - validation};
  if (subset == "validation") return {count - validation, count};
  throw Error("image_dataset_from_directory: subset is \"training\" or \"validation\", not \"" + subset + "\"");
}

}  // namespace

ImageDataset image_dataset_from_directory(const std::string& directory, const ImageDatasetOptions& options) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) throw Error(directory + ": there is no such folder");
  if (options.height_ < 1 || options.width_ < 1 || options.height_ > 8192 || options.width_ > 8192)
    throw Error("image_dataset_from_directory: image_size must be between 1 and 8192");
  const std::vector<std::string> class_names = options.class_names_.empty() ? sorted_entries(directory, true) : options.class_names_;
  if (class_names.empty()) throw Error(directory + ": it has no folders; each class of pictures is a folder");
  const Listed all = list_classes(directory, class_names);
  std::vector<std::uint32_t> order(all.files.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
  if (options.shuffle_) order = legacy_permutation(options.seed_, order.size());

  const auto [first, last] = range_of(all.files.size(), options.validation_split_, options.subset_);
  Listed chosen;
  for (std::size_t i = first; i < last; ++i) {
    chosen.files.push_back(all.files[order[i]]);
    chosen.labels.push_back(all.labels[order[i]]);
  }
  ImageDataset data(Dataset::from_impl(make_source(std::make_shared<ImageRows>(chosen.files, chosen.labels, options))));
  data.class_names = class_names;
  data.file_paths = std::move(chosen.files);
  data.labels = std::move(chosen.labels);
  return data;
}

}  // namespace lockstep
