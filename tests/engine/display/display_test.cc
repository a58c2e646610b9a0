// What notebooks show: readable on white and on black, as text too, and no larger than it must be.
#include "lockstep/display.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lockstep/lockstep.h"

namespace lockstep {
namespace {

History three_epochs() {
  History history;
  history.epoch = {0, 1, 2};
  history.history = {{"loss", {2.0, 1.0, 0.5}}, {"val_loss", {1.9, 1.2, 1.1}}};
  return history;
}

// A notebook's theme colours what has no colour of its own; black, white or a background would be wrong in one theme.
void expect_no_theme_of_its_own(const std::string& html) {
  for (const char* word : {"black", "white", "#000", "#fff", "#555", "#eee"}) EXPECT_EQ(html.find(word), std::string::npos) << word;
}

TEST(Display, PicturesHaveTheColoursOfTheTextAroundThem) {
  expect_no_theme_of_its_own(training_curves(three_epochs()).html);
  const Array labels(Shape{3}, std::vector<std::int32_t>{0, 1, 1});
  const Array outputs(Shape{3, 2}, std::vector<float>{1, 0, 0, 1, 1, 0});
  const Rich matrix = confusion_matrix(labels, outputs);
  expect_no_theme_of_its_own(matrix.html);
  EXPECT_NE(matrix.text.find("2 of 3 right"), std::string::npos);
  expect_no_theme_of_its_own(framed("<p>a page</p>").html);
}

TEST(Display, CurvesShowWhatIsKnownOfAnotherRun) {
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  History other;
  other.history = {{"val_loss", {1.5, unknown, 1.25}}, {"accuracy", {1, 1, 1}}};  // ours has no accuracy: nothing to stand beside
  const std::string html = training_curves(three_epochs(), other, "a <b> run").html;
  std::size_t rings = 0;
  for (std::size_t at = html.find("r=\"5\""); at != std::string::npos; at = html.find("r=\"5\"", at + 1)) ++rings;
  EXPECT_EQ(rings, 2U);
  EXPECT_NE(html.find("<title>1.2500</title>"), std::string::npos);
  EXPECT_NE(html.find("rings: a &lt;b&gt; run"), std::string::npos);
  EXPECT_EQ(html.find("nan"), std::string::npos);
}

TEST(Display, CurvesGrowEpochByEpoch) {
  std::vector<std::string> shown;
  std::vector<bool> firsts;
  const Callback callback = growing_curves([&](const Rich& curves, bool first) { shown.push_back(curves.text), firsts.push_back(first); });
  for (int epoch = 0; epoch < 3; ++epoch) {
    const Logs logs{{"loss", 1.0 / (epoch + 1)}};
    TrainingEvent event;
    event.epoch = epoch;
    event.logs = &logs;
    callback.on_epoch_end(event);
  }
  EXPECT_EQ(firsts, (std::vector<bool>{true, false, false}));
  EXPECT_EQ(shown.front(), "loss: 1 ");
  EXPECT_EQ(shown.back(), "loss: 1 0.5 0.3333 ");
}

TEST(Display, AStepIsShownWholeOrByOnePhase) {
  MirroredStrategy strategy(list_gpus());
  Model model = strategy.scope([] {
    Sequential m({Dense(2)});
    m.compile(SGD(0.1F), MeanSquaredError());
    return m;
  });
  Trace trace;
  model.fit(Array(Shape{8, 3}), Array(Shape{8, 2}),
            FitOptions().verbose(Verbose::silent).batch_size(4).trace(trace, TraceOptions().steps(2)));
  EXPECT_EQ(step_trace(trace).html.find("data-phase=&quot;"), std::string::npos);
  EXPECT_NE(step_trace(trace, "all-reduce", true).html.find("&lt;body data-phase=&quot;4&quot; data-play=&quot;yes&quot;&gt;"),
            std::string::npos);
  EXPECT_EQ(step_trace(trace).text, trace.summary());
  try {
    step_trace(trace, "allreduce");
    FAIL() << "there is no such phase";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("replicate, shard, local gradients, all-reduce, update, barrier"), std::string::npos);
  }
}

}  // namespace
}  // namespace lockstep
