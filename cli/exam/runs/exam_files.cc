#include "cli/exam/runs/exam_files.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "cli/lesson/lesson_files.h"
#include "lockstep/error.h"

namespace lockstep::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

TraceSlice read_slice(const Json& event) {
  constexpr double kMs = 1e-3;
  const Json& facts = event.at("args");
  return {event.at("cat"),
          event.at("name"),
          facts.at("step"),
          facts.at("replica"),
          facts.at("depth"),
          event.value("ts", 0.0) * kMs,
          event.value("dur", 0.0) * kMs,
          facts};
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) throw Error("the exam's trace has none of the slices that its answer is made from");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

ExamFiles::ExamFiles(fs::path folder) : folder_(std::move(folder)), log_(read_text(folder_ / "run.log")) {
  if (!fs::exists(folder_ / "trace.json")) return;
  try {
    const Json trace = Json::parse(read_text(folder_ / "trace.json"));
    for (const Json& event : trace.at("traceEvents")) {
      if (event.at("ph") == "X") slices_.push_back(read_slice(event));
    }
    about_ = trace.at("otherData").at("about");
    samples_ = trace.at("otherData").at("samples");
  } catch (const Json::exception& error) {
    throw Error((folder_ / "trace.json").string() + " is damaged: " + error.what() + ". Fix: remove the folder and start the exam again.");
  }
}

std::vector<std::string> ExamFiles::logged(const std::string& pattern) const {
  const std::regex wanted(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator at(log_.begin(), log_.end(), wanted), end; at != end; ++at) found.push_back((*at)[1]);
  if (found.empty()) throw Error((folder_ / "run.log").string() + " is damaged. Fix: remove the folder and start the exam again.");
  return found;
}

int ExamFiles::replicas() const { return about_.at("replicas"); }

std::vector<std::int64_t> ExamFiles::steps() const {
  std::set<std::int64_t> all;
  for (const TraceSlice& slice : slices_) {
    if (slice.phase == "update") all.insert(slice.step);
  }
  return {all.begin(), all.end()};
}

const TraceSlice& ExamFiles::phase(const std::string& phase, std::int64_t step, int replica) const {
  for (const TraceSlice& slice : slices_) {
    if (slice.phase == phase && slice.depth == 0 && slice.step == step && slice.replica == replica) return slice;
  }
  throw Error("the exam's trace has no phase " + phase + " of replica " + std::to_string(replica) + " in step " + std::to_string(step));
}

double ExamFiles::median_ms(const std::string& name, int replica) const {
  const std::vector<std::int64_t> all = steps();
  std::map<std::int64_t, double> by_step;
  for (const TraceSlice& slice : slices_) {
    if (slice.name == name && slice.replica == replica && !all.empty() && slice.step > all.front()) by_step[slice.step] += slice.ms;
  }
  std::vector<double> values;
  for (const auto& [step, ms] : by_step) values.push_back(ms);
  return median(values);
}

double ExamFiles::median_of_others(const std::string& name, int replica) const {
  std::vector<double> values;
  for (int other = 0; other < replicas(); ++other) {
    if (other != replica) values.push_back(median_ms(name, other));
  }
  return median(values);
}

}  // namespace lockstep::cli
