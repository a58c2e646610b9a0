// The row of steps: a bar for each, as high as the step was long, in the colours of its phases.

function drawScrubber(state) {
  const chart = byId("step-bars");
  const width = chart.clientWidth || 700, height = 44;
  const usual = steps.map((step) => step.end - step.begin).sort((a, b) => a - b)[Math.floor(steps.length / 2)];
  const top = Math.min(Math.max(...steps.map((step) => step.end - step.begin)), 2 * usual) || 1;  // a first step may be endless
  const room = width / steps.length, bar = Math.max(2, Math.min(26, room - 3));
  chart.replaceChildren();
  steps.forEach((step, i) => {
    const x = room * i + (room - bar) / 2, here = i === state.step;
    const length = step.end - step.begin, full = 32 * Math.min(1, length / top);
    const group = svg("g", {opacity: here ? 1 : 0.42});
    const times = step.figure.replicas[0].phases, sum = times.reduce((a, b) => a + b, 0) || 1;
    let y = height - 6;
    [1, 2, 3, 4, 5].forEach((phase) => {
      const h = (full * times[phase]) / sum;
      if (h < 0.3) return;
      y -= h;
      group.append(svg("rect", {x, y, width: bar, height: h, fill: colour(phase)}));
    });
    if (length > top) group.append(svg("path", {d: `M${x} ${y + 6} l${bar} -4`, stroke: "var(--paper)", "stroke-width": 2}));
    if (step.inspected) group.append(svg("circle", {cx: x + bar / 2, cy: height - 2, r: 1.7, fill: "var(--ink)"}));
    if (here) group.append(svg("path", {d: `M${x + bar / 2 - 4} 0 h8 l-4 5 Z`, fill: "var(--ink)"}));
    chart.append(group);
  });
  const step = steps[state.step], loss = lossOf(step);
  const slider = byId("scrub");
  slider.max = steps.length - 1;
  slider.value = state.step;
  slider.setAttribute("aria-valuetext", "step " + step.number + ", " + duration(step.end - step.begin));
  byId("previous").disabled = state.step === 0;
  byId("next").disabled = state.step === steps.length - 1;
  byId("step-facts")
      .replaceChildren(
          html("b", {}, "Step " + step.number), " of " + steps[0].number + "–" + steps[steps.length - 1].number, html("br"),
          html(
              "span", {class: "quiet"}, duration(step.end - step.begin) + (loss === null ? "" : " · loss "),
              loss === null ? null : html("span", {id: "step-loss", "data-value": loss}, loss.toFixed(4))));
}
