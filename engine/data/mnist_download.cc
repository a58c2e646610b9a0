#include "engine/data/mnist_download.h"

#include <system_error>

#include "engine/data/download.h"
#include "engine/data/mnist_folder.h"

namespace lockstep {

const std::vector<std::string>& mnist_mirrors() {
  static const std::vector<std::string> mirrors = {"https://storage.googleapis.com/cvdf-datasets/mnist/",
                                                   "https://ossci-datasets.s3.amazonaws.com/mnist/"};
  return mirrors;
}

std::string download_mnist(const std::filesystem::path& folder, const std::vector<std::string>& mirrors, std::string& why) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    why = "no folder to download to (" + folder.string() + ": " + error.message() + ")";
    return {};
  }
  why.clear();
  for (const std::string& mirror : mirrors) {
    try {
      for (const MnistFile& file : kMnistFiles) {
        const std::string name = std::string(file.name) + ".gz";
        if (std::filesystem::exists(folder / name)) continue;
        download({mirror + name, file.gz_bytes, file.gz_sha256}, folder / name);
      }
      return mirror;
    } catch (const Unreachable&) {
      continue;
    } catch (const Error& fault) {
      why += (why.empty() ? "the download failed (" : "; ") + std::string(fault.what());
    }
  }
  why = why.empty() ? (can_download() ? "no network" : "this program was built without libcurl") : why + ")";
  return {};
}

}  // namespace lockstep
