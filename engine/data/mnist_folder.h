// MNIST as people have it in a folder: the four IDX files, or Keras' mnist.npz.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/dataset.h"

namespace lockstep {

struct MnistFile {
  const char* name;  // as published, without ".gz"
  std::uint64_t gz_bytes;
  const char* gz_sha256;
};
extern const std::array<MnistFile, 4> kMnistFiles;  // training images and labels, test images and labels

// Nothing when the folder has no such files (or is not there); an Error naming the file that is damaged or lacking.
std::optional<Mnist> read_mnist_folder(const std::filesystem::path& folder);

// (n, 28, 28) bytes to (n, 28, 28, 1) floats in [0, 1], each exactly float(byte) / 255.0f; and n bytes to n integers.
Array scale_images(std::int64_t count, const std::vector<std::uint8_t>& pixels);
Array widen_labels(const std::vector<std::uint8_t>& labels);

}  // namespace lockstep
