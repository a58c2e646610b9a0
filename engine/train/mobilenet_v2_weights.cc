// Trained weights for MobileNetV2, from Keras' files or from an .npz with batch normalisation folded into kernel and bias.
//
// Folded, a convolution gives x * kernel + bias. Here the kernel goes into the convolution, and the BatchNormalization behind it gets
// gamma 1, mean 0, variance 1 - epsilon and beta = bias: it multiplies by 1 / sqrt(1), exactly, and adds the bias.
#include <map>
#include <vector>

#include "engine/data/files/npz.h"
#include "lockstep/applications.h"
#include "lockstep/error.h"

namespace lockstep::applications {
namespace {

struct Place {
  std::string folded, convolution, normalisation;  // names in the .npz, and of our layers
};

// The .npz counts blocks from 1 and has no expansion in the first; Keras counts from 0 and calls that one "expanded_conv".
std::vector<Place> places() {
  std::vector<Place> all{{"stem", "Conv1", "bn_Conv1"}};
  for (int block = 1; block <= 17; ++block) {
    const std::string from = "block_" + std::to_string(block) + "/";
    const std::string to = block == 1 ? "expanded_conv_" : "block_" + std::to_string(block - 1) + "_";
    for (const char* part : {"expand", "depthwise", "project"}) {
      if (block == 1 && std::string(part) == "expand") continue;
      all.push_back({from + part, to + part, to + part + "_BN"});
    }
  }
  all.push_back({"head", "Conv_1", "Conv_1_bn"});
  return all;
}

class FoldedWeights {
 public:
  FoldedWeights(const Model& model, const std::string& path) : path_(path), npz_(Npz::open(path)) {
    for (const NamedArray& weight : model.get_weights()) shapes_.emplace(weight.name, weight.values.shape());
  }

  std::vector<NamedArray> read() {
    for (const Place& place : places()) {
      put(place.convolution + "/kernel", npz_.array(place.folded + "/kernel").array());
      const Array bias = npz_.array(place.folded + "/bias").array();
      put(place.normalisation + "/beta", bias);
      const Shape channels = bias.shape();
      put(place.normalisation + "/moving_mean", filled(channels, 0));
      put(place.normalisation + "/moving_variance", filled(channels, 1 - kEpsilon));
      put(place.normalisation + "/gamma", filled(channels, 1));
    }
    read_classifier();
    return std::move(weights_);
  }

  const std::string& classifier() const { return classifier_; }

 private:
  static constexpr float kEpsilon = 1e-3F;  // MobileNetV2's

  static Array filled(const Shape& shape, float value) {
    return Array(shape, std::vector<float>(static_cast<std::size_t>(shape.size()), value));
  }

  const Shape& shape_of(const std::string& name) const {
    const auto found = shapes_.find(name);
    if (found == shapes_.end()) throw Error(path_ + ": these weights are MobileNetV2's, but the model has no variable \"" + name + "\"");
    return found->second;
  }

  void put(const std::string& name, const Array& values) {
    const Shape& wanted = shape_of(name);
    if (values.shape() != wanted)
      throw Error(path_ + ": \"" + name + "\" has shape " + values.shape().str() + " there and " + wanted.str() +
                  " in the model; is it a model of another alpha?");
    weights_.push_back({name, values});
  }

  // 1,001 classes, of which the first is "background": Keras' 1,000 are the others.
  void read_classifier() {
    if (shapes_.count("predictions/kernel") == 0) return;
    const Array kernel = npz_.array("logits/kernel").array();
    const Array bias = npz_.array("logits/bias").array();
    const std::int64_t features = kernel.size() / bias.size();
    const std::int64_t classes = shape_of("predictions/kernel")[-1];
    const std::int64_t skip = bias.size() - classes;
    if (skip != 0 && !(skip == 1 && classes == 1000)) {
      classifier_ = "; the classifier of " + std::to_string(classes) + " classes keeps its own weights";
      return;
    }
    Array k(Shape{features, classes}), b(Shape{classes});
    for (std::int64_t f = 0; f < features; ++f)
      for (std::int64_t c = 0; c < classes; ++c) k.data<float>()[f * classes + c] = kernel.data<float>()[f * bias.size() + c + skip];
    for (std::int64_t c = 0; c < classes; ++c) b.data<float>()[c] = bias.data<float>()[c + skip];
    put("predictions/kernel", k);
    put("predictions/bias", b);
  }

  std::string path_, classifier_;
  Npz npz_;
  std::map<std::string, Shape> shapes_;
  std::vector<NamedArray> weights_;
};

}  // namespace

std::string load_mobilenet_v2_weights(Model& model, const std::string& path) {
  if (!path.ends_with(".npz")) {
    model.load_weights(path);
    return "Weights from " + path;
  }
  FoldedWeights folded(model, path);
  model.set_weights(folded.read());
  return "Weights from " + path + " (batch normalisation folded)" + folded.classifier();
}

}  // namespace lockstep::applications
