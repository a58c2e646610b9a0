// Where data sets are looked for, in this order: a folder the program names, LOCKSTEP_DATA, ./data, ~/.keras/datasets, and the folder
// downloads are kept in.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep {

// Each place by itself and with the data set's own folder below it. `directory` may be empty.
std::vector<std::filesystem::path> data_places(const std::string& directory, const std::string& name);

// Where a download of that name is kept; empty when there is no home to keep things in.
std::filesystem::path download_folder(const std::string& name);

bool is_offline();  // LOCKSTEP_OFFLINE=1

}  // namespace lockstep
