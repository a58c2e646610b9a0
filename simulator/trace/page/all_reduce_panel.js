// Phase 4, all-reduce: messages move from replica to replica, chunk by chunk, and partial sums grow until those who get the sum have all of it.

// The messages of one bucket by rounds; those of a round are under way together.
function roundsOf(step, bucket) {
  const messages = step.spans.filter((span) => span.phase === 3 && span.args.from !== undefined && span.args.bucket === bucket)
                       .sort((a, b) => a.args.round - b.args.round || a.begin - b.begin);
  const rounds = [];
  for (const message of messages) {
    if (!rounds.length || rounds[rounds.length - 1][0].args.round !== message.args.round) rounds.push([]);
    rounds[rounds.length - 1].push(message);
  }
  return rounds;
}

// Where the replicas stand: along the tree that the sums climb, or in a circle.
function placeReplicas(rounds, width, height) {
  const n = replicas.length, parents = {};
  const ring = rounds.length === 0 || rounds.flat().some((message) => message.args.chunks > 1);
  if (!ring)
    for (const message of rounds.flat())
      if (message.args.adds)
        for (const from of message.args.from) parents[from] = message.args.to;
  const spot = {};
  if (ring || n < 3) {
    replicas.forEach((replica, i) => {
      const angle = n === 2 ? Math.PI * (1 - i) : -Math.PI / 2 + (2 * Math.PI * i) / n;
      spot[replica] = [width / 2 + Math.cos(angle) * (width / 2 - 88), height / 2 + Math.sin(angle) * (height / 2 - 44)];
    });
    return spot;
  }
  const depth = (replica) => (parents[replica] === undefined ? 0 : 1 + depth(parents[replica]));
  const deepest = Math.max(...replicas.map(depth));
  const children = (replica) => replicas.filter((one) => parents[one] === replica);
  let leaf = 0;
  const leaves = replicas.filter((replica) => !children(replica).length).length;
  const place = (replica) => {
    const below = children(replica).map(place);
    const x = below.length ? below.reduce((a, b) => a + b, 0) / below.length : 80 + ((width - 160) * (leaf++ + 0.5)) / leaves;
    spot[replica] = [x, 44 + ((height - 88) * depth(replica)) / Math.max(1, deepest)];
    return x;
  };
  replicas.filter((replica) => parents[replica] === undefined).forEach(place);
  return spot;
}

// What every replica holds after so many rounds: by chunk, whose parts are in it, and its first elements where they were recorded.
function holdings(rounds, done, gathered, chunks) {
  const all = rounds.flat(), held = {};
  for (const replica of replicas) {
    held[replica] = Array.from({length: chunks}, (_, chunk) => {
      const first = all.find((message) => message.args.to === replica && message.args.chunk === chunk && message.args.before);
      return {
        parts: gathered ? new Set(chunk === replica - FIRST_REPLICA ? [replica] : []) : new Set([replica]),
        values: first && first.args.before
      };
    });
  }
  for (const round of rounds.slice(0, done)) {
    const before = round.map((message) => message.args.from.map((from) => held[from][message.args.chunk]));
    round.forEach((message, i) => {
      const to = held[message.args.to], chunk = message.args.chunk;
      const parts = new Set(before[i].flatMap((one) => [...one.parts]));
      if (message.args.adds)
        for (const part of to[chunk].parts) parts.add(part);
      to[chunk] = {parts, values: message.args.values || (message.args.adds ? undefined : before[i][0].values)};
    });
  }
  return held;
}

function valueRows(message, held, gathered) {
  const {from, to, chunk, adds} = message.args, own = held[to][chunk].values;
  const known = from.filter((one) => held[one][chunk].values), unknown = from.filter((one) => !held[one][chunk].values);
  const row = (name, values, total) => html(
      "tr", {class: total ? "total" : ""}, html("td", {}, name),
      (values || Array(3).fill(null)).slice(0, 3).map((x) => html("td", {class: "n mono value"}, value(x))));
  if (!message.args.values) return null;
  if (gathered) return html("table", {style: {"margin-top": "6px"}}, row("from " + from[0], message.args.values));
  return html(
      "table", {style: {"margin-top": "6px"}},
      adds ? [row("replica " + to, own), known.map((one) => row("+ from " + one, held[one][chunk].values)), unknown.length ? row("+ from " + listed(unknown), null) : null, row("= sum", message.args.values, true)] :
             [row("replica " + to + " had", own), row("now", message.args.values, true)]);
}

function allReducePanel(step) {
  const wholes = step.phases[3].of(replicas[0]), chosen = Math.min(state.bucket, wholes.length - 1);
  const whole = wholes[chosen];
  if (!whole) {
    return {
      node: html(
          "div", {class: "panel"}, words("4  All-reduce", "There is only one replica: its gradient is the whole gradient."),
          html("div")),
      update() {}
    };
  }
  const having = step.phases[3].whole.filter((span) => span.args.bucket === whole.args.bucket && span.args["bytes of the sum here"] > 0)
                     .map((span) => span.replica);
  const outcome = having.length < replicas.length ?
      `Replica ${listed(having)} has the sum. The others do not get it: they need only the weights that are made from it.` :
      "Every replica has the sum, the same on each.";
  const bucket = whole.args.bucket, rounds = roundsOf(step, bucket), algorithm = String(whole.args.algorithm);
  const rows = algorithm.startsWith("rows in use"), gathered = algorithm === "rows in use, gathered";
  const chunks = rounds.length ? rounds[0][0].args.chunks : 1, n = replicas.length;
  const columns = gathered ? 1 : n, square = n > 4 ? 8 : 12;
  const width = 560, height = n === 2 ? 190 : 270, spot = placeReplicas(rounds, width, height);
  const picture =
      svg("svg", {viewBox: `0 0 ${width} ${height}`, width: "100%", role: "img", "aria-label": "Replicas and the messages between them"});
  const links = new Set(rounds.flat().flatMap((message) => message.args.from.map((from) => from + ">" + message.args.to)));
  const path = (from, to) => {  // a slight bend, so that the two directions do not overlap
    const [x1, y1] = spot[from], [x2, y2] = spot[to], dx = x2 - x1, dy = y2 - y1;
    return [x1, y1, (x1 + x2) / 2 - dy * 0.16, (y1 + y2) / 2 + dx * 0.16, x2, y2];
  };
  for (const link of links) {
    const [x1, y1, cx, cy, x2, y2] = path(...link.split(">").map(Number));
    picture.append(svg("path", {d: `M${x1} ${y1} Q${cx} ${cy} ${x2} ${y2}`, fill: "none", stroke: "var(--line)", "stroke-width": 1.5}));
  }
  const moving = svg("g"), squares = {};
  const boxes = svg("g");
  for (const replica of replicas) {
    const [x, y] = spot[replica], w = Math.max(82, columns * (square + 3) + 22), h = 26 + chunks * (square + 3);
    boxes.append(
        svg("rect", {x: x - w / 2, y: y - h / 2, width: w, height: h, rx: 8, fill: "var(--card)", stroke: "var(--line)"}),
        svg("text", {x, y: y - h / 2 + 15, "text-anchor": "middle", class: "strong"}, "replica " + replica));
    squares[replica] = Array.from({length: chunks}, (_, chunk) => Array.from({length: columns}, (_, part) => {
      const rect = svg("rect", {
        x: x - (columns * (square + 3) - 3) / 2 + part * (square + 3),
        y: y - h / 2 + 22 + chunk * (square + 3),
        width: square,
        height: square,
        rx: 2,
        fill: "var(--well)"
      });
      boxes.append(
          withHint(rect, gathered ? "rows of replica " + replicas[chunk] : "chunk " + chunk + ": the part of replica " + replicas[part]));
      return rect;
    }));
  }
  picture.append(boxes, moving);

  const said = html("p", {}), values = html("div"), list = html("p", {class: "quiet", style: {"font-size": "12.5px", "margin-top": "4px"}});
  const chips = html(
      "div", {class: "chips", role: "group", "aria-label": "Bucket"},
      wholes.slice(0, 12).map(
          (one, i) => html(
              "button", {"aria-pressed": i === chosen ? "true" : "false", onclick: () => go({bucket: i, moment: 0})},
              one.name.replace("all-reduce ", "") + ", " + bytes(one.args.bytes))));
  const variables = Array.isArray(whole.args.variables) ? whole.args.variables : [String(whole.args.variables)];
  const sentences = {
    ring:
        "A ring: each replica sends to its right neighbour only. First the chunks are added up on their way around, " +
        "then the finished ones travel around once more.",
    tree: "A tree: pairs add up, then pairs of pairs. The sum comes back down the same way.",
    "one-device": "Replica " + replicas[0] + " adds the gradients of all others to its own and sends the sum back to each.",
    "one-copy": "The replicas share one copy of the weights. Replica " + replicas[0] +
        " adds up all gradients and updates that copy; the sum is not sent back.",
    "hierarchical-copy": "Groups add up among themselves first, then their leaders; the sum comes back the same way.",
    nccl: "NCCL moves the data; its messages are its own affair and not recorded here.",
  };
  const node = html(
      "div", {class: "panel"},
      words(
          "4  All-reduce",
          rows ? "Only the rows that the samples name have a gradient. " +
                  (gathered     ? "Replicas exchange those rows, and each adds them up in the same order." :
                       ONE_COPY ? "Replica " + replicas[0] + " adds those rows of all others to its own; the sum is not sent back." :
                                  "Replica " + replicas[0] + " adds those rows of all others to its own, and each of them copies the sum's rows.") :
              sentences[whole.args.algorithm] || "Gradients are summed over the replicas.",
          variables.slice(0, 3).join(", ") + (variables.length > 3 ? " and " + (variables.length - 3) + " more" : ""),
          [
            ["algorithm", whole.args.algorithm],
            ["bucket", html("span", {"data-figure": "bucket-bytes", "data-value": whole.args.bytes}, bytes(whole.args.bytes))],
            [
              "messages",
              html(
                  "span", {"data-figure": "messages", "data-value": whole.args["messages of all replicas"]},
                  grouped(whole.args["messages of all replicas"]))
            ],
            [
              "bytes sent by all",
              html(
                  "span", {"data-figure": "bytes-sent", "data-value": whole.args["bytes of all replicas"]},
                  bytes(whole.args["bytes of all replicas"]))
            ],
            ["the sum is on", having.length === replicas.length ? "every replica" : "replica " + listed(having)],
            ["took", duration(whole.end - whole.begin)]
          ]),
      html(
          "div", {class: "picture"}, chips,
          html(
              "div", {class: "sums"}, picture,
              html(
                  "div", {}, html("h3", {}, "Now"), said, list, values,
                  rounds.length && !rounds.flat().some((message) => message.args.values) ? notInspected("Partial sums") : null,
                  rounds.length ? html(
                                      "p", {class: "quiet", style: {"font-size": "12px", "margin-top": "12px"}},
                                      gathered ? "Each square: the rows of one replica, filled where they have arrived." :
                                                 (chunks > 1 ? "Each row is a chunk of the bucket, each square in it" : "Each square is") +
                                              " the part of one replica: filled means that the sum has it.") :
                                  null))));

  return {
    node,
    time: (moment) => {
      if (!rounds.length) return whole.begin + moment * (whole.end - whole.begin);
      const round = rounds[Math.min(rounds.length - 1, Math.floor(moment * rounds.length))];
      const part = moment * rounds.length - Math.min(rounds.length - 1, Math.floor(moment * rounds.length));
      return round[0].begin + part * (round[0].end - round[0].begin);
    },
    update(moment) {
      const at = moment * rounds.length, done = Math.min(rounds.length, Math.floor(at + 1e-9)), round = rounds[done];
      const held = holdings(rounds, done, gathered, chunks);
      const summed = !rounds.length && moment > 0.98;  // by NCCL, unseen
      for (const replica of replicas)
        squares[replica].forEach(
            (row, chunk) => row.forEach(
                (rect, part) => rect.setAttribute(
                    "fill",
                    summed || (gathered ? held[replica][chunk].parts.size > 0 : held[replica][chunk].parts.has(replicas[part])) ?
                        colour(3) :
                        "var(--well)")));
      moving.replaceChildren();
      if (!round) {
        said.textContent = rounds.length || summed ? outcome : "";
        list.textContent = "";
        const last = rounds.length && rounds[rounds.length - 1].find((message) => message.args.values);
        values.replaceChildren(
            ...(last ? [html(
                           "table", {style: {"margin-top": "6px"}},
                           replicas.slice(0, 6).map(
                               (replica) => html(
                                   "tr", {}, html("td", {}, "replica " + replica),
                                   (held[replica][last.args.chunk].values || [])
                                       .slice(0, 3)
                                       .map((x) => html("td", {class: "n mono value"}, value(x))))))] :
                       []));
        return;
      }
      const part = clamp((at - done) * 1.15, 0, 1), ease = 0.2 + 0.6 * part * part * (3 - 2 * part);  // between the boxes
      for (const [message, from] of round.flatMap((one) => one.args.from.map((sender) => [one, sender]))) {
        const [x1, y1, cx, cy, x2, y2] = path(from, message.args.to), u = 1 - ease;
        const x = u * u * x1 + 2 * u * ease * cx + ease * ease * x2, y = u * u * y1 + 2 * u * ease * cy + ease * ease * y2;
        moving.append(
            svg("rect", {x: x - 27, y: y - 10, width: 54, height: 20, rx: 10, fill: colour(3)}),
            svg("text", {x, y: y + 4, "text-anchor": "middle", style: {fill: "var(--on-phase)", "font-size": "10.5px"}},
                chunks > 1 && !gathered ? "chunk " + message.args.chunk :
                    message.args.adds   ? "add" :
                                          "copy"));
      }
      const first = round.find((message) => message.args.values) || round[0];
      const {from, to, chunk, adds} = first.args, sender = from[0];
      const what = rows && adds ? `replica ${to} adds the rows of replica ${sender} to its own.` :
          gathered        ? `replica ${to} gets the rows of replica ${sender}.` :
          rows            ? `replica ${to} copies the sum's rows from replica ${sender}.` :
          from.length > 1 ? `replica ${to} adds what replicas ${listed(from)} have to its own, all in one pass.` :
          chunks > 1      ? `replica ${to} gets ${adds ? "" : "the finished "}chunk ${chunk} from replica ${sender} and ${
                                adds ? "adds it to its own" : "keeps it"}.` :
          adds            ? `replica ${to} gets what replica ${sender} has and adds it to its own.` :
                            `replica ${to} gets the sum from replica ${sender}.`;
      said.textContent = "Round " + (done + 1) + " of " + rounds.length + ": " + what;
      const sent = round.reduce((sum, message) => sum + message.args.from.length, 0);
      list.textContent = plural(sent, "message") + " of " + bytes(first.args.bytes / first.args.from.length) + (sent > 1 ? " at once" : "") +
          ", " + duration(first.end - first.begin);
      values.replaceChildren(...[valueRows(first, held, gathered)].filter(Boolean));
    },
  };
}
