// Strokes to pixels: the writing is stretched, slanted and turned a little, scaled into 20x20 pixels, drawn with a round pen
// whose edge fades over a pixel, and moved so that its centre of mass is the image's, as MNIST was made. Only + - * / and square roots,
// which are exactly rounded everywhere: no sine, no exponential.
#include "engine/data/drawn_digits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <thread>
#include <vector>

#include "engine/data/digit_strokes.h"
#include "engine/data/mnist_folder.h"

namespace lockstep {
namespace {

constexpr int kSide = 28;
constexpr float kInk = 20.0F;  // the writing's larger extent, in pixels

struct Pen {
  float radius;  // pixels
  float lift;    // how much thinner a stroke's end is
};

using Canvas = std::array<float, std::size_t{kSide} * kSide>;  // 0: paper, 1: ink

void deform(std::vector<PenStroke>& strokes, SplitMix64& random) {
  const float width = random.between(0.6F, 1.0F);
  const float slant = 0.12F + 0.16F * random.bell();
  const float turn = 0.09F * random.bell();
  for (PenStroke& stroke : strokes) {
    for (PenPoint& point : stroke) {
      const float x = width * (point.x - 0.5F), y = point.y - 0.5F;
      point = {x - (slant + turn) * y, y + turn * x};
    }
  }
}

// Scaled so that the larger extent is `size` pixels, around the origin.
void fit(std::vector<PenStroke>& strokes, float size) {
  PenPoint low{1e9F, 1e9F}, high{-1e9F, -1e9F};
  for (const PenStroke& stroke : strokes) {
    for (const PenPoint& point : stroke) {
      low = {std::min(low.x, point.x), std::min(low.y, point.y)};
      high = {std::max(high.x, point.x), std::max(high.y, point.y)};
    }
  }
  const float scale = size / std::max(high.x - low.x, high.y - low.y);
  for (PenStroke& stroke : strokes) {
    for (PenPoint& point : stroke) point = {scale * (point.x - (low.x + high.x) / 2), scale * (point.y - (low.y + high.y) / 2)};
  }
}

float radius_at(const Pen& pen, const PenStroke& stroke, std::size_t piece) {
  return pen.radius * (1 - pen.lift * static_cast<float>(piece) / static_cast<float>(stroke.size()));
}

// Ink is laid in proportion to length times width.
PenPoint centre_of_mass(const std::vector<PenStroke>& strokes, const Pen& pen) {
  float mass = 0, x = 0, y = 0;
  for (const PenStroke& stroke : strokes) {
    for (std::size_t i = 0; i + 1 < stroke.size(); ++i) {
      const PenPoint a = stroke[i], b = stroke[i + 1];
      const float ink = radius_at(pen, stroke, i) * std::sqrt((b.x - a.x) * (b.x - a.x) + (b.y - a.y) * (b.y - a.y));
      mass += ink;
      x += ink * (a.x + b.x) / 2;
      y += ink * (a.y + b.y) / 2;
    }
  }
  return {x / mass, y / mass};
}

// One straight piece of a stroke with a round pen; darker of old and new where strokes cross. Pixel (r, c) is the point (c, r).
void draw_piece(Canvas& canvas, PenPoint a, PenPoint b, float radius) {
  const float reach = radius + 0.5F;
  const int left = std::max(0, static_cast<int>(std::ceil(std::min(a.x, b.x) - reach)));
  const int right = std::min(kSide - 1, static_cast<int>(std::floor(std::max(a.x, b.x) + reach)));
  const int top = std::max(0, static_cast<int>(std::ceil(std::min(a.y, b.y) - reach)));
  const int bottom = std::min(kSide - 1, static_cast<int>(std::floor(std::max(a.y, b.y) + reach)));
  const float dx = b.x - a.x, dy = b.y - a.y;
  const float length2 = dx * dx + dy * dy;
  const float per_length2 = length2 > 0 ? 1 / length2 : 0;
  for (int row = top; row <= bottom; ++row) {
    for (int column = left; column <= right; ++column) {
      const float px = static_cast<float>(column) - a.x, py = static_cast<float>(row) - a.y;
      const float along = std::clamp((px * dx + py * dy) * per_length2, 0.0F, 1.0F);
      const float ex = px - along * dx, ey = py - along * dy;
      const float distance2 = ex * ex + ey * ey;
      if (distance2 >= reach * reach) continue;
      float& pixel = canvas[static_cast<std::size_t>(row * kSide + column)];
      pixel = std::max(pixel, std::min(reach - std::sqrt(distance2), 1.0F));
    }
  }
}

void draw_digit(int digit, SplitMix64& random, std::uint8_t* pixels) {
  std::vector<PenStroke> strokes = write_digit(digit, random);
  const Pen pen{random.between(0.75F, 1.75F), random.between(0.0F, 0.3F)};
  deform(strokes, random);
  fit(strokes, kInk * random.between(0.9F, 1.0F) - 2 * pen.radius);

  constexpr float kMiddle = (kSide - 1) / 2.0F;
  constexpr float kRoom = kMiddle - kInk / 2 - 0.5F;  // farther from the middle, ink could touch the border
  const PenPoint centre = centre_of_mass(strokes, pen);
  const float x = kMiddle + std::clamp(random.between(-0.7F, 0.7F) - centre.x, -kRoom, kRoom);
  const float y = kMiddle + std::clamp(random.between(-0.7F, 0.7F) - centre.y, -kRoom, kRoom);
  Canvas canvas{};
  for (const PenStroke& stroke : strokes) {
    for (std::size_t i = 0; i + 1 < stroke.size(); ++i) {
      draw_piece(canvas, {stroke[i].x + x, stroke[i].y + y}, {stroke[i + 1].x + x, stroke[i + 1].y + y}, radius_at(pen, stroke, i));
    }
  }

  // Ink is not even, paper is.
  const float grain = random.between(0.0F, 0.25F);
  for (std::size_t i = 0; i < canvas.size(); ++i) {
    if (canvas[i] > 0) pixels[i] = static_cast<std::uint8_t>(255.0F * canvas[i] * (1 - grain * random.uniform()) + 0.5F);
  }
}

}  // namespace

DrawnDigits draw_digits(std::int64_t count, std::uint64_t seed) {
  if (count < 1) throw Error("draw_digits: " + std::to_string(count) + " images were asked for; draw at least 1");
  constexpr std::size_t kPixels = std::size_t{kSide} * kSide;
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(count) * kPixels);
  std::vector<std::uint8_t> labels(static_cast<std::size_t>(count));
  const auto draw_some = [&](std::size_t first, std::size_t stride) {
    for (std::size_t i = first; i < labels.size(); i += stride) {
      SplitMix64 random(seed, i);
      labels[i] = static_cast<std::uint8_t>(random.below(10));
      draw_digit(labels[i], random, &pixels[i * kPixels]);
    }
  };
  const std::size_t threads = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 8);
  {
    std::vector<std::jthread> others;
    for (std::size_t t = 1; t < threads; ++t) others.emplace_back(draw_some, t, threads);
    draw_some(0, threads);
  }
  return {scale_images(count, pixels), widen_labels(labels)};
}

}  // namespace lockstep
