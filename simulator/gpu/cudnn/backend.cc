// The virtual cuDNN's backend calls: descriptors are created, described, finalized, read and destroyed.
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "simulator/gpu/cudnn/descriptor.h"
#include "simulator/gpu/cudnn/rules.h"
#include "simulator/gpu/cudnn/support.h"

namespace lockstep::sim::dnn {
namespace {

std::string& last_refusal() {
  thread_local std::string words;
  return words;
}

Descriptor* as_descriptor(cudnnBackendDescriptor_t raw) { return static_cast<Descriptor*>(raw); }

// alpha and beta may be wide, whatever the data are.
bool is_factor(const Rule& rule) { return rule.type == CUDNN_TYPE_FLOAT; }

cudnnStatus_t set_descriptors(Descriptor& descriptor, const Rule& rule, std::int64_t count, const void* elements) {
  Slot slot;
  slot.count = std::max<std::int64_t>(count, 0);
  const auto* given = static_cast<const cudnnBackendDescriptor_t*>(elements);
  for (std::int64_t i = 0; i < count; ++i) {
    const Descriptor* element = as_descriptor(given[i]);
    if (rule.many && (!element || !element->finalized)) {  // those before it are kept
      slot.count = i;
      descriptor.slots[rule.name] = std::move(slot);
      return element ? refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a descriptor in the array is not finalized")
                     : refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "a descriptor in the array is null");
    }
    if (!element && rule.nullable) {
      descriptor.slots.erase(rule.name);
      return CUDNN_STATUS_SUCCESS;
    }
    if (!element) return refuse(CUDNN_STATUS_BAD_PARAM, "the descriptor given is null");
    slot.descriptors.push_back(std::make_shared<const Descriptor>(*element));
  }
  descriptor.slots[rule.name] = std::move(slot);
  return CUDNN_STATUS_SUCCESS;
}

template <typename T>
Slot one(T value) {
  Slot slot{1, std::vector<std::byte>(sizeof value), {}};
  std::memcpy(slot.bytes.data(), &value, sizeof value);
  return slot;
}

// What can be read of a finalized descriptor: what was set, what it defaults to, and what finalizing found out.
Slot readable_slot(const Descriptor& descriptor, cudnnBackendAttributeName_t name) {
  if (const auto found = descriptor.slots.find(name); found != descriptor.slots.end()) return found->second;
  switch (name) {
    case CUDNN_ATTR_TENSOR_DATA_TYPE:
    case CUDNN_ATTR_CONVOLUTION_COMP_TYPE:
      return one(CUDNN_DATA_FLOAT);
    case CUDNN_ATTR_TENSOR_UNIQUE_ID:
      return one(std::int64_t{0});
    case CUDNN_ATTR_TENSOR_VECTOR_COUNT:
      return one(std::int64_t{1});
    case CUDNN_ATTR_TENSOR_VECTORIZED_DIMENSION:
      return one(std::int64_t{-1});
    case CUDNN_ATTR_TENSOR_IS_VIRTUAL:
    case CUDNN_ATTR_TENSOR_IS_BY_VALUE:
      return one(false);
    case CUDNN_ATTR_CONVOLUTION_CONV_MODE:
      return one(CUDNN_CROSS_CORRELATION);
    case CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT:
      return one(engine_count(*descriptor.as<GraphValue>()));
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      return one(static_cast<std::int64_t>(descriptor.as<PlanValue>()->plan->workspace_bytes()));
    case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
      return one(descriptor.as<EngineValue>()->index);
    default:
      return {};  // numerical and behavior notes: exact, deterministic, nothing compiled at run time
  }
}

// Descriptors are read into descriptors that the caller has created, of the right kind and not finalized.
cudnnStatus_t read_into(cudnnBackendDescriptor_t target, cudnnBackendDescriptorType_t type, const EngineValue& engine) {
  Descriptor* to = as_descriptor(target);
  if (!to) return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "a descriptor to read into is null");
  if (to->type != type) return refuse(CUDNN_STATUS_BAD_PARAM, "a descriptor to read into is of another kind");
  to->slots.clear();
  to->finalized = true;
  if (type == CUDNN_BACKEND_ENGINE_DESCRIPTOR) {
    to->value = engine;
  } else {
    to->value = ConfigurationValue{engine};
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t get_descriptors(const Descriptor& descriptor, const Rule& rule, std::int64_t room, std::int64_t* count, void* elements) {
  std::vector<EngineValue> engines;
  cudnnBackendDescriptorType_t type = CUDNN_BACKEND_ENGINECFG_DESCRIPTOR;
  if (const auto* heuristic = descriptor.as<HeuristicValue>()) engines = heuristic->engines;
  if (const auto* configuration = descriptor.as<ConfigurationValue>()) {
    type = CUDNN_BACKEND_ENGINE_DESCRIPTOR;
    engines = {configuration->engine};
    if (room != 1) return refuse(rule.too_many, "a configuration has one engine");
  }
  const auto available = static_cast<std::int64_t>(engines.size());
  if (room > 0 && elements) {
    auto* targets = static_cast<cudnnBackendDescriptor_t*>(elements);
    for (std::int64_t i = 0; i < std::min(room, available); ++i) {
      const cudnnStatus_t status = read_into(targets[i], type, engines[static_cast<std::size_t>(i)]);
      if (status != CUDNN_STATUS_SUCCESS) return status;
    }
  }
  if (count) *count = room == 0 ? available : std::min(room, available);
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

cudnnStatus_t refuse(cudnnStatus_t status, const char* why) {
  last_refusal() = why;
  return status;
}

std::string take_last_refusal() { return std::exchange(last_refusal(), {}); }

}  // namespace lockstep::sim::dnn

using namespace lockstep::sim::dnn;  // NOLINT: the C interface of this file

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t descriptorType, cudnnBackendDescriptor_t* descriptor) {
  if (!descriptor) return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "nowhere to put the descriptor");
  if (!known_descriptor(descriptorType)) return refuse(CUDNN_STATUS_NOT_SUPPORTED, "unknown kind of descriptor");
  auto created = std::make_unique<Descriptor>();
  created->type = descriptorType;
  *descriptor = created.release();
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  if (!descriptor) return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no descriptor");
  std::unique_ptr<Descriptor>{as_descriptor(descriptor)}.reset();
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  if (!descriptor) return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no descriptor");
  try {
    return finalize(*as_descriptor(descriptor));
  } catch (const std::bad_alloc&) {
    return refuse(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no memory");
  } catch (const std::exception& error) {
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, error.what());  // oneDNN has no implementation
  }
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t attributeName,
                                       cudnnBackendAttributeType_t attributeType, int64_t elementCount, const void* arrayOfElements) {
  if (!descriptor) return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no descriptor");
  Descriptor& target = *as_descriptor(descriptor);
  if (target.finalized) return refuse(CUDNN_STATUS_BAD_PARAM, "the descriptor is finalized already");
  if (elementCount > 0 && !arrayOfElements) return refuse(CUDNN_STATUS_BAD_PARAM, "no array of elements");
  const Rule* rule = find_rule(target.type, attributeName);
  if (!rule) return refuse(CUDNN_STATUS_BAD_PARAM, "this kind of descriptor has no such attribute");
  if (!rule->settable) return refuse(rule->wrong_type, "this attribute can only be read");
  const bool wide_factor = is_factor(*rule) && attributeType == CUDNN_TYPE_DOUBLE;
  if (attributeType != rule->type && !wide_factor) return refuse(rule->wrong_type, "an attribute has elements of another type");
  if (elementCount < 1 && rule->too_few != CUDNN_STATUS_SUCCESS) return refuse(rule->too_few, "an attribute needs elements");
  if (elementCount > 1 && !rule->many) return refuse(rule->too_many, "an attribute has one element");
  if (rule->type == CUDNN_TYPE_BACKEND_DESCRIPTOR) return set_descriptors(target, *rule, elementCount, arrayOfElements);
  const auto* bytes = static_cast<const std::byte*>(arrayOfElements);
  target.slots[rule->name] = {elementCount, {bytes, bytes + static_cast<std::size_t>(elementCount) * element_bytes(attributeType)}, {}};
  return CUDNN_STATUS_SUCCESS;
}

// NOLINTNEXTLINE(misc-misplaced-const): as NVIDIA declares it
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor, cudnnBackendAttributeName_t attributeName,
                                       cudnnBackendAttributeType_t attributeType, int64_t requestedElementCount, int64_t* elementCount,
                                       void* arrayOfElements) {
  if (!descriptor) return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no descriptor");
  const Descriptor& source = *as_descriptor(descriptor);
  if (!source.finalized) return refuse(CUDNN_STATUS_NOT_INITIALIZED, "the descriptor is not finalized");
  if (requestedElementCount < 0) return refuse(CUDNN_STATUS_BAD_PARAM, "a negative number of elements");
  const Rule* rule = find_rule(source.type, attributeName);
  if (!rule) return refuse(CUDNN_STATUS_BAD_PARAM, "this kind of descriptor has no such attribute");
  if (!rule->readable) {
    const bool reordering = attributeName == CUDNN_ATTR_TENSOR_REORDERING_MODE;
    return refuse(reordering ? CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE : CUDNN_STATUS_NOT_SUPPORTED, "this attribute cannot be read");
  }
  if (attributeType != rule->type && !(is_factor(*rule) && attributeType == CUDNN_TYPE_DOUBLE)) {
    return refuse(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "an attribute has elements of another type");
  }
  if (rule->type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
    return get_descriptors(source, *rule, requestedElementCount, elementCount, arrayOfElements);
  if (!rule->many && requestedElementCount != 1) return refuse(CUDNN_STATUS_BAD_PARAM, "an attribute has one element");
  const Slot slot = readable_slot(source, attributeName);
  const std::int64_t count = std::min(requestedElementCount, slot.count);
  if (arrayOfElements && slot.count > 0) {
    std::memcpy(arrayOfElements, slot.bytes.data(),
                static_cast<std::size_t>(count) * (slot.bytes.size() / static_cast<std::size_t>(slot.count)));
  }
  if (elementCount) *elementCount = count;
  return CUDNN_STATUS_SUCCESS;
}
