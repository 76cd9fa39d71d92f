"""``twinset textbook``: a page of the bundled sample, or of what a person names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run


def test_the_bundled_sample(run: Run, tmp_path: Path) -> None:
    done = run("textbook", "-o", "page.html", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "55 documents of <bdi>the bundled sample</bdi>" in page
    again = run("textbook", "-o", "page.html", "--force", "--json")
    assert json.loads(again.stdout) == {"page": "page.html", "bytes": len(page.encode())}
    assert (tmp_path / "page.html").read_text("utf-8") == page


def test_a_folder_of_texts(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "letters & notes"
    folder.mkdir()
    for number in range(4):
        (folder / f"{number}.txt").write_text(f"the same letter to number {number}")
    done = run("textbook", folder, "-o", tmp_path / "page.html", "--shingle", "word:2", "--no-texts")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"page: {tmp_path / 'page.html'} (")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "4 documents of <bdi>letters &amp; notes</bdi>, compared pair by pair: 6 pairs" in page
    assert "the same letter" not in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-o", "page.txt"), "the report is 'page.txt'; allowed: a name that ends in .html or .htm"),
        (("-o", "there.html"), "there.html exists; choose another output, or replace it with --force"),
        (("--text", "body", "-o", "p.html"), "--text cannot be used without a SOURCE; name one, or leave it out"),
        (("--documents", "1", "-o", "p.html"), "--documents is 1; allowed: a whole number from 2 to 2000"),
        (("--shingle", "auto", "-o", "p.html"), "shingle is 'auto'; allowed"),
        (("one.jsonl", "-o", "p.html"), "the sources hold 1 document with words, and pairs need two; name another"),
        (("one.jsonl", "--text", "a", "--text", "b", "-o", "p.html"), "this command shows pairs of texts"),
        (("nowhere", "-o", "p.html"), "nowhere: there is no such file or folder"),
        ((), "Missing option '-o'"),
    ],
)
def test_errors(run: Run, tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    (tmp_path / "there.html").write_text("mine")
    (tmp_path / "one.jsonl").write_text('{"text": "only one"}\n{"text": ""}\n')
    done = run("textbook", *words)
    assert done.returncode == 2
    assert message in done.stderr
    lines = [line for line in done.stderr.splitlines() if not line.startswith("reading:")]
    assert len(lines) == 1
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.jsonl", "there.html"]
    assert (tmp_path / "there.html").read_text() == "mine"


def test_settings_are_obeyed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "twinset.toml").write_text('[textbook]\nshingle = "word:2"\n')
    assert run("textbook", "-o", "page.html").returncode == 0
    assert "<td>word:2</td>" in (tmp_path / "page.html").read_text("utf-8")
