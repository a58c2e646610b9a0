// Where the time goes: the figures of the engine for this step and for the run.

const IDLE = [
  ["busy", "computing", "var(--p2)"], ["idleAllReduce", "waits for the all-reduce", "var(--p3)"],
  ["idleBarrier", "waits at the barrier", "var(--p5)"], ["idleHost", "waits for the host", "var(--line)"]
];

function bigNumbers(step) {
  const f = step.figure.replicas, mean = (key) => f.reduce((sum, one) => sum + one[key], 0) / f.length, length = step.end - step.begin;
  const hidden = mean("hidden"), exposed = mean("exposed");
  const one = (id, figure, text) => html("div", {}, html("b", {id}, figure), html("span", {}, text));
  return html(
      "div", {class: "bignumbers"}, one("n-step", duration(length), "this step; the mean of the run is " + duration(figures.stepMs * 1e6)),
      one("n-overlap", replicas.length > 1 ? percent(hidden, hidden + exposed) : "–", "of the all-reduce is hidden"),
      one("n-exposed", duration(exposed), "exposed communication, " + percent(exposed, length) + " of the step"),
      one("n-idle", percent(mean("idle"), length), "of the time a GPU does not compute"));
}

function criticalView(step) {
  const pieces = step.figure.critical || [], length = step.end - step.begin,
        strip = svg("svg", {width: "100%", height: 30, role: "img", "aria-label": "Critical path"});
  for (const piece of pieces) {
    const x = (100 * (piece.begin - step.begin)) / length, w = (100 * (piece.end - piece.begin)) / length;
    strip.append(withHint(
        svg("rect", {
          x: x + "%",
          y: 0,
          width: Math.max(0.15, w) + "%",
          height: 22,
          fill: colour(piece.phase),
          stroke: "var(--paper)",
          "stroke-width": 1
        }),
        piece.what + (piece.phase < 0 ? "" : ", replica " + piece.replica) + "\n" + duration(piece.end - piece.begin)));
  }
  const rows = pieces.slice().sort((a, b) => b.end - b.begin - (a.end - a.begin)).slice(0, 4);
  return html(
      "div", {}, html("h2", {}, "Critical path"), strip,
      html(
          "table", {},
          rows.map(
              (piece) => html(
                  "tr", {},
                  html(
                      "td", {}, html("i", {
                        style: {
                          display: "inline-block",
                          width: "10px",
                          height: "10px",
                          "border-radius": "3px",
                          "margin-right": "8px",
                          background: colour(piece.phase)
                        }
                      }),
                      piece.what),
                  html("td", {class: "quiet"}, piece.phase < 0 ? "" : "replica " + piece.replica),
                  html("td", {class: "n"}, duration(piece.end - piece.begin)),
                  html("td", {class: "n quiet", style: {width: "56px"}}, percent(piece.end - piece.begin, length))))));
}

function idleView(step) {
  const length = step.end - step.begin;
  const rows = step.figure.replicas.slice(0, 8).map((one) => {
    const strip = svg("svg", {width: "100%", height: 16});
    let x = 0;
    for (const [key, text, fillColour] of IDLE) {
      const w = (100 * one[key]) / length;
      if (w > 0)
        strip.append(withHint(
            svg("rect", {x: x + "%", width: w + "%", height: 13, rx: 2, fill: fillColour}),
            text + "\n" + duration(one[key]) + ", " + percent(one[key], length)));
      x += w;
    }
    return html(
        "tr", {}, html("td", {style: {width: "76px"}}, "replica " + one.replica), html("td", {}, strip),
        html("td", {class: "n quiet", style: {width: "56px"}}, percent(one.busy, length)));
  });
  return html(
      "div", {}, html("h2", {}, "What each GPU did"), html("table", {}, rows),
      html("div", {class: "legend"}, IDLE.map(([, text,
                                                fillColour]) => html("span", {}, html("i", {style: {background: fillColour}}), text))));
}

function stragglerView() {
  const found = [figures.slowReplica, figures.slowLink].filter(Boolean);
  if (!found.length)
    return html(
        "p", {class: "quiet"}, replicas.length > 1 ? "No straggler: no replica and no link is clearly slower than the others." : "");
  return html("p", {class: "differs"}, "Straggler: " + found.map((one) => one.sentence).join("; ") + ".");
}

// Live activations by the memory plan, as the layers ran, and what the replica holds altogether.
function memoryView(step) {
  const width = 520, height = 116, bottom = height - 18;
  const picture = svg("svg", {viewBox: `0 0 ${width} ${height}`, width: "100%", role: "img", "aria-label": "Memory over time"});
  const points = replicas.map(
      (replica) =>
          step.spans.filter((span) => span.replica === replica && span.args["live bytes"] !== undefined).sort((a, b) => a.begin - b.begin));
  const most = Math.max(1, ...points.flat().map((span) => span.args["live bytes"]));
  const x = (ns) => 62 + ((width - 62) * (ns - step.begin)) / (step.end - step.begin), y = (n) => bottom - ((bottom - 14) * n) / most;
  for (const part of [0, 0.5, 1])
    picture.append(
        svg("line", {x1: 62, x2: width, y1: y(most * part), y2: y(most * part), stroke: "var(--faint)"}),
        svg("text", {x: 56, y: y(most * part) + 4, "text-anchor": "end", class: "soft"}, part ? bytes(most * part) : "0"));
  const dashes = ["", "5 3", "2 3", "8 3 2 3"];
  points.forEach((line, r) => {
    if (!line.length) return;
    let d = `M${x(line[0].begin)} ${y(0)}`;
    for (const span of line) d += ` V${y(span.args["live bytes"])} H${x(span.end)}`;
    picture.append(svg("path", {
      d: d + ` V${y(0)}`,
      fill: r === 0 ? "var(--p2)" : "none",
      "fill-opacity": 0.14,
      stroke: "var(--p2)",
      "stroke-width": 1.6,
      "stroke-dasharray": dashes[r % 4]
    }));
  });
  const held = step.phases[5].whole.slice(0, 4).map(
      (span) => "replica " + span.replica + ": " + bytes(span.args["memory used"]) + " of " + bytes(span.args["memory limit"]));
  return html(
      "div", {}, html("h2", {}, "Memory over time"),
      points.flat().length ? picture : html("p", {class: "quiet"}, "Layers were not recorded in this step."),
      html(
          "p", {class: "quiet", style: {"font-size": "12px"}},
          "Live activations and their gradients. Held in all: " + held.join(", ") + "."));
}

function timeView(step) {
  return {
    node: html(
        "div", {}, bigNumbers(step), html("div", {style: {"margin-top": "8px"}}, stragglerView()),
        html(
            "div", {class: "time-view"}, html("div", {}, criticalView(step), memoryView(step)),
            html("div", {}, idleView(step), runView()))),
    update() {},
  };
}

// The whole run: where the time of its steps went.
function runView() {
  const most = Math.max(...figures.phaseMs, 0.001);
  const counted = figures.counted,
        which = counted.length > 1 ? "steps " + counted[0] + "–" + counted[counted.length - 1] : "step " + counted[0];
  return html(
      "div", {}, html("h2", {}, "Mean of " + which),
      html(
          "table", {},
          figures.phaseMs.map(
              (ms, phase) => html(
                  "tr", {}, html("td", {style: {width: "120px"}}, PHASES[phase]),
                  html(
                      "td", {},
                      svg("svg", {width: "100%", height: 12},
                          svg("rect", {width: Math.max(0.3, (100 * ms) / most) + "%", height: 10, y: 1, rx: 3, fill: colour(phase)}))),
                  html(
                      "td", {class: "n", style: {width: "84px"}, "data-figure": "mean", "data-phase": phase, "data-value": ms},
                      duration(ms * 1e6)),
                  html("td", {class: "n quiet", style: {width: "56px"}}, percent(ms, figures.stepMs))))));
}
