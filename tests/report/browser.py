"""A real Chromium, driven over the WebDriver protocol: JSON over HTTP, for which the standard library is enough."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
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


def missing() -> str:
    """Why there is no browser, after having tried to install Debian's; empty if there is one."""
    return components.missing("browser", _found, PACKAGES)


def _found() -> bool:
    return bool(shutil.which("chromium") and shutil.which("chromedriver"))


class Browser:
    """One window. Use as a context; all that it said and asked for is in `console()` and `requests()`."""

    def __init__(self) -> None:
        self._profile = tempfile.mkdtemp(prefix="twinset-browser-")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        driver = [str(shutil.which("chromedriver")), f"--port={port}"]
        self._driver = subprocess.Popen(driver, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._address = f"http://127.0.0.1:{port}"
        try:
            self._wait_until_ready()
            options = {
                "binary": shutil.which("chromium"),
                "args": [*FLAGS, f"--user-data-dir={self._profile}"],
            }
            wanted = {
                "goog:chromeOptions": options,
                "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
                "timeouts": {"script": 60_000, "pageLoad": 120_000},
            }
            made = self._send("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        except BaseException:
            self.close()
            raise
        self._address += f"/session/{made['sessionId']}"

    def _wait_until_ready(self) -> None:
        for _ in range(300):
            try:
                if self._send("GET", "/status")["ready"]:
                    return
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        raise TimeoutError("chromedriver did not answer")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if "/session/" in self._address:
            self._send("DELETE", "")
        self._driver.terminate()
        self._driver.wait(30)
        shutil.rmtree(self._profile, ignore_errors=True)

    def _send(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = json.dumps(body or {}).encode() if method == "POST" else None
        request = urllib.request.Request(
            self._address + path, data, {"Content-Type": "application/json"}, method=method
        )
        # No proxy of the machine may stand between the test and its own driver.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=180) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def open(self, page: Path) -> None:
        self._send("POST", "/url", {"url": page.resolve().as_uri()})

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
        for _ in range(200):
            if self.run(f"return Boolean({condition})", *arguments):
                return
            time.sleep(0.05)
        raise TimeoutError(condition)

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
        return [one["message"] for one in self._send("POST", "/se/log", {"type": "browser"})]

    def requests(self) -> list[str]:
        """The addresses that were asked for since the last call."""
        said = self._send("POST", "/se/log", {"type": "performance"})
        events = [json.loads(one["message"])["message"] for one in said]
        return [one["params"]["request"]["url"] for one in events if one["method"] == "Network.requestWillBeSent"]
