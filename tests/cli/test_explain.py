"""``twinset explain`` and ``twinset report``, as a user runs them."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import twinset
from tests.cli.conftest import text
from tests.cli.screen.test_show import in_a_terminal
from twinset.cli import main

Run = Callable[..., SimpleNamespace]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run ``twinset`` with words in a folder of its own, and in this process: it need not be loaded each time."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")

    def call(*words: object, width: int = 80) -> SimpleNamespace:
        monkeypatch.setenv("COLUMNS", str(width))
        capsys.readouterr()
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        return SimpleNamespace(returncode=code, stdout=said.out, stderr=said.err)

    return call


@pytest.fixture
def out(run: Run, corpus: Path) -> Path:
    done = run("dedup", corpus.name, "-o", "OUT", "--quiet", "--threshold", "0.6")
    assert done.returncode == 0, done.stderr
    return Path("OUT")


def test_two_files(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the old mill by the river was sold to a baker from the town last week")
    (tmp_path / "b.txt").write_text("the old mill by the river was let to a baker from the town last week")
    done = run("explain", "a.txt", "b.txt", "--shingle", "word:2", "--context", "2")
    assert done.returncode == 0, done.stderr
    for words in (
        "similarity  0.7647  13 of 17 shingles (word:2) are in both",
        "… 5 equal words …",
        "[-sold-]",
        "{+let+}",
        "only in a.txt: 2 shingles",
        "  - was sold",
        "  + let to",
        "    the old",
        "… and 5 more; --full shows all",
    ):
        assert words in done.stdout, done.stdout
    whole = run("explain", "a.txt", "b.txt", "--shingle", "word:2", "--full").stdout
    assert "equal words …" not in whole
    assert "more;" not in whole


def test_moved_words(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rain, market = "rain fell all night on the town ", "the market opened late and few people came before noon "
    words = ["explain", "--string", rain + market, "--string", market + rain]
    for width in (32, 200):
        shown = run(*words, width=width).stdout
        said = " ".join(re.sub(r"\n[-+ ] ", " ", shown).split())
        assert said.count("[~1 rain fell all night on the town~]") == 2, shown
        assert "[-" not in shown
        assert "{+" not in shown
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    shown = in_a_terminal([sys.executable, "-m", "twinset", *words], tmp_path)
    assert shown.count("\x1b[3;35m~1 rain") == 2


def test_two_strings_as_json(run: Run) -> None:
    found = json.loads(run("explain", "--string", "Nadal", "--string", "Nadia", "--shingle", "char:2", "--json").stdout)
    assert found["shared"] == ["na", "ad"]
    assert found["similarity"] == pytest.approx(2 / 6)


def test_a_removed_document(run: Run, out: Path) -> None:
    done = run("explain", out, "d")
    assert done.returncode == 0, done.stderr
    first, *rest = done.stdout.splitlines()
    assert first.startswith("d was removed: it is 0.")
    assert first.endswith("similar to a, which is kept")
    assert "also removed because of that document: 1 document" in rest
    assert "[-and-]" in done.stdout
    found = json.loads(run("explain", out, "d", "--json").stdout)
    assert (found["state"], found["cluster"], found["other"]) == ("removed", "a", "a")
    assert {row["id"] for row in found["members"]} == {"c", "d"}
    mine = next(row for row in found["members"] if row["id"] == "d")
    why = found["explanation"]
    assert (why["similarity"], why["left_in_right"], why["right_in_left"]) == (
        mine["similarity"],
        mine["in_kept"],
        mine["of_kept"],
    )


@pytest.mark.parametrize(
    ("id", "words"),
    [
        ("a", "a is kept\nremoved because of it: 2 documents\n"),
        ("b", "b is kept\nno other document was removed because of it\n"),
        ("f", "f is kept: it has no words and was not compared\n"),
        ("c", "the texts are the same"),
    ],
)
def test_other_documents(run: Run, out: Path, id: str, words: str) -> None:
    assert words in run("explain", out, id).stdout


def test_a_flagged_document_and_one_of_another_source(run: Run, corpus: Path) -> None:
    assert run("dedup", corpus.name, "-o", "flagged", "--flag", "--quiet", "--threshold", "0.6").returncode == 0
    assert run("explain", "flagged", "d").stdout.startswith("d was flagged: it is 0.")
    Path("old.jsonl").write_text(json.dumps({"id": "b", "text": text(1)}) + "\n")
    done = run("dedup", corpus.name, "--against", "old.jsonl", "-o", "new", "--quiet", "--threshold", "0.6")
    assert done.returncode == 0, done.stderr
    removed = json.loads(run("explain", "new", "d", "--json").stdout)
    assert (removed["state"], removed["other"]) == ("removed", "b")
    assert removed["explanation"]["similarity"] > 0.6, "compared with the b of the other source"
    kept = json.loads(run("explain", "new", "b", "--json").stdout)
    assert (kept["state"], kept["cluster"], kept["members"]) == ("kept", None, [])


def test_ids_that_look_like_nothing_or_like_an_option(run: Run, tmp_path: Path) -> None:
    rows = [{"id": "", "text": text(1)}, {"id": "-x1", "text": text(1)}, {"id": " ", "text": text(1)}]
    (tmp_path / "odd.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run("dedup", "odd.jsonl", "-o", "odd", "--quiet").returncode == 0
    shown = run("explain", "odd", "--", "-x1").stdout
    assert shown.startswith("-x1 was removed: it is 1.0000 similar to '', which is kept\n")
    assert "\n  1.0000  ' '\n" in shown
    assert "\n  of ''       1.0000" in shown
    assert run("explain", "odd", "").stdout.startswith("'' is kept\n")


def test_one_of_a_thing_is_one(run: Run) -> None:
    shown = run("explain", "--string", "Word", "--string", "word", "--shingle", "word:1").stdout
    assert "1 of 1 shingle (word:1) is in both" in shown
    assert "1 of 1 is in the other" in shown
    assert "the only word is the same; case, punctuation or spaces differ" in shown


def test_two_documents_of_a_result(run: Run, out: Path) -> None:
    found = json.loads(run("explain", out, "a", "b", "--json").stdout)
    assert found["other"] == "b"
    assert found["explanation"]["similarity"] == 0


def test_a_source_that_moved(run: Run, out: Path, corpus: Path) -> None:
    corpus.rename(corpus.with_name("elsewhere.jsonl"))
    assert run("explain", out, "d").returncode == 2
    done = run("explain", out, "d", "--source", "elsewhere.jsonl")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["a.txt"], "1 file and 0 strings to explain; allowed: two files"),
        (["OUT", "a", "b", "c"], "followed by 3 ids; allowed: none, one or two"),
        (["OUT", "-5"], "No such option '-5'. Write an id that begins with - after --, as in: twinset explain OUT"),
        (["OUT", "--jsno"], "Did you mean '--json'? Write an id that begins with - after --"),
        (["OUT", "nothing-like-it"], "there is no document 'nothing-like-it'"),
        (["OUT", "a", "--shingle", "word:2"], "shingle is fixed by OUT"),
        (["OUT", "a", "--encoding", "latin-1"], "encoding is fixed by OUT"),
        ([".", "a"], "summary.json: there is no such file"),
        (["corpus.jsonl", "absent.txt"], "absent.txt: no such file"),
        (["corpus.jsonl", "corpus.jsonl", "--source", "x"], "--source applies only to a result folder"),
        (["corpus.jsonl", "corpus.jsonl", "--context", "-1"], "--context is -1"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(run: Run, out: Path, words: list[str], told: str) -> None:
    done = run("explain", *words)
    assert done.returncode == 2
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("width", [30, 60, 100])
def test_side_by_side_fits_the_window(run: Run, out: Path, width: int) -> None:
    done = run("explain", out, "d", width=width)
    shown = done.stdout.split("\n\n", 2)[2]
    assert all(len(line) <= width for line in shown.splitlines())
    assert ("│" in shown) is (width > 55)


def test_colours_on_a_terminal_and_no_control_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    (tmp_path / "a.txt").write_text(text(1))
    (tmp_path / "b.txt").write_text(text(1).replace(" ", " \x1b]0;owned\x07 evil\u202e ", 1))
    shown = in_a_terminal([sys.executable, "-m", "twinset", "explain", "a.txt", "b.txt"], tmp_path)
    assert "\x1b[1;38;5;136m" in shown, "what only the second has is orange and bold"
    assert "\x1b]0" not in shown
    assert "\u202e" not in shown
    assert "{+" not in shown


def test_the_kept_text_has_one_colour_and_mark_wherever_it_stands(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the report it is on the left, here on the right: blue and underlined in both."""
    twinset.dedup(corpus, output=tmp_path / "OUT")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    shown = in_a_terminal([sys.executable, "-m", "twinset", "explain", "OUT", "d"], tmp_path)
    assert "\x1b[4;94ma\x1b[0m" in shown
    assert "\x1b[1;38;5;136md\x1b[0m" in shown
    assert "\x1b[1;38;5;136mand\x1b[0m" in shown, "the word that only the removed text has"


def test_below_each_other_lines_are_folded_under_their_marks(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the old mill by the river was sold to a baker from the town last week")
    (tmp_path / "b.txt").write_text("the old mill by the river was acquired by a baker from the town last week")
    shown = run("explain", "a.txt", "b.txt", "--shingles", "1", width=32).stdout.split("+ b.txt\n")[1].split("\n\n")[0]
    lines = shown.splitlines()
    assert len(lines) > 4
    assert all(line == line.rstrip() and line[:2] in ("- ", "+ ", "  ", "… ") for line in lines)


def test_without_colours_there_are_no_codes_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    words = ["explain", "--string", "one two three", "--string", "one two four", "--shingle", "word:1"]
    shown = in_a_terminal([sys.executable, "-m", "twinset", *words], tmp_path)
    assert "[-three-]" in shown
    assert "\x1b[" not in shown


def test_a_report(run: Run, out: Path) -> None:
    done = run("report", out, "-o", "report.html")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("report: report.html (")
    assert (out.parent / "report.html").read_text("utf-8").startswith("<!doctype html>")
    found = json.loads(run("report", out, "-o", "bare.html", "--no-texts", "--json").stdout)
    assert found == {"report": "bare.html", "bytes": os.path.getsize(out.parent / "bare.html")}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["OUT"], "missing -o"),
        (["OUT", "-o", "report.pdf"], "ends in .html or .htm"),
        (["nowhere", "-o", "report.html"], "a file of rows that dedup, recut, pairs or passages wrote"),
        (["OUT", "-o", "report.html", "--clusters", "many"], "--clusters is 'many'"),
    ],
)
def test_what_is_wrong_with_a_report(run: Run, out: Path, words: list[str], told: str) -> None:
    done = run("report", *words)
    assert done.returncode == 2
    assert told in done.stderr
    assert not (out.parent / "report.html").exists()


def test_what_a_kept_document_holds_is_the_reason(run: Run, tmp_path: Path) -> None:
    words = [f"w{number}" for number in range(60)]
    texts = {"all": words, "part": words[:20], "other part": [*words[30:48], "x"]}
    source = tmp_path / "in.jsonl"
    source.write_text(
        "".join(json.dumps({"id": id, "text": " ".join(some)}) + "\n" for id, some in texts.items()), encoding="utf-8"
    )
    out = str(tmp_path / "out")
    assert run("dedup", str(source), "--contained", "0.9", "--shingle", "word:1", "-o", out, "--quiet").returncode == 0
    shown = run("explain", out, "part").stdout
    assert shown.startswith("part was removed: 1.0000 of its shingles are in all, which is kept\n")
    assert "\n  0.9474  other part\n" in shown
