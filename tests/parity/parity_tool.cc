// Our half of the parity tests (keras_parity.py is the other): makes, saves, loads and trains the reference models on samples from files.
//
//   parity_tool make MODEL FOLDER    two steps, saved as ours.keras, ours.h5 and ours.weights.h5; then predictions, and the weights after
//                                    one more step
//   parity_tool use MODEL FOLDER FILE   the same from a file of Keras': predictions, and the weights after one more step
//
// FOLDER holds x.bin and y.bin. Predictions go to predictions.bin, the weights to after.weights.h5.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "lockstep/lockstep.h"

namespace {

using namespace lockstep;

struct Workload {
  Shape sample;
  DType dtype;
  std::function<Model()> make;
};

Workload workload(const std::string& name) {
  if (name == "mnist") {
    return {Shape{28, 28, 1}, DType::float32, [] {
              Sequential model({Conv2D(32, 3, "relu"), MaxPooling2D(2), Flatten(), Dense(128, "relu"), Dense(10)});
              model.compile(Adam(1e-3F), SparseCategoricalCrossentropy().from_logits(), {"accuracy"});
              return model;
            }};
  }
  if (name == "reuters") {
    return {Shape{300}, DType::int32, [] {
              Sequential model({Embedding(2000, 7), Conv1D(64, 5, "relu"), MaxPooling1D(2), Conv1D(32, 3, "relu"), MaxPooling1D(2),
                                Flatten(), Dense(46, "softmax")});
              model.compile(Nadam(1e-3F).embedding_gradients("keras"), "sparse_categorical_crossentropy", {"accuracy"});
              return model;
            }};
  }
  if (name == "mobilenet_v2") {
    return {Shape{96, 96, 3}, DType::float32, [] {
              Model model = applications::MobileNetV2(
                  applications::MobileNetV2Options().input_shape({96, 96, 3}).alpha(0.35).classes(2).classifier_activation(""));
              model.compile(Adam(1e-3F), SparseCategoricalCrossentropy().from_logits(), {"accuracy"});
              return model;
            }};
  }
  throw Error("there is no model " + name);
}

Array read(const std::string& path, const Shape& sample, DType dtype) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t row = static_cast<std::size_t>(sample.size()) * size_of(dtype);
  if (bytes.empty() || bytes.size() % row != 0) throw Error(path + " can't be read");
  Array array(sample.batched(static_cast<std::int64_t>(bytes.size() / row)), dtype);
  std::memcpy(array.raw(), bytes.data(), bytes.size());
  return array;
}

void finish(Model& model, const std::string& folder, const Array& x, const Array& y) {
  const Array predictions = model.predict(x, x.samples());
  std::ofstream(folder + "/predictions.bin", std::ios::binary)
      .write(static_cast<const char*>(predictions.raw()), static_cast<std::streamsize>(predictions.bytes()));
  model.train_on_batch(x, y);
  model.save_weights(folder + "/after.weights.h5");
}

void run(const std::vector<std::string>& words) {
  const Workload work = workload(words.at(1));
  const std::string& folder = words.at(2);
  const Array x = read(folder + "/x.bin", work.sample, work.dtype), y = read(folder + "/y.bin", Shape(), DType::int32);
  if (words.at(0) == "make") {
    Model model = work.make();
    model.set_seed(11);
    for (int i = 0; i < 2; ++i) model.train_on_batch(x, y);
    for (const char* name : {"/ours.keras", "/ours.h5", "/ours.weights.h5"}) model.save(folder + name);
    return finish(model, folder, x, y);
  }
  // Weights alone go into a model of ours. So do those of the older form, where Keras drops the optimizer from the model's description, and
  // those of an Embedding: a file of Keras' does not say how its gradients are to be seen.
  const std::string& file = words.at(3);
  const bool whole = std::filesystem::path(file).extension() == ".keras" && words.at(1) != "reuters";
  if (file.find(".weights.h5") == std::string::npos) load_model(file).predict(x, x.samples());
  Model model = whole ? load_model(file) : work.make();
  model.build(work.sample);
  if (!whole) model.load_weights(file);
  if (model.iterations() != 2) throw Error(file + ": " + std::to_string(model.iterations()) + " steps taken, not 2");
  finish(model, folder, x, y);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(std::vector<std::string>(argv + 1, argv + argc));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "parity_tool: " << error.what() << "\n";
    return 1;
  }
}
