"""A real Chromium, driven over the WebDriver protocol: JSON over HTTP, for which the standard library is enough."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
import uuid
from pathlib import Path
from typing import Any

from tests import components

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage", "--hide-scrollbars"),
    # Whatever the page asks for must fail, not be answered.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)
PACKAGES = ("chromium", "chromium-driver")
KEYS = {"enter": "\ue007", "escape": "\ue00c", "tab": "\ue004"}
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
_LONGEST = 50
"""Characters of the path of its folder: Chromium adds 57, and the name of a socket has at most 107."""
_PATIENCE = 120.0  # seconds; on a busy machine everything takes a while, and what is there is seen at once


def missing() -> str:
    """Why there is no browser, after having tried to install Debian's; empty if there is one."""
    return components.missing("browser", _found, PACKAGES)


def _found() -> bool:
    return bool(shutil.which("chromium") and shutil.which("chromedriver"))


class Browser:
    """One window. Use as a context; what a page said and asked for is in `console()` and `requests()`."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="b-")
        if len(self._folder) > _LONGEST:
            raise RuntimeError(f"Chromium cannot make its socket below {self._folder}: set TMPDIR to a shorter path")
        self._address = ""
        # The browser keeps what it keeps in a folder of its own: whoever runs the tests may have no home.
        places = dict.fromkeys(("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"), self._folder)
        self._driver = subprocess.Popen(
            [str(shutil.which("chromedriver")), "--port=0"], env={**os.environ, **places},
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        try:
            self._address = f"http://127.0.0.1:{self._port()}"
            options = {
                "binary": shutil.which("chromium"),
                "args": [*FLAGS, f"--user-data-dir={self._folder}/profile"],
            }
            wanted = {
                "goog:chromeOptions": options,
                "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
                "timeouts": {"script": 180_000, "pageLoad": 240_000},
            }
            made = self._send("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
            self._address += f"/session/{made['sessionId']}"
            self._frame = self._command("Page.getFrameTree", {})["frameTree"]["frame"]["id"]
        except BaseException:
            self.close()
            raise
        components.used(f"Chromium {made['capabilities']['browserVersion']}")

    def _port(self) -> int:
        """The port that the driver chose: it says so in its first lines."""
        assert self._driver.stdout is not None
        for line in self._driver.stdout:
            if found := re.search(r"started successfully on port (\d+)", line):
                return int(found[1])
        raise RuntimeError("chromedriver did not start")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        try:
            if "/session/" in self._address:
                self._send("DELETE", "")
        finally:
            self._driver.terminate()
            self._driver.communicate(timeout=_PATIENCE)
            shutil.rmtree(self._folder, ignore_errors=True)

    def _send(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = json.dumps(body or {}).encode() if method == "POST" else None
        request = urllib.request.Request(
            self._address + path, data, {"Content-Type": "application/json"}, method=method
        )
        # No proxy of the machine may stand between the test and its own driver.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=300) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def open(self, page: Path) -> None:
        """Open a page of a file; see `visit`."""
        self.visit(page.resolve().as_uri())

    def visit(self, address: str) -> None:
        """Open a page, forget what others said and asked for, and wait until it is drawn.

        The window may still show another page, or a new tab's, which asks for its own things: it is left first.
        """
        self._send("POST", "/url", {"url": "about:blank"})
        self.console()
        self.requests()
        self._send("POST", "/url", {"url": address})
        self.wait("document.readyState === 'complete'")
        # Keys and clicks that come before the first picture are dropped.
        self.run("return new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn(true))))")

    @property
    def address(self) -> str:
        """The address of the page."""
        return str(self._send("GET", "/url"))

    def tab(self) -> str:
        """Open another tab and go there; its name."""
        before = str(self._send("GET", "/window"))
        self.switch(str(self._send("POST", "/window/new", {"type": "tab"})["handle"]))
        return before

    def switch(self, tab: str) -> None:
        """Go to a tab."""
        self._send("POST", "/window", {"handle": tab})

    def close_tab(self, back: str) -> None:
        """Close this tab and go to another."""
        self._send("DELETE", "/window")
        self.switch(back)

    def run(self, script: str, *arguments: Any) -> Any:
        return self._send("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def text(self, selector: str) -> str:
        return str(self.run("return document.querySelector(arguments[0]).innerText", selector))

    def count(self, selector: str) -> int:
        return int(self.run("return document.querySelectorAll(arguments[0]).length", selector))

    def _element(self, selector: str) -> str:
        found = self._send("POST", "/element", {"using": "css selector", "value": selector})
        return str(found[_ELEMENT])

    def click(self, selector: str) -> None:
        into_view = "document.querySelector(arguments[0]).scrollIntoView({block: 'center', behavior: 'instant'})"
        self.run(into_view, selector)
        self._send("POST", f"/element/{self._element(selector)}/click")

    def type(self, selector: str, words: str) -> None:
        self._send("POST", f"/element/{self._element(selector)}/value", {"text": words})

    def press(self, *keys: str) -> None:
        """Press keys as a person would, wherever the focus is."""
        actions = []
        for key in keys:
            value = KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self._send("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def wait(self, condition: str, *arguments: Any) -> None:
        """Wait until a JavaScript expression is true."""
        end = time.monotonic() + _PATIENCE
        while not self.run(f"return Boolean({condition})", *arguments):
            if time.monotonic() > end:
                raise TimeoutError(condition)
            time.sleep(0.05)

    def wait_for_text(self, selector: str, words: str) -> None:
        """Wait until an element shows a text that holds these words."""
        self.wait("document.querySelector(arguments[0])?.innerText.includes(arguments[1])", selector, words)

    def media(self, name: str) -> None:
        """Show the page as on paper ("print") or on a screen ("screen")."""
        self._command("Emulation.setEmulatedMedia", {"media": name if name == "print" else ""})

    def size(self, width: int, height: int, dark: bool = False) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._command("Emulation.setDeviceMetricsOverride", metrics)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self._command("Emulation.setEmulatedMedia", {"features": scheme})

    def _command(self, name: str, parameters: dict[str, Any]) -> Any:
        return self._send("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self._send("GET", "/screenshot")))

    def printed(self) -> bytes:
        return base64.b64decode(self._send("POST", "/print", {"background": True}))

    def console(self) -> list[str]:
        """Everything that went wrong on the page since the last call: errors, and what the policy refused."""
        # A last word of our own: when it has come, all that was said before it has come too.
        last, said = uuid.uuid4().hex, list[str]()
        self.run("console.info(arguments[0])", last)
        end = time.monotonic() + _PATIENCE
        while not said or last not in said[-1]:
            if time.monotonic() > end:
                raise TimeoutError("the console")
            said += [one["message"] for one in self._send("POST", "/se/log", {"type": "browser"})]
        return said[:-1]

    def requests(self) -> list[str]:
        """The addresses that the page in this window asked for since the last call; other tabs are not its doing."""
        said = self._send("POST", "/se/log", {"type": "performance"})
        events = [json.loads(one["message"]) for one in said]
        return [
            one["message"]["params"]["request"]["url"] for one in events
            if one["webview"] == self._frame and one["message"]["method"] == "Network.requestWillBeSent"
        ]  # fmt: skip
