// Puts the same descriptors, good and bad, to a cuDNN and prints what it answers, a line each.
//
// Compiled twice: against the virtual cuDNN and, where it is found, against NVIDIA's, which checks descriptors without a
// GPU. The two tables must be equal. Usage: program [number of random cases of each kind] [seed]
#include <algorithm>

#include "tests/conformance/cudnn_probe.h"

namespace lockstep::test {
namespace {

// Every attribute with wrong types, counts and pointers.
void attributes() {
  struct Probe {
    const char* name;
    cudnnBackendDescriptorType_t descriptor;
    cudnnBackendAttributeName_t attribute;
    cudnnBackendAttributeType_t type;
  };
  std::vector<Probe> probes = {
      {"tensor type", CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE},
      {"tensor dims", CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64},
      {"tensor strides", CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64},
      {"tensor uid", CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64},
      {"tensor alignment", CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64},
      {"tensor virtual", CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN},
      {"tensor by value", CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN},
      {"tensor vector count", CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_VECTOR_COUNT, CUDNN_TYPE_INT64},
      {"tensor vectorized dim", CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_VECTORIZED_DIMENSION, CUDNN_TYPE_INT64},
      {"tensor reordering", CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_REORDERING_MODE, CUDNN_TYPE_TENSOR_REORDERING_MODE},
      {"convolution type", CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE},
      {"convolution mode", CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE},
      {"convolution dilations", CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64},
      {"convolution strides", CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64},
      {"convolution post", CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64},
      {"convolution pre", CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64},
      {"convolution spatial", CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64},
      {"heuristic mode", CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE},
      {"heuristic graph", CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR},
      {"heuristic results", CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR},
      {"configuration engine", CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR},
      {"engine graph", CUDNN_BACKEND_ENGINE_DESCRIPTOR, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR},
      {"engine index", CUDNN_BACKEND_ENGINE_DESCRIPTOR, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64},
      {"engine notes", CUDNN_BACKEND_ENGINE_DESCRIPTOR, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE},
      {"engine behavior", CUDNN_BACKEND_ENGINE_DESCRIPTOR, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE},
      {"plan configuration", CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
       CUDNN_TYPE_BACKEND_DESCRIPTOR},
      {"plan workspace", CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64},
      {"graph operations", CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR},
      {"graph engines", CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, CUDNN_TYPE_INT64},
      {"pack ids", CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64},
      {"pack pointers", CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR},
      {"pack workspace", CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR},
  };
  const auto pointwise = CUDNN_BACKEND_POINTWISE_DESCRIPTOR;
  const auto applied = CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR;
  probes.insert(probes.end(),
                {
                    {"pointwise mode", pointwise, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE},
                    {"pointwise type", pointwise, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE},
                    {"pointwise lower clip", pointwise, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, CUDNN_TYPE_DOUBLE},
                    {"pointwise upper clip", pointwise, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, CUDNN_TYPE_DOUBLE},
                    {"pointwise slope", pointwise, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, CUDNN_TYPE_DOUBLE},
                    {"pointwise elu alpha", pointwise, CUDNN_ATTR_POINTWISE_ELU_ALPHA, CUDNN_TYPE_DOUBLE},
                    {"pointwise softplus beta", pointwise, CUDNN_ATTR_POINTWISE_SOFTPLUS_BETA, CUDNN_TYPE_DOUBLE},
                    {"pointwise swish beta", pointwise, CUDNN_ATTR_POINTWISE_SWISH_BETA, CUDNN_TYPE_DOUBLE},
                    {"pointwise axis", pointwise, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64},
                    {"applied pointwise", applied, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR},
                    {"applied x", applied, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR},
                    {"applied b", applied, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR},
                    {"applied t", applied, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR},
                    {"applied y", applied, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR},
                    {"applied dx", applied, CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR},
                    {"applied dy", applied, CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR},
                    {"applied alpha1", applied, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, CUDNN_TYPE_FLOAT},
                    {"applied alpha2", applied, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, CUDNN_TYPE_FLOAT},
                });
  for (const Kind& kind : kKinds) {
    probes.push_back({"operation x", kind.type, kind.x, CUDNN_TYPE_BACKEND_DESCRIPTOR});
    probes.push_back({"operation w", kind.type, kind.w, CUDNN_TYPE_BACKEND_DESCRIPTOR});
    probes.push_back({"operation y", kind.type, kind.y, CUDNN_TYPE_BACKEND_DESCRIPTOR});
    probes.push_back({"operation convolution", kind.type, kind.convolution, CUDNN_TYPE_BACKEND_DESCRIPTOR});
    probes.push_back({"operation alpha", kind.type, kind.alpha, CUDNN_TYPE_FLOAT});
    probes.push_back({"operation alpha", kind.type, kind.alpha, CUDNN_TYPE_DOUBLE});
    probes.push_back({"operation beta", kind.type, kind.beta, CUDNN_TYPE_FLOAT});
    probes.push_back({"operation beta", kind.type, kind.beta, CUDNN_TYPE_DOUBLE});
  }
  const Descriptor good_tensor = tensor(1, {2, 3, 4, 5}, channels_last({2, 3, 4, 5}));
  const Descriptor raw_tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const Descriptor good_convolution = convolution({{0, 0}, {0, 0}, {1, 1}, {1, 1}});
  alignas(16) std::int64_t numbers[32];
  for (auto& number : numbers) number = 1;
  const auto call = [&](const Probe& probe, const char* how, cudnnBackendAttributeType_t type, std::int64_t count, const void* values) {
    const auto set = [&] { return Descriptor(probe.descriptor).set(probe.attribute, type, count, values); };
    say(std::string("set ") + std::to_string(probe.descriptor) + " " + probe.name + ", " + how + ", type " + std::to_string(type) +
            ", count " + std::to_string(count),
        probe.type == CUDNN_TYPE_BACKEND_DESCRIPTOR ? survive(set) : set());
  };
  for (const Probe& probe : probes) {
    if (probe.type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
      const std::pair<const char*, cudnnBackendDescriptor_t> candidates[] = {{"a tensor", good_tensor.raw()},
                                                                             {"a raw tensor", raw_tensor.raw()},
                                                                             {"a convolution", good_convolution.raw()},
                                                                             {"null", nullptr}};
      for (const auto& [how, raw] : candidates) {
        const cudnnBackendDescriptor_t several[] = {raw, raw, raw};
        for (const std::int64_t count : {-1, 0, 1, 2, 3}) call(probe, how, probe.type, count, several);
        call(probe, how, CUDNN_TYPE_INT64, 1, several);
      }
      call(probe, "no array", probe.type, 1, nullptr);
      continue;
    }
    for (const std::int64_t count : {-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16}) call(probe, "ones", probe.type, count, numbers);
    for (const auto type : {CUDNN_TYPE_HANDLE, CUDNN_TYPE_DATA_TYPE, CUDNN_TYPE_BOOLEAN, CUDNN_TYPE_INT64, CUDNN_TYPE_FLOAT,
                            CUDNN_TYPE_DOUBLE, CUDNN_TYPE_VOID_PTR, CUDNN_TYPE_CONVOLUTION_MODE}) {
      if (type != probe.type) call(probe, "ones", type, 1, numbers);
    }
    call(probe, "no array", probe.type, 1, nullptr);
    call(probe, "no array", probe.type, 0, nullptr);
    call({probe.name, CUDNN_BACKEND_TENSOR_DESCRIPTOR, probe.attribute, probe.type}, "on a tensor", probe.type, 1, numbers);
  }

  // Values outside an enumeration or range.
  for (const std::int64_t value : {-2, -1, 0, 1, 2, 3, 4, 5, 8, 12, 16, 24, 32, 64, 128, 256, 512, 1000}) {
    for (const Probe& probe : probes) {
      if (probe.type == CUDNN_TYPE_BACKEND_DESCRIPTOR || probe.type == CUDNN_TYPE_VOID_PTR || probe.type == CUDNN_TYPE_FLOAT ||
          probe.type == CUDNN_TYPE_DOUBLE) {
        continue;
      }
      say(std::string("set ") + probe.name + " to " + std::to_string(value),
          Descriptor(probe.descriptor).set(probe.attribute, probe.type, 1, &value));
    }
  }
  say("set on no descriptor", cudnnBackendSetAttribute(nullptr, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, numbers));
  say("finalize no descriptor", cudnnBackendFinalize(nullptr));
  say("create to nowhere", survive([] { return cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, nullptr); }));
  say("destroy no descriptor", survive([] { return cudnnBackendDestroyDescriptor(nullptr); }));

  // Reading: before and after finalizing, with much, little and no room.
  for (const bool finalized : {false, true}) {
    Descriptor subject(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    TensorSpec spec{{2, 3, 4, 5}, channels_last({2, 3, 4, 5})};
    if (finalized) fill(subject, spec);
    for (const Probe& probe : probes) {
      if (probe.descriptor != CUDNN_BACKEND_TENSOR_DESCRIPTOR) continue;
      for (const std::int64_t room : {-1, 0, 1, 2, 4, 8}) {
        std::int64_t count = -7;
        std::int64_t to[16] = {};
        const int status = subject.get(probe.attribute, probe.type, room, &count, to);
        say(std::string("get ") + probe.name + (finalized ? " finalized" : " raw") + " room " + std::to_string(room) + " first " +
                std::to_string(to[0]) + " count " + std::to_string(count),
            status);
      }
      std::int64_t count = -7;
      std::int64_t to[16] = {};
      say(std::string("get ") + probe.name + " no array",
          survive([&] { return subject.get(probe.attribute, probe.type, 1, &count, nullptr); }));
      say(std::string("get ") + probe.name + " no count",
          survive([&] { return subject.get(probe.attribute, probe.type, 1, nullptr, to); }));
      say(std::string("get ") + probe.name + " as float", subject.get(probe.attribute, CUDNN_TYPE_FLOAT, 1, &count, to));
    }
    if (finalized) {
      say("finalize twice", subject.finalize());
      say("set after finalize", subject.ints(CUDNN_ATTR_TENSOR_UNIQUE_ID, {7}));
    }
  }
}

void random_tensors(int cases) {
  for (int i = 0; i < cases; ++i) {
    TensorSpec spec;
    const auto rank = chance(80) ? pick(3, 5) : pick(0, 9);
    for (std::int64_t d = 0; d < rank; ++d) spec.dims.push_back(chance(92) ? pick(1, 9) : pick(-1, 0));
    spec.strides = chance(50) ? channels_last(spec.dims) : channels_first(spec.dims);
    if (chance(20) && !spec.strides.empty()) spec.strides[static_cast<std::size_t>(pick(0, rank - 1))] = pick(-2, 40);
    if (chance(10)) spec.strides.push_back(1);
    if (chance(10) && !spec.strides.empty()) spec.strides.pop_back();
    spec.alignment = chance(70) ? std::int64_t{4} << pick(0, 4) : pick(-1, 20);
    if (chance(20)) spec.type = static_cast<cudnnDataType_t>(pick(0, 14));
    const auto skip = chance(80) ? -1 : pick(0, 4);
    const bool is_virtual = chance(15);
    Descriptor subject(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    std::string what = "tensor " + text(spec.dims) + " " + text(spec.strides) + " type " + std::to_string(spec.type) + " alignment " +
                       std::to_string(spec.alignment) + " without " + std::to_string(skip) + (is_virtual ? " virtual" : "") + " set";
    const auto note = [&](int status) { what += " " + std::to_string(status); };
    if (skip != 0) note(subject.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &spec.type));
    if (skip != 1) note(subject.ints(CUDNN_ATTR_TENSOR_DIMENSIONS, spec.dims));
    if (skip != 2) note(subject.ints(CUDNN_ATTR_TENSOR_STRIDES, spec.strides));
    if (skip != 3) note(subject.ints(CUDNN_ATTR_TENSOR_UNIQUE_ID, {pick(-3, 100)}));
    if (skip != 4) note(subject.ints(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {spec.alignment}));
    if (is_virtual) note(subject.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual));
    say(what, subject.finalize());
  }
}

void random_convolutions(int cases) {
  for (int i = 0; i < cases; ++i) {
    const auto spatial = chance(80) ? 2 : pick(-1, 7);
    const auto numbers = [&](std::int64_t low, std::int64_t high) {
      Ints values;
      const auto count = chance(90) ? spatial : pick(0, 7);
      for (std::int64_t d = 0; d < count; ++d) values.push_back(chance(90) ? pick(low, high) : pick(-2, 0));
      return values;
    };
    const Ints pre = numbers(0, 3), post = numbers(0, 3), strides = numbers(1, 3), dilations = numbers(1, 3);
    const auto skip = chance(75) ? -1 : pick(0, 6);
    const auto type = static_cast<cudnnDataType_t>(chance(80) ? 0 : pick(0, 14));
    const auto mode = static_cast<cudnnConvolutionMode_t>(chance(90) ? 1 : 0);
    Descriptor subject(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    std::string what = "convolution spatial " + std::to_string(spatial) + " pre " + text(pre) + " post " + text(post) + " strides " +
                       text(strides) + " dilations " + text(dilations) + " type " + std::to_string(type) + " mode " + std::to_string(mode) +
                       " without " + std::to_string(skip) + " set";
    const auto note = [&](int status) { what += " " + std::to_string(status); };
    if (skip != 0) note(subject.ints(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {spatial}));
    if (skip != 1) note(subject.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type));
    if (skip != 2) note(subject.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode));
    if (skip != 3) note(subject.ints(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, pre));
    if (skip != 4) note(subject.ints(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, post));
    if (skip != 5) note(subject.ints(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, strides));
    if (skip != 6) note(subject.ints(CUDNN_ATTR_CONVOLUTION_DILATIONS, dilations));
    say(what, subject.finalize());
  }
}

void random_operations(int cases) {
  for (int i = 0; i < cases; ++i) {
    const Kind& kind = kKinds[pick(0, 2)];
    const auto spatial = static_cast<std::size_t>(chance(90) ? 2 : pick(1, 3));
    Geometry geometry;
    geometry.spatial = static_cast<std::int64_t>(spatial);
    Ints x = {pick(1, 8), pick(1, 9)}, w = {pick(1, 9), x[1]}, y = {x[0], w[0]};
    if (chance(10)) {  // groups
      const auto groups = pick(2, 4);
      x[1] = w[1] * groups;
      w[0] = y[1] = w[0] * groups;
    }
    for (std::size_t d = 0; d < spatial; ++d) {
      x.push_back(pick(1, 20));
      w.push_back(pick(1, 5));
      geometry.pre.push_back(chance(50) ? 0 : pick(0, 3));
      geometry.post.push_back(chance(70) ? geometry.pre.back() : pick(0, 3));
      geometry.strides.push_back(chance(60) ? 1 : pick(1, 3));
      geometry.dilations.push_back(chance(70) ? 1 : pick(1, 3));
      const auto reach = (w.back() - 1) * geometry.dilations.back() + 1;
      const auto span = x.back() + geometry.pre.back() + geometry.post.back() - reach;
      y.push_back(span >= 0 ? span / geometry.strides.back() + 1 : pick(1, 3));
    }
    // Now and then one number is wrong.
    if (chance(35)) {
      Ints& victim = std::vector<Ints*>{&x, &w, &y}[static_cast<std::size_t>(pick(0, 2))][0];
      auto& number = victim[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(victim.size()) - 1))];
      number = std::max<std::int64_t>(1, number + (chance(50) ? 1 : -1));
    }
    if (chance(3)) y.push_back(1);
    if (chance(3)) geometry.mode = CUDNN_CONVOLUTION;
    const auto type_of = [&]() { return chance(95) ? CUDNN_DATA_FLOAT : static_cast<cudnnDataType_t>(pick(0, 3)); };
    const auto layout = [&](const Ints& dims) {
      Ints strides = chance(75) ? channels_last(dims) : channels_first(dims);
      if (chance(5)) strides[0] += pick(0, 5);
      if (chance(3)) strides[static_cast<std::size_t>(pick(0, 2))] = pick(0, 60);
      return strides;
    };
    std::string what = std::string(kind.name);
    const auto make = [&](std::int64_t uid, const char* name, const Ints& dims) {
      TensorSpec spec{dims, layout(dims), uid, 16, type_of()};
      if (chance(2)) spec.uid = 1;
      Descriptor result(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
      const int status = fill(result, spec);
      what += std::string(" ") + name + " " + text(dims) + text(spec.strides) + " type " + std::to_string(spec.type) + " id " +
              std::to_string(spec.uid) + " is " + std::to_string(status);
      return result;
    };
    const Descriptor x_tensor = make(1, "x", x), w_tensor = make(2, "w", w), y_tensor = make(3, "y", y);
    geometry.type = type_of();
    int status = 0;
    const Descriptor geometry_descriptor = convolution(geometry, &status);
    what += " pre " + text(geometry.pre) + " post " + text(geometry.post) + " strides " + text(geometry.strides) + " dilations " +
            text(geometry.dilations) + " mode " + std::to_string(geometry.mode) + " type " + std::to_string(geometry.type) + " is " +
            std::to_string(status);
    Descriptor operation(kind.type);
    const auto skip = chance(85) ? -1 : pick(0, 5);
    what += " without " + std::to_string(skip) + " set";
    const auto note = [&](int answer) { what += " " + std::to_string(answer); };
    const auto give = [&](int number, cudnnBackendAttributeName_t attribute, const Descriptor& descriptor) {
      const cudnnBackendDescriptor_t raw = descriptor.raw();
      if (skip != number) note(operation.set(attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw));
    };
    give(0, kind.x, x_tensor);
    give(1, kind.w, w_tensor);
    give(2, kind.y, y_tensor);
    give(3, kind.convolution, geometry_descriptor);
    const float alpha = 1, beta = chance(80) ? 0.0F : 1.0F;
    const double alpha64 = 1, beta64 = 0;
    const bool wide = chance(10);
    if (skip != 4)
      note(wide ? operation.set(kind.alpha, CUDNN_TYPE_DOUBLE, 1, &alpha64) : operation.set(kind.alpha, CUDNN_TYPE_FLOAT, 1, &alpha));
    if (skip != 5)
      note(wide ? operation.set(kind.beta, CUDNN_TYPE_DOUBLE, 1, &beta64) : operation.set(kind.beta, CUDNN_TYPE_FLOAT, 1, &beta));
    say(what + (wide ? " wide" : ""), operation.finalize());
  }
}

// Tensors for images, filter and output of some operation that fits.
struct Fitting {
  Ints x{2, 3, 6, 6}, w{4, 3, 3, 3}, y{2, 4, 4, 4};
  Geometry geometry{{0, 0}, {0, 0}, {1, 1}, {1, 1}};
};

int finalize_operation(const Kind& kind, const Fitting& fitting, bool x_raw = false, bool x_later = false) {
  Descriptor x(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  if (!x_raw && !x_later) fill(x, {fitting.x, channels_last(fitting.x), 1});
  const Descriptor w = tensor(2, fitting.w, channels_last(fitting.w)), y = tensor(3, fitting.y, channels_last(fitting.y));
  const Descriptor geometry = convolution(fitting.geometry);
  Descriptor operation(kind.type);
  const auto give = [&](cudnnBackendAttributeName_t attribute, const Descriptor& descriptor) {
    const cudnnBackendDescriptor_t raw = descriptor.raw();
    operation.set(attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
  };
  give(kind.x, x);
  give(kind.w, w);
  give(kind.y, y);
  give(kind.convolution, geometry);
  if (x_later) fill(x, {fitting.x, channels_last(fitting.x), 1});
  return operation.finalize();
}

void special_operations() {
  for (const Kind& kind : kKinds) {
    const std::string name = kind.name;
    say(name + " that fits", finalize_operation(kind, {}));
    say(name + " of a raw tensor", finalize_operation(kind, {}, true));
    say(name + " of a tensor finalized after it was given", finalize_operation(kind, {}, false, true));
    for (int which = 0; which < 3; ++which) {
      for (std::size_t d = 0; d < 4; ++d) {
        Fitting empty;
        (which == 0 ? empty.x : which == 1 ? empty.w : empty.y)[d] = 0;
        say(name + " with tensor " + std::to_string(which) + " empty in dimension " + std::to_string(d),
            survive([&] { return finalize_operation(kind, empty); }));
      }
    }
    Fitting no_batch;
    no_batch.x[0] = no_batch.y[0] = 0;
    say(name + " without samples", survive([&] { return finalize_operation(kind, no_batch); }));
    Fitting no_channels;
    no_channels.x[1] = no_channels.w[1] = 0;
    say(name + " without channels", survive([&] { return finalize_operation(kind, no_channels); }));
  }
}

// Kinds that need a device to be complete: what they say when they are not.
void incomplete() {
  for (const auto type :
       {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_BACKEND_ENGINE_DESCRIPTOR,
        CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
        CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR,
        CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
        CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR}) {
    say("finalize an empty " + std::to_string(type), survive([&] { return Descriptor(type).finalize(); }));
  }
}

void random_packs(int cases) {
  std::int64_t memory[16] = {};
  for (int i = 0; i < cases; ++i) {
    Ints ids;
    const auto count = pick(0, 5);
    for (std::int64_t d = 0; d < count; ++d) ids.push_back(chance(90) ? d + 1 : pick(-1, 5));
    std::vector<void*> pointers;
    const auto pointer_count = chance(85) ? count : pick(0, 5);
    std::string which;
    for (std::int64_t d = 0; d < pointer_count; ++d) {
      const bool null = chance(5);
      pointers.push_back(null ? nullptr : &memory[d]);
      which += null ? '0' : '1';
    }
    Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    std::string what = "pack " + text(ids) + " pointers " + which + " set";
    const auto note = [&](int status) { what += " " + std::to_string(status); };
    if (chance(95)) note(pack.ints(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids));
    note(pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, pointer_count, pointers.data()));
    void* workspace = chance(50) ? nullptr : memory;
    if (chance(70)) note(pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace));
    say(what + (workspace ? " workspace" : ""), pack.finalize());
  }
}

}  // namespace
}  // namespace lockstep::test

int main(int argc, char** argv) {
  using namespace lockstep::test;  // NOLINT: this file's own
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  const int cases = argc > 1 ? std::atoi(argv[1]) : 300;
  generator.seed(argc > 2 ? static_cast<std::uint32_t>(std::atoi(argv[2])) : 1U);
  attributes();
  random_tensors(cases);
  random_convolutions(cases);
  random_operations(cases);
  special_operations();
  incomplete();
  random_packs(cases);
  return 0;
}
