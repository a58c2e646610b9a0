// Progress lines: what Keras users expect to see, fitted to the terminal.
#include "engine/train/progress.h"

#include <gtest/gtest.h>

#include <algorithm>

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
  EXPECT_EQ(format_progress(line, 120), "938/938 ━━━━━━━━━━━━━━━━━━━━ 1:03 3ms/step - accuracy: 0.9414 - loss: 0.2018 - 20.0k samples/s");
}

TEST(Progress, AMovingLineFitsEveryTerminal) {
  for (int width = 2; width <= 140; ++width) EXPECT_LE(columns(format_progress(half_way(), width)), width) << width;
}

TEST(Progress, EveryLineFitsWhateverTheMetricsAreCalled) {
  for (const bool finished : {false, true}) {
    for (int width = 60; width <= 140; ++width) {
      ProgressLine line = half_way();
      line.finished = finished;
      line.logs["val_loss"] = 0.1, line.logs["val_accuracy"] = 0.9;
      line.logs["sparse_top_k_categorical_accuracy"] = line.logs["val_sparse_top_k_categorical_accuracy"] = 0.75;
      const std::string text = format_progress(line, width);
      std::size_t begin = 0, lines = 0;
      while (begin <= text.size()) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        EXPECT_LE(columns(text.substr(begin, end - begin)), width) << text;
        begin = end + 1, ++lines;
      }
      EXPECT_TRUE(finished || lines == 1) << "a moving line is one line: " << text;
      if (!finished) continue;
      for (const auto& [name, ignored] : line.logs) EXPECT_NE(text.find(" " + name + ": "), std::string::npos) << text;
      EXPECT_NE(text.find("samples/s"), std::string::npos) << text;
    }
  }
}

TEST(Progress, AFinishedEpochOf80ColumnsIsTwoTidyLines) {
  ProgressLine line = half_way();
  line.done = line.total;
  line.finished = true;
  line.seconds = 3;
  line.logs["val_accuracy"] = 0.9697, line.logs["val_loss"] = 0.105;
  EXPECT_EQ(format_progress(line, 80),
            "938/938 ━━━━━━━━━━━━━━━━━━━━ 3s 3ms/step - accuracy: 0.9414 - loss: 0.2018\n"
            "        val_accuracy: 0.9697 - val_loss: 0.1050 - 20.0k samples/s");
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
