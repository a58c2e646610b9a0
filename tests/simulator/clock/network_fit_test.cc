// Efficiencies of convolutions: the costs are those of the engine's ResNet50, and the GPUs' files hold what the fit gives.
#include "simulator/clock/network_fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/applications.h"
#include "simulator/clock/resnet50.h"

namespace lockstep::clock {
namespace {

TEST(NetworkCosts, HaveTheParametersOfTheEnginesResNet50) {
  constexpr std::int64_t kConvolutionBiases = 26560, kMovingStatistics = 53120;  // Keras has them, the published networks have no biases
  const NetworkStep step = resnet50_step(1, Arithmetic::fp32, false);
  const Model model = applications::ResNet50(applications::ResNet50Options().version(1.5));
  EXPECT_EQ(static_cast<std::int64_t>(step.parameters) + kConvolutionBiases + kMovingStatistics, model.count_params());
  double gradients = 0;
  for (const NetworkKernel& kernel : step.kernels) gradients += kernel.gradients;
  EXPECT_EQ(gradients, step.parameters);
}

TEST(NetworkCosts, AreThoseOfThePaper) {
  const auto flops = [](bool inference) {
    double sum = 0;
    for (const NetworkKernel& kernel : resnet50_step(1, Arithmetic::fp32, inference).kernels) sum += kernel.flops;
    return sum;
  };
  EXPECT_NEAR(flops(true), 2 * 4.09e9, 0.01e9);       // version 1.5: 4.1e9 multiplications
  EXPECT_NEAR(flops(false), 3 * flops(true), 0.3e9);  // the first layer has no gradient of its input
}

TEST(NetworkCosts, GrowWithTheBatchAndShrinkWithThePrecision) {
  const auto bytes = [](std::int64_t batch, Arithmetic arithmetic) {
    double sum = 0;
    for (const NetworkKernel& kernel : resnet50_step(batch, arithmetic, false).kernels) sum += kernel.bytes;
    return sum;
  };
  EXPECT_GT(bytes(64, Arithmetic::fp32), 1.9 * bytes(32, Arithmetic::fp32));
  EXPECT_EQ(bytes(64, Arithmetic::fp32), 2 * bytes(64, Arithmetic::fp16));
  EXPECT_EQ(bytes(64, Arithmetic::fp32), bytes(64, Arithmetic::tf32));
}

TEST(NetworkTime, SumsHideBehindBackwardButNotWhollyAndDoNotChangeTheKernels) {
  const Machine machine = *find_machine("v100x8");
  const NetworkStep step = resnet50_step(64, Arithmetic::fp32, false);
  const NetworkTime one = network_time(machine, step, 1), eight = network_time(machine, step, 8);
  EXPECT_EQ(one.communication_us, 0);
  EXPECT_EQ(one.exposed_us, 0);
  EXPECT_GT(eight.communication_us, eight.exposed_us);
  EXPECT_GT(eight.step_us, one.step_us);
  EXPECT_EQ(network_time(machine, step, 8).step_us, eight.step_us);
}

TEST(NetworkTime, ConvolutionsOfFewBlocksDoNotFillTheCard) {
  const Machine machine = *find_machine("t4");
  const auto per_image = [&](std::int64_t batch) {
    return network_time(machine, resnet50_step(batch, Arithmetic::fp32, true), 1).step_us / static_cast<double>(batch);
  };
  EXPECT_GT(per_image(1), 2 * per_image(64));
  EXPECT_NEAR(per_image(256), per_image(128), 0.03 * per_image(128));
}

TEST(NetworkFit, TheFilesHoldWhatItGives) {
  const NetworkFit fit = fit_network([](const NetworkMeasurement&) { return true; });
  for (const char* name : {"v100x8", "a100x8", "a100-80gb-x8", "t4"}) {
    const Machine file = *find_machine(name), fitted = fit.machine(name);
    const auto of = [](const Machine& machine) { return machine.efficiency[static_cast<std::size_t>(Kind::convolution)]; };
    for (std::size_t a = 0; a < kArithmeticNames.size(); ++a) {
      if (kArithmeticNames[a] == std::string("tf32") && file.major < 8) continue;  // there are no such units
      EXPECT_NEAR(of(file).compute[a], of(fitted).compute[a], 1e-3) << name << " " << kArithmeticNames[a];
    }
    EXPECT_NEAR(of(file).memory, of(fitted).memory, 1e-3) << name;
    EXPECT_NEAR(file.block_outputs, fitted.block_outputs, 1e-3 * fitted.block_outputs) << name;
    const auto streaming = static_cast<std::size_t>(Kind::streaming);
    EXPECT_NEAR(file.efficiency[streaming].memory, fitted.efficiency[streaming].memory, 1e-3) << name;
  }
}

TEST(NetworkFit, IsNearTheMeasurements) {
  double sum = 0;
  for (const NetworkMeasurement& row : network_measurements()) {
    const double error = std::abs(images_per_second(row) / row.images_per_second - 1);
    EXPECT_LT(error, 0.30) << row.machine << " " << row.precision << " " << row.batch;
    sum += error;
  }
  EXPECT_LT(sum / static_cast<double>(network_measurements().size()), 0.15);
}

}  // namespace
}  // namespace lockstep::clock
