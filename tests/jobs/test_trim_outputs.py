"""What trim writes: every row in the format of its source, or all in one file; nothing else, and nothing elsewhere."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import twinset
from tests.jobs.test_one_file import read
from tests.reliability.command import bytes_of
from twinset.errors import OptionError, OutputError
from twinset.options.formats import ROW_ENDINGS

HEAD = "All rights reserved by the Company of the Lake"
TEXTS = [f"{HEAD}. The harbour froze.", f"The bakery burned. {HEAD.upper()}!", "Nothing of it — « nichts »."]
KEPT = [TEXTS[0], "The bakery burned. […]!", TEXTS[2]]
ROWS: list[dict[str, Any]] = [
    {"id": f"../../{at}", "text": text, "n": at, "tags": [at], "more": None} for at, text in enumerate(TEXTS)
]
WORDS: dict[str, Any] = {"least": 5, "mark": "[…]"}
TABLES = {"cuts.parquet", "left.parquet", "documents.parquet", "sources.parquet", "summary.json"}


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS), encoding="utf-8")
    return path


def write_as(path: Path) -> Path:
    """The rows in the format of a name."""
    rows = [{name: row[name] for name in ("id", "text", "n")} for row in ROWS]
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=2)
    elif path.suffix in (".arrow", ".feather"):
        pa.feather.write_feather(pa.Table.from_pylist(rows), path)
    elif path.suffix in (".csv", ".tsv"):
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, ["id", "text", "n"], delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    else:
        data = "".join(json.dumps(row) + "\n" for row in rows).encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize(
    "name", ["a.jsonl", "a.jsonl.gz", "a.ndjson", "a.json", "a.csv", "a.tsv", "a.parquet", "a.arrow", "a.feather"]
)
def test_rows_stay_in_the_format_of_their_source(tmp_path: Path, name: str) -> None:
    source, out = write_as(tmp_path / name), tmp_path / "out"
    done = twinset.trim(source, output=out, **WORDS)
    assert [path.name for path in (out / "kept").iterdir()] == [name]
    rows = json.loads((out / "kept" / name).read_text()) if name == "a.json" else read(out / "kept" / name)
    assert [row["text"] for row in rows] == KEPT
    assert [(row["id"], str(row["n"])) for row in rows] == [(row["id"], str(row["n"])) for row in ROWS]
    assert {path.name for path in out.iterdir()} >= TABLES
    assert sorted(path.name for path in tmp_path.iterdir()) == [name, "out"]
    assert done.cuts["id"].to_pylist() == ["../../1"]
    assert done.summary == json.loads((out / "summary.json").read_text())
    with pytest.raises(OptionError, match=r"the rows were written to .*out; without output they are kept in memory"):
        _ = done.kept


def test_untouched_rows_keep_their_bytes(tmp_path: Path) -> None:
    first = b'{"text":  "%s", "n": 1.50, "u": "\\u00e9"}\r\n' % TEXTS[0].encode()
    second = b'{"n": 1e3,"text" : "%s", "u": [ ] }' % TEXTS[1].encode()
    (tmp_path / "in.jsonl").write_bytes(first + b"\n" + second)
    twinset.trim(tmp_path / "in.jsonl", output=tmp_path / "out", **WORDS)
    kept = (tmp_path / "out/kept/in.jsonl").read_bytes()
    assert kept.startswith(first)
    changed = kept.removeprefix(first).strip()
    assert (changed[:20], changed[-12:]) == (b'{"n": 1e3,"text" : "', b', "u": [ ] }')
    assert json.loads(changed)["text"] == KEPT[1]


@pytest.mark.parametrize("ending", ROW_ENDINGS)
def test_all_rows_in_one_file(tmp_path: Path, lines: Path, ending: str) -> None:
    out = tmp_path / f"clean{ending}"
    done = twinset.trim(lines, output=out, **WORDS)
    assert [row["text"] for row in read(out)] == KEPT
    details = tmp_path / f"clean{ending}.details"
    assert {path.name for path in details.iterdir()} >= TABLES
    assert not (details / "kept").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([out.name, details.name, "in.jsonl"])
    assert done.cuts["because_of"].to_pylist() == ["../../0"]


def test_every_file_of_a_folder_of_texts_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    (folder / "deep" / "er").mkdir(parents=True)
    files = {
        "a.txt": TEXTS[0].encode(),
        "deep/b.txt": b"\xef\xbb\xbf" + TEXTS[1].encode(),
        "deep/er/c.txt": TEXTS[2].encode("utf-8"),
        "deep/er/d.txt": HEAD.encode() + b" caf\xe9 \xff",
        "empty.txt": b"",
        "plain.txt": b"caf\xe9, untouched\r\n",
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    out = tmp_path / "out"
    done = twinset.trim(folder, output=out, **WORDS)
    kept = {path.relative_to(out / "kept").as_posix(): path for path in (out / "kept").rglob("*") if path.is_file()}
    found = {name.removeprefix("texts/"): path.read_bytes() for name, path in kept.items()}
    assert found.keys() == files.keys()
    assert found["a.txt"] == files["a.txt"]
    assert found["deep/b.txt"].decode("utf-8-sig") == KEPT[1]
    assert found["deep/er/c.txt"] == files["deep/er/c.txt"]
    assert found["deep/er/d.txt"].decode("utf-8") == " caf\ufffd \ufffd"
    assert found["empty.txt"] == b""
    assert (done.summary["documents"], done.summary["empty"], done.summary["replaced"]) == (6, 1, 2)
    for path in kept.values():
        assert not path.is_symlink()
        assert path.stat().st_nlink == 1, "a kept file must not be the file of the source"


def test_the_summary_counts_and_names_every_row(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    lines = [json.dumps({"text": TEXTS[0]}), "{broken", json.dumps({"text": None}), json.dumps({"text": TEXTS[1]})]
    path.write_text("\n".join([*lines, json.dumps({"other": 1}), json.dumps({"text": " ... "})]))
    done = twinset.trim(path, output=tmp_path / "out", on_error="skip", **WORDS)
    summary = done.summary
    assert [summary[name] for name in ("documents", "unreadable", "empty")] == [6, 2, 2]
    unreadable = pq.read_table(tmp_path / "out/unreadable.parquet").to_pylist()
    assert [row["id"] for row in unreadable] == [f"{path}:1", f"{path}:4"]
    kept = read(tmp_path / "out/kept/in.jsonl")
    assert [row["text"] for row in kept] == [KEPT[0], None, KEPT[1], " ... "]


def test_details_as_csv(tmp_path: Path, lines: Path) -> None:
    twinset.trim(lines, output=tmp_path / "out", details_format="csv", **WORDS)
    with open(tmp_path / "out" / "cuts.csv") as file:
        [row] = csv.DictReader(file)
    assert (row["id"], row["because_of"], row["because_start"]) == ("../../1", "../../0", "0")


def test_an_output_that_exists_is_not_replaced_unasked(tmp_path: Path, lines: Path) -> None:
    out = tmp_path / "out"
    twinset.trim(lines, output=out, **WORDS)
    before = bytes_of(out)
    with pytest.raises(OutputError, match=r"out exists; .*force=True"):
        twinset.trim(lines, output=out, least=2)
    assert bytes_of(out) == before
    twinset.trim(lines, output=out, force=True, **WORDS)
    assert bytes_of(out).keys() == before.keys()
    with pytest.raises(OutputError, match=r"in.jsonl would be replaced, and .*in.jsonl is read from there"):
        twinset.trim(lines, output=lines, force=True, **WORDS)


def test_texts_that_cannot_be_changed_are_refused(tmp_path: Path) -> None:
    chat = tmp_path / "chat.jsonl"
    chat.write_text(json.dumps({"text": [{"role": "user", "content": TEXTS[0]}]}) + "\n")
    with pytest.raises(twinset.TwinsetError, match=r"chat.jsonl.*text"):
        twinset.trim(chat, output=tmp_path / "out", **WORDS)
    assert not (tmp_path / "out").exists()
