// Phases 5 and 6: every copy of the variables is updated, then all meet and compare.

function updatePanel(step) {
  const updates = step.phases[4].whole.slice().sort((a, b) => a.replica - b.replica),
        updating = updates.filter((span) => span.args.updates !== false), first = updating[0] || {args: {}};
  const after = first.args["gradient norm"];
  const rows = [];
  const norms = step.phases[2].whole.slice().sort((a, b) => a.replica - b.replica);
  const most = Math.max(...norms.map((span) => span.args["gradient norm"] || 0), after || 0) || 1;
  const bar = (value, phase) => {
    const rect = svg("rect", {height: 14, rx: 4, width: 0, fill: colour(phase)});
    rows.push({rect, share: value / most});
    return svg("svg", {width: "100%", height: 14}, svg("rect", {width: "100%", height: 14, rx: 4, fill: "var(--well)"}), rect);
  };
  const line = (name, value, phase) => html(
      "tr", {}, html("td", {style: {width: "172px"}}, name), html("td", {}, bar(value, phase)),
      html(
          "td", {class: "n mono", style: {width: "110px"}, "data-figure": phase === 2 ? "norm" : "norm-after", "data-value": value},
          number(value, 5)));
  const table = after === undefined ?
      notInspected("Gradient norms") :
      html(
          "div", {class: "card"}, html("h3", {style: {"margin-bottom": "6px"}}, "How long the gradient is (Euclidean norm)"),
          html(
              "table", {},
              norms.filter((span) => span.args["gradient norm"] !== undefined)
                  .map((span) => line("replica " + span.replica + ", its own", span.args["gradient norm"], 2)),
              updating.filter((span) => span.args["gradient norm"] !== undefined)
                  .map((span) => line("the sum, on replica " + span.replica, span.args["gradient norm"], 4))),
          html(
              "p", {class: "quiet", style: {"margin-top": "8px", "font-size": "12.5px"}},
              "Each replica's gradient is already weighted by its share of the samples. Parts that point in different directions " +
                  "cancel, so the sum is shorter than the lengths added up."));
  const times = html(
      "div", {class: "replicas" + many(), style: {"margin-top": "14px"}},
      updates.map(
          (span) => html(
              "div", {class: "card"},
              html("header", {}, html("b", {}, "replica " + span.replica), html("span", {class: "quiet"}, duration(span.end - span.begin))),
              html(
                  "p", {class: "quiet"},
                  span.args.updates === false ? "waits for replica " + replicas[0] + "'s update" :
                                                "weights ← " + (span.args.optimizer || "optimizer") + "(weights, the sum)"))));
  return {
    node: html(
        "div", {class: "panel"},
        words(
            "5  Update",
            ONE_COPY ? "Replica " + replicas[0] + " applies the optimizer to the sum. All replicas read the copy it writes." :
                       "Every replica applies the same optimizer to the same sum. Same sum in, same weights out.",
            ONE_COPY ? "This is \"one-copy\", not mirrored training: there each replica would update variables of its own." :
                       "No weights travel: each replica does the arithmetic for itself, and gets the same bits.",
            [
              ["updates", updating.length + " on " + plural(replicas.length, "replica")], ["optimizer", first.args.optimizer || "–"], ["iteration", grouped(first.args.iteration || 0)],
              ["learning rate", number(first.args["learning rate"], 3)]
            ]),
        html("div", {class: "picture"}, table, times)),
    update(moment) {
      for (const {rect, share} of rows) rect.setAttribute("width", 100 * share * clamp(moment * 1.4, 0, 1) + "%");
    },
  };
}

function barrierPanel(step) {
  const barriers = step.phases[5].whole.slice().sort((a, b) => a.replica - b.replica);
  const sums = barriers.map((span) => span.args.checksum), known = ONE_COPY ? sums[0] !== undefined : sums.every((sum) => sum !== undefined);
  const same = known && sums.every((sum) => sum === sums[0]);
  const begin = Math.min(...barriers.map((span) => span.begin)), arrived = Math.max(...barriers.map((span) => span.begin));
  const comparing = step.spans.find((span) => span.phase === 5 && span.name === "checksums");
  const marks = [], from = Math.min(begin, step.phases[4].begin), end = arrived + 0.12 * (arrived - from);
  const line = (span) => {
    const arrive = share(span.begin, from, end),
          wait = svg("rect", {y: 5, height: 8, rx: 4, x: 100 * arrive + "%", width: 0, fill: colour(5)});
    const dot = svg("circle", {cx: 100 * arrive + "%", cy: 9, r: 5, fill: "var(--ink)"});
    marks.push({wait, dot, arrive});
    return svg("svg", {width: "100%", height: 18}, svg("rect", {width: "100%", y: 5, height: 8, rx: 4, fill: "var(--well)"}), wait, dot);
  };
  const table = html(
      "table", {},
      html(
          "tr", {}, html("th", {style: {width: "84px"}}, ""), html("th", {}, "arrives, then waits for the others"),
          html("th", {class: "n", style: {width: "84px"}}, "waited"),
          html("th", {class: "n", style: {width: "200px"}}, "checksum of its variables")),
      barriers.map(
          (span) => html(
              "tr", {}, html("td", {}, html("b", {}, "replica " + span.replica)), html("td", {}, line(span)),
              html("td", {class: "n"}, duration(arrived - span.begin)),
              html(
                  "td", {class: "n mono", "data-figure": "checksum", "data-replica": span.replica, "data-value": span.args.checksum || ""},
                  span.args.checksum ? span.args.checksum.replace("0x", "") : "–"))));
  return {
    node: html(
        "div", {class: "panel"},
        words(
            "6  Barrier", "Replicas meet. The step is as long as its slowest replica, and only then the next one begins.",
            ONE_COPY ? "The replicas share weights and optimizer slots, so there is one checksum, of replica " + replicas[0] + "'s memory." :
                       "Checksums cover every bit of weights, optimizer slots and statistics. Equal sums: the replicas are still one model.",
            [
              ["first to arrive", "replica " + (barriers.reduce((a, b) => (b.begin < a.begin ? b : a), barriers[0]) || {}).replica],
              ["last to arrive", "replica " + (barriers.reduce((a, b) => (b.begin > a.begin ? b : a), barriers[0]) || {}).replica]
            ].concat(comparing ? [["comparing checksums", duration(comparing.end - comparing.begin)]] : [])),
        html(
            "div", {class: "picture"}, html("div", {class: "card"}, table),
            known ? html(
                        "p", {id: "comparison", class: ONE_COPY ? "quiet" : same ? "equal" : "differs", style: {"margin-top": "12px"}},
                        ONE_COPY ? "One shared copy: nothing to compare" :
                            same ? "✓ " + plural(sums.length, "replica") + ", bit for bit the same" :
                                   "✗ The replicas differ") :
                    notInspected("Checksums"))),
    update(moment) {
      for (const {wait, dot, arrive} of marks) {
        const at = clamp(moment * 1.05, 0, 1);
        dot.setAttribute("cx", 100 * Math.min(at, arrive) + "%");
        wait.setAttribute("width", 100 * Math.max(0, at - arrive) + "%");
      }
      const comparison = byId("comparison");
      if (comparison) comparison.style.opacity = moment > 0.9 ? 1 : 0.15;
    },
  };
}
