// MNIST from end to end: data, devices, strategy, model, training and report.
#include <fmt/format.h>

#include "cli/run/run_common.h"
#include "cli/run/workers.h"

namespace lockstep::cli {
namespace {

constexpr int kEpochs = 5;
constexpr std::int64_t kBatchPerReplica = 64;

Sequential make_model(const RunOptions& options) {
  Sequential model({Conv2D(32, 3, "relu"), MaxPooling2D(2), Flatten(), Dense(128, "relu"), Dense(10)});
  model.set_seed(options.seed);
  model.compile(Adam(options.learning_rate > 0 ? static_cast<float>(options.learning_rate) : 1e-3F),
                SparseCategoricalCrossentropy().from_logits(), {"accuracy"});
  model.check_mirrored(options.check_mirrored);
  return model;
}

void use_a_tenth(Mnist& data) {
  for (Array* part : {&data.x_train, &data.y_train, &data.x_test, &data.y_test}) *part = a_tenth(*part);
}

}  // namespace

int run_mnist(const RunOptions& options) {
  Mnist data = load_mnist();
  const Strategy strategy = make_strategy(options, [&] { return fingerprint({data.x_train, data.y_train, data.x_test, data.y_test}); });
  if (options.quick) use_a_tenth(data);
  const int epochs = options.epochs > 0 ? options.epochs : options.quick ? 1 : kEpochs;
  if (options.json)
    print_source(data.source, data.drawn);
  else
    fmt::print("{}\n{} training and {} test images\n{}\n", data.source, data.x_train.samples(), data.x_test.samples(), strategy.describe());

  Model model = make_or_load(
      options, strategy, [&] { return make_model(options); }, Shape{28, 28, 1});
  const std::int64_t batch = global_batch(options, strategy, kBatchPerReplica);
  FitOptions fit;
  fit.batch_size(batch).seed(options.seed).validation(data.x_test, data.y_test);
  resume(options, model, data.x_train, data.y_train, batch, epochs, fit);
  return train(options, model, data.x_train, data.y_train, fit);
}

}  // namespace lockstep::cli
