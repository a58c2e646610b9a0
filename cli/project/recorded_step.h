// One training step of a workload, recorded on the virtual GPU without computing it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lockstep/lockstep.h"
#include "simulator/clock/machine_model.h"
#include "simulator/clock/recording.h"

namespace lockstep::cli {

struct Workload {
  std::string name, describe;
  Shape sample;
  DType type = DType::float32;
  std::int64_t batch_per_replica = 64;
  Model (*make)() = nullptr;
};
Workload workload_named(const std::string& name);

struct RecordedStep {
  std::shared_ptr<clock::Recording> recording;  // null: it does not fit
  std::string problem;
  double memory_gib = 0;  // of a GPU
};

// A machine as it is modelled in this process; the first call decides which. Nothing is computed (--no-math).
clock::Machine modelled_machine();

// The third step: by then everything is planned and allocated.
RecordedStep record_step(const Workload& workload, const std::vector<GpuId>& gpus, std::int64_t batch_per_replica);

}  // namespace lockstep::cli
