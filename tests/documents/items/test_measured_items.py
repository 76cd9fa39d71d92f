"""Codes, vectors and weighted lists as they are written, and .npy files."""

from __future__ import annotations

import contextlib
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import twinset
from twinset.documents.items.codes import code_of, packed_codes
from twinset.documents.items.vectors import packed_vectors, read_vector
from twinset.documents.items.weighted import packed_weighted
from twinset.documents.sources import open_sources
from twinset.errors import ColumnError, OptionError, RowError, SourceError
from twinset.options import ReadOptions


@given(st.lists(st.binary(max_size=20) | st.none(), max_size=20))
def test_digits_and_bytes_are_the_same_code(codes: list[bytes | None]) -> None:
    written = pa.array([None if one is None else one.hex() for one in codes], pa.string())
    upper = pa.array([None if one is None else "0X" + one.hex().upper() for one in codes], pa.large_string())
    assert packed_codes(pa.array(codes, pa.binary())) == (pa.array(codes, pa.large_binary()), [])
    for digits in (written, upper, written.slice(len(codes) // 2)):
        rows, bad = packed_codes(digits)
        assert (rows.to_pylist(), bad) == (codes[len(codes) - len(digits) :], [])


@given(st.lists(st.integers(-(2**31), 2**31 - 1) | st.none(), max_size=20))
def test_whole_numbers_have_the_bits_of_their_width(numbers: list[int | None]) -> None:
    rows, bad = packed_codes(pa.array(numbers, pa.int32()))
    wanted = [None if one is None else (one % 2**32).to_bytes(8, "big") for one in numbers]
    assert (rows.to_pylist(), bad) == (wanted, [])
    assert [code_of(one) for one in (5, -1, "05", b"5")] == [b"\0" * 7 + b"\5", b"\xff" * 8, b"\5", b"5"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("abc", "odd number of digits;"),
        ("1844674407370955161", "a decimal number?"),
        ("zz", "allowed: hexadecimal digits"),
        ("é0", "hexadecimal"),
        ("1 ", "hexa"),
    ],
)
def test_what_is_no_code(text: str, reason: str) -> None:
    rows, bad = packed_codes(pa.array(["00", text]))
    assert rows.to_pylist() == [b"\0", None]
    assert len(bad) == 1
    assert bad[0][0] == 1
    assert reason in bad[0][1]
    with pytest.raises(ValueError, match="the code is"):
        code_of(text + "x")


FLOATS = st.floats(width=32, allow_nan=True, allow_infinity=True)


@given(st.lists(st.lists(FLOATS, max_size=4) | st.none(), max_size=12), st.booleans())
def test_vectors_are_32_bit_floats(vectors: list[list[float] | None], directions: bool) -> None:
    columns = [pa.array(vectors, pa.list_(pa.float32())), pa.array(vectors, pa.large_list(pa.float64()))]
    for column in columns:
        rows, bad = packed_vectors(column, directions)
        wrong = [at for at, one in enumerate(vectors) if one is not None and not all(map(math.isfinite, one))]
        assert [row for row, _ in bad] == wrong
        for at, (row, vector) in enumerate(zip(rows.to_pylist(), vectors, strict=True)):
            none = vector is None or at in wrong or (directions and not any(vector))
            assert row == (None if none else (np.array(vector, "<f4") + np.float32(0)).tobytes())


def test_vectors_of_fixed_size_and_slices_of_them() -> None:
    whole = pa.array([[1, 2], None, [3, 4], [5, 6]], pa.list_(pa.int16(), 2))
    rows, bad = packed_vectors(whole.slice(1), directions=False)
    assert [None if row is None else np.frombuffer(row, "<f4").tolist() for row in rows.to_pylist()] == [
        None, [3, 4], [5, 6],
    ]  # fmt: skip
    assert bad == []
    rows, bad = packed_vectors(pa.array([[1.0, None], [1e300, 1.0]]), directions=True)
    assert rows.null_count == 2
    assert [reason.split(";")[0] for _, reason in bad] == ["the list holds null", "the vector holds 1e+300"]


FAR_OUT = [[5432101.37, 381200.12], [5432101.17, 381200.12], [5432101.62, 381200.12]]


def test_vectors_that_rounding_would_move_are_refused_by_distance(tmp_path: Path) -> None:
    np.save(tmp_path / "far.npy", FAR_OUT)
    for source in (FAR_OUT, np.array(FAR_OUT), tmp_path / "far.npy"):
        with pytest.raises(RowError, match=r".* moves this vector by 0\.13, .* the distance 0\.1; .* subtract a"):
            twinset.find_pairs(source, vectors=True, distance=0.1)
        assert twinset.find_pairs(source, vectors=True, distance=0).summary["pairs"] == 1  # as 32-bit floats
        assert twinset.find_pairs(source, vectors=True).summary["pairs"] == 3
        assert twinset.find_pairs(source, vectors=True, distance=5000).summary["pairs"] == 3
    centred = np.array(FAR_OUT) - np.mean(FAR_OUT, axis=0)
    found = twinset.find_pairs(centred, vectors=True, distance=0.21).pairs.to_pylist()
    assert [(row["left"], row["right"]) for row in found] == [("0", "1")]
    large = np.array([[2**62 + 500, 1], [2**62, 1], [2**24, 1]])
    rows, bad = packed_vectors(pa.array(list(large)), directions=False, within=1.0)
    assert ([row for row, _ in bad], rows.null_count) == ([0, 1], 2)
    assert packed_vectors(pa.array([[2**24 - 1], [3], None]), directions=False, within=0.1)[1] == []
    assert packed_vectors(pa.array(FAR_OUT, pa.list_(pa.float32())), directions=False, within=0.1)[1] == []


def test_vectors_that_are_written_as_text() -> None:
    assert read_vector("1, -2.5e3 | 0") == [1.0, -2500.0, 0.0]
    for text in ("1 two", "[1, ", '["a"]', "[true]"):
        with pytest.raises(ValueError, match=r"vector|list"):
            read_vector(text)


@given(st.lists(st.lists(st.tuples(st.integers(0, 5), st.sampled_from([0.0, 0.25, 1.0, 3.0])), max_size=6), max_size=8))
def test_weights_of_equal_elements_add_up(sets: list[list[tuple[int, float]]]) -> None:
    hashes = pa.array([np.array([one for one, _ in row], "<u8").tobytes() for row in sets], pa.large_binary())
    rows, bad = packed_weighted((hashes, []), pa.array([[w for _, w in row] for row in sets], pa.list_(pa.float64())))
    assert bad == []
    for row, given_set in zip(rows.to_pylist(), sets, strict=True):
        totals: dict[int, float] = {}
        for element, weight in given_set:
            totals[element] = totals.get(element, 0.0) + weight
        found = np.frombuffer(row, "<u8,<f8").tolist()
        assert found == sorted((element, weight) for element, weight in totals.items() if weight)


def test_weights_that_cannot_be() -> None:
    element = np.array([7], "<u8").tobytes()
    sets = pa.array([element, element, element, element, None, element], pa.large_binary())
    weights = pa.array([[-1.0], [math.nan], [1.0, 2.0], None, [1.0], [1e301]])
    rows, bad = packed_weighted((sets, []), weights)
    assert rows.null_count == 6
    assert [row for row, _ in bad] == [0, 1, 2, 3, 5]


def opened(path: Path, **words: Any) -> Any:
    return open_sources([str(path)], ReadOptions.of(**words), scratch=path.parent).parts[0]


@pytest.mark.parametrize("kind", ["<f2", "<f4", ">f8", "i1", "<u8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_files_are_read_and_written_as_they_are(kind: str, order: str, tmp_path: Path) -> None:
    array = np.array(np.arange(1, 13).reshape(6, 2) % 7, kind, order=order)
    np.save(tmp_path / "v.npy", array)
    part = opened(tmp_path / "v.npy", vectors=True)
    blocks = [chunk.read(whole=True) for chunk in part.chunks(600)]
    assert len(blocks) == 3
    rows = [np.frombuffer(row, "<f4").tolist() for block in blocks for row in block.texts.to_pylist()]
    assert rows == array.astype(float).tolist()
    writer = part.open_writer(tmp_path)
    keep = np.array([True, False, True, True, False, False])
    for block in blocks:
        writer.write(block, keep[block.first_row : block.first_row + block.rows])
    writer.close()
    made = np.load(tmp_path / "kept" / "v.npy")
    assert made.dtype == array.dtype
    assert np.array_equal(made, array[keep])


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (np.array([[{}]], object), "Python objects, which are never read"),
        (np.zeros((2, 2), complex), "the type complex128"),
        (np.zeros((2, 2), [("a", "f4")]), "the type"),
        (np.zeros((2, 2), bool), "the type bool"),
        (np.zeros(3), "the array is 3"),
        (np.zeros((2, 3, 4)), "the array is 2 × 3 × 4"),
        (np.zeros((3, 0)), "the array is 3 × 0"),
    ],
)
def test_npy_files_that_hold_no_vectors(array: Any, reason: str, tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", array, allow_pickle=True)
    with pytest.raises(SourceError, match=reason):
        opened(tmp_path / "v.npy", vectors=True)


def test_damaged_npy_files(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.zeros((10, 4)))
    whole = (tmp_path / "v.npy").read_bytes()
    for length in (0, 5, 60, 127, 200, len(whole) - 1):
        (tmp_path / "cut.npy").write_bytes(whole[:length])
        with pytest.raises(SourceError, match=r"cut\.npy"):
            opened(tmp_path / "cut.npy", vectors=True)
    for place in range(128):
        (tmp_path / "cut.npy").write_bytes(whole[:place] + bytes([whole[place] ^ 0x15]) + whole[place + 1 :])
        with contextlib.suppress(SourceError):  # anything else would be a crash
            found = opened(tmp_path / "cut.npy", vectors=True)
            assert found.shape[0] * found.row_bytes + found.start <= len(whole)


def test_what_a_npy_file_cannot_have(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.eye(3))
    with pytest.raises(SourceError, match="read them with vectors=True"):
        opened(tmp_path / "v.npy")
    for words in ({"id": "x"}, {"by": "x"}):
        with pytest.raises(ColumnError, match="names a column"):
            opened(tmp_path / "v.npy", vectors=True, **words)
    with pytest.raises(ColumnError, match="names a column"):
        opened(tmp_path / "v.npy", vectors="x")
    with pytest.raises(OptionError, match="flag adds columns"):
        twinset.dedup(tmp_path / "v.npy", vectors=True, flag=True)
    (tmp_path / "v.txt").write_text("1 2 3")
    with pytest.raises(OptionError, match="this is a text file"):
        opened(tmp_path / "v.txt", vectors=True)


def test_the_one_column_of_vectors(tmp_path: Path) -> None:
    vectors = pa.array([[1.0, 2.0], [1.0, 2.1]])
    pq.write_table(pa.table({"name": ["a", "b"], "v": vectors}), tmp_path / "one.parquet")
    pq.write_table(pa.table({"v": vectors, "w": vectors}), tmp_path / "two.parquet")
    assert twinset.find_pairs(tmp_path / "one.parquet", vectors=True).summary["pairs"] == 1
    with pytest.raises(ColumnError, match="there are 'v', 'w': name one"):
        twinset.find_pairs(tmp_path / "two.parquet", vectors=True)
    assert twinset.find_pairs(tmp_path / "two.parquet", vectors="w").summary["pairs"] == 1
    with pytest.raises(ColumnError, match="must hold lists of numbers, not binary"):
        twinset.find_pairs(pa.table({"v": pa.array([b"x"])}), vectors="v")
    (tmp_path / "rows.jsonl").write_text('{"v": [1, 2]}\n')
    with pytest.raises(ColumnError, match="needs the name of a column"):
        twinset.find_pairs(tmp_path / "rows.jsonl", vectors=True)


def test_every_format_says_the_same(tmp_path: Path) -> None:
    codes = [5, 7, 2**63 + 1, 5]
    vectors = [[0.5, 1.0], [0.5, 1.25], [-3.0, 0.0], [0.5, 1.0]]
    with (tmp_path / "items.jsonl").open("w") as lines, (tmp_path / "items.csv").open("w") as table:
        table.write("code,v\n")
        for code, vector in zip(codes, vectors, strict=True):
            lines.write(json.dumps({"code": code, "v": vector}) + "\n")
            table.write(f"{code:016x},{' '.join(map(str, vector))}\n")
    held = pa.table({"code": pa.array(codes, pa.uint64()), "v": vectors})
    pq.write_table(held, tmp_path / "items.parquet")
    for words in ({"codes": "code", "distance": 2}, {"vectors": "v", "distance": 0.3}, {"vectors": "v"}):
        found = []
        for ending in ("jsonl", "csv", "parquet"):
            pairs = twinset.find_pairs(tmp_path / f"items.{ending}", **words).pairs.to_pylist()
            found.append([{**row, **{side: row[side].rsplit(":")[-1] for side in ("left", "right")}} for row in pairs])
        assert found[0] == found[1] == found[2]
        assert found[0]


@pytest.mark.parametrize(
    ("line", "words", "reason"),
    [
        ('{"c": 1.5}', {"codes": "c"}, "a code must be a whole number"),
        ('{"c": true}', {"codes": "c"}, "a code must be a whole number"),
        ('{"c": "xyz"}', {"codes": "c"}, "allowed: hexadecimal digits"),
        ('{"d": 1}', {"codes": "c"}, "there is no (key|column) 'c'"),
        ('{"c": [1, "a"]}', {"vectors": "c"}, "must hold only numbers"),
        ('{"c": 3}', {"vectors": "c"}, "must hold a list of numbers"),
        ('{"c": [1e400]}', {"vectors": "c"}, "finite|JSON"),
        ('{"e": ["a"], "c": [1, 2]}', {"items": "e", "weight": "c"}, "1 element and 2 weights"),
        ('{"e": ["a"], "c": [-1]}', {"items": "e", "weight": "c"}, "a weight is -1"),
    ],
)
def test_malformed_rows_are_named(line: str, words: dict[str, Any], reason: str, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(line + "\n")
    with pytest.raises((RowError, ColumnError), match=reason):
        twinset.find_pairs(tmp_path / "rows.jsonl", **words)
    found = twinset.find_pairs(tmp_path / "rows.jsonl", on_error="skip", **words)
    assert found.summary["unreadable"] == 1


def test_blanks_around_a_code_are_no_part_of_it() -> None:
    """In text, in JSON and in Python alike."""
    texts = [" ff", "ff\t", "  0x01 ", " ", "", None, " f f", "\u00a0ff"]
    rows, bad = packed_codes(pa.array(texts))
    assert rows.to_pylist() == [b"\xff", b"\xff", b"\1", b"", b"", None, None, None]
    assert [row for row, _ in bad] == [6, 7]
    for text, row in zip(texts[:5], rows.to_pylist(), strict=False):
        assert code_of(text) == row
    for text in texts[6:]:
        with pytest.raises(ValueError, match="hexadecimal"):
            code_of(text)


@pytest.mark.parametrize(
    ("line", "words", "reason"),
    [
        ('{"t": [1, "x"]}', {"vectors": "t"}, "line 1: the list 't' must hold only numbers, but holds 'x'$"),
        ('{"t": [1, null]}', {"vectors": "t"}, "only numbers, but holds null$"),
        ('{"t": {}}', {"vectors": "t"}, "'t' must hold a list of numbers, not a JSON object$"),
        ('{"t": [["x"]]}', {"items": "t"}, "must hold strings or numbers, but holds a list$"),
        ('{"t": "xyz"}', {"codes": "t"}, "such as c3a51f0000000000$"),
        ('{"t": 1.5}', {"codes": "t"}, "or hexadecimal digits, not a number$"),
    ],
)
def test_a_reason_says_what_came_once(line: str, words: dict[str, Any], reason: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(RowError) as raised:
        twinset.find_pairs(path, **words)
    assert re.search(reason, str(raised.value).removesuffix('; use on_error="skip" to skip such rows'))
