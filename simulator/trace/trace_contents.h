// A trace that has ended: its spans and what the run was, as a Chrome trace (JSON), as a page (HTML), and back from either.
#pragma once

#include <string>
#include <vector>

#include "simulator/trace/span.h"

namespace lockstep {

struct TraceContents {
  std::vector<Span> spans;           // in the order of their begin
  std::string about = "{}";          // JSON: title, devices, algorithm, layers, variables, buckets, names of classes
  std::vector<std::string> samples;  // JSON: what the shards held, see samples.h
  int worker = 0;
};

// The "Trace Event Format": Perfetto and chrome://tracing open it as it is.
std::string chrome_json(const TraceContents& contents);
// One file that needs nothing else: the JSON above, and the program that draws it.
std::string trace_page(const TraceContents& contents);
// Either of the two, back. An Error says what is wrong with the text.
TraceContents read_trace(const std::string& text, const std::string& name);

}  // namespace lockstep
