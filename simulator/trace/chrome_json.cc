// Spans as Chrome trace events (the "Trace Event Format"): Perfetto and chrome://tracing open the file as it is.
//
// A process is a worker, a thread is one of a replica's three tracks: host, compute stream, communication stream. Arrows (flow events)
// lead from a shard to the gradients made from it, from each message's sender to its receiver, and from the last all-reduce to the update
// that uses it. Counters show how much memory of each replica is live.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "simulator/trace/figures.h"
#include "simulator/trace/trace_contents.h"

namespace lockstep {

std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_number(double value) { return std::isfinite(value) ? nlohmann::json(value).dump() : "null"; }

std::vector<int> Span::senders() const {
  std::vector<int> senders;
  const std::string* text = detail("from");
  if (text == nullptr) return senders;
  const nlohmann::json from = nlohmann::json::parse(*text, nullptr, false);
  for (const nlohmann::json& one : from)
    if (one.is_number_integer()) senders.push_back(one.get<int>());
  return senders;
}

namespace {

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
  Events(std::ostream& out, int worker) : out_(out), process_(worker + 1) {}  // viewers treat process 0 as "unknown"

  // Starts an event; the caller writes ",name:value" for what is left and `end`.
  std::ostream& begin(const char* kind, int thread) {
    out_ << (first_ ? "\n" : ",\n") << R"({"ph":")" << kind << R"(","pid":)" << process_ << R"(,"tid":)" << thread;
    first_ = false;
    return out_;
  }
  static constexpr const char* end = "}";

  void name(const char* kind, int thread, const std::string& text) {
    begin("M", thread) << R"(,"name":")" << kind << R"(","args":{"name":)" << json_text(text) << "}" << end;
  }
  void sort_index(const char* kind, int thread, int index) {
    begin("M", thread) << R"(,"name":")" << kind << R"(","args":{"sort_index":)" << index << "}" << end;
  }

 private:
  std::ostream& out_;
  int process_;
  bool first_ = true;
};

void write_names(Events& events, const TraceContents& contents) {
  events.name("process_name", 0, "worker " + std::to_string(contents.worker));
  events.sort_index("process_sort_index", 0, contents.worker);
  std::set<std::pair<int, Track>> tracks;
  for (const Span& span : contents.spans) tracks.emplace(span.replica, track_of(span));
  for (const auto& [replica, track] : tracks) {
    const int thread = thread_id(replica, track);
    events.name("thread_name", thread, "replica " + std::to_string(replica) + " " + kTrackNames[static_cast<std::size_t>(track)]);
    events.sort_index("thread_sort_index", thread, thread);
  }
}

void write_slice(Events& events, const Span& span) {
  std::ostream& out = events.begin("X", thread_id(span.replica, track_of(span)));
  out << R"(,"name":)" << json_text(span.name) << R"(,"cat":)" << json_text(to_string(span.phase)) << R"(,"ts":)"
      << microseconds(span.begin_ns) << R"(,"dur":)" << microseconds(span.ns()) << R"(,"cname":")"
      << kColours[static_cast<std::size_t>(span.phase)] << R"(","args":{"step":)" << span.step << R"(,"replica":)" << span.replica
      << R"(,"depth":)" << span.depth;
  for (const auto& [name, value] : span.details) {
    out << "," << json_text(name) << ":" << (nlohmann::json::accept(value) ? value : json_text(value));
  }
  out << "}" << Events::end;
}

// One end of an arrow: it binds to the slice of that thread which encloses the time.
void write_arrow_end(Events& events, const Span& span, const char* name, std::int64_t id, bool start, std::int64_t at) {
  std::ostream& out = events.begin(start ? "s" : "f", thread_id(span.replica, track_of(span)));
  if (!start) out << R"(,"bp":"e")";
  out << R"(,"name":")" << name << R"(","cat":"flow","id":)" << id << R"(,"ts":)" << microseconds(at) << Events::end;
}

class Arrows {
 public:
  explicit Arrows(Events& events) : events_(events) {}
  void add(const Span* tail, const Span* head, const char* name) {
    if (!tail || !head) return;
    ++id_;
    write_arrow_end(events_, *tail, name, id_, true, std::max(tail->begin_ns, tail->end_ns - 1));
    write_arrow_end(events_, *head, name, id_, false, head->begin_ns);
  }
  // From where the sender's bucket began to the message's begin: what is sent lay there before.
  void message(const Span* sender, const Span& message) {
    if (!sender || sender->begin_ns > message.begin_ns) return;
    ++id_;
    write_arrow_end(events_, *sender, "message", id_, true, std::min(std::max(sender->begin_ns, sender->end_ns - 1), message.begin_ns));
    write_arrow_end(events_, message, "message", id_, false, message.begin_ns);
  }

 private:
  Events& events_;
  std::int64_t id_ = 0;
};

void write_arrows(Events& events, const std::vector<Span>& spans) {
  std::map<std::pair<std::int64_t, int>, std::array<const Span*, 6>> cells;  // by step and replica; of several, the last
  std::map<std::tuple<std::int64_t, int, std::string>, const Span*> buckets;
  for (const Span& span : spans) {
    if (span.depth > 0) continue;
    cells[{span.step, span.replica}][static_cast<std::size_t>(span.phase)] = &span;
    if (const std::string* bucket = span.detail("bucket")) buckets[{span.step, span.replica, *bucket}] = &span;
  }
  Arrows arrows(events);
  for (const auto& [key, cell] : cells) {
    arrows.add(cell[static_cast<std::size_t>(Phase::shard)], cell[static_cast<std::size_t>(Phase::local_gradients)], "samples");
    arrows.add(cell[static_cast<std::size_t>(Phase::all_reduce)], cell[static_cast<std::size_t>(Phase::update)], "summed gradients");
  }
  for (const Span& span : spans) {
    const std::string* bucket = span.detail("bucket");
    if (span.depth == 0 || bucket == nullptr) continue;
    for (const int from : span.senders()) {
      const auto sender = buckets.find({span.step, from, *bucket});
      arrows.message(sender == buckets.end() ? nullptr : sender->second, span);
    }
  }
}

void write_counters(Events& events, const std::vector<Span>& spans) {
  for (const Span& span : spans) {
    const std::string* live = span.detail("live bytes");
    if (live == nullptr) continue;
    events.begin("C", 0) << R"(,"name":"replica )" << span.replica << R"( live activations","ts":)" << microseconds(span.begin_ns)
                         << R"(,"args":{"bytes":)" << *live << "}" << Events::end;
  }
  for (const Span& span : spans) {
    const std::string* used = span.depth == 0 ? span.detail("memory used") : nullptr;
    if (used == nullptr) continue;
    events.begin("C", 0) << R"(,"name":"replica )" << span.replica << R"( memory used","ts":)" << microseconds(span.begin_ns)
                         << R"(,"args":{"bytes":)" << *used << "}" << Events::end;
  }
}

}  // namespace

std::string chrome_json(const TraceContents& contents) {
  std::ostringstream out;
  out << "{\"traceEvents\":[";
  Events events(out, contents.worker);
  write_names(events, contents);
  for (const Span& span : contents.spans) write_slice(events, span);
  write_arrows(events, contents.spans);
  write_counters(events, contents.spans);
  out << "\n],\n\"displayTimeUnit\":\"ms\",\n\"otherData\":{\"producer\":\"Lockstep\",\"worker\":" << contents.worker
      << ",\n\"about\":" << contents.about << ",\n\"figures\":" << figures_json(trace_figures(contents.spans)) << ",\n\"samples\":[";
  for (std::size_t i = 0; i < contents.samples.size(); ++i) out << (i ? ",\n" : "\n") << contents.samples[i];
  out << "\n]}}\n";
  return out.str();
}

}  // namespace lockstep
