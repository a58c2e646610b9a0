// MNIST's four files from their public mirrors.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep {

const std::vector<std::string>& mnist_mirrors();

// Fetches the files the folder lacks, trying one mirror after the other. Returns the mirror that had them all, or an empty string; then
// `why` says what happened, as the end of a sentence: "no network", or what each mirror did wrong.
std::string download_mnist(const std::filesystem::path& folder, const std::vector<std::string>& mirrors, std::string& why);

}  // namespace lockstep
