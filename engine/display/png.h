// Pictures as PNG, the smallest that every browser shows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

// 8 bits a channel; 1 (grey) or 3 channels. The file's bytes.
std::string png(const std::vector<std::uint8_t>& pixels, int height, int width, int channels);
std::string base64(const std::string& bytes);

}  // namespace lockstep
