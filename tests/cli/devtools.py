"""A page in headless Chromium, driven over its debugging pipe: for pages that never come to rest."""
import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

import browser

FLAGS = [flag for flag in browser.FLAGS if "virtual-time" not in flag]


class Page:
    """One tab. Use with 'with'."""

    def __init__(self, width=1200, height=900):
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        assert program, "Chromium is missing (package chromium)"
        self.profile = tempfile.mkdtemp(prefix="mousse-browser-")
        to_read, self.to_write = os.pipe()
        self.to_listen, from_browser = os.pipe()
        os.set_inheritable(to_read, True)
        os.set_inheritable(from_browser, True)
        command = [program, *FLAGS, "--remote-debugging-pipe", f"--user-data-dir={self.profile}", "about:blank"]
        # The browser speaks over its descriptors 3 and 4.
        shell = f'exec 3<&{to_read} 4>&{from_browser}; exec "$@"'
        self.process = subprocess.Popen(["bash", "-c", shell, "browser", *command], close_fds=False,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_browser)
        self.number, self.session, self.text, self.console = 0, None, b"", []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Runtime.enable")
        self.call("Log.enable")
        self.size(width, height)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.session = None
        try:
            self.call("Browser.close")
            self.process.wait(20)
        except (AssertionError, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.to_write)
        os.close(self.to_listen)
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self, until):
        while b"\0" not in self.text:
            ready, _, _ = select.select([self.to_listen], [], [], max(0, until - time.monotonic()))
            assert ready, "the browser does not answer"
            part = os.read(self.to_listen, 1 << 20)
            assert part, "the browser has ended"
            self.text += part
        message, self.text = self.text.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_write, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + 120
        while True:
            answer = self.receive(until)
            if answer.get("method") == "Runtime.exceptionThrown" or (
                    answer.get("method") == "Log.entryAdded" and answer["params"]["entry"]["level"] == "error"):
                self.console.append(json.dumps(answer["params"]))
            if answer.get("id") == self.number:
                assert "error" not in answer, f"{method}: {answer.get('error')}"
                return answer["result"]

    def size(self, width, height, phone=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def dark(self, on=True):
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if on else "light"}])

    def go(self, address):
        self.call("Page.navigate", url=address)

    def ask(self, expression):
        """The value of a JavaScript expression, waited for where it is a promise."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, expression, seconds=60):
        """Asks until the answer is true; returns it."""
        until = time.monotonic() + seconds
        while True:
            value = self.ask(f"document.body && ({expression})")
            if value:
                return value
            assert time.monotonic() < until, f"never true: {expression}; errors: {self.errors()}"
            time.sleep(0.1)

    def press(self, key, code=0):
        for kind in ("rawKeyDown", "char", "keyUp"):
            extra = {"text": "\r"} if key == "Enter" else {"text": " "} if key == " " else {}
            if kind != "char" or extra:
                self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **extra)

    def errors(self):
        return [self.ask("document.body && document.body.dataset.errors"), self.console]

    def picture(self, path, whole=False):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))
