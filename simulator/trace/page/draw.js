// Small tools for drawing. Text only ever becomes a text node, so a name that looks like markup stays a name.

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on"))
      node.addEventListener(key.slice(2), value);
    else if (key === "style" && typeof value === "object")
      for (const [name, v] of Object.entries(value)) node.style.setProperty(name, v);
    else if (value === true)
      node.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined)
      node.setAttribute(key, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}
const html = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const byId = (id) => document.getElementById(id);
const colour = (phase) => (phase < 0 ? "var(--line)" : "var(--p" + phase + ")");
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
// How much of [begin, end] lies before `at`, from 0 to 1.
const share = (at, begin, end) => (end > begin ? clamp((at - begin) / (end - begin), 0, 1) : at >= end ? 1 : 0);

// A list of names and figures.
function facts(rows) {
  return html("dl", {class: "figures"}, rows.filter(Boolean).map(([name, value]) => [html("dt", {}, name), html("dd", {}, value)]));
}

// What the phase is, in words, on the left of every panel.
function words(title, sentence, more, rows) {
  return html(
      "div", {class: "words"}, html("h2", {}, title), html("p", {}, sentence), more && html("p", {class: "more"}, more),
      rows && facts(rows));
}

// Said where a figure was not taken, with a way to where it was.
function notInspected(what) {
  const looked = steps.filter((step) => step.inspected).map((step) => step.number);
  if (!looked.length) return html("p", {class: "note"}, what + " were not recorded. Record with --trace-inspect 4 to see them.");
  const range = looked.length > 1 ? "steps " + looked[0] + "–" + looked[looked.length - 1] : "step " + looked[0];
  return html(
      "p", {class: "note"}, what + " take time to record, so only " + range + (looked.length > 1 ? " have" : " has") + " them. ",
      html("button", {onclick: () => go({step: steps.findIndex((step) => step.inspected)})}, "Go to step " + looked[0]));
}

// A line of text with the pointer.
const hint = {
  show(event, text) {
    const box = byId("hint");
    box.textContent = text;
    box.hidden = false;
    const x = Math.min(event.clientX + 14, window.innerWidth - box.offsetWidth - 8);
    const below = event.clientY + 18 + box.offsetHeight < window.innerHeight;
    box.style.left = Math.max(8, x) + "px";
    box.style.top = (below ? event.clientY + 18 : event.clientY - box.offsetHeight - 10) + "px";
  },
  hide() { byId("hint").hidden = true; },
};
function withHint(node, text) {
  node.addEventListener("pointermove", (event) => hint.show(event, text));
  node.addEventListener("pointerleave", hint.hide);
  return node;
}

// Values as a learner reads them, all in one column.
function value(x) {
  if (x === null || x === undefined) return "?";
  const size = Math.abs(x),
        text = size === 0 || (size >= 0.001 && size < 1000) ? size.toFixed(5) : size.toExponential(2).replace("e-", "e−");
  return (x < 0 ? "−" : " ") + text;
}

// Four replicas and more stand in rows of four.
const many = () => (replicas.length > 3 ? " many" : "");
