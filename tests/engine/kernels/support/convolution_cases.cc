// Direct convolutions over random strides, paddings and dilations.
#include "engine/kernels/convolution_kernels.h"

#include "tests/engine/kernels/support/convolution_reference.h"
#include "tests/engine/kernels/support/kernel_case.h"

namespace lockstep::testing {

namespace {

using kernels::ConvShape;

ConvShape any_convolution(Random& random) {
  const auto pick = [&](std::int64_t low, std::int64_t high) { return static_cast<std::int32_t>(between(random, low, high)); };
  ConvShape s{};
  s.batch = pick(1, 3);
  s.in_channels = pick(1, 9);
  s.out_channels = pick(1, 20);
  s.kernel_h = pick(1, 3);
  s.kernel_w = pick(1, 3);
  s.stride_h = pick(1, 3);
  s.stride_w = pick(1, 3);
  s.dilation_h = pick(1, 2);
  s.dilation_w = pick(1, 2);
  s.pad_top = pick(0, 2);
  s.pad_left = pick(0, 2);
  const std::int32_t reach_h = s.dilation_h * (s.kernel_h - 1) + 1;
  const std::int32_t reach_w = s.dilation_w * (s.kernel_w - 1) + 1;
  s.height = pick(reach_h, reach_h + 6);
  s.width = pick(reach_w, reach_w + 6);
  s.out_height = (s.height + s.pad_top + pick(0, 2) - reach_h) / s.stride_h + 1;
  s.out_width = (s.width + s.pad_left + pick(0, 2) - reach_w) / s.stride_w + 1;
  return s;
}

std::string str(const ConvShape& s) {
  return std::to_string(s.batch) + " x " + std::to_string(s.height) + " x " + std::to_string(s.width) + " x " +
         std::to_string(s.in_channels) + " to " + std::to_string(s.out_channels) + ", kernel " + std::to_string(s.kernel_h) + " x " +
         std::to_string(s.kernel_w) + ", stride " + std::to_string(s.stride_h) + " x " + std::to_string(s.stride_w) + ", dilation " +
         std::to_string(s.dilation_h) + " x " + std::to_string(s.dilation_w);
}

// The three have one form: two tensors in, one out.
template <typename Kernel, typename CostOf, typename Size, typename Reference>
KernelCase convolution_case(const char* name, Kernel kernel, CostOf cost, Size first, Size second, Size result, Reference reference) {
  return {name, [=](Random& random, KernelInstance& instance) {
            const ConvShape s = any_convolution(random);
            const auto a = instance.input(normal(random, static_cast<std::int64_t>(first(s))));
            const auto b = instance.input(normal(random, static_cast<std::int64_t>(second(s))));
            const auto out = instance.output<float>(static_cast<std::int64_t>(result(s)));
            instance.shape = str(s);
            instance.start = [=](const Stream& stream, Grid g) {
              launch(stream, name, cost(s), g, kernel, s, a.read(), b.read(), out.write());
            };
            instance.check = [=] { expect_close(out.now(), reference(s, a.initial(), b.initial()), 2e-5); };
          }};
}

}  // namespace

std::vector<KernelCase> convolution_cases() {
  return {convolution_case("convolution_forward", kernels::convolution_forward, kernels::convolution_forward_cost, image_size, filter_size,
                           output_size, reference_forward),
          convolution_case("convolution_backward_data", kernels::convolution_backward_data, kernels::convolution_backward_data_cost,
                           output_size, filter_size, image_size, reference_backward_data),
          convolution_case("convolution_backward_filter", kernels::convolution_backward_filter, kernels::convolution_backward_filter_cost,
                           image_size, output_size, filter_size, reference_backward_filter)};
}

}  // namespace lockstep::testing
