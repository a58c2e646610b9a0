// Well-known models, with Keras' arguments, layer names and parameter counts.
#pragma once

#include <memory>
#include <string>

#include "lockstep/model.h"
#include "lockstep/shape.h"

namespace lockstep::applications {

// Keyword arguments of Keras' MobileNetV2: MobileNetV2Options().alpha(0.35F).classes(2).
class MobileNetV2Options {
 public:
  MobileNetV2Options& input_shape(const Shape& sample) { return input_shape_ = sample, *this; }  // default (224, 224, 3)
  // The network begins behind this tensor, and the model at that tensor's Input: RandomFlip("horizontal")(Input({96, 96, 3})).
  MobileNetV2Options& input_tensor(const KerasTensor& tensor) { return input_tensor_ = tensor.node(), *this; }
  MobileNetV2Options& alpha(double width) { return alpha_ = width, *this; }  // 1 is the paper's width
  MobileNetV2Options& include_top(bool yes) { return include_top_ = yes, *this; }
  MobileNetV2Options& pooling(const std::string& how) { return pooling_ = how, *this; }  // without top: "", "avg" or "max"
  MobileNetV2Options& classes(int n) { return classes_ = n, *this; }
  MobileNetV2Options& classifier_activation(const std::string& name) { return classifier_activation_ = name, *this; }  // "" gives logits
  MobileNetV2Options& weights(const std::string& path) { return weights_ = path, *this; }  // "" (random), or a file of weights
  // Beyond Keras: of every BatchNormalization. 0.999 needs some thousand steps before inference is of use; short runs want less.
  MobileNetV2Options& batch_norm(float momentum, float epsilon = 1e-3F) { return momentum_ = momentum, epsilon_ = epsilon, *this; }
  // Beyond Keras: statistics of the global batch on all replicas, so that training does not depend on their number.
  MobileNetV2Options& synchronized_batch_norm(bool yes) { return synchronized_ = yes, *this; }
  MobileNetV2Options& name(const std::string& name) { return name_ = name, *this; }

 private:
  friend Model MobileNetV2(const MobileNetV2Options& options);
  Shape input_shape_;
  std::shared_ptr<const TensorNode> input_tensor_;
  double alpha_ = 1;
  bool include_top_ = true;
  std::string pooling_;
  int classes_ = 1000;
  std::string classifier_activation_ = "softmax";
  std::string weights_;
  float momentum_ = 0.999F;
  float epsilon_ = 1e-3F;
  bool synchronized_ = false;
  std::string name_;
};

// M. Sandler et al., "MobileNetV2: inverted residuals and linear bottlenecks" (CVPR 2018): 17 blocks that widen by a 1x1 convolution,
// filter depthwise, narrow again, and add their input where shapes allow.
Model MobileNetV2(const MobileNetV2Options& options = {});

// Keyword arguments of Keras' ResNet50: ResNet50Options().classes(2).version(1.5).
class ResNet50Options {
 public:
  ResNet50Options& input_shape(const Shape& sample) { return input_shape_ = sample, *this; }  // default (224, 224, 3)
  ResNet50Options& include_top(bool yes) { return include_top_ = yes, *this; }
  ResNet50Options& pooling(const std::string& how) { return pooling_ = how, *this; }  // without top: "", "avg" or "max"
  ResNet50Options& classes(int n) { return classes_ = n, *this; }
  ResNet50Options& classifier_activation(const std::string& name) { return classifier_activation_ = name, *this; }  // "" gives logits
  // Beyond Keras, whose version is 1: 1.5 halves images in the 3x3 convolution of a block, not in the 1x1 before it, as in the networks
  // that published throughputs are measured with.
  ResNet50Options& version(double version) { return version_ = version, *this; }
  // Beyond Keras: of every BatchNormalization, and statistics of the global batch on all replicas.
  ResNet50Options& batch_norm(float momentum, float epsilon = 1.001e-5F) { return momentum_ = momentum, epsilon_ = epsilon, *this; }
  ResNet50Options& synchronized_batch_norm(bool yes) { return synchronized_ = yes, *this; }
  ResNet50Options& name(const std::string& name) { return name_ = name, *this; }

 private:
  friend Model ResNet50(const ResNet50Options& options);
  Shape input_shape_;
  bool include_top_ = true;
  std::string pooling_;
  int classes_ = 1000;
  std::string classifier_activation_ = "softmax";
  double version_ = 1;
  float momentum_ = 0.99F;
  float epsilon_ = 1.001e-5F;
  bool synchronized_ = false;
  std::string name_ = "resnet50";
};

// K. He et al., "Deep residual learning for image recognition" (CVPR 2016): 16 blocks of three convolutions around which the input is
// added. Keras' layers, names and parameters; its weights are loaded by Model::load_weights.
Model ResNet50(const ResNet50Options& options = {});

// Trained weights into a MobileNetV2 of the same alpha, whatever its images' size. From one of
//   - a file of Keras' (.h5, .weights.h5, .keras, also its published mobilenet_v2_weights_tf_dim_ordering_tf_kernels_*.h5): by layer name;
//   - an .npz of folded weights, in which each convolution has a kernel and a bias and batch normalisation is part of both ("stem",
//   "block_1/
//     expand", ..., "head", "logits"): every BatchNormalization becomes the shift by its bias, so the whole gives the same numbers. There a
//     classifier of another number of classes keeps its own weights.
// Such models expect pixels from -1 to 1. Says what was loaded.
std::string load_mobilenet_v2_weights(Model& model, const std::string& path);

}  // namespace lockstep::applications
