// What a word may be, and one sentence with what would be right when it is not.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::cli {

CLI::Validator whole_number(std::int64_t least, std::int64_t most);
CLI::Validator number(double above, double most);                // above < value <= most
CLI::Validator one_of(const std::vector<std::string>& choices);  // the nearest one is suggested
CLI::Validator gpu_name();                                       // gpu:0
CLI::Validator bit_to_flip();                                    // replica=1,variable=dense/kernel,step=3
CLI::Validator file_to_read();
// A file that does not exist yet or can be replaced: its folder does. Nothing is written. `endings` may be empty: any name.
CLI::Validator file_to_write(const std::vector<std::string>& endings = {});
CLI::Validator folder_to_write();  // there already, or one that can be made
CLI::Validator model_file();       // .keras, .h5 or .weights.h5; to be put before the two above

// The choice that differs least from the word, empty when none is near: at most a third of its letters inserted, left out, replaced or
// swapped with their neighbour.
std::string nearest(const std::string& word, const std::vector<std::string>& choices);

}  // namespace lockstep::cli
