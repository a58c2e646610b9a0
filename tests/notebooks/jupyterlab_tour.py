#!/usr/bin/env python3
"""The notebooks in JupyterLab in a real browser, light and dark, in windows of 1280 and 1440 pixels.

    jupyterlab_tour.py FOLDER                  every notebook with the outputs it is kept with; in 00 a typo is made and corrected; pages made of them
    jupyterlab_tour.py FOLDER NOTEBOOK ...     these are run from top to bottom first

Pictures go to FOLDER: the last one that each notebook shows, in four forms. Run by tests/notebooks/run.sh, with JupyterLab in its Python; 77: not here.
"""
import contextlib
import glob
import html
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "browser"))
import webdriver  # noqa: E402

FOLDER = os.path.abspath(sys.argv[1])
SOURCES = os.path.abspath(os.path.join(HERE, "..", "..", "notebooks"))
RUN = sys.argv[2:]
NOTEBOOKS = RUN or sorted(os.path.basename(path)[:-6] for path in glob.glob(os.path.join(SOURCES, "*.ipynb")))
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
WIDTHS = (1280, 1440)
CELLS = "jupyterapp.shell.currentWidget.content.widgets.filter((cell) => cell.model.type === 'code')"
problems = []


class Lab:
    """A server of its own, with copies of the notebooks, whose outputs it trusts."""

    def __init__(self, folder):
        self.token = secrets.token_hex(16)
        for name in NOTEBOOKS:
            shutil.copy(os.path.join(SOURCES, name + ".ipynb"), folder)
        subprocess.run([sys.executable, "-m", "jupyter", "trust", *(name + ".ipynb" for name in NOTEBOOKS)], cwd=folder, check=True, capture_output=True)
        settings = os.path.join(folder, "settings", "@jupyterlab")
        for name, text in (("apputils-extension/notification", '{"fetchNews": "false", "checkForUpdates": false}'),
                           ("notebook-extension/tracker", '{"windowingMode": "none"}')):
            os.makedirs(os.path.dirname(os.path.join(settings, name)), exist_ok=True)
            with open(os.path.join(settings, name + ".jupyterlab-settings"), "w", encoding="ascii") as file:
                file.write(text)
        words = [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0", "--expose-app-in-browser",
                 f"--notebook-dir={folder}", f"--IdentityProvider.token={self.token}", f"--LabApp.user_settings_dir={os.path.join(folder, 'settings')}"]
        self.log = open(os.path.join(folder, "server.log"), "w+", encoding="utf8")
        # Not this program's own output: a test ends when no process holds that any more.
        self.process = subprocess.Popen(words, stdout=self.log, stderr=self.log, text=True, cwd=folder)
        self.address = None
        for _ in range(1200):
            with open(self.log.name, encoding="utf8") as log:
                found = re.search(r"http://127\.0\.0\.1:(\d+)/lab", log.read())
            if found:
                self.address = f"http://127.0.0.1:{found.group(1)}"
                break
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        if self.address is None:
            self.close()
            raise RuntimeError("JupyterLab did not start")

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()


def check(yes, what):
    if not yes:
        problems.append(what)


def open_notebook(browser, lab, name):
    browser.call("POST", "/url", {"url": f"{lab.address}/lab/tree/{name}.ipynb?token={lab.token}&reset"})
    browser.wait("window.jupyterapp && document.querySelectorAll('.jp-Notebook .jp-Cell').length > 2", "the notebook")
    browser.run("jupyterapp.commands.execute('application:set-mode', {mode: 'single-document'})")
    if browser.run("return jupyterapp.shell.leftCollapsed === false"):
        browser.run("jupyterapp.commands.execute('application:toggle-left-area')")


def wait_for_kernel(browser):
    browser.wait("(() => { const panel = jupyterapp.shell.currentWidget; return panel && panel.sessionContext && panel.sessionContext.session && "
                 "panel.sessionContext.session.kernel && panel.sessionContext.session.kernel.status === 'idle'; })()", "the kernel")


def run_all(browser, name):
    wait_for_kernel(browser)
    browser.run(f"{CELLS}.forEach((cell) => cell.model.clearExecution()); jupyterapp.commands.execute('notebook:run-all-cells')")
    for _ in range(10):  # each wait ends after a minute
        try:
            browser.wait(f"{CELLS}.every((cell) => cell.model.executionCount > 0)", "every cell")
            break
        except RuntimeError:
            if browser.run(f"return {CELLS}.some((cell) => cell.model.outputs.toJSON().some((output) => output.output_type === 'error'))"):
                break
    errors = browser.run(f"return {CELLS}.flatMap((cell) => cell.model.outputs.toJSON()).filter((output) => output.output_type === 'error').length")
    check(errors == 0, f"{name}: {errors} cells ended in an error")


def frames(browser):
    """Of every trace: how high it is, how much it needs, and whether it or a part of it scrolls."""
    return browser.run("""return [...document.querySelectorAll('.jp-OutputArea iframe')].map((frame) => {
      const page = frame.contentDocument, root = page.documentElement;
      const scrolls = [...page.querySelectorAll('html, body, main, section, div')].filter((node) => ['auto', 'scroll'].includes(page.defaultView.getComputedStyle(node).overflowY) &&
          node.scrollHeight > node.clientHeight + 1).length;
      return {height: frame.clientHeight, needs: Math.ceil(page.body.getBoundingClientRect().height), wider: root.scrollWidth > root.clientWidth + 1,
              scrolls, drawn: page.querySelectorAll('#timeline rect').length, background: page.defaultView.getComputedStyle(page.body).backgroundColor};
    })""")


# Every text of the outputs against what is behind it: WCAG's contrast; 3 is what large text needs.
CONTRAST = """
const channels = (text) => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return {r, g, b, a}; };
const over = (top, below) => ({r: top.r * top.a + below.r * (1 - top.a), g: top.g * top.a + below.g * (1 - top.a),
                               b: top.b * top.a + below.b * (1 - top.a), a: 1});
const light = ({r, g, b}) => { const [x, y, z] = [r, g, b].map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
                               return 0.2126 * x + 0.7152 * y + 0.0722 * z; };
const behind = (node) => { const layers = []; for (; node; node = node.parentElement) layers.push(channels(getComputedStyle(node).backgroundColor));
                           return layers.reverse().reduce((below, top) => over(top, below), {r: 255, g: 255, b: 255, a: 1}); };
const faint = [];
for (const output of document.querySelectorAll('.jp-OutputArea-output')) {
  const walker = document.createTreeWalker(output, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement, text = walker.currentNode.textContent.trim();
    if (!text || !node.getClientRects().length || node.closest('style, script, title')) continue;
    const style = getComputedStyle(node), back = behind(node);
    const ink = over(channels(node instanceof SVGElement ? style.fill : style.color), back);
    const [a, b] = [light(ink), light(back)].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 3) faint.push(text.slice(0, 40));
  }
}
return faint;
"""


def look(browser, name, pictures):
    """The four forms of a notebook; its last picture in each."""
    for theme, called in THEMES.items():
        browser.run("jupyterapp.commands.execute('apputils:change-theme', {theme: arguments[0]})", called)
        browser.wait(f"document.body.dataset.jpThemeLight === '{str(theme == 'light').lower()}'", called)
        for width in WIDTHS:
            browser.command("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
            browser.run("const shown = [...document.querySelectorAll('.jp-OutputArea-output')].filter((node) => node.querySelector('img, svg, iframe, table'));"
                        "const last = shown[shown.length - 1] || document.querySelector('.jp-Cell:last-child'); last.scrollIntoView({block: 'center'})")
            time.sleep(0.7)  # frames are laid out
            browser.screenshot(os.path.join(FOLDER, f"{name}-{theme}-{width}.png"))
            pictures.append(name)
            for number, frame in enumerate(frames(browser), 1):
                where = f"{name}, trace {number}, {theme}, {width} wide"
                check(frame["drawn"] > 0, f"{where}: nothing is drawn")
                check(abs(frame["height"] - frame["needs"]) <= 40 and frame["height"] >= frame["needs"],
                      f"{where}: {frame['height']} pixels high, needs {frame['needs']}")
                check(not frame["scrolls"] and not frame["wider"], f"{where}: scrolls inside")
                dark = sum(int(x) for x in re.findall(r"\d+", frame["background"])[:3]) < 384
                check(dark == (theme == "dark"), f"{where}: its background is {frame['background']}")
        faint = browser.run(CONTRAST)
        check(not faint, f"{name}, {theme}: hard to read: {faint[:5]}")


def make_a_typo(browser, name):
    """A cell is mistyped, run, corrected and run again; later cells work as if it had been right at first."""
    wait_for_kernel(browser)
    find = f"{CELLS}.findIndex((cell) => cell.model.sharedModel.getSource().includes('Model model = strategy.scope'))"
    state = f"(() => {{ const cell = {CELLS}[{find}]; return cell.model.executionCount; }})()"
    run = (f"const all = {CELLS}, at = {find}, panel = jupyterapp.shell.currentWidget.content;"
           "panel.activeCellIndex = panel.widgets.indexOf(all[at]); panel.deselectAll(); jupyterapp.commands.execute('notebook:run-cell')")
    browser.run(f"{CELLS}.forEach((cell) => cell.model.clearExecution());"
                f"const all = {CELLS}, at = {find}, source = all[at].model.sharedModel; window.right = source.getSource();"
                "source.setSource(window.right.replace('Conv2D(', 'Conv2d('));"
                "const panel = jupyterapp.shell.currentWidget.content; panel.activeCellIndex = panel.widgets.indexOf(all[at]); panel.deselectAll();"
                "jupyterapp.commands.execute('notebook:run-all-above')")
    browser.wait(f"{CELLS}.slice(0, {find}).every((cell) => cell.model.executionCount > 0)", "the cells above")
    browser.run(run)
    browser.wait(f"{CELLS}[{find}].model.outputs.toJSON().some((output) => output.output_type === 'error')", "the error")
    browser.run(f"{CELLS}[{find}].node.scrollIntoView({{block: 'center'}})")
    time.sleep(0.5)
    browser.screenshot(os.path.join(FOLDER, f"{name}-typo.png"))
    before = browser.run("return " + state)
    browser.run(f"{CELLS}[{find}].model.sharedModel.setSource(window.right);" + run)
    browser.wait(f"{state} > {before or 0}", "the corrected cell")
    browser.wait(f"!{CELLS}[{find}].model.outputs.toJSON().some((output) => output.output_type === 'error')", "the corrected cell's output")
    browser.run("jupyterapp.commands.execute('notebook:run-all-below')")
    browser.wait(f"{CELLS}.every((cell) => cell.model.executionCount > 0)", "the rest")
    errors = browser.run(f"return {CELLS}.flatMap((cell) => cell.model.outputs.toJSON()).filter((output) => output.output_type === 'error').length")
    check(errors == 0, f"{name}: after a typo was corrected {errors} cells end in an error")
    epochs = browser.run(f"return {CELLS}.flatMap((cell) => cell.model.outputs.toJSON()).map((output) => [output.text || ''].flat().join('')).join('')"
                         ".split('Epoch 3/3').length - 1")
    check(epochs == 1, f"{name}: after a typo was corrected it trained {epochs} times")
    browser.screenshot(os.path.join(FOLDER, f"{name}-typo-corrected.png"))


def export(folder, name):
    """nbconvert's page: colours in the code, and a line of progress for each epoch as it ended."""
    subprocess.run([sys.executable, "-m", "jupyter", "nbconvert", "--to", "html", name + ".ipynb"], cwd=folder, check=True, capture_output=True)
    with open(os.path.join(folder, name + ".html"), encoding="utf8") as file:
        page = file.read()
    check(len(re.findall(r'<span class="(?:k|kt|n|nf|mi|s)">', page)) > 100, f"{name}.html: its code has no colours")
    text = html.unescape(re.sub(r"<[^>]*>", "", page))
    epochs = len(re.findall(r"^Epoch \d+/\d+$", text, re.MULTILINE))
    lines = len(re.findall(r"^ *\d+/\d+ ━", text, re.MULTILINE))
    check(epochs > 0 and epochs == lines and "─" not in text, f"{name}.html: {lines} lines of progress for {epochs} epochs")
    return f"{name}.html: {epochs} epochs, {lines} lines of progress"


try:
    import jupyterlab  # noqa: F401
except ImportError:
    print("Skipped: no JupyterLab in this Python (tests/notebooks/requirements.txt has it)")
    sys.exit(77)
if webdriver.missing():
    print("Skipped: no", ", ".join(webdriver.missing()))
    sys.exit(77)
os.makedirs(FOLDER, exist_ok=True)
# Notebooks generate their data here.
os.environ.pop("LOCKSTEP_DATA", None)
os.environ["LOCKSTEP_OFFLINE"] = "1"
taken = []
with tempfile.TemporaryDirectory() as place:
    with contextlib.closing(Lab(place)) as server, contextlib.closing(webdriver.Browser()) as window:
        window.command("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1)
        for notebook in NOTEBOOKS:
            begin = time.monotonic()
            open_notebook(window, server, notebook)
            if notebook in RUN:
                run_all(window, notebook)
            look(window, notebook, taken)
            if notebook == "00-start-here":
                make_a_typo(window, notebook)
            print(f"{notebook}: {time.monotonic() - begin:.0f} s", flush=True)
    if not RUN:
        print(export(place, "mnist"))
print(f"{len(taken)} pictures of {len(NOTEBOOKS)} notebooks in {os.path.relpath(FOLDER)}")
for problem in problems:
    print("FAILED", problem)
sys.exit(1 if problems else 0)
