// How digits are written: the strokes of the pen, in a box one high and one wide.
#pragma once

#include <vector>

#include "engine/data/splitmix.h"

namespace lockstep {

struct PenPoint {
  float x;  // to the right
  float y;  // down
};
using PenStroke = std::vector<PenPoint>;  // straight pieces, close enough for a curve

// One of the ways to write the digit (a 7 with or without a bar, ...), as an unsteady hand does it.
std::vector<PenStroke> write_digit(int digit, SplitMix64& random);

}  // namespace lockstep
