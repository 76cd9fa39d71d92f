"""``twinset plan``: curves in any window, plans side by side, and a run foreseen."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """Two hundred texts, a fifth of them near-copies."""
    dice = random.Random(8)
    rows: list[str] = []
    for number in range(200):
        words = [f"w{dice.randrange(900)}" for _ in range(60)] if number % 5 or not rows else rows[-1].split()
        words[dice.randrange(60)] = "changed"
        rows.append(" ".join(words))
    file = tmp_path / "texts.jsonl"
    file.write_text("".join(json.dumps({"id": str(n), "text": text}) + "\n" for n, text in enumerate(rows)))
    return file


@pytest.mark.parametrize("columns", [30, 60, 80, 200])
@pytest.mark.parametrize("words", [(), ("--compare", "20x5", "--compare", "15x5"), ("--family", "10,1-50")], ids=str)
def test_the_curve_fits_the_window(run: Run, columns: int, words: tuple[str, ...]) -> None:
    done = run("plan", *words, env={"COLUMNS": str(columns)})
    assert done.returncode == 0, done.stderr
    first, _, rest = done.stdout.partition("\n\n")
    lines = rest.splitlines()
    assert max(map(len, done.stdout.splitlines())) <= max(columns, 40)
    whole = " ".join(first.split("\n"))
    assert whole.startswith("128 hashes, 16 bands × 6 rows: a pair at 0.8 is found with probability 0.99")
    shown = [line for line in lines if "│" in line or "┤" in line or "└" in line or line.startswith("similarity")]
    assert len(shown) >= 11
    assert max(map(len, shown)) <= max(columns, 30)
    if columns >= 60:
        assert max(map(len, lines)) <= min(columns, 100)


def test_one_curve_is_an_area_that_rises_once(run: Run) -> None:
    lines = run("plan", "--bands", 20, "--rows", 5).stdout.splitlines()
    rows = [line[5:] for line in lines if line[3:5] in (" │", " ┤")]
    assert len(rows) == 10
    starts = [len(row) - len(row.lstrip()) for row in rows]
    assert starts == sorted(starts, reverse=True), "the higher, the later"
    assert starts[0] > len(rows[0]) / 2


def test_several_curves_are_told_apart_by_letters(run: Run) -> None:
    lines = run("plan", "--compare", "20x5", "--compare", "15x5").stdout.splitlines()
    rows = [line[5:] for line in lines if line[3:5] in (" │", " ┤")]
    assert set("".join(rows)) == {"a", "b", "c", "d", " "}
    assert "c 20×5            .000 .006 .047 .186 .470 .802 .975 .999 .999    1" in lines
    assert any(line.startswith("d 15×5") for line in lines)


def test_candidates_and_what_is_found_of_them_are_told_apart(run: Run) -> None:
    lines = run("plan").stdout.splitlines()
    rows = {line[:16].rstrip(): line[16:].split() for line in lines if line.startswith("16×6 ")}
    assert set(rows) == {"16×6 found", "16×6 candidates"}
    values = json.loads(run("plan", "--json").stdout)
    for (s, candidates), (_, found), shown in zip(
        values["candidates"], values["curve"], rows["16×6 candidates"], strict=True
    ):
        assert candidates == pytest.approx(1 - (1 - s**6) ** 16)
        assert found <= candidates
        assert float(shown) == pytest.approx(candidates, abs=0.0011)
    assert any(
        found < candidates - 0.1
        for (_, candidates), (_, found) in zip(values["candidates"], values["curve"], strict=True)
    )
    help_text = " ".join(run("plan", "--help").stdout.split())
    assert '1-(1-s^rows)^bands: the curve "candidates"' in help_text


def test_of_a_large_family_some_are_drawn_and_all_are_in_the_numbers(run: Run) -> None:
    done = run("plan", "--family", "5,1-50", "--family", "10,1-50")
    assert "6 of 100 curves are drawn" in done.stdout
    named = run("plan", "--compare", "20x5", "--compare", "15x5", "--family", "5,1-50").stdout
    assert [line[:6] for line in named.splitlines() if line[:2] in ("c ", "d ", "h ")] == ["c 20×5", "d 15×5", "h k=5 "]
    values = json.loads(run("plan", "--family", "5,1-50", "--family", "1-10,1", "--json").stdout)
    assert [curve["name"] for curve in values["compared"]][49:51] == ["k=5 L=50", "k=1 L=1"]
    assert values["compared"][4]["curve"][4][1] == pytest.approx(1 - (1 - 0.5**5) ** 5)


def test_plans_are_ranked_and_the_chosen_one_is_marked(run: Run) -> None:
    done = run("plan", "--threshold", 0.7)
    rows = [line for line in done.stdout.splitlines() if "×" in line and line.endswith("×")]
    assert rows[0].startswith("→    256       37×6   0.9901 0.55")
    assert sum("→" in row for row in rows) == 1
    values = json.loads(run("plan", "--threshold", 0.7, "--json").stdout)
    assert values["ranked"][0]["chosen"]
    assert {"n_hashes", "reached", "step", "microseconds", "missed_above", "met_below"} <= set(values["ranked"][0])


def test_a_run_is_foreseen_from_the_source(run: Run, collection: Path) -> None:
    done = run("plan", collection, env={"COLUMNS": "60"})
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines()[1:])) <= 60
    assert "200 documents" in done.stdout
    assert "so pairs are counted" in " ".join(done.stdout.split())
    values = json.loads(run("plan", collection, "--json").stdout)
    summary = json.loads(run("pairs", collection, "-o", "pairs.parquet", "--json").stdout)
    assert values["survey"]["documents"] == summary["documents"] == 200
    distinct = summary["pairs"] - summary["identical"]
    assert values["survey"]["seen"] == distinct > 10
    assert values["survey"]["expected"]["pairs"] == pytest.approx(distinct)
    assert values["survey"]["expected"]["candidates"] == pytest.approx(summary["candidates"], rel=0.3)
    assert set(values["survey"]["expected"]["seconds"]) == {"read", "candidates", "verify"}
    assert len(values["ranked"]) == len([one["expected"] for one in values["ranked"]])


def test_advice_on_the_length_of_a_shingle(run: Run, collection: Path) -> None:
    good = " ".join(run("plan", collection).stdout.split())
    assert "word:2 is the shortest word shingle with 1% or less in common by chance; word:5 is long enough." in good
    short = " ".join(run("plan", collection, "--shingle", "char:3").stdout.split())
    assert "char:3 is too short" in short
    values = json.loads(run("plan", collection, "--shingle", "char:3", "--json").stdout)
    assert [one["shingle"] for one in values["survey"]["lengths"]] == [f"char:{k}" for k in range(3, 16)]
    assert values["survey"]["least_shingle"].startswith("char:")


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_curves_in_a_file(run: Run, tmp_path: Path, ending: str) -> None:
    done = run("plan", "--compare", "20x5", "--plot", f"plan.{ending}")
    assert done.returncode == 0, done.stderr
    assert f"2 curves in plan.{ending}" in done.stdout
    head = (tmp_path / f"plan.{ending}").read_bytes()[:100]
    assert (b"PNG" if ending == "png" else b"<?xml") in head


def test_a_source_that_is_not_there(run: Run) -> None:
    done = run("plan", "nowhere.jsonl")
    assert done.returncode == 2
    assert "nowhere.jsonl: there is no such file or folder" in done.stderr
    assert done.stdout == ""
