// Losses by name, and the public handles of lockstep/losses.h.
#include "lockstep/losses.h"

#include "engine/losses/dense_loss.h"
#include "engine/losses/sparse_categorical_crossentropy.h"
#include "lockstep/error.h"

namespace lockstep {

std::shared_ptr<LossImpl> make_loss(const std::string& name) {
  if (name == "sparse_categorical_crossentropy") return std::make_shared<SparseCategoricalCrossentropyImpl>(false);
  if (name == "categorical_crossentropy") return CategoricalCrossentropy().impl();
  if (name == "binary_crossentropy") return BinaryCrossentropy().impl();
  if (name == "mean_squared_error" || name == "mse") return MeanSquaredError().impl();
  throw Error("There is no loss \"" + name +
              "\"; there are: sparse_categorical_crossentropy, categorical_crossentropy, binary_crossentropy, mean_squared_error (mse)");
}

Loss::Loss(const std::string& name) : Handle(make_loss(name)) {}
std::string Loss::name() const { return impl_->name(); }

CategoricalCrossentropy::CategoricalCrossentropy() : Loss(std::make_shared<DenseLossImpl>(DenseLossImpl::Kind::categorical_crossentropy)) {}
CategoricalCrossentropy CategoricalCrossentropy::from_logits(bool yes) const {
  CategoricalCrossentropy loss = *this;
  loss.impl_ = std::make_shared<DenseLossImpl>(DenseLossImpl::Kind::categorical_crossentropy, yes);
  return loss;
}

BinaryCrossentropy::BinaryCrossentropy() : Loss(std::make_shared<DenseLossImpl>(DenseLossImpl::Kind::binary_crossentropy)) {}
BinaryCrossentropy BinaryCrossentropy::from_logits(bool yes) const {
  BinaryCrossentropy loss = *this;
  loss.impl_ = std::make_shared<DenseLossImpl>(DenseLossImpl::Kind::binary_crossentropy, yes);
  return loss;
}

MeanSquaredError::MeanSquaredError() : Loss(std::make_shared<DenseLossImpl>(DenseLossImpl::Kind::mean_squared_error)) {}

SparseCategoricalCrossentropy::SparseCategoricalCrossentropy() : Loss(std::make_shared<SparseCategoricalCrossentropyImpl>(false)) {}

SparseCategoricalCrossentropy SparseCategoricalCrossentropy::from_logits(bool yes) const {
  SparseCategoricalCrossentropy loss = *this;
  loss.impl_ = std::make_shared<SparseCategoricalCrossentropyImpl>(yes);
  return loss;
}

}  // namespace lockstep
