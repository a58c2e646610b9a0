#include "cli/step_flags.h"

#include <algorithm>

#include "cli/validators.h"

namespace lockstep::cli {

void add_step_flags(CLI::App& command, StepFlags& flags) {
  command.add_option("--overlap", flags.overlap, "off: sum gradients only after backward")->check(one_of({"on", "off"}));
  command.add_option("--bucket", flags.bucket_mib, "The size of a bucket of gradients, in MiB [4]")->check(number(0, 65536));
}

StepOptions step_options(const StepFlags& flags) {
  constexpr double kMib = 1024 * 1024;
  StepOptions options = step_options_from_environment();
  if (!flags.overlap.empty()) options.overlap = flags.overlap == "on";
  if (flags.bucket_mib > 0) {
    options.bucket_bytes = std::max<std::int64_t>(1, static_cast<std::int64_t>(flags.bucket_mib * kMib));
    options.first_bucket_bytes = std::min(options.first_bucket_bytes, options.bucket_bytes);
  }
  if (!flags.flip_bit.empty()) options.flipped_bit = parse_flipped_bit(flags.flip_bit);
  return options;
}

}  // namespace lockstep::cli
