// How `--help` looks: 80 columns, what a word may be in capitals, nothing else about its type.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

namespace lockstep::cli {

std::shared_ptr<CLI::Formatter> help_formatter();

}  // namespace lockstep::cli
