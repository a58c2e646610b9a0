// Progress lines: what Keras users expect to see, fitted to the terminal.
#include "progress.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

// Columns a terminal uses: the bar's cells are three bytes each.
int columns(const std::string& text) {
  int n = 0;
  for (unsigned char c : text) n += (c & 0xC0) != 0x80;
  return n;
}

ProgressLine half_way() {
  ProgressLine line;
  line.done = 469;
  line.total = 938;
  line.seconds = 1.5;
  line.step_seconds = 0.0032;
  line.samples_per_second = 20000;
  line.logs = {{"loss", 0.2018}, {"accuracy", 0.9414}};
  return line;
}

TEST(Progress, ShowsWhatKerasShows) {
  EXPECT_EQ(format_progress(half_way(), 120),
            "469/938 ━━━━━━━━━━────────── 2s 3ms/step - accuracy: 0.9414 - loss: 0.2018 - 20.0k samples/s");
}

TEST(Progress, FinishedLineHasElapsedTimeAndAFullBar) {
  ProgressLine line = half_way();
  line.done = 938;
  line.finished = true;
  line.seconds = 63;
  EXPECT_EQ(format_progress(line, 80), "938/938 ━━━━━━━━━━━━━━━━━━━━ 1:03 3ms/step - accuracy: 0.9414 - loss: 0.2018 - 20.0k samples/s");
}

TEST(Progress, AMovingLineFitsEveryTerminal) {
  for (int width = 64; width <= 140; ++width) EXPECT_LE(columns(format_progress(half_way(), width)), width) << width;
}

TEST(Progress, SmallValuesAreWrittenAsPowersOfTen) {
  ProgressLine line = half_way();
  line.logs = {{"loss", 1.25e-5}};
  EXPECT_NE(format_progress(line, 120).find("loss: 1.2500e-05"), std::string::npos);
}

TEST(Progress, AnUnknownNumberOfStepsIsSaid) {
  ProgressLine line = half_way();
  line.total = -1;
  EXPECT_NE(format_progress(line, 120).find("469/Unknown"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
