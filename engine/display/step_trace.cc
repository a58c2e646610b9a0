// A recorded step inside a notebook: the trace's page in a frame, all of it or one phase.
#include <fmt/format.h>

#include <algorithm>

#include "engine/display/html.h"
#include "lockstep/display.h"
#include "lockstep/replica_report.h"

namespace lockstep {

Rich step_trace(const Trace& trace, const std::string& phase, bool play) {
  constexpr int kHeight = 560;  // until the page says how high it is
  const auto* const found = std::find(kPhases.begin(), kPhases.end(), phase);
  if (!phase.empty() && found == kPhases.end()) {
    std::string names;
    for (const char* name : kPhases) names += std::string(names.empty() ? "" : ", ") + name;
    throw Error(fmt::format("step_trace: no phase is called \"{}\". Fix: one of {}, or \"\" for all.", phase, names));
  }
  std::string page = trace.html();
  std::string marks = phase.empty() ? "" : fmt::format(" data-phase=\"{}\"", found - kPhases.begin() + 1);
  if (play) marks += " data-play=\"yes\"";
  page.insert(page.find("<body") + 5, marks);
  Rich rich = framed(page, kHeight);
  rich.text = trace.summary();
  // Where frames are not shown, as on a code host's web page, the text is.
  rich.html += "<details><summary>The same as text</summary><pre>" + escaped(rich.text) + "</pre></details>";
  return rich;
}

}  // namespace lockstep
