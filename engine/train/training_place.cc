#include "lockstep/training_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace lockstep {
namespace {

class Hash {
 public:
  void add(const void* data, std::size_t bytes) {
    const auto* at = static_cast<const unsigned char*>(data);
    for (; bytes >= sizeof(std::uint64_t); at += sizeof(std::uint64_t), bytes -= sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, at, sizeof word);
      mix(word);
    }
    for (; bytes > 0; ++at, --bytes) mix(*at);
  }
  void mix(std::uint64_t word) {
    value_ = (value_ ^ word) * 0x9e3779b97f4a7c15U;
    value_ ^= value_ >> 29;
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0x243f6a8885a308d3U;
};

void add_samples(Hash& hash, const Array& array, std::int64_t most) {
  const std::int64_t samples = array.samples();
  for (int axis = 0; axis < array.shape().rank(); ++axis) hash.mix(static_cast<std::uint64_t>(array.shape()[axis]));
  if (samples == 0) return;
  const std::size_t bytes = array.bytes() / static_cast<std::size_t>(samples);
  const std::int64_t looked_at = std::min(samples, most);
  for (std::int64_t i = 0; i < looked_at; ++i)
    hash.add(static_cast<const unsigned char*>(array.raw()) + static_cast<std::size_t>(i * samples / looked_at) * bytes, bytes);
}

}  // namespace

std::string difference(const TrainingPlace& saved, const TrainingPlace& now) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (saved.samples > 0 && now.samples > 0 && saved.samples != now.samples)
    add(fmt::format("{} samples in an epoch (now {})", saved.samples, now.samples));
  if (saved.batch_size > 0 && now.batch_size > 0 && saved.batch_size != now.batch_size)
    add(fmt::format("batches of {} samples (now {})", saved.batch_size, now.batch_size));
  if (saved.seed && now.seed && *saved.seed != *now.seed) add(fmt::format("seed {} (now {})", *saved.seed, *now.seed));
  if (saved.samples == now.samples && !saved.data.empty() && !now.data.empty() && saved.data != now.data)
    add(fmt::format("other data, {} (now {})", saved.data, now.data));
  return text;
}

std::string data_name(const Array& x, const Array& y) {
  constexpr std::int64_t kSamples = 1000;
  Hash hash;
  add_samples(hash, x, kSamples);
  add_samples(hash, y, y.samples());
  return fmt::format("{:016x}", hash.value());
}

}  // namespace lockstep
