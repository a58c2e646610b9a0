// Choosing and running a cuDNN plan.
#include "engine/ops/dnn_graph.h"

#include <algorithm>

#include <backend/tuning.h>

namespace lockstep::ops {

namespace {

// What no plan of the fp32 path may do: different bits from run to run, TF32 or half precision inside.
constexpr std::initializer_list<cudnnBackendNumericalNote_t> kRefusedNotes = {
    CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS,
    CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION};

std::vector<cudnnBackendNumericalNote_t> notes_of(const DnnDescriptor& config) {
  const DnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t slot = engine.get();
  std::int64_t count = 0;
  LOCKSTEP_CHECK(cudnnBackendGetAttribute(config.get(), CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &slot));
  LOCKSTEP_CHECK(cudnnBackendGetAttribute(slot, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, 0, &count, nullptr));
  std::vector<cudnnBackendNumericalNote_t> notes(static_cast<std::size_t>(count));
  if (count > 0) {
    LOCKSTEP_CHECK(
        cudnnBackendGetAttribute(slot, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, count, &count, notes.data()));
    notes.resize(static_cast<std::size_t>(count));
  }
  return notes;
}

bool acceptable(const DnnDescriptor& config) {
  const auto notes = notes_of(config);
  return std::none_of(notes.begin(), notes.end(), [](cudnnBackendNumericalNote_t note) {
    return std::find(kRefusedNotes.begin(), kRefusedNotes.end(), note) != kRefusedNotes.end();
  });
}

// Engine configurations in the order the heuristic prefers them; none where it knows nothing.
std::vector<DnnDescriptor> ask(const DnnDescriptor& graph, cudnnBackendHeurMode_t mode) {
  DnnDescriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph).set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  std::vector<DnnDescriptor> configs;
  if (cudnnBackendFinalize(heuristic.get()) != CUDNN_STATUS_SUCCESS) return configs;
  std::int64_t count = 0;
  if (cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr) !=
      CUDNN_STATUS_SUCCESS) {
    return configs;
  }
  std::vector<cudnnBackendDescriptor_t> slots;
  for (std::int64_t i = 0; i < count; ++i) slots.push_back(configs.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
  if (count == 0) return configs;
  LOCKSTEP_CHECK(
      cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count, slots.data()));
  configs.erase(configs.begin() + static_cast<std::ptrdiff_t>(count), configs.end());
  return configs;
}

}  // namespace

DnnDescriptor dnn_tensor(std::int64_t uid, const std::vector<std::int64_t>& extents, const std::vector<std::int64_t>& strides) {
  DnnDescriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
      .set_all(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, extents)
      .set_all(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides)
      .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, uid)
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, std::int64_t{16})
      .finalize();
  return tensor;
}

std::optional<DnnPlan> DnnPlan::make(cudnnHandle_t handle, const DnnDescriptor& operation) {
  DnnDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle).set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  if (cudnnBackendFinalize(graph.get()) != CUDNN_STATUS_SUCCESS) return std::nullopt;
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    for (const DnnDescriptor& config : ask(graph, mode)) {
      if (!acceptable(config)) continue;
      DnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle).set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
      if (cudnnBackendFinalize(plan.get()) != CUDNN_STATUS_SUCCESS) continue;  // the heuristic's guess does not fit this device
      std::int64_t bytes = 0;
      std::int64_t count = 0;
      LOCKSTEP_CHECK(cudnnBackendGetAttribute(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count, &bytes));
      if (bytes <= tuning::kConvolutionWorkspace) return DnnPlan(std::move(plan), bytes);
    }
  }
  return std::nullopt;
}

void DnnPlan::run(cudnnHandle_t handle, const std::vector<void*>& pointers, void* workspace) {
  if (!pack_ || pointers != pack_pointers_ || workspace != pack_workspace_) {
    DnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set_all(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, std::vector<std::int64_t>{1, 2, 3})
        .set_all(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, pointers)
        .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace)
        .finalize();
    pack_ = std::move(pack);
    pack_pointers_ = pointers;
    pack_workspace_ = workspace;
  }
  LOCKSTEP_CHECK(cudnnBackendExecute(handle, plan_.get(), pack_->get()));
}

}  // namespace lockstep::ops
