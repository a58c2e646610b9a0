#include "engine/distribute/replica/step_switches.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "lockstep/error.h"

namespace lockstep {

bool overlap_from_environment() {
  const char* text = std::getenv("LOCKSTEP_OVERLAP");
  const std::string word = text != nullptr && *text != '\0' ? text : "on";
  if (word != "on" && word != "off") throw Error("LOCKSTEP_OVERLAP=" + word + " is neither `on` nor `off`.");
  return word == "on";
}

std::int64_t bucket_bytes_from_environment(std::int64_t otherwise) {
  constexpr double kMib = 1024 * 1024, kMost = 65536;
  const char* text = std::getenv("LOCKSTEP_BUCKET_MIB");
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  const double mib = std::strtod(text, &end);
  if (*end != '\0' || !(mib > 0) || mib > kMost)
    throw Error(std::string("LOCKSTEP_BUCKET_MIB=") + text + " is not a size in MiB, as 4 or 0.5.");
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(mib * kMib));
}

}  // namespace lockstep
