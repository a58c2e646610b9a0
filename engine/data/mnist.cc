// load_mnist: where the digits come from, in which order places are tried.
#include <filesystem>
#include <string>

#include "engine/data/drawn_digits.h"
#include "engine/data/mnist_download.h"
#include "engine/data/mnist_folder.h"
#include "engine/data/places.h"
#include "lockstep/dataset.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// A download that was cut short leaves some of the four: they wait there for the next one.
bool is_complete(const fs::path& folder) {
  std::error_code ignored;
  for (const MnistFile& file : kMnistFiles) {
    if (!fs::exists(folder / (std::string(file.name) + ".gz"), ignored)) return false;
  }
  return true;
}

}  // namespace

Mnist load_mnist(const DataOptions& options) {
  for (const fs::path& folder : data_places(options.directory, "mnist")) {
    if (auto mnist = read_mnist_folder(folder)) return *mnist;
  }

  std::string why;
  if (const fs::path cache = download_folder("mnist"); cache.empty()) {
    why = "no folder to download to (HOME is not set)";
  } else if (is_complete(cache)) {
    return *read_mnist_folder(cache);
  } else if (!options.allow_download) {
    why = "downloads are switched off";
  } else if (is_offline()) {
    why = "downloads are switched off (LOCKSTEP_OFFLINE)";
  } else if (const std::string mirror = download_mnist(cache, mnist_mirrors(), why); !mirror.empty()) {
    Mnist mnist = *read_mnist_folder(cache);
    mnist.source = "MNIST, downloaded from " + mirror + " to " + cache.string();
    return mnist;
  }

  Mnist mnist;
  DrawnDigits train = draw_digits(options.drawn_train, 1);
  mnist.x_train = train.images;
  mnist.y_train = train.labels;
  DrawnDigits test = draw_digits(options.drawn_test, 2);
  mnist.x_test = test.images;
  mnist.y_test = test.labels;
  mnist.source = "No MNIST files found and " + why + ": digits drawn by this program instead (not MNIST; accuracy is not comparable)";
  mnist.drawn = true;
  return mnist;
}

}  // namespace lockstep
