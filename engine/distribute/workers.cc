// The two ways to meet: over a socket of worker 0's, or through MPI.
#include "workers.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "check.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;

struct Greeting {
  std::uint32_t magic = 0x4c53'5701;
  std::int32_t worker = 0;
  std::int32_t workers = 0;
  std::int32_t replicas = 0;
};
struct Answer {
  std::uint32_t magic = 0x4c53'5702;
  std::int32_t first_replica = 0;
  std::int32_t replicas = 0;
  std::int32_t unused = 0;
  ncclUniqueId id{};
};

class Connection {
 public:
  explicit Connection(int descriptor = -1) : descriptor_(descriptor) {}
  Connection(Connection&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Connection& operator=(Connection&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

int number_from(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*end != '\0' || value < 0 || value > 1 << 20) throw Error(std::string(variable) + "=" + text + " is not a sensible number.");
  return static_cast<int>(value);
}

bool ready(int descriptor, short events, Clock::time_point deadline) {
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd one{descriptor, events, 0};
    const int found = poll(&one, 1, static_cast<int>(std::min<std::int64_t>(left, 500)));
    if (found > 0) return true;
  }
}

bool receive(const Connection& from, void* data, std::size_t bytes, Clock::time_point deadline) {
  auto* at = static_cast<char*>(data);
  while (bytes > 0) {
    if (!ready(from.get(), POLLIN, deadline)) return false;
    const auto got = recv(from.get(), at, bytes, 0);
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool transmit(const Connection& to, const void* data, std::size_t bytes) {
  return send(to.get(), data, bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes);  // small: fits the socket's buffer
}

sockaddr_in parse_address(const std::string& text) {
  const auto colon = text.rfind(':');
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (colon == std::string::npos || getaddrinfo(text.substr(0, colon).c_str(), text.substr(colon + 1).c_str(), &hints, &found) != 0) {
    throw Error("LOCKSTEP_ADDRESS=" + text + " is not host:port of a host that can be found.");
  }
  sockaddr_in address{};
  std::memcpy(&address, found->ai_addr, sizeof(address));
  freeaddrinfo(found);
  return address;
}

// Everybody's first replica, from everybody's number of them.
std::vector<int> first_replicas(const std::vector<int>& replicas_of, int* total) {
  std::vector<int> first;
  *total = 0;
  for (const int replicas : replicas_of) {
    first.push_back(*total);
    *total += replicas;
  }
  return first;
}

Agreement meet_as_first(const WorkerPlace& place, const std::string& where, int replicas_here, Clock::time_point deadline) {
  const sockaddr_in address = parse_address(where);
  const Connection listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 || listen(listener.get(), SOMAXCONN) != 0) {
    throw Error("Worker 0 can't listen at LOCKSTEP_ADDRESS=" + where + ": " + std::strerror(errno) + ".");
  }
  std::vector<Connection> others(static_cast<std::size_t>(place.workers));
  std::vector<int> replicas_of(static_cast<std::size_t>(place.workers), 0);
  replicas_of[0] = replicas_here;
  for (int missing = place.workers - 1; missing > 0;) {
    if (!ready(listener.get(), POLLIN, deadline)) {
      std::string who;
      for (std::size_t w = 1; w < others.size(); ++w)
        if (others[w].get() < 0) who += (who.empty() ? "worker " : ", worker ") + std::to_string(w);
      throw Error(who + " did not come to LOCKSTEP_ADDRESS=" + where + " before the deadline (LOCKSTEP_DEADLINE).");
    }
    Connection other(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    Greeting greeting;
    if (other.get() < 0 || !receive(other, &greeting, sizeof(greeting), Clock::now() + std::chrono::seconds(5))) continue;
    if (greeting.magic != Greeting{}.magic || greeting.worker < 1 || greeting.worker >= place.workers) continue;
    if (greeting.workers != place.workers) {
      throw Error("Worker " + std::to_string(greeting.worker) + " counts " + std::to_string(greeting.workers) +
                  " workers, worker 0 counts " + std::to_string(place.workers) + ": LOCKSTEP_WORKERS must be the same for all.");
    }
    const auto w = static_cast<std::size_t>(greeting.worker);
    if (others[w].get() >= 0)
      throw Error("Two workers say that they are worker " + std::to_string(greeting.worker) + " (LOCKSTEP_WORKER).");
    others[w] = std::move(other);
    replicas_of[w] = greeting.replicas;
    --missing;
  }
  Agreement agreement;
  agreement.place = place;
  const std::vector<int> first = first_replicas(replicas_of, &agreement.place.replicas);
  LOCKSTEP_CHECK(ncclGetUniqueId(&agreement.id));
  for (std::size_t w = 1; w < others.size(); ++w) {
    Answer answer;
    answer.first_replica = first[w];
    answer.replicas = agreement.place.replicas;
    answer.id = agreement.id;
    if (!transmit(others[w], &answer, sizeof(answer)))
      throw Error("Worker " + std::to_string(w) + " has gone while the workers were meeting.");
  }
  return agreement;
}

Agreement meet_as_other(const WorkerPlace& place, const std::string& where, int replicas_here, Clock::time_point deadline) {
  const sockaddr_in address = parse_address(where);
  while (true) {  // worker 0 may still be on its way
    if (Clock::now() >= deadline)
      throw Error("Worker 0 did not answer at LOCKSTEP_ADDRESS=" + where + " before the deadline (LOCKSTEP_DEADLINE).");
    const Connection first(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect(first.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      continue;
    }
    Greeting greeting;
    greeting.worker = place.worker;
    greeting.workers = place.workers;
    greeting.replicas = replicas_here;
    Answer answer;
    if (!transmit(first, &greeting, sizeof(greeting)) || !receive(first, &answer, sizeof(answer), deadline) ||
        answer.magic != Answer{}.magic) {
      throw Error("Worker 0 has gone while the workers were meeting.");
    }
    Agreement agreement;
    agreement.place = {place.worker, place.workers, answer.first_replica, answer.replicas};
    agreement.id = answer.id;
    return agreement;
  }
}

// MPI is a library of its own, loaded only under mpirun: a machine without MPI needs none.
class Mpi {
 public:
  static Mpi& instance() {
    static Mpi loaded;
    return loaded;
  }
  Agreement meet(int replicas_here) {
    Agreement agreement;
    WorkerPlace& place = agreement.place;
    if (begin_(&place.worker, &place.workers) != 0) throw Error("MPI_Init failed.");
    std::vector<int> replicas_of(static_cast<std::size_t>(place.workers));
    if (all_gather_(replicas_here, replicas_of.data()) != 0) throw Error("MPI_Allgather failed.");
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
  return StartedBy::nobody;
}

Agreement meet_workers(int replicas_here, double deadline_seconds) {
  switch (how_workers_were_started()) {
    case StartedBy::mpi:
      return Mpi::instance().meet(replicas_here);
    case StartedBy::environment: {
      WorkerPlace place;
      place.worker = number_from("LOCKSTEP_WORKER", 0);
      place.workers = number_from("LOCKSTEP_WORKERS", 1);
      if (place.worker >= place.workers) {
        throw Error("LOCKSTEP_WORKER=" + std::to_string(place.worker) + ", but there are " + std::to_string(place.workers) +
                    " workers, counted from 0.");
      }
      const char* address = std::getenv("LOCKSTEP_ADDRESS");
      if (place.workers > 1 && address == nullptr) throw Error("LOCKSTEP_ADDRESS is not set: host:port of worker 0.");
      const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(deadline_seconds));
      const std::string where = address != nullptr ? address : "127.0.0.1:0";
      return place.worker == 0 ? meet_as_first(place, where, replicas_here, deadline)
                               : meet_as_other(place, where, replicas_here, deadline);
    }
    case StartedBy::nobody:
      break;
  }
  Agreement alone;
  alone.place.replicas = replicas_here;
  LOCKSTEP_CHECK(ncclGetUniqueId(&alone.id));
  return alone;
}

void part_from_workers() {
  if (how_workers_were_started() == StartedBy::mpi) Mpi::instance().end();
}

}  // namespace lockstep
