"""Take the pictures of the review page for the documentation: ``python -m tests.web.review.picture``."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import twinset
from tests.report.browser import Browser, missing
from tests.web.review.reviewing import Review

ROOT = Path(__file__).resolve().parents[3]
PICTURES = ROOT / "docs" / "pictures"
SAMPLE = ROOT / "src" / "twinset" / "cli" / "sample" / "articles.jsonl"
LIBRARY = (
    "The harbour was built in 1702, when the old river mouth silted up. Stone came from the quarries in the north, "
    "carried on flat barges in the summer months, and for nine years three hundred men worked on the long wall that "
    "still breaks the waves today. In the winter the men mended nets, and the wall stood alone against the sea."
)
ESSAYS = {
    "anna": "My town lives from the sea. Stone came from the quarries in the north, carried on flat barges in "
    "the summer months, and for nine years three hundred men worked on the long wall. I walk there every Sunday. "
    "In the winter the men mended nets, and the wall stood alone against the sea.",
    "library": LIBRARY,
}


def judge(review: Review, name: str, item: int, pair: int, verdict: str, who: str, **more: Any) -> None:
    fields = {"list": name, "item": item, "pair": pair, "seen": 10**9, "verdict": verdict, **more}
    answer = review.ask("/verdicts", fields, who=who)
    if answer.status != 303:
        raise SystemExit(answer.text)


def take(browser: Browser, review: Review, path: str, name: str, height: int, dark: bool = False) -> None:
    browser.size(1200, height, dark)
    browser.visit(review.url(path))
    browser.wait("[...document.images].every((one) => one.complete)")
    browser.picture(PICTURES / f"{name}.png")


def label(review: Review) -> None:
    """Label a sample: of the less similar pairs, some are no duplicates."""
    review.ask("/sample", {"pairs": 60, "seed": 1})
    for page in (1, 2):
        listed = review.ask(f"/pairs?sample=1&page={page}").text.partition("</ol>")[0]
        for line in listed.split('<li id="row-')[1:]:
            item = int(line.partition('"')[0])
            shown = review.ask(f"/pairs/{item}", part="detail").text
            score = float(re.findall(r"similarity (0\.\d+)", shown)[0])
            judge(review, "pairs", item, item, "duplicate" if score > 0.62 + item % 5 / 50 else "different", "Ann")


def main() -> None:
    """Review the bundled sample and two essays, and look."""
    why = missing()
    if why:
        raise SystemExit(why)
    with tempfile.TemporaryDirectory() as scratch, Browser() as browser:
        folder = Path(scratch)
        twinset.dedup(SAMPLE, output=folder / "articles", threshold=0.7, floor=0.5)
        with Review(folder / "articles", who="Ann") as review:
            for item, verdict in ((0, "duplicate"), (0, "duplicate"), (3, "different"), (4, "unsure")):
                pair = int(re.findall(r'name="pair" value="(\d+)"', review.ask(f"/clusters/{item}").text)[0])
                judge(review, "clusters", item, pair, verdict, "Ben", note="only the time of day")
            take(browser, review, "/clusters/1?pair=5", "review", 860)
        with Review(folder / "articles", who="Ann", verdicts=str(folder / "conflicting")) as review:
            rows = twinset.open_result(folder / "articles").pairs.to_pylist()
            chain = triangle(rows)
            said = ("duplicate", "Ann"), ("duplicate", "Ben"), ("different", "Ann")
            for pair, (verdict, who) in zip(chain, said, strict=True):
                judge(review, "pairs", pair, pair, verdict, who)
            take(browser, review, "/conflicts", "review-conflict", 460)
        stories = str(ROOT / "examples" / "stories.py")
        subprocess.run([sys.executable, stories, scratch], check=True, capture_output=True)
        twinset.dedup(folder / "stories.jsonl", output=folder / "stories", threshold=0.6, floor=0.4)
        with Review(folder / "stories", who="Ann") as review:
            label(review)
            take(browser, review, "/sample?precision=0.8", "review-sample", 880)
        source = folder / "essays.jsonl"
        source.write_text("".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in ESSAYS.items()), "utf-8")
        twinset.find_passages(source, output=folder / "essays", least=10)
        with Review(folder / "essays", who="Ann") as review:
            take(browser, review, "/passages/0", "review-passages", 620, dark=True)


def triangle(rows: list[dict[str, Any]]) -> tuple[int, int, int]:
    """Three pairs of three different contents."""
    places = {(row["left"], row["right"]): place for place, row in enumerate(rows) if row["similarity"] < 1}
    for (a, b), first in places.items():
        for (c, d), second in places.items():
            if b == c and (a, d) in places:
                return first, second, places[a, d]
    raise SystemExit("the sample has no three documents that are all similar")


if __name__ == "__main__":
    main()
