// `lockstep exec --manifest`: which functions of NVIDIA's libraries ours have.
#pragma once

#include <filesystem>

namespace lockstep::cli {

int print_manifest(const std::filesystem::path& folder);

}  // namespace lockstep::cli
