"""Rows that are objects, in a format that is no text: each object stands after its length in four bytes.

What JSON lines do because they are lines (blank ones dropped, counted from 1, cut at line feeds) must not happen here.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pytest

from tests.documents.reading import read_all, write_all
from twinset.documents import Sources
from twinset.documents.compressed import open_reader
from twinset.documents.formats.byte_rows import Numbers, Records, split_records
from twinset.documents.formats.object_values import MalformedRow
from twinset.documents.formats.objects import ObjectsPart
from twinset.errors import ColumnError, RowError
from twinset.options import ReadOptions


class LengthScanner:
    """Rows end where their lengths say."""

    def __init__(self) -> None:
        self._left, self._length = 0, b""

    def feed(self, piece: bytes) -> tuple[Numbers, Numbers | None]:
        ends, at = [], 0
        while at < len(piece):
            if not self._left:
                taken = piece[at : at + 4 - len(self._length)]
                self._length, at = self._length + taken, at + len(taken)
                if len(self._length) < 4:
                    break
                self._left, self._length = int.from_bytes(self._length, "little"), b""
            step = min(self._left, len(piece) - at)
            at, self._left = at + step, self._left - step
            if not self._left:
                ends.append(at)
        return np.array(ends, np.int64), None

    def finish(self) -> None:
        """Objects have no fields."""


class LengthPart(ObjectsPart):
    """A file of objects, each after its length."""

    format = "lengths"

    def split(self, batch_bytes: int) -> Generator[Records, None, None]:
        with open_reader(self.path or "", self.codec, self.name) as stream:
            yield from split_records(stream, LengthScanner(), batch_bytes, drop_blank=False)

    def parse(self, row: memoryview) -> Any:
        try:
            return orjson.loads(row[4:])
        except orjson.JSONDecodeError as error:
            return MalformedRow(f"not JSON: {error.msg}")

    def add_flags(self, row: bytes, values: tuple[Any, ...]) -> bytes:
        return packed([orjson.dumps({**orjson.loads(row[4:]), **dict(zip(self.flag_names, values, strict=True))})])

    def rewrite_text(self, row: bytes, text: str) -> bytes:
        return packed([orjson.dumps({**orjson.loads(row[4:]), str(self.options.text): text})])


def packed(rows: list[bytes]) -> bytes:
    return b"".join(len(row).to_bytes(4, "little") + row for row in rows)


def part_of(path: Path, rows: list[bytes], **words: Any) -> LengthPart:
    path.write_bytes(packed(rows))
    part = LengthPart(path.name, 0, ReadOptions.of(**words), path)
    part.kept_name = PurePosixPath(path.name)
    return part


ROWS = [orjson.dumps({"id": f"d{i}", "text": f"{i}\n\n \0 text"}) for i in range(300)]


@pytest.mark.parametrize("batch_bytes", [16, 600, 2**20])
def test_rows_are_cut_by_their_lengths_alone(tmp_path: Path, batch_bytes: int) -> None:
    part = part_of(tmp_path / "in", ROWS)
    rows = read_all([part], batch_bytes)
    assert rows.texts == [f"{i}\n\n \0 text".encode() for i in range(300)]
    assert rows.ids == [f"d{i}" for i in range(300)]


def test_kept_rows_are_the_same_bytes(tmp_path: Path) -> None:
    write_all(Sources([part_of(tmp_path / "in", ROWS)]), tmp_path / "out", lambda part, row: row % 3 == 1)
    assert (tmp_path / "out" / "kept" / "in").read_bytes() == packed(ROWS[1::3])


def test_flags_are_added_as_the_format_adds_them(tmp_path: Path) -> None:
    flags = pa.table({"cluster": ["d0"] * 2, "duplicate_of": [None, "d0"], "similarity": [None, 0.5]})
    part = part_of(tmp_path / "in", ROWS[:2])
    part.check_flag()
    write_all(Sources([part]), tmp_path / "out", flags=flags, flag=True)
    data = (tmp_path / "out" / "kept" / "in").read_bytes()
    first = 4 + int.from_bytes(data[:4], "little")
    second = {"id": "d1", "text": "1\n\n \0 text", "cluster": "d0", "duplicate_of": "d0", "similarity": 0.5}
    assert orjson.loads(data[first + 4 :]) == second


@pytest.mark.parametrize(
    ("row", "reason"),
    [(b" \n ", "not JSON"), (b"[1]", "each row must hold an object, not a list"), (b"{}", "there is no key")],
)
def test_a_malformed_row_is_named_by_its_number_and_a_blank_one_is_malformed(
    tmp_path: Path, row: bytes, reason: str
) -> None:
    rows = [*ROWS[:2], row, ROWS[2]]
    with pytest.raises(RowError, match=f"in, row 2, counted from 0: {reason}"):
        read_all([part_of(tmp_path / "in", rows)])
    skipped = read_all([part_of(tmp_path / "in", rows, on_error="skip")])
    assert [at for at, _ in skipped.unreadable] == [2]
    assert skipped.unreadable[0][1].startswith(f"row 2, counted from 0: {reason}")
    assert len(skipped.texts) == 4


def test_columns_are_the_keys_of_the_first_rows(tmp_path: Path) -> None:
    with pytest.raises(ColumnError, match="there is no column 'body'; the columns are 'id', 'text'"):
        part_of(tmp_path / "in", ROWS, text="body")
