// What a traced step tells is what the engine did: layers, messages, losses, norms, checksums.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/distribute/step/mirrored_step.h"
#include "engine/optim/adam.h"
#include "simulator/trace/trace.h"
#include "tests/engine/distribute/support/gpus.h"
#include "tests/engine/distribute/support/model.h"

namespace lockstep {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): GPUs and models made for these tests

constexpr int kReplicas = 3;

struct Traced {
  explicit Traced(const std::string& algorithm, std::int64_t inspected = 100, bool traced = true, bool graphs = false,
                  const Graph& graph = small_graph())
      : gpus(logical_gpus(kReplicas)),
        input(graph.input()),
        step(graph, gpus.pointers, make_cross_device_ops(algorithm), options(graphs), nullptr) {
    step.set_training(make_loss("sparse_categorical_crossentropy"), std::make_shared<AdamImpl>(1e-3F, 0.9F, 0.999F, 1e-7F), {});
    initialize(step.replica(0), 3);
    tracer.set_inspected_steps(inspected);
    tracer.set_samples_to_keep(2);
    if (traced) step.set_tracer(&tracer);
  }
  static StepOptions options(bool graphs) {
    StepOptions options;
    options.first_bucket_bytes = 256;
    options.graphs = graphs;
    return options;
  }
  void train(std::int64_t n, std::uint32_t seed = 1) { step.train(random_samples(input, n, seed), labels(n, 3, seed)); }

  Gpus gpus;
  Shape input;
  Tracer tracer;
  MirroredStep step;
};

nlohmann::json value(const Span& span, const char* key) {
  const std::string* text = span.detail(key);
  return text ? nlohmann::json::parse(*text) : nlohmann::json();
}

std::vector<Span> whole(const Tracer& tracer, Phase phase) {
  std::vector<Span> found;
  for (const Span& span : tracer.spans())
    if (span.depth == 0 && span.phase == phase) found.push_back(span);
  return found;
}

TEST(StepTrace, LossesOfReplicasAddUpToTheEnginesTotals) {
  Traced run("ring");
  for (const std::int64_t n : {8, 7, 2}) {
    run.step.clear_totals();
    run.train(n);
    double sum = 0;
    std::int64_t samples = 0;
    for (const Span& span : whole(run.tracer, Phase::local_gradients)) {
      if (span.step != run.step.iterations() || !span.detail("loss sum")) continue;
      sum += value(span, "loss sum").get<double>();
      samples += value(span, "samples").get<std::int64_t>();
      const nlohmann::json losses = value(span, "losses");  // of each sample
      double each = 0;
      for (const nlohmann::json& one : losses) each += one.get<double>();
      EXPECT_NEAR(each / static_cast<double>(losses.size()), value(span, "loss").get<double>(), 1e-6);
    }
    const MirroredStep::Totals totals = run.step.totals();
    EXPECT_EQ(samples, n);
    EXPECT_DOUBLE_EQ(sum, totals.sums[0]);
  }
}

TEST(StepTrace, LossesAreRightAlsoWhenSumsRunOn) {
  Traced run("ring");
  run.step.clear_totals();
  for (int i = 0; i < 3; ++i) run.train(6, 1 + static_cast<std::uint32_t>(i));
  double sum = 0;
  for (const Span& span : whole(run.tracer, Phase::local_gradients)) sum += value(span, "loss sum").get<double>();
  EXPECT_NEAR(sum, run.step.totals().sums[0], 1e-9);
}

TEST(StepTrace, ChecksumsAreTheEnginesOwn) {
  Traced run("tree");
  run.train(9);
  const std::vector<std::uint64_t> expected = run.step.checksums();
  const std::vector<Span> barriers = whole(run.tracer, Phase::barrier);
  ASSERT_EQ(barriers.size(), static_cast<std::size_t>(kReplicas));
  for (std::size_t r = 0; r < barriers.size(); ++r)
    EXPECT_EQ(std::stoull(value(barriers[r], "checksum").get<std::string>(), nullptr, 16), expected[r]);
}

TEST(StepTrace, TracingChangesNoBit) {
  Traced plain("ring", 0, false), traced("ring", 0), inspected("ring", 100);
  for (Traced* run : {&plain, &traced, &inspected})
    for (int i = 0; i < 3; ++i) run->train(8, 1 + static_cast<std::uint32_t>(i));
  EXPECT_EQ(plain.step.checksums(), traced.step.checksums());
  EXPECT_EQ(plain.step.checksums(), inspected.step.checksums());
}

TEST(StepTrace, TheNormBehindTheAllReduceIsThatOfTheSum) {
  Traced run("ring");
  run.train(8);
  Replica& first = run.step.replica(0);
  double squares = 0;
  for (const float g : download(first, first.variables().gradients())) squares += static_cast<double>(g) * static_cast<double>(g);
  double longest = 0;
  for (const Span& span : whole(run.tracer, Phase::local_gradients)) longest += value(span, "gradient norm").get<double>();
  for (const Span& span : whole(run.tracer, Phase::update)) {
    EXPECT_NEAR(value(span, "gradient norm").get<double>(), std::sqrt(squares), 1e-6 * std::sqrt(squares));
    EXPECT_LE(value(span, "gradient norm").get<double>(), longest * (1 + 1e-6)) << "a sum is no longer than its parts";
  }
}

using Names = std::vector<std::string>;

// The layers of what was given to a replica's GPU at once, in its order, forward or backward.
std::vector<Names> layers_at_work(const Tracer& tracer, std::int64_t step, int replica, const char* direction) {
  std::vector<Names> found;
  for (const Span& span : tracer.spans()) {
    if (span.step != step || span.replica != replica || !span.detail("layers") || value(span, "direction") != direction) continue;
    found.push_back(value(span, "layers").get<Names>());
    EXPECT_EQ(value(span, "classes").size(), found.back().size());
  }
  return found;
}

// Of mnist_graph, with the names that its layers have this time: the convolution and its pooling run as one, flattening runs nothing.
std::vector<Names> expected_work(const MirroredStep& step) {
  std::map<std::string, std::string> named;
  std::vector<std::string> dense;
  const nlohmann::json about = nlohmann::json::parse(step.about());
  for (const nlohmann::json& layer : about.at("layers")) {
    named[layer.at("class")] = layer.at("name");
    if (layer.at("class") == "Dense") dense.push_back(layer.at("name"));
  }
  return {{named.at("Conv2D"), named.at("MaxPooling2D")}, {dense.at(0)}, {dense.at(1)}};
}

TEST(StepTrace, EveryLayerIsSeenForwardAndBackwardAndAFusedOneAsTheLayersItStandsFor) {
  Traced run("ring", 100, true, false, mnist_graph());
  run.train(8);
  std::vector<Names> expected = expected_work(run.step);
  for (int r = 0; r < kReplicas; ++r) EXPECT_EQ(layers_at_work(run.tracer, 1, r, "forward"), expected);
  std::reverse(expected.begin(), expected.end());
  for (int r = 0; r < kReplicas; ++r) EXPECT_EQ(layers_at_work(run.tracer, 1, r, "backward"), expected);
}

TEST(StepTrace, AGraphIsOneSpanThatListsItsLayersAlsoInStepsThatAreLookedInto) {
  Traced run("one-device", 100, true, true, mnist_graph());
  for (int i = 0; i < 3; ++i) run.train(9);
  Names all;
  for (const Names& one : expected_work(run.step)) all.insert(all.end(), one.begin(), one.end());
  for (int r = 0; r < kReplicas; ++r) {
    EXPECT_EQ(layers_at_work(run.tracer, 1, r, "forward").size(), 3U) << "the first step captures nothing";
    for (const std::int64_t step : {2, 3}) {
      EXPECT_EQ(layers_at_work(run.tracer, step, r, "forward"), std::vector<Names>{all}) << "one graph";
      std::set<std::string> seen;
      for (const Names& names : layers_at_work(run.tracer, step, r, "backward")) seen.insert(names.begin(), names.end());
      EXPECT_EQ(seen, std::set<std::string>(all.begin(), all.end()));
    }
  }
  std::size_t graphs = 0;
  for (const Span& span : run.tracer.spans()) {
    if (!span.detail("layers")) continue;
    EXPECT_EQ(value(span, "graph").get<bool>(), span.step > 1);
    graphs += span.step > 1 ? 1 : 0;
  }
  EXPECT_GE(graphs, 2U * 2U * kReplicas);
}

// Phases 1, 4 and 5 are real on every replica, for every algorithm with copies; with one copy the trace says what there is instead.
TEST(StepTrace, ReplicationSumAndUpdateAreTracedOnEveryReplica) {
  for (const std::string algorithm : {"ring", "tree", "one-device", "hierarchical-copy", "one-copy"}) {
    Traced run(algorithm);
    run.train(8);
    const bool copies = algorithm != "one-copy";
    const VariableStore& variables = run.step.replica(0).variables();
    std::int64_t all = static_cast<std::int64_t>(variables.weights().bytes());
    for (int k = 0; k < variables.slots(); ++k) all += static_cast<std::int64_t>(variables.slot(k).bytes());
    std::map<int, std::int64_t> replicated, in_the_step;
    for (const Span& span : whole(run.tracer, Phase::replicate))
      (span.communication ? replicated : in_the_step)[span.replica] += value(span, "bytes").get<std::int64_t>();
    std::map<int, std::int64_t> summed;  // gradients whose sum a replica has
    std::int64_t gradients = 0;
    const nlohmann::json about = nlohmann::json::parse(run.step.about());
    for (const nlohmann::json& bucket : about.at("buckets")) gradients += bucket.at("bytes").get<std::int64_t>();
    for (const Span& span : whole(run.tracer, Phase::all_reduce))
      summed[span.replica] += value(span, "bytes of the sum here").get<std::int64_t>();
    std::map<int, bool> updates;
    for (const Span& span : whole(run.tracer, Phase::update)) {
      updates[span.replica] = value(span, "updates").get<bool>();
      EXPECT_EQ(span.detail("optimizer") != nullptr, updates[span.replica]) << algorithm;
      EXPECT_EQ(span.detail("gradient norm") != nullptr, updates[span.replica]) << algorithm;
    }
    for (int r = 0; r < kReplicas; ++r) {
      EXPECT_EQ(replicated.at(r), copies && r > 0 ? all : 0) << algorithm << ", replica " << r;
      EXPECT_EQ(in_the_step.at(r), 0) << algorithm;
      EXPECT_EQ(summed[r], copies || r == 0 ? gradients : 0) << algorithm << ", replica " << r;
      EXPECT_EQ(updates.at(r), copies || r == 0) << algorithm << ", replica " << r;
    }
  }
}

TEST(StepTrace, AboutSaysWhetherBucketsOverlap) {
  const Gpus gpus = logical_gpus(2);
  for (const bool overlap : {true, false}) {
    StepOptions options;
    options.overlap = overlap;
    const MirroredStep step(small_graph(), gpus.pointers, make_cross_device_ops("ring"), options, nullptr);
    EXPECT_EQ(nlohmann::json::parse(step.about()).at("overlap"), overlap);
  }
}

TEST(StepTrace, MessagesAreAsManyAndAsLargeAsTheAlgorithmSays) {
  for (const std::string algorithm : {"ring", "tree", "one-device", "hierarchical-copy"}) {
    Traced run(algorithm);
    run.train(8);
    std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> sent;  // by bucket: messages, bytes
    for (const Span& span : run.tracer.spans()) {
      if (!span.detail("from")) continue;
      EXPECT_EQ(span.depth, 1);
      EXPECT_TRUE(span.communication);
      EXPECT_EQ(value(span, "to").get<int>(), span.replica);
      EXPECT_TRUE(span.detail("values") && span.detail("before")) << algorithm;
      auto& [messages, bytes] = sent[value(span, "bucket").get<std::int64_t>()];
      messages += static_cast<std::int64_t>(span.senders().size());
      if (algorithm == "one-device" && value(span, "adds").get<bool>()) {
        EXPECT_EQ(span.senders(), (std::vector<int>{1, 2})) << "one kernel adds both";
      }
      bytes += value(span, "bytes").get<std::int64_t>();
    }
    for (const Span& span : whole(run.tracer, Phase::all_reduce)) {
      const auto& [messages, bytes] = sent[value(span, "bucket").get<std::int64_t>()];
      EXPECT_EQ(messages, value(span, "messages of all replicas").get<std::int64_t>()) << algorithm;
      EXPECT_EQ(bytes, value(span, "bytes of all replicas").get<std::int64_t>()) << algorithm;
      EXPECT_EQ(bytes, 2 * (kReplicas - 1) * value(span, "bytes").get<std::int64_t>()) << algorithm;
    }
  }
}

TEST(StepTrace, PartialSumsEndInTheSum) {
  Traced run("ring");
  run.train(8);
  // What a chunk's last message leaves is the same on every replica, and it is what "before" and the sender's value add up to.
  std::map<std::pair<std::int64_t, std::int64_t>, std::set<std::string>> results;
  for (const Span& span : run.tracer.spans()) {
    if (!span.detail("from") || value(span, "round").get<int>() < kReplicas - 2) continue;
    if (value(span, "adds").get<bool>() && value(span, "round").get<int>() != kReplicas - 2) continue;
    results[{value(span, "bucket").get<std::int64_t>(), value(span, "chunk").get<std::int64_t>()}].insert(*span.detail("values"));
  }
  EXPECT_GE(results.size(), static_cast<std::size_t>(kReplicas));
  for (const auto& [key, values] : results) EXPECT_EQ(values.size(), 1U) << "bucket " << key.first << ", chunk " << key.second;
}

TEST(StepTrace, OnlyStepsToLookIntoCostMore) {
  Traced run("ring", 1);
  for (int i = 0; i < 3; ++i) run.train(8);
  for (const Span& span : run.tracer.spans()) {
    const bool first = span.step == 1;
    if (span.detail("from")) {
      EXPECT_EQ(span.detail("values") != nullptr, first);
    }
    if (span.phase == Phase::barrier && span.depth == 0) {
      EXPECT_EQ(span.detail("checksum") != nullptr, first);
    }
  }
}

TEST(StepTrace, ByEventsAloneAllTimesStillFollowOneAnother) {
  Gpus gpus = logical_gpus(2);
  Tracer tracer(TraceClock::events);
  MirroredStep step(small_graph(), gpus.pointers, make_cross_device_ops("tree"), {}, &tracer);
  step.set_training(make_loss("sparse_categorical_crossentropy"), std::make_shared<AdamImpl>(1e-3F, 0.9F, 0.999F, 1e-7F), {});
  initialize(step.replica(0), 3);
  for (int i = 0; i < 2; ++i) step.train(random_samples({6, 6, 1}, 8, 1), labels(8, 3, 1));
  std::map<std::pair<std::int64_t, int>, std::map<Phase, Span>> cells;
  for (const Span& span : tracer.spans())
    if (span.depth == 0) cells[{span.step, span.replica}][span.phase] = span;
  ASSERT_EQ(cells.size(), 4U);
  for (auto& [key, phases] : cells) {
    ASSERT_EQ(phases.size(), 6U);
    EXPECT_GE(phases[Phase::shard].begin_ns, 0);
    EXPECT_LE(phases[Phase::shard].end_ns, phases[Phase::local_gradients].begin_ns);
    EXPECT_LE(phases[Phase::local_gradients].end_ns, phases[Phase::update].begin_ns);
    EXPECT_LE(phases[Phase::update].end_ns, phases[Phase::barrier].begin_ns);
  }
}

TEST(StepTrace, AboutTellsDevicesLayersAndBuckets) {
  Traced run("ring");
  const nlohmann::json about = nlohmann::json::parse(run.step.about());
  EXPECT_EQ(about.at("algorithm"), "ring");
  EXPECT_EQ(about.at("devices").size(), static_cast<std::size_t>(kReplicas));
  std::int64_t bytes = 0;
  std::size_t names = 0;
  for (const nlohmann::json& bucket : about.at("buckets")) {
    bytes += bucket.at("bytes").get<std::int64_t>();
    names += bucket.at("variables").size();
  }
  EXPECT_GE(bytes, about.at("parameters").get<std::int64_t>() * 4);
  EXPECT_EQ(names, about.at("variables").size());
}

}  // namespace
}  // namespace lockstep
