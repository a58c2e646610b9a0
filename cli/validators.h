// Checks of option values; a wrong value gives one sentence that says what would be right.
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
// The name of a file to write: its folder exists. Nothing is written. Empty `endings` accept any name.
CLI::Validator file_to_write(const std::vector<std::string>& endings = {});
CLI::Validator folder_to_write();  // a folder that exists, or a name that is free
CLI::Validator model_file();       // .keras, .h5 or .weights.h5; put it before file_to_read or file_to_write

// The choice with the smallest edit distance to the word; empty where that exceeds a third of its letters.
std::string nearest(const std::string& word, const std::vector<std::string>& choices);

}  // namespace lockstep::cli
