// What stands behind a Trace handle.
#pragma once

#include <string>

#include "lockstep/trace.h"
#include "simulator/trace/trace_contents.h"

namespace lockstep {

struct Trace::Impl {
  TraceContents contents;
};

// An Error where a trace can't have this name: before training, not after hours of it.
void check_trace_path(const std::string& path);

}  // namespace lockstep
