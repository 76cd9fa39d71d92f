"""Data as it lies around, on the command line: read, recut, explained and added to an index alike."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import twinset
from tests.pictures import encoded, scene
from twinset.errors import SourceError
from twinset.options.formats import DELIMITERS

from .conftest import Call, text

ROWS = [("a", text(1)), ("b", text(1).replace(" ", " and ", 1)), ("c", text(2))]


def as_csv(delimiter: str) -> bytes:
    return "".join(f"{id}{delimiter}{body}\n" for id, body in ROWS).encode()


def test_a_data_set_with_its_readme(call: Call, tmp_path: Path) -> None:
    (tmp_path / "set/data").mkdir(parents=True)
    pq.write_table(pa.table({"id": ["a", "b"], "text": [text(1), text(1)]}), tmp_path / "set/data/train-0.parquet")
    (tmp_path / "set/README.md").write_text("about")
    summary = call("dedup", "set", "-o", "out", "--json").json
    assert (summary["documents"], summary["removed"]) == (2, 1)
    assert summary["skipped"] == [["set/README.md", "documentation or settings beside tables"]]
    (tmp_path / "set/notes.txt").write_text("a note")
    done = call("dedup", "set", "-o", "texts", "--quiet")
    assert done.code == 0
    assert done.err == (
        "warning: 1 table in a folder of texts (set/data/train-0.parquet): rows are not read; to read them, choose the "
        "tables with --include '*.parquet'\n"
    )


def test_the_last_lines_of_a_folder_of_texts(call: Call, tmp_path: Path) -> None:
    (tmp_path / "in/.git").mkdir(parents=True)
    (tmp_path / "in/.hidden").write_text("a text")
    (tmp_path / "in/a.txt").write_bytes(text(1).encode() + b" caf\xe9")
    (tmp_path / "in/b.txt").write_text(text(2))
    done = call("dedup", "in", "-o", "out")
    assert "skipped 2 hidden files and links, such as in/.git/ (hidden)\n" in done.err
    assert "undecodable bytes in a.txt; --encoding names another encoding, such as cp1252\n" in done.out
    assert "files to keep: out/kept.txt (a list; --copy copies them to out/kept)\n" in done.out
    assert ["in/.git/", "hidden"] in json.loads((tmp_path / "out/summary.json").read_text())["skipped"]
    done = call("dedup", "in", "-o", "copied", "--copy")
    assert "clean data: copied/kept\nfiles to keep: copied/kept.txt\n" in done.out
    assert "skipped  1 file and 1 folder, such as in/.git/ (hidden)" in call("dedup", "in", "--dry-run").out


def test_python_is_not_spoken_of_on_the_command_line(call: Call) -> None:
    said = call("dedup", "missing.txt", "-o", "out").refusal
    assert said.endswith("give a path, a pattern, - for JSON lines on stdin")
    with pytest.raises(SourceError, match=r"on stdin \(give texts in a list\)$"):
        twinset.dedup("missing.txt")


def test_one_damaged_picture_is_named(call: Call, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for seed in range(3):
        (tmp_path / f"in/{seed}.png").write_bytes(encoded(scene(seed)))
    (tmp_path / "in/1.png").write_bytes(encoded(scene(1))[:300])
    summary = call("dedup", "in", "--images", "-o", "out", "--json").json
    assert (summary["documents"], summary["kept"], summary["unreadable"]) == (3, 2, 1)
    assert pq.read_table(tmp_path / "out/unreadable.parquet")["id"].to_pylist() == ["1.png"]
    assert "in/1.png" in call("dedup", "in", "--images", "-o", "stop", "--on-error", "stop").refusal


def test_half_a_surrogate_pair(call: Call) -> None:
    line = rb'{"id":"a","text":"half \ud800 of it"}'
    assert call("pairs", "-", "--json", stdin=line).json["replaced"] == 1
    assert "surrogate" in call("pairs", "-", "--on-error", "stop", stdin=line).refusal
    assert call("pairs", "-", "--on-error", "skip", "--json", stdin=line).json["unreadable"] == 1


@pytest.mark.parametrize(("format", "delimiter"), DELIMITERS.items())
def test_rows_that_are_no_json_on_stdin_name_the_format(call: Call, format: str, delimiter: str) -> None:
    data = f"id{delimiter}text\n".encode() + as_csv(delimiter)
    said = call("dedup", "-", "-o", "out", stdin=data).refusal
    assert "stdin, line 1: not JSON: " in said
    assert f"if these are not JSON lines, name the format, such as --format {format}, or use --lines; " in said
    done = call("dedup", "-", "-o", "out", "--on-error", "skip", "--quiet", stdin=data)
    assert done.err.startswith("warning: none of 4 documents can be read, such as 'stdin:0': line 1: not JSON: ")
    assert f"--format {format}" in done.err
    assert call("dedup", "-", "-o", "named", "--format", format, "--json", stdin=data).json["documents"] == 3


def test_a_folder_without_a_readable_file_is_warned_of(call: Call, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in "ab":
        (tmp_path / f"in/{name}.txt.gz").write_bytes(b"\x1f\x8bxx")
    done = call("dedup", "in", "-o", "out", "--on-error", "skip", "--quiet")
    assert done.err.startswith("warning: none of 2 documents can be read, such as 'a.txt.gz': the gzip is damaged")
    (tmp_path / "in/c.txt").write_text("a text")
    assert call("dedup", "in", "-o", "other", "--on-error", "skip", "--quiet").err == ""


@pytest.mark.parametrize("kind", ["csv", "json", "zip"])
def test_options_of_reading_are_used_again(call: Call, tmp_path: Path, kind: str) -> None:
    how: list[str] = []
    if kind == "csv":
        (tmp_path / "in.dat").write_bytes(as_csv("|"))
        how = ["in.dat", "--format", "csv", "--delimiter", "|", "--no-header", "--id", "0", "--text", "1"]
    elif kind == "json":
        (tmp_path / "in.json").write_text(json.dumps([{"id": id, "text": body} for id, body in ROWS], indent=2))
        how = ["in.json"]
    else:
        with zipfile.ZipFile(tmp_path / "in.zip", "w") as archive:
            archive.writestr("rows.csv", b"id,text\n" + as_csv(","))
        how = ["in.zip"]
    assert call("dedup", *how, "-o", "out", "--json").json["removed"] == 1
    assert "b was removed" in call("explain", "out", "b").out
    assert call("recut", "out", "--threshold", "0.99", "-o", "cut", "--json").json["removed"] == 0
    kept = sorted(path.name for path in (tmp_path / "cut/kept").iterdir())
    assert kept == [{"csv": "in.dat", "json": "in.json", "zip": "in.csv.zip"}[kind]]
    assert call("dedup", f"cut/kept/{kept[0]}", *how[1:], "-o", "again", "--json").json["documents"] == 3
    assert call("index", "create", "news.twinset").code == 0
    assert call("index", "add", "news.twinset", *how, "--json").json["added"] == 3
    assert call("report", "out", "-o", "report.html").code == 0


@pytest.mark.parametrize(("format", "delimiter"), DELIMITERS.items())
def test_compressed_stdin_of_separated_values(call: Call, tmp_path: Path, format: str, delimiter: str) -> None:
    header = f"id{delimiter}text\n".encode()
    data = gzip.compress(header + as_csv(delimiter))
    summary = call("dedup", "-", "--format", format, "-o", "out", "--json", stdin=data).json
    assert (summary["removed"], summary["options"]["format"]) == (1, format)
    kept = gzip.decompress((tmp_path / f"out/kept/stdin.{format}.gz").read_bytes())
    assert kept.startswith(header + f"a{delimiter}".encode())


def test_wrong_values_say_what_is_allowed(call: Call) -> None:
    assert "jsonl, json, csv" in call("pairs", "in", "--format", "xls").refusal
    assert "allowed: one ASCII character" in call("pairs", "in", "--delimiter", "ab").refusal
    assert "--format does not apply to pictures" in call("pairs", "in", "--images", "--format", "csv").refusal
