// All-reduce among virtual GPUs of one process, in the form of nccl-tests' table: in place, float, sum.
//
//   algbw = size / time; busbw = algbw * 2(n - 1)/n, what each rank's link would carry (nccl-tests, PERFORMANCE.md).
//
// Here all links are one memory. `memcpy` is what one core copies of the same size, measured between the all-reduces. An all-reduce reads
// n buffers and writes n, a copy reads one and writes one; so beyond the caches busbw can reach 2(n - 1)/n^2 of a copy that uses the whole
// memory: 0.5 for 2 GPUs, 0.38 for 4, 0.22 for 8. `moved` is that work counted: 2 n size bytes an all-reduce against 2 size bytes a copy.
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "%s failed: %s\n", what, ncclGetLastError(nullptr));
  std::exit(1);
}

struct Ranks {
  explicit Ranks(int n) : comms(static_cast<std::size_t>(n)), streams(comms.size()), buffers(comms.size()) {
    check(ncclCommInitAll(comms.data(), n, nullptr) == ncclSuccess, "ncclCommInitAll");
    for (int rank = 0; rank < n; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      cudaSetDevice(rank);
      check(cudaStreamCreateWithFlags(&streams[r], cudaStreamNonBlocking) == cudaSuccess, "cudaStreamCreate");
      check(cudaMalloc(reinterpret_cast<void**>(&buffers[r]), kMostBytes) == cudaSuccess, "cudaMalloc");
    }
  }
  ~Ranks() {
    for (std::size_t r = 0; r < comms.size(); ++r) {
      ncclCommDestroy(comms[r]);
      cudaSetDevice(static_cast<int>(r));
      cudaStreamDestroy(streams[r]);
      cudaFree(buffers[r]);
    }
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  void fill(std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t r = 0; r < comms.size(); ++r) {
      for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>((i + r) % 8);
      cudaSetDevice(static_cast<int>(r));
      cudaMemcpy(buffers[r], values.data(), count * sizeof(float), cudaMemcpyHostToDevice);
    }
  }
  void all_reduce(std::size_t count) {
    ncclGroupStart();
    for (std::size_t r = 0; r < comms.size(); ++r) ncclAllReduce(buffers[r], buffers[r], count, ncclFloat, ncclSum, comms[r], streams[r]);
    check(ncclGroupEnd() == ncclSuccess, "ncclAllReduce");
  }
  void wait() {
    for (const cudaStream_t stream : streams) cudaStreamSynchronize(stream);
  }
  std::size_t wrong(std::size_t count) {
    std::size_t bad = 0;
    std::vector<float> values(count);
    for (std::size_t rank = 0; rank < comms.size(); ++rank) {
      cudaSetDevice(static_cast<int>(rank));
      cudaMemcpy(values.data(), buffers[rank], count * sizeof(float), cudaMemcpyDeviceToHost);
      for (std::size_t i = 0; i < count; ++i) {
        std::size_t sum = 0;
        for (std::size_t r = 0; r < comms.size(); ++r) sum += (i + r) % 8;
        bad += values[i] != static_cast<float>(sum);
      }
    }
    return bad;
  }

  static constexpr std::size_t kMostBytes = 64 << 20;
  std::vector<ncclComm_t> comms;
  std::vector<cudaStream_t> streams;
  std::vector<float*> buffers;
};

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// The best of several rounds: other programs only ever make it slower.
template <typename Round>
double best(int rounds, int repeats, const Round& round) {
  double least = 1e30;
  for (int i = 0; i < rounds; ++i) {
    const auto begin = Clock::now();
    for (int k = 0; k < repeats; ++k) round();
    least = std::min(least, seconds_since(begin) / repeats);
  }
  return least;
}

double copy_seconds(std::size_t bytes, int repeats) {
  static std::vector<char> from(Ranks::kMostBytes, 1);
  static std::vector<char> to(Ranks::kMostBytes, 2);
  return best(5, repeats, [bytes] {
    std::memcpy(to.data(), from.data(), bytes);
    asm volatile("" ::"r"(to.data()) : "memory");
  });
}

}  // namespace

int main() {
  setenv("LOCKSTEP_SIM_GPUS", "8", 1);
  for (const int n : {2, 4, 8}) {
    std::printf("# %d GPUs\n#%11s %11s %6s %10s %9s %9s %9s %7s %7s %7s\n", n, "size (B)", "count", "type", "time (us)", "algbw", "busbw",
                "memcpy", "bus/cpy", "moved", "#wrong");
    Ranks ranks(n);
    for (std::size_t bytes = 1 << 10; bytes <= Ranks::kMostBytes; bytes *= 4) {
      const std::size_t count = bytes / sizeof(float);
      const int repeats = static_cast<int>(std::clamp<std::size_t>((16 << 20) / bytes, 1, 200));
      ranks.fill(count);
      ranks.all_reduce(count);
      ranks.wait();
      const std::size_t wrong = ranks.wrong(count);
      const double seconds = best(5, repeats, [&] {
        ranks.all_reduce(count);
        ranks.wait();
      });
      const double copy = copy_seconds(bytes, repeats);
      const double algbw = static_cast<double>(bytes) / seconds / 1e9;
      const double busbw = algbw * 2 * (n - 1) / n;
      const double memcpy_bw = static_cast<double>(bytes) / copy / 1e9;
      std::printf(" %11zu %11zu %6s %10.1f %9.2f %9.2f %9.2f %7.2f %7.2f %7zu\n", bytes, count, "float", seconds * 1e6, algbw, busbw,
                  memcpy_bw, busbw / memcpy_bw, n * copy / seconds, wrong);
    }
  }
  return 0;
}
