// How the cost of a step grows with the batch, the number of replicas and the width of the network: ./lockstep bench --scaling.
//
// Prints lines of CSV: what grows, its value, the median time of a step in milliseconds, and how far the slower half lies above it. Each
// curve is gone through several times, so that a noisy moment does not bend it. plot_scaling.py draws the lines.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "bench/workloads.h"

using namespace lockstep;

namespace {

using Clock = std::chrono::steady_clock;

Model network(int width) {
  Sequential model({Conv2D(32, 3, "relu"), MaxPooling2D(2), Flatten(), Dense(width, "relu"), Dense(10)});
  model.compile(Adam(1e-3F), SparseCategoricalCrossentropy().from_logits(), {"accuracy"});
  return model;
}

struct Point {
  const char* what;
  int value;
  int replicas, batch, width;
};

// Milliseconds of each of a few steps, without the first ones.
std::vector<double> times_of(const Point& point, int steps) {
  const bench::Workload what = bench::find_workload("mnist");
  const Array x = bench::inputs(what, point.batch), y = bench::labels(what, point.batch);
  const MirroredStrategy strategy = bench::logical_gpus(point.replicas);
  Model model = strategy.scope([&] { return network(point.width); });
  constexpr int kWarm = 5;
  std::vector<double> times;
  for (int i = 0; i < kWarm + steps; ++i) {
    const auto begin = Clock::now();
    model.train_on_batch(x, y);
    if (i >= kWarm) times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
  return times;
}

// In a process of its own: a GPU is split once.
std::vector<double> measured(const Point& point, int steps) {
  int ends[2] = {};
  if (pipe(ends) != 0) std::exit(1);
  const pid_t child = fork();
  if (child == 0) {
    const std::vector<double> times = times_of(point, steps);
    const bool written = write(ends[1], times.data(), times.size() * sizeof(double)) == static_cast<ssize_t>(times.size() * sizeof(double));
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::vector<double> times;
  for (double time = 0; read(ends[0], &time, sizeof(time)) == sizeof(time);) times.push_back(time);
  close(ends[0]);
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0 || times.empty()) {
    std::fprintf(stderr, "%s %d could not be measured\n", point.what, point.value);
    std::exit(1);
  }
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 3;
  const int steps = argc > 2 ? std::max(1, std::atoi(argv[2])) : 25;
  std::vector<Point> points;
  for (const int batch : {32, 64, 128, 256, 384, 512, 768, 1024}) points.push_back({"batch", batch, 2, batch, 128});
  for (const int replicas : {1, 2, 4, 6, 8, 10, 12, 14, 16})
    points.push_back({"replicas, 32 samples each", replicas, replicas, 32 * replicas, 128});
  for (const int replicas : {1, 2, 4, 6, 8, 10, 12, 14, 16})
    points.push_back({"replicas, 512 samples in all", replicas, replicas, 512, 128});
  for (const int width : {64, 128, 192, 256, 384, 512}) points.push_back({"width", width, 2, 128, width});

  std::map<std::size_t, std::vector<double>> times;
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < points.size(); ++i)
      for (const double time : measured(points[i], steps)) times[i].push_back(time);
  std::printf("what,value,step_ms,upper_quartile_ms\n");
  for (std::size_t i = 0; i < points.size(); ++i) {
    std::vector<double>& all = times[i];
    std::sort(all.begin(), all.end());
    std::printf("\"%s\",%d,%.3f,%.3f\n", points[i].what, points[i].value, all[all.size() / 2], all[all.size() * 3 / 4]);
  }
}
