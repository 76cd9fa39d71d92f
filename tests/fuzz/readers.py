"""Every reader of files that others write, as the process that reads hostile ones: one file after another.

    python -m tests.fuzz.readers

takes lines ``[reader, path]`` in JSON and answers each with ``["ok", …]``, ``["refused", message]`` or
``["wrong", what]``. It is a process of its own so that one which dies is seen, and its file kept.
"""

from __future__ import annotations

import csv
import io
import json
import resource
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

import twinset
from tests.documents.reading import Rows, opened, read_all
from twinset.errors import TwinsetError

MEMORY = 8 * 2**30
"""Bytes of address space: a file that asks for more is to be refused, not to take the machine."""

TEXTS = {f"d{number}": f"text {number % 7} of a few, é and 漢字, number {number % 5}" for number in range(40)}
OPTIONS = {"shingle": "word:2", "threshold": 0.5, "seed": 1}


class WrongError(Exception):
    """A file was read, and what was read is not what it holds."""


def expect(holds: bool, what: str) -> None:
    """Raise unless something holds."""
    if not holds:
        raise WrongError(what)


def json_lines(path: Path) -> None:
    """Lines that Python's json reads are read the same; those that it refuses are unreadable."""
    rows = read_all(opened(path, on_error="skip"), 256)
    unreadable = {row for row, _ in rows.unreadable}
    lines = [line for line in path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()]
    expect(len(rows.texts) == len(lines), f"{len(rows.texts)} rows of {len(lines)} lines")
    for row, line in enumerate(lines):
        try:
            value = json.loads(line.decode("utf-8"))
        except UnicodeDecodeError:
            continue  # replaced, which has tests of its own
        except (ValueError, RecursionError):
            expect(row in unreadable, f"line {row} is no JSON and was read: {line!r}")
            continue
        text = value.get("text") if isinstance(value, dict) else None
        if row not in unreadable and isinstance(text, str):
            expect(rows.texts[row] == text.encode("utf-8", "replace"), f"line {row}: {rows.texts[row]!r}, not {text!r}")
        if text is not None and not isinstance(text, str):
            expect(row in unreadable, f"line {row} has no text and was read: {line!r}")
    read_all(opened(path, on_error="stop"), 256)  # which refuses the first such line


def separated(path: Path) -> None:
    """Records of as many fields as the header are read as Python's csv reads them."""
    _compare_records(path, read_all(opened(path, on_error="skip"), 256))
    read_all(opened(path, on_error="stop"), 256)


def _compare_records(path: Path, rows: Rows) -> None:
    data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode("utf-8")
        records = [one for one in csv.reader(io.StringIO(text, newline=""), strict=True) if one]
    except (UnicodeDecodeError, csv.Error):
        return  # stray quotes are read by RFC 4180 here, and refused or read otherwise there
    if "\0" in text or _stray_quote(text) or not records or "text" not in records[0]:
        return
    place, unreadable = records[0].index("text"), {row for row, _ in rows.unreadable}
    expect(len(rows.texts) == len(records) - 1, f"{len(rows.texts)} rows of {len(records) - 1} records")
    for row, record in enumerate(records[1:]):
        whole = len(record) == len(records[0])
        expect(whole or row in unreadable, f"record {row} has {len(record)} fields and was read")
        if row not in unreadable:
            expect(rows.texts[row] == record[place].encode(), f"record {row}: {rows.texts[row]!r}")


def _stray_quote(text: str) -> bool:
    """Whether a quote stands where the two readers need not agree: within a field that does not begin with one."""
    return any(
        '"' in part.strip('"').replace('""', "") for part in text.replace("\n", ",").replace("\r", ",").split(",")
    )


def vectors(path: Path) -> None:
    """The array is what NumPy reads, without pickles."""
    rows = read_all(opened(path, vectors=True, on_error="skip"), 256)
    found = np.load(path, allow_pickle=False)
    expect(len(rows.texts) == len(found), f"{len(rows.texts)} rows of {len(found)}")
    unreadable = {row for row, _ in rows.unreadable}
    for row, one in enumerate(found):
        if row not in unreadable and rows.texts[row] is not None:
            read = np.frombuffer(rows.texts[row], np.float32)
            expect(np.array_equal(read, one.astype(np.float32)), f"row {row}: {read}, not {one}")


def table(path: Path) -> None:
    """Texts are what Arrow reads; what it refuses is refused."""
    rows = read_all(opened(path, on_error="skip"), 256)
    try:
        read: Any = pq.read_table(path) if path.suffix == ".parquet" else _arrow(path)
        column = read.column("text")
        expected = column.cast(pa.large_binary()).to_pylist()
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        _same_as_arrow_column(path, rows)
        return
    _compare(rows, expected)


def _compare(rows: Rows, expected: list[bytes | None]) -> None:
    expect(len(rows.texts) == len(expected), f"{len(rows.texts)} rows of {len(expected)}")
    unreadable = {row for row, _ in rows.unreadable}
    for row, (one, other) in enumerate(zip(rows.texts, expected, strict=True)):
        expect(row in unreadable or one == other, f"row {row}: {one!r}, not {other!r}")


def _same_as_arrow_column(path: Path, rows: Rows) -> None:
    """A damaged column that is not asked for may be left unread, and only that."""
    expect(path.suffix == ".parquet", "Arrow refuses the file, and it was read")
    try:
        read = pq.ParquetFile(path).read(columns=["text"])
    except (pa.ArrowException, OSError) as error:
        raise WrongError(f"Arrow refuses the column of texts, and it was read: {error}") from error
    _compare(rows, read.column("text").cast(pa.large_binary()).to_pylist())


def _arrow(path: Path) -> pa.Table:
    is_file = path.read_bytes().startswith(b"ARROW1")  # a stream may end like a file, and open_file looks at the end
    with pa.OSFile(str(path)) as file:
        return (pa.ipc.open_file if is_file else pa.ipc.open_stream)(file).read_all()


def sketches(path: Path) -> None:
    """Pairs of a sketch file, and the file put together anew."""
    with tempfile.TemporaryDirectory() as folder:
        twinset.find_pairs(path, threshold=0.5)
        twinset.sketch(path, output=Path(folder) / "again.parquet")


def export(path: Path) -> None:
    """An exported index is imported as it was, or not at all."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "new.twinset"
        with closing(twinset.Index.import_from(path, place)) as index:
            expect(index.verify() == [], "an imported index is damaged")
            expect(index.texts(list(index)) == list(TEXTS.values()), "other texts were imported")
            expect(list(index) == list(TEXTS), "other ids were imported")


READERS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "jsonl": (".jsonl", json_lines),
    "csv": (".csv", separated),
    "npy": (".npy", vectors),
    "parquet": (".parquet", table),
    "arrow": (".arrow", table),
    "sketches": (".parquet", sketches),
    "export": (".parquet", export),
}


def valid_files(reader: str, folder: Path) -> list[Path]:
    """Good files for a reader, small, and of every layout that it knows."""
    both = pa.table({"id": list(TEXTS), "text": list(TEXTS.values()), "n": range(len(TEXTS))})
    made: list[Path] = []

    def place(name: str) -> Path:
        made.append(folder / name)
        return made[-1]

    if reader == "jsonl":
        lines = [json.dumps({"id": id, "text": text}, ensure_ascii=len(id) > 2) for id, text in TEXTS.items()]
        place("a.jsonl").write_text("\n".join(lines[:12]) + "\n", "utf-8")
        place("b.jsonl").write_bytes(b'\xef\xbb\xbf{"text":"a"}\r\n\n{"text":null}\n{"id":3,"text":"\\u00e9\\n"}')
    elif reader == "csv":
        place("a.csv").write_text(
            "id,text\n" + "".join(f'{id},"{text}"\n' for id, text in [*TEXTS.items()][:12]), "utf-8"
        )
        place("b.csv").write_bytes(b'text,"x,y"\r\n"a ""quoted"" text","1\r\n2"\r\n\r\nplain,\r\n')
    elif reader == "npy":
        dice = np.random.default_rng(1)
        np.save(place("a.npy"), dice.standard_normal((9, 4)).astype(np.float32))
        np.save(place("b.npy"), np.asfortranarray(dice.standard_normal((5, 3))))
        np.save(place("c.npy"), np.arange(12, dtype=">f2").reshape(3, 4))
    elif reader == "parquet":
        pq.write_table(both, place("a.parquet"), row_group_size=15)
        pq.write_table(both, place("b.parquet"), compression="none", use_dictionary=False, write_page_checksum=True)
        pq.write_table(both, place("c.parquet"), compression="zstd", data_page_version="2.0")
    elif reader == "arrow":
        pa.feather.write_feather(both, place("a.arrow"), compression="uncompressed", chunksize=15)
        pa.feather.write_feather(both, place("b.arrow"), compression="lz4")
        with pa.ipc.new_stream(str(place("c.arrow")), both.schema) as stream:
            stream.write_table(both, 15)
    elif reader == "sketches":
        for sketch in ("fss", "kperm", "bottom-k"):
            twinset.sketch(TEXTS, sketch=sketch, shingle="word:2", output=place(f"{sketch}.parquet"))
    else:
        with closing(twinset.Index.create(folder / "one.twinset", **OPTIONS)) as index:
            index.add(TEXTS)
            index.export(place("export.parquet"))
    return made


def read(reader: str, path: Path) -> tuple[str, str]:
    """Read one file, and say what came of it."""
    try:
        READERS[reader][1](path)
    except WrongError as error:
        return "wrong", str(error)
    except TwinsetError as error:
        return "refused", str(error)
    except BaseException:
        return "wrong", traceback.format_exc()
    return "ok", ""


def main() -> None:
    """Answer until there are no more lines."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for line in sys.stdin:
        reader, path = json.loads(line)
        print(json.dumps(read(reader, Path(path))), flush=True)


if __name__ == "__main__":
    main()
