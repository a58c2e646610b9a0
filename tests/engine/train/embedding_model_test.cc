// A model of tokens as a program uses it: whole-number inputs, wrong ones, replicas without samples, both ways to see sparse gradients.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "lockstep/lockstep.h"
#include "simulator/logical/gpu_registry.h"
#include "tests/engine/train/support/copies.h"
#include "tests/support/error_of.h"

namespace lockstep {
namespace {

class EmbeddingModel : public ::testing::Test {
 protected:
  void SetUp() override { forget_splits(); }
  void TearDown() override { forget_splits(); }

  static Model make(const std::string& how) {
    Sequential model({Embedding(50, 4), Conv1D(6, 3, "relu"), MaxPooling1D(2), Flatten(), Dense(3, "softmax")});
    model.set_seed(11);
    model.compile(Nadam(1e-2F).embedding_gradients(how), "sparse_categorical_crossentropy", {"accuracy"});
    return model;
  }
  static Array tokens(std::int64_t samples) {
    std::mt19937 random(4);
    Array x(Shape{samples, 12}, DType::int32);
    for (std::int64_t i = 0; i < x.size(); ++i) x.data<std::int32_t>()[i] = static_cast<std::int32_t>(random() % 2 ? 0 : random() % 50);
    return x;
  }
  static Array labels(std::int64_t samples) {
    Array y(Shape{samples}, DType::int32);
    for (std::int64_t i = 0; i < samples; ++i) y.data<std::int32_t>()[i] = static_cast<std::int32_t>(i % 3);
    return y;
  }
};

TEST_F(EmbeddingModel, WrongInputIsASentence) {
  Model model = make("textbook");
  model.train_on_batch(tokens(4), labels(4));
  EXPECT_NE(error_of([&] { model.predict(Array(Shape{2, 12})); }).find("int32"), std::string::npos);
  Array wrong = tokens(3);
  wrong.data<std::int32_t>()[2 * 12 + 5] = 50;
  const std::string sentence = error_of([&] { model.train_on_batch(wrong, labels(3)); });
  EXPECT_NE(sentence.find("Embedding \"embedding\": sample 2 holds the number 50"), std::string::npos) << sentence;
  EXPECT_EQ(error_of([&] { model.train_on_batch(tokens(3), labels(3)); }), "") << "and the model goes on";
}

TEST_F(EmbeddingModel, ReplicasStayEqual) {
  for (const char* how : {"textbook", "keras"}) {
    forget_splits();
    const Strategy strategy = MirroredStrategy(split_gpu(0, std::vector<std::int64_t>(4, 64)));
    Model model = strategy.scope([&] { return make(how); });
    for (const std::int64_t samples : {5, 3, 5}) model.train_on_batch(tokens(samples), labels(samples));
    testing::expect_equal_copies(model);
  }
}

// Five samples on one device, and on four replicas as 2, 1, 1, 1; then three, which leaves the last replica without any.
TEST_F(EmbeddingModel, ReplicasEqualOneDeviceWithUnevenAndEmptyShares) {
  const auto trained = [](const char* how, std::size_t replicas) {
    forget_splits();
    const Strategy strategy = MirroredStrategy(split_gpu(0, std::vector<std::int64_t>(replicas, 64)));
    Model model = strategy.scope([&] { return make(how); });
    for (const std::int64_t samples : {5, 3, 5}) model.train_on_batch(tokens(samples), labels(samples));
    testing::expect_equal_copies(model);
    return model.get_weights();
  };
  const auto distance = [](const std::vector<NamedArray>& a, const std::vector<NamedArray>& b) {
    double worst = 0;
    for (std::size_t v = 0; v < a.size(); ++v)
      for (std::int64_t i = 0; i < a[v].values.size(); ++i)
        worst = std::max(worst, std::fabs(static_cast<double>(a[v].values.data<float>()[i]) - b[v].values.data<float>()[i]));
    return worst;
  };
  const auto textbook = trained("textbook", 1), keras = trained("keras", 1);
  EXPECT_LT(distance(trained("textbook", 4), textbook), 1e-4);
  EXPECT_LT(distance(trained("keras", 4), keras), 1e-4);
  EXPECT_GT(distance(textbook, keras), 1e-3) << "the two ways must differ for this to mean something";
}

}  // namespace
}  // namespace lockstep
