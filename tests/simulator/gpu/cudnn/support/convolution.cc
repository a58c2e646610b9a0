#include "tests/simulator/gpu/cudnn/support/convolution.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

namespace lockstep::test {
namespace {

struct Names {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t x, w, y, convolution, alpha, beta;
};

Names names_of(Direction direction) {
  switch (direction) {
    case Direction::backward_data:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case Direction::backward_filter:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
    default:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  }
}

std::vector<float>& written(Direction direction, ConvolutionData& data) {
  return direction == Direction::forward ? data.y : direction == Direction::backward_data ? data.x : data.w;
}

cudnnDataType_t type_of(const ConvolutionCase& c) {
  return c.type == Narrow::f32 ? CUDNN_DATA_FLOAT : c.type == Narrow::f16 ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16;
}

}  // namespace

std::vector<std::int64_t> channels_last(const std::vector<std::int64_t>& dims) {
  return {dims[1] * dims[2] * dims[3], 1, dims[3] * dims[1], dims[1]};
}

std::vector<std::int64_t> ConvolutionCase::filter_strides() const {
  if (channels_first_filter) return {channels() * r * s, r * s, s, 1};
  return channels_last({k, channels(), r, s});
}

std::string ConvolutionCase::text() const {
  std::ostringstream out;
  const char* kNames[] = {"forward", "backward data", "backward filter"};
  out << kNames[static_cast<int>(direction)] << " n " << n << " c " << c << " h " << h << " w " << w << " k " << k << " r " << r << " s "
      << s << " groups " << groups << " pre " << pre[0] << ',' << pre[1] << " post " << post[0] << ',' << post[1] << " strides "
      << strides[0] << ',' << strides[1] << " dilations " << dilations[0] << ',' << dilations[1]
      << (channels_first_filter ? " KCRS" : " KRSC") << " alpha " << alpha << " beta " << beta << " type " << static_cast<int>(type)
      << (addend ? " + addend" : "") << (bias ? " + bias" : "") << (relu ? " relu" : "") << " up to " << upper_clip;
  return out.str();
}

ConvolutionCase random_convolution(Random& random, Direction direction) {
  ConvolutionCase c;
  c.direction = direction;
  do {
    c.n = random.integer(1, 5);
    c.groups = random.chance(85) ? 1 : random.integer(2, 4);
    const auto channels = [&] {
      const std::int64_t kUsual[] = {1, 3, 8, 16, 24, 32};
      return random.chance(50) ? kUsual[random.integer(0, 5)] : random.integer(1, 20);
    };
    c.c = channels() * c.groups;
    c.k = channels() * c.groups;
    c.h = random.integer(1, 14);
    c.w = random.integer(1, 14);
    c.r = random.integer(1, 5);
    c.s = random.integer(1, 5);
    for (std::size_t d = 0; d < 2; ++d) {
      c.pre[d] = random.chance(50) ? 0 : random.integer(0, 3);
      c.post[d] = random.chance(60) ? c.pre[d] : random.integer(0, 3);
      c.strides[d] = random.chance(60) ? 1 : random.integer(1, 3);
      c.dilations[d] = random.chance(70) ? 1 : random.integer(1, 3);
    }
  } while (c.h + c.pre[0] + c.post[0] < c.dilations[0] * (c.r - 1) + 1 || c.w + c.pre[1] + c.post[1] < c.dilations[1] * (c.s - 1) + 1);
  c.channels_first_filter = random.chance(20);
  if (random.chance(20)) c.alpha = random.real() * 2;
  if (random.chance(20)) c.beta = random.chance(50) ? 1.0F : random.real();
  return c;
}

Descriptor make_tensor(std::int64_t uid, const std::vector<std::int64_t>& dims, const std::vector<std::int64_t>& strides,
                       cudnnDataType_t type, bool is_virtual) {
  Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.one(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type)
      .one(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, is_virtual)
      .ints(CUDNN_ATTR_TENSOR_DIMENSIONS, dims)
      .ints(CUDNN_ATTR_TENSOR_STRIDES, strides)
      .ints(CUDNN_ATTR_TENSOR_UNIQUE_ID, {uid})
      .ints(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {16});
  EXPECT_EQ(tensor.finalize(), CUDNN_STATUS_SUCCESS);
  return tensor;
}

Descriptor make_operation(const ConvolutionCase& c, const std::vector<std::int64_t>& filter_strides) {
  Descriptor convolution(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  convolution.one(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
      .one(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION)
      .ints(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {2})
      .ints(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {c.pre[0], c.pre[1]})
      .ints(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {c.post[0], c.post[1]})
      .ints(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {c.strides[0], c.strides[1]})
      .ints(CUDNN_ATTR_CONVOLUTION_DILATIONS, {c.dilations[0], c.dilations[1]});
  EXPECT_EQ(convolution.finalize(), CUDNN_STATUS_SUCCESS);
  const Names names = names_of(c.direction);
  const std::vector<std::int64_t> x{c.n, c.c, c.h, c.w}, w{c.k, c.channels(), c.r, c.s}, y{c.n, c.k, c.out(0), c.out(1)};
  Descriptor operation(names.type);
  const cudnnDataType_t type = type_of(c);
  operation.one(names.x, make_tensor(1, x, channels_last(x), type))
      .one(names.w, make_tensor(2, w, filter_strides, type))
      .one(names.y, c.fused() ? make_tensor(10, y, channels_last(y), CUDNN_DATA_FLOAT, true) : make_tensor(3, y, channels_last(y), type))
      .one(names.convolution, convolution)
      .one(names.alpha, CUDNN_TYPE_FLOAT, c.alpha)
      .one(names.beta, CUDNN_TYPE_FLOAT, c.beta);
  EXPECT_EQ(operation.finalize(), CUDNN_STATUS_SUCCESS) << c.text();
  return operation;
}

Descriptor make_graph(const DnnHandle& handle, const Descriptor& operation) {
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.one(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle.get()).one(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  EXPECT_EQ(graph.finalize(), CUDNN_STATUS_SUCCESS);
  return graph;
}

Descriptor make_graph(const DnnHandle& handle, const ConvolutionCase& c) {
  const Descriptor convolution = make_operation(c, c.filter_strides());
  if (!c.fused()) return make_graph(handle, convolution);
  const std::vector<std::int64_t> y{c.n, c.k, c.out(0), c.out(1)}, channel{1, c.k, 1, 1};
  std::vector<Descriptor> steps;
  std::int64_t uid = 10;  // of what the step before made
  int left = static_cast<int>(c.addend) + static_cast<int>(c.bias) + static_cast<int>(c.relu);
  const auto step = [&](cudnnPointwiseMode_t mode, const Descriptor* other) {
    Descriptor what(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    what.one(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode)
        .one(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    if (mode == CUDNN_POINTWISE_RELU_FWD && std::isfinite(c.upper_clip)) {
      what.one(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, CUDNN_TYPE_DOUBLE, static_cast<double>(c.upper_clip));
    }
    EXPECT_EQ(what.finalize(), CUDNN_STATUS_SUCCESS);
    const bool last = --left == 0;
    const Descriptor before = make_tensor(uid, y, channels_last(y), CUDNN_DATA_FLOAT, true);
    const Descriptor after =
        last ? make_tensor(3, y, channels_last(y), type_of(c)) : make_tensor(++uid, y, channels_last(y), CUDNN_DATA_FLOAT, true);
    Descriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.one(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, what)
        .one(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, before)
        .one(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, after);
    if (other) operation.one(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *other);
    EXPECT_EQ(operation.finalize(), CUDNN_STATUS_SUCCESS);
    steps.push_back(std::move(operation));
  };
  const Descriptor addend = make_tensor(4, y, channels_last(y), type_of(c)),
                   bias = make_tensor(5, channel, channels_last(channel), type_of(c));
  if (c.addend) step(CUDNN_POINTWISE_ADD, &addend);
  if (c.bias) step(CUDNN_POINTWISE_ADD, &bias);
  if (c.relu) step(CUDNN_POINTWISE_RELU_FWD, nullptr);
  std::vector<cudnnBackendDescriptor_t> operations;
  for (const Descriptor& made : steps) operations.push_back(made.raw());
  operations.push_back(convolution.raw());  // in any order
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.one(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle.get());
  EXPECT_EQ(cudnnBackendSetAttribute(graph.raw(), CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                     static_cast<std::int64_t>(operations.size()), operations.data()),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(graph.finalize(), CUDNN_STATUS_SUCCESS) << c.text();
  return graph;
}

Descriptor make_heuristic(const Descriptor& graph, cudnnBackendHeurMode_t mode) {
  Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.one(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph).one(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  EXPECT_EQ(heuristic.finalize(), CUDNN_STATUS_SUCCESS);
  return heuristic;
}

std::int64_t results_of(const Descriptor& heuristic) {
  std::int64_t count = -1;
  EXPECT_EQ(cudnnBackendGetAttribute(heuristic.raw(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr),
            CUDNN_STATUS_SUCCESS);
  return count;
}

Descriptor make_plan(const DnnHandle& handle, const Descriptor& heuristic) {
  const Descriptor configuration(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = configuration.raw();
  std::int64_t count = 0;
  EXPECT_EQ(cudnnBackendGetAttribute(heuristic.raw(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &raw),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(count, 1);
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.one(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle.get()).one(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  EXPECT_EQ(plan.finalize(), CUDNN_STATUS_SUCCESS);
  return plan;
}

std::int64_t workspace_of(const Descriptor& plan) {
  std::int64_t bytes = -1, count = 0;
  EXPECT_EQ(cudnnBackendGetAttribute(plan.raw(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count, &bytes),
            CUDNN_STATUS_SUCCESS);
  return bytes;
}

Descriptor make_pack(const std::vector<void*>& pointers, void* workspace) {
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  std::vector<std::int64_t> uids{1, 2, 3, 4, 5};
  uids.resize(pointers.size());
  pack.ints(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, uids);
  EXPECT_EQ(cudnnBackendSetAttribute(pack.raw(), CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
                                     static_cast<std::int64_t>(pointers.size()), pointers.data()),
            CUDNN_STATUS_SUCCESS);
  pack.one(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  EXPECT_EQ(pack.finalize(), CUDNN_STATUS_SUCCESS);
  return pack;
}

ConvolutionData random_data(const ConvolutionCase& c, Random& random) {
  ConvolutionData data{random.reals(c.image_elements()), random.reals(c.filter_elements()), random.reals(c.output_elements()), {}, {}};
  if (c.addend) data.addend = random.reals(c.output_elements());
  if (c.bias) data.bias = random.reals(c.k);
  for (std::vector<float>* values : {&data.x, &data.w, &data.y, &data.addend, &data.bias}) {
    for (float& value : *values) value = rounded(value, c.type);
  }
  // With beta 0 nothing may be read of the target, not even a NaN.
  if (c.beta == 0.0F) {
    std::vector<float>& target = written(c.direction, data);
    std::fill(target.begin(), target.end(), std::numeric_limits<float>::quiet_NaN());
  }
  return data;
}

std::vector<float> run_convolution(const DnnHandle& handle, const ConvolutionCase& c, const ConvolutionData& data) {
  const Descriptor plan = make_plan(handle, make_heuristic(make_graph(handle, c)));
  const DeviceArray x(packed(data.x, c.type)), w(packed(data.w, c.type)), y(packed(data.y, c.type)), addend(packed(data.addend, c.type)),
      bias(packed(data.bias, c.type)), workspace(static_cast<std::size_t>(workspace_of(plan)) / sizeof(float) + 1);
  const Stream stream;
  EXPECT_EQ(cudnnSetStream(handle.get(), stream.get()), CUDNN_STATUS_SUCCESS);
  std::vector<void*> pointers{x.data(), w.data(), y.data()};
  if (c.fused()) pointers.insert(pointers.end(), {addend.data(), bias.data()});
  const Descriptor pack = make_pack(pointers, workspace.data());
  EXPECT_EQ(cudnnBackendExecute(handle.get(), plan.raw(), pack.raw()), CUDNN_STATUS_SUCCESS);
  stream.wait();
  EXPECT_EQ(cudnnSetStream(handle.get(), nullptr), CUDNN_STATUS_SUCCESS);
  ConvolutionData copy = data;
  const std::size_t count = written(c.direction, copy).size();
  return unpacked((c.direction == Direction::forward ? y : c.direction == Direction::backward_data ? x : w).download(), count, c.type);
}

void expect_convolution(const ConvolutionCase& c, const ConvolutionData& data, const std::vector<float>& got) {
  ConvolutionData copy = data;
  const std::vector<float>& before = written(c.direction, copy);
  ASSERT_EQ(got.size(), before.size());
  std::vector<double> sum(got.size(), 0.0), magnitude(got.size(), 0.0), terms(got.size(), 0.0);
  const std::vector<std::int64_t> fs = c.filter_strides();
  const std::int64_t filters = c.k / c.groups;
  for (std::int64_t n = 0; n < c.n; ++n) {
    for (std::int64_t p = 0; p < c.out(0); ++p) {
      for (std::int64_t q = 0; q < c.out(1); ++q) {
        for (std::int64_t r = 0; r < c.r; ++r) {
          for (std::int64_t s = 0; s < c.s; ++s) {
            const std::int64_t h = p * c.strides[0] - c.pre[0] + r * c.dilations[0], w = q * c.strides[1] - c.pre[1] + s * c.dilations[1];
            if (h < 0 || h >= c.h || w < 0 || w >= c.w) continue;
            for (std::int64_t k = 0; k < c.k; ++k) {
              for (std::int64_t ch = 0; ch < c.channels(); ++ch) {
                const auto xi = static_cast<std::size_t>(((n * c.h + h) * c.w + w) * c.c + k / filters * c.channels() + ch);
                const auto wi = static_cast<std::size_t>(k * fs[0] + ch * fs[1] + r * fs[2] + s * fs[3]);
                const auto yi = static_cast<std::size_t>(((n * c.out(0) + p) * c.out(1) + q) * c.k + k);
                double product = 0;
                std::size_t target = 0;
                if (c.direction == Direction::forward) {
                  product = static_cast<double>(data.x[xi]) * data.w[wi];
                  target = yi;
                } else if (c.direction == Direction::backward_data) {
                  product = static_cast<double>(data.y[yi]) * data.w[wi];
                  target = xi;
                } else {
                  product = static_cast<double>(data.x[xi]) * data.y[yi];
                  target = wi;
                }
                sum[target] += product;
                magnitude[target] += std::abs(product);
                terms[target] += 1;
              }
            }
          }
        }
      }
    }
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    double expected = c.alpha * sum[i], size = std::abs(c.alpha) * magnitude[i];
    if (c.beta != 0.0F) {
      expected += static_cast<double>(c.beta) * before[i];
      size += std::abs(static_cast<double>(c.beta) * before[i]);
    }
    const auto add = [&](float value) {
      expected += value;
      size += std::abs(value);
    };
    if (c.addend) add(data.addend[i]);
    if (c.bias) add(data.bias[i % static_cast<std::size_t>(c.k)]);
    if (c.relu) expected = std::clamp<double>(expected, 0.0, c.upper_clip);
    // The bound of a sum of rounded terms in any order, and of the rounding when it is stored.
    double bound = (terms[i] + 5) * std::numeric_limits<float>::epsilon() * size + 1e-30;
    if (c.type != Narrow::f32) bound += half_step(std::abs(expected) + bound, c.type);
    ASSERT_NEAR(got[i], expected, bound) << c.text() << " at " << i;
  }
}

}  // namespace lockstep::test
