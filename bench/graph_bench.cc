// What CUDA graphs save: the time the host needs to issue forward and backward of a step, and the time until they are done, with every
// operation issued by itself and with graphs. Both in one run, alternating (A B A B ...), medians; the last column proves equal bits.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "engine/nn/graph.h"
#include "engine/nn/program.h"
#include "engine/ops/elementwise.h"
#include "lockstep/layers.h"

namespace {

using namespace lockstep;  // NOLINT(google-build-using-namespace): a model is many names
using Clock = std::chrono::steady_clock;

std::vector<std::shared_ptr<LayerImpl>> chain(const std::vector<Layer>& layers) {
  std::vector<std::shared_ptr<LayerImpl>> made;
  for (const Layer& layer : layers) made.push_back(layer.impl());
  return made;
}

Graph mnist() {
  return Graph::chain(chain({Conv2D(32, 3, "relu"), MaxPooling2D(2), Flatten(), Dense(128, "relu"), Dense(10)}), Shape{28, 28, 1});
}

// As many launches as MobileNetV2 makes, on pictures so small that they are all there is to it.
Graph deep() {
  std::vector<Layer> layers;
  for (int block = 0; block < 50; ++block) {
    layers.push_back(Conv2D(8, 1));
    layers.push_back(BatchNormalization());
    layers.push_back(ReLU());
  }
  layers.push_back(Flatten());
  layers.push_back(Dense(10));
  return Graph::chain(chain(layers), Shape{4, 4, 8});
}

struct Times {
  std::vector<double> issued, done;  // microseconds
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

struct Model {
  Model(const Graph& graph, std::int64_t batch, bool graphs)
      : variables(gpu, graph.layout(), "benchmark"),
        workspace(gpu, "benchmark"),
        program(graph, variables, workspace, batch, Mode::training),
        ends(graph.layout().specs().size()) {
    variables.initialize(1);
    if (graphs) program.use_graphs(&ends);
    info.global_batch = batch;
  }

  void run(Times* times) {
    const OpContext context{&gpu, &gpu.compute(), {}};
    ops::fill(context, 0.5F, program.input());
    ops::fill(context, 0.25F, program.output_gradient());
    gpu.compute().synchronize();
    const auto begin = Clock::now();
    program.forward(info);
    program.backward(info, false, nullptr);
    const auto issued = Clock::now();
    gpu.compute().synchronize();
    const auto done = Clock::now();
    if (times == nullptr) return;
    times->issued.push_back(std::chrono::duration<double, std::micro>(issued - begin).count());
    times->done.push_back(std::chrono::duration<double, std::micro>(done - begin).count());
  }

  std::vector<float> gradients() {
    const Tensor all = variables.gradients();
    std::vector<float> values(static_cast<std::size_t>(all.size()));
    ops::download({&gpu, &gpu.compute(), {}}, all, values.data());
    gpu.compute().synchronize();
    return values;
  }

  LogicalGpu gpu{GpuId{}};
  VariableStore variables;
  Workspace workspace;
  Program program;
  std::vector<bool> ends;
  StepInfo info;
};

void compare(const std::string& name, const Graph& graph, std::int64_t batch, int rounds) {
  Model plain(graph, batch, false), graphs(graph, batch, true);
  Times one_by_one, launched;
  for (int warm = 0; warm < 3; ++warm) plain.run(nullptr), graphs.run(nullptr);
  for (int round = 0; round < rounds; ++round) plain.run(&one_by_one), graphs.run(&launched);
  const std::vector<float> a = plain.gradients(), b = graphs.gradients();
  const bool same = a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
  std::printf("%-8s %6lld %12.0f %12.0f %8.2f %12.0f %12.0f %8.2f   %s\n", name.c_str(), static_cast<long long>(batch),
              median(one_by_one.issued), median(launched.issued), median(launched.issued) / median(one_by_one.issued),
              median(one_by_one.done), median(launched.done), median(launched.done) / median(one_by_one.done), same ? "yes" : "NO");
}

}  // namespace

int main() {
  std::printf("microseconds        issued: by itself       graphs    ratio   done: by itself     graphs    ratio   same bits\n");
  compare("mnist", mnist(), 1, 300);
  compare("mnist", mnist(), 32, 60);
  compare("deep", deep(), 1, 300);
  compare("deep", deep(), 8, 100);
}
