"""``twinset report --card``: the card on the screen or in a file."""

from __future__ import annotations

import json
from pathlib import Path

import twinset
from tests.cli.conftest import Run

ROSE = "a rose is a rose is a rose in any garden of the town"


def test_a_card_is_printed_or_written(tmp_path: Path, run: Run) -> None:
    done = twinset.dedup([ROSE, ROSE + " hall"], shingle="word:3", output=tmp_path / "out")
    assert run("report", "out", "--card").stdout == done.card()
    written = run("report", "out", "--card", "-o", "card.md")
    assert written.stdout.startswith("card: card.md (")
    assert (tmp_path / "card.md").read_text("utf-8") == done.card()
    assert json.loads(run("report", "out", "--card", "-o", "c.md", "--json").stdout)["card"] == "c.md"
    assert run("report", "out", "-o", "page.html").returncode == 0


def test_what_is_missing_or_has_no_meaning_is_an_error(tmp_path: Path, run: Run) -> None:
    twinset.dedup([ROSE], output=tmp_path / "out")
    for words, message in (
        ((), "missing -o: name a file for the report"),
        (("--card", "--json"), "missing -o"),
        (("--card", "--no-texts"), "--no-texts does not apply to --card"),
        (("--card", "-o", "card.html"), "the card is 'card.html'; allowed: a name that ends in .md"),
    ):
        failed = run("report", "out", *words)
        assert failed.returncode == 2
        assert message in failed.stderr
