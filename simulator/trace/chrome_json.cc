// Spans as Chrome trace events (the "Trace Event Format"): Perfetto and chrome://tracing open the file as it is.
//
// A process is a worker, a thread is one of a replica's three tracks: host, compute stream, communication stream. Arrows (flow events)
// lead from a shard to the gradients made from it, and from the last all-reduce to the update that uses it.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "lockstep/error.h"
#include "phase_figures.h"

namespace lockstep {

std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

namespace {

constexpr int kWorker = 1;  // process id of worker 0: viewers treat 0 as "unknown"

enum class Track { host, compute, communication };
constexpr std::array<const char*, 3> kTrackNames = {"host", "compute", "communication"};

Track track_of(const Span& span) {
  if (span.host) return Track::host;
  return span.communication ? Track::communication : Track::compute;
}

int thread_id(int replica, Track track) { return 1 + 3 * replica + static_cast<int>(track); }

// Colours of the viewer's fixed palette, one for each phase.
constexpr std::array<const char*, 6> kColours = {"grey",          "thread_state_iowait",   "thread_state_running",
                                                 "rail_response", "thread_state_runnable", "background_memory_dump"};

std::string microseconds(std::int64_t ns) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%lld.%03lld", static_cast<long long>(ns / 1000), static_cast<long long>(ns % 1000));
  return text.data();
}

// The array of events, one on a line.
class Events {
 public:
  explicit Events(std::ostream& out) : out_(out) {}

  // Starts an event; the caller writes ",name:value" for what is left and `end`.
  std::ostream& begin(const char* kind, int thread) {
    out_ << (first_ ? "\n" : ",\n") << R"({"ph":")" << kind << R"(","pid":)" << kWorker << R"(,"tid":)" << thread;
    first_ = false;
    return out_;
  }
  static constexpr const char* end = "}";

  void name(const char* kind, int thread, const std::string& text) {
    begin("M", thread) << R"(,"name":")" << kind << R"(","args":{"name":)" << json_text(text) << "}" << end;
  }
  void sort_index(int thread) { begin("M", thread) << R"(,"name":"thread_sort_index","args":{"sort_index":)" << thread << "}" << end; }

 private:
  std::ostream& out_;
  bool first_ = true;
};

void write_names(Events& events, const std::vector<Span>& spans) {
  events.name("process_name", 0, "worker 0");
  std::set<std::pair<int, Track>> tracks;
  for (const Span& span : spans) tracks.emplace(span.replica, track_of(span));
  for (const auto& [replica, track] : tracks) {
    const int thread = thread_id(replica, track);
    events.name("thread_name", thread, "replica " + std::to_string(replica) + " " + kTrackNames[static_cast<std::size_t>(track)]);
    events.sort_index(thread);
  }
}

void write_slice(Events& events, const Span& span) {
  std::ostream& out = events.begin("X", thread_id(span.replica, track_of(span)));
  out << R"(,"name":)" << json_text(span.name) << R"(,"cat":)" << json_text(to_string(span.phase)) << R"(,"ts":)"
      << microseconds(span.begin_ns) << R"(,"dur":)" << microseconds(span.end_ns - span.begin_ns) << R"(,"cname":")"
      << kColours[static_cast<std::size_t>(span.phase)] << R"(","args":{"step":)" << span.step << R"(,"replica":)" << span.replica;
  for (const auto& [name, value] : span.details) {
    out << "," << json_text(name) << ":" << (nlohmann::json::accept(value) ? value : json_text(value));
  }
  out << "}" << Events::end;
}

// One end of an arrow: it binds to the slice of that thread which encloses the time.
void write_arrow_end(Events& events, const Span& span, const char* name, std::int64_t id, bool start) {
  const std::int64_t at = start ? std::max(span.begin_ns, span.end_ns - 1) : span.begin_ns;
  std::ostream& out = events.begin(start ? "s" : "f", thread_id(span.replica, track_of(span)));
  if (!start) out << R"(,"bp":"e")";
  out << R"(,"name":")" << name << R"(","cat":"flow","id":)" << id << R"(,"ts":)" << microseconds(at) << Events::end;
}

void write_arrows(Events& events, const std::vector<Span>& spans) {
  std::map<std::pair<std::int64_t, int>, std::array<const Span*, 6>> cells;  // by step and replica; of several, the last
  for (const Span& span : spans) {
    if (span.depth == 0) cells[{span.step, span.replica}][static_cast<std::size_t>(span.phase)] = &span;
  }
  std::int64_t id = 0;
  for (const auto& [key, cell] : cells) {
    const auto arrow = [&events, &id, &phases = cell](Phase from, Phase to, const char* name) {
      const Span* tail = phases[static_cast<std::size_t>(from)];
      const Span* head = phases[static_cast<std::size_t>(to)];
      if (!tail || !head) return;
      ++id;
      write_arrow_end(events, *tail, name, id, true);
      write_arrow_end(events, *head, name, id, false);
    };
    arrow(Phase::shard, Phase::local_gradients, "samples");
    arrow(Phase::all_reduce, Phase::update, "summed gradients");
  }
}

nlohmann::json summary(const std::vector<Span>& spans) {
  const PhaseFigures figures = phase_figures(spans);
  nlohmann::json phases;
  for (std::size_t phase = 0; phase < kPhaseNames.size(); ++phase) phases[kPhaseNames[phase]] = figures.phase_ms[phase];
  return {{"producer", "Lockstep"},          {"replicas", figures.replicas}, {"steps", figures.steps},
          {"mean step ms", figures.step_ms}, {"mean ms by phase", phases},   {"mean exposed all-reduce ms", figures.exposed_all_reduce_ms}};
}

}  // namespace

void Tracer::write_chrome_json(const std::string& path) const {
  const std::vector<Span> all = spans();
  const std::string temporary = path + ".partial." + std::to_string(getpid());
  {
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    out << "{\"traceEvents\":[";
    Events events(out);
    write_names(events, all);
    for (const Span& span : all) write_slice(events, span);
    write_arrows(events, all);
    out << "\n],\n\"displayTimeUnit\":\"ms\",\n\"otherData\":" << summary(all).dump() << "}\n";
    out.close();
    if (!out) {
      std::remove(temporary.c_str());
      throw Error("The trace could not be written to " + path + ": is the folder there, and is there room?");
    }
  }
  std::error_code problem;
  std::filesystem::rename(temporary, path, problem);
  if (problem) {
    std::remove(temporary.c_str());
    throw Error("The trace could not be written to " + path + ": " + problem.message() + ".");
  }
}

}  // namespace lockstep
