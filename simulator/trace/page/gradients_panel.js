// Phase 3, local gradients: layers light up forward, then in backward order, and buckets fill with finished gradients. A cell is what was
// given to the GPU at once: a layer, several that run as one kernel, or a CUDA graph of many.

function gradientsPanel(step) {
  const shown = (about.layers || []).map((layer) => layer.name);
  const work = step.spans.filter((span) => span.args.layers !== undefined), forward = work.filter((span) => span.args.direction === "forward");
  const present = new Set(work.flatMap((span) => span.args.layers)), idle = shown.filter((name) => !present.has(name));
  const fused = [...new Set(forward.filter((span) => !span.args.graph && span.args.layers.length > 1).map((span) => span.args.layers.join(" + ")))];
  const graphs = new Set(work.filter((span) => span.args.graph).map((span) => span.args.direction + " " + span.args.layers.join(" + "))).size;
  const buckets = about.buckets || [], total = buckets.reduce((sum, one) => sum + one.bytes, 0) || 1;
  // As wide as their bytes, but the smallest can still be seen.
  const sized = buckets.map((one) => Math.max(one.bytes / total, 0.035)), sizedTotal = sized.reduce((a, b) => a + b, 0),
        widths = sized.map((one) => one / sizedTotal);
  const layerOf = {};
  for (const layer of about.layers || [])
    for (const name of layer.variables) layerOf[name] = layer.name;
  const sizes = Object.fromEntries((about.variables || []).map((one) => [one.name, one.bytes]));
  const width = 860, left = 74, room = width - left - 118, cell = room / Math.max(1, shown.length);
  const gap = cell > 8 ? 3 : cell > 4 ? 1 : 0, labelled = shown.length <= 12;
  const tall = replicas.length < 3 ? 26 : 15, rowHeight = 46 + 2 * tall + (replicas.length < 3 ? 14 : 0);
  const height = replicas.length * rowHeight + (labelled ? 22 : 4);
  const picture =
      svg("svg",
          {viewBox: `0 0 ${width} ${height}`, width: "100%", role: "img", "aria-label": "Layers of every replica, forward and backward"});
  const cells = [], fills = [], badges = [];
  replicas.forEach((replica, r) => {
    const top = r * rowHeight, mine = work.filter((span) => span.replica === replica);
    picture.append(
        svg("text", {x: 0, y: top + 12, class: "strong"}, "replica " + replica),
        svg("text", {x: 0, y: top + 20 + tall / 2 + 4, class: "soft"}, "forward →"),
        svg("text", {x: 0, y: top + 24 + 1.5 * tall + 4, class: "soft"}, "← backward"));
    const ends = {};
    for (const span of mine) {
      const at = span.args.layers.map((name) => shown.indexOf(name)).filter((i) => i >= 0), back = span.args.direction === "backward";
      if (!at.length) continue;
      if (back)
        for (const name of span.args.layers) ends[name] = span.end;
      const i = Math.min(...at), columns = Math.max(...at) - i + 1;
      const x = left + i * cell, y = top + (back ? 24 + tall : 20), w = Math.max(1, columns * cell - gap);
      const lit = svg("rect", {x, y, width: w, height: tall, rx: Math.min(3, w / 3), fill: colour(2), opacity: 0});
      const shape = {x, y, width: w, height: tall, rx: Math.min(3, w / 3), fill: "var(--well)"};
      const data = {"data-figure": span.args.direction, "data-replica": replica, "data-value": span.args.layers.join("\n")};
      picture.append(withHint(svg("rect", {...shape, ...data}), timeline.describe(span)), lit);
      lit.style.pointerEvents = "none";
      cells.push({lit, span, back});
    }
    shown.forEach((name, i) => {
      if (idle.includes(name))
        for (const y of [top + 20, top + 24 + tall])
          picture.append(withHint(
              svg("rect", {x: left + i * cell + 0.5, y: y + 0.5, width: Math.max(1, cell - gap - 1), height: tall - 1, rx: 3, fill: "none", stroke: "var(--line)", "stroke-dasharray": "3 3"}),
              name + "\nruns nothing on the GPU: the next layer reads the same memory"));
    });
    // The buckets: as wide as their bytes, from the right because the last layer's gradients are ready first.
    const low = top + 31 + 2 * tall;
    let right = left + room;
    buckets.forEach((bucket, b) => {
      const w = room * widths[b], x = right - w;
      const filled = svg("rect", {x: right, y: low, width: 0, height: 9, rx: 2, fill: colour(3)});
      picture.append(
          withHint(
              svg("rect", {x, y: low, width: Math.max(1, w - 2), height: 9, rx: 2, fill: "var(--well)"}),
              "bucket " + b + ", " + bytes(bucket.bytes) + "\n" + bucket.variables.slice(0, 6).join("\n") +
                  (bucket.variables.length > 6 ? "\nand " + (bucket.variables.length - 6) + " more" : "")),
          filled);
      filled.style.pointerEvents = "none";
      const summed = step.phases[3].of(replica).find((span) => span.args.bucket === b);  // began when the last gradient was ready
      const ready = (name) => Math.min(ends[layerOf[name]] ?? step.phases[2].of(replica)[0]?.end, summed ? summed.begin : Infinity);
      const parts = bucket.variables.map((name) => ({bytes: sizes[name] || 0, ready: ready(name)}));
      fills.push({filled, x, w: Math.max(1, w - 2), parts, sum: parts.reduce((sum, one) => sum + one.bytes, 0) || 1});
      right -= w;
    });
    picture.append(svg("text", {x: 0, y: low + 8, class: "soft"}, "buckets"));
    const whole = step.phases[2].of(replica)[0], loss = whole && whole.args.loss;
    const badge =
        svg("g", {opacity: 0.15},
            svg("text", {
              x: width,
              y: top + 20 + tall / 2 + 5,
              "text-anchor": "end",
              class: "strong large",
              ...(loss === undefined ? {} : {"data-figure": "loss", "data-replica": replica, "data-value": loss})
            },
                loss === undefined ? "no samples" : "loss " + loss.toFixed(4)),
            whole && whole.args["gradient norm"] !== undefined ?
                svg("text", {x: width, y: top + 24 + 1.5 * tall + 4, "text-anchor": "end", class: "soft"},
                    "‖g‖ " + number(whole.args["gradient norm"], 4)) :
                "");
    picture.append(badge);
    badges.push({badge, at: turn(step, replica)});
  });
  if (labelled)
    shown.forEach((name, i) => {
      const room = Math.floor((cell - 4) / 6.1), text = name.length > room ? name.slice(0, Math.max(3, room - 1)) + "…" : name;
      picture.append(
          svg("text", {x: left + i * cell + (cell - gap) / 2, y: height - 6, "text-anchor": "middle", class: "soft"}, text,
              svg("title", {}, name)));
    });
  const norms = step.phases[2].whole.map((span) => span.args["gradient norm"]).filter((norm) => norm !== undefined);
  const node = html(
      "div", {class: "panel"},
      words(
          "3  Local gradients", "Every replica runs forward and backward on its own samples, all at the same time.",
          "Gradients are weighted by samples / global batch, so that their sum is the gradient of the whole batch. " +
              "As soon as a bucket is full it can leave, while backward goes on.",
          [
            ["layers", grouped(shown.length)],
            fused.length && fused.length < 3 ? ["run as one kernel", fused.join("; ")] : fused.length ? ["run with a neighbour", plural(fused.length, "group")] : null,
            idle.length ? ["run nothing", idle.length < 3 ? listed(idle) : plural(idle.length, "layer")] : null,
            graphs ? ["CUDA graphs", grouped(graphs)] : null, ["buckets", buckets.length + ", " + bytes(total)]
          ]),
      html(
          "div", {class: "picture scrolls", style: {"max-height": "360px"}},
          picture,
          graphs ? html("p", {class: "note"}, "A wide cell is a CUDA graph: one launch of many layers, which has one time for all of them.") : null,
          norms.length ? null : notInspected("Gradient norms")));
  return {
    node,
    update(moment, time) {
      for (const {lit, span, back} of cells) lit.setAttribute("opacity", time < span.begin ? 0 : time < span.end ? 1 : back ? 0.85 : 0.42);
      for (const fill of fills) {
        const part = fill.parts.reduce((sum, one) => sum + (one.ready <= time ? one.bytes : 0), 0) / fill.sum;
        fill.filled.setAttribute("x", fill.x + fill.w * (1 - part));
        fill.filled.setAttribute("width", fill.w * part);
      }
      for (const {badge, at} of badges) badge.setAttribute("opacity", time >= at ? 1 : 0.15);
    },
  };
}

// When a replica's loss was known: between forward and backward.
function turn(step, replica) {
  const loss = step.spans.find((span) => span.replica === replica && span.name === "loss and metrics");
  return loss ? loss.end : step.phases[2].begin;
}
