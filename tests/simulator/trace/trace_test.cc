// The trace: what is written can be read, six phases for every step and replica, in a sensible order.
#include "simulator/trace/trace.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "engine/distribute/step/mirrored_step.h"
#include "engine/ops/elementwise.h"
#include "engine/optim/adam.h"
#include "lockstep/error.h"
#include "simulator/trace/figures.h"
#include "simulator/trace/trace_impl.h"
#include "tests/engine/distribute/support/gpus.h"
#include "tests/engine/distribute/support/model.h"

namespace lockstep {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): GPUs and models made for these tests

constexpr int kReplicas = 3;
constexpr int kSteps = 4;

// Traces a few steps; shard sizes differ, and in the last step one replica has no sample.
void trace_some_steps(Tracer& tracer) {
  Gpus gpus = logical_gpus(kReplicas);
  StepOptions options;
  options.check_mirrored = true;
  options.first_bucket_bytes = 256;
  MirroredStep step(small_graph(), gpus.pointers, make_cross_device_ops("ring"), options, &tracer);
  step.set_training(make_loss("sparse_categorical_crossentropy"), std::make_shared<AdamImpl>(1e-3F, 0.9F, 0.999F, 1e-7F), {});
  initialize(step.replica(0), 3);
  const std::int64_t batches[kSteps] = {8, 8, 7, 2};
  for (const std::int64_t n : batches) step.train(random_samples({6, 6, 1}, n, 1), labels(n, 3, 1));
}

nlohmann::json written(const Tracer& tracer) { return nlohmann::json::parse(chrome_json(tracer.contents())); }

const Span* find(const std::vector<Span>& spans, std::int64_t step, int replica, Phase phase, bool last = false) {
  const Span* found = nullptr;
  for (const Span& span : spans) {
    if (span.depth == 0 && span.step == step && span.replica == replica && span.phase == phase && (!found || last)) found = &span;
  }
  return found;
}

// With what virtual events know, and with what those of real GPUs do.
class TraceTimes : public ::testing::TestWithParam<EventTimes> {};
INSTANTIATE_TEST_SUITE_P(Events, TraceTimes, ::testing::Values(EventTimes::absolute_where_known, EventTimes::differences),
                         [](const auto& which) { return which.param == EventTimes::differences ? "Differences" : "Absolute"; });

TEST_P(TraceTimes, EveryStepAndReplicaHasSixPhasesInOrder) {
  Tracer tracer(TraceClock::host, GetParam());
  trace_some_steps(tracer);
  const std::vector<Span> spans = tracer.spans();
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    std::int64_t last_update = 0;
    std::int64_t first_leaving = INT64_MAX;
    for (int r = 0; r < kReplicas; ++r) {
      std::array<const Span*, 6> phases{};
      for (std::size_t phase = 0; phase < 6; ++phase) {
        phases[phase] = find(spans, step, r, static_cast<Phase>(phase));
        ASSERT_NE(phases[phase], nullptr) << "step " << step << ", replica " << r << ": no " << kPhases[phase];
        EXPECT_GE(phases[phase]->begin_ns, 0);
        EXPECT_GE(phases[phase]->end_ns, phases[phase]->begin_ns);
      }
      const auto& [replicate, shard, gradients, reduce, update, barrier] = phases;
      EXPECT_LE(replicate->begin_ns, shard->begin_ns);
      EXPECT_LE(shard->end_ns, gradients->begin_ns);
      EXPECT_LE(gradients->begin_ns, reduce->begin_ns);
      EXPECT_LE(gradients->end_ns, update->begin_ns);
      const Span* last_reduce = find(spans, step, r, Phase::all_reduce, true);
      EXPECT_LE(last_reduce->end_ns, update->begin_ns);
      EXPECT_LE(update->end_ns, barrier->begin_ns);
      last_update = std::max(last_update, update->end_ns);
      first_leaving = std::min(first_leaving, barrier->end_ns);
      const Span* next = find(spans, step + 1, r, Phase::shard);
      if (next) {
        EXPECT_LE(barrier->end_ns, next->begin_ns);
      }
    }
    EXPECT_LE(last_update, first_leaving) << "a replica left the barrier before another arrived";
  }
}

TEST_P(TraceTimes, SlicesOfOneTrackNestOrFollowOneAnother) {
  Tracer tracer(TraceClock::host, GetParam());
  trace_some_steps(tracer);
  std::map<std::tuple<int, bool, bool>, std::vector<Span>> tracks;
  for (const Span& span : tracer.spans()) tracks[{span.replica, span.host, span.communication}].push_back(span);
  EXPECT_EQ(tracks.size(), static_cast<std::size_t>(3 * kReplicas));
  for (const auto& [track, spans] : tracks) {
    std::vector<Span> open;
    for (const Span& span : spans) {
      while (!open.empty() && (open.back().depth >= span.depth || open.back().end_ns <= span.begin_ns)) {
        EXPECT_LE(open.back().end_ns, span.begin_ns) << open.back().name << " overlaps " << span.name;
        open.pop_back();
      }
      if (!open.empty()) {
        EXPECT_GE(span.begin_ns, open.back().begin_ns) << span.name;
        EXPECT_LE(span.end_ns, open.back().end_ns) << span.name << " ends after " << open.back().name;
      }
      open.push_back(span);
    }
  }
}

TEST(Trace, ChromeJsonHasNamesSlicesAndArrows) {
  Tracer tracer;
  trace_some_steps(tracer);
  const nlohmann::json json = written(tracer);
  std::map<int, std::string> names;
  std::set<int> sorted;
  std::map<std::pair<std::int64_t, int>, std::set<std::string>> phases;
  std::map<std::string, std::map<std::int64_t, std::vector<nlohmann::json>>> arrows;
  bool process_named = false;
  std::size_t slices = 0, messages = 0;
  std::set<std::string> counters;
  for (const nlohmann::json& event : json.at("traceEvents")) {
    const std::string kind = event.at("ph");
    if (kind == "M" && event.at("name") == "process_name") process_named = event.at("args").at("name") == "worker 0";
    if (kind == "M" && event.at("name") == "thread_name") names[event.at("tid")] = event.at("args").at("name");
    if (kind == "M" && event.at("name") == "thread_sort_index") sorted.insert(event.at("tid").get<int>());
    if (kind == "X") {
      ++slices;
      EXPECT_GE(event.at("ts").get<double>(), 0);
      EXPECT_GE(event.at("dur").get<double>(), 0);
      phases[{event.at("args").at("step"), event.at("args").at("replica")}].insert(event.at("cat").get<std::string>());
      if (event.at("cat") == "shard" && event.at("args").at("depth") == 0) {
        EXPECT_TRUE(event.at("args").at("samples").is_number_integer());
      }
      if (event.at("args").contains("from")) ++messages;
      if (event.at("cat") == "all-reduce" && event.at("args").at("depth") == 0) {
        EXPECT_EQ(event.at("args").at("algorithm"), "ring");
        EXPECT_TRUE(event.at("args").at("variables").is_array());
        EXPECT_GT(event.at("args").at("messages of all replicas").get<int>(), 0);
      }
      if (event.at("cat") == "barrier" && event.at("args").at("depth") == 0) {
        EXPECT_TRUE(event.at("args").contains("checksum"));
      }
    }
    if (kind == "C") {
      counters.insert(event.at("name"));
      EXPECT_GT(event.at("args").at("bytes").get<std::int64_t>(), 0);
    }
    if (kind == "s" || kind == "f") arrows[event.at("name")][event.at("id")].push_back(event);
  }
  EXPECT_TRUE(process_named);
  EXPECT_EQ(slices, tracer.spans().size());
  EXPECT_EQ(names.size(), static_cast<std::size_t>(3 * kReplicas));
  EXPECT_EQ(sorted.size(), names.size());
  EXPECT_EQ(phases.size(), static_cast<std::size_t>(kSteps * kReplicas));
  for (const auto& [cell, found] : phases) EXPECT_EQ(found.size(), 6U) << "step " << cell.first << ", replica " << cell.second;
  EXPECT_EQ(arrows.size(), 3U);
  EXPECT_EQ(arrows["samples"].size(), static_cast<std::size_t>(kSteps * kReplicas));
  EXPECT_EQ(arrows["summed gradients"].size(), static_cast<std::size_t>(kSteps * kReplicas));
  EXPECT_EQ(arrows["message"].size(), messages);
  for (const auto& [name, by_id] : arrows) {
    for (const auto& [id, ends] : by_id) {
      ASSERT_EQ(ends.size(), 2U) << name << " " << id;
      EXPECT_EQ(ends[0].at("ph"), "s");
      EXPECT_EQ(ends[1].at("ph"), "f");
      EXPECT_EQ(ends[1].at("bp"), "e");
      EXPECT_LE(ends[0].at("ts").get<double>(), ends[1].at("ts").get<double>());
    }
  }
  EXPECT_EQ(counters.size(), static_cast<std::size_t>(2 * kReplicas)) << "live activations and memory used, of each replica";
  EXPECT_EQ(json.at("otherData").at("figures").at("steps").size(), static_cast<std::size_t>(kSteps));
  EXPECT_EQ(json.at("otherData").at("figures").at("replicas"), kReplicas);
}

TEST(Trace, StrangeTextStaysReadable) {
  Tracer tracer;
  Span span;
  span.name = "a \"quoted\"\nname \xff";
  span.end_ns = 1234567;
  span.details = {{"good", "{\"n\": 1}"}, {"bad", "not json"}};
  tracer.host_span(span);
  for (const nlohmann::json& event : written(tracer).at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    EXPECT_EQ(event.at("args").at("good").at("n"), 1);
    EXPECT_EQ(event.at("args").at("bad"), "not json");
    EXPECT_DOUBLE_EQ(event.at("dur").get<double>(), 1234.567);
  }
}

TEST(Trace, AFileThatCannotBeWrittenIsAnErrorAndLeavesNothingBehind) {
  const Trace trace;
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("lockstep_trace_dir_" + std::to_string(getpid()));
  EXPECT_THROW(trace.save((folder / "trace.json").string()), Error);
  std::filesystem::create_directories(folder / "trace.json" / "taken");
  EXPECT_THROW(trace.save((folder / "trace.json").string()), Error);
  EXPECT_THROW(trace.save((folder / "trace.txt").string()), Error);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()), 1);
  std::filesystem::remove_all(folder);
}

TEST_P(TraceTimes, DeviceSpansLieBetweenTheirHostCalls) {
  Gpus gpus = logical_gpus(1);
  Tracer tracer(TraceClock::host, GetParam());
  Stream& stream = gpus.pointers[0]->compute();
  const Buffer memory = gpus.pointers[0]->arena().allocate(1 << 22, "test");
  for (int i = 0; i < 20; ++i) {
    const std::int64_t before = tracer.now_ns();
    SpanRecord span;
    span.step = i;
    tracer.begin_device_span(stream, span);
    ops::fill({gpus.pointers[0], &stream, {}}, 1.0F, Tensor(memory.raw(), {1 << 20}));
    tracer.end_device_span(stream);
    tracer.resolve();
    const std::int64_t after = tracer.now_ns();
    const Span found = tracer.spans().back();
    EXPECT_EQ(found.step, i);
    EXPECT_GE(found.begin_ns, before);
    EXPECT_LE(found.end_ns, after);
    EXPECT_GT(found.end_ns, found.begin_ns);
    EXPECT_EQ(tracer.device_end_ns(0), found.end_ns);
  }
  EXPECT_THROW(tracer.end_device_span(stream), Error);
}

// A step pays for recording only: nothing of a trace is computed before it is asked for, and long recordings do not pile up.
TEST(Trace, ManyStepsAreAllThere) {
  Gpus gpus = logical_gpus(1);
  Tracer tracer;
  const Stream& stream = gpus.pointers[0]->compute();
  constexpr std::int64_t kMany = 200;
  for (std::int64_t step = 1; step <= kMany; ++step) {
    tracer.begin_step(step);
    SpanRecord update;
    update.phase = Phase::update;
    update.step = step;
    update.facts = {[](const Facts::Numbers& numbers, Span& span) { span.details.emplace_back("number", std::to_string(numbers[3])); },
                    {0, 0, 0, 7 * step}};
    tracer.begin_device_span(stream, update);
    tracer.end_device_span(stream);
    stream.synchronize();
    SpanRecord barrier = update;
    barrier.phase = Phase::barrier;
    barrier.facts = {};
    tracer.end_step(tracer.now_ns(), {{barrier, false}});
  }
  std::int64_t last = 0;
  std::map<Phase, std::int64_t> seen;
  for (const Span& span : tracer.spans()) {
    EXPECT_EQ(span.step, ++seen[span.phase]);
    EXPECT_GE(span.begin_ns, last);
    last = span.phase == Phase::barrier ? span.end_ns : last;
    if (span.phase == Phase::update) {
      EXPECT_EQ(*span.detail("number"), std::to_string(7 * span.step));
    }
  }
  EXPECT_EQ(seen[Phase::update], kMany);
  EXPECT_EQ(seen[Phase::barrier], kMany);
}

}  // namespace
}  // namespace lockstep
