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


class Page:
    """One page of a browser of its own; a context manager. Times are in seconds."""

    def __init__(self, path, width=1400, height=1000, scheme="light", script=True):
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
        self._numbers, self._pending, self._session = itertools.count(1), b"", None
        self.messages = []  # what the page's console and its security policy said
        try:
            self._open(path, width, height, scheme, script)
        except BaseException:
            self.__exit__()
            raise

    def _open(self, path, width, height, scheme, script):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
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
        self._wait("Page.loadEventFired")

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

    def _receive(self):
        while b"\0" not in self._pending:
            part = os.read(self._from, 1 << 20)
            if not part:
                raise RuntimeError("Chromium went away")
            self._pending += part
        line, self._pending = self._pending.split(b"\0", 1)
        message = json.loads(line)
        if message.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown",
                                     "Log.entryAdded"):
            self.messages.append(message["params"])
        return message

    def _wait(self, event):
        while self._receive().get("method") != event:
            pass

    def call(self, method, **parameters):
        """What a method of the protocol returns."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
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
        """Clicks the middle of an element, as a mouse does."""
        x, y = self.value(f"""(() => {{
            const e = document.querySelector({json.dumps(selector)});
            e.scrollIntoView({{block: 'center', inline: 'center'}});
            const box = e.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2]; }})()""")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press_enter(self):
        for kind, text in (("keyDown", "\r"), ("keyUp", "")):
            self.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", text=text,
                      windowsVirtualKeyCode=13)
