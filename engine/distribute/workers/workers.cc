// The two ways to meet: over a socket of worker 0's (worker_meeting.h), or through MPI.
#include "engine/distribute/workers/workers.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/printable.h"
#include "common/sha256.h"
#include "engine/device/check.h"
#include "engine/distribute/workers/worker_meeting.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

int number_from(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*end != '\0' || value < 0 || value > 1 << 20)
    throw Error(std::string(variable) + "=" + printable(text) + " is not a sensible number.");
  return static_cast<int>(value);
}

std::string text_from(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr ? text : "";
}

// Workers of other programs may not compute the same bits, so the program is one of the facts: the executable, and the library where it is
// one.
RunFacts with_program(const RunFacts& facts) {
  Sha256 sha;
  Dl_info here{};
  std::vector<std::string> files = {"/proc/self/exe"};
  if (dladdr(reinterpret_cast<const void*>(&deadline_from_environment), &here) != 0 && here.dli_fname != nullptr &&
      std::string(here.dli_fname).find(".so") != std::string::npos)
    files.emplace_back(here.dli_fname);
  for (const std::string& name : files) {
    std::ifstream file(name, std::ios::binary);
    std::vector<char> block(1 << 20);
    while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0)
      sha.update(block.data(), static_cast<std::size_t>(file.gcount()));
  }
  constexpr std::size_t kDigits = 16;
  RunFacts all = facts;
  all.emplace_back("program", sha.hex().substr(0, kDigits));
  return all;
}

// MPI is a library of its own, loaded only under mpirun: a machine without MPI needs none.
class Mpi {
 public:
  static Mpi& instance() {
    static Mpi loaded;
    return loaded;
  }
  Agreement meet(int replicas_here, const RunFactsText& facts) {
    Agreement agreement;
    WorkerPlace& place = agreement.place;
    if (begin_(&place.worker, &place.workers) != 0) throw Error("MPI_Init failed.");
    std::vector<int> replicas_of(static_cast<std::size_t>(place.workers));
    if (all_gather_(replicas_here, replicas_of.data()) != 0) throw Error("MPI_Allgather failed.");
    std::vector<RunFactsText> facts_of(static_cast<std::size_t>(place.workers));
    if (all_gather_bytes_(facts.data(), static_cast<int>(facts.size()), facts_of.front().data()) != 0) throw Error("MPI_Allgather failed.");
    if (const std::string other = first_difference(facts_of); !other.empty()) throw Error(other);
    place.first_replica = first_replicas(replicas_of, &place.replicas)[static_cast<std::size_t>(place.worker)];
    if (place.worker == 0) LOCKSTEP_CHECK(ncclGetUniqueId(&agreement.id));
    if (broadcast_(agreement.id.internal, sizeof(agreement.id.internal)) != 0) throw Error("MPI_Bcast failed.");
    return agreement;
  }
  void end() { end_(); }

 private:
  Mpi() {
    const char* name = "liblockstep_mpi.so";
    void* library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {  // beside the program: where it is built
      std::error_code none;
      const auto program = std::filesystem::read_symlink("/proc/self/exe", none);
      for (const char* folder : {"", "../lib", "../../lib"}) {
        if (library == nullptr) library = dlopen((program.parent_path() / folder / name).c_str(), RTLD_NOW | RTLD_GLOBAL);
      }
    }
    if (library == nullptr) {
      throw Error(std::string("This was started by mpirun, but ") + name +
                  " can't be loaded: build Lockstep where Open MPI is installed (libopenmpi-dev), or use `lockstep run --workers`. (" +
                  dlerror() + ")");
    }
    find(library, "lockstep_mpi_begin", begin_);
    find(library, "lockstep_mpi_all_gather", all_gather_);
    find(library, "lockstep_mpi_all_gather_bytes", all_gather_bytes_);
    find(library, "lockstep_mpi_broadcast", broadcast_);
    find(library, "lockstep_mpi_end", end_);
  }
  template <typename Function>
  static void find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr) throw Error(std::string("liblockstep_mpi.so is of another version: it has no ") + name + ".");
  }

  int (*begin_)(int*, int*) = nullptr;
  int (*all_gather_)(int, int*) = nullptr;
  int (*all_gather_bytes_)(const char*, int, char*) = nullptr;
  int (*broadcast_)(char*, int) = nullptr;
  void (*end_)() = nullptr;
};

}  // namespace

double deadline_from_environment() {
  const char* text = std::getenv("LOCKSTEP_DEADLINE");
  if (text == nullptr || *text == '\0') return 120;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (*end != '\0' || !(seconds > 0)) throw Error(std::string("LOCKSTEP_DEADLINE=") + text + " is not a number of seconds above 0.");
  return seconds;
}

StartedBy how_workers_were_started() {
  if (std::getenv("LOCKSTEP_WORKERS") != nullptr) return StartedBy::environment;
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) return StartedBy::mpi;
  return StartedBy::none;
}

Agreement meet_workers(int replicas_here, double deadline_seconds, const RunFacts& in_common) {
  Agreement agreement;
  agreement.place.replicas = replicas_here;
  const StartedBy how = how_workers_were_started();
  if (how == StartedBy::mpi) {
    agreement = Mpi::instance().meet(replicas_here, text_of(with_program(in_common)));
  } else if (how == StartedBy::environment) {
    MeetingWords words;
    words.place.worker = number_from("LOCKSTEP_WORKER", 0);
    words.place.workers = number_from("LOCKSTEP_WORKERS", 1);
    words.place.replicas = replicas_here;
    words.deadline_seconds = deadline_seconds;
    words.where = text_from("LOCKSTEP_ADDRESS");
    words.secret = text_from("LOCKSTEP_SECRET");
    if (words.place.worker >= words.place.workers) {
      throw Error("LOCKSTEP_WORKER=" + std::to_string(words.place.worker) + ", but there are " + std::to_string(words.place.workers) +
                  " workers, counted from 0.");
    }
    if (words.place.workers > 1) {
      constexpr std::size_t kFewest = 16;
      if (words.where.empty()) throw Error("LOCKSTEP_ADDRESS is not set: host:port of worker 0.");
      if (words.secret.size() < kFewest) {
        throw Error(
            "LOCKSTEP_SECRET is not set, or shorter than 16 characters: workers know each other by it. Fix: give all workers the same, "
            "such "
            "as what `openssl rand -hex 16` prints.");
      }
      words.facts = text_of(with_program(in_common));
      agreement = words.place.worker == 0 ? meet_as_first(words) : meet_as_other(words);
    } else {
      LOCKSTEP_CHECK(ncclGetUniqueId(&agreement.id));
    }
  } else {
    LOCKSTEP_CHECK(ncclGetUniqueId(&agreement.id));
  }
  agreement.deadline_seconds = deadline_seconds;
  return agreement;
}

void part_from_workers() {
  if (how_workers_were_started() == StartedBy::mpi) Mpi::instance().end();
}

}  // namespace lockstep
