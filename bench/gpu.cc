// A training step kernel by kernel in the model clock: ./lockstep bench --gpu WORKLOAD [--machine t4|v100|a100|h100|...] [--json].
//
// For each kernel: modelled microseconds, what the roofline allows, the ratio, blocks against multiprocessors, and what limits it. Kernels
// of libraries have no grid that we know, and their time is the roofline. Nothing is computed. Most time first.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "bench/workloads.h"
#include "simulator/clock/hardware.h"
#include "simulator/gpu/runtime/recorder.h"

using namespace lockstep;

namespace {

struct Line {
  std::string name, limit;
  std::uint64_t blocks = 0, threads = 0;  // 0: not known
  double flops = 0, bytes = 0;
  double us = 0, roofline_us = 0;  // of a run
  int runs = 0;
  double total() const { return us * runs; }
};

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "bench --gpu: %s\n", why.c_str());
  std::exit(2);
}

std::uint64_t count(const dim3& size) { return std::uint64_t{size.x} * size.y * size.z; }

Line line_of(const clock::Hardware& hardware, const sim::RecordedOperation& one) {
  Line line{.name = one.name, .limit = "", .flops = one.cost.flops, .bytes = one.cost.bytes};
  clock::Kind kind = clock::kind_of_kernel(one.name);
  if (one.kind == sim::NodeKind::operation && one.operation == sim::OperationKind::matmul) kind = clock::Kind::matmul;
  if (one.kind == sim::NodeKind::operation && one.operation == sim::OperationKind::convolution) kind = clock::Kind::convolution;
  clock::Task task = hardware.kernel(0, kind, clock::Arithmetic::fp32, line.flops, line.bytes);
  const bool memory = task.demanded > 0 && task.demands[static_cast<std::size_t>(task.demanded - 1)].share >= 1;
  line.limit = task.body < static_cast<double>(task.fixed) ? "launch" : memory ? "memory" : "arithmetic";
  line.roofline_us = task.body * 1e-6;
  if (one.kind == sim::NodeKind::kernel) {
    line.blocks = count(one.grid);
    line.threads = count(one.block);
    const double full = task.body;
    task =
        hardware.kernel(0, kind, clock::Launch{.blocks = line.blocks, .threads = static_cast<int>(line.threads)}, line.flops, line.bytes);
    if (task.body > 1.25 * full && task.body > static_cast<double>(task.fixed)) line.limit = "grid";
  }
  line.us = (static_cast<double>(task.fixed) + task.body) * 1e-6;
  return line;
}

std::vector<Line> lines_of(const clock::Machine& machine, const std::vector<sim::RecordedOperation>& operations) {
  clock::Timeline timeline;
  const clock::Hardware hardware(machine, timeline, 1);
  std::map<std::tuple<std::string, std::uint64_t, std::uint64_t, double, double>, Line> same;
  for (const sim::RecordedOperation& one : operations) {
    const bool library = one.operation == sim::OperationKind::matmul || one.operation == sim::OperationKind::convolution ||
                         one.operation == sim::OperationKind::kernel;
    if (one.kind != sim::NodeKind::kernel && !(one.kind == sim::NodeKind::operation && library)) continue;
    if (one.name.ends_with(": sum of parts")) continue;  // of this CPU (model_clock.cc)
    const Line line = line_of(hardware, one);
    ++same.try_emplace({line.name, line.blocks, line.threads, line.flops, line.bytes}, line).first->second.runs;
  }
  std::vector<Line> lines;
  lines.reserve(same.size());
  for (const auto& [key, line] : same) lines.push_back(line);
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.total() > b.total(); });
  return lines;
}

void print_json(const std::vector<Line>& lines) {
  std::printf("[");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    std::printf(
        "%s\n  {\"kernel\": \"%s\", \"runs\": %d, \"us\": %.3f, \"roofline_us\": %.3f, \"ratio\": %.4f, \"blocks\": %llu, \"threads\": "
        "%llu, "
        "\"limit\": \"%s\"}",
        i == 0 ? "" : ",", line.name.c_str(), line.runs, line.us, line.roofline_us, line.roofline_us / line.us,
        static_cast<unsigned long long>(line.blocks), static_cast<unsigned long long>(line.threads), line.limit.c_str());
  }
  std::printf("\n]\n");
}

void print_table(const std::vector<Line>& lines, const clock::Machine& machine) {
  double total = 0;
  for (const Line& line : lines) total += line.total();
  std::printf("%-44s %5s %9s %6s %9s %6s %9s %8s  %s\n", "kernel", "runs", "us a run", "share", "roofline", "ratio", "blocks", "threads",
              "limit");
  for (const Line& line : lines) {
    if (line.total() < 0.003 * total) continue;
    std::printf("%-44.44s %5d %9.1f %5.1f%% %9.1f %5.0f%% ", line.name.c_str(), line.runs, line.us, 100 * line.total() / total,
                line.roofline_us, 100 * line.roofline_us / line.us);
    if (line.blocks > 0)
      std::printf("%9llu %8llu  %s\n", static_cast<unsigned long long>(line.blocks), static_cast<unsigned long long>(line.threads),
                  line.limit.c_str());
    else
      std::printf("%9s %8s  %s\n", "", "", line.limit.c_str());
  }
  std::printf("kernels together %.3f ms, on %d multiprocessors\n", 1e-3 * total, machine.multiprocessors);
}

}  // namespace

int main(int argc, char** argv) {
  std::string workload, name = "t4";
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--json")
      json = true;
    else if (word == "--machine" && i + 1 < argc)
      name = argv[++i];
    else if (!word.empty() && word[0] != '-' && workload.empty())
      workload = word;
    else
      refuse("\"" + word + "\" is not understood; use WORKLOAD [--machine t4|v100|a100|h100] [--json]");
  }
  if (workload.empty()) refuse("which workload? mnist, reuters, mobilenet-v2-96 or mobilenet-v2-224");
  if (name == "v100" || name == "a100" || name == "h100") name += "x8";
  std::string problem;
  const auto machine = clock::find_machine(name, &problem);
  if (!machine) refuse("--machine " + name + ": " + problem);
  for (const auto& [variable, value] :
       {std::pair{"LOCKSTEP_SIM_MACHINE", name.c_str()}, {"LOCKSTEP_SIM_NO_MATH", "1"}, {"LOCKSTEP_SIM_CLOCK", "model"}})
    setenv(variable, value, 1);

  const bench::Workload what = bench::find_workload(workload);
  const std::int64_t batch = workload == "reuters" ? 16 : 64;
  const Array x = bench::inputs(what, batch), y = bench::labels(what, batch);
  const MirroredStrategy strategy = bench::logical_gpus(1);
  Model model = strategy.scope([&] { return what.make(); });
  for (int i = 0; i < 2; ++i) model.train_on_batch(x, y);
  sim::recorder().start();
  model.train_on_batch(x, y);
  const std::vector<Line> lines = lines_of(*machine, sim::recorder().take());
  if (json) {
    print_json(lines);
    return 0;
  }
  std::printf("%s, %lld samples, on %s (%s)\n\n", workload.c_str(), static_cast<long long>(batch), machine->name.c_str(),
              machine->gpu_name.c_str());
  print_table(lines, *machine);
}
