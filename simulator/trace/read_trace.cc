// A trace read back, from the JSON or from the page that holds it.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lockstep/error.h"
#include "simulator/trace/trace_contents.h"

namespace lockstep {
namespace {

constexpr const char* kBegin = R"(<script type="application/json" id="trace">)";
constexpr const char* kEnd = "</script>";

std::int64_t nanoseconds(const nlohmann::json& microseconds) {
  return static_cast<std::int64_t>(std::llround(microseconds.get<double>() * 1000));
}

Span read_span(const nlohmann::json& event) {
  Span span;
  span.name = event.at("name").get<std::string>();
  const std::string phase = event.at("cat").get<std::string>();
  const auto found = std::find(kPhases.begin(), kPhases.end(), phase);
  if (found == kPhases.end()) throw Error("it has a slice of an unknown phase, \"" + phase + "\"");
  span.phase = static_cast<Phase>(found - kPhases.begin());
  span.begin_ns = nanoseconds(event.at("ts"));
  span.end_ns = span.begin_ns + nanoseconds(event.at("dur"));
  const nlohmann::json& args = event.at("args");
  span.step = args.at("step").get<std::int64_t>();
  span.replica = args.at("replica").get<int>();
  span.depth = args.at("depth").get<int>();
  const int track = (event.at("tid").get<int>() - 1) % 3;
  span.host = track == 0;
  span.communication = track == 2;
  for (const auto& [name, value] : args.items())
    if (name != "step" && name != "replica" && name != "depth") span.details.emplace_back(name, value.dump());
  return span;
}

}  // namespace

TraceContents read_trace(const std::string& text, const std::string& name) {
  const std::size_t begin = text.find(kBegin);
  const std::size_t first = begin == std::string::npos ? 0 : begin + std::char_traits<char>::length(kBegin);
  const std::size_t end = begin == std::string::npos ? text.size() : text.find(kEnd, first);
  try {
    const nlohmann::json json =
        nlohmann::json::parse(text.begin() + static_cast<std::ptrdiff_t>(first),
                              end == std::string::npos ? text.end() : text.begin() + static_cast<std::ptrdiff_t>(end));
    if (!json.is_object() || !json.contains("otherData") || json["otherData"].value("producer", "") != "Lockstep")
      throw Error("Lockstep did not write it");
    TraceContents contents;
    const nlohmann::json& other = json.at("otherData");
    contents.worker = other.value("worker", 0);
    contents.about = other.value("about", nlohmann::json::object()).dump();
    for (const nlohmann::json& one : other.value("samples", nlohmann::json::array())) contents.samples.push_back(one.dump());
    for (const nlohmann::json& event : json.at("traceEvents"))
      if (event.at("ph") == "X") contents.spans.push_back(read_span(event));
    return contents;
  } catch (const nlohmann::json::exception& error) {
    throw Error(name + " is not a trace of Lockstep, or a damaged one: " + error.what());
  } catch (const Error& error) {
    throw Error(name + " is not a trace of Lockstep: " + error.what() + ".");
  }
}

}  // namespace lockstep
