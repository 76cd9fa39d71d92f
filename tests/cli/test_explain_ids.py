"""Ids as ``twinset explain`` prints them: whole, and so that they can be pasted; files that are no documents."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from pathlib import Path

import pytest

import twinset
from tests.cli.conftest import Run, text
from tests.cli.screen.test_show import in_a_terminal
from twinset.cli.screen import show

STEM = "https://www.example.org/section/36/some-very-long-slug-that-goes-on-and-on-and-on-for-every-page"
URLS = [f"{STEM}-{number}-and-has-the-same-end-everywhere.html" for number in range(4)]


@pytest.fixture
def out(run: Run, tmp_path: Path) -> str:
    rows = [*zip(URLS, (text(1), text(1), text(2), f"{text(2)} more"), strict=True)]
    lines = "".join(json.dumps({"id": id, "text": words}) + "\n" for id, words in rows)
    (tmp_path / "crawl.jsonl").write_text(lines)
    done = run("dedup", "crawl.jsonl", "-o", "OUT", "--quiet")
    assert done.returncode == 0, done.stderr
    return "OUT"


def test_the_list_of_clusters_has_whole_ids(run: Run, out: str) -> None:
    shown = run("explain", out).stdout
    assert f"1 removed because of {URLS[0]}, such as {URLS[1]} (1.0000 similar)\n" in shown
    assert "…" not in shown


def test_in_a_pipe_no_id_is_cut(run: Run, out: str) -> None:
    for words in ((URLS[3],), (URLS[2],), (URLS[2], URLS[0])):
        shown = run("explain", out, *words).stdout
        names = [re.escape(one) for one in URLS]
        assert not re.findall(r"\S*…\S+|\S+…\S*", shown.replace("\n", " ")), shown
        assert re.search(f"^  of ({'|'.join(names)}) +0", shown, re.M), shown
    shown = run("explain", out, URLS[3]).stdout
    assert shown.startswith(f"{URLS[3]} was removed: it is 0.")
    assert f"similar to {URLS[2]}, which is kept\n" in shown
    assert f"\nonly in {URLS[3]}: 1 shingle\n" in shown


def test_a_terminal_cuts_ids_only_in_the_table_and_keeps_them_distinct(out: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "twinset", "explain", out]
    listed = in_a_terminal(command, tmp_path, width=80).split()
    assert f"{URLS[0]}," in listed
    assert URLS[3] in listed
    shown = in_a_terminal([*command, URLS[3]], tmp_path, width=80).splitlines()
    assert all(any(url in line for line in shown) for url in URLS[2:])
    table = [line for line in shown if line.startswith("  of ")]
    assert all(len(line) <= 80 for line in table)
    assert len({line.split()[1] for line in table}) == 2
    wide = in_a_terminal([*command, URLS[3]], tmp_path, width=250).splitlines()
    assert any(line.startswith(f"  of {URLS[3]}  ") for line in wide)


def test_a_missed_pair_has_whole_ids() -> None:
    missed = {"left": URLS[0], "right": "bad\\udce9name.txt", "similarity": 0.9}
    seen = {"documents": 9, "pairs": 2, "found": 1, "recall": 0.5, "low": 0.1, "high": 0.9, "missed": [missed]}
    assert show.audit(seen)[1].endswith(f"such as '{URLS[0]}', 'bad\\udce9name.txt' at 0.9000")


def test_what_a_message_suggests_works_when_it_is_pasted(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    Path(os.fsdecode(os.fsencode(folder) + b"/bad\xe9name.txt")).write_text(text(1))
    (folder / "it's here.txt").write_text(text(1))
    assert run("dedup", "folder", "-o", "OUT", "--quiet").returncode == 0
    for wrong, name in (("bad-name.txt", "bad\\udce9name.txt"), ("its here.txt", "it's here.txt")):
        done = run("explain", "OUT", wrong)
        pasted = shlex.split(done.stderr.partition("did you mean ")[2].strip().removesuffix("?"))
        assert pasted == [name]
        assert run("explain", "OUT", *pasted).returncode == 0
    raw = run("explain", "OUT", "bad\udce9name.txt")  # as the shell completes it
    assert raw.stdout.startswith("bad\\udce9name.txt "), raw.stderr


def test_a_path_as_it_was_typed_leads_to_the_id(run: Run, tmp_path: Path) -> None:
    (tmp_path / "folder/sub").mkdir(parents=True)
    (tmp_path / "folder/sub/notes.md").write_text(text(1))
    assert run("dedup", "folder", "-o", "OUT", "--quiet").returncode == 0
    assert "did you mean 'sub/notes.md'?" in run("explain", "OUT", "folder/sub/notes.md").stderr


def test_a_skipped_file_has_its_reason(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.txt").write_text(text(1))
    (folder / "wide.txt").write_bytes(text(1).encode("utf-16"))
    assert run("dedup", "folder", "-o", "OUT", "--quiet").returncode == 0
    for name in ("wide.txt", "folder/wide.txt"):
        done = run("explain", "OUT", name)
        assert done.returncode == 2
        assert f"'{name}' is not a document of OUT: folder/wide.txt was skipped: looks like UTF-16" in done.stderr


def test_an_unreadable_row_has_its_reason(run: Run, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps({"text": text(1)}) + '\n{"text": 7}\n')
    assert run("dedup", "rows.jsonl", "--on-error", "skip", "-o", "OUT", "--quiet").returncode == 0
    (row,) = twinset.open_result("OUT").recorded.table("unreadable").to_pylist()
    shown = run("explain", "OUT", row["id"]).stdout
    assert shown.startswith(f"{row['id']} could not be read and was skipped: {row['reason']}\n")
    assert json.loads(run("explain", "OUT", row["id"], "--json").stdout)["reason"] == row["reason"]
