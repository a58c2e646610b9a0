// The environment variables that change how steps run: read in one place.
#include "lockstep/step_options.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "engine/distribute/workers/workers.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

// Empty where it is not set.
std::string text_of(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr ? text : "";
}

bool on_or_off(const char* variable, bool otherwise) {
  const std::string word = text_of(variable);
  if (word.empty()) return otherwise;
  if (word != "on" && word != "off") throw Error(std::string(variable) + "=" + word + " is neither `on` nor `off`.");
  return word == "on";
}

std::int64_t bytes_from_mib(const std::string& text) {
  constexpr double kMib = 1024 * 1024, kMost = 65536;
  char* end = nullptr;
  const double mib = std::strtod(text.c_str(), &end);
  if (*end != '\0' || !(mib > 0) || mib > kMost) throw Error("LOCKSTEP_BUCKET_MIB=" + text + " is not a size in MiB, as 4 or 0.5.");
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(mib * kMib));
}

}  // namespace

StepOptions step_options_from_environment() {
  StepOptions options;
  options.overlap = on_or_off("LOCKSTEP_OVERLAP", options.overlap);
  options.graphs = on_or_off("LOCKSTEP_GRAPHS", options.graphs);
  options.deadline_seconds = deadline_from_environment();
  if (const std::string mib = text_of("LOCKSTEP_BUCKET_MIB"); !mib.empty()) {
    options.bucket_bytes = bytes_from_mib(mib);
    options.first_bucket_bytes = std::min(options.first_bucket_bytes, options.bucket_bytes);
  }
  if (const std::string words = text_of("LOCKSTEP_FLIP_BIT"); !words.empty()) {
    try {
      options.flipped_bit = parse_flipped_bit(words);
    } catch (const Error& error) {
      throw Error(std::string("LOCKSTEP_FLIP_BIT: ") + error.what());
    }
  }
  return options;
}

}  // namespace lockstep
