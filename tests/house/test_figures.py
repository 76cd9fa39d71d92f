"""The figures of the documentation are drawn by `examples/figures`, from the numbers that lie beside them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import twinset
from tests import ready
from twinset import textbook

from .source import ROOT

PROGRAMS, FIGURES = ROOT / "examples" / "figures", ROOT / "docs" / "figures"
S_CURVES = ("s-curves-bits", "s-curves-tables", "s-curves-5-bits", "s-curves-10-bits", "s-curves-bands")


def draw(program: str, *words: str) -> str:
    command = [str(ready.folder() / "python-ready"), str(PROGRAMS / program), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def kept(folder: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text("utf-8"))
    return found


def drawn(folder: Path, name: str) -> list[bytes]:
    return [(folder / f"{name}{ending}").read_bytes() for ending in (".svg", ".png")]


def is_drawn(folder: Path, name: str) -> bool:
    vector, pixels = drawn(folder, name)
    return vector.startswith(b"<?xml") and b"</svg>" in vector and pixels.startswith(b"\x89PNG")


def test_the_families_of_s_curves(tmp_path: Path) -> None:
    said = draw("s_curves.py", "--out", str(tmp_path))
    for name in S_CURVES:
        assert is_drawn(tmp_path, name)
        numbers = kept(tmp_path, name)
        assert numbers["words"] in said
        for curve, (tables, bits) in numbers["tables and bits"].items():
            assert textbook.band_probability(numbers["even"][curve], tables, bits) == pytest.approx(0.5)
    sizes = {name: len(kept(tmp_path, name)["even"]) for name in S_CURVES}
    assert sizes == dict(zip(S_CURVES, (10, 10, 50, 50, 4), strict=True))
    first = [drawn(tmp_path, name) for name in S_CURVES]
    draw("s_curves.py", "--out", str(tmp_path), "--redraw")
    assert [drawn(tmp_path, name) for name in S_CURVES] == first, "the same numbers give the same bytes"


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    folder = tmp_path / "answers"
    folder.mkdir()
    for number in range(20):
        # Each differs a little from the one before, so that there are pairs of every similarity.
        words = [f"é{one if one >= 2 * number else one + 1000 * number}" for one in range(40)]
        (folder / f"{number:02}.txt").write_text(" ".join(words), "latin-1")
    return folder


def test_the_share_found(tmp_path: Path, answers: Path) -> None:
    for name, words in (("share-found", ()), ("share-found-clough", ("--clough", str(answers)))):
        draw("share_found.py", "--out", str(tmp_path), "--seeds", "3", *words)
        assert is_drawn(tmp_path, name)
        rows = kept(tmp_path, name)["rows"]
        assert [row["threshold"] for row in rows] == [tenth / 10 for tenth in range(1, 10)] * 2
        for row in rows:
            assert 0 <= row["low"] <= row["mean"] <= row["high"] <= 1
            assert row["near found"] <= row["near pairs"] <= row["pairs"]
        # The first half is of the old rule: b bands, where (1/b)^(b/100) is nearest to the threshold.
        assert [row["bands"] for row in rows[:9]] == [57, 43, 34, 28, 22, 18, 14, 10, 6]


def test_the_run_time(tmp_path: Path, answers: Path) -> None:
    draw("run_time.py", "--out", str(tmp_path), "--clough", str(answers), "--most", "300", "--limit", "0.001")
    for name, sizes in (("run-time-small", list(range(10, 101, 10))), ("run-time", [100, 300])):
        assert is_drawn(tmp_path, name)
        numbers = kept(tmp_path, name)
        for search, line in numbers["measured"].items():
            assert [n for n, _ in [*line, *numbers["estimated"][search]]] == sizes
            assert all(took > 0 for _, took in line)
            if "Twinset" in search:
                assert numbers["estimated"][search] == [], "what Twinset takes is measured, not computed"


def test_without_a_folder_that_holds_texts_it_says_so(tmp_path: Path) -> None:
    command = [sys.executable, str(PROGRAMS / "share_found.py"), "--clough", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "there is no .txt file in" in done.stderr


def test_every_figure_of_the_documentation_lies_there_with_its_numbers() -> None:
    names = {path.stem for path in FIGURES.glob("*.json")}
    assert names == {
        *S_CURVES,
        *("run-time", "run-time-small", "share-found", "share-found-clough"),
        *("evaluate-f1", "evaluate-precision-recall", "evaluate-shares", "containment", "xor-hashes"),
        *("vectors-found", "codes-found", "sketch-errors", "users-found", "nearest-users", "sparse-compared"),
    }
    endings = (".json", ".svg", ".png")
    assert {path.name for path in FIGURES.iterdir()} == {name + ending for name in names for ending in endings}
    for name in names:
        assert is_drawn(FIGURES, name)


@pytest.mark.parametrize("name", sorted(path.stem for path in FIGURES.glob("*.json")))
def test_the_documentation_shows_a_figure_and_says_in_words_what_it_shows(name: str) -> None:
    pages = [" ".join(page.read_text("utf-8").split()) for page in (ROOT / "docs").glob("*.md")]
    assert any(f"(figures/{name}.svg)" in page and kept(FIGURES, name)["words"] in page for page in pages)


def test_the_figures_go_as_far_as_they_should() -> None:
    small, large = kept(FIGURES, "run-time-small"), kept(FIGURES, "run-time")
    assert (small["collection"], small["threshold"]) == ("Short answers", 0.6)
    for numbers, sizes in ((small, range(10, 101, 10)), (large, (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000))):
        assert [n for n, _ in numbers["measured"]["Twinset (LSH)"]] == list(sizes)
        for search in ("naive search, compiled", "naive search, plain Python"):
            assert [n for n, _ in numbers["measured"][search] + numbers["estimated"][search]] == list(sizes)
    for name in ("share-found", "share-found-clough"):
        numbers = kept(FIGURES, name)
        assert numbers["seeds"] == 1000
        # The old rule with 100 hashes, then the plan, each for nine thresholds.
        assert [row["threshold"] for row in numbers["rows"]] == [tenth / 10 for tenth in range(1, 10)] * 2
        assert {row["hashes"] for row in numbers["rows"][:9]} == {100}
        for row in numbers["rows"]:
            # Four standard errors, as if the pairs of a run were all found or all missed: below that is no chance.
            error = (row["expected"] * (1 - row["expected"]) / numbers["seeds"]) ** 0.5
            assert row["mean"] > row["expected"] - 4 * error


@pytest.mark.parametrize("name", ["share-found", "share-found-clough"])
def test_the_plan_in_a_figure_is_the_plan_of_today(name: str) -> None:
    for row in kept(FIGURES, name)["rows"][9:]:
        made = twinset.plan(row["threshold"])
        assert (made.n_hashes, made.n_bands, made.rows_per_band) == (row["hashes"], row["bands"], row["rows"])


def test_the_xor_family_strays_as_computed_and_fair_functions_do_not() -> None:
    numbers = kept(FIGURES, "xor-hashes")
    for name, line in numbers["measured"].items():
        expected = [deviation for _, deviation in numbers["theory"][name]]
        # 3,000 pairs give a deviation to within 1.3 %; this is four times that.
        assert [deviation for _, deviation in line] == pytest.approx(expected, rel=0.052)
    assert list(numbers["left"].values()) == pytest.approx([0, 0.13, 0.075, 0.03], abs=0.006)


def test_users_with_few_items_are_found_as_surely_as_those_with_many() -> None:
    numbers = kept(FIGURES, "users-found")
    bands, rows = numbers["plan"]
    for name, line in numbers["lines"].items():
        for similarity, share in line:
            chance = textbook.band_probability(similarity, bands, rows)
            spread = (chance * (1 - chance) / numbers["pairs"]) ** 0.5
            assert share == pytest.approx(chance, abs=5 * spread + 1e-9), (name, similarity)


def test_more_neighbours_are_less_similar_and_more_pairs_than_needed_reach_their_threshold() -> None:
    numbers = kept(FIGURES, "nearest-users")
    one, three, ten = ([share for _, share in numbers["lines"][count]] for count in ("1", "3", "10"))
    assert all(a >= b >= c for a, b, c in zip(one, three, ten, strict=True))
    assert dict(numbers["lines"]["10"])[numbers["threshold"]] >= 0.9
    assert numbers["rows"] == 10 * numbers["users"] < numbers["pairs at it"]
    assert 0 < numbers["compared"] < numbers["users"] ** 2


def test_each_step_of_the_search_for_sparse_vectors_leaves_fewer_pairs() -> None:
    numbers = kept(FIGURES, "sparse-compared")
    sharing, met, multiplied, found = ([count for _, count in line] for line in numbers["lines"].values())
    assert numbers["articles"] ** 2 / 2 > sharing[0] > met[0]
    assert all(a > b >= c > 0 for a, b, c in zip(met, multiplied, found, strict=True))
    assert met == sorted(met, reverse=True)
