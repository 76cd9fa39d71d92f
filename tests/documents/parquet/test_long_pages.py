"""Pages of long values, unpacked: whatever their bytes say, what Arrow would make of them, or nothing."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.documents.parquet.long_texts import read, texts
from tests.documents.reading import opened, read_all
from twinset.documents.parquet.long_reading import Laid, about_pages
from twinset.documents.parquet.pages import _page, column_pages
from twinset.documents.parquet.snappy_kernels import BEHIND, DAMAGED, ELEMENTS, unpack_values
from twinset.documents.parquet.thrift import Struct, read_struct, read_varint, varint, write_struct
from twinset.errors import SourceError


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


def page_bodies(path: Path) -> list[int]:
    """Where the bodies of the first column's pages begin."""
    about = pq.read_metadata(path).row_group(0).column(0)
    begin = min(about.data_page_offset, about.dictionary_page_offset or about.data_page_offset)
    data, at, found = path.read_bytes(), begin, list[int]()
    while at < begin + about.total_compressed_size:
        header, length = read_struct(data[at:], 0)
        found.append(at + length)
        at += length + header[3][1]
    return found


@pytest.mark.parametrize("codec", ["none", "snappy"])
def test_a_run_of_codes_whose_value_is_missing(tmp_path: Path, codec: Any) -> None:
    """The length of a run takes in the byte behind it, and the page ends where its value should be."""
    path = tmp_path / "in.parquet"
    one, other = "alpha " * 40_000, "beta " * 40_000
    pq.write_table(pa.table({"text": [one, *[other] * 400]}), path, compression=codec)
    assert read(path).to_pylist()[1:] == [other] * 400
    data = bytearray(path.read_bytes())
    data[data.rindex(b"\x92\x06\x01") + 1] ^= 0x80
    path.write_bytes(data)
    assert read(path) is None
    with pytest.raises(SourceError):
        read_all(opened(path), 2**30)


@pytest.mark.parametrize("codec", ["none", "snappy"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.parametrize("level", [0, 2, 255])
def test_what_is_said_of_nulls_is_looked_at(
    tmp_path: Path, codec: Any, version: Any, dictionary: bool, level: int
) -> None:
    path = tmp_path / "in.parquet"
    values = texts(12) if dictionary else texts(12)[10:]
    words: Any = {"compression": codec, "data_page_version": version, "use_dictionary": dictionary}
    pq.write_table(pa.table({"text": values}), path, data_page_size=50_000, **words)
    assert read(path).to_pylist() == values
    data, body = bytearray(path.read_bytes()), page_bodies(path)[-1]
    # behind the length of the unpacked page, the head of a literal, and that of the levels: the run, and its value
    place = body + (2 if version == "2.0" else 6 if codec == "none" else 6 + len(varint(len(values[-1]))))
    while data[place] != 1:
        place += 1
    data[place] = level
    path.write_bytes(data)
    assert read(path) is None


def test_a_second_dictionary_is_left_to_arrow(tmp_path: Path) -> None:
    dictionary = write_struct({1: (5, 2), 2: (5, 0), 3: (5, 0), 7: (12, {1: (5, 0), 2: (5, 0)})})
    values = plain([b"one", b"two"])
    about = {1: (5, 2), 2: (5, 0), 3: (5, 3), 4: (5, 3)}
    data = write_struct({1: (5, 0), 2: (5, len(values)), 3: (5, len(values)), 5: (12, about)}) + values
    for pages, is_usual in [
        ((dictionary, data), True),
        ((dictionary, dictionary, data), False),
        ((data, dictionary), False),
    ]:
        path = tmp_path / "pages"
        path.write_bytes(b"".join(pages))
        size = path.stat().st_size
        column = SimpleNamespace(compression="UNCOMPRESSED", data_page_offset=0, has_dictionary_page=False)
        vars(column).update(total_compressed_size=size, total_uncompressed_size=size, is_stats_set=False)
        group: Any = SimpleNamespace(column=lambda at, column=column: column, num_rows=2)
        with path.open("rb") as file:
            assert (column_pages(file.fileno(), group, 0, optional=False) is not None) == is_usual


@pytest.mark.parametrize(
    "about",
    [
        {5: (5, -3), 6: (5, 5)},
        {3: (5, -1)},
        {7: (9, (5, [1]))},
        {7: (12, {1: (5, 1)})},
        {2: (5, 1)},
        {5: (5, 0)},
    ],
    ids=str,
)
def test_a_strange_header_of_the_second_kind_is_no_page(about: Struct) -> None:
    good: Struct = {1: (5, 3), 2: (5, 0), 3: (5, 3), 4: (5, 0), 5: (5, 2), 6: (5, 0)}
    assert _page({1: (5, 3), 2: (5, 90), 3: (5, 60), 8: (12, good)}, 0, optional=True) is not None
    assert _page({1: (5, 3), 2: (5, 90), 3: (5, 60), 8: (12, {**good, **about})}, 0, optional=True) is None


def test_levels_of_another_encoding_and_dictionaries_of_codes_are_no_pages() -> None:
    good: Struct = {1: (5, 3), 2: (5, 0), 3: (5, 3), 4: (5, 3)}
    assert _page({1: (5, 0), 2: (5, 90), 3: (5, 60), 5: (12, good)}, 0, optional=True) is not None
    assert _page({1: (5, 0), 2: (5, 90), 3: (5, 60), 5: (12, {**good, 3: (5, 4)})}, 0, optional=True) is None
    assert _page({1: (5, 2), 2: (5, 90), 3: (5, 60), 7: (12, {1: (5, 3), 2: (5, 0)})}, 0, optional=True) is not None
    assert _page({1: (5, 2), 2: (5, 90), 3: (5, 60), 7: (12, {1: (5, 3), 2: (5, 8)})}, 0, optional=True) is None
