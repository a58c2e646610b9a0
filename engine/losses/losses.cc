// Losses by name, and the public handles of lockstep/losses.h.
#include "lockstep/losses.h"

#include "lockstep/error.h"
#include "sparse_categorical_crossentropy.h"

namespace lockstep {

std::shared_ptr<LossImpl> make_loss(const std::string& name) {
  if (name == "sparse_categorical_crossentropy") return std::make_shared<SparseCategoricalCrossentropyImpl>(false);
  throw Error("There is no loss \"" + name + "\"; there are: sparse_categorical_crossentropy");
}

Loss::Loss(const std::string& name) : impl_(make_loss(name)) {}
std::string Loss::name() const { return impl_->name(); }

SparseCategoricalCrossentropy::SparseCategoricalCrossentropy() : Loss(std::make_shared<SparseCategoricalCrossentropyImpl>(false)) {}

SparseCategoricalCrossentropy SparseCategoricalCrossentropy::from_logits(bool yes) const {
  SparseCategoricalCrossentropy loss = *this;
  loss.impl_ = std::make_shared<SparseCategoricalCrossentropyImpl>(yes);
  return loss;
}

}  // namespace lockstep
