// The timeline: for every replica what its compute stream, its communication stream and its host did, on one axis of time.

const timeline = {
  from: 0,
  to: 1,
  gutter: 158,
  width: 1000,
  lanes: [["compute", 25], ["communication", 17], ["host", 8]],

  rows() {  // by replica: where each lane lies
    const many = replicas.length > 2, size = replicas.length > 4 ? 0.5 : many ? 0.7 : 1;
    let y = 20;
    return replicas.map((replica) => {
      const row = {replica, top: y, lanes: {}};
      for (const [name, height] of this.lanes) {
        const h = Math.max(4, Math.round(height * size));
        row.lanes[name] = [y, h];
        y += h + 2;
      }
      row.bottom = y;
      y += many ? 6 : 11;
      return row;
    });
  },

  x(ns) { return this.gutter + ((ns - this.from) / (this.to - this.from)) * (this.width - this.gutter); },
  time(x) { return this.from + ((x - this.gutter) / (this.width - this.gutter)) * (this.to - this.from); },

  fit(step) {
    const phase = step.phases[ONLY], cut = phase && phase.end > phase.begin ? phase : step;
    const room = (cut.end - cut.begin) * (cut === step ? 0.01 : 0.15);
    this.from = cut.begin - room;
    this.to = cut.end + room;
  },

  zoom(factor, at) {
    const step = steps[state.step], centre = at ?? (this.from + this.to) / 2;
    const length = clamp((this.to - this.from) * factor, 1e3, (step.end - step.begin) * 1.02);
    const left = (centre - this.from) / (this.to - this.from);
    this.from = centre - left * length;
    this.to = this.from + length;
    this.keepInside(step);
    this.draw();
  },

  move(by) {
    const length = this.to - this.from;
    this.from += by * length;
    this.to = this.from + length;
    this.keepInside(steps[state.step]);
    this.draw();
  },

  keepInside(step) {
    const room = (step.end - step.begin) * 0.01, length = this.to - this.from;
    this.from = clamp(this.from, step.begin - room, Math.max(step.begin - room, step.end + room - length));
    this.to = this.from + length;
  },

  // Round steps, about one for every 110 pixels.
  ticks() {
    const rough = ((this.to - this.from) * 110) / (this.width - this.gutter), power = 10 ** Math.floor(Math.log10(rough));
    const size = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
    const origin = steps[state.step].begin, all = [];
    for (let t = Math.ceil((this.from - origin) / size) * size; t <= this.to - origin; t += size) all.push(t);
    return all.map((t) => [origin + t, t === 0 ? "0" : duration(t)]);
  },

  describe(span) {
    const rows = [
      span.depth ? span.name + " (" + PHASES[span.phase] + ")" : span.name,
      "replica " + span.replica + ", " + span.track + (span.track === "host" ? "" : " stream"),
      duration(span.end - span.begin) + ", from " + duration(span.begin - steps[state.step].begin)
    ];
    if (span.args.direction) rows[0] = span.name + ", " + span.args.direction;
    if (span.args.layers && span.args.layers.length > 1) {
      const names = span.args.layers;
      rows.push((span.args.graph ? "a CUDA graph of " : "one kernel for ") + plural(names.length, "layer") + ":",
                ...names.slice(0, 8), ...(names.length > 8 ? ["and " + (names.length - 8) + " more"] : []));
    }
    if (span.args.bytes) rows.push(bytes(span.args.bytes));
    return rows.join("\n");
  },

  draw() {
    const step = steps[state.step], node = byId("timeline");
    this.width = node.clientWidth || 1180;
    const rows = this.rows(), height = rows[rows.length - 1].bottom + 4;
    node.setAttribute("viewBox", `0 0 ${this.width} ${height}`);
    node.style.height = height + "px";
    node.replaceChildren(
        svg("defs", {}, svg("clipPath", {id: "clip"}, svg("rect", {x: this.gutter, y: 0, width: this.width - this.gutter, height}))));
    for (const [t, text] of this.ticks()) {
      const x = this.x(t);
      if (x < this.gutter) continue;
      node.append(
          svg("line", {x1: x, x2: x, y1: 16, y2: height, stroke: "var(--faint)"}),
          svg("text", {x, y: 11, class: "soft", "text-anchor": x > this.width - 30 ? "end" : "middle"}, text));
    }
    const clip = svg("g", {"clip-path": "url(#clip)"});
    for (const row of rows) {
      const middle = (row.lanes.compute[0] + row.lanes.host[0] + row.lanes.host[1]) / 2;
      node.append(svg("text", {x: 0, y: middle + (replicas.length > 2 ? 4 : -2), class: "strong"}, "replica " + row.replica));
      if (replicas.length <= 2)
        node.append(
            svg("text", {x: 0, y: middle + 12, class: "soft", style: {"font-size": "10.5px"}},
                ((about.devices || [])[row.replica - FIRST_REPLICA] || {}).name || ""));
      if (replicas.length <= 3)
        for (const [name] of this.lanes)
          node.append(svg(
              "text", {x: this.gutter - 8, y: row.lanes[name][0] + row.lanes[name][1] / 2 + 3.5, class: "soft tiny", "text-anchor": "end"},
              name === "communication" ? "comm." : name));
      for (const span of step.spans)
        if (span.replica === row.replica) this.drawSpan(clip, span, row.lanes[span.track]);
    }
    if (state.critical) this.drawCritical(clip, step, rows);
    node.append(clip, svg("line", {id: "playhead", y1: 14, y2: height, stroke: "var(--ink)", "stroke-width": 1.5}));
    this.drawPlayhead();
  },

  drawSpan(group, span, [top, height]) {
    const x = this.x(span.begin), end = this.x(span.end), width = end - x;
    if (end < this.gutter || x > this.width) return;
    const whole = span.depth === 0, selected = state.phase === span.phase, layer = span.args.layers !== undefined;
    if (!whole && width < 0.6) return;
    if (!whole && !layer && span.args.from === undefined && span.track !== "host") return;
    let shape;
    if (whole)
      shape =
          {x, y: top, width: Math.max(1, width), height, rx: Math.min(4, width / 2), fill: colour(span.phase), opacity: selected ? 1 : 0.5};
    else if (span.track === "host")
      shape = {x, y: top + 1, width, height: height - 2, rx: 2, fill: "var(--soft)", opacity: 0.35};
    else {  // what is inside: a strip along the lower edge
      const strip = height > 14 ? height * 0.36 : height * 0.45;
      const dark = layer ? (span.args.direction === "backward" ? 0.42 : 0.2) : 0.34;
      shape = {
        x: x + 0.4,
        y: top + height - strip - 1,
        width: Math.max(0.5, width - 0.8),
        height: strip,
        rx: 1.5,
        fill: "var(--on-phase)",
        opacity: selected ? dark : dark * 0.6
      };
    }
    const rect = svg("rect", {class: "span", ...shape});
    rect.addEventListener("click", () => {
      const phase = step_phase(span.phase);
      go({phase: span.phase, view: "step", moment: share((span.begin + span.end) / 2, phase.begin, phase.end)});
    });
    group.append(withHint(rect, this.describe(span)));
    // A name, where it fits.
    const label = !whole ? "" : span.phase === 3 ? span.name.replace("all-reduce ", "") : PHASES[span.phase];
    const from = Math.max(x, this.gutter), visible = Math.min(end, this.width) - from;
    if (!label || height < (span.phase === 3 ? 14 : 11) || visible < label.length * 6.6 + 12) return;
    group.append(
        svg("text", {
          x: from + 6,
          y: top +
              (height > 20     ? 12 :
                   height > 14 ? 10.5 :
                                 9),
          style: {
            fill: selected ? "var(--on-phase)" : "var(--on-dim)",
            "pointer-events": "none",
            "font-size": height > 20 ? "11.5px" :
                height > 14          ? "10.5px" :
                                       "9.5px"
          }
        },
            label));
  },

  drawCritical(group, step, rows) {
    const points = [];
    for (const piece of step.figure.critical) {
      const row = rows.find((one) => one.replica === piece.replica);
      if (!row) continue;
      const lane = row.lanes[piece.phase === 3 ? "communication" : piece.phase === 5 || piece.phase < 0 ? "host" : "compute"];
      const y = lane[0] + lane[1] / 2;
      points.push([this.x(piece.begin), y], [this.x(piece.end), y]);
    }
    group.append(
        svg("polyline", {
          points: points.map((p) => p.join(",")).join(" "),
          fill: "none",
          stroke: "var(--card)",
          "stroke-width": 6,
          "stroke-linejoin": "round",
          opacity: 0.8
        }),
        svg("polyline", {
          id: "critical-line",
          points: points.map((p) => p.join(",")).join(" "),
          fill: "none",
          stroke: "var(--alarm)",
          "stroke-width": 3,
          "stroke-linejoin": "round"
        }));
  },

  drawPlayhead() {
    const x = clamp(this.x(state.time), this.gutter, this.width), line = byId("playhead");
    if (!line) return;
    line.setAttribute("x1", x);
    line.setAttribute("x2", x);
    byId("moment").textContent =
        duration(Math.max(0, state.time - steps[state.step].begin)) + " after the step began: " + PHASES[state.phase];
  },

  listen() {
    const node = byId("timeline");
    let drag = null;
    node.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) return this.move(event.deltaX / 900);
      this.zoom(Math.exp(event.deltaY / 400), this.time(event.offsetX));
    }, {passive: false});
    node.addEventListener("pointerdown", (event) => {
      drag = {x: event.clientX, from: this.from};
    });
    window.addEventListener("pointermove", (event) => {
      if (!drag || Math.abs(event.clientX - drag.x) < 3) return;
      const scale = (this.to - this.from) / (this.width - this.gutter), length = this.to - this.from;
      this.from = drag.from - (event.clientX - drag.x) * scale;
      this.to = this.from + length;
      this.keepInside(steps[state.step]);
      this.draw();
    });
    window.addEventListener("pointerup", () => {
      drag = null;
    });
    byId("zoom-in").addEventListener("click", () => this.zoom(0.6));
    byId("zoom-out").addEventListener("click", () => this.zoom(1 / 0.6));
    byId("zoom-fit").addEventListener("click", () => {
      this.fit(steps[state.step]);
      this.draw();
    });
  },
};
const step_phase = (phase) => steps[state.step].phases[phase];
