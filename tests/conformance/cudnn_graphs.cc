// Pointwise operations, and graphs of a convolution with pointwise operations after it: the same ones, good and bad, put to a cuDNN,
// and what it answers, a line each.
//
// Compiled twice, like cudnn_descriptors.cc. Usage: program [number of random cases of each kind] [seed] [number of graphs to plan]
#include <algorithm>
#include <iterator>

#include "tests/conformance/cudnn_plans.h"
#include "tests/conformance/cudnn_probe.h"

namespace lockstep::test {
namespace {

const int kModes[] = {0,   1,   2,   3,   4,   5,   6,   7,   8,   9,   10,  11,  12,  13,  14,  15,  16,  17,  18,
                      19,  20,  21,  22,  23,  100, 101, 102, 103, 104, 105, 106, 107, 200, 201, 202, 203, 204, 205,
                      206, 207, 300, 301, 302, 303, 304, 305, 400, 401, 402, 501, 601, 24,  99,  108, 208, 500, -1};

int pick_mode() { return chance(50) ? kModes[pick(0, 23)] : kModes[pick(0, static_cast<std::int64_t>(std::size(kModes)) - 1)]; }

struct Pointwise {
  int mode = CUDNN_POINTWISE_ADD;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  Ints axis;  // or none
};

Descriptor pointwise(const Pointwise& spec, int* status = nullptr) {
  Descriptor result(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  result.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &spec.mode);
  result.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &spec.type);
  if (!spec.axis.empty()) result.ints(CUDNN_ATTR_POINTWISE_AXIS, spec.axis);
  const int answer = result.finalize();
  if (status) *status = answer;
  return result;
}

void random_pointwise(int cases) {
  for (int i = 0; i < cases; ++i) {
    const int mode = pick_mode();
    const auto type = static_cast<cudnnDataType_t>(chance(60) ? 0 : pick(0, 14));
    const auto skip = chance(80) ? -1 : pick(0, 1);
    Descriptor subject(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    std::string what =
        "pointwise mode " + std::to_string(mode) + " type " + std::to_string(type) + " without " + std::to_string(skip) + " set";
    const auto note = [&](int status) { what += " " + std::to_string(status); };
    if (skip != 0) note(subject.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode));
    if (skip != 1) note(subject.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type));
    const cudnnBackendAttributeName_t parameters[] = {CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP,       CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP,
                                                      CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, CUDNN_ATTR_POINTWISE_ELU_ALPHA,
                                                      CUDNN_ATTR_POINTWISE_SOFTPLUS_BETA,         CUDNN_ATTR_POINTWISE_SWISH_BETA};
    for (const auto name : parameters) {
      if (!chance(15)) continue;
      const double value = static_cast<double>(pick(-4, 12)) / 2;
      what += " " + std::to_string(name) + "=" + std::to_string(value);
      note(subject.set(name, CUDNN_TYPE_DOUBLE, 1, &value));
    }
    if (chance(20)) {
      const std::int64_t axis = pick(-2, 9);
      what += " axis " + std::to_string(axis);
      note(subject.set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &axis));
    }
    say(what, subject.finalize());
  }
}

struct Role {
  const char* name;
  cudnnBackendAttributeName_t attribute;
};
const Role kRoles[] = {{"x", CUDNN_ATTR_OPERATION_POINTWISE_XDESC},   {"b", CUDNN_ATTR_OPERATION_POINTWISE_BDESC},
                       {"t", CUDNN_ATTR_OPERATION_POINTWISE_TDESC},   {"y", CUDNN_ATTR_OPERATION_POINTWISE_YDESC},
                       {"dx", CUDNN_ATTR_OPERATION_POINTWISE_DXDESC}, {"dy", CUDNN_ATTR_OPERATION_POINTWISE_DYDESC}};

// Which roles a mode takes, as the documentation has it: x -> y, x b -> y, x b t -> y, x (or y) dy -> dx.
std::vector<bool> roles_of(int mode) {
  const bool binary = (mode >= 0 && mode <= 9 && mode != 4) || mode == 23 || (mode >= 300 && mode <= 401);
  const bool backward = mode >= 200 && mode < 300;
  if (mode == 601) return {true, true, true, true, false, false};
  if (backward) return {true, false, false, false, true, true};
  return {true, binary, false, true, false, false};
}

void random_pointwise_operations(int cases) {
  for (int i = 0; i < cases; ++i) {
    Pointwise spec;
    spec.mode = pick_mode();
    if (chance(8)) spec.type = static_cast<cudnnDataType_t>(pick(0, 14));
    if (spec.mode == CUDNN_POINTWISE_GEN_INDEX ? chance(70) : chance(2)) spec.axis = {pick(-2, 6)};
    int status = 0;
    const Descriptor what_to_do = pointwise(spec, &status);
    std::string what = "apply mode " + std::to_string(spec.mode) + " type " + std::to_string(spec.type) + " axis " + text(spec.axis) +
                       " is " + std::to_string(status);
    const auto rank = static_cast<std::size_t>(chance(75) ? 4 : pick(1, 6));
    Ints dims;
    for (std::size_t d = 0; d < rank; ++d) dims.push_back(pick(1, 6));
    std::vector<bool> roles = roles_of(spec.mode);
    for (int change = 0; change < 2; ++change) {
      if (!chance(8)) continue;
      const auto which = static_cast<std::size_t>(pick(0, 5));
      roles[which] = !roles[which];
    }
    std::vector<Descriptor> tensors;
    Descriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    const auto note = [&](int answer) { what += " " + std::to_string(answer); };
    const cudnnBackendDescriptor_t raw_pointwise = what_to_do.raw();
    if (chance(96)) {
      note(operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw_pointwise));
    }
    for (std::size_t role = 0; role < 6; ++role) {
      if (!roles[role]) continue;
      TensorSpec tensor_spec;
      tensor_spec.dims = dims;
      const bool second = role == 1 || role == 2;
      if (second && chance(50)) {  // broadcast some
        for (auto& dim : tensor_spec.dims) {
          if (chance(60)) dim = 1;
        }
      }
      if (chance(6)) {
        auto& dim = tensor_spec.dims[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(rank) - 1))];
        dim = std::max<std::int64_t>(1, dim + (chance(50) ? 1 : -1));
      }
      if (chance(4)) tensor_spec.dims.push_back(1);
      if (chance(3) && tensor_spec.dims.size() > 1) tensor_spec.dims.pop_back();
      tensor_spec.strides = chance(75) ? channels_last(tensor_spec.dims) : channels_first(tensor_spec.dims);
      if (chance(5)) tensor_spec.strides[0] += pick(0, 5);
      if (chance(4))
        tensor_spec.strides[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(tensor_spec.dims.size()) - 1))] = pick(0, 9);
      tensor_spec.uid = chance(97) ? static_cast<std::int64_t>(role) + 1 : 1;
      if (chance(12)) tensor_spec.type = static_cast<cudnnDataType_t>(pick(0, 11));
      if (spec.mode >= 300 && spec.mode < 500 && chance(50)) tensor_spec.type = CUDNN_DATA_BOOLEAN;
      tensor_spec.is_virtual = chance(15);
      Descriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
      const int tensor_status = fill(made, tensor_spec);
      what += std::string(" ") + kRoles[role].name + " " + text(tensor_spec.dims) + text(tensor_spec.strides) + " type " +
              std::to_string(tensor_spec.type) + " id " + std::to_string(tensor_spec.uid) + (tensor_spec.is_virtual ? " virtual" : "") +
              " is " + std::to_string(tensor_status);
      const cudnnBackendDescriptor_t raw = made.raw();
      note(operation.set(kRoles[role].attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw));
      tensors.push_back(std::move(made));
    }
    if (chance(20)) {
      const float factor = static_cast<float>(pick(-2, 2));
      what += " alpha1 " + std::to_string(factor);
      note(operation.set(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, CUDNN_TYPE_FLOAT, 1, &factor));
    }
    if (chance(10)) {
      const float factor = static_cast<float>(pick(-2, 2));
      what += " alpha2 " + std::to_string(factor);
      note(operation.set(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, CUDNN_TYPE_FLOAT, 1, &factor));
    }
    say(what, operation.finalize());
  }
}

// A forward convolution and up to three pointwise operations, each working on what the one before made. Now and then a tensor has the
// wrong id, shape or type, is not virtual or should not be, operations come in another order, or one comes twice.
struct Graph {
  std::vector<Descriptor> kept, operations;
  std::vector<cudnnBackendDescriptor_t> raw;
  std::string text;
};

Graph random_graph(int spoiled, std::int64_t channels = 8) {
  Graph graph;
  const Ints x{pick(1, 4), pick(1, 4) * channels, 8, 8}, w{pick(1, 4) * channels, x[1], 3, 3}, y{x[0], w[0], 8, 8};
  const cudnnDataType_t type = chance(60) ? CUDNN_DATA_FLOAT : chance(60) ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16;
  const auto steps = pick(0, 3);
  const auto make = [&](std::int64_t uid, const Ints& dims, cudnnDataType_t of, bool is_virtual) {
    TensorSpec spec{dims, {}, uid, 16, of, is_virtual};
    if (chance(spoiled)) spec.uid = pick(1, 9);
    if (chance(spoiled)) spec.is_virtual = !is_virtual;
    if (chance(spoiled)) spec.type = chance(50) ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT;
    if (chance(spoiled)) spec.dims[static_cast<std::size_t>(pick(0, 1))] = 1;
    spec.strides = chance(100 - spoiled) ? channels_last(spec.dims) : channels_first(spec.dims);
    Descriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    const int status = fill(made, spec);
    graph.text += " " + std::to_string(spec.uid) + ":" + text(spec.dims) + text(spec.strides) + " type " + std::to_string(spec.type) +
                  (spec.is_virtual ? " virtual" : "") + (status == 0 ? "" : " bad");
    graph.kept.push_back(std::move(made));
    return graph.kept.back().raw();
  };
  const auto give = [&](Descriptor& operation, cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t raw) {
    operation.set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
  };
  const Kind& kind = kKinds[steps == 0 ? pick(0, 2) : 0];
  graph.text = kind.name;
  {
    Descriptor operation(kind.type);
    give(operation, kind.x, make(1, x, type, false));
    give(operation, kind.w, make(2, w, type, false));
    give(operation, kind.y, make(3, y, steps == 0 ? type : CUDNN_DATA_FLOAT, steps != 0));
    graph.kept.push_back(convolution({{1, 1}, {1, 1}, {1, 1}, {1, 1}}));
    give(operation, kind.convolution, graph.kept.back().raw());
    graph.text += " is " + std::to_string(operation.finalize());
    graph.operations.push_back(std::move(operation));
  }
  for (std::int64_t step = 0; step < steps; ++step) {
    const bool last = step + 1 == steps;
    const int mode = chance(90) ? (last && chance(60) ? CUDNN_POINTWISE_RELU_FWD : CUDNN_POINTWISE_ADD) : pick_mode();
    graph.text += " then " + std::to_string(mode);
    int status = 0;
    graph.kept.push_back(pointwise({mode, CUDNN_DATA_FLOAT, {}}, &status));
    Descriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    give(operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, graph.kept.back().raw());
    give(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, make(3 + 2 * step, y, CUDNN_DATA_FLOAT, true));
    if (roles_of(mode)[1]) {
      const bool whole = step + 2 < steps && chance(50);
      give(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, make(4 + 2 * step, whole ? y : Ints{1, y[1], 1, 1}, type, false));
    }
    give(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, make(5 + 2 * step, y, last ? type : CUDNN_DATA_FLOAT, !last));
    graph.text += " is " + std::to_string(operation.finalize());
    graph.operations.push_back(std::move(operation));
  }
  for (const Descriptor& operation : graph.operations) graph.raw.push_back(operation.raw());
  if (chance(30)) std::reverse(graph.raw.begin(), graph.raw.end());
  if (chance(spoiled)) graph.raw.push_back(graph.raw[0]);
  if (chance(spoiled)) graph.raw.erase(graph.raw.begin());
  graph.text += " in order";
  for (const auto raw : graph.raw) {
    for (std::size_t i = 0; i < graph.operations.size(); ++i) {
      if (graph.operations[i].raw() == raw) graph.text += " " + std::to_string(i);
    }
  }
  return graph;
}

void random_graphs(int cases) {
  for (int i = 0; i < cases; ++i) {
    const Graph spec = random_graph(4);
    Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    const int set = graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(spec.raw.size()),
                              spec.raw.data());
    say("graph " + spec.text + " set " + std::to_string(set), graph.finalize());
  }
}

// Does a Tesla T4 get a plan? What gets one here must get one there; NVIDIA's library may offer more.
void plans(int cases) {
  for (int i = 0; i < cases; ++i) {
    const Graph spec = random_graph(chance(70) ? 0 : 3, chance(70) ? 8 : 3);
    Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(spec.raw.size()), spec.raw.data());
    for_a_t4(graph);
    const int status = graph.finalize();
    say("plan " + spec.text + " graph " + std::to_string(status), status == CUDNN_STATUS_SUCCESS && has_plan_for_a_t4(graph) ? 1 : 0);
  }
}

}  // namespace
}  // namespace lockstep::test

int main(int argc, char** argv) {
  using namespace lockstep::test;  // NOLINT: this file's own
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  const int cases = argc > 1 ? std::atoi(argv[1]) : 300;
  generator.seed(argc > 2 ? static_cast<std::uint32_t>(std::atoi(argv[2])) : 1U);
  random_pointwise(cases);
  random_pointwise_operations(cases);
  random_graphs(cases);
  plans(argc > 3 ? std::atoi(argv[3]) : 0);
  return 0;
}
