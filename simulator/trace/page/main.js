// What is shown: a step, a phase of it, a moment in that phase. Everything on the page follows from these.

const state = {
  step: 0,
  phase: 1,
  moment: 1,
  bucket: 0,
  view: "step",
  playing: false,
  critical: false,
  time: 0
};
const PANELS = [replicatePanel, shardPanel, gradientsPanel, allReducePanel, updatePanel, barrierPanel];
const SECONDS = [1.6, 3, 5, 7, 2.5, 3];  // that a phase is played
let panel = null;

function momentTime() {
  const phase = steps[state.step].phases[state.phase];
  if (state.view === "step" && panel && panel.time) return panel.time(state.moment);
  if (!Number.isFinite(phase.begin)) return steps[state.step].begin;
  return phase.begin + state.moment * (phase.end - phase.begin);
}

// Changes the state and draws what depends on it.
function go(change) {
  const before = {...state};
  Object.assign(state, change);
  state.step = clamp(state.step, 0, steps.length - 1);
  state.phase = ONLY >= 0 ? ONLY : clamp(state.phase, 0, 5);
  state.moment = clamp(state.moment, 0, 1);
  const otherStep = before.step !== state.step,
        panelChanged = otherStep || before.phase !== state.phase || before.view !== state.view || before.bucket !== state.bucket || !panel;
  if (otherStep) timeline.fit(steps[state.step]);
  if (panelChanged) drawPanel();
  if (otherStep || before.phase !== state.phase || before.critical !== state.critical || panelChanged) {
    drawScrubber(state);
    drawPhases();
    state.time = momentTime();
    timeline.draw();
  }
  drawMoment();
}

function drawMoment() {
  state.time = momentTime();
  panel.update(state.moment, state.time);
  timeline.drawPlayhead();
  const slider = byId("moment-slider");
  if (!slider) return;
  slider.value = Math.round(1000 * state.moment);
  slider.style.setProperty("--at", 100 * state.moment + "%");
}

function drawPanel() {
  const stage = byId("stage"), step = steps[state.step];
  stage.style.setProperty("--phase", colour(state.phase));
  panel = state.view === "time" ? timeView(step) : PANELS[state.phase](step);
  stage.replaceChildren(panel.node);
  stage.setAttribute("aria-label", state.view === "time" ? "Where the time goes" : PHASES[state.phase]);
  if (state.view === "step") {
    const slider = html("input", {
      id: "moment-slider",
      type: "range",
      min: 0,
      max: 1000,
      value: 1000 * state.moment,
      "aria-label": "Moment in this phase",
      oninput: (event) => {
        pause();
        go({moment: event.target.value / 1000});
      }
    });
    panel.node.querySelector(".words").append(html("label", {class: "moment"}, "moment", slider));
  }
  byId("view-step").setAttribute("aria-selected", state.view === "step" ? "true" : "false");
  byId("view-time").setAttribute("aria-selected", state.view === "time" ? "true" : "false");
  byId("phases").hidden = state.view === "time" || ONLY >= 0;
}

function drawPhases() {
  const step = steps[state.step];
  byId("phases").replaceChildren(...PHASES.map((name, phase) => {
    const times = step.figure.replicas.map((one) => one.phases[phase]), longest = Math.max(...times);
    return html(
        "button", {
          id: "phase-" + (phase + 1),
          role: "tab",
          "aria-selected": state.phase === phase ? "true" : "false",
          "aria-controls": "stage",
          style: {"--phase": colour(phase)},
          onclick: () => {
            pause();
            go({phase, moment: phase === 3 ? 0.35 : 1});
          }
        },
        html("span", {class: "number"}, String(phase + 1)), html("span", {class: "name"}, name[0].toUpperCase() + name.slice(1)),
        html("span", {class: "took"}, phase === 0 ? (step.copies.length ? "copied once" : "nothing moves") : duration(longest)));
  }));
}

// --- Play: phase after phase, each slow enough to be seen, then the next step.

let last = 0;
function frame(now) {
  if (!state.playing) return;
  const moved = Math.min(0.1, (now - last) / 1000);
  last = now;
  let {step, phase, moment} = state;
  moment += moved / SECONDS[phase];
  if (moment >= 1) {
    moment = 0;
    if (ONLY >= 0 || ++phase === 6) {
      phase = 1;
      if (++step === steps.length) {
        pause();
        return go({phase: 5, moment: 1});
      }
    }
  }
  go({step, phase, moment});
  requestAnimationFrame(frame);
}

function play() {
  state.playing = true;
  const ended = (state.phase === 5 || ONLY >= 0) && state.moment >= 1;
  go({
    view: "step",
    ...(ended && ONLY >= 0                       ? {step: state.step + 1 < steps.length ? state.step + 1 : 0, moment: 0} :
            ended && state.step < steps.length - 1 ? {step: state.step + 1, phase: 1, moment: 0} :
            state.moment >= 1                  ? {moment: 0} :
                                                 {})
  });
  last = performance.now();
  showPlaying();
  requestAnimationFrame(frame);
}
function pause() {
  state.playing = false;
  showPlaying();
}
function showPlaying() {
  byId("play-shape").setAttribute("d", state.playing ? "M5 3.5 H8.5 V16.5 H5 Z M11.5 3.5 H15 V16.5 H11.5 Z" : "M6 3.5 L16.5 10 L6 16.5 Z");
  byId("play").setAttribute("aria-label", state.playing ? "Pause" : "Play");
}

function listen() {
  byId("play").addEventListener("click", () => (state.playing ? pause() : play()));
  byId("previous").addEventListener("click", () => {
    pause();
    go({step: state.step - 1});
  });
  byId("next").addEventListener("click", () => {
    pause();
    go({step: state.step + 1});
  });
  byId("scrub").addEventListener("input", (event) => {
    pause();
    go({step: Number(event.target.value)});
  });
  byId("view-step").addEventListener("click", () => go({view: "step"}));
  byId("view-time").addEventListener("click", () => {
    pause();
    go({view: "time"});
  });
  byId("critical").addEventListener("click", toggleCritical);
  timeline.listen();
  window.addEventListener("resize", () => {
    timeline.draw();
    drawScrubber(state);
  });
  window.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target instanceof HTMLInputElement;
    const keys = {
      " ": () => (state.playing ? pause() : play()),
      "[": () => go({step: state.step - 1}),
      "]": () => go({step: state.step + 1}),
      "+": () => timeline.zoom(0.6),
      "=": () => timeline.zoom(0.6),
      "-": () => timeline.zoom(1 / 0.6),
      0: () => {
        timeline.fit(steps[state.step]);
        timeline.draw();
      },
      ArrowLeft: typing ? null : () => timeline.move(-0.15),
      ArrowRight: typing ? null : () => timeline.move(0.15),
      c: toggleCritical,
      t: ONLY >= 0 ? null : () => go({view: state.view === "time" ? "step" : "time"}),
    };
    for (let phase = 0; phase < 6; ++phase) keys[phase + 1] = ONLY >= 0 ? null : () => byId("phase-" + (phase + 1)).click();
    if (!keys[event.key] || (event.key === " " && event.target instanceof HTMLButtonElement)) return;
    event.preventDefault();
    keys[event.key]();
  });
}
function toggleCritical() {
  go({critical: !state.critical});
  byId("critical").setAttribute("aria-pressed", state.critical ? "true" : "false");
}

function begin() {
  byId("title").textContent = about.title || "A step of mirrored training";
  byId("subtitle").textContent = [
    plural(replicas.length, "replica"), about.algorithm && "all-reduce: " + about.algorithm,
    about.parameters && grouped(about.parameters) + " parameters", plural(steps.length, "step") + " recorded",
    about.clock === "model" ? "modelled time" : "time of this machine"
  ].filter(Boolean).join("  ·  ");
  document.title = (about.title ? about.title + ": " : "") + "a step of mirrored training";
  if (!steps.length) {
    byId("stage").textContent = "No step was traced.";
    return;
  }
  listen();
  embed();
  // The second step: everything is warm, and it was looked into. The copies of phase 1 are made before the first.
  state.step = ONLY === 0 ? 0 : Math.min(1, steps.length - 1);
  state.phase = ONLY >= 0 ? ONLY : 2;
  timeline.fit(steps[state.step]);
  go({moment: 1});
  if (document.body.dataset.play && !matchMedia("(prefers-reduced-motion: reduce)").matches) {
    go({moment: 0});
    play();
  }
}
begin();
