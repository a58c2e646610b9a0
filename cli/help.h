// The layout of `--help`: 80 columns, with the kind of each value in capitals.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

namespace lockstep::cli {

std::shared_ptr<CLI::Formatter> help_formatter();

}  // namespace lockstep::cli
