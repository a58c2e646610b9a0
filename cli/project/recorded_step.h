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
  std::shared_ptr<clock::Recording> recording;  // null: does not fit into memory
  std::string problem;
  double memory_gib = 0;  // of a GPU
};

// The machine that this process models, fixed by the first call. Nothing is computed (--no-math).
clock::Machine modelled_machine();

// Records the third step, when everything is planned and allocated.
RecordedStep record_step(const Workload& workload, const std::vector<GpuId>& gpus, std::int64_t batch_per_replica,
                         const StepOptions& options = {});

}  // namespace lockstep::cli
