#include "engine/nn/variables.h"

#include <utility>

#include "engine/ops/elementwise.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::int64_t kAlignment = 64;  // elements: 256 bytes, so every variable starts as a buffer of its own would

std::int64_t aligned(std::int64_t elements) { return (elements + kAlignment - 1) / kAlignment * kAlignment; }

std::size_t bytes_of(std::int64_t elements) { return static_cast<std::size_t>(elements) * sizeof(float); }

OpContext on(LogicalGpu& gpu) { return OpContext{&gpu, &gpu.compute(), {}}; }

Buffer zeros(LogicalGpu& gpu, std::int64_t elements, const std::string& owner) {
  if (elements == 0) return {};
  Buffer buffer = gpu.arena().allocate(bytes_of(elements), owner);
  ops::fill(on(gpu), 0.0F, Tensor(buffer.raw(), Shape{elements}));
  return buffer;
}

}  // namespace

VariableLayout::VariableLayout(std::vector<VariableSpec> specs, std::vector<int> ready_order)
    : specs_(std::move(specs)), ready_order_(std::move(ready_order)), offsets_(specs_.size(), -1) {
  for (const int variable : ready_order_) {
    if (variable < 0 || variable >= static_cast<int>(specs_.size()))
      throw Error("VariableLayout: there is no variable " + std::to_string(variable));
    const auto i = static_cast<std::size_t>(variable);
    if (!specs_[i].trainable || offsets_[i] >= 0)
      throw Error("VariableLayout: " + specs_[i].name + " is not trainable or listed twice in the order of gradients");
    offsets_[i] = trainable_elements_;
    trainable_elements_ += aligned(specs_[i].shape.size());
  }
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    if (specs_[i].trainable && offsets_[i] < 0) throw Error("VariableLayout: " + specs_[i].name + " is missing in the order of gradients");
  }
  for (const bool frozen : {false, true}) {
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (specs_[i].trainable || specs_[i].frozen != frozen) continue;
      offsets_[i] = state_elements_;
      state_elements_ += aligned(specs_[i].shape.size());
    }
    if (!frozen) moving_elements_ = state_elements_;
  }
}

std::int64_t VariableLayout::parameters() const {
  std::int64_t sum = 0;
  for (const VariableSpec& spec : specs_) sum += spec.shape.size();
  return sum;
}

int VariableLayout::find(const std::string& name) const {
  for (std::size_t i = 0; i < specs_.size(); ++i)
    if (specs_[i].name == name) return static_cast<int>(i);
  return -1;
}

VariableStore::VariableStore(LogicalGpu& gpu, const VariableLayout& layout, std::string owner)
    : gpu_(&gpu),
      layout_(&layout),
      owner_(std::move(owner)),
      weights_(zeros(gpu, layout.trainable_elements(), owner_ + ": weights")),
      gradients_(zeros(gpu, layout.trainable_elements(), owner_ + ": gradients")),
      state_(zeros(gpu, layout.state_elements(), owner_ + ": state")) {}

VariableStore::VariableStore(LogicalGpu& gpu, const VariableLayout& layout, std::string owner, const VariableStore& lender)
    : gpu_(&gpu),
      layout_(&layout),
      owner_(std::move(owner)),
      lender_(&lender),
      gradients_(zeros(gpu, layout.trainable_elements(), owner_ + ": gradients")),
      state_(zeros(gpu, layout.state_elements(), owner_ + ": state")) {}

Tensor VariableStore::variable(int index) const {
  const VariableSpec& spec = layout_->specs().at(static_cast<std::size_t>(index));
  const Buffer& buffer = spec.trainable ? lender().weights_ : state_;
  return {buffer.data<float>() + layout_->offset(index), spec.shape};
}

Tensor VariableStore::gradient(int index) const {
  const VariableSpec& spec = layout_->specs().at(static_cast<std::size_t>(index));
  if (!spec.trainable) throw Error(spec.name + " is not trained: it has no gradient and no slots");
  return {gradients_.data<float>() + layout_->offset(index), spec.shape};
}

Tensor VariableStore::weights() const { return {lender().weights_.raw(), Shape{layout_->trainable_elements()}}; }
Tensor VariableStore::gradients() const { return {gradients_.raw(), Shape{layout_->trainable_elements()}}; }
Tensor VariableStore::state() const { return {state_.raw(), Shape{layout_->state_elements()}}; }
Tensor VariableStore::moving() const { return {state_.raw(), Shape{layout_->moving_elements()}}; }

void VariableStore::make_slots(int count) {
  if (borrows() || count == slots()) return;
  slots_.clear();
  for (int k = 0; k < count; ++k)
    slots_.push_back(zeros(*gpu_, layout_->trainable_elements(), owner_ + ": optimizer slot " + std::to_string(k)));
}

Tensor VariableStore::slot(int k) const {
  return {lender().slots_.at(static_cast<std::size_t>(k)).raw(), Shape{layout_->trainable_elements()}};
}

void VariableStore::make_squares(bool yes) {
  if (yes == !squares_.empty()) return;
  squares_.clear();
  ++generation_;
  if (!yes) return;
  squares_.resize(layout_->specs().size());
  for (std::size_t i = 0; i < squares_.size(); ++i) {
    const VariableSpec& spec = layout_->specs()[i];
    if (spec.sparse && spec.trainable) squares_[i] = zeros(*gpu_, spec.shape.size(), owner_ + ": squares of " + spec.name);
  }
}

Tensor VariableStore::squares(int index) const {
  if (squares_.empty()) return {};
  const auto i = static_cast<std::size_t>(index);
  return {squares_.at(i).raw(), squares_[i].raw() != nullptr ? layout_->specs()[i].shape : Shape()};
}

Tensor VariableStore::scratch(std::size_t bytes) {
  const auto floats = static_cast<std::int64_t>((bytes + sizeof(float) - 1) / sizeof(float));
  if (scratch_.bytes() < bytes) scratch_ = zeros(*gpu_, floats, owner_ + ": the optimizer's scratch");
  return {scratch_.raw(), Shape{floats}};
}

void VariableStore::initialize(std::uint64_t seed) {
  for (std::size_t i = 0; i < layout_->specs().size(); ++i) {
    const VariableSpec& spec = layout_->specs()[i];
    write(static_cast<int>(i), Array(spec.shape, spec.initializer.values(spec.shape, seed, i)));
  }
}

Tensor VariableStore::part(int index, VariablePart part) const {
  if (part.kind == VariablePart::Kind::value) return variable(index);
  const Tensor own = gradient(index);
  return part.kind == VariablePart::Kind::gradient ? own : Tensor(slot(part.k).f32() + layout_->offset(index), own.shape());
}

Array VariableStore::read(int index, VariablePart which) const {
  const Tensor from = part(index, which);
  Array values(from.shape());
  if (values.empty()) return values;
  ops::download(on(*gpu_), from, values.raw());
  gpu_->compute().synchronize();
  return values;
}

void VariableStore::write(int index, const Array& values, VariablePart which) {
  const Tensor to = part(index, which);
  if (values.shape() != to.shape() || values.dtype() != DType::float32)
    throw Error(layout_->specs()[static_cast<std::size_t>(index)].name + " holds floats of shape " + to.shape().str() + "; got shape " +
                values.shape().str() + (values.dtype() == DType::float32 ? "" : " of integers"));
  if (values.empty()) return;
  ops::upload(on(*gpu_), values.raw(), to);
  gpu_->compute().synchronize();
}

}  // namespace lockstep
