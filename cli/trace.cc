// `lockstep trace FILE [OTHER]`: prints where the time of recorded steps went, or compares two runs.
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/validators.h"
#include "lockstep/trace.h"

namespace lockstep::cli {
namespace {

int show(const std::vector<std::string>& files) {
  const Trace first = Trace::load(files.front());
  fmt::print("{}", files.size() == 1 ? first.summary() : first.compare(Trace::load(files[1]), files[0], files[1]));
  return 0;
}

}  // namespace

Command add_trace(CLI::App& app) {
  CLI::App* command = app.add_subcommand("trace", "Show where the time of recorded steps went, or compare two runs");
  auto files = std::make_shared<std::vector<std::string>>();
  command->add_option("files", *files, "A trace that `lockstep run --trace` wrote, .json or .html; or two of them")
      ->required()
      ->expected(1, 2)
      ->check(file_to_read());
  command->footer("Examples:\n  lockstep trace step.html\n  lockstep trace ring.json tree.json");
  return {command, [files] { return show(*files); }};
}

}  // namespace lockstep::cli
