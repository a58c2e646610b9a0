// A picture's file, read and decoded.
#pragma once

#include <string>

#include "engine/data/image/image.h"

namespace lockstep {

// An Error names the file and what is wrong with it.
Image read_image(const std::string& path);

}  // namespace lockstep
