// Damaged and hostile files: every one is an Error with a sentence, or loads; none crashes, hangs or allocates what it claims.
//
// Loading runs in a child process where a crash is one that the test can see, with a limit on memory that a false claim would break.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "engine/io/hdf5_file.h"
#include "engine/io/model_config.h"
#include "engine/io/weights_files.h"
#include "engine/io/zip_writer.h"
#include "engine/nn/graph.h"
#include "tests/engine/io/support.h"

namespace lockstep {
namespace {

using io_test::Folder;

// What happened to a batch of files, told by the child through its exit code.
enum Outcome : int { kFine = 0, kForeignException = 3 };

template <typename Function>
int in_child(Function function) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(120);
    try {
      function();
    } catch (const Error&) {
    } catch (...) {
      ::_exit(kForeignException);
    }
    ::_exit(kFine);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Everything that load_model does with a file before it makes the model; no GPU is needed, so a forked child can do it.
void load_without_gpu(const Bytes& image) {
  const hdf5::Reader file("image", image);
  const nlohmann::json config = nlohmann::json::parse(file.text("", "model_config"), nullptr, false);
  if (config.is_discarded()) throw Error("not JSON");
  try {
    read_weights(file, parse_model_config(config).graph());
  } catch (const nlohmann::json::exception& error) {
    throw Error(error.what());
  }
}

Bytes small_file(const std::string& ending) {
  const Folder folder;
  Model model = io_test::small_model();
  io_test::train(model, 0, 1);
  model.save(folder.file("m" + ending));
  return read_whole_file(folder.file("m" + ending));
}

Bytes mutated(const Bytes& whole, std::mt19937& random) {
  Bytes image = whole;
  const int changes = 1 + static_cast<int>(random() % 8);
  for (int i = 0; i < changes; ++i) {
    const std::size_t at = random() % image.size();
    switch (random() % 3) {
      case 0:
        image[at] = static_cast<unsigned char>(random());
        break;
      case 1:
        image[at] ^= static_cast<unsigned char>(1U << random() % 8);
        break;
      default:
        std::memset(&image[at], random() % 2 ? 0xff : 0, std::min<std::size_t>(random() % 9, image.size() - at));
    }
  }
  if (random() % 8 == 0) image.resize(random() % image.size());
  return image;
}

TEST(HostileFile, TruncatedAnywhereIsAnError) {
  const Bytes whole = small_file(".h5");
  for (std::size_t size = 0; size < whole.size(); size += 1 + whole.size() / 97) {
    EXPECT_EQ(in_child([&] {
                load_without_gpu(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
                ::_exit(1);
              }),
              kFine)
        << size << " of " << whole.size() << " bytes";
  }
}

TEST(HostileFile, MutatedHdf5NeverCrashes) {
  const Bytes whole = small_file(".h5");
  std::mt19937 random(20);
  int crashes = 0;
  for (int i = 0; i < 1500; ++i) {
    const Bytes image = mutated(whole, random);
    const int outcome = in_child([&] { load_without_gpu(image); });
    if (outcome == kFine) continue;
    ++crashes;
    ADD_FAILURE() << "mutation " << i << " ended with " << outcome;
    if (crashes > 5) break;
  }
}

TEST(HostileFile, MutatedArchivesAreErrorsOrLoad) {
  const Folder folder;
  const Bytes whole = small_file(".keras");
  std::mt19937 random(21);
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    write_file_atomically(folder.file("m.keras"), mutated(whole, random));
    try {
      load_model(folder.file("m.keras"));
    } catch (const Error& error) {
      ++refused;
      EXPECT_NE(std::string(error.what()).find("m.keras: "), std::string::npos) << error.what();
    }
  }
  EXPECT_GT(refused, 250);  // the archive's checksums see nearly everything
}

void expect_refused(const Folder& folder, const std::string& config, const std::string& why) {
  hdf5::Writer empty;
  empty.group("layers");
  ZipWriter archive;
  archive.add("metadata.json", "{}");
  archive.add("config.json", config);
  archive.add("model.weights.h5", empty.finish());
  write_file_atomically(folder.file("m.keras"), archive.finish());
  try {
    load_model(folder.file("m.keras"));
    ADD_FAILURE() << "loaded: " << config;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
  }
}

TEST(HostileFile, ConfigurationsThatMakeNoSenseAreSentences) {
  const Folder folder;
  const auto sequential = [](const std::string& layers) {
    return R"({"class_name": "Sequential", "config": {"name": "s", "layers": [{"class_name": "InputLayer", "config": {"batch_shape": [null, 8]}}, )" +
           layers + "]}}";
  };
  expect_refused(folder, "", "not JSON");
  expect_refused(folder, "[1, 2", "not JSON");
  expect_refused(folder, "7", "configuration is damaged");
  expect_refused(folder, "{}", "configuration is damaged");
  expect_refused(folder, R"({"class_name": "Transformer", "config": {"layers": []}})", "not a Sequential or Functional model");
  expect_refused(folder, sequential(R"({"class_name": "Dense", "config": {"name": "d", "units": 1e300}})"), "makes no sense");
  expect_refused(folder, sequential(R"({"class_name": "Dense", "config": {"name": "d", "units": "many"}})"), "described wrongly");
  expect_refused(folder, sequential(R"({"class_name": "Dense", "config": {"name": "d", "units": -3}})"), "Dense");
  expect_refused(folder, sequential(R"({"class_name": "Dense", "config": {"name": "d", "units": 16000000}})"),
                 "has no values for layer \"d\"");
  expect_refused(folder, sequential(R"({"class_name": "Dense", "config": {"name": "d", "units": 3, "kernel_regularizer": {"l2": 1}}})"),
                 "kernel_regularizer");
  expect_refused(folder, sequential(R"({"class_name": "LSTM", "config": {"name": "l", "units": 3}})"), "there is no layer LSTM");
  expect_refused(folder, std::string(100000, '['), "not JSON");
}

TEST(HostileFile, DatasetsThatClaimMoreThanTheFileHasAreRefused) {
  hdf5::Writer writer;
  writer.write("a", Array(Shape{4}));
  Bytes image = writer.finish();
  // The extent stands in the header as a 64-bit number, twice: now, and at most.
  const unsigned char four[8] = {4};
  for (std::size_t i = 0; i + 8 <= image.size(); ++i)
    if (std::memcmp(&image[i], four, 8) == 0) image[i + 4] = 0xff;
  EXPECT_EQ(in_child([&] {
              hdf5::Reader("image", image).read("a");
              ::_exit(1);
            }),
            kFine);
}

// A writer that is killed at any moment leaves a file that loads. LOCKSTEP_KILLS says how often.
TEST(AtomicFile, KilledWritersLeaveAFileThatLoads) {
  const Folder folder;
  const std::string path = folder.file("m.h5");
  const Bytes first = small_file(".h5");
  write_file_atomically(path, first);
  const char* wanted = std::getenv("LOCKSTEP_KILLS");
  const int kills = wanted != nullptr ? std::atoi(wanted) : 50;
  std::mt19937 random(22);
  for (int i = 0; i < kills; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;) write_file_atomically(path, first);
    }
    ::usleep(random() % 20000);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ASSERT_EQ(in_child([&] {
                load_without_gpu(read_whole_file(path));
                ::_exit(42);
              }),
              42)
        << "kill " << i;
  }
}

}  // namespace
}  // namespace lockstep
