// A span while it is recorded: of fixed size and without texts. Names and details are made after the run, so that a step does not pay for
// them.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "simulator/trace/span.h"

namespace lockstep {

// Numbers, and the function that explains them: it adds details to the span, and a name where the record has none.
struct Facts {
  using Numbers = std::array<std::int64_t, 8>;
  using Explain = void (*)(const Numbers& numbers, Span& span);

  Explain explain = nullptr;
  Numbers numbers{};

  // Texts are numbers, too: pointers to what Tracer::text keeps.
  static std::int64_t from(const std::string* text) { return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(text)); }
  static std::int64_t from(double value) { return std::bit_cast<std::int64_t>(value); }
  static const std::string& text(std::int64_t number) { return *reinterpret_cast<const std::string*>(static_cast<std::uintptr_t>(number)); }
  static double real(std::int64_t number) { return std::bit_cast<double>(number); }
};

struct SpanRecord {
  Phase phase = Phase::replicate;
  const char* name = nullptr;  // one that outlives the tracer; null: the phase's
  int replica = 0;
  bool communication = false;
  std::int64_t step = 0;
  Facts facts;

  SpanRecord part(const char* what) const {
    SpanRecord part = *this;
    part.name = what;
    return part;
  }
  Span span() const {
    Span span;
    span.phase = phase;
    span.name = name != nullptr ? name : to_string(phase);
    span.replica = replica;
    span.communication = communication;
    span.step = step;
    if (facts.explain != nullptr) facts.explain(facts.numbers, span);
    return span;
  }
};

}  // namespace lockstep
