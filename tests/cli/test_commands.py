"""The commands themselves, on small data."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import twinset
from twinset import textbook

from .conftest import Run, text

HEAD = ["left", "right", "similarity", "left_in_right", "right_in_left"]


def test_plan_shows_the_numbers_and_the_curve(run: Run) -> None:
    done = run("plan", "--threshold", 0.8, "--recall", 0.99)
    assert done.returncode == 0
    assert done.stdout.startswith("128 hashes, 16 bands × 6 rows: a pair at 0.8 is found with probability ")
    assert sum("█" in line for line in done.stdout.splitlines()) >= 4
    values = json.loads(run("plan", "--json").stdout)
    assert (values["n_hashes"], values["n_bands"], values["rows_per_band"]) == (128, 16, 6)
    assert [similarity for similarity, _ in values["curve"]] == [i / 10 for i in range(1, 11)]


def test_compare_two_strings(run: Run) -> None:
    words = ["--string", "Nadal", "--string", "Nadia", "--shingle", "char:2"]
    values = json.loads(run("compare", *words, "--json").stdout)
    assert values["similarity"] == pytest.approx(2 / 6, abs=1e-12)
    assert (values["left_shingles"], values["right_shingles"], values["shared"]) == (4, 4, 2)
    assert values["left_in_right"] == values["right_in_left"] == 0.5
    assert abs(values["estimate"] - 1 / 3) < 5 * values["standard_error"]
    shown = run("compare", *words)
    assert shown.returncode == 0
    assert "0.333333" in shown.stdout


def test_compare_two_files(run: Run, tmp_path: Path) -> None:
    left, right = text(1), text(1) + " and more"
    (tmp_path / "a.txt").write_text(left)
    (tmp_path / "b.txt").write_text(right)
    values = json.loads(run("compare", "a.txt", "b.txt", "--json").stdout)
    assert values["similarity"] == pytest.approx(
        textbook.jaccard(textbook.shingles(left), textbook.shingles(right)), abs=1e-12
    )
    assert values["left_in_right"] == 1.0


def test_pairs_to_a_pipe_are_csv(run: Run, corpus: Path) -> None:
    done = run("pairs", corpus.name)
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert list(rows[0]) == HEAD
    assert {(row["left"], row["right"]) for row in rows} == {("a", "c"), ("a", "d"), ("c", "d")}
    assert "plan: 128 hashes, 16 bands × 6 rows" in done.stderr
    assert "3 pairs of 6 documents" in done.stderr


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_pairs_to_a_file(run: Run, corpus: Path, tmp_path: Path, ending: str) -> None:
    done = run("pairs", corpus.name, "-o", f"pairs.{ending}")
    assert done.returncode == 0, done.stderr
    assert f"3 pairs of 6 documents in pairs.{ending}" in done.stdout
    file = tmp_path / f"pairs.{ending}"
    if ending == "parquet":
        rows = pq.read_table(file).to_pylist()
    elif ending == "csv":
        rows = list(csv.DictReader(file.open(encoding="utf-8")))
    else:
        rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert [list(row) for row in rows] == [HEAD] * 3
    assert float(next(row for row in rows if row["right"] == "c")["similarity"]) == 1.0


def test_json_is_alone_on_stdout(run: Run, corpus: Path) -> None:
    for words in (["pairs", corpus.name], ["dedup", corpus.name, "-o", "OUT"]):
        done = run(*words, "--json")
        assert done.returncode == 0, done.stderr
        summary = json.loads(done.stdout)
        assert summary["documents"] == 6
        assert summary["plan"]["n_bands"] == 16


def test_quiet_says_nothing(run: Run, corpus: Path) -> None:
    done = run("dedup", corpus.name, "-o", "OUT", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_dedup(run: Run, corpus: Path, tmp_path: Path) -> None:
    done = run("dedup", corpus.name, "-o", "OUT")
    assert done.returncode == 0, done.stderr
    assert "4  kept" in done.stdout
    assert "2  removed as near-duplicates" in done.stdout
    kept = (tmp_path / "OUT" / "kept" / corpus.name).read_text("utf-8").splitlines()
    assert [json.loads(line)["id"] for line in kept] == ["a", "b", "e", "f"]
    removed = pq.read_table(tmp_path / "OUT" / "removed.parquet").to_pylist()
    assert [(row["id"], row["because_of"]) for row in removed] == [("c", "a"), ("d", "a")]


def test_one_of_a_thing_is_one(run: Run, tmp_path: Path) -> None:
    (tmp_path / "two.txt").write_text(f"{text(1)}\n{text(1)}\n")
    (tmp_path / "one.txt").write_text("hello\n")
    two = run("dedup", "two.txt", "--lines", "-o", "two").stdout.splitlines()
    assert {"  1  kept", "  1  removed as a near-duplicate", "  1  cluster", "  1  pair"} <= set(two)
    one = run("dedup", "one.txt", "-o", "one", "--floor", "0.5")
    lines = set(one.stdout.splitlines())
    assert {"  1  document", "  0  removed as near-duplicates", "  0  pairs, down to 0.5"} <= lines
    assert "reading and sketching: 1 document, " in one.stderr
    assert "measuring: 1 threshold, " in run("evaluate", "one.txt", "--exact").stderr
    plan = " ".join(run("plan", "one.txt", "--hashes", "1", "--bands", "1", "--rows", "1").stdout.split())
    assert "1 document, about 6 bytes of text, 1 shingle. " in plan
    assert "of 1 hash equal is dropped" in plan


def test_an_output_that_exists_is_refused_without_force(run: Run, corpus: Path) -> None:
    assert run("dedup", corpus.name, "-o", "OUT").returncode == 0
    again = run("dedup", corpus.name, "-o", "OUT")
    assert again.returncode == 2
    assert "--force" in again.stderr
    assert run("dedup", corpus.name, "-o", "OUT", "--force").returncode == 0


def test_switches_that_are_on_can_be_turned_off(run: Run) -> None:
    words = ["compare", "--string", "A b c d e", "--string", "a b c d e", "--json"]
    assert json.loads(run(*words).stdout)["similarity"] == 1.0
    assert json.loads(run(*words, "--no-lowercase").stdout)["similarity"] == 0.0


def test_dry_run_does_nothing(run: Run, corpus: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    done = run("dedup", corpus.name, "-o", "OUT", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert corpus.name in done.stdout
    assert sorted(tmp_path.iterdir()) == before
    assert isinstance(json.loads(run("pairs", corpus.name, "--dry-run", "--json").stdout), dict)


def test_demo_explains_itself(run: Run, tmp_path: Path) -> None:
    done = run("demo", "-o", "OUT")
    assert done.returncode == 0, done.stderr
    for words in ("56 short texts", "river-2 is removed", "notice-3 resembles notice-2", "Nothing is lost"):
        assert words in done.stdout
    summary = json.loads((tmp_path / "OUT" / "summary.json").read_text("utf-8"))
    assert summary["kept"] + summary["removed"] + summary["unreadable"] == summary["documents"] == 56
    assert summary["empty"] == 2


def test_demo_leaves_what_is_there_alone(run: Run, tmp_path: Path) -> None:
    (tmp_path / "OUT").mkdir()
    done = run("demo", "-o", "OUT")
    assert done.returncode == 2
    assert "name a folder that is not" in done.stderr
    assert list((tmp_path / "OUT").iterdir()) == []


def test_the_bundled_sample_is_what_its_text_says(tmp_path: Path) -> None:
    sample = Path(twinset.__file__).parent / "cli" / "sample" / "articles.jsonl"
    texts = {row["id"]: row["text"] for row in map(json.loads, sample.read_text("utf-8").splitlines())}
    sets = {id: textbook.shingles(text) for id, text in texts.items()}
    near = {(left, right) for left, right, _ in textbook.all_pairs(sets, 0.8)}
    assert {("notice-1", "notice-2"), ("notice-2", "notice-3"), ("notice-3", "notice-4")} <= near
    assert ("notice-1", "notice-3") not in near
    assert not any("flat" in left and "flat" in right for left, right in near)
    assert {("书店-1", "书店-2"), ("café-1", "café-2"), ("word-1", "word-2")} <= near
    assert [id for id, found in sets.items() if not found] == ["empty-1", "dots-1"]


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    lines = "".join(json.dumps({"text": "the very same words in every row"}) + "\n" for _ in range(400))
    (tmp_path / "same.jsonl").write_text(lines)
    command = f"{sys.executable} -m twinset pairs same.jsonl --quiet | head -n 1"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == ",".join(HEAD) or done.stdout.startswith('"left"')
    assert done.stderr == ""


EVERY = [
    *("demo", "demo --json", "pairs IN", "pairs IN --json", "pairs IN --dry-run", "dedup IN -o new"),
    *("recut OUT -o cut", "explain OUT d", "report OUT -o page.html", "evaluate IN --exact"),
    *("evaluate IN --exact --json", "compare IN IN", "plan", "plan IN", "--help", "--version", "pairs --help"),
]


@pytest.mark.parametrize("both", [False, True], ids=["stdout", "stdout and stderr"])
def test_every_command_ends_quietly_when_nobody_reads(run: Run, corpus: Path, tmp_path: Path, both: bool) -> None:
    """The reader has left before anything is written, so that every write fails."""

    def unread(words: str) -> tuple[str, int, str]:
        reader, writer = os.pipe()
        os.close(reader)
        command = [sys.executable, "-m", "twinset", *words.replace("IN", corpus.name).split()]
        error = writer if both else subprocess.PIPE
        done = subprocess.run(command, cwd=tmp_path, stdout=writer, stderr=error, text=True, check=False)
        os.close(writer)
        progress = re.compile(r"(plan: .*|.*: .* s|compiling .*|\d+ pairs? of .*|audit: .*)")
        return words, done.returncode, "\n".join(
            line for line in (done.stderr or "").splitlines() if not progress.fullmatch(line)
        )

    assert run("dedup", corpus.name, "-o", "OUT", "--quiet").returncode == 0
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(unread, EVERY)) == [(words, 141, "") for words in EVERY]
    assert both or (tmp_path / "new" / "summary.json").is_file(), "what was to be done is done before it is told"


def test_streams_that_are_closed_from_the_start(corpus: Path, tmp_path: Path) -> None:
    twinset = f"{sys.executable} -m twinset"
    for words, code in (
        ("plan --json >&-", 0),
        ("plan --json >&- 2>&-", 0),
        ("pairs nowhere 2>&-", 2),
        ("pairs nowhere 2>/dev/full", 2),
        (f"pairs {corpus.name} >/dev/full 2>/dev/null", 2),
    ):
        done = subprocess.run(["bash", "-c", f"{twinset} {words}"], cwd=tmp_path, capture_output=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (code, b"", b""), words
