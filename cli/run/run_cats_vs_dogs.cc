// Mirrored cats-vs-dogs from end to end: photos to one of two classes with MobileNetV2, from scratch, as published, or with a trained
// network's features.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "cli/run/run_common.h"
#include "cli/run/workers.h"

namespace lockstep::cli {
namespace {

using applications::MobileNetV2;
using applications::MobileNetV2Options;

// How the network is trained. The default is narrow and uses small pictures, so that a CPU can train it; its momentum of 0.9 is small,
// because Keras' 0.999 leaves the moving statistics near their start after a few hundred steps and validation at chance level; it flips
// pictures, because there are few.
struct Recipe {
  double alpha = 0.35;
  int image = 96;
  float momentum = 0.9F;
  bool flips = true;
  bool decay = true;  // of the learning rate, along half a cosine
  int epochs = 30;    // at most
  int patience = 10;  // epochs without a better validation accuracy before training stops with the best weights; 0: never
  std::int64_t batch_per_replica = 16;
  double learning_rate = 2e-3;
  std::int64_t memory_limit_mib = 1024;
};

// The reference program's own settings, for a real GPU.
Recipe published() {
  Recipe recipe;
  recipe.alpha = 1;
  recipe.image = 224;
  recipe.momentum = 0.999F;
  recipe.flips = recipe.decay = false;
  recipe.epochs = 5;
  recipe.patience = 0;
  recipe.batch_per_replica = 64;
  recipe.learning_rate = 1e-3;
  recipe.memory_limit_mib = 7168;
  return recipe;
}

Recipe recipe_for(const RunOptions& options) {
  Recipe recipe = options.as_published ? published() : Recipe();
  if (options.alpha > 0) recipe.alpha = options.alpha;
  if (options.image > 0) recipe.image = options.image;
  if (options.quick) recipe.epochs = 1;
  if (options.epochs > 0) recipe.epochs = options.epochs;
  if (options.batch_per_replica > 0) recipe.batch_per_replica = options.batch_per_replica;
  if (options.learning_rate > 0) recipe.learning_rate = options.learning_rate;
  return recipe;
}

Model make_model(const RunOptions& options, const Recipe& recipe, std::int64_t steps) {
  MobileNetV2Options network;
  network.alpha(recipe.alpha).classes(2).classifier_activation("softmax").batch_norm(recipe.momentum);
  const Shape sample{recipe.image, recipe.image, 3};
  network.input_shape(sample);
  if (recipe.flips) network.input_tensor(RandomFlip("horizontal").name("random_flip")(Input(sample)));
  Model model = MobileNetV2(network);
  model.set_seed(options.seed);
  const auto rate = static_cast<float>(recipe.learning_rate);
  model.compile(recipe.decay ? Adam(CosineDecay(rate, steps)) : Adam(rate), SparseCategoricalCrossentropy(), {"accuracy"});
  model.check_mirrored(options.check_mirrored);
  return model;
}

// A tenth of the pictures, which are in random order.
Dataset part_of(const RunOptions& options, const Dataset& data) {
  return data.take(options.quick ? std::max<std::int64_t>(1, data.cardinality() / 10) : -1);
}

void say(const RunOptions& options, const CatsVsDogs& data, std::int64_t train, std::int64_t validation, const Strategy& strategy) {
  if (options.json) return print_source(data.source, false);
  fmt::print("{}\n{} training and {} validation photos\n{}\n", data.source, train, validation, strategy.describe());
}

// The input of the network's last layer for every photo, computed once.
struct Features {
  Array x, y;
};
Features features_of(Model& base, const Dataset& photos, std::int64_t batch, const std::string& what, bool silent) {
  std::vector<float> x;
  std::vector<std::int32_t> y;
  const auto batches = photos.batch(batch).prefetch().iterate();
  Batch part;
  while (batches->next(part)) {
    const Array made = base.predict(part.x, batch);
    x.insert(x.end(), made.data<float>(), made.data<float>() + made.size());
    y.insert(y.end(), part.y.data<std::int32_t>(), part.y.data<std::int32_t>() + part.y.size());
    if (!silent) fmt::print(stderr, "\r{} features: {} photos", what, y.size());
  }
  if (!silent) fmt::print(stderr, "\n");
  const auto n = static_cast<std::int64_t>(y.size());
  return {Array(Shape{n, static_cast<std::int64_t>(x.size()) / std::max<std::int64_t>(1, n)}, x), Array(Shape{n}, y)};
}

// Feature extraction, as in Keras' guide: the network, trained on ImageNet, computes the features of every photo once; only a small
// classifier on top is trained, which takes seconds.
int run_feature_extraction(const RunOptions& options) {
  constexpr int kImage = 224, kEpochs = 20;
  constexpr std::int64_t kBatch = 32;
  const double alpha = options.alpha > 0 ? options.alpha : 1;
  const int image = options.image > 0 ? options.image : kImage;
  const CatsVsDogs data = load_cats_vs_dogs(CatsVsDogsOptions().image_size(image, image).scale(1 / 127.5F, -1));
  const Strategy strategy = make_strategy(options, [&] { return fingerprint(data.train); });
  const Dataset train_photos = part_of(options, data.train), validation_photos = part_of(options, data.validation);
  say(options, data, train_photos.cardinality(), validation_photos.cardinality(), strategy);

  Model base = strategy.scope([&] {
    return MobileNetV2(MobileNetV2Options().input_shape({image, image, 3}).alpha(alpha).include_top(false).pooling("avg"));
  });
  const std::string loaded = applications::load_mobilenet_v2_weights(base, options.feature_extraction);
  if (!options.json) fmt::print("{}\n", loaded);
  const std::int64_t batch = kBatch * strategy.num_replicas_in_sync();
  const Features train_set = features_of(base, train_photos, batch, "Training", options.json);
  const Features validation_set = features_of(base, validation_photos, batch, "Validation", options.json);

  Model head = make_or_load(
      options, strategy,
      [&] {
        Sequential model({Dense(2, "softmax").name("predictions")});
        model.set_seed(options.seed);
        model.compile(Adam(options.learning_rate > 0 ? static_cast<float>(options.learning_rate) : 1e-3F), SparseCategoricalCrossentropy(),
                      {"accuracy"});
        model.check_mirrored(options.check_mirrored);
        return model;
      },
      train_set.x.shape().sample());
  FitOptions fit;
  fit.epochs(options.epochs > 0 ? options.epochs : options.quick ? 1 : kEpochs).seed(options.seed);
  fit.batch_size(options.batch_per_replica > 0 ? global_batch(options, strategy, kBatch) : options.batch > 0 ? options.batch : kBatch);
  fit.validation(validation_set.x, validation_set.y);
  return train(options, head, train_set.x, train_set.y, fit);
}

}  // namespace

int run_cats_vs_dogs(const RunOptions& options) {
  if (!options.feature_extraction.empty()) return run_feature_extraction(options);
  const Recipe recipe = recipe_for(options);
  const CatsVsDogs data = load_cats_vs_dogs(CatsVsDogsOptions().image_size(recipe.image, recipe.image));
  RunOptions with_memory = options;
  with_memory.usual_limit_mib = recipe.memory_limit_mib;
  const Strategy strategy = make_strategy(with_memory, [&] { return fingerprint(data.train); });
  const Dataset photos = part_of(options, data.train), validation = part_of(options, data.validation);
  say(options, data, photos.cardinality(), validation.cardinality(), strategy);

  const std::int64_t batch = global_batch(options, strategy, recipe.batch_per_replica);
  const Dataset batches = photos.cache().shuffle(std::max<std::int64_t>(1, photos.cardinality()), options.seed).batch(batch).prefetch();
  Model model = make_or_load(
      options, strategy, [&] { return make_model(options, recipe, recipe.epochs * batches.cardinality()); },
      Shape{recipe.image, recipe.image, 3});
  FitOptions fit;
  fit.epochs(recipe.epochs).seed(options.seed).data_name(fmt::format("photos of {0} x {0}", recipe.image));
  fit.validation(validation.cache().batch(batch).prefetch());
  if (recipe.patience > 0) fit.callback(EarlyStopping("val_accuracy").patience(recipe.patience).restore_best_weights());
  return train(options, model, batches, fit, TraceOptions().class_names(data.train.class_names).samples(4));
}

}  // namespace lockstep::cli
