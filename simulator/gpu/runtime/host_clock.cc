#include <backend/host_clock.h>

#include <chrono>
#include <cstring>

#include "simulator/gpu/runtime/model_clock.h"
#include "simulator/gpu/runtime/runtime.h"

namespace lockstep {

using sim::model_clock;

bool host_clock_is_modelled() { return model_clock() != nullptr; }

std::int64_t host_clock_ns() {
  if (sim::ModelClock* const model = model_clock()) return model->host_ns();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void host_clock_post(const void* where) {
  if (sim::ModelClock* const model = model_clock()) model->host_posts(where);
}

void host_clock_meet(const void* where) {
  if (sim::ModelClock* const model = model_clock()) model->host_meets(where);
}

void host_clock_settle() {
  if (sim::ModelClock* const model = model_clock()) model->host_ns();
}

void host_clock_copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  if (!sim::no_math()) std::memcpy(to, from, bytes);
  if (sim::ModelClock* const model = model_clock()) model->host_copies(stream, static_cast<double>(bytes));
}

bool event_clock_ns(cudaEvent_t event, std::int64_t* ns) {
  sim::Executor& executor = sim::runtime().executor;
  const sim::Executor::Record record = executor.last_record(event);
  if (record.moment.stream == nullptr || !executor.has_passed(record.moment)) return false;
  sim::ModelClock* const model = model_clock();
  *ns = model != nullptr ? model->ns_of(event) : record.time_ns;
  return *ns >= 0;
}

}  // namespace lockstep
