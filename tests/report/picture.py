"""Take the pictures of the report for the README: ``python -m tests.report.picture``."""

from __future__ import annotations

import tempfile
from pathlib import Path

import twinset
from tests.report.browser import Browser, missing

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "src" / "twinset" / "cli" / "sample" / "articles.jsonl"


def main() -> None:
    """Report on the bundled sample, and look at it: the top in light, a difference in dark."""
    why = missing()
    if why:
        raise SystemExit(why)
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        out = Path(folder) / "articles"
        twinset.dedup(SAMPLE, output=out, threshold=0.7)
        page = twinset.open_result(out).report(Path(folder) / "report.html")
        browser.size(1120, 1210)
        browser.open(page)
        browser.picture(ROOT / "docs" / "report.png")
        browser.size(1120, 900, dark=True)
        browser.open(page)
        browser.click("#clusters-rows > details:nth-child(1) > summary")
        browser.wait("document.querySelector('#clusters-rows .pair')")
        browser.run("document.querySelector('#clusters-list').scrollIntoView({behavior: 'instant', block: 'start'})")
        browser.run("document.activeElement.blur()")
        browser.picture(ROOT / "docs" / "report-difference.png")


if __name__ == "__main__":
    main()
