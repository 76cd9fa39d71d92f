"""Codes, vectors and weighted sets on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.cli.conftest import Call
from twinset.cli.screen import pairs_table


@pytest.fixture
def codes(tmp_path: Path) -> Path:
    file = tmp_path / "codes.csv"
    file.write_text("id,code\na,00ff\nb,00fe\nc,00ff\nd,ff00\ne,\n")
    return file


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    made = rng.normal(size=(60, 4)).astype(np.float32)
    made[40:] = made[:20] * 1.01
    np.save(tmp_path / "vectors.npy", made)
    return tmp_path / "vectors.npy"


def test_pairs_of_codes(call: Call, codes: Path) -> None:
    done = call("pairs", codes, "--codes", "code", "--distance", 1)
    assert done.code == 0, done.err
    assert done.out.splitlines() == ['"left","right","distance"', '"a","b",1', '"a","c",0', '"b","c",1']
    assert done.err.startswith("plan: exact, all compared with all")
    assert "3 pairs of 5 documents" in done.err


def test_a_result_of_codes_is_explained(call: Call, codes: Path) -> None:
    done = call("dedup", codes, "--codes", "code", "-o", "OUT")
    assert (done.code, "1  empty (kept)" in done.out) == (0, True), done.err
    told = call("explain", "OUT", "b").out.splitlines()
    assert told[:3] == [
        "b was removed: it is at distance 1 from a, which is kept",
        "also removed because of that document: 1 document",
        "  distance 0  c",
    ]
    ours, theirs, mark = told[-3:]
    assert told[4].startswith("  distance  1 of ")
    assert ours[mark.index("^")] != theirs[mark.index("^")]
    assert (ours[: mark.index("^")][4:], mark.count("^")) == (theirs[: mark.index("^")][4:], 1)
    assert " differ: " in call("explain", "OUT", "a", "d").out, "no pair of that run, and compared all the same"
    assert "give --distance" in call("recut", "OUT", "--threshold", 0.9, "-o", "CUT").refusal


def test_a_result_of_codes_is_cut_again(call: Call, codes: Path) -> None:
    assert call("dedup", codes, "--codes", "code", "--distance", 0, "--floor", 1, "-o", "OUT").code == 0
    done = call("recut", "OUT", "--distance", 1, "-o", "CUT")
    assert done.code == 0, done.err
    assert "pairs" in done.out
    rows = call("recut", "OUT", "--rows", 3, "-o", "ROWS")
    assert (rows.code, rows.out.splitlines()[0]) == (0, "distance: 1"), rows.err
    assert "pairs beyond 1" in call("recut", "OUT", "--distance", 2, "-o", "FAR").refusal


def test_pictures_of_which_no_two_are_a_pair_are_explained(call: Call, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for name in ("1.png", "2.png"):
        Image.fromarray(rng.integers(0, 256, (40, 40, 3), np.uint8)).save(tmp_path / name)
    assert call("dedup", "1.png", "2.png", "--images", "-o", "OUT").code == 0
    done = call("explain", "OUT", "1.png", "2.png")
    assert (done.code, "1.png and 2.png are not a pair of that run" in done.out) == (0, True), done.err


def test_flags_have_a_distance(call: Call, codes: Path, tmp_path: Path) -> None:
    assert call("dedup", codes, "--codes", "code", "-o", "OUT", "--flag").code == 0
    assert (tmp_path / "OUT" / "kept" / "codes.csv").read_text().splitlines() == [
        "id,code,cluster,duplicate_of,distance", "a,00ff,a,,", "b,00fe,a,a,1", "c,00ff,a,a,0", "d,ff00,d,,", "e,,e,,",
    ]  # fmt: skip


def test_pairs_of_vectors(call: Call, vectors: Path) -> None:
    done = call("pairs", vectors, "--vectors", "--threshold", 0.999, "--json").json
    assert (done["pairs"], done["documents"], done["plan"]["method"]) == (20, 60, "exact")
    done = call("pairs", vectors, "--vectors", "--distance", 0.05, "--top", 1, "--json").json
    assert (done["pairs"], done["plan"]["top"], done["plan"]["limit"]) == (40, 1, 0.05)
    done = call("pairs", vectors, "--vectors", "--top", 1, "--json").json
    assert (done["pairs"], done["plan"]["limit"]) == (60, None)


def test_the_ten_nearest_of_a_picture_among_twenty_thousand(call: Call, tmp_path: Path) -> None:
    """Pictures as vectors: 8 × 8 levels of grey. One that is in the collection is asked for, a little darker."""
    collection = np.random.default_rng(3).integers(0, 256, (20_000, 64)).astype(np.float32)
    asked = np.maximum(collection[12_345] - 9, 0)
    np.save(tmp_path / "collection.npy", collection)
    np.save(tmp_path / "asked.npy", asked[None])
    words = ("--vectors", "--top", 10, "--distance", 1e6, "--exact")
    done = call("pairs", "asked.npy", "--against", "collection.npy", *words)
    assert done.code == 0, done.err
    rows = [line.split(",") for line in done.out.splitlines()[1:]]
    apart = np.linalg.norm(collection.astype(float) - asked, axis=1)
    nearest = np.argsort(apart, kind="stable")[:10]
    assert [right.strip('"').rpartition(":")[2] for _, right, _ in rows] == [str(row) for row in nearest]
    assert [float(distance) for *_, distance in rows] == pytest.approx(apart[nearest].tolist())
    assert nearest[0] == 12_345


@pytest.mark.parametrize("columns", [30, 40, 80])
def test_a_table_of_pairs_fits_the_window(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    long = "a-very-long-name-of-a-picture-that-no-window-holds.png"
    pairs_table.print_rows([{"left": long, "right": "b", "distance": 3}], 1)
    pairs_table.print_rows([{"left": "a", "right": long, "similarity": 0.98765}], 1)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= columns
    assert lines[1].split()[-1] == "3"
    assert lines[3].split()[-1] == "0.9877"
    assert len(lines) == 4  # one number is all there is: no word of a wider window


@pytest.mark.parametrize("columns", [30, 60, 200])
def test_the_plan_of_vectors_fits_the_window(
    call: Call, vectors: Path, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    done = call("plan", vectors, "--vectors", "--threshold", 0.9)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0].startswith("exact: every pair")
    wide = [line for line in lines if not line.startswith(("→", "  "))]
    assert max(map(len, wide)) <= max(columns, 30)
    assert any("60 vectors of 4 dimensions" in line or line.startswith("60 vectors") for line in lines)


def test_plans_without_a_source(call: Call) -> None:
    assert "exact, 3 tables" in call("plan", "--codes", "c", "--distance", 2).out
    found = call("plan", "--vectors", "--threshold", 0.9, "--json").json
    assert found["reached"] >= 0.99
    assert len(found["curve"]) == 10
    assert "100,000 hypothetical vectors of 128 dimensions" in call("plan", "--vectors", "--distance", 1).out
    assert call("plan", "--items", "i", "--weight", "w").out.startswith("128 hashes, 16 bands × 6 rows")
    assert "it draws Jaccard curves" in call("plan", "--vectors", "--compare", "20x5").refusal


def test_a_dry_run_says_what_is_known(call: Call, codes: Path, vectors: Path) -> None:
    assert call("pairs", codes, "--codes", "code", "--dry-run", "--json").json["plan"]["distance"] == 3
    found = call("dedup", vectors, "--vectors", "--dry-run", "--json").json
    assert found["plan"]["threshold"] == 0.8
    assert found["sources"]["parts"][0]["dimensions"] == 4


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("evaluate", "codes.csv", "--codes", "code", "--truth", "x.csv", "--sweep", "0.5:0.9:0.1"), "have distances"),
        (("pairs", "codes.csv", "--codes", "nothing"), "there is no column 'nothing'"),
        (("pairs", "codes.csv", "--codes", "id"), "odd number of digits"),
        (("pairs", "codes.csv", "--vectors"), "needs the name of a column"),
        (("dedup", "codes.csv", "--codes", "code", "--index", "x", "-o", "OUT"), "--index does not apply to bit"),
        (("pairs", "codes.csv", "--codes", "code", "--exact"), "--exact does not apply to bit codes"),
    ],
)
def test_what_cannot_be(call: Call, codes: Path, words: tuple[str, ...], said: str) -> None:
    assert said in call(*words).refusal
