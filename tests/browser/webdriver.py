"""A real browser, driven by chromedriver over HTTP; nothing but Python's own library."""
import base64
import json
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # what WebDriver calls an element


def missing():
    """What is not installed here, or nothing."""
    return [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]


class Browser:
    """One window of 1280 x 800."""

    def __init__(self):
        for _ in range(5):  # the free port it takes may be another program's by the time it also listens on IPv6: then it ends
            said = self.start_driver()
            if self.base is not None:
                break
        else:
            raise RuntimeError("chromedriver did not start; it printed: " + said)
        arguments = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars",
                     "--force-device-scale-factor=1", "--window-size=1280,800"]
        wanted = {"goog:loggingPrefs": {"browser": "ALL"}, "goog:chromeOptions": {"args": arguments}}
        self.session = ""
        self.session = "/session/" + self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        self.command("Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1, mobile=False)
        self.command("Network.enable")
        self.command("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)

    def start_driver(self):
        """Port 0: the driver takes a free one and prints which. Returns what it printed."""
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.base, said = None, ""
        for line in self.driver.stdout:
            said += line
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                self.base = f"http://127.0.0.1:{found.group(1)}"
                return said
        self.driver.wait()
        return said

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + self.session + path, data=data, method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=180) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path}: {json.load(error)['value']['message']}") from error

    def command(self, name, **parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def open(self, path):
        self.call("POST", "/url", {"url": "file://" + path})

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def click(self, selector):
        element = self.call("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]
        self.call("POST", f"/element/{element}/click", {})

    def keys(self, text):
        element = self.call("POST", "/element", {"using": "css selector", "value": "body"})[ELEMENT]
        self.call("POST", f"/element/{element}/value", {"text": text})

    def wait(self, script, what):
        """Until a script returns true. The limit is long: it only ends a hang."""
        for _ in range(600):
            if self.run("return " + script):
                return
            time.sleep(0.1)
        raise RuntimeError("timed out while waiting for: " + what)

    def dark(self, yes):
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if yes else "light"}])

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("GET", "/screenshot")))

    def complaints(self):
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})]

    def close(self):
        try:
            self.call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
