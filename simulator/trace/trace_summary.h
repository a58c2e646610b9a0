// A trace in the terminal, at 80 columns.
#pragma once

#include <string>

#include "simulator/trace/trace_contents.h"

namespace lockstep {

std::string trace_summary(const TraceContents& contents);
std::string compare_traces(const TraceContents& a, const std::string& name_a, const TraceContents& b, const std::string& name_b);

}  // namespace lockstep
