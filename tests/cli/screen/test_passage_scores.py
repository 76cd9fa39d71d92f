"""The measures of passages on a screen."""

from __future__ import annotations

from typing import Any

import pytest

from tests.evaluation.test_passage_result import CASES, FOUND, Row, compared
from twinset.cli.screen.passage_scores import print_scores

TRUTH: dict[str, Any] = dict.fromkeys(("unknown_ids", "rows_left_out", "repeated", "with_itself"), 0) | {
    "unknown": [],
    "similar": {},
}


@pytest.fixture(autouse=True)
def window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def printed(
    capsys: pytest.CaptureFixture[str], cases: list[Row], found: list[Row], definitions: bool = False, **truth: Any
) -> list[str]:
    print_scores({**compared(cases, found).summary, "truth": {**TRUTH, **truth}}, definitions)
    return capsys.readouterr().out.splitlines()


def test_measures_and_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, CASES, FOUND) == [
        "  plagdet           0.5000",
        "  precision         0.5000",
        "  recall            0.5000",
        "  granularity       1.0000",
        "  cases             2",
        "  detected cases    1",
        "  detections        2",
        "  false detections  1",
        "elsewhere: 2 passages in 1 document pair that the truth does not name, not",
        "counted",
        "--definitions explains each measure",
    ]


def test_what_is_not_defined_is_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, CASES, [])
    assert [line.split()[-1] for line in lines[:4]] == ["0.0000", "-", "0.0000", "-"]
    assert lines[-1] == "--definitions explains each measure and what - means"
    assert not [line for line in lines if line.startswith("elsewhere")]


@pytest.mark.parametrize("width", [30, 45, 110])
def test_it_fits_the_window(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = printed(
        capsys, CASES, FOUND, definitions=True, unknown_ids=6, unknown=list("uvwxyz"), similar={"u": "a"},
        rows_left_out=7, repeated=1, with_itself=2, within_one_side=3,
    )  # fmt: skip
    assert max(map(len, lines)) <= min(width, 100)
    told = " ".join(" ".join(lines).split())
    assert "truth: 6 unknown ids (u, did you mean a?, v, w, x, y, …); 7 rows skipped" in told
    assert "truth: 1 repeated passage, counted once truth: 3 passages within one side, skipped" in told
    assert "truth: 2 passages within a document, skipped (see --within)" in told
    for heading in ("plagdet", "precision", "recall", "granularity", "detected cases", "elsewhere"):
        assert any(line.startswith(f"{heading}: ") for line in lines), heading
    assert "log2(1 + granularity). 0 where no case was detected. - where there is neither" in told
