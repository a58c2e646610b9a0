#include "engine/display/html.h"

#include <fmt/format.h>

#include "lockstep/display.h"

namespace lockstep {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string rounded(double value, int digits) { return fmt::format("{:.{}g}", value, digits); }

Rich framed(const std::string& page, int height) {
  return {fmt::format("<iframe srcdoc=\"{}\" style=\"width: 100%; height: {}px; border: 0\"></iframe>", escaped(page), height),
          fmt::format("(a page of {} characters)", page.size())};
}

}  // namespace lockstep
