// Small helpers for text in pages.
#pragma once

#include <string>

namespace lockstep {

std::string escaped(const std::string& text);   // for HTML, attributes included
std::string rounded(double value, int digits);  // "0.123", without trailing zeros

}  // namespace lockstep
