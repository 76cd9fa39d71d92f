"""Ids and file names that are tricks: they come back as they were, and nothing is written outside the output."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.reliability.command import twinset, write_lines

IDS = [
    "../../etc/passwd", "/etc/passwd", "..", ".", "", " ", "a\nb", "a\r\nb\tc", "nul\0nul",
    "'; DROP TABLE documents; --",
    '" OR 1=1 --', "`id`", "$(id)", "%s%n{0}", "\\", "-rf", "--force", "emoji 👩‍👩‍👧 🇩🇪", "e\u0301 é",
    "שלום", "\ufeffmark",
    "<script>alert(1)</script>", "null", "NaN", "=1+1", "a,b", 'quote"quote', "x" * 1024, "\U0010ffff", "\u2028line",
    "CON", "file:0", "../in.jsonl:0",
]  # fmt: skip


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_ids_come_back_as_they_were(tmp_path: Path, ending: str) -> None:
    text = "a text that all of them share, word for word, from the first to the last"
    source = write_lines(tmp_path / "in.jsonl", [{"id": id, "text": text} for id in IDS])
    out = tmp_path / f"pairs.{ending}"
    assert twinset("pairs", source, "-o", out, "--identical", "link").code == 0
    if ending == "csv":
        import csv

        with open(out, newline="", encoding="utf-8") as file:
            rights = [row["right"] for row in csv.DictReader(file)]
    elif ending == "jsonl":
        rights = [json.loads(line)["right"] for line in out.read_text("utf-8").split("\n")[:-1]]
    else:
        rights = pq.read_table(out)["right"].to_pylist()
    assert rights == IDS[1:]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", out.name]


def test_ids_in_a_result_folder(tmp_path: Path) -> None:
    rows = [{"id": id, "text": f"text number {number} of its own kind {number}"} for number, id in enumerate(IDS)]
    source = write_lines(tmp_path / "in.jsonl", [*rows, {**rows[0], "id": "copy"}])
    assert twinset("dedup", source, "-o", tmp_path / "out").code == 0
    assert pq.read_table(tmp_path / "out/clusters.parquet")["id"].to_pylist() == [*IDS, "copy"]
    assert pq.read_table(tmp_path / "out/removed.parquet")["because_of"].to_pylist() == [IDS[0]]
    kept = (tmp_path / "out/kept/in.jsonl").read_bytes()
    assert source.read_bytes().startswith(kept)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out"]


NAMES = [
    "-rf", "--force", "a\nb.txt", "tab\t.txt", "sp ace.txt", "quo'te\".txt", "emoji 🙂.txt", "é.txt", "e\u0301.txt",
    "*.txt", "[a].txt", "~", "$HOME", "..txt", "...", "back\\slash", "x" * 200, "%2e%2e%2f", "deep/-o/..x/file",
]  # fmt: skip


def test_file_names_are_copied_as_they_are(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    contents = {}
    for number, name in enumerate(NAMES):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        contents[name] = f"text number {number} which no other file has {number}\n".encode()
        path.write_bytes(contents[name])
    hidden = {name for name in NAMES if any(part.startswith(".") for part in name.split("/"))}
    odd = os.fsencode(folder) + b"/not \xff UTF-8.txt"
    with open(odd, "wb") as file:
        file.write(b"a name that is not valid text\n")
    done = twinset("dedup", folder, "-o", tmp_path / "out", "--copy", "--json")
    assert done.code == 0, done.err
    assert done.summary["kept"] == len(NAMES) - len(hidden) + 1
    kept = tmp_path / "out/kept"
    found = {os.fsencode(path.relative_to(kept)): path.read_bytes() for path in kept.rglob("*") if path.is_file()}
    assert found.pop(b"not \xff UTF-8.txt") == b"a name that is not valid text\n"
    assert found == {os.fsencode(name): data for name, data in contents.items() if name not in hidden}
    listed = (tmp_path / "out/kept.txt").read_bytes().decode().splitlines()
    ids = pq.read_table(tmp_path / "out/clusters.parquet")["id"].to_pylist()
    assert [json.loads(line) if line.startswith('"') else line for line in listed] == ids
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "texts"]


def test_paths_with_dots_stay_inside_the_output(tmp_path: Path) -> None:
    for name in ("one/a.txt", "two/a.txt", "three/deep/a.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"the text of {name}, which is like no other: {name}")
    here = tmp_path / "one"
    words = ["../two/a.txt", "../one/../three/deep/a.txt", "./a.txt", "-o", "../result/out", "--copy"]
    done = twinset("dedup", *words, cwd=here)
    assert done.code == 0, done.err
    kept = tmp_path / "result/out/kept"
    found = sorted(path.relative_to(kept).as_posix() for path in kept.rglob("*") if path.is_file())
    assert found == ["deep/a.txt", "one/a.txt", "two/a.txt"]
    assert sorted(path.name for path in (tmp_path / "result").iterdir()) == ["out"]


def test_a_name_that_looks_like_an_option(tmp_path: Path) -> None:
    (tmp_path / "--force").write_text("a text in a file of an odd name")
    assert twinset("dedup", "--json", "-o", "out", "--", "--force", cwd=tmp_path).summary["documents"] == 1


def test_links_are_not_followed_out_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("not for the output")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/a.txt").write_text("for the output")
    (tmp_path / "texts/link.txt").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "texts/up").symlink_to(tmp_path)
    done = twinset("dedup", tmp_path / "texts", "-o", tmp_path / "out", "--copy", "--json")
    assert done.summary["documents"] == 1
    assert [path.name for path in (tmp_path / "out/kept").iterdir()] == ["a.txt"]
