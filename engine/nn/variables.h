// The variables of a model: how they lie in memory (the same on every replica) and one replica's copy of them.
//
// All trainable variables stand in one flat buffer, in the order in which backward finishes their gradients; so a bucket of
// gradients is a range of the flat gradient buffer, and the optimizer is one kernel over everything.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/nn/initializer.h"
#include "engine/tensor/tensor.h"
#include "simulator/logical/logical_gpu.h"

namespace lockstep {

struct VariableSpec {
  std::string name;  // "conv2d/kernel", as Keras calls it
  Shape shape;
  bool trainable = true;
  Initializer initializer;
  bool sparse = false;  // its gradient comes by rows, most of which are zero: an Embedding's table
  bool frozen = false;  // its layer is not trained; then `trainable` is false as well
};

class VariableLayout {
 public:
  // `specs` in Keras' order (layer by layer, as model.weights lists them); `ready_order` lists the indices of the trainable
  // ones in the order backward finishes their gradients.
  VariableLayout(std::vector<VariableSpec> specs, std::vector<int> ready_order);

  const std::vector<VariableSpec>& specs() const { return specs_; }  // Keras' order; indices below refer to it
  const std::vector<int>& ready_order() const { return ready_order_; }
  std::int64_t offset(int variable) const { return offsets_[static_cast<std::size_t>(variable)]; }  // in elements, 64-element aligned
  std::int64_t trainable_elements() const { return trainable_elements_; }  // padding included; padding is zero and stays zero
  std::int64_t state_elements() const { return state_elements_; }          // variables that are not trained, such as moving statistics
  std::int64_t moving_elements() const { return moving_elements_; }        // of these, the first: those that training moves
  std::int64_t parameters() const;                                         // as Keras counts them: no padding
  int find(const std::string& name) const;                                 // -1 if there is none

 private:
  std::vector<VariableSpec> specs_;
  std::vector<int> ready_order_;
  std::vector<std::int64_t> offsets_;
  std::int64_t trainable_elements_ = 0;
  std::int64_t state_elements_ = 0;
  std::int64_t moving_elements_ = 0;
};

// A variable's value, its gradient, or what the optimizer keeps beside it (slot k): each has the variable's shape.
struct VariablePart {
  enum class Kind { value, gradient, slot };
  Kind kind = Kind::value;
  int k = 0;
};

// One replica's variables: weights, gradients, state, and the optimizer's slots, each flat.
class VariableStore {
 public:
  VariableStore(LogicalGpu& gpu, const VariableLayout& layout, std::string owner);  // zero-filled
  // Gradients and state of its own, but weights and slots are those of `lender`, on the same card.
  VariableStore(LogicalGpu& gpu, const VariableLayout& layout, std::string owner, const VariableStore& lender);
  bool borrows() const { return lender_ != nullptr; }

  const VariableLayout& layout() const { return *layout_; }
  Tensor variable(int index) const;  // trainable or not
  Tensor gradient(int index) const;  // trainable only
  Tensor weights() const;            // flat
  Tensor gradients() const;          // flat
  Tensor state() const;              // flat; not defined when there is none
  Tensor moving() const;             // the part of it that training moves: without what is frozen
  void make_slots(int count);        // optimizer slots, zero-filled; calling again with the same count keeps them
  int slots() const { return static_cast<int>(lender().slots_.size()); }
  Tensor slot(int k) const;  // flat, as long as weights()
  Tensor part(int index, VariablePart part) const;
  // Sums of the squares of a sparse variable's gradients, for optimizers that want them; undefined for other variables.
  void make_squares(bool yes);
  Tensor squares(int index) const;
  std::uint64_t generation() const { return generation_; }  // changes when make_squares made or dropped some
  Tensor scratch(std::size_t bytes);                        // for an optimizer, made when first asked for

  // First values of every variable, from (seed, variable's index) alone. Waits until they are there.
  void initialize(std::uint64_t seed);
  // Between host and device; both wait for the compute stream. The shape must be the variable's.
  Array read(int index, VariablePart part = {}) const;
  void write(int index, const Array& values, VariablePart part = {});

 private:
  const VariableStore& lender() const { return lender_ != nullptr ? *lender_ : *this; }

  LogicalGpu* gpu_;
  const VariableLayout* layout_;
  std::string owner_;
  const VariableStore* lender_ = nullptr;
  Buffer weights_, gradients_, state_;
  std::vector<Buffer> slots_;
  Buffer scratch_;
  std::vector<Buffer> squares_;  // by variable; empty when not made
  std::uint64_t generation_ = 0;
};

}  // namespace lockstep
