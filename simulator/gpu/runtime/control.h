// What a test can set and see of the virtual GPU beyond CUDA.
#pragma once

#include <cstdint>

namespace lockstep::sim {

// Seeded schedules: one worker picks among the ready streams at random before every operation, holds back now and then so
// that the host runs ahead, and shuffles the parts of an operation and the threads of faithful kernels. 0: off.
void set_schedule_seed(std::uint64_t seed);
std::uint64_t schedule_seed();

// How kernels launched from now on run.
enum class KernelMode { fast, faithful, ptx };
void set_kernel_mode(KernelMode mode);
KernelMode kernel_mode();

struct Counters {
  std::uint64_t operations = 0;  // executed since the start
  std::uint64_t live_allocations = 0;
  std::uint64_t live_device_bytes = 0;
  std::uint64_t live_host_allocations = 0;  // page-locked
  std::uint64_t live_streams = 0;           // created and not destroyed
  std::uint64_t live_events = 0;
};
Counters counters();

void wait_for_all_devices();

// Waits for all devices and forgets sticky errors; memory, streams and events stay.
void clear_device_errors();

}  // namespace lockstep::sim
