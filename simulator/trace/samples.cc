#include "simulator/trace/samples.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

namespace lockstep {
namespace {

constexpr int kMostPixels = 56;  // a side
constexpr std::int64_t kMostTokens = 120, kMostNumbers = 16, kMostLabels = 4096;

std::string base64(const std::vector<unsigned char>& bytes) {
  static constexpr const char* kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = std::min<std::size_t>(3, bytes.size() - i);
    unsigned word = 0;
    for (std::size_t k = 0; k < 3; ++k) word = (word << 8) | (k < left ? bytes[i + k] : 0U);
    for (std::size_t k = 0; k < 4; ++k) text += k <= left ? kDigits[(word >> (18 - 6 * k)) & 63U] : '=';
  }
  return text;
}

// From which value to which: pixels are 0 ... 1, 0 ... 255 or -1 ... 1, whatever the program made of them.
struct ValueRange {
  float low = 0, high = 1;
};
ValueRange range_of(const float* values, std::int64_t n) {
  float low = 0, high = 0;
  for (std::int64_t i = 0; i < n; ++i) low = std::min(low, values[i]), high = std::max(high, values[i]);
  if (low < 0) return {-std::max(-low, high), std::max(-low, high)};
  return {0, high > 2 ? 255.0F : 1.0F};
}

// Means over squares of `step` pixels.
std::vector<unsigned char> shrunk(const float* pixels, int height, int width, int channels, int step, ValueRange range) {
  std::vector<unsigned char> bytes;
  for (int y = 0; y + step <= height; y += step) {
    for (int x = 0; x + step <= width; x += step) {
      for (int c = 0; c < channels; ++c) {
        float sum = 0;
        for (int dy = 0; dy < step; ++dy)
          for (int dx = 0; dx < step; ++dx) sum += pixels[((y + dy) * width + x + dx) * channels + c];
        const float unit = (sum / static_cast<float>(step * step) - range.low) / (range.high - range.low);
        bytes.push_back(static_cast<unsigned char>(std::lround(255 * std::clamp(std::isfinite(unit) ? unit : 0.0F, 0.0F, 1.0F))));
      }
    }
  }
  return bytes;
}

}  // namespace

KeptSamples keep_samples(const ShardSamples& which, const Array& x, const Array& y) {
  KeptSamples kept{which, x.slice(which.first, std::min<std::int64_t>(which.most, which.count)), {}};
  if (!y.empty()) kept.y = y.slice(which.first, std::min(which.count, kMostLabels));
  return kept;
}

std::string samples_json(const ShardSamples& which, const Array& x, const Array& y) { return samples_json(keep_samples(which, x, y)); }

std::string samples_json(const KeptSamples& kept) {
  const auto& [which, x, y] = kept;
  nlohmann::json json = {{"step", which.step}, {"replica", which.replica}, {"first", which.first}, {"count", which.count}};
  const std::int64_t shown = x.samples();
  nlohmann::json& labels = json["labels"] = nlohmann::json::array();
  if (!y.empty() && y.size() == y.samples()) {
    for (std::int64_t i = 0; i < y.samples(); ++i) {
      if (y.dtype() == DType::int32)
        labels.push_back(y.data<std::int32_t>()[i]);
      else
        labels.push_back(y.data<float>()[i]);
    }
  }
  const Shape sample = x.shape().sample();
  const std::int64_t row = sample.size();
  nlohmann::json rows = nlohmann::json::array();
  if (x.dtype() == DType::int32) {
    for (std::int64_t i = 0; i < shown; ++i) {
      const std::int32_t* tokens = x.data<std::int32_t>() + i * row;
      const std::int32_t* begin = std::find_if(tokens, tokens + row, [](std::int32_t token) { return token != 0; });  // behind the padding
      rows.push_back(std::vector<std::int32_t>(begin, begin + std::min<std::int64_t>(kMostTokens, tokens + row - begin)));
    }
    json["tokens"] = std::move(rows);
    return json.dump();
  }
  const bool picture = sample.rank() == 3 && (sample[2] == 1 || sample[2] == 3) && sample[0] > 1 && sample[1] > 1;
  if (!picture) {
    for (std::int64_t i = 0; i < shown; ++i) {
      const float* values = x.data<float>() + i * row;
      rows.push_back(std::vector<float>(values, values + std::min(row, kMostNumbers)));
    }
    json["numbers"] = std::move(rows);
    return json.dump();
  }
  const auto height = static_cast<int>(sample[0]), width = static_cast<int>(sample[1]), channels = static_cast<int>(sample[2]);
  const int step = std::max(1, (std::max(height, width) + kMostPixels - 1) / kMostPixels);
  const float* first = x.data<float>();
  const ValueRange range = range_of(first, std::min<std::int64_t>(shown, 4) * row);
  for (std::int64_t i = 0; i < shown; ++i) rows.push_back(base64(shrunk(first + i * row, height, width, channels, step, range)));
  json["pictures"] = {{"height", height / step}, {"width", width / step}, {"channels", channels}, {"data", std::move(rows)}};
  return json.dump();
}

}  // namespace lockstep
