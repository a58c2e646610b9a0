// A few training steps, recorded to be looked at: six phases on every replica, and what they held.
//
//   Trace trace;
//   model.fit(x, y, FitOptions().trace(trace, TraceOptions().steps(8)));
//   std::cout << trace.summary();
//   trace.save("step.html");   // a page that needs nothing else; "step.json" is for Perfetto (ui.perfetto.dev)
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

class TraceOptions {
 public:
  TraceOptions& steps(std::int64_t n) { return steps_ = n, *this; }  // the first ones of this fit; default 20
  // Into the first so many steps we look more closely: gradient norms, partial sums, checksums. That takes time, so the figures are made
  // from the other steps where there are any. Default 4.
  TraceOptions& inspect(std::int64_t n) { return inspect_ = n, *this; }
  TraceOptions& samples(int n) { return samples_ = n, *this; }  // pictures or texts to keep of each shard; default 8
  TraceOptions& title(std::string text) { return title_ = std::move(text), *this; }
  TraceOptions& class_names(std::vector<std::string> names) { return class_names_ = std::move(names), *this; }  // of labels 0, 1, ...
  TraceOptions& words(std::vector<std::string> words) { return words_ = std::move(words), *this; }              // of tokens 0, 1, ...

 private:
  friend class Training;
  std::int64_t steps_ = 20;
  std::int64_t inspect_ = 4;
  int samples_ = 8;
  std::string title_;
  std::vector<std::string> class_names_, words_;
};

// A handle: copies are the same trace. Empty until a fit has filled it.
class Trace {
 public:
  Trace();
  static Trace load(const std::string& path);  // either kind of file

  bool empty() const;
  std::string html() const;     // the page, as one string: a notebook can show it inline
  std::string json() const;     // Chrome's trace event format
  std::string summary() const;  // for a terminal: where the step's time went, what it waited for, who was slow
  std::string compare(const Trace& other, const std::string& name = "A", const std::string& other_name = "B") const;
  void save(const std::string& path) const;  // by the name's end, .html or .json; in one stroke or not at all

 private:
  friend class Training;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace lockstep
