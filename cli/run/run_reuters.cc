// Reuters from end to end: classifies newswires into 46 topics with an embedding, two convolutions and Nadam.
#include <fmt/format.h>

#include <algorithm>

#include "cli/run/run_common.h"
#include "cli/run/workers.h"

namespace lockstep::cli {
namespace {

constexpr std::int64_t kVocabulary = 30982;
constexpr std::int64_t kSteps = 300;
constexpr std::int64_t kGlobalBatch = 32;
constexpr int kEpochs = 10;

// The published program has from_logits=True although the model ends in a softmax. Keras warns and uses the scores before the softmax, and
// so do we.
Sequential make_model(const RunOptions& options) {
  Sequential model({Embedding(kVocabulary, 7), Conv1D(64, 5, "relu"), MaxPooling1D(2), Conv1D(32, 3, "relu"), MaxPooling1D(2), Flatten(),
                    Dense(46, "softmax")});
  model.set_seed(options.seed);
  model.compile(Nadam(options.learning_rate > 0 ? static_cast<float>(options.learning_rate) : 1e-3F),
                SparseCategoricalCrossentropy().from_logits(),
                {SparseCategoricalAccuracy("accuracy"), SparseTopKCategoricalAccuracy(5, "top_5_accuracy")});
  model.check_mirrored(options.check_mirrored);
  return model;
}

}  // namespace

int run_reuters(const RunOptions& options) {
  const Reuters data = load_reuters();
  const auto part = [&](const Array& array) { return options.quick ? a_tenth(array) : array; };
  const Array x_train = part(pad_sequences(data.x_train, kSteps)), x_test = part(pad_sequences(data.x_test, kSteps));
  const Array y_train = part(data.y_train), y_test = part(data.y_test);
  const Strategy strategy = make_strategy(options, [&] { return fingerprint({x_train, y_train, x_test, y_test}); });
  if (options.json)
    print_source(data.source, false);
  else
    fmt::print("{}\n{} training and {} test newswires\n{}\n", data.source, x_train.samples(), x_test.samples(), strategy.describe());

  Model model = make_or_load(
      options, strategy, [&] { return make_model(options); }, Shape{kSteps});
  const std::int64_t batch = options.batch_per_replica > 0 ? global_batch(options, strategy, 0)
                             : options.batch > 0           ? options.batch
                                                           : kGlobalBatch;
  FitOptions fit;
  fit.batch_size(batch).seed(options.seed).validation(x_test, y_test);
  resume(options, model, x_train, y_train, batch, options.epochs > 0 ? options.epochs : options.quick ? 1 : kEpochs, fit);
  TraceOptions trace;
  if (!options.trace.empty()) trace.class_names(reuters_label_names()).words(reuters_words()).samples(5);
  return train(options, model, x_train, y_train, fit, trace);
}

}  // namespace lockstep::cli
