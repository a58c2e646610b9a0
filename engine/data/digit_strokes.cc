// A way to write a digit is a list of strokes; a stroke is a smooth curve (Catmull-Rom) through a few points. Where the
// pen turns sharply one stroke ends and the next begins. The hand's unsteadiness moves the points, not the curve.
#include "engine/data/digit_strokes.h"

#include <array>
#include <cstddef>

namespace lockstep {
namespace {

using Way = std::vector<PenStroke>;

const std::array<std::vector<Way>, 10>& ways() {
  static const std::array<std::vector<Way>, 10> all = {{
      // 0: round, or open at the top with an overlap
      {{{{.5F, 0}, {.2F, .16F}, {.08F, .5F}, {.2F, .84F}, {.5F, 1}, {.8F, .84F}, {.92F, .5F}, {.8F, .16F}, {.5F, 0}}},
       {{{.62F, .04F},
         {.3F, .1F},
         {.1F, .45F},
         {.18F, .83F},
         {.48F, 1},
         {.8F, .8F},
         {.9F, .45F},
         {.74F, .12F},
         {.45F, .02F},
         {.33F, .1F}}}},
      // 1: a line; with a nose; with nose and foot
      {{{{.5F, 0}, {.5F, .5F}, {.5F, 1}}},
       {{{.5F, 0}, {.5F, .5F}, {.5F, 1}}},
       {{{.28F, .24F}, {.4F, .14F}, {.52F, 0}}, {{.52F, 0}, {.51F, .5F}, {.5F, 1}}},
       {{{.3F, .22F}, {.52F, 0}}, {{.52F, 0}, {.5F, 1}}, {{.25F, 1}, {.75F, 1}}}},
      // 2: with a corner at the foot; with a loop there
      {{{{.12F, .26F}, {.26F, .06F}, {.55F, 0}, {.82F, .16F}, {.78F, .42F}, {.5F, .7F}, {.1F, .98F}},
        {{.1F, .98F}, {.5F, .97F}, {.92F, .98F}}},
       {{{.15F, .2F},
         {.35F, .02F},
         {.68F, .04F},
         {.8F, .28F},
         {.62F, .6F},
         {.32F, .9F},
         {.12F, .94F},
         {.12F, .8F},
         {.32F, .78F},
         {.58F, .95F},
         {.95F, .93F}}}},
      // 3: with a corner in the middle; flat on top
      {{{{.12F, .13F}, {.42F, 0}, {.78F, .13F}, {.7F, .38F}, {.36F, .48F}},
        {{.36F, .48F}, {.75F, .56F}, {.88F, .78F}, {.55F, 1}, {.08F, .9F}}},
       {{{.14F, .04F}, {.8F, .02F}}, {{.8F, .02F}, {.42F, .42F}}, {{.42F, .42F}, {.8F, .52F}, {.86F, .8F}, {.52F, 1}, {.1F, .9F}}}},
      // 4: open on top; closed
      {{{{.2F, 0}, {.14F, .3F}, {.12F, .54F}}, {{.12F, .54F}, {.5F, .54F}, {.92F, .5F}}, {{.76F, .04F}, {.72F, .5F}, {.68F, 1}}},
       {{{.26F, .02F}, {.16F, .36F}, {.34F, .52F}, {.7F, .44F}}, {{.82F, .02F}, {.72F, .44F}, {.64F, 1}}},
       {{{.66F, 0}, {.08F, .64F}}, {{.08F, .64F}, {.92F, .63F}}, {{.66F, 0}, {.66F, 1}}}},
      // 5: the roof last; in one go
      {{{{.88F, .02F}, {.56F, .03F}, {.28F, .02F}},
        {{.28F, .02F}, {.22F, .44F}},
        {{.22F, .44F}, {.5F, .36F}, {.82F, .52F}, {.82F, .82F}, {.5F, 1}, {.1F, .9F}}},
       {{{.94F, 0}, {.6F, .02F}, {.36F, .05F}},
        {{.36F, .05F}, {.24F, .4F}},
        {{.24F, .4F}, {.6F, .46F}, {.76F, .7F}, {.54F, .96F}, {.08F, .96F}}}},
      // 6: a wide belly; a narrow one on a straight back
      {{{{.72F, .02F}, {.42F, .18F}, {.18F, .52F}, {.18F, .84F}, {.48F, 1}, {.8F, .86F}, {.8F, .62F}, {.54F, .5F}, {.24F, .66F}}},
       {{{.5F, 0}, {.26F, .36F}, {.16F, .74F}, {.34F, .98F}, {.64F, .96F}, {.76F, .74F}, {.58F, .58F}, {.3F, .66F}, {.2F, .82F}}}},
      // 7: plain; with a bar; with a serif
      {{{{.1F, .06F}, {.5F, .04F}, {.9F, .02F}}, {{.9F, .02F}, {.62F, .44F}, {.42F, 1}}},
       {{{.1F, .06F}, {.5F, .04F}, {.9F, .02F}}, {{.9F, .02F}, {.62F, .44F}, {.42F, 1}}, {{.32F, .5F}, {.82F, .47F}}},
       {{{.12F, .2F}, {.12F, .04F}}, {{.12F, .04F}, {.88F, .04F}}, {{.88F, .04F}, {.66F, .5F}, {.56F, 1}}}},
      // 8: one curve crossing itself; two rings
      {{{{.74F, .12F},
         {.48F, 0},
         {.22F, .12F},
         {.26F, .34F},
         {.52F, .48F},
         {.8F, .7F},
         {.76F, .92F},
         {.48F, 1},
         {.2F, .9F},
         {.22F, .68F},
         {.5F, .48F},
         {.74F, .32F},
         {.76F, .14F}}},
       {{{.5F, .46F}, {.24F, .34F}, {.26F, .1F}, {.5F, 0}, {.74F, .1F}, {.76F, .34F}, {.5F, .46F}},
        {{.5F, .46F}, {.2F, .6F}, {.16F, .84F}, {.5F, 1}, {.84F, .84F}, {.8F, .6F}, {.5F, .46F}}}},
      // 9: a straight leg; a curved tail
      {{{{.8F, .1F}, {.5F, .01F}, {.2F, .14F}, {.18F, .38F}, {.46F, .48F}, {.76F, .32F}, {.82F, .08F}},
        {{.82F, .08F}, {.78F, .5F}, {.7F, 1}}},
       {{{.78F, .16F}, {.52F, 0}, {.24F, .1F}, {.18F, .34F}, {.42F, .5F}, {.72F, .36F}, {.8F, .16F}},
        {{.8F, .16F}, {.82F, .52F}, {.72F, .86F}, {.46F, 1}, {.18F, .92F}}}},
  }};
  return all;
}

float catmull_rom(float before, float from, float to, float after, float t) {
  const float linear = to - before;
  const float square = 2 * before - 5 * from + 4 * to - after;
  const float cube = 3 * from - before - 3 * to + after;
  return from + 0.5F * t * (linear + t * (square + t * cube));
}

PenStroke smooth(const PenStroke& through) {
  constexpr int kPieces = 6;  // straight pieces between two points: about a pixel and a half each
  PenStroke curve{through.front()};
  const auto at = [&through](std::ptrdiff_t i) {
    const auto last = static_cast<std::ptrdiff_t>(through.size()) - 1;
    return through[static_cast<std::size_t>(i < 0 ? 0 : i > last ? last : i)];
  };
  for (std::ptrdiff_t i = 0; i + 1 < static_cast<std::ptrdiff_t>(through.size()); ++i) {
    const PenPoint before = at(i - 1), from = at(i), to = at(i + 1), after = at(i + 2);
    for (int piece = 1; piece <= kPieces; ++piece) {
      const float t = static_cast<float>(piece) / kPieces;
      curve.push_back({catmull_rom(before.x, from.x, to.x, after.x, t), catmull_rom(before.y, from.y, to.y, after.y, t)});
    }
  }
  return curve;
}

}  // namespace

std::vector<PenStroke> write_digit(int digit, SplitMix64& random) {
  const std::vector<Way>& choices = ways()[static_cast<std::size_t>(digit)];
  const Way& way = choices[random.below(choices.size())];
  const float unsteady = random.between(0.012F, 0.045F);
  std::vector<PenStroke> strokes;
  PenPoint corner_before{}, corner_after{};
  for (const PenStroke& stroke : way) {
    PenStroke moved;
    for (const PenPoint& point : stroke) {
      // The strokes meeting in a corner stay joined.
      const bool joined = &point == stroke.data() && !strokes.empty() && point.x == corner_before.x && point.y == corner_before.y;
      moved.push_back(joined ? corner_after : PenPoint{point.x + unsteady * random.bell(), point.y + unsteady * random.bell()});
    }
    corner_before = stroke.back();
    corner_after = moved.back();
    strokes.push_back(smooth(moved));
  }
  return strokes;
}

}  // namespace lockstep
