// The page: one file with the data, the styles and the program inside; it loads nothing from a network.
//
// The data stands in a <script type="application/json">, which a browser does not run. There a "<" could end the element, so every one of
// them is written as an escape that JSON reads back: whatever text a run brings along, it stays text.
#include <string>

#include "lockstep/error.h"
#include "simulator/trace/page_files.h"
#include "simulator/trace/trace_contents.h"

namespace lockstep {
namespace {

std::string without_angles(const std::string& json) {
  std::string text;
  text.reserve(json.size() + json.size() / 16);
  for (const char c : json) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text;
}

void put(std::string& page, const std::string& place, const std::string& text) {
  const std::size_t at = page.find(place);
  if (at == std::string::npos) throw Error("The trace page has no place " + place + ".");
  page.replace(at, place.size(), text);
}

}  // namespace

std::string trace_page(const TraceContents& contents) {
  std::string page, style, script;
  for (const auto& [name, text] : page_files()) {
    if (name.ends_with(".html")) page += text;
    if (name.ends_with(".css")) style += text;
    if (name.ends_with(".js")) script += text;
  }
  put(page, "{{style}}", style);
  put(page, "{{script}}", script);
  put(page, "{{trace}}", without_angles(chrome_json(contents)));  // last: it may hold anything
  return page;
}

}  // namespace lockstep
