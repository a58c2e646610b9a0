// Which operation is certain to have happened before which: by streams, events, gates and what the host has waited for.
//
// Each stream has a vector clock. A node that waits joins the clocks of the moments it waited for (an event's record, the legacy
// stream's rules); streams that meet at a gate join each other's. All host threads share one clock, since their order is not visible here:
// once one of them has synchronised with a stream, what any of them issues later counts as ordered behind it. So a race between host
// threads can be missed, but what is reported is a race. Nothing here depends on when an operation happened to run.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simulator/gpu/check/call_site.h"
#include "simulator/gpu/check/vector_clock.h"
#include "simulator/gpu/runtime/queue.h"

namespace lockstep::sim {

// An operation as it was issued.
struct Issue {
  std::string name;
  std::string stream;  // "stream 2 of device 0"
  CallSite site;
  std::uint64_t number = 0;  // in the order of the calls, which is not the order in which operations run
};

// One operation's touch of memory.
struct Access {
  int stream = -1;  // index; -1: no access yet
  std::uint64_t sequence = 0;
  std::shared_ptr<const Issue> issue;
};

// The caller holds a lock.
class Order {
 public:
  void created(const Stream* stream);    // a handle may have been another stream before: it gets a new name
  void destroyed(const Stream* stream);  // what was queued on it still counts for synchronisation with its device

  int index(const Stream* stream) { return line(stream).index; }
  const std::string& name(const Stream* stream) { return line(stream).name; }
  void rename(const Stream* stream, const std::string& name) { line(stream).name = name; }

  // The waits of a node, when it is issued. What is known of them follows from the order of the calls alone.
  void issued(const Stream* stream, std::uint64_t sequence, const std::vector<Moment>& after, std::uint64_t number);
  std::vector<std::string> waited_for(const Access& access) const;  // streams that its stream has waited for until then, the latest first
  bool has_waited_for(const Access& access, int other, std::uint64_t since = 0) const;  // with a wait that was issued since then

  // Moments of destroyed streams that count as its device's.
  std::vector<Moment> retired(int device, bool blocking_only);

  // A node whose waits are over: joins them, and what the host knew when the node was issued.
  void started(const Stream* stream, std::uint64_t sequence, const std::vector<Moment>& waited,
               const std::shared_ptr<const VectorClock>& host);
  void reached_gate(const Stream* stream, std::uint64_t sequence, VectorClock& gate);
  void left_gate(const Stream* stream, std::uint64_t sequence, const VectorClock& gate);

  // The host.
  void host_saw(const Moment& moment);
  std::shared_ptr<const VectorClock> host() const { return host_; }

  bool before(const Access& access, const Stream* stream);  // what the stream does now
  bool before_host(const Access& access) const { return access.stream < 0 || host_->of(access.stream) >= access.sequence; }

 private:
  struct Wait {
    std::uint64_t sequence = 0;  // of the node that waits
    int other = 0;               // stream
    std::uint64_t number = 0;    // in the order of the calls
  };
  struct Line {
    int index = 0;
    std::string name;
    VectorClock now;                                                                   // of others; the stream's own nodes are always known
    std::deque<Wait> waits;                                                            // the latest last
    std::shared_ptr<const VectorClock> host;                                           // joined last
    std::deque<std::pair<std::uint64_t, std::shared_ptr<const VectorClock>>> history;  // `now` from a node on
  };
  Line& line(const Stream* stream);
  void changed(Line& line, std::uint64_t sequence);
  VectorClock clock_at(const Moment& moment);

  std::unordered_map<const Stream*, Line> lines_;
  std::vector<const Line*> by_index_;
  std::map<int, int> numbers_;                                                // streams ever created, by device
  std::map<std::pair<int, bool>, std::map<Stream*, std::uint64_t>> retired_;  // by (device, blocking)
  std::shared_ptr<const VectorClock> host_ = std::make_shared<VectorClock>();
};

}  // namespace lockstep::sim
