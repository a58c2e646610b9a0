// A training or inference step of ResNet-50 v1.5 on 224 x 224 images as the published throughputs were measured: kernel by kernel, what
// each computes and moves, as libraries with fused kernels do it. The sums stay in fp32; with fp16 (amp) activations and the gradients that
// are sent are halves, and the optimizer keeps fp32 weights.
//
// The costs stand apart from the engine's ResNet50 because its training has no half precision and does not fuse; parameters and shapes are
// the same (a test compares them).
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/clock/machine_model.h"

namespace lockstep::clock {

struct NetworkKernel {
  Kind kind = Kind::streaming;
  double flops = 0, bytes = 0;
  double gradients = 0;  // numbers of the gradient that is complete after it
  double outputs = 0;    // numbers that blocks share among them; 0: as many blocks as are wanted, which split the sums
};

struct NetworkStep {
  std::vector<NetworkKernel> kernels;  // forward, then backward
  double optimizer_bytes = 0;
  double gradient_bytes = 0;  // of one number, as they are sent
  double memory_bytes = 0;    // of a GPU
  double parameters = 0;
  Arithmetic arithmetic = Arithmetic::fp32;
};

NetworkStep resnet50_step(std::int64_t batch, Arithmetic arithmetic, bool inference);

struct NetworkTime {
  double step_us = 0;
  double compute_us = 0, communication_us = 0;
  double arithmetic_us = 0, memory_us = 0;  // of kernels that these bound
  double exposed_us = 0;                    // of the communication, with no kernel beside it
};

// On `gpus` GPUs: one is simulated, since all do the same at the same time. Gradients are summed in buckets while backward goes on.
NetworkTime network_time(const Machine& machine, const NetworkStep& step, int gpus);

}  // namespace lockstep::clock
