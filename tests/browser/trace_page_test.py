#!/usr/bin/env python3
"""The trace page in a real browser: opened, scrubbed, every phase clicked, played; and its figures are the engine's own.

trace_page_test.py LOCKSTEP MAKE_TRACES FOLDER    screenshots and traces go to FOLDER. 77: there is no browser here.
"""
import json
import math
import os
import signal
import subprocess
import sys
import time

import webdriver

LOCKSTEP, MAKE_TRACES, FOLDER = (os.path.abspath(word) for word in sys.argv[1:4])
PHASES = ["replicate", "shard", "local gradients", "all-reduce", "update", "barrier"]
MARKUP = "<script>window.hacked = 1</script>"
problems = []


def expect(name, wanted, got):
    if wanted != got:
        problems.append(f"{name}: wanted {wanted!r}, got {got!r}")


def near(name, wanted, got, tolerance=1e-9):
    if not math.isclose(wanted, got, rel_tol=tolerance, abs_tol=1e-12):
        problems.append(f"{name}: wanted {wanted!r}, got {got!r}")


class Recorded:
    """The JSON trace of the same run."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            trace = json.load(file)
        self.spans = [event for event in trace["traceEvents"] if event["ph"] == "X" and event["args"]["depth"] == 0]
        self.steps = [step["step"] for step in trace["otherData"]["figures"]["steps"]]
        self.figures = trace["otherData"]["figures"]
        self.replicas = self.figures["replicas"]
        self.one_copy = trace["otherData"]["about"]["one copy"]
        self.layers = [layer["name"] for layer in trace["otherData"]["about"]["layers"]]
        self.work = [event["args"] for event in trace["traceEvents"] if event["ph"] == "X" and "layers" in event["args"]]

    def of(self, step, phase):
        return [span["args"] for span in self.spans if span["args"]["step"] == step and span["cat"] == PHASES[phase]]


def shown(browser, figure):
    """What the page shows under this name: by replica where it is one's, and the text beside it."""
    return browser.run("return [...document.querySelectorAll(`[data-figure='${arguments[0]}']`)]"
                       ".map((node) => [node.dataset.replica, node.dataset.value, node.textContent])", figure)


def check_step(browser, name, recorded, step, engine):
    where = f"{name}, step {step}"
    browser.click("#phase-2")
    shards = {str(args["replica"]): args for args in recorded.of(step, 1)}
    for figure, key in (("samples", "samples"), ("shard-bytes", "bytes")):
        expect(f"{where}: {figure}", {r: str(args[key]) for r, args in shards.items()}, {r: v for r, v, _ in shown(browser, figure)})
    browser.click("#phase-3")
    losses = {str(args["replica"]): args["loss"] for args in recorded.of(step, 2) if "loss" in args}
    found = {r: float(v) for r, v, _ in shown(browser, "loss")}
    expect(f"{where}: losses", losses, found)
    for replica, value, text in shown(browser, "loss"):
        expect(f"{where}: the loss of replica {replica} as text", f"loss {float(value):.4f}", text)
    browser.click("#phase-4")
    if recorded.replicas > 1:
        first = next(args for args in recorded.of(step, 3) if args["replica"] == 0)
        for figure, key in (("bucket-bytes", "bytes"), ("messages", "messages of all replicas"), ("bytes-sent", "bytes of all replicas")):
            expect(f"{where}: {figure}", [str(first[key])], [v for _, v, _ in shown(browser, figure)])
    browser.click("#phase-6")
    sums = {str(args["replica"]): args.get("checksum", "") for args in recorded.of(step, 5)}
    expect(f"{where}: checksums", sums, {r: v for r, v, _ in shown(browser, "checksum")})
    if any(sums.values()):
        result = browser.run("return [...document.querySelectorAll('#stage p.equal, #stage p.differs, #stage p.quiet')].map(p => p.textContent).join()")
        expect(f"{where}: the comparison", True, ("nothing to compare" if recorded.one_copy else "bit for bit the same") in result)
    if engine:
        if any(sums.values()):
            expect(f"{where}: the engine's own checksums", engine["checksums"], [sums[str(r)] for r in range(recorded.replicas)])
        loss = browser.run("return document.getElementById('step-loss').dataset.value")
        near(f"{where}: the engine's own loss", engine["loss"], float(loss), 1e-5)


def check_page(browser, name, engine=None):
    page, recorded = os.path.join(FOLDER, name + ".html"), Recorded(os.path.join(FOLDER, name + ".json"))
    browser.dark(False)
    browser.open(page)
    browser.wait("document.querySelectorAll('#phases button').length === 6", "the page")
    expect(f"{name}: steps", len(recorded.steps), int(browser.run("return document.getElementById('scrub').max")) + 1)
    for phase in range(6):
        browser.click(f"#phase-{phase + 1}")
        heading = browser.run("return document.querySelector('#stage h2').textContent")
        expect(f"{name}: heading of phase {phase + 1}", True, heading.lower().endswith(PHASES[phase]))
        if phase == 3:
            browser.run("go({moment: 0.4})")
        for dark in (False, True):
            browser.dark(dark)
            browser.screenshot(os.path.join(FOLDER, f"{name}-{phase + 1}-{'dark' if dark else 'light'}.png"))
        browser.dark(False)
    for i, step in enumerate(recorded.steps):
        if i not in (0, 1, len(recorded.steps) - 1):
            continue
        browser.run("const s = document.getElementById('scrub'); s.value = arguments[0]; s.dispatchEvent(new Event('input'))", i)
        told = browser.run("return document.querySelector('#step-facts b').textContent")
        expect(f"{name}: scrubbed to step {step}", f"Step {step}", told)
        check_step(browser, name, recorded, step, engine[i] if engine else None)

    # Keys, zoom, the critical path, every moment of every phase.
    browser.run("go({step: 0})")
    browser.keys("]")
    expect(f"{name}: the key ]", min(1, len(recorded.steps) - 1), browser.run("return state.step"))
    browser.keys("+c5")
    expect(f"{name}: the key 5", 4, browser.run("return state.phase"))
    expect(f"{name}: the critical path is drawn", True, browser.run("return document.getElementById('critical-line') !== null"))
    browser.keys("c0")
    for phase in range(6):
        browser.click(f"#phase-{phase + 1}")
        browser.run("for (let m = 0; m <= 50; ++m) go({moment: m / 50})")
    browser.click("#phase-2")
    browser.click("#play")
    browser.wait("state.playing && state.phase > 1", "playing to go on")
    browser.wait("state.phase > 2 || state.moment > 0.05", "playing to go on")
    browser.click("#play")
    expect(f"{name}: paused", False, browser.run("return state.playing"))

    browser.click("#view-time")
    for _, value, _ in shown(browser, "mean"):
        float(value)
    expect(f"{name}: means", [str(ms) if ms else "0" for ms in map(float, recorded.figures["phaseMs"])],
           [str(float(v)) if float(v) else "0" for _, v, _ in shown(browser, "mean")])
    for dark in (False, True):
        browser.dark(dark)
        browser.screenshot(os.path.join(FOLDER, f"{name}-time-{'dark' if dark else 'light'}.png"))
    wide = browser.run("return document.documentElement.scrollWidth")
    expect(f"{name}: nothing sticks out at 1280 pixels", True, wide <= 1280)
    unnamed = browser.run("return [...document.querySelectorAll('button, input')]"
                          ".filter((node) => !(node.textContent.trim() || node.getAttribute('aria-label'))).length")
    expect(f"{name}: controls without a name", 0, unnamed)
    expect(f"{name}: what the browser complains about", [], browser.complaints())


def check_words(browser, name):
    """The texts of the page have the figures of the trace."""
    recorded = Recorded(os.path.join(FOLDER, name + ".json"))
    browser.open(os.path.join(FOLDER, name + ".html"))
    browser.wait("document.querySelectorAll('#phases button').length === 6", "the page")

    def says(phase):
        browser.click(f"#phase-{phase}")
        browser.run("go({moment: 1})")
        return browser.run("return document.getElementById('stage').textContent")

    replicas = recorded.replicas
    browser.run("go({step: 0})")
    text = says(1)
    copied = [span["args"]["bytes"] for span in recorded.spans if span["cat"] == PHASES[0] and span["args"].get("bytes")]
    expect(f"{name}: replicas that got a copy", 0 if recorded.one_copy else replicas - 1, len(copied))
    expect(f"{name}: copies in words", len(copied), text.count("a copy, "))
    browser.run("go({step: 3})")
    text = says(3)
    expect(f"{name}: layers in words", True, f"layers{len(recorded.layers)}" in text)
    last = recorded.steps[3]
    work = [args for args in recorded.work if args["step"] == last and args["replica"] == 0 and args["direction"] == "forward"]
    cells = [names.split("\n") for replica, names, _ in shown(browser, "forward") if replica == "0"]
    expect(f"{name}: what is drawn for a replica's forward pass", [args["layers"] for args in work], cells)
    drawn = {layer for layers in cells for layer in layers}
    expect(f"{name}: layers that run nothing", {layer for layer in recorded.layers if layer.startswith("flatten")}, set(recorded.layers) - drawn)
    expect(f"{name}: graphs in words", any(args["graph"] for args in work), "A wide cell is a CUDA graph" in text)
    text = says(4)
    expect(f"{name}: who has the sum", True,
           ("Replica 0 has the sum. The others do not get it" if recorded.one_copy else "Every replica has the sum") in text)
    text = says(5)
    updates = sum(1 for args in recorded.of(last, 4) if args["updates"])
    expect(f"{name}: updates", 1 if recorded.one_copy else replicas, updates)
    expect(f"{name}: updates in words", True, f"{updates} on {replicas} replicas" in text)
    expect(f"{name}: replicas that wait in words", replicas - updates, text.count("waits for replica 0's update"))


def check_markup(browser):
    """Names that look like markup are shown as they are and run nowhere."""
    browser.open(os.path.join(FOLDER, "pictures.html"))
    browser.wait("document.querySelectorAll('#phases button').length === 6", "the page")
    expect("markup: title", MARKUP, browser.run("return document.getElementById('title').textContent"))
    browser.click("#phase-2")
    names = browser.run("return [...document.querySelectorAll('.sample b')].map((node) => node.textContent)")
    expect("markup: a class's name", True, MARKUP in names)
    browser.click("#phase-1")
    expect("markup: a variable's name", True, MARKUP + "/kernel" in browser.run("return document.getElementById('stage').textContent"))
    expect("markup: elements that run", 2, browser.run("return document.scripts.length"))
    expect("markup: hacked", None, browser.run("return window.hacked === undefined ? null : 'yes'"))


def run_to_the_end(words, environment):
    """Trains, with every step traced; the program's own lines of JSON."""
    result = subprocess.run([LOCKSTEP, "run", *words, "--json"], cwd=FOLDER, env=environment, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"lockstep run {' '.join(words)}: {result.stderr}")
    return [json.loads(line) for line in result.stdout.splitlines()]


def run_a_little(name, words, environment):
    """Trains until the trace is written; false where the data is not there."""
    path = os.path.join(FOLDER, name)
    words = [LOCKSTEP, "run", *words, "--trace", f"{path}.json,{path}.html"]
    with open(path + ".log", "w+", encoding="utf-8") as log:
        with subprocess.Popen(words, cwd=FOLDER, env=environment, stdout=log, stderr=log) as program:
            while program.poll() is None and not os.path.exists(path + ".html"):
                time.sleep(0.1)
            if program.poll() is None:
                program.send_signal(signal.SIGINT)  # stops after the batch
        log.seek(0)
        said = log.read().strip()
    if program.returncode in (0, 130):
        return True
    print(f"{name}: not traced: {said}")
    if "not found" not in said and "were found" not in said:
        problems.append(f"{name}: lockstep run ended with {program.returncode}")
    return False


def main():
    if webdriver.missing():
        print("Not installed here: " + ", ".join(webdriver.missing()) + " (apt-get install chromium chromium-driver)")
        return 77
    os.makedirs(FOLDER, exist_ok=True)
    for name in os.listdir(FOLDER):
        if name.endswith((".html", ".json", ".png")):
            os.remove(os.path.join(FOLDER, name))
    environment = dict(os.environ, LOCKSTEP_OFFLINE="1")
    subprocess.run([MAKE_TRACES, FOLDER], check=True)
    with open(os.path.join(FOLDER, "engine.json"), encoding="utf-8") as file:
        engine = json.load(file)
    lines = run_to_the_end(["mnist", "--quick", "--batch", "600", "--logical", "2", "--trace", "mnist.json,mnist.html", "--trace-inspect", "10"],
                           environment)
    others = [name for name, words in (("reuters", ["reuters", "--quick", "--all-reduce", "tree", "--trace-steps", "6"]),
                                       ("cats-vs-dogs", ["cats-vs-dogs", "--quick", "--batch", "8", "--trace-steps", "2"]))
              if run_a_little(name, words, environment)]
    browser = webdriver.Browser()
    try:
        check_page(browser, "pictures", engine["pictures"])
        check_page(browser, "texts", engine["texts"])
        check_page(browser, "graphs")
        check_page(browser, "shared")
        check_words(browser, "graphs")
        check_words(browser, "shared")
        check_words(browser, "pictures")
        check_markup(browser)
        check_page(browser, "mnist")
        for name in others:
            check_page(browser, name)
    finally:
        browser.close()
    # The whole epoch was traced: its last checksum is the program's, and its losses have the program's mean.
    mnist = Recorded(os.path.join(FOLDER, "mnist.json"))
    summary = next(line["summary"] for line in lines if "summary" in line)
    last = sorted(mnist.of(mnist.steps[-1], 5), key=lambda args: args["replica"])
    expect("mnist: last checksums", ["0x" + sum for sum in summary["checksums"]], [args["checksum"] for args in last])
    sums = [(args["loss sum"], args["samples"]) for step in mnist.steps for args in mnist.of(step, 2) if "loss sum" in args]
    mean = sum(a for a, _ in sums) / sum(b for _, b in sums)
    near("mnist: mean loss of the epoch", next(line["loss"] for line in lines if "epoch" in line), mean, 1e-5)
    for problem in problems:
        print("FAILED:", problem)
    print(json.dumps({"pages": 5 + len(others), "failures": len(problems), "screenshots": FOLDER}))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
