// A convolution through the virtual cuDNN against oneDNN called directly: the same tensors in, the same tensors out, on the same number
// of threads: one, unless LOCKSTEP_SIM_WORKERS says more (threads that meet need a machine with nothing else to do). Images are NHWC and
// filters KRSC on both sides, so oneDNN's reorder of the filter counts on both.
//
//   direct_us, virtual_us   the best run of each; they take turns, so that both see the same machine
//   ratio                   direct / virtual (aim: 0.97 or more)
//   wrong                   elements of the two results that differ by more than rounding
//
// The last line has the geometric mean of all ratios.
#include <benchmark/benchmark.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <dnnl.hpp>
#include <string>
#include <thread>
#include <vector>

#include "engine/device/check.h"
#include "engine/device/stream.h"
#include "engine/ops/dnn_graph.h"
#include "simulator/gpu/runtime/config.h"

namespace {

using lockstep::ops::DnnDescriptor;
using lockstep::ops::DnnPlan;
using Ints = std::vector<std::int64_t>;

enum Direction { kForward, kBackwardData, kBackwardFilter };

struct Shape {
  const char* name;
  std::int64_t n, size, c, k, taps, stride, pad;

  std::int64_t out() const { return (size + 2 * pad - taps) / stride + 1; }
  Ints x() const { return {n, c, size, size}; }
  Ints w() const { return {k, c, taps, taps}; }
  Ints y() const { return {n, k, out(), out()}; }
  double flops() const { return 2.0 * static_cast<double>(n * out() * out() * k * c * taps * taps); }
};

// MNIST at batch 64, and MobileNetV2 on 96 x 96 images at batch 32: its first convolution and the 1 x 1 ones of its blocks.
constexpr Shape kShapes[] = {
    {"mnist_1", 64, 28, 1, 32, 3, 1, 0},
    {"mnist_2", 64, 13, 32, 64, 3, 1, 0},
    {"stem", 32, 96, 3, 32, 3, 2, 1},
    {"48x48_32_to_16", 32, 48, 32, 16, 1, 1, 0},
    {"48x48_16_to_96", 32, 48, 16, 96, 1, 1, 0},
    {"24x24_96_to_24", 32, 24, 96, 24, 1, 1, 0},
    {"24x24_24_to_144", 32, 24, 24, 144, 1, 1, 0},
    {"12x12_144_to_32", 32, 12, 144, 32, 1, 1, 0},
    {"12x12_32_to_192", 32, 12, 32, 192, 1, 1, 0},
    {"6x6_192_to_64", 32, 6, 192, 64, 1, 1, 0},
    {"6x6_64_to_384", 32, 6, 64, 384, 1, 1, 0},
    {"6x6_576_to_96", 32, 6, 576, 96, 1, 1, 0},
    {"3x3_160_to_960", 32, 3, 160, 960, 1, 1, 0},
    {"3x3_960_to_320", 32, 3, 960, 320, 1, 1, 0},
    {"3x3_320_to_1280", 32, 3, 320, 1280, 1, 1, 0},
};

std::int64_t elements(const Ints& dims) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  return count;
}

std::vector<float> ramp(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(static_cast<int>(i * 7 % 31) - 15) / 16.0F;
  return values;
}

struct Tensors {
  std::vector<float> x, w, y;
  std::vector<float>& result(Direction direction) { return direction == kForward ? y : direction == kBackwardData ? x : w; }
};

// oneDNN as a program that knows its shapes would use it.
class Direct {
 public:
  Direct(const Shape& shape, Direction direction, Tensors& tensors) : direction_(direction), engine_(dnnl::engine::kind::cpu, 0) {
    using dnnl::memory;
    const auto f32 = memory::data_type::f32;
    const memory::desc x(shape.x(), f32, memory::format_tag::nhwc), y(shape.y(), f32, memory::format_tag::nhwc);
    const memory::desc any(shape.w(), f32, memory::format_tag::any), krsc(shape.w(), f32, memory::format_tag::ohwi);
    const memory::dims strides{shape.stride, shape.stride}, pads{shape.pad, shape.pad};
    const auto algorithm = dnnl::algorithm::convolution_direct;
    const dnnl::convolution_forward::primitive_desc forward({dnnl::prop_kind::forward_training, algorithm, x, any, y, strides, pads, pads},
                                                            engine_);
    memory::desc wished = forward.weights_desc();
    compute_ = dnnl::convolution_forward(forward);
    if (direction == kBackwardData) {
      const dnnl::convolution_backward_data::primitive_desc backward({algorithm, x, any, y, strides, pads, pads}, engine_, forward);
      wished = backward.weights_desc();
      compute_ = dnnl::convolution_backward_data(backward);
    } else if (direction == kBackwardFilter) {
      const dnnl::convolution_backward_weights::primitive_desc backward({algorithm, x, any, y, strides, pads, pads}, engine_, forward);
      wished = backward.diff_weights_desc();
      compute_ = dnnl::convolution_backward_weights(backward);
    }
    stored_ = memory(krsc, engine_, tensors.w.data());
    filter_ = wished == krsc ? stored_ : memory(wished, engine_);
    const memory images(x, engine_, tensors.x.data()), outputs(y, engine_, tensors.y.data());
    if (direction == kForward) arguments_ = {{DNNL_ARG_SRC, images}, {DNNL_ARG_WEIGHTS, filter_}, {DNNL_ARG_DST, outputs}};
    if (direction == kBackwardData) arguments_ = {{DNNL_ARG_DIFF_DST, outputs}, {DNNL_ARG_WEIGHTS, filter_}, {DNNL_ARG_DIFF_SRC, images}};
    if (direction == kBackwardFilter) arguments_ = {{DNNL_ARG_SRC, images}, {DNNL_ARG_DIFF_DST, outputs}, {DNNL_ARG_DIFF_WEIGHTS, filter_}};
    reordered_ = wished != krsc;
    if (reordered_) reorder_ = direction == kBackwardFilter ? dnnl::reorder(filter_, stored_) : dnnl::reorder(stored_, filter_);
    stream_ = dnnl::stream(engine_);
  }

  void run() {
    if (reordered_ && direction_ != kBackwardFilter) reorder_.execute(stream_, stored_, filter_);
    compute_.execute(stream_, arguments_);
    if (reordered_ && direction_ == kBackwardFilter) reorder_.execute(stream_, filter_, stored_);
  }
  double seconds_each(int times) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) run();
    stream_.wait();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / times;
  }

 private:
  Direction direction_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::primitive compute_;
  dnnl::reorder reorder_;
  dnnl::memory stored_, filter_;
  std::unordered_map<int, dnnl::memory> arguments_;
  bool reordered_ = false;
};

class OnDevice {
 public:
  explicit OnDevice(std::size_t bytes) { LOCKSTEP_CHECK(cudaMalloc(&address_, std::max<std::size_t>(bytes, 256))); }
  explicit OnDevice(const std::vector<float>& values) : OnDevice(values.size() * sizeof(float)) {
    LOCKSTEP_CHECK(cudaMemcpy(address_, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice));
    LOCKSTEP_CHECK(cudaDeviceSynchronize());
  }
  ~OnDevice() { cudaFree(address_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  void* get() const { return address_; }
  void read(std::vector<float>& to) const {
    LOCKSTEP_CHECK(cudaMemcpy(to.data(), address_, to.size() * sizeof(float), cudaMemcpyDeviceToHost));
  }

 private:
  void* address_ = nullptr;
};

struct Names {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t x, w, y, convolution;
};
constexpr Names kNames[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC},
};

Ints channels_last(const Ints& dims) { return {dims[1] * dims[2] * dims[3], 1, dims[3] * dims[1], dims[1]}; }

// The same through the virtual cuDNN.
class Virtual {
 public:
  Virtual(const Shape& shape, Direction direction, Tensors& tensors)
      : direction_(direction), stream_(0), x_(tensors.x), w_(tensors.w), y_(tensors.y) {
    LOCKSTEP_CHECK(cudnnCreate(&handle_));
    LOCKSTEP_CHECK(cudnnSetStream(handle_, stream_.get()));
    DnnDescriptor convolution(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    convolution.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
        .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION)
        .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, std::int64_t{2})
        .set_all(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, Ints{1, 1})
        .set_all(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, Ints{shape.stride, shape.stride})
        .set_all(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, Ints{shape.pad, shape.pad})
        .set_all(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, Ints{shape.pad, shape.pad})
        .finalize();
    const Names& names = kNames[direction];
    DnnDescriptor operation(names.type);
    operation.set(names.x, lockstep::ops::dnn_tensor(1, shape.x(), channels_last(shape.x())))
        .set(names.w, lockstep::ops::dnn_tensor(2, shape.w(), channels_last(shape.w())))
        .set(names.y, lockstep::ops::dnn_tensor(3, shape.y(), channels_last(shape.y())))
        .set(names.convolution, convolution)
        .finalize();
    plan_ = DnnPlan::make(handle_, operation);
    workspace_ = std::make_unique<OnDevice>(plan_->workspace_bytes());
  }
  ~Virtual() { cudnnDestroy(handle_); }
  Virtual(const Virtual&) = delete;
  Virtual& operator=(const Virtual&) = delete;

  // Between two events of the stream, as one measures a GPU: what the host takes to wake up is not the convolution's.
  double seconds_each(int times) {
    start_.record();
    for (int i = 0; i < times; ++i) plan_->run(handle_, {x_.get(), w_.get(), y_.get()}, workspace_->get());
    stop_.record();
    stream_.synchronize();
    float milliseconds = 0;
    LOCKSTEP_CHECK(cudaEventElapsedTime(&milliseconds, start_.event, stop_.event));
    return static_cast<double>(milliseconds) * 1e-3 / times;
  }
  void read(std::vector<float>& to) const { (direction_ == kForward ? y_ : direction_ == kBackwardData ? x_ : w_).read(to); }

 private:
  struct Mark {
    explicit Mark(const lockstep::Stream& on) : stream(on.get()) { LOCKSTEP_CHECK(cudaEventCreate(&event)); }
    ~Mark() { cudaEventDestroy(event); }
    Mark(const Mark&) = delete;
    Mark& operator=(const Mark&) = delete;
    void record() const { LOCKSTEP_CHECK(cudaEventRecord(event, stream)); }
    cudaEvent_t event = nullptr;
    cudaStream_t stream;
  };

  Direction direction_;
  lockstep::Stream stream_;
  Mark start_{stream_}, stop_{stream_};
  OnDevice x_, w_, y_;
  cudnnHandle_t handle_ = nullptr;
  std::optional<DnnPlan> plan_;
  std::unique_ptr<OnDevice> workspace_;
};

std::vector<double>& ratios() {
  static std::vector<double> all;
  return all;
}

void convolution(benchmark::State& state, const Shape& shape, Direction direction) {
  omp_set_num_threads(lockstep::sim::config().workers);
  Tensors tensors{ramp(elements(shape.x())), ramp(elements(shape.w())), ramp(elements(shape.y()))};
  Virtual through(shape, direction, tensors);
  Direct direct(shape, direction, tensors);
  double best_direct = direct.seconds_each(1), best_virtual = through.seconds_each(1);
  const int in_a_row = std::max(1, static_cast<int>(1e-3 / best_direct));  // about a millisecond
  // Threads that have nothing left to do wait busily for a while, OpenMP's for some milliseconds: not in the other's time.
  const auto settle = [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
  for ([[maybe_unused]] auto _ : state) {
    settle();
    best_direct = std::min(best_direct, direct.seconds_each(in_a_row));
    settle();
    const double now = through.seconds_each(in_a_row);
    best_virtual = std::min(best_virtual, now);
    state.SetIterationTime(now);
  }
  const std::vector<float>& expected = tensors.result(direction);
  std::vector<float> got(expected.size());
  through.read(got);
  const double terms = shape.flops() / 2 / static_cast<double>(expected.size());
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!(std::abs(got[i] - expected[i]) <= 2e-7 * terms + 1e-5)) ++wrong;
  }
  ratios().push_back(best_direct / best_virtual);
  state.counters["direct_us"] = best_direct * 1e6;
  state.counters["virtual_us"] = best_virtual * 1e6;
  state.counters["GFLOP/s"] = shape.flops() / best_virtual * 1e-9;
  state.counters["ratio"] = ratios().back();
  state.counters["wrong"] = static_cast<double>(wrong);
}

void geometric_mean(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
  }
  double logarithms = 0;
  for (const double ratio : ratios()) logarithms += std::log(ratio);
  if (!ratios().empty()) state.counters["ratio"] = std::exp(logarithms / static_cast<double>(ratios().size()));
}

const bool kRegistered = [] {
  setenv("LOCKSTEP_SIM_WORKERS", "1", 0);
  const char* directions[] = {"forward", "backward_data", "backward_filter"};
  for (const Shape& shape : kShapes) {
    for (const Direction direction : {kForward, kBackwardData, kBackwardFilter}) {
      const std::string name = std::string(shape.name) + "/" + directions[direction];
      benchmark::RegisterBenchmark(name.c_str(), [&shape, direction](benchmark::State& state) { convolution(state, shape, direction); })
          ->UseManualTime()
          ->MinTime(0.1)
          ->Unit(benchmark::kMicrosecond);
    }
  }
  benchmark::RegisterBenchmark("geometric_mean", geometric_mean)->Iterations(1);
  return true;
}();

}  // namespace
