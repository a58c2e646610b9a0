#include "engine/io/backup_pointer.h"

#include "engine/data/files/input_file.h"
#include "engine/io/atomic_file.h"
#include "engine/io/place_json.h"
#include "lockstep/error.h"

namespace lockstep {

namespace fs = std::filesystem;

BackupPointer BackupPointer::read(const fs::path& folder) {
  try {
    constexpr std::uint64_t kLargest = 1 << 16;
    const InputFile file(path_in(folder));
    if (file.size() > kLargest) throw Error("it is too long");
    const Bytes bytes = read_whole_file(path_in(folder).string());
    const nlohmann::json text = nlohmann::json::parse(bytes.begin(), bytes.end());
    BackupPointer pointer{text.at("weights").get<std::string>(), place_from_json(text)};
    if (pointer.weights.rfind(kPrefix, 0) != 0 || fs::path(pointer.weights).has_parent_path()) throw Error("its values make no sense");
    return pointer;
  } catch (const std::exception& error) {
    throw Error("BackupAndRestore: " + path_in(folder).string() + " can't be read (" + error.what() +
                "). Fix: remove the folder to begin again");
  }
}

void BackupPointer::write(const fs::path& folder) const {
  nlohmann::json json = place_to_json(place);
  json["weights"] = weights;
  const std::string text = json.dump() + "\n";
  write_file_atomically(path_in(folder).string(), Bytes(text.begin(), text.end()));
}

}  // namespace lockstep
