// What an exam's run left in its folder: the log, and the trace as a learner's own program would read it (Chrome's trace format).
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lockstep::cli {

// One slice of the timeline.
struct TraceSlice {
  std::string phase, name;  // "local gradients"; the same, or a part of it, such as "backward"
  std::int64_t step = 0;
  int replica = 0, depth = 0;  // 0: a whole phase
  double begin_ms = 0, ms = 0;
  nlohmann::json facts;  // "samples", "loss", "checksum", ...
};

class ExamFiles {
 public:
  explicit ExamFiles(std::filesystem::path folder);  // an Error where the run left no log

  const std::filesystem::path& folder() const { return folder_; }
  const std::string& log() const { return log_; }
  // What the pattern's first group matches in the log, in order; an Error where that is nothing.
  std::vector<std::string> logged(const std::string& pattern) const;

  // Of the trace; empty where the run ended before it was written.
  const std::vector<TraceSlice>& slices() const { return slices_; }
  const nlohmann::json& about() const { return about_; }      // devices, variables, buckets
  const nlohmann::json& samples() const { return samples_; }  // of each shard
  int replicas() const;
  std::vector<std::int64_t> steps() const;
  // The slice of a whole phase; an Error where there is none.
  const TraceSlice& phase(const std::string& phase, std::int64_t step, int replica) const;
  // Milliseconds of these slices of a replica in a step, its median over all steps but the first, which also plans and allocates.
  double median_ms(const std::string& name, int replica) const;
  // The median of the same over the replicas other than this one.
  double median_of_others(const std::string& name, int replica) const;

 private:
  std::filesystem::path folder_;
  std::string log_;
  std::vector<TraceSlice> slices_;
  nlohmann::json about_, samples_;
};

double median(std::vector<double> values);

}  // namespace lockstep::cli
