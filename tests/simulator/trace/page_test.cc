// The page holds the whole trace, loads nothing from a network, and keeps text as text; what is written is read back.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lockstep/error.h"
#include "simulator/trace/samples.h"
#include "simulator/trace/trace_contents.h"
#include "simulator/trace/trace_impl.h"

namespace lockstep {
namespace {

TraceContents strange() {
  TraceContents contents;
  contents.about = R"({"title":"</script><script>alert(1)</script><!--","layers":[]})";
  contents.samples = {R"({"step":1,"replica":0,"labels":["<b>"]})"};
  Span span;
  span.phase = Phase::update;
  span.name = "</script><img src=x onerror=alert(1)>";
  span.step = 1;
  span.begin_ns = 12345;
  span.end_ns = 67891234;
  span.depth = 0;
  span.details = {{"name", json_text("a < b && \"c\"")}, {"n", "[1,2.5]"}};
  contents.spans.push_back(span);
  return contents;
}

std::string data_of(const std::string& page) {
  const std::string begin = R"(id="trace">)";
  const std::size_t from = page.find(begin) + begin.size();
  return page.substr(from, page.find("</script>", from) - from);
}

TEST(TracePage, WhatLooksLikeMarkupStaysText) {
  const std::string page = trace_page(strange());
  const std::string data = data_of(page);
  EXPECT_EQ(data.find('<'), std::string::npos);
  const nlohmann::json json = nlohmann::json::parse(data);
  EXPECT_EQ(json.at("otherData").at("about").at("title"), "</script><script>alert(1)</script><!--");
  EXPECT_EQ(page.find("<img src=x"), std::string::npos);
}

TEST(TracePage, AsksNoNetworkForAnything) {
  const std::string page = trace_page(strange());
  for (const char* word : {" src=\"", "href=", "url(\"", "url(h", "url(/", "@import", "import(", "fetch(", "XMLHttpRequest", "WebSocket"})
    EXPECT_EQ(page.find(word), std::string::npos) << word;
  std::size_t at = 0;
  while ((at = page.find("http", at)) != std::string::npos) {  // only the name of SVG's namespace, which is not loaded
    EXPECT_EQ(page.compare(at, 26, "http://www.w3.org/2000/svg"), 0) << page.substr(at, 60);
    ++at;
  }
  EXPECT_EQ(page.find("innerHTML"), std::string::npos) << "text becomes text nodes only";
  EXPECT_EQ(page.find("{{"), std::string::npos) << "a place was not filled";
}

TEST(TracePage, BothFilesAreReadBackAsTheyWere) {
  const TraceContents contents = strange();
  for (const std::string& text : {chrome_json(contents), trace_page(contents)}) {
    const TraceContents back = read_trace(text, "it");
    ASSERT_EQ(back.spans.size(), 1U);
    EXPECT_EQ(back.spans[0].name, contents.spans[0].name);
    EXPECT_EQ(back.spans[0].begin_ns, contents.spans[0].begin_ns);
    EXPECT_EQ(back.spans[0].end_ns, contents.spans[0].end_ns);
    EXPECT_EQ(chrome_json(back).size(), chrome_json(contents).size());
    EXPECT_EQ(nlohmann::json::parse(back.about), nlohmann::json::parse(contents.about));
  }
}

TEST(TracePage, OtherFilesAreRefusedWithASentence) {
  for (const char* text : {"", "{}", "[1,2]", "<html></html>", R"({"otherData":{"producer":"Lockstep"}})", R"({"traceEvents":[]})",
                           R"({"otherData":{"producer":"Lockstep"},"traceEvents":[{"ph":"X","name":"a","cat":"strange"}]})"}) {
    try {
      read_trace(text, "it.json");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("it.json is not a trace of Lockstep"), std::string::npos) << error.what();
    }
  }
}

TEST(TraceFile, SavedByTheNamesEndAndLoadedFromEither) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("lockstep_trace_files_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  Trace trace;
  EXPECT_TRUE(trace.empty());
  std::ofstream(folder / "a.json") << chrome_json(strange());
  trace = Trace::load((folder / "a.json").string());
  EXPECT_FALSE(trace.empty());
  trace.save((folder / "b.html").string());
  EXPECT_EQ(Trace::load((folder / "b.html").string()).json(), trace.json());
  EXPECT_EQ(trace.html().rfind("<!doctype html>", 0), 0U);
  EXPECT_THROW(Trace::load((folder / "none.json").string()), Error);
  EXPECT_THROW(trace.save((folder / "b.txt").string()), Error);
  std::filesystem::remove_all(folder);
}

TEST(Samples, PicturesBecomeBytesOfTheirShard) {
  Array x(Shape{4, 2, 2, 1}), y(Shape{4}, std::vector<std::int32_t>{7, 8, 9, 6});
  for (std::int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = static_cast<float>(i) / 15;
  const nlohmann::json json = nlohmann::json::parse(samples_json({3, 1, 2, 2, 8}, x, y));
  EXPECT_EQ(json.at("first"), 2);
  EXPECT_EQ(json.at("labels"), (std::vector<int>{9, 6}));
  EXPECT_EQ(json.at("pictures").at("data").size(), 2U);
  EXPECT_EQ(json.at("pictures").at("data")[1], "zN3u/w==");  // 12/15 ... 15/15 of 255: 204 221 238 255
}

TEST(Samples, LargePicturesShrinkAndTextsLoseTheirPadding) {
  const nlohmann::json large =
      nlohmann::json::parse(samples_json({1, 0, 0, 1, 8}, Array(Shape{1, 224, 224, 3}), Array(Shape{1}, DType::int32)));
  EXPECT_EQ(large.at("pictures").at("height"), 56);
  const Array text(Shape{2, 5}, std::vector<std::int32_t>{0, 0, 1, 4, 5, 0, 0, 0, 0, 0});
  const nlohmann::json tokens = nlohmann::json::parse(samples_json({1, 0, 0, 2, 8}, text, Array(Shape{2}, DType::int32)));
  EXPECT_EQ(tokens.at("tokens")[0], (std::vector<int>{1, 4, 5}));
  EXPECT_TRUE(tokens.at("tokens")[1].empty());
  const nlohmann::json none = nlohmann::json::parse(samples_json({1, 0, 2, 0, 8}, text, Array(Shape{2}, DType::int32)));
  EXPECT_TRUE(none.at("tokens").empty());
}

}  // namespace
}  // namespace lockstep
