// What projecting costs. Two tables:
//
//   a recorded step of so many operations on each of 8 GPUs, played by more and more nodes: the CPU time for one rank and operation should
//   stay the same, so that the cost is linear in ranks x operations; and so should the memory;
//   the whole of `lockstep project cats-vs-dogs --machine h100x8`, which records MobileNetV2 without math and plays it: seconds and peak
//   memory, up to 1,024 GPUs.
//
//   projection_bench [path of lockstep]
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>

#include "simulator/clock/recording.h"

namespace {

using namespace lockstep::clock;

// A step as MobileNetV2's is for the clock: some 700 kernels on one stream of each GPU, issued by a host thread each, and a few all-reduces
// on another.
Recording a_step(const Machine& machine, int kernels, int buckets) {
  Recording recording;
  Timeline timeline;
  const Hardware hardware(machine, timeline, machine.gpus_per_node);
  const int gpus = machine.gpus_per_node;
  std::vector<std::uint64_t> compute(static_cast<std::size_t>(gpus), 0), communication(static_cast<std::size_t>(gpus), 0);
  std::vector<std::shared_ptr<Meeting>> entries, exits;
  for (int b = 0; b < buckets; ++b) {
    for (auto* meetings : {&entries, &exits}) {
      meetings->push_back(std::make_shared<Meeting>());
      meetings->back()->expected = gpus;
    }
  }
  const CollectiveShape shape{Collective::all_reduce, 4 << 20, gpus, {}};
  for (int g = 0; g < gpus; ++g) {
    const auto d = static_cast<std::size_t>(g);
    for (int k = 0; k < kernels; ++k) {
      recording.spend(g, hardware.launch());
      recording.append({2 * g, ++compute[d]}, hardware.kernel(g, Kind::streaming, Arithmetic::fp32, 0, 2e7), g, g, nullptr);
      if ((k + 1) % (kernels / buckets) != 0 || k / (kernels / buckets) >= buckets) continue;
      const auto b = static_cast<std::size_t>(k / (kernels / buckets));
      Task entry, exit;
      entry.after.push_back({2 * g, compute[d]});
      entry.meeting = entries[b];
      exit.meeting = exits[b];
      recording.append({2 * g + 1, ++communication[d]}, entry, g, g, nullptr);
      recording.append({2 * g + 1, ++communication[d]}, hardware.collective(g, {}, 4 << 20), g, g, &shape);
      recording.append({2 * g + 1, ++communication[d]}, exit, g, g, nullptr);
    }
    recording.wait(g, Moment{2 * g + 1, communication[d]});
  }
  return recording;
}

double cpu_ms() { return static_cast<double>(std::clock()) * 1e3 / CLOCKS_PER_SEC; }

void play_table() {
  const Machine machine = *find_machine("h100x8");
  std::printf("a recorded step, played by many nodes\n%6s %6s %11s %11s %9s %15s %7s\n", "nodes", "ranks", "operations", "of a rank",
              "CPU ms", "ns a rank and op", "ratio");
  double first = 0;
  for (const int kernels : {350, 1400}) {
    const Recording recording = a_step(machine, kernels, 4);
    for (const int nodes : {2, 8, 32, 128}) {
      Recording::Plan plan;
      plan.nodes = nodes;
      double best = 0;
      std::uint64_t tasks = 0;
      for (int i = 0; i < 3; ++i) {  // the fastest: whatever else this computer does only adds
        const double begin = cpu_ms();
        tasks = recording.play(machine, plan).tasks;
        const double took = cpu_ms() - begin;
        best = i == 0 || took < best ? took : best;
      }
      const int ranks = nodes * machine.gpus_per_node;
      const double each = best * 1e6 / static_cast<double>(tasks);
      if (first == 0) first = each;
      std::printf("%6d %6d %11llu %11llu %9.1f %15.0f %7.2f\n", nodes, ranks, static_cast<unsigned long long>(tasks),
                  static_cast<unsigned long long>(tasks / static_cast<std::uint64_t>(ranks)), best, each, each / first);
    }
  }
}

// The program as people start it; false where it can't be.
bool project(const std::string& lockstep, int nodes) {
  const auto begin = std::chrono::steady_clock::now();
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    if (std::freopen("/dev/null", "w", stdout) == nullptr) _exit(126);
    execl(lockstep.c_str(), lockstep.c_str(), "project", "cats-vs-dogs", "--machine", "h100x8", "--nodes", std::to_string(nodes).c_str(),
          "--json", nullptr);
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  if (child < 0 || wait4(child, &status, 0, &usage) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return false;
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6; };
  std::printf("%6d %9.2f %9.2f %9.0f\n", nodes * 8, wall, seconds(usage.ru_utime) + seconds(usage.ru_stime),
              static_cast<double>(usage.ru_maxrss) / 1024);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::string beside(4096, '\0');
  const ssize_t length = readlink("/proc/self/exe", beside.data(), beside.size());
  beside.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::string lockstep = argc > 1 ? argv[1] : beside.substr(0, beside.rfind('/') + 1) + "../cli/lockstep";
  play_table();
  std::printf("\nlockstep project cats-vs-dogs --machine h100x8, from start to end\n%6s %9s %9s %9s\n", "H100s", "seconds", "CPU s",
              "peak MiB");
  for (const int nodes : {1, 8, 32, 128}) {
    if (project(lockstep, nodes)) continue;
    std::printf("%s can't be run; give its path\n", lockstep.c_str());
    return 1;
  }
}
