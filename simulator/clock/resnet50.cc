#include "simulator/clock/resnet50.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "simulator/clock/hardware.h"

namespace lockstep::clock {

namespace {

constexpr double kClasses = 1000;
constexpr double kBucketBytes = 25 * 1024 * 1024;        // PyTorch's default; Horovod's fusion buffer is of the same order
constexpr double kWorkspaceBytes = 512.0 * 1024 * 1024;  // of libraries
constexpr double kMicro = 1e-6;                          // of picoseconds

class Builder {
 public:
  Builder(double batch, Arithmetic arithmetic, bool inference)
      : batch_(batch), size_(arithmetic == Arithmetic::fp16 ? 2 : 4), inference_(inference) {
    step_.arithmetic = arithmetic;
    step_.gradient_bytes = size_;
  }

  // A convolution and its normalisation, with the ReLU, and with `add` the sum of a block and its input.
  void convolution(double kernel, double in, double out, double in_extent, double stride, bool add = false) {
    const double extent = in_extent / stride;
    const double x = batch_ * in * in_extent * in_extent, y = batch_ * out * extent * extent, weights = kernel * kernel * in * out;
    const NetworkKernel once{Kind::convolution, 2 * kernel * kernel * in * y, (x + y + weights) * size_, 0, y};
    step_.parameters += weights + 2 * out;
    forward(once);
    if (inference_) {
      forward({Kind::streaming, 0, (add ? 3 : 2) * y * size_, 0, 0});
      return;
    }
    forward({Kind::streaming, 0, (add ? 4 : 3) * y * size_, 0, 0});  // statistics, then normalise: reads y twice
    kept_ += 2 * y;
    NetworkKernel weights_gradient = once;
    weights_gradient.gradients = weights + 2 * out;
    weights_gradient.outputs = 0;
    NetworkKernel input_gradient = once;
    input_gradient.outputs = x;
    backward({Kind::streaming, 0, (add ? 6 : 5) * y * size_, 0, 0});  // sums over y and its gradient, then the gradient of its input
    backward(weights_gradient);
    if (in > 3) backward(input_gradient);
  }
  void pool(double channels, double extent) {
    const double x = batch_ * channels * extent * extent;
    forward({Kind::streaming, 0, 1.25 * x * size_, 0, 0});
    if (!inference_) backward({Kind::streaming, 0, 2.5 * x * size_, 0, 0});
  }
  void classifier(double in) {
    const double weights = in * kClasses;
    NetworkKernel once{Kind::matmul, 2 * batch_ * weights, (batch_ * (in + kClasses) + weights) * size_, 0, 0};
    step_.parameters += weights + kClasses;
    forward(once);
    if (inference_) return;
    backward(once);
    once.gradients = weights + kClasses;
    backward(once);
  }
  NetworkStep take() {
    // Backward goes the other way, a layer's kernels in their order.
    for (const auto& layer : std::views::reverse(backward_)) step_.kernels.insert(step_.kernels.end(), layer.begin(), layer.end());
    const double copies = inference_ ? 1 : 3;  // weights, gradients, momenta; half precision keeps halves of the first two beside them
    step_.memory_bytes = step_.parameters * (4 * copies + (size_ == 2 ? 2 : 0)) + kept_ * size_ + kWorkspaceBytes;
    if (inference_) step_.memory_bytes += 2 * batch_ * 64 * 112 * 112 * size_;
    step_.optimizer_bytes = inference_ ? 0 : step_.parameters * (5 * 4 + (size_ == 2 ? 2 : 0));
    return std::move(step_);
  }

 private:
  void forward(const NetworkKernel& kernel) {
    step_.kernels.push_back(kernel);
    layer_begins_ = true;
  }
  void backward(const NetworkKernel& kernel) {
    if (layer_begins_) backward_.emplace_back();
    layer_begins_ = false;
    backward_.back().push_back(kernel);
  }

  double batch_, size_;
  bool inference_;
  NetworkStep step_;
  std::vector<std::vector<NetworkKernel>> backward_;  // by layer
  bool layer_begins_ = true;
  double kept_ = 0;  // numbers that backward needs
};

}  // namespace

NetworkStep resnet50_step(std::int64_t batch, Arithmetic arithmetic, bool inference) {
  struct Stack {
    double filters;
    int blocks;
    double stride;
  };
  Builder net(static_cast<double>(batch), arithmetic, inference);
  net.convolution(7, 3, 64, 224, 2);
  net.pool(64, 112);
  double channels = 64, extent = 56;
  for (const Stack& stack : {Stack{64, 3, 1}, Stack{128, 4, 2}, Stack{256, 6, 2}, Stack{512, 3, 2}}) {
    for (int block = 0; block < stack.blocks; ++block) {
      const double stride = block == 0 ? stack.stride : 1;
      if (block == 0) net.convolution(1, channels, 4 * stack.filters, extent, stride);
      net.convolution(1, channels, stack.filters, extent, 1);
      net.convolution(3, stack.filters, stack.filters, extent, stride);  // version 1.5: the stride is here
      extent /= stride;
      net.convolution(1, stack.filters, 4 * stack.filters, extent, 1, true);
      channels = 4 * stack.filters;
    }
  }
  net.pool(channels, extent);
  net.classifier(channels);
  return net.take();
}

namespace {

// Blocks run in waves, as many at a time as there are multiprocessors, and on average the last wave is half empty.
double waves(const Machine& machine, const NetworkKernel& kernel) {
  if (kernel.outputs <= 0 || machine.block_outputs <= 0) return 1;
  return 1 + 0.5 * machine.multiprocessors * machine.block_outputs / kernel.outputs;
}

}  // namespace

NetworkTime network_time(const Machine& machine, const NetworkStep& step, int gpus) {
  Timeline timeline;
  const Hardware hardware(machine, timeline, 1);
  const int kernels = timeline.add_lane(), sums = timeline.add_lane();
  NetworkTime time;
  timeline.on_done = [&](int lane, std::uint64_t, std::uint32_t, Time begin, Time end) {
    (lane == kernels ? time.compute_us : time.communication_us) += static_cast<double>(end - begin) * kMicro;
  };
  Time issued = 0;
  Moment last_sum;
  double waiting = 0;  // numbers of gradients that are not being summed yet
  const auto sum = [&](const Moment& after) {
    const double bytes = waiting * step.gradient_bytes;
    Task task = hardware.collective(0, collective_time(machine, Collective::all_reduce, bytes, gpus), bytes);
    task.after.push_back(after);
    last_sum = timeline.append_at(sums, task, issued);
    waiting = 0;
  };
  for (std::size_t i = 0; i < step.kernels.size(); ++i) {
    const NetworkKernel& kernel = step.kernels[i];
    issued += hardware.launch();
    const Task task = hardware.kernel(0, kernel.kind, step.arithmetic, kernel.flops * waves(machine, kernel), kernel.bytes);
    const bool memory_bound = task.demanded > 0 && task.demands[static_cast<std::size_t>(task.demanded - 1)].share == 1;
    (memory_bound ? time.memory_us : time.arithmetic_us) += task.body * kMicro;
    const Moment done = timeline.append_at(kernels, task, issued);
    waiting += kernel.gradients;
    const bool last = i + 1 == step.kernels.size();
    if (gpus > 1 && waiting > 0 && (last || waiting * step.gradient_bytes >= kBucketBytes)) sum(done);
  }
  if (step.optimizer_bytes > 0) {
    Task optimizer = hardware.kernel(0, Kind::streaming, Arithmetic::fp32, 0, step.optimizer_bytes);
    if (gpus > 1) optimizer.after.push_back(last_sum);
    timeline.append_at(kernels, optimizer, issued + hardware.launch());
  }
  timeline.run();
  time.step_us = static_cast<double>(timeline.now()) * kMicro;
  time.exposed_us = gpus > 1 ? std::max(0.0, time.step_us - time.compute_us) : 0;
  return time;
}

}  // namespace lockstep::clock
