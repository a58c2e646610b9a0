// The recorded data, put in order: steps, and in each step the spans of its replicas. Figures come from the engine; the page computes none.
"use strict";

const PHASES = ["replicate", "shard", "local gradients", "all-reduce", "update", "barrier"];
const trace = JSON.parse(document.getElementById("trace").textContent);
const about = trace.otherData.about;
const figures = trace.otherData.figures;
const ONE_COPY = about["one copy"] === true;  // the replicas share weights and slots of replica 0
const FIRST_REPLICA = about["first replica"] || 0;

const spans = trace.traceEvents.filter((event) => event.ph === "X")
                  .map((event) => ({
                         name: event.name,
                         phase: PHASES.indexOf(event.cat),
                         begin: Math.round(event.ts * 1000),
                         end: Math.round(event.ts * 1000) + Math.round(event.dur * 1000),
                         track: ["host", "compute", "communication"][(event.tid - 1) % 3],
                         replica: event.args.replica,
                         step: event.args.step,
                         depth: event.args.depth,
                         args: event.args,
                       }))
                  .sort((a, b) => a.depth - b.depth || a.begin - b.begin);

const replicas = [...new Set(spans.map((span) => span.replica))].sort((a, b) => a - b);

// The copy of the variables before the first step, where the trace has it.
const firstCopy = spans.filter((span) => span.phase === 0 && span.track === "communication");

const steps = figures.steps.map((figure) => {
  const mine = spans.filter((span) => span.step === figure.step && !(span.phase === 0 && span.track === "communication"));
  const phases = PHASES.map((name, phase) => {
    const whole =
        mine.filter((span) => span.depth === 0 && span.phase === phase).sort((a, b) => a.replica - b.replica || a.begin - b.begin);
    return {
      whole,
      begin: Math.min(...whole.map((span) => span.begin)),
      end: Math.max(...whole.map((span) => span.end)),
      of: (replica) => whole.filter((span) => span.replica === replica),
    };
  });
  return {
    number: figure.step,
    begin: figure.begin,
    end: figure.end,
    inspected: figure.inspected,
    figure,
    spans: mine,
    phases,
    samples: (trace.otherData.samples || []).filter((one) => one.step === figure.step),
    copies: figure.step === figures.steps[0].step ? firstCopy : [],
  };
});

// Mean loss over the global batch: each replica's sum of losses over all samples.
function lossOf(step) {
  const parts = step.phases[2].whole.filter((span) => span.args["loss sum"] !== undefined);
  const samples = parts.reduce((sum, span) => sum + span.args.samples, 0);
  return samples ? parts.reduce((sum, span) => sum + span.args["loss sum"], 0) / samples : null;
}

function className(label) {
  const names = about["class names"];
  return names && names[label] !== undefined ? names[label] : String(label);
}

// --- Words for numbers

function duration(ns) {
  if (!Number.isFinite(ns)) return "–";
  if (ns === 0) return "0";
  const ms = ns / 1e6;
  if (ms >= 1000) return (ms / 1000).toFixed(2) + " s";
  if (ms >= 100) return ms.toFixed(0) + " ms";
  if (ms >= 10) return ms.toFixed(1) + " ms";
  if (ms >= 0.1) return ms.toFixed(2) + " ms";
  return (ns / 1e3).toFixed(ns >= 1e4 ? 0 : 1) + " µs";
}

function bytes(n) {
  for (const [size, unit] of [[1 << 30, "GiB"], [1 << 20, "MiB"], [1 << 10, "KiB"]]) {
    if (n >= size) return (n / size).toFixed(n / size >= 100 ? 0 : 1) + " " + unit;
  }
  return n + " bytes";
}

const number = (value, digits = 4) =>
    (value === null || value === undefined ? "–" : Number(value).toPrecision(digits).replace("e-", "e−").replace(/^-/, "−"));
const percent = (part, whole) => (whole > 0 ? Math.round((100 * part) / whole) + " %" : "0 %");
const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, " ");
const listed = (names) => (names.length > 1 ? names.slice(0, -1).join(", ") + " and " + names[names.length - 1] : String(names[0]));
const plural = (n, word) => grouped(n) + " " + word + (n === 1 ? "" : "s");
