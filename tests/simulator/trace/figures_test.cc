// Figures from written-out spans: what is hidden, what is idle, which path is critical, which replica is slow; and their texts.
#include "simulator/trace/figures.h"

#include <gtest/gtest.h>

#include <random>

#include "simulator/trace/trace_summary.h"

namespace lockstep {
namespace {

Span span(Phase phase, int replica, std::int64_t begin_us, std::int64_t end_us, std::int64_t step = 2) {
  Span one;
  one.phase = phase;
  one.name = to_string(phase);
  one.step = step;
  one.replica = replica;
  one.communication = phase == Phase::all_reduce;
  one.host = phase == Phase::barrier;
  one.begin_ns = begin_us * 1000;
  one.end_ns = end_us * 1000;
  return one;
}

Span bucket(int number, int replica, std::int64_t begin_us, std::int64_t end_us, std::int64_t step = 2) {
  Span one = span(Phase::all_reduce, replica, begin_us, end_us, step);
  one.name += " bucket " + std::to_string(number);
  one.details = {{"bucket", std::to_string(number)}};
  return one;
}

Span message(int from, int to, std::int64_t begin_us, std::int64_t end_us, std::int64_t bytes, std::int64_t step = 2) {
  Span one = bucket(0, to, begin_us, end_us, step);
  one.depth = 1;
  one.details = {{"bucket", "0"}, {"from", "[" + std::to_string(from) + "]"}, {"to", std::to_string(to)}, {"bytes", std::to_string(bytes)}};
  return one;
}

TEST(Figures, HiddenCommunicationIsWhatLiesUnderLocalGradients) {
  const TraceFigures figures =
      trace_figures({span(Phase::shard, 0, 0, 1000), span(Phase::local_gradients, 0, 1000, 11000), bucket(0, 0, 5000, 9000),
                     bucket(1, 0, 10000, 14000), span(Phase::update, 0, 14000, 16000), span(Phase::barrier, 0, 16000, 20000)});
  ASSERT_EQ(figures.steps.size(), 1U);
  EXPECT_DOUBLE_EQ(figures.step_ms, 20);
  EXPECT_DOUBLE_EQ(figures.phase_ms[static_cast<std::size_t>(Phase::all_reduce)], 8);
  EXPECT_DOUBLE_EQ(figures.exposed_ms, 3);
  EXPECT_DOUBLE_EQ(figures.hidden_ms, 5);
  EXPECT_DOUBLE_EQ(figures.busy_ms, 13);
  EXPECT_DOUBLE_EQ(figures.idle_all_reduce_ms, 3);
  EXPECT_DOUBLE_EQ(figures.idle_barrier_ms, 4);
  EXPECT_DOUBLE_EQ(figures.idle_host_ms, 0);
}

TEST(Figures, TheCriticalPathGoesThroughTheReplicaThatCameLast) {
  // Replica 1 is late with bucket 1; replica 0 waits for it in the all-reduce and ends last.
  const TraceFigures figures =
      trace_figures({span(Phase::shard, 0, 0, 1000), span(Phase::local_gradients, 0, 1000, 8000), bucket(0, 0, 4000, 5000),
                     bucket(1, 0, 8000, 14000), span(Phase::update, 0, 14000, 16000), span(Phase::barrier, 0, 16000, 17000),  //
                     span(Phase::shard, 1, 0, 1500), span(Phase::local_gradients, 1, 1500, 12000), bucket(0, 1, 4500, 5000),
                     bucket(1, 1, 12000, 14000), span(Phase::update, 1, 14000, 15000), span(Phase::barrier, 1, 15000, 17000)});
  ASSERT_EQ(figures.steps.size(), 1U);
  std::vector<std::string> path;
  for (const CriticalPiece& piece : figures.steps[0].critical) path.push_back(piece.what + " " + std::to_string(piece.replica));
  EXPECT_EQ(path, (std::vector<std::string>{"shard 1", "local gradients 1", "all-reduce bucket 1 0", "update 0", "barrier 0"}));
}

TEST(Figures, ABucketThatWaitsForTheOneBeforeContinuesThePathThere) {
  const TraceFigures figures =
      trace_figures({span(Phase::shard, 0, 0, 100), span(Phase::local_gradients, 0, 100, 6000), bucket(0, 0, 3000, 9000),
                     bucket(1, 0, 9000, 12000), span(Phase::update, 0, 12500, 13000), span(Phase::barrier, 0, 13000, 13000)});
  std::vector<std::string> path;
  for (const CriticalPiece& piece : figures.steps[0].critical) path.push_back(piece.what);
  EXPECT_EQ(path, (std::vector<std::string>{"shard", "local gradients", "all-reduce bucket 0", "all-reduce bucket 1", "host", "update"}));
}

TEST(Figures, TheCriticalPathHasNoGapsAndNoOverlapsInAnyStep) {
  std::mt19937 random(7);
  const auto draw = [&](int most) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(most)); };
  for (int round = 0; round < 300; ++round) {
    std::vector<Span> spans;
    const int replicas = 1 + static_cast<int>(draw(5)), buckets = static_cast<int>(draw(4));
    for (int r = 0; r < replicas; ++r) {
      std::int64_t at = draw(50);
      const auto next = [&](Phase phase, int most) {
        const std::int64_t begin = at + draw(20);
        at = begin + draw(most);
        spans.push_back(span(phase, r, begin, at));
      };
      next(Phase::shard, 100);
      next(Phase::local_gradients, 1000);
      std::int64_t sent = at - draw(500);
      for (int b = 0; b < buckets; ++b) {
        const std::int64_t begin = sent + draw(100);
        sent = begin + draw(300);
        spans.push_back(bucket(b, r, begin, sent));
      }
      at = std::max(at, sent);
      next(Phase::update, 100);
      next(Phase::barrier, 100);
    }
    for (const StepFigures& step : trace_figures(spans).steps) {
      std::int64_t at = step.begin_ns;
      for (const CriticalPiece& piece : step.critical) {
        EXPECT_EQ(piece.begin_ns, at) << piece.what;
        EXPECT_GT(piece.end_ns, piece.begin_ns);
        at = piece.end_ns;
      }
      EXPECT_EQ(at, step.end_ns);
      for (const ReplicaFigures& one : step.replicas) {
        EXPECT_EQ(one.busy_ns + one.idle_ns, step.ns());
        EXPECT_EQ(one.idle_all_reduce_ns + one.idle_barrier_ns + one.idle_host_ns, one.idle_ns);
        EXPECT_EQ(one.hidden_ns + one.exposed_ns, one.phase_ns[static_cast<std::size_t>(Phase::all_reduce)]);
      }
    }
  }
}

std::vector<Span> run(int replicas, int steps, const std::vector<double>& pace, const std::vector<double>& link) {
  std::vector<Span> spans;
  for (int s = 1; s <= steps; ++s) {
    for (int r = 0; r < replicas; ++r) {
      const std::int64_t begin = s * 100000, end = begin + static_cast<std::int64_t>(1000 * pace[static_cast<std::size_t>(r)]) + s % 3;
      spans.push_back(span(Phase::local_gradients, r, begin, end, s));
      const int from = (r + replicas - 1) % replicas;
      spans.push_back(bucket(0, r, begin + 50000, begin + 60000, s));
      for (int m = 0; m < 4; ++m)
        spans.push_back(message(from, r, begin + 50000 + 1000 * m,
                                begin + 50000 + 1000 * m + static_cast<std::int64_t>(100 * link[static_cast<std::size_t>(r)]) + m, 4096 - m,
                                s));
      spans.push_back(span(Phase::update, r, begin + 60000, begin + 61000, s));
      spans.push_back(span(Phase::barrier, r, begin + 61000, begin + 62000, s));
    }
  }
  return spans;
}

TEST(Straggler, ASlowReplicaIsNamed) {
  const TraceFigures figures = trace_figures(run(4, 9, {1, 1.1, 2, 0.9}, {1, 1, 1, 1}));
  ASSERT_TRUE(figures.slow_replica.found);
  EXPECT_EQ(figures.slow_replica.replica, 2);
  EXPECT_NEAR(figures.slow_replica.times_slower, 2, 0.05);
  EXPECT_FALSE(figures.slow_link.found);
}

TEST(Straggler, ASlowLinkIsNamed) {
  const TraceFigures figures = trace_figures(run(4, 9, {1, 1.1, 1, 0.9}, {1, 1, 1, 3}));
  EXPECT_FALSE(figures.slow_replica.found);
  ASSERT_TRUE(figures.slow_link.found);
  EXPECT_EQ(figures.slow_link.from, 2);
  EXPECT_EQ(figures.slow_link.to, 3);
}

TEST(Straggler, NoneIsNamedWhereAllAreAboutEqual) {
  const TraceFigures figures = trace_figures(run(3, 9, {1, 1.1, 0.95}, {1, 1.4, 1.2}));
  EXPECT_FALSE(figures.slow_replica.found);
  EXPECT_FALSE(figures.slow_link.found);
}

TEST(Straggler, OneSlowStepNamesNone) {
  std::vector<Span> spans = run(2, 9, {1, 1}, {1, 1});
  for (Span& one : spans)
    if (one.step == 5 && one.replica == 1 && one.phase == Phase::local_gradients) one.end_ns += 40000000;
  EXPECT_FALSE(trace_figures(spans).slow_replica.found);
}

TEST(Figures, TheFirstStepAndThoseLookedIntoAreLeftOutOfTheMeans) {
  std::vector<Span> spans = run(2, 9, {1, 1}, {1, 1});
  for (Span& one : spans)
    if (one.step <= 4 && one.phase == Phase::barrier) one.details = {{"inspected", "true"}};
  EXPECT_EQ(trace_figures(spans).counted, (std::vector<std::int64_t>{5, 6, 7, 8, 9}));
  for (Span& one : spans)
    if (one.phase == Phase::barrier) one.details = {{"inspected", "true"}};
  EXPECT_EQ(trace_figures(spans).counted.size(), 8U) << "all but the first";
}

TEST(Summary, NamesPhasesOverlapPathAndStraggler) {
  TraceContents contents;
  EXPECT_EQ(trace_summary(contents), "No step was traced.\n");
  contents.spans = run(4, 9, {1, 1, 2, 1}, {1, 1, 1, 1});
  const std::string text = trace_summary(contents);
  for (const char* phase : kPhases) EXPECT_NE(text.find(phase), std::string::npos) << text;
  for (const char* word : {"steps 2-9 on 4 replicas", "Overlap", "exposed", "Idle", "Critical path", "replica 2 computes 2.0 times"})
    EXPECT_NE(text.find(word), std::string::npos) << word << " in\n" << text;
}

TEST(Summary, FitsIn80Columns) {
  TraceContents contents;
  contents.about = R"({"title":"cats-vs-dogs","algorithm":"hierarchical-copy"})";
  contents.spans = run(4, 9, {1, 1, 123, 1}, {1, 1, 1, 99});
  for (const std::string& text : {trace_summary(contents), compare_traces(contents, "a.json", contents, "b.html")}) {
    std::size_t columns = 0;
    for (const char c : text) {
      if (c == '\n') {
        EXPECT_LE(columns, 80U) << text;
        columns = 0;
      } else if ((static_cast<unsigned char>(c) & 0xc0U) != 0x80U) {  // a character, not the rest of one
        ++columns;
      }
    }
  }
}

TEST(Summary, TwoRunsAreComparedRowByRow) {
  TraceContents a, b;
  a.spans = run(2, 5, {1, 1}, {1, 1});
  b.spans = run(2, 5, {2, 2}, {1, 1});
  for (TraceContents* one : {&a, &b})
    for (Span& span : one->spans)
      if (span.phase == Phase::barrier) span.details = {{"checksum", "\"0x12\""}};
  std::string text = compare_traces(a, "one.json", b, "two.json");
  EXPECT_NE(text.find("one.json"), std::string::npos);
  EXPECT_NE(text.find("    2.00"), std::string::npos) << text;
  EXPECT_NE(text.find("the same bits in both runs"), std::string::npos) << text;
  for (Span& span : b.spans)
    if (span.phase == Phase::barrier && span.step >= 3) span.details = {{"checksum", "\"0x13\""}};
  text = compare_traces(a, "one.json", b, "two.json");
  EXPECT_NE(text.find("they differ from step 3 on"), std::string::npos) << text;
}

}  // namespace
}  // namespace lockstep
