// Optimizers, schedules and clipping against weights that Keras 3.15.1 (numpy backend, float32) had after 1, 10 and 20 steps.
//
// Recorded from: weights (i - 1.5) / 2 for i = 0 ... 3, and in step t the gradients ((7 t + 3 i) % 11 - 5) / 64, which float32 holds
// exactly.
#include <gtest/gtest.h>

#include <array>

#include "engine/optim/optimizer.h"
#include "lockstep/layers.h"
#include "lockstep/optimizers.h"
#include "tests/engine/nn/support/runner.h"

namespace lockstep::test {
namespace {

struct Recording {
  Optimizer optimizer;
  const char* name;
  std::vector<std::vector<float>> weights;  // after steps 1, 10, 20
};

std::vector<Recording> recordings() {
  return {{SGD(0.1F),
           "SGD(0.1F)",
           {{-0.753125012F, -0.2578125F, 0.254687488F, 0.75F},
            {-0.7578125F, -0.253125012F, 0.251562476F, 0.756250024F},
            {-0.759374976F, -0.25F, 0.259374946F, 0.751562536F}}},
          {SGD(0.1F, 0.9F),
           "SGD(0.1F, 0.9F)",
           {{-0.753125012F, -0.2578125F, 0.254687488F, 0.75F},
            {-0.797893941F, -0.290938437F, 0.275809258F, 0.784843743F},
            {-0.811234474F, -0.306289226F, 0.285939962F, 0.793920159F}}},
          {SGD(0.1F, 0.9F, true),
           "SGD(0.1F, 0.9F, true)",
           {{-0.755937517F, -0.264843762F, 0.258906245F, 0.75F},
            {-0.800917089F, -0.289969593F, 0.274790823F, 0.787609339F},
            {-0.814486086F, -0.300660372F, 0.291720986F, 0.791090548F}}},
          {Adam(0.01F),
           "Adam(0.01F)",
           {{-0.759998918F, -0.259999514F, 0.259999245F, 0.75F},
            {-0.782147467F, -0.280791521F, 0.266646266F, 0.771318913F},
            {-0.785059214F, -0.2846497F, 0.268744707F, 0.773377478F}}},
          {AdamW(0.01F, 0.1F),
           "AdamW(0.01F, 0.1F)",
           {{-0.759248912F, -0.259749532F, 0.259749264F, 0.749249995F},
            {-0.774491072F, -0.278077573F, 0.264061332F, 0.763732553F},
            {-0.769696355F, -0.279145002F, 0.263540298F, 0.758186817F}}},
          {Nadam(0.01F),
           "Nadam(0.01F)",
           {{-0.760627866F, -0.260627866F, 0.260627866F, 0.75F},
            {-0.767609894F, -0.260218769F, 0.259667933F, 0.7633937F},
            {-0.769909859F, -0.260733008F, 0.266117543F, 0.761685312F}}},
          {Adam(ExponentialDecay(0.02F, 5, 0.5F)),
           "Adam(ExponentialDecay(0.02F, 5, 0.5F))",
           {{-0.769997835F, -0.269999057F, 0.269998521F, 0.75F},
            {-0.794817388F, -0.299969167F, 0.273700893F, 0.777866364F},
            {-0.794910252F, -0.301145732F, 0.273628682F, 0.778022408F}}},
          {SGD(CosineDecay(0.1F, 15, 0.1F)),
           "SGD(CosineDecay(0.1F, 15, 0.1F))",
           {{-0.753125012F, -0.2578125F, 0.254687488F, 0.75F},
            {-0.757805765F, -0.255375504F, 0.253311932F, 0.755968332F},
            {-0.756720185F, -0.255536467F, 0.253963858F, 0.754463434F}}},
          {SGD(PiecewiseConstantDecay({4, 9}, {0.1F, 0.05F, 0.01F})),
           "SGD(PiecewiseConstantDecay({4, 9}, {0.1F, 0.05F, 0.01F}))",
           {{-0.753125012F, -0.2578125F, 0.254687488F, 0.75F},
            {-0.756250024F, -0.257031262F, 0.250781238F, 0.758593798F},
            {-0.756406248F, -0.256718755F, 0.251562476F, 0.758125067F}}},
          {SGD(0.1F).clipvalue(0.03F),
           "SGD(0.1F).clipvalue(0.03F)",
           {{-0.753000021F, -0.252999991F, 0.252999991F, 0.75F},
            {-0.753000021F, -0.252999991F, 0.251562476F, 0.753000021F},
            {-0.754562497F, -0.249999985F, 0.254562438F, 0.75F}}},
          {SGD(0.1F).clipnorm(0.05F),
           "SGD(0.1F).clipnorm(0.05F)",
           {{-0.7516222F, -0.25405553F, 0.25243333F, 0.75F},
            {-0.754301071F, -0.25202626F, 0.25128904F, 0.753563821F},
            {-0.755716741F, -0.250976831F, 0.255844057F, 0.751776874F}}},
          {Adam(0.01F).global_clipnorm(0.05F),
           "Adam(0.01F).global_clipnorm(0.05F)",
           {{-0.759997964F, -0.259999156F, 0.25999862F, 0.75F},
            {-0.782904148F, -0.282334626F, 0.267883211F, 0.772719681F},
            {-0.788004279F, -0.288132906F, 0.271880716F, 0.777056634F}}}};
}

TEST(RecordedOptimizers, TakeTwentyStepsAsKerasDoes) {
  for (const Recording& recording : recordings()) {
    SCOPED_TRACE(recording.name);
    Runner runner({Dense(4).use_bias(false)}, Shape{1}, 1);
    runner.write(runner.variables.variable(0), std::array<float, 4>{-0.75F, -0.25F, 0.25F, 0.75F}.data());
    std::size_t seen = 0;
    for (int step = 1; step <= 20; ++step) {
      std::array<float, 4> gradient{};
      for (int i = 0; i < 4; ++i) gradient[static_cast<std::size_t>(i)] = static_cast<float>((step * 7 + i * 3) % 11 - 5) / 64.0F;
      runner.write(runner.variables.gradient(0), gradient.data());
      recording.optimizer.impl()->update(runner.context(), runner.variables, step);
      if (step != 1 && step != 10 && step != 20) continue;
      const Values got = runner.variable(0);
      for (std::size_t i = 0; i < 4; ++i) ASSERT_NEAR(got[i], recording.weights[seen][i], 5e-7) << "step " << step << " element " << i;
      ++seen;
    }
    EXPECT_EQ(seen, 3U);
  }
}

}  // namespace
}  // namespace lockstep::test
