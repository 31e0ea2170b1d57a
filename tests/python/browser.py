"""Chromium without a window, told what to do over a pipe (the DevTools protocol)."""

import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
                None)


class Browser:
    """A running browser; a context manager."""

    def __init__(self):
        self._folder = tempfile.mkdtemp(prefix="dequant-browser-")
        commands, self._to = os.pipe()
        self._from, answers = os.pipe()

        def place():  # where Chromium looks for them
            os.dup2(commands, 100)
            os.dup2(answers, 101)
            os.dup2(100, 3)
            os.dup2(101, 4)
        self._process = subprocess.Popen(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-extensions", "--disable-background-networking",
             f"--user-data-dir={self._folder}/profile", "--remote-debugging-pipe", "about:blank"],
            env={**os.environ, "TMPDIR": self._folder}, preexec_fn=place, close_fds=False,
            start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        self._numbers, self._pending = itertools.count(1), b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._to)
        os.close(self._from)
        # Some of its processes have a group of their own, and write until they notice that it is
        # gone.
        for _ in range(100):
            shutil.rmtree(self._folder, ignore_errors=True)
            if not os.path.exists(self._folder):
                return
            time.sleep(0.1)
        raise RuntimeError(f"{self._folder} cannot be removed")

    def receive(self):
        """The next message, an answer or an event."""
        while b"\0" not in self._pending:
            part = os.read(self._from, 1 << 20)
            if not part:
                raise RuntimeError("Chromium went away")
            self._pending += part
        line, self._pending = self._pending.split(b"\0", 1)
        return json.loads(line)

    def send(self, method, parameters, session=None):
        """Calls a method of the protocol; the number of its answer."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        return number


class Page:
    """One page in a browser, with cookies and storage of its own; a context manager. One at a time
    may be open in a browser."""

    def __init__(self, browser, path, width=1400, height=1000, scheme="light", script=True):
        self._browser, self._session, self._script = browser, None, script
        self.messages = []  # what the page's console and its security policy said
        self._context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank",
                           browserContextId=self._context)["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.call("Page.navigate", url=f"file://{path}")
        while self._receive().get("method") != "Page.loadEventFired":
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._session = None
        self.call("Target.disposeBrowserContext", browserContextId=self._context)

    def _receive(self):
        message = self._browser.receive()
        if message.get("sessionId") == self._session and message.get("method") in (
                "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.messages.append(message["params"])
        return message

    def call(self, method, **parameters):
        """What a method of the protocol returns."""
        number = self._browser.send(method, parameters, self._session)
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]

    def value(self, expression):
        """The value of a JavaScript expression in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def click(self, selector):
        """Clicks the middle of an element, as a mouse does, and waits for what scripts do then:
        some events, as that of <details>, come later."""
        x, y = self.value(f"""(() => {{
            const e = document.querySelector({json.dumps(selector)});
            e.scrollIntoView({{block: 'center', inline: 'center'}});
            const box = e.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2]; }})()""")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        if self._script:
            self.call("Runtime.evaluate", awaitPromise=True, expression="new Promise(done => "
                      "requestAnimationFrame(() => setTimeout(done)))")

    def press_enter(self):
        for kind, text in (("keyDown", "\r"), ("keyUp", "")):
            self.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", text=text,
                      windowsVirtualKeyCode=13)
