"""Long values read from pages as they are or of Snappy: what Arrow would read, and nothing where a page is unusual."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.documents.reading import opened, read_all
from twinset.documents.long_reading import Laid, LongReading, about_pages
from twinset.documents.long_values import long_columns
from twinset.documents.pages import _page
from twinset.documents.snappy_kernels import BEHIND, DAMAGED, ELEMENTS, unpack_values
from twinset.documents.thrift import Struct, read_struct, read_varint, varint, write_struct
from twinset.errors import SourceError

ROWS = 500


def texts(seed: int) -> list[str]:
    chance = random.Random(seed)
    words = ["".join(chance.choices("abcdefghijé漢", k=chance.randint(1, 12))) for _ in range(300)]
    found = [" ".join(chance.choices(words, k=chance.randint(60, 400))) for _ in range(ROWS)]
    found[7], found[8], found[9] = "", "a" * 70_000, "xy" * 9_000
    return found


def read(path: Path, name: str = "text", groups: list[int] | None = None) -> Any:
    metadata, schema = pq.read_metadata(path), pq.read_schema(path)
    reading = LongReading(path, metadata, long_columns(metadata, schema))
    wanted = list(range(metadata.num_row_groups)) if groups is None else groups
    return reading.read(name, wanted, schema.field(name).type)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()], ids=str)
@pytest.mark.parametrize("nullable", [True, False])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.parametrize("codec", ["snappy", "none"])
def test_it_is_what_arrow_reads(
    tmp_path: Path, kind: Any, nullable: bool, version: Any, dictionary: bool, codec: Any
) -> None:
    path = tmp_path / "in.parquet"
    column = pa.array(texts(1), pa.string()).cast(kind)
    table = pa.table([column], schema=pa.schema([pa.field("text", kind, nullable)]))
    words = {"use_dictionary": dictionary, "dictionary_pagesize_limit": 50_000, "data_page_size": 20_000}
    pq.write_table(table, path, row_group_size=180, data_page_version=version, compression=codec, **words)
    found = read(path)
    assert found is not None
    assert found.type == kind
    assert found.equals(column)
    found.validate(full=True)
    assert read(path, groups=[1]).equals(column.slice(180, 180))


def test_rows_that_repeat_stay_coded_by_their_dictionary(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    half = pa.array([texts(2)[row if row < 300 else row - 300] for row in range(ROWS)])
    pq.write_table(pa.table({"text": half}), path)
    assert read(path).equals(half)


@pytest.mark.parametrize(
    "words",
    [
        {"column_encoding": "DELTA_BYTE_ARRAY", "use_dictionary": False},
        {"column_encoding": "DELTA_LENGTH_BYTE_ARRAY", "use_dictionary": False},
        {"write_statistics": False},
    ],
    ids=lambda words: "-".join(map(str, words.values())),
)
def test_what_is_unusual_is_left_to_arrow(tmp_path: Path, words: dict[str, Any]) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"text": texts(3)}), path, **words)
    assert read(path) is None
    assert read_all(opened(path)).texts == [text.encode() for text in texts(3)]


def test_nulls_are_left_to_arrow(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    values = [None if row == 70 else text for row, text in enumerate(texts(4))]
    pq.write_table(pa.table({"text": values, "id": range(ROWS)}), path, row_group_size=100)
    assert read(path) is None
    assert read(path, groups=[3]).to_pylist() == texts(4)[300:400]
    found = read_all(opened(path))
    assert found.texts == [None if text is None else text.encode() for text in values]


def test_whole_rows_keep_their_schema_and_order(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    table = pa.table({"id": range(ROWS), "text": texts(5), "tags": [["a"]] * ROWS, "more": texts(6)})
    table = table.replace_schema_metadata({"note": "mine"})
    pq.write_table(table, path, row_group_size=120)
    [part] = opened(path).parts
    blocks = [chunk.read(whole=True) for chunk in part.chunks(2**16)]
    assert pa.concat_tables([block.payload for block in blocks]).equals(pq.read_table(path), check_metadata=True)


def test_a_checksum_that_does_not_hold_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"text": texts(7)}), path, write_page_checksum=True, use_dictionary=False)
    assert read(path).to_pylist() == texts(7)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert read(path) is None
    with pytest.raises(SourceError):
        read_all(opened(path))


@pytest.mark.parametrize("seed", range(40))
def test_damage_is_never_worse_than_an_error(tmp_path: Path, seed: int) -> None:
    """Flipped bytes: what is read is what Arrow reads, or Arrow is left to refuse it."""
    path = tmp_path / "in.parquet"
    chance = random.Random(seed)
    words: Any = {"use_dictionary": seed % 2 == 0, "compression": "snappy" if seed % 4 < 2 else "none"}
    pq.write_table(pa.table({"text": texts(8)[:60]}), path, data_page_size=9000, **words)
    data = bytearray(path.read_bytes())
    body = len(data) - int.from_bytes(data[-8:-4], "little") - 8
    for _ in range(chance.choice([1, 3, 50])):
        data[chance.randrange(4, body)] = chance.randrange(256)
    path.write_bytes(data)
    found = read(path)
    if found is not None:
        assert found.cast(pa.binary()).equals(pq.read_table(path)["text"].combine_chunks().cast(pa.binary()))


@pytest.mark.parametrize(
    "words",
    [{}, {"data_page_version": "2.0"}, {"compression": "none"}, {"compression": "zstd"}, {"use_dictionary": False}],
)
def test_the_longest_value_of_a_dictionary(tmp_path: Path, words: dict[str, Any]) -> None:
    path = tmp_path / "in.parquet"
    names = [f"{row % 90:03}" * (row % 7 + 1) for row in range(ROWS)]
    table = pa.table({"id": range(ROWS), "name": names, "gap": [None, *names[1:]], "text": texts(3)})
    pq.write_table(table, path, row_group_size=ROWS // 2, **words)
    metadata = pq.read_metadata(path)
    found = LongReading(path, metadata, long_columns(metadata, pq.read_schema(path)))
    expected = None if "zstd" in words.values() or "use_dictionary" in words else 21
    assert [found.longest_coded(group, 1) for group in range(2)] == [expected] * 2
    assert found.longest_coded(0, 2) is None


def unpacked(pages: list[bytes], sizes: list[int], counts: list[int]) -> list[list[bytes]] | None:
    """The values of up to three pages that are unpacked together, without levels."""
    space = np.zeros(sum(len(page) + BEHIND for page in pages) + sum(sizes), np.uint8)
    known, at = list[Laid](), 0
    for stream, size, count in zip(pages, sizes, counts, strict=True):
        end = at + len(stream)
        space[at:end] = np.frombuffer(stream, np.uint8)
        known.append(Laid(at + read_varint(stream, 0)[1], end, size, True, False, count))
        at = end + BEHIND + size
    values, upto = np.empty(sum(sizes), np.uint8), np.zeros(sum(counts) + 1, np.int64)
    if unpack_values(space, about_pages(known), ELEMENTS, values, upto, 0) == DAMAGED:
        return None
    found = [values[upto[row] : upto[row + 1]].tobytes() for row in range(sum(counts))]
    return [found[sum(counts[:k]) : sum(counts[: k + 1])] for k in range(len(pages))]


def plain(values: list[bytes]) -> bytes:
    return b"".join(len(value).to_bytes(4, "little") + value for value in values)


def packed(values: list[bytes]) -> bytes:
    return bytes(pa.Codec("snappy").compress(plain(values), asbytes=True))


@settings(deadline=None, max_examples=300)
@given(
    st.lists(
        st.binary(max_size=90) | st.builds(lambda a, n: a * n, st.binary(min_size=1, max_size=20), st.integers(0, 9000))
    )
)
def test_any_bytes_come_back(values: list[bytes]) -> None:
    if values:
        assert unpacked([packed(values)], [len(plain(values))], [len(values)]) == [values]


@settings(deadline=None, max_examples=300)
@given(st.binary(min_size=1, max_size=400), st.integers(0, 5000), st.integers(1, 20))
def test_any_elements_are_unpacked_or_refused(elements: bytes, size: int, count: int) -> None:
    """Within the bounds of its buffers, whatever the bytes say."""
    found = unpacked([varint(size) + elements], [size], [count])
    if found is not None:
        assert pa.Codec("snappy").decompress(varint(size) + elements, size, asbytes=True) == plain(found[0])


def wordy(seed: int, size: int) -> list[bytes]:
    """Texts of words, about that many bytes of them, some very long and some of one letter or nothing."""
    chance = random.Random(seed)
    words = [chance.randbytes(chance.randint(1, 9)) for _ in range(3000)]
    found, done = list[bytes](), 0
    while done < size:
        found.append(b" ".join(chance.choices(words, k=chance.choice([0, 1, 30, 300, 3000]))))
        found.append(bytes([chance.randrange(256)]) * chance.choice([0, 3, 40, 4000]))
        done += len(found[-1]) + len(found[-2])
    return found


@pytest.mark.parametrize("sizes", [[300_000], [300_000, 200_000], [300_000, 90_000, 500_000], [5, 400_000, 70_000]])
def test_pages_are_unpacked_by_turns(sizes: list[int]) -> None:
    pages = [wordy(seed, size) for seed, size in enumerate(sizes)]
    assert unpacked([packed(one) for one in pages], [len(plain(one)) for one in pages], list(map(len, pages))) == pages


@pytest.mark.parametrize("seed", range(60))
def test_damage_in_pages_that_are_unpacked_by_turns(seed: int) -> None:
    """What is not refused is what Arrow makes of it: behind 64 kB, where copies are looked at less closely."""
    chance = random.Random(seed)
    pages = [wordy(number, 150_000) for number in range(3)]
    sizes, streams = [len(plain(one)) for one in pages], [bytearray(packed(one)) for one in pages]
    for stream in streams[: chance.randint(1, 3)]:
        for _ in range(chance.choice([0, 1, 5])):
            place = chance.randrange(len(stream) // 2, len(stream))
            stream[place] = chance.choice([0, 1, 2, 255, chance.randrange(256)])
    found = unpacked([bytes(stream) for stream in streams], sizes, list(map(len, pages)))
    if found is not None:
        for stream, size, one in zip(streams, sizes, found, strict=True):
            assert pa.Codec("snappy").decompress(bytes(stream), size, asbytes=True) == plain(one)


@pytest.mark.parametrize("change", [-1, 1])
def test_a_page_that_is_shorter_or_longer_than_it_says(change: int) -> None:
    pages = [wordy(number, 150_000) for number in range(3)]
    sizes = [len(plain(one)) for one in pages]
    sizes[1] += change
    assert unpacked([packed(one) for one in pages], sizes, list(map(len, pages))) is None


def far_copy() -> bytes:
    """A stream with a copy from more than 64 kB back, which only some programs write."""
    body = random.Random(1).randbytes(70_000)
    before = plain([body])
    literal = bytes([62 << 2]) + (len(before) - 1).to_bytes(3, "little") + before
    length = bytes([3 << 2]) + (64).to_bytes(4, "little")
    copy = bytes([3 | 63 << 2]) + (len(before)).to_bytes(4, "little")
    return varint(len(before) + 68) + literal + length + copy


def test_a_far_copy() -> None:
    body = random.Random(1).randbytes(70_000)
    assert unpacked([far_copy()], [len(plain([body])) + 68], [2]) == [[body, body[:64]]]


@pytest.mark.parametrize("dictionary", [True, False])
def test_some_rows_of_a_large_row_group(tmp_path: Path, dictionary: bool) -> None:
    path = tmp_path / "in.parquet"
    table = pa.table({"id": range(ROWS), "text": texts(9)})
    words = {"dictionary_pagesize_limit": 100_000, "data_page_size": 9000}
    pq.write_table(table, path, use_dictionary=dictionary, **words)
    metadata = pq.read_metadata(path)
    reading = LongReading(path, metadata, long_columns(metadata, table.schema))
    for start, stop in [(0, 1), (0, ROWS), (3, 90), (90, 91), (ROWS - 1, ROWS), (250, 400)]:
        found = reading.read("text", [0], pa.string(), range(start, stop))
        assert found.to_pylist() == texts(9)[start:stop]
    for batch in (2**10, 2**13, 2**16):
        rows = read_all(opened(path), batch, whole=True)
        assert rows.texts == [text.encode() for text in texts(9)]
        assert rows.ids == [str(row) for row in range(ROWS)]


@pytest.mark.parametrize("copy", [bytes([2 | 3 << 2, 0, 0]), bytes([1, 0])], ids=["two bytes", "one byte"])
def test_a_copy_of_nothing_is_refused(copy: bytes) -> None:
    literal = (20).to_bytes(4, "little") + b"sixteen letters."
    stream = varint(24) + bytes([(len(literal) - 1) << 2]) + literal + copy
    assert unpacked([stream], [24], [1]) is None


def test_a_number_without_an_end_is_refused() -> None:
    with pytest.raises(ValueError, match="64 bits"):
        read_varint(b"\xff" * 100, 0)
    with pytest.raises(IndexError):
        read_struct(bytes([0x19, 0xF7, *varint(1 << 60)]), 0)  # a list of that many doubles


@pytest.mark.parametrize("header", [{1: (5, 0), 2: (5, 9), 3: (5, 9), 5: (9, (5, []))}, {1: (5, 0)}, {}])
def test_a_strange_header_is_no_page(header: Struct) -> None:
    assert _page(header, 0, optional=True) is None


def test_a_page_that_begins_with_no_number_is_left_to_arrow(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"text": texts(10)}), path, use_dictionary=False)
    data = bytearray(path.read_bytes())
    header, at = read_struct(bytes(data), pq.read_metadata(path).row_group(0).column(0).data_page_offset)
    data[at : at + 12] = b"\xff" * 12
    path.write_bytes(data)
    assert header[1][1] == 0
    assert read(path) is None
    with pytest.raises(SourceError):
        read_all(opened(path))


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_statistics_that_hide_a_null_are_not_believed(tmp_path: Path, version: Any) -> None:
    path = tmp_path / "in.parquet"
    values = [None if row == 5 else text for row, text in enumerate(texts(11)[10:34])]
    pq.write_table(pa.table({"text": values}), path, data_page_version=version)
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    footer, _ = read_struct(data[-8 - length : -8], 0)
    statistics = footer[4][1][1][0][1][1][1][0][3][1][12][1]
    assert statistics[3] == (6, 1)
    statistics[3] = (6, 0)
    made = write_struct(footer)
    path.write_bytes(data[: -8 - length] + made + len(made).to_bytes(4, "little") + b"PAR1")
    assert pq.read_metadata(path).row_group(0).column(0).statistics.null_count == 0
    assert read(path) is None
    assert read_all(opened(path)).texts[5] is None


def test_pages_that_are_large_beside_a_piece_are_left_to_arrow(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    table = pa.table({"text": texts(12)})
    pq.write_table(table, path, data_page_size=2**30, write_batch_size=ROWS, use_dictionary=False)
    [part] = opened(path).parts
    chunks = list(part.chunks(2**14))
    assert len(chunks) > 10
    blocks = [chunk.read() for chunk in chunks]
    assert sum(block.nbytes for block in blocks) < 2 * table.nbytes
    assert [text for block in blocks for text in block.texts.to_pylist()] == texts(12)
