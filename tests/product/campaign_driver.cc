// Damaged files of one format, each read by a process of its own: a crash, a hang or an exception that is not ours ends only that one.
//
// campaign_driver FORMAT SEED_FILE COUNT FIRST: mutants FIRST, FIRST + 1, ... of the file, and a line of JSON about what became of them.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <random>

#include "engine/data/files/idx.h"
#include "engine/data/files/npz.h"
#include "engine/io/atomic_file.h"
#include "engine/io/backup_pointer.h"
#include "engine/io/model_config.h"
#include "engine/io/weights_files.h"
#include "lockstep/lockstep.h"
#include "simulator/clock/machine_model.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using Reader = std::function<void(const std::string& path)>;

void read_arrays(const std::string& path) {
  Npz archive = Npz::open(path);
  for (const std::string& name : archive.names()) {
    try {
      archive.array(name);
    } catch (const Error&) {
      archive.lists(name);
    }
  }
}

void load_any_model(const std::string& path) {
  OneDeviceStrategy().scope([&] { return load_model(path); });
}

// Into the model of the fuzzers' corpus, without a GPU: all that load_weights does before it touches the model.
void read_weights_only(const std::string& path) {
  static const char* const kModel =
      R"({"class_name": "Sequential", "config": {"name": "s", "layers": [{"class_name": "InputLayer", "config": {"batch_shape": [null, 2]}},
          {"class_name": "Dense", "config": {"name": "dense", "units": 1}}]}})";
  read_weights(hdf5::Reader(path, read_whole_file(path)), parse_model_config(nlohmann::json::parse(kModel)).graph());
}

void read_machine(const std::string& path) {
  std::string problem;
  if (!clock::find_machine(path, &problem)) throw Error(problem);
}

const std::map<std::string, Reader> kReaders = {
    {"idx", [](const std::string& path) { read_idx(path); }},
    {"gz", [](const std::string& path) { read_idx(path); }},
    {"npz", read_arrays},
    {"keras", load_any_model},
    {"h5", load_any_model},
    {"weights.h5", read_weights_only},
    {"jpg", [](const std::string& path) { load_image(path, 28, 28, 1); }},
    {"png", [](const std::string& path) { load_image(path, 28, 28, 1); }},
    {"gif", [](const std::string& path) { load_image(path, 28, 28, 1); }},
    {"bmp", [](const std::string& path) { load_image(path, 28, 28, 1); }},
    {"machine.json", read_machine},
    {"trace.json", [](const std::string& path) { (void)Trace::load(path).summary(); }},
    {"backup", [](const std::string& path) { BackupPointer::read(fs::path(path).parent_path()); }},
};

// Bits, bytes and runs changed; pieces cut out, doubled and moved; numbers in texts made long; the end cut off.
Bytes mutated(Bytes image, std::mt19937& random) {
  const int changes = 1 + static_cast<int>(random() % 6);
  for (int i = 0; i < changes && !image.empty(); ++i) {
    const std::size_t at = random() % image.size();
    const std::size_t length = std::min<std::size_t>(1 + random() % 32, image.size() - at);
    const auto begin = image.begin() + static_cast<std::ptrdiff_t>(at), end = begin + static_cast<std::ptrdiff_t>(length);
    switch (random() % 7) {
      case 0:
        image[at] = static_cast<unsigned char>(random());
        break;
      case 1:
        image[at] ^= static_cast<unsigned char>(1U << random() % 8);
        break;
      case 2:
        std::fill(begin, end, static_cast<unsigned char>(random() % 2 ? 0xff : 0));
        break;
      case 3:
        image.erase(begin, end);
        break;
      case 4: {
        const Bytes piece(begin, end);
        image.insert(image.begin() + static_cast<std::ptrdiff_t>(random() % image.size()), piece.begin(), piece.end());
        break;
      }
      case 5: {
        const std::string number = random() % 2 ? "99999999999999999999" : "-1e999";
        image.insert(begin, number.begin(), number.end());
        break;
      }
      default:
        if (random() % 4 == 0) image.resize(at);
    }
  }
  return image;
}

enum Outcome : int { kRead = 0, kRefused = 1, kForeign = 2 };

int read_in_child(const Reader& reader, const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    const rlimit none = {0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    try {
      reader(path);
    } catch (const Error& error) {
      ::_exit(std::strlen(error.what()) > 9 ? kRefused : kForeign);  // a sentence
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      ::_exit(kForeign);
    }
    ::_exit(kRead);
  }
  int status = 0;
  rusage used = {};
  ::wait4(child, &status, 0, &used);
  constexpr long kMostKib = 1L << 20;  // files of some kilobytes
  if (used.ru_maxrss > kMostKib) return kForeign;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int campaign(const std::string& format, const std::string& seed_file, int count, unsigned first) {
  std::string pattern = (fs::is_directory("/dev/shm") ? std::string("/dev/shm") : fs::temp_directory_path().string()) + "/campaign-XXXXXX";
  const fs::path folder = ::mkdtemp(pattern.data());
  const std::string path = (folder / (format == "backup" ? "training.json" : "mutant." + format)).string();
  const Bytes whole = read_whole_file(seed_file);
  const Reader& reader = kReaders.at(format);
  int read = 0, refused = 0, crashes = 0, hangs = 0, foreign = 0;
  for (int i = -1; i < count; ++i) {
    std::mt19937 random(first + static_cast<unsigned>(i));
    const Bytes image = i < 0 ? whole : mutated(whole, random);
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (file == nullptr || std::fwrite(image.data(), 1, image.size(), file) != image.size() || std::fclose(file) != 0) return 2;
    const int outcome = read_in_child(reader, path);
    if (i < 0) {  // the file as it is: a reader that refuses everything proves nothing
      if (outcome != kRead) {
        std::printf("%s itself is not read (%d)\n", seed_file.c_str(), outcome);
        return 2;
      }
      continue;
    }
    read += outcome == kRead;
    refused += outcome == kRefused;
    foreign += outcome == kForeign || outcome > kForeign;
    hangs += outcome == -SIGALRM;
    crashes += outcome < 0 && outcome != -SIGALRM;
    if (outcome == kRead || outcome == kRefused) continue;
    const std::string kept = "mutant-" + std::to_string(first + static_cast<unsigned>(i)) + "." + format;
    fs::copy_file(path, kept, fs::copy_options::overwrite_existing);
    std::printf("%s ended with %d\n", kept.c_str(), outcome);
  }
  fs::remove_all(folder);
  std::printf("{\"format\": \"%s\", \"mutants\": %d, \"read\": %d, \"refused\": %d, \"crashes\": %d, \"hangs\": %d, \"other\": %d}\n",
              format.c_str(), count, read, refused, crashes, hangs, foreign);
  return crashes + hangs + foreign > 0 ? 1 : 0;
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  return lockstep::campaign(argv[1], argv[2], std::atoi(argv[3]), static_cast<unsigned>(std::atoi(argv[4])));
}
