#include "engine/nn/initializer.h"

#include <cmath>
#include <utility>

#include "engine/kernels/philox.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

using Kind = Initializer::Kind;

constexpr std::pair<const char*, Kind> kNames[] = {
    {"zeros", Kind::zeros},
    {"ones", Kind::ones},
    {"glorot_uniform", Kind::glorot_uniform},
    {"glorot_normal", Kind::glorot_normal},
    {"he_uniform", Kind::he_uniform},
    {"he_normal", Kind::he_normal},
    {"random_uniform", Kind::random_uniform},
    {"random_normal", Kind::random_normal},
};

constexpr double kTwoPi = 6.283185307179586;
// Standard deviation of a standard normal cut off at +-2: what Keras divides by, so that the cut one has the wanted deviation.
constexpr double kTruncatedDeviation = 0.87962566103423978;

PhiloxCounter counter_for(std::uint64_t index, std::uint64_t stream) {
  return {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), static_cast<std::uint32_t>(stream),
          static_cast<std::uint32_t>(stream >> 32)};
}

void fill_uniform(std::vector<float>& values, double limit, std::uint64_t seed, std::uint64_t stream) {
  for (std::size_t i = 0; i < values.size(); i += 4) {
    const PhiloxCounter draw = philox(counter_for(i / 4, stream), philox_key(seed));
    const std::uint32_t words[4] = {draw.x, draw.y, draw.z, draw.w};
    for (std::size_t k = 0; k < 4 && i + k < values.size(); ++k)
      values[i + k] = static_cast<float>(limit) * (2.0F * philox_uniform(words[k]) - 1.0F);
  }
}

// One standard normal from two words (Box and Muller 1958); the first uniform is in (0, 1], so the logarithm is finite.
double normal(std::uint32_t a, std::uint32_t b) {
  const double u = (static_cast<double>(a) + 1.0) * 0x1p-32;
  const double v = static_cast<double>(b) * 0x1p-32;
  return std::sqrt(-2.0 * std::log(u)) * std::cos(kTwoPi * v);
}

// Every element has draws of its own, numbered by attempt, so cutting off the tails of one does not shift the others. The
// attempt takes the upper counter word: elements are far fewer than 2^32 a variable.
void fill_normal(std::vector<float>& values, double deviation, bool truncated, std::uint64_t seed, std::uint64_t stream) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    double z = 0;
    for (std::uint64_t attempt = 0;; ++attempt) {
      const PhiloxCounter draw = philox(counter_for(i | (attempt << 32), stream), philox_key(seed));
      z = normal(draw.x, draw.y);
      if (truncated && std::fabs(z) > 2.0) z = normal(draw.z, draw.w);
      if (!truncated || std::fabs(z) <= 2.0) break;
    }
    values[i] = static_cast<float>(deviation * z);
  }
}

}  // namespace

Fans compute_fans(const Shape& shape) {
  if (shape.rank() == 0) return {1, 1};
  if (shape.rank() == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  double receptive = 1;
  for (int axis = 0; axis < shape.rank() - 2; ++axis) receptive *= static_cast<double>(shape[axis]);
  return {static_cast<double>(shape[-2]) * receptive, static_cast<double>(shape[-1]) * receptive};
}

std::vector<float> Initializer::values(const Shape& shape, std::uint64_t seed, std::uint64_t stream) const {
  std::vector<float> values(static_cast<std::size_t>(shape.size()), 0.0F);
  const Fans fans = compute_fans(shape);
  const double mean_fan = (fans.in + fans.out) / 2;
  switch (kind) {
    case Kind::zeros:
      break;
    case Kind::ones:
      values.assign(values.size(), 1.0F);
      break;
    case Kind::constant:
      values.assign(values.size(), value);
      break;
    case Kind::glorot_uniform:
      fill_uniform(values, std::sqrt(3.0 / mean_fan), seed, stream);
      break;
    case Kind::he_uniform:
      fill_uniform(values, std::sqrt(6.0 / fans.in), seed, stream);
      break;
    case Kind::random_uniform:
      fill_uniform(values, value, seed, stream);
      break;
    case Kind::glorot_normal:
      fill_normal(values, std::sqrt(1.0 / mean_fan) / kTruncatedDeviation, true, seed, stream);
      break;
    case Kind::he_normal:
      fill_normal(values, std::sqrt(2.0 / fans.in) / kTruncatedDeviation, true, seed, stream);
      break;
    case Kind::random_normal:
      fill_normal(values, value, false, seed, stream);
      break;
  }
  return values;
}

Initializer parse_initializer(const std::string& name) {
  std::string known;
  for (const auto& [text, kind] : kNames) {
    if (name == text) return {kind, kind == Kind::random_uniform || kind == Kind::random_normal ? 0.05F : 0.0F};
    known += (known.empty() ? "" : ", ") + std::string(text);
  }
  throw Error("There is no initializer \"" + name + "\"; there are: " + known);
}

}  // namespace lockstep
