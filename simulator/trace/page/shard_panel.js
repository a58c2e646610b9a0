// Phase 2, shard: which samples went to which replica, and what they look like.

function drawPicture(data, {height, width, channels}) {
  const canvas = html("canvas", {width, height, role: "img"}), pixels = new ImageData(width, height), raw = atob(data);
  for (let i = 0; i < width * height; ++i) {
    for (let c = 0; c < 3; ++c) pixels.data[4 * i + c] = raw.charCodeAt(channels === 1 ? i : 3 * i + c);
    pixels.data[4 * i + 3] = 255;
  }
  canvas.getContext("2d").putImageData(pixels, 0, 0);
  return canvas;
}

const readText = (tokens) =>
    tokens.map((token) => (about.words && about.words[token] !== undefined ? about.words[token] : "#" + token)).join(" ");

function sampleNodes(held, losses) {
  const labelled = (i) => (held.labels[i] === undefined ? "sample " + (held.first + i) : className(held.labels[i]));
  const loss = (i) =>
      (losses && losses[i] !== undefined && losses[i] !== null ? "loss " + losses[i].toFixed(2) : "no. " + (held.first + i));
  if (held.pictures) {
    return html("div", {class: "samples" + (held.pictures.data.length <= 4 ? " few" : "")}, held.pictures.data.map((data, i) => {
      const canvas = drawPicture(data, held.pictures);
      canvas.setAttribute("aria-label", "sample " + (held.first + i) + ", label " + labelled(i));
      return html("div", {class: "sample"}, canvas, html("b", {title: labelled(i)}, labelled(i)), loss(i));
    }));
  }
  const rows = held.tokens ? held.tokens.map(readText) : (held.numbers || []).map((row) => row.map((x) => x.toFixed(2)).join("  "));
  return html(
      "div", {class: "texts"},
      rows.slice(0, replicas.length > 2 ? 3 : 5)
          .map(
              (row, i) => html(
                  "div", {class: "text"},
                  html("span", {class: "of"}, html("b", {style: {color: "var(--ink)"}}, labelled(i)), html("br"), loss(i)),
                  html("span", {}, row))));
}

function shardPanel(step) {
  const shards = step.phases[1].whole.slice().sort((a, b) => a.replica - b.replica);
  const global = shards.length ? shards[0].args["global batch"] : 0;
  const strip =
      svg("svg", {width: "100%", height: 46, role: "img", "aria-label": "The global batch, cut into " + plural(shards.length, "shard")});
  const pieces = shards.map((shard, i) => {
    const from = (100 * shard.args["first sample"]) / global, size = (100 * shard.args.samples) / global;
    const rect = svg("rect", {x: from + "%", y: 18, width: size + "%", height: 20, rx: 4, fill: "var(--p1)", opacity: i % 2 ? 0.75 : 1});
    const group =
        svg("g", {}, rect,
            svg("text", {x: from + size / 2 + "%", y: 32, "text-anchor": "middle", style: {fill: "var(--on-phase)"}},
                size > 7 ?
                    (shard.args.samples ? shard.args["first sample"] + "–" + (shard.args["first sample"] + shard.args.samples - 1) : "") :
                    ""));
    strip.append(group);
    return group;
  });
  strip.append(svg("text", {x: 0, y: 11, class: "soft"}, "one global batch of " + plural(global, "sample")));
  const cards = shards.map((shard) => {
    const held = step.samples.find((one) => one.replica === shard.replica);
    const local = step.phases[2].of(shard.replica)[0];
    return html(
        "div", {class: "card"},
        html(
            "header", {}, html("b", {}, "replica " + shard.replica),
            html(
                "span", {class: "quiet"},
                html(
                    "span", {"data-figure": "samples", "data-replica": shard.replica, "data-value": shard.args.samples},
                    plural(shard.args.samples, "sample")),
                ", ",
                html(
                    "span", {"data-figure": "shard-bytes", "data-replica": shard.replica, "data-value": shard.args.bytes},
                    bytes(shard.args.bytes)))),
        held && shard.args.samples ?
            sampleNodes(held, local && local.args.losses) :
            html(
                "p", {class: "quiet"},
                shard.args.samples ? "Samples were not recorded." : "No sample: this replica adds zeros to the sum."));
  });
  const lists = cards.map((card) => [...card.querySelectorAll(".sample, .text")]);
  const node = html(
      "div", {class: "panel"},
      words(
          "2  Shard", "The global batch is cut into contiguous shares, and every replica takes its own to its GPU.",
          "Sizes differ by at most one; the larger ones come first. A share may even be empty.",
          [
            ["global batch", plural(global, "sample")], ["replicas", grouped(shards.length)],
            ["bytes uploaded", bytes(shards.reduce((sum, one) => sum + one.args.bytes, 0))]
          ]),
      html("div", {class: "picture"}, strip, html("div", {class: "replicas scrolls" + many(), style: {"margin-top": "8px"}}, cards)));
  return {
    node,
    update(moment) {
      pieces.forEach(
          (piece, i) => piece.setAttribute("transform", `translate(0 ${5 * clamp(moment * 3 - (i + 1) / pieces.length, 0, 1)})`));
      for (const list of lists) list.forEach((one, i) => one.classList.toggle("waiting", (i + 0.5) / list.length > moment * 1.05 + 0.05));
    },
  };
}
