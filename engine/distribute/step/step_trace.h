// What a traced step tells beside its phases: layers, messages, norms, samples. Made only while there is a tracer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/distribute/collectives/cross_device_ops.h"
#include "engine/nn/program.h"
#include "simulator/trace/trace.h"

namespace lockstep {

// Layers, or graphs of several, as spans of the replica's compute stream.
class TracedLayers : public LayerWatcher {
 public:
  TracedLayers(Tracer& tracer, const Stream& stream, const SpanRecord& span) : tracer_(&tracer), stream_(&stream), span_(span) {}
  void begin(const LayerWork& work) override;
  void end() override { tracer_->end_device_span(*stream_); }

 private:
  Tracer* tracer_;
  const Stream* stream_;
  SpanRecord span_;
};

// Messages as spans of the receiver's communication stream, with the first elements that the receiver has before and behind each.
class TracedMessages : public MessageWatcher {
 public:
  TracedMessages(Tracer& tracer, const SpanRecord& span, std::size_t bucket, int first_replica, bool partial_sums)
      : tracer_(&tracer), span_(span), bucket_(bucket), first_replica_(first_replica), partial_sums_(partial_sums) {}
  void begin(const Message& message, const Stream& stream, const Tensor& place) override;
  void end(const Message& message, const Stream& stream, const Tensor& place) override;

  static constexpr std::int64_t kShown = 4;  // elements of a partial sum

 private:
  void read(const char* name, const Stream& stream, const Tensor& place);

  Tracer* tracer_;
  SpanRecord span_;
  std::size_t bucket_;
  int first_replica_;
  bool partial_sums_;
};

// The root of a sum that came in parts.
double norm_of(const double* parts, std::int64_t count);
std::string json_floats(const float* values, std::int64_t count);

}  // namespace lockstep
