"""The commands themselves, on small data."""

from __future__ import annotations

import csv
import fcntl
import gzip
import io
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import twinset
from tests import oracles, ready
from tests.cli.conftest import Run, text
from tests.cli.index.test_index_refused import powerless
from twinset import textbook

HEAD = ["left", "right", *oracles.columns()]


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
    pair = "  1  pair, between identical copies"
    assert {"  1  kept", "  1  removed as a near-duplicate", "  1  cluster", pair} <= set(two)
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
    assert "OUT exists; choose another folder" in done.stderr
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
    *("sketch IN -o s.parquet", "sketch IN -o t.parquet --json", "sketch IN --sketch simhash -o u.parquet"),
    *("explain OUT a b", "explain OUT a b --json", "index create new.twinset"),
]


# One for each way to write to stdout and stderr: a table, JSON, CSV, a result, progress, help.
SOME = ["demo", "pairs IN", "pairs IN --json", "dedup IN -o new", "evaluate IN --exact", "explain OUT a b", "--help"]

# What ends a process is the same for all of them: these are started as a user does, one that writes much and one that
# loads nothing, the others are loaded beforehand.
STARTED = ["pairs IN", "--help"]


@pytest.mark.parametrize(
    ("every", "both"),
    [(EVERY, False), (SOME, True), pytest.param(EVERY, True, marks=pytest.mark.soak)],
    ids=["stdout", "stdout and stderr", "stdout and stderr of all"],
)
def test_every_command_ends_quietly_when_nobody_reads(
    run: Run, corpus: Path, tmp_path: Path, every: list[str], both: bool
) -> None:
    """The reader has left before anything is written, so that every write fails."""

    def unread(words: str) -> tuple[str, int, str]:
        reader, writer = os.pipe()
        os.close(reader)
        program = [sys.executable, "-m", "twinset"] if words in STARTED else [str(ready.folder() / "twinset")]
        command = [*program, *words.replace("IN", corpus.name).split()]
        error = writer if both else subprocess.PIPE
        done = subprocess.run(command, cwd=tmp_path, stdout=writer, stderr=error, text=True, check=False)
        os.close(writer)
        progress = re.compile(r"(plan: .*|.*: .* s|compiling .*|\d+ pairs? of .*|audit: .*)")
        return words, done.returncode, "\n".join(
            line for line in (done.stderr or "").splitlines() if not progress.fullmatch(line)
        )

    assert run("dedup", corpus.name, "-o", "OUT", "--quiet").returncode == 0
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(unread, every)) == [(words, 141, "") for words in every]
    assert both or (tmp_path / "new" / "summary.json").is_file(), "what was to be done is done before it is told"


@pytest.mark.parametrize("words", ["explain OUT a b", "explain OUT b", "pairs long.jsonl --quiet", "pairs --help-all"])
def test_a_reader_that_leaves_in_the_middle(run: Run, tmp_path: Path, words: str) -> None:
    """More is to come than a pipe holds, so that the command is writing when the reader leaves."""
    words_of = [f"a{'long' * 50}word{i}" for i in range(400)]
    texts = {"a": " ".join(words_of), "b": " ".join(word if i % 40 else "other" for i, word in enumerate(words_of))}
    texts |= {f"copy{i}": texts["b"] for i in range(40)}
    lines = "".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in texts.items())
    (tmp_path / "long.jsonl").write_text(lines)
    assert run("dedup", "long.jsonl", "-o", "OUT", "--threshold", "0.3", "--quiet").returncode == 0
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    command = [sys.executable, "-m", "twinset", *words.split()]
    with subprocess.Popen(command, cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE) as started:
        os.close(writer)
        seen = 0
        while seen < 2000:  # what comes first is printed in another way than what follows
            seen += len(os.read(reader, 2000 - seen))
        os.close(reader)
        assert started.stderr is not None
        assert (started.stderr.read(), started.wait()) == (b"", 141)


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


def test_pairs_tell_what_could_not_be_read(run: Run, tmp_path: Path) -> None:
    rows = [b'{"id":"a","text":"one two three"}', b'{"id":"b","text":', b'{"id":"c","text":"odd \xff byte"}']
    (tmp_path / "in.jsonl").write_bytes(b"\n".join(rows))
    said = run("pairs", "in.jsonl", "--on-error", "skip", "--audit", 0).stderr
    assert "0 pairs of 3 documents\n1 unreadable: skipped, such as in.jsonl:1 (line 2: not JSON: " in said
    assert "1 with undecodable bytes: replaced, such as c; --encoding names another encoding\n" in said
    assert run("pairs", "in.jsonl", "--on-error", "skip", "-o", "p.csv").stdout.count("such as") == 2


def test_documents_with_replaced_bytes_are_named(run: Run, tmp_path: Path) -> None:
    for name, data in (("a", b"odd \xff"), ("b", b"even"), ("c", b"\xfe more")):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / name).write_bytes(data)
    summary = json.loads(run("dedup", "in", "-o", "out", "--json").stdout)
    assert (summary["replaced"], summary["replaced_in"]) == (2, ["a", "c"])
    assert json.loads(run("recut", "out", "-o", "again", "--json").stdout)["replaced_in"] == ["a", "c"]
    summary = json.loads(run("dedup", "in", "-o", "out2", "--encoding", "cp1252", "--json").stdout)
    assert summary["replaced"] == 0
    assert "replaced_in" not in summary


def test_another_encoding_of_json_lines(run: Run, tmp_path: Path) -> None:
    (tmp_path / "la.jsonl").write_bytes('{"text":"été café"}\n{"text":"ôtô cafô"}\n'.encode("latin-1"))
    words = ("--shingle", "word:1", "--encoding", "latin-1", "--json")
    summary = json.loads(run("dedup", "la.jsonl", "-o", "out", *words).stdout)
    assert (summary["kept"], summary["identical"], summary["replaced"]) == (2, 0, 0)
    assert (tmp_path / "out/kept/la.jsonl").read_bytes() == (tmp_path / "la.jsonl").read_bytes()


def test_what_may_not_be_read_is_left_out_and_named(process: Run, tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "shut.txt", "closed/c.txt", "d/e.txt"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_text(f"words of {name}")
    (tmp_path / "in/shut.txt").chmod(0)
    (tmp_path / "in/closed").chmod(0)
    refused = process("dedup", "in", "-o", "out", preexec_fn=powerless)
    hint = "cannot be read: Permission denied; use --on-error skip to skip and report it; in a folder, --exclude"
    assert (refused.returncode, refused.stderr.splitlines()[-1].startswith(f"twinset: in/closed: {hint}")) == (2, True)
    refused = process("dedup", "in", "-o", "out", "--exclude", "closed", preexec_fn=powerless)
    assert f"twinset: in/shut.txt: {hint}" in refused.stderr
    done = process("dedup", "in", "-o", "out", "--on-error", "skip", "--json", preexec_fn=powerless)
    summary = json.loads(done.stdout)
    assert (summary["documents"], summary["kept"], summary["unreadable"]) == (4, 3, 1)
    assert summary["skipped"] == [["in/closed/", "cannot be read: Permission denied"]]
    (named,) = pq.read_table(tmp_path / "out/unreadable.parquet").to_pylist()
    assert named == {"id": "shut.txt", "reason": "cannot be read: Permission denied"}
    assert process("explain", "out", "a.txt", preexec_fn=powerless).returncode == 0
    shown = process("dedup", "in", "-o", "out2", "--exclude", "closed", "--exclude", "shut.txt", preexec_fn=powerless)
    assert shown.returncode == 0, shown.stderr


def test_tables_that_may_not_be_read(process: Run, tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / name).write_text('{"text":"words"}\n')
    (tmp_path / "in/b.jsonl").chmod(0)
    for source in ("in", "in/*.jsonl"):
        refused = process("pairs", source, preexec_fn=powerless)
        assert "in/b.jsonl: cannot be read: Permission denied; use --on-error skip to skip" in refused.stderr
    words = ("--on-error", "skip", "--json")
    summary = json.loads(process("pairs", "in/a.jsonl", "in/b.jsonl", *words, preexec_fn=powerless).stdout)
    assert (summary["documents"], summary["skipped"]) == (1, [["in/b.jsonl", "cannot be read: Permission denied"]])
    assert "nothing to read" in process("pairs", "in/b.jsonl", *words, preexec_fn=powerless).stderr


@pytest.mark.parametrize("command", ["compare", "explain"])
def test_two_files_are_read_as_those_of_a_folder(run: Run, tmp_path: Path, command: str) -> None:
    (tmp_path / "a.txt").write_text("some words")
    (tmp_path / "b.txt").write_bytes("some words".encode("utf-16"))
    (tmp_path / "c").write_bytes(b"\x7fELF\0\0\1")
    (tmp_path / "d.txt.gz").write_bytes(gzip.compress(b"some words"))
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "e.parquet")
    for name, why in (
        ("b.txt", "not a text: looks like UTF-16; name it with --encoding utf-16"),
        ("c", "not a text: a binary file"),
        ("e.parquet", "not a text: a parquet table, but only texts can be compared"),
    ):
        refused = run(command, "a.txt", name)
        assert (refused.returncode, refused.stderr) == (2, f"twinset: {name}: {why}\n")
    assert run(command, "b.txt", "b.txt", "--encoding", "utf-16").returncode == 0
    assert json.loads(run(command, "a.txt", "d.txt.gz", "--json").stdout)["similarity"] == 1.0
