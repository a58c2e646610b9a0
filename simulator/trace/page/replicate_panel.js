// Phase 1, replicate: the same variables on every replica; copied once, before the first step.

function replicatePanel(step) {
  const variables = about.variables || [], copied = step.copies.length > 0;
  const total = variables.reduce((sum, one) => sum + one.bytes, 0);
  const shown = variables.slice().sort((a, b) => b.bytes - a.bytes).slice(0, 7);
  const most = Math.max(...shown.map((one) => one.bytes));
  const received = (replica) => (step.copies.find((span) => span.replica === replica) || {args: {bytes: 0}}).args.bytes;
  const bars = [];
  const cards = replicas.map(
      (replica, r) => html(
          "div", {class: "card"},
          html(
              "header", {}, html("b", {}, "replica " + replica),
              html(
                  "span", {class: "quiet"},
                  ONE_COPY          ? (r === 0 ? "the copy" : "reads replica " + replicas[0] + "'s") :
                  r === 0 && copied ? "the original" :
                      copied        ? "a copy, " + bytes(received(replica)) :
                                      "its own copy")),
          shown.map((one) => {
            const bar = svg("rect", {x: 0, y: 0, height: 6, rx: 3, width: "0%", fill: "var(--p0)"});
            bars.push({bar, r, size: 8 + 92 * Math.sqrt(one.bytes / most)});
            return html(
                "div", {style: {"margin-bottom": "6px"}},
                html(
                    "div", {style: {display: "flex", "justify-content": "space-between", "font-size": "12.5px", gap: "8px"}},
                    html("span", {style: {overflow: "hidden", "text-overflow": "ellipsis", "white-space": "nowrap"}}, one.name),
                    html("span", {class: "quiet", style: {"white-space": "nowrap"}}, bytes(one.bytes))),
                svg("svg", {width: "100%", height: 6}, svg("rect", {width: "100%", height: 6, rx: 3, fill: "var(--well)"}), bar));
          }),
          variables.length > shown.length ? html(
                                                "p", {class: "quiet", style: {"font-size": "12.5px"}},
                                                "and " + plural(variables.length - shown.length, "smaller variable")) :
                                            null));
  const sent = copied ? step.copies[0].args : null;
  const node = html(
      "div", {class: "panel"},
      words(
          "1  Replicate",
          ONE_COPY ? "The replicas are on one card and read one copy of the weights." :
                     "Every replica holds its own copy of every variable: the same bits on each.",
          ONE_COPY ? "This is \"one-copy\", which was asked for by name, not mirrored training: there each replica holds variables of its own." :
              copied ? "Before the first step, replica " + replicas[0] +
                  "'s variables, optimizer slots and state were copied to each of the others. No later step copies them again." :
                   "Nothing moves in this step. The copies stay equal because every replica applies the same update to the same sum.",
          [
            ["variables", grouped(variables.length)], ["parameters", grouped(about.parameters || 0)], [ONE_COPY ? "on the card" : "on each replica", bytes(total)],
            sent && ["messages", grouped(sent["messages of all replicas"])], sent && ["bytes copied, in all", bytes(sent["bytes of all replicas"])]
          ]),
      html("div", {class: "picture replicas scrolls" + many()}, cards));
  return {
    node,
    update(moment) {
      for (const {bar, r, size} of bars) bar.setAttribute("width", (r === 0 || !copied || ONE_COPY ? size : size * clamp(moment * 1.1, 0, 1)) + "%");
    },
  };
}
