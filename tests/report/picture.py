"""Take the pictures of the pages for README and docs: ``python -m tests.report.picture``."""

from __future__ import annotations

import tempfile
from pathlib import Path

import twinset
from tests.report.browser import Browser, missing
from twinset.jobs.report import write_textbook

ROOT = Path(__file__).resolve().parents[2]
MOVE = """for (const [id, value] of Object.entries(arguments[0])) {
  const slider = document.getElementById(id);
  slider.value = value;
  slider.dispatchEvent(new Event("input"));
}"""
SAMPLE = ROOT / "src" / "twinset" / "cli" / "sample" / "articles.jsonl"


def main() -> None:
    """Look at the report of the sample, its top in light and a difference in dark, and at the textbook's page."""
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
        page = write_textbook([str(SAMPLE)], Path(folder) / "bands.html", name="the bundled sample")
        browser.size(1120, 1080)
        browser.open(page)
        browser.run(MOVE, {"bands": 9, "rows": 9, "threshold": 70})
        browser.wait("document.getElementById('said').innerText.startsWith('9 bands')")
        browser.picture(ROOT / "docs" / "textbook.png")


if __name__ == "__main__":
    main()
