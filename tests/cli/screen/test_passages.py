"""Shared passages on a screen: places and words, whatever the width and whatever the texts."""

from __future__ import annotations

import pytest

from tests.report.passages import Shared
from twinset.cli.screen.passages import ENDS, print_passages

ONE = "the harbour wall 🚢 was raised by a full metre"
TWO = " ".join(f"word{number}" for number in range(3 * ENDS))
TEXTS = {
    "a": f"Nobody knows when, but {ONE} \x1b]0;owned\x07 after \u202ethe flood. {TWO}",
    "b": f"{TWO}; so {ONE}, they say.",
}


def printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int, context: int | None = 3
) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    shared = Shared(TEXTS, [("a", "b", TWO, 2), ("a", "b", ONE, 4)])
    print_passages(shared.passages, (TEXTS["a"], TEXTS["b"]), ("a", "b"), context)
    return capsys.readouterr().out.splitlines()


def test_places_and_words(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [line.rstrip() for line in printed(capsys, monkeypatch, 220)]
    assert lines[0] == "2 shared passages"
    left, right = (TEXTS[id].index(ONE) for id in "ab")
    shown = [[part.strip() for part in line.split("│")] for line in lines]
    assert ["1  10 words, in 4 documents"] in shown
    assert [f"characters {left} to {left + len(ONE)}", f"characters {right} to {right + len(ONE)}"] in shown
    assert [
        f"… knows when, but [={ONE}=] ·]0;owned· after ·the …",
        f"… word73 word74; so [={ONE}=], they say.",
    ] in shown
    assert f"word{ENDS - 1} … {ENDS} words … word{2 * ENDS}" in " ".join(part for line in shown for part in line[:1])


def test_whole_passages(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    said = " ".join(printed(capsys, monkeypatch, 40, None))
    assert "words …" not in said
    assert all(said.count(word) == 2 for word in ("word30 ", "word44 "))


@pytest.mark.parametrize("width", [20, 40, 55, 56, 80])
def test_any_width(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    lines = printed(capsys, monkeypatch, width)
    assert all(len(line) <= width for line in lines if not line.startswith("1  "))
    assert "\x1b" not in "".join(lines)
    assert "\u202e" not in "".join(lines)
    marks = {line[:2] for line in lines if line[:2] in ("< ", "> ")}
    assert (marks == {"< ", "> "}) is (width < 56)


def test_without_texts_and_without_passages(capsys: pytest.CaptureFixture[str]) -> None:
    shared = Shared(TEXTS, [("a", "b", ONE, 2)])
    print_passages(shared.passages, (None, TEXTS["b"]), ("a", "b"), 2)
    said = capsys.readouterr().out
    assert "1 shared passage\n" in said
    assert said.count("[=") == 1
    print_passages(shared.passages.slice(0, 0), ("", ""), ("a", "b"), 2)
    assert capsys.readouterr().out == "0 shared passages\n"
