"""axe-core, the checker of accessibility: fetched by npm for the tests, and run in the page that a browser shows."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests import components
from tests.report.browser import Browser

PACKAGE, VERSION = "axe-core", "4.14.0"
_FILE = "package/axe.min.js"
SERIOUS = ("serious", "critical")


@cache
def source() -> str:
    """The script; the test is skipped where it cannot be had."""
    npm = shutil.which("npm")
    if npm is None:
        components.skip_without(f"there is no {PACKAGE}: it is fetched by npm, which was not found")
    with TemporaryDirectory() as folder:
        command = [str(npm), "pack", f"{PACKAGE}@{VERSION}", "--silent", "--cache", f"{folder}/cache"]
        try:
            subprocess.run(command, cwd=folder, capture_output=True, timeout=120, check=True)
        except (subprocess.SubprocessError, OSError) as error:
            components.skip_without(f"there is no {PACKAGE}: npm cannot fetch it ({type(error).__name__})")
        [archive] = Path(folder).glob("*.tgz")
        with tarfile.open(archive) as packed:
            script = packed.extractfile(_FILE)
            assert script is not None
            text = script.read().decode("utf-8")
    components.used(f"{PACKAGE} {VERSION}")
    return text


def violations(browser: Browser) -> list[dict[str, Any]]:
    """What is wrong with the page, if it is serious: the rule, and where."""
    browser.run(source() + "\nwindow.axe = axe;")
    found = browser.run("return axe.run(document, {resultTypes: ['violations']}).then((all) => all.violations)")
    return [
        {"rule": one["id"], "where": [node["html"][:200] for node in one["nodes"]], "what": one["help"]}
        for one in found
        if one["impact"] in SERIOUS
    ]
