// Where the time of a training step goes, operation by operation: ./lockstep bench --profile WORKLOAD [REPLICAS [STEPS]].
//
// For each operation of the virtual GPU: processor time, arithmetic, bytes, and how near that is to what one core of this computer can do.
// The limits are measured in the same run: a large matrix product on each core at once, and a copy of memory that no cache holds.
// `roofline` is the least time the limits allow (the slower of arithmetic and bytes) over the time it took. Above 100 %: data was in a
// cache. Operations are shown by kind first, then by shape; what takes less than 0.3 % is left out.
#include <dnnl.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "bench/workloads.h"
#include "engine/distribute/step/mirrored_step.h"
#include "engine/train/model_impl.h"
#include "simulator/gpu/runtime/profile.h"

using namespace lockstep;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Units of work that one core does in a second of its time while all cores do the same; the best of a few tries.
double rate_per_core(double units, const std::function<std::function<void()>()>& make) {
  std::vector<std::thread> threads;
  std::vector<double> best(std::max(1U, std::thread::hardware_concurrency()), 0.0);
  for (double& mine : best) {
    threads.emplace_back([&] {
      omp_set_num_threads(1);  // else half of a product is another thread's, and its time is not counted
      const std::function<void()> work = make();
      work();
      for (int i = 0; i < 12; ++i) {
        const double begin = sim::thread_seconds();
        work();
        mine = std::max(mine, units / (sim::thread_seconds() - begin));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return *std::min_element(best.begin(), best.end());
}

double flops_per_core() {
  constexpr dnnl_dim_t kN = 768;
  return rate_per_core(2.0 * kN * kN * kN, [] {
    auto buffers = std::make_shared<std::vector<float>>(3 * kN * kN, 0.5F);
    return [buffers] {
      float* const a = buffers->data();
      dnnl_sgemm('N', 'N', kN, kN, kN, 1, a, kN, a + kN * kN, kN, 0, a + 2 * kN * kN, kN);
    };
  });
}

double bytes_per_core() {
  constexpr std::size_t kBytes = 96U << 20;
  return rate_per_core(2.0 * kBytes, [] {
    auto buffers = std::make_shared<std::vector<char>>(2 * kBytes, 'x');
    return [buffers] { std::memcpy(buffers->data(), buffers->data() + kBytes, kBytes); };
  });
}

// Sums over some runs.
struct Line {
  std::string name;
  double runs = 0, seconds = 0, flops = 0, bytes = 0, ideal = 0;
};

void add_to(std::vector<Line>& kinds, const Line& more) {
  const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const Line& kind) { return kind.name == more.name; });
  Line& kind = same != kinds.end() ? *same : kinds.emplace_back(Line{more.name});
  kind.runs += more.runs;
  kind.seconds += more.seconds;
  kind.flops += more.flops;
  kind.bytes += more.bytes;
  kind.ideal += more.ideal;
  std::stable_sort(kinds.begin(), kinds.end(), [](const Line& a, const Line& b) { return a.seconds > b.seconds; });
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "mnist";
  const int replicas = argc > 2 ? std::max(1, std::atoi(argv[2])) : 2;
  const bench::Workload what = bench::find_workload(name);
  const int steps = argc > 3 ? std::max(1, std::atoi(argv[3])) : (name == "mnist" || name == "reuters" ? 100 : 5);
  const Array x = bench::inputs(what, what.batch), y = bench::labels(what, what.batch);
  const MirroredStrategy strategy = bench::logical_gpus(replicas);
  Model model = strategy.scope([&] { return what.make(); });
  for (int i = 0; i < 3; ++i) model.train_on_batch(x, y);

  const double flops = flops_per_core(), bytes = bytes_per_core();
  sim::profile().start();
  const auto begin = Clock::now();
  for (int i = 0; i < steps; ++i) model.train_on_batch(x, y);
  const double wall = seconds_since(begin);
  const std::vector<sim::ProfileRow> rows = sim::profile().take();

  double total = 0, least = 0, work = 0, moved = 0;
  const auto limit = [&](const Cost& cost) { return std::max(cost.flops / flops, cost.bytes / bytes); };
  for (const sim::ProfileRow& row : rows) {
    total += row.seconds;
    least += limit(row.cost) * static_cast<double>(row.runs);
    work += row.cost.flops * static_cast<double>(row.runs);
    moved += row.cost.bytes * static_cast<double>(row.runs);
  }
  std::printf("%s, %d replicas, global batch %lld: %.2f ms a step, %.0f samples/s\n", name.c_str(), replicas,
              static_cast<long long>(what.batch), 1e3 * wall / steps, static_cast<double>(what.batch) * steps / wall);
  std::printf("limits of a core, measured now: %.1f GFLOP/s, %.1f GB/s\n\n", 1e-9 * flops, 1e-9 * bytes);
  std::printf("%-46s %6s %8s %6s %8s %8s %8s %8s %9s\n", "operation", "runs", "us", "share", "MFLOP", "MB", "GFLOP/s", "GB/s", "roofline");
  const auto line = [&](const char* what_it_is, double runs, double seconds, double share, double a, double b, double ideal) {
    std::printf("%-46.46s %6.1f %8.1f %5.1f%% %8.2f %8.3f %8.1f %8.1f %8.0f%%\n", what_it_is, runs, 1e6 * seconds, 100 * share, 1e-6 * a,
                1e-6 * b, 1e-9 * a / seconds, 1e-9 * b / seconds, 100 * ideal / seconds);
  };
  const auto print = [&](const std::vector<Line>& lines) {
    for (const Line& each : lines)
      if (each.seconds > 0.003 * total)
        line(each.name.c_str(), each.runs / steps, each.seconds / each.runs, each.seconds / total, each.flops / each.runs,
             each.bytes / each.runs, each.ideal / each.runs);
  };
  std::vector<Line> shapes, kinds;
  for (const sim::ProfileRow& row : rows) {
    const double runs = static_cast<double>(row.runs);
    shapes.push_back({row.name, runs, row.seconds, runs * row.cost.flops, runs * row.cost.bytes, runs * limit(row.cost)});
    add_to(kinds, shapes.back());
  }
  print(kinds);
  std::printf("\nthe same by shape\n");
  print(shapes);
  std::printf("\n");
  line("all operations of a step, one after another", 1, total / steps, 1, work / steps, moved / steps, least / steps);
  std::printf("cores busy with operations: %.2f of %u (the rest: issuing, waiting, other programs)\n", total / wall,
              std::max(1U, std::thread::hardware_concurrency()));
}
