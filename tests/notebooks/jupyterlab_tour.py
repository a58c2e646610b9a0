#!/usr/bin/env python3
"""The tour as people see it: JupyterLab in a real browser runs a notebook from top to bottom, and pictures are taken.

jupyterlab_tour.py FOLDER [NOTEBOOK ...]    screenshots go to FOLDER. Run by tests/notebooks/run.sh, with JupyterLab in its Python; 77: not here.
"""
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
NOTEBOOKS = sys.argv[2:] or ["00-start-here", "06-barrier"]
SOURCES = os.path.abspath(os.path.join(HERE, "..", "..", "notebooks"))
problems = []


class Lab:
    """A server of its own, with copies of the notebooks."""

    def __init__(self, folder):
        self.token = secrets.token_hex(16)
        for name in NOTEBOOKS:
            shutil.copy(os.path.join(SOURCES, name + ".ipynb"), folder)
        settings = os.path.join(folder, "settings", "@jupyterlab", "apputils-extension")
        os.makedirs(settings)
        with open(os.path.join(settings, "notification.jupyterlab-settings"), "w", encoding="ascii") as file:
            file.write('{"fetchNews": "false", "checkForUpdates": false}')
        words = [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0", "--expose-app-in-browser",
                 f"--notebook-dir={folder}", f"--IdentityProvider.token={self.token}", f"--LabApp.user_settings_dir={os.path.join(folder, 'settings')}"]
        self.process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=folder)
        self.address = None
        for line in self.process.stderr:
            found = re.search(r"http://127\.0\.0\.1:(\d+)/lab", line)
            if found:
                self.address = f"http://127.0.0.1:{found.group(1)}"
                break
        if self.address is None:
            raise RuntimeError("JupyterLab did not start")

    def close(self):
        self.process.terminate()
        self.process.wait()


def tour(browser, lab, name):
    browser.call("POST", "/url", {"url": f"{lab.address}/lab/tree/{name}.ipynb?token={lab.token}&reset"})
    browser.wait("window.jupyterapp && document.querySelectorAll('.jp-Notebook .jp-Cell').length > 2", "the notebook")
    browser.wait("(() => { const panel = jupyterapp.shell.currentWidget; return panel && panel.sessionContext && panel.sessionContext.session && "
                 "panel.sessionContext.session.kernel && panel.sessionContext.session.kernel.status === 'idle'; })()", "the kernel")
    browser.run("jupyterapp.commands.execute('application:set-mode', {mode: 'single-document'}); jupyterapp.commands.execute('notebook:run-all-cells')")
    cells = "jupyterapp.shell.currentWidget.content.widgets.filter((cell) => cell.model.type === 'code')"
    browser.wait(f"{cells}.every((cell) => cell.model.executionCount > 0)", "every cell")
    time.sleep(2)  # frames and pictures are laid out
    errors = browser.run(f"return {cells}.flatMap((cell) => cell.model.outputs.toJSON()).filter((output) => output.output_type === 'error').length")
    if errors:
        problems.append(f"{name}: {errors} cells ended in an error")
    count = browser.run(f"return {cells}.length")
    browser.run("jupyterapp.shell.currentWidget.content.node.querySelector('.jp-WindowedPanel-outer').scrollTop = 0")
    browser.command("Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1, mobile=False)
    for part in range(6):
        time.sleep(0.7)
        browser.screenshot(os.path.join(FOLDER, f"{name}-{part}.png"))
        at_end = browser.run("const pane = jupyterapp.shell.currentWidget.content.node.querySelector('.jp-WindowedPanel-outer');"
                             "pane.scrollTop += 640; return pane.scrollTop + pane.clientHeight >= pane.scrollHeight - 1")
        if at_end:
            time.sleep(0.7)
            browser.screenshot(os.path.join(FOLDER, f"{name}-{part + 1}.png"))
            break
    print(f"{name}: {count} cells, {errors} errors")


try:
    import jupyterlab  # noqa: F401
except ImportError:
    print("skipped: no JupyterLab in this Python")
    sys.exit(77)
if webdriver.missing():
    print("skipped: no", ", ".join(webdriver.missing()))
    sys.exit(77)
os.makedirs(FOLDER, exist_ok=True)
with tempfile.TemporaryDirectory() as place:
    server = Lab(place)
    window = webdriver.Browser()
    try:
        window.command("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1)
        for notebook in NOTEBOOKS:
            tour(window, server, notebook)
    finally:
        window.close()
        server.close()
for problem in problems:
    print("FAILED", problem)
sys.exit(1 if problems else 0)
