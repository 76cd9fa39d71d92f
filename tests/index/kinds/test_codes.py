"""An index of bit codes answers what comparing the query with every code gives, in both homes, whatever the codes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import twinset
from tests import oracles
from tests.index.conftest import NewIndex
from twinset.errors import OptionError, SourceError
from twinset.index.kinds import codes as coded
from twinset.index.kinds import kernels

Row = tuple[str, int]


def near(codes: dict[str, bytes], query: bytes, distance: float = np.inf, k: int | None = None) -> list[Row]:
    """The true answers: of equally near ones the one added first."""
    asked = int.from_bytes(query, "big")
    found = [(id, (int.from_bytes(code, "big") ^ asked).bit_count()) for id, code in codes.items() if code]
    return [row for row in sorted(found, key=lambda row: row[1]) if row[1] <= distance][:k]


def rows(table: Any) -> list[Row]:
    return list(zip(table.column("id").to_pylist(), table.column("distance").to_pylist(), strict=True))


def made(count: int, width: int, seed: int = 1, *, skewed: bool = False) -> dict[str, bytes]:
    """Codes, a third of them near others; skewed ones have few ones, and most of them behind."""
    rng = np.random.default_rng(seed)
    shares = np.linspace(0.0, 0.6, 8 * width) ** 2 if skewed else np.full(8 * width, 0.5)
    bits = rng.random((count, 8 * width)) < shares
    for row in range(2 * count // 3, count):
        bits[row] = bits[rng.integers(0, count // 2)]
        turned = rng.integers(0, 8 * width, rng.integers(0, 6))
        bits[row, turned] = ~bits[row, turned]
    return {str(row): np.packbits(one).tobytes() for row, one in enumerate(bits)}


@pytest.mark.parametrize(("width", "skewed"), [(8, False), (8, True), (16, True), (5, False), (1, False), (40, True)])
def test_answers_are_those_of_comparing_all(new_index: NewIndex, width: int, skewed: bool) -> None:
    codes = made(300, width, skewed=skewed)
    index = new_index(codes="hash", distance=4)
    assert index.add(list(codes), list(codes.values())).added == 300
    asked = dict(list(codes.items())[::29])
    for words in ({}, {"distance": 0}, {"distance": 11}, {"k": 1}, {"k": 7}, {"k": 4, "distance": 3}, {"k": 400}):
        found: dict[str, list[Row]] = {id: [] for id in asked}
        table = index.query(asked, **words)
        for query, row in zip(table.column("query").to_pylist(), rows(table), strict=True):
            found[query].append(row)
        limit = words.get("distance", np.inf if "k" in words else 4)
        assert found == {id: near(codes, code, limit, words.get("k")) for id, code in asked.items()}, words
        assert rows(index.query(asked["0"], **words)) == found["0"]
        assert set(table.column("recall").to_pylist()) <= {1.0}
        assert not any(table.column("estimate").to_pylist())
    alone = {id: code for id, code in codes.items() if id != "29"}
    assert rows(index.similar_to("29", k=3)) == near(alone, codes["29"], k=3)
    assert index.verify() == []


CODES = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.binary(min_size=width, max_size=width), min_size=1, max_size=60)
)


@settings(max_examples=25, deadline=None)
@given(CODES, st.integers(0, 9), st.integers(0, 24), st.integers(1, 8))
def test_any_codes_by_look_ups_and_by_comparing(codes: list[bytes], planned: int, asked: int, k: int) -> None:
    """The same answers whether look-ups are thought to cost little or more than everything."""
    held = {str(row): code for row, code in enumerate(codes)}
    with (
        tempfile.TemporaryDirectory() as folder,
        pytest.MonkeyPatch.context() as patch,
        twinset.Index.create(Path(folder) / "codes", codes="hash", distance=planned, seed=1) as index,
    ):
        index.add(list(held), codes)
        for seek in (0.01, 1e9):
            patch.setattr(coded, "_SEEK", seek)
            assert rows(index.query(codes[0], distance=asked)) == near(held, codes[0], asked)
            assert rows(index.query(codes[-1], k=k)) == near(held, codes[-1], k=k)
            assert rows(index.query(codes[-1], k=k, distance=asked)) == near(held, codes[-1], asked, k)


@pytest.mark.parametrize(("bits", "distance"), [(8, 0), (8, 9), (64, 3), (64, 6), (128, 3), (32768, 40)])
def test_blocks(bits: int, distance: int) -> None:
    """No bit is in two blocks, and a block fits a key."""
    plan = coded.make_plan(bits, distance)
    cut = coded.blocks(bits, plan.tables)
    places = np.concatenate(cut)
    assert len(set(places.tolist())) == len(places) <= bits
    assert places.max() < bits
    assert {len(block) for block in cut} == {min(32, bits // plan.tables)}


@pytest.mark.parametrize("words", [1, 2, 5])
def test_kernels_are_their_oracles(words: int) -> None:
    rng = np.random.default_rng(words)
    left, right = (rng.integers(0, 2**64, (size, words), np.uint64) for size in (9, 40))
    lefts, rights = rng.integers(0, 9, 70), rng.integers(0, 40, 70)
    out = np.empty(70, np.uint32)
    kernels.differing_bits(left, right, lefts, rights, out)
    each = zip(lefts, rights, strict=True)
    assert out.tolist() == [oracles.differing_codes(left[one], right[other]) for one, other in each]
    places, bits = np.empty(40, np.int64), np.empty(40, np.uint32)
    count = kernels.within_bits(left[0], right, 32 * words, places, bits)
    every = [(row, oracles.differing_codes(left[0], one)) for row, one in enumerate(right)]
    found = list(zip(places[:count].tolist(), bits[:count].tolist(), strict=True))
    assert found == [pair for pair in every if pair[1] <= 32 * words]


def test_keys_stay_what_they_are(new_index: NewIndex) -> None:
    """Whatever was written must be found by later versions."""
    index = new_index(codes="hash", distance=3)
    index.add(["a"], ["0123456789abcdef"])
    [keys] = index.band_keys([0x0123456789ABCDEF]).tolist()
    assert keys == [1668256, -1641489219, 1014510802]
    bits = f"{0x0123456789ABCDEF:064b}"
    for number, key in enumerate(keys):
        block = [bits[(number + 3 * place) * 64 // 63] for place in range(21)]
        whole = sum(int(bit) << place for place, bit in enumerate(block)) ^ (number * 0x9E3779B1 % 2**32)
        assert key % 2**32 == whole


def test_codes_as_they_are_written(new_index: NewIndex, tmp_path: Path) -> None:
    index = new_index(codes="hash", distance=2)
    index.add(["n", "b", "x"], [255, bytes(7) + b"\xfe", "0x00000000000000fc"])
    index.add(["array"], np.array([2**63], np.uint64))
    file = tmp_path / "more.csv"
    file.write_text("id,other\nfile,ff\n")
    (tmp_path / "more.jsonl").write_text('{"id": "json", "hash": "00000000000000ff"}\n{"id": "none", "hash": null}\n')
    assert index.add(tmp_path / "more.jsonl").empty == 1
    with pytest.raises(SourceError, match="the code has 8 bits, and those of the index have 64 bits"):
        index.add(file, codes="other")
    done = index.add(file, codes="other", on_error="skip")
    assert (done.added, done.unreadable, done.named[0][0]) == (0, 1, f"{file}:0")
    expected = [("n", 0), ("json", 0), ("b", 1), ("x", 2)]
    for query in (255, "00000000000000FF", bytes(7) + b"\xff", np.uint64(255)):
        assert rows(index.query(query)) == expected
    assert index.query([255, 2**63]).column("query").to_pylist() == ["0"] * 4 + ["1"]
    assert list(index) == ["n", "b", "x", "array", "json", "none"]
    assert index.similar_to("none").num_rows == 0


def test_what_has_no_meaning_is_refused(new_index: NewIndex) -> None:
    for words, said in (
        ({"shingle": "char:3"}, "shingle does not apply to bit codes"),
        ({"store": "none"}, "store does not apply to bit codes"),
        ({"threshold": 0.9}, "threshold does not apply to bit codes"),
        ({"vectors": "v"}, "codes= and vectors=True each select"),
        ({"distance": 2.5}, "whole number of bits"),
        ({"bits": 12}, "multiple of 8"),
    ):
        with pytest.raises(OptionError, match=said):
            new_index(codes="hash", **words)
    with pytest.raises(OptionError, match="distance does not apply to texts"):
        new_index(distance=3)
    index = new_index(codes="hash", bits=64)
    with pytest.raises(SourceError, match="the code has 16 bits, and those of the index have 64"):
        index.add(["a"], ["00ff"])
    with pytest.raises(SourceError, match=r"code number 1 cannot be read.*hexadecimal digits"):
        index.add(["a", "b"], [1, "xyz"])
    with pytest.raises(OptionError, match="2 ids and 1 codes"):
        index.add(["a", "b"], [1])
    index.add(["a"], [1])
    for ask, said in (
        (lambda: index.query(1, threshold=0.5), "threshold does not apply to an index of codes"),
        (lambda: index.query(1, distance=0.5), "whole number of bits"),
        (lambda: index.texts(["a"]), "it holds no texts"),
        (lambda: index.add({"b": 2}, vectors="v"), "vectors does not fit: the index holds codes"),
        (lambda: index.query(1, codes="hash"), "codes is for sources; leave it out with a single code"),
        (lambda: twinset.dedup({"b": 2}, codes="hash", index=index), "index does not apply|holds codes"),
    ):
        with pytest.raises(OptionError, match=said):
            ask()
    with pytest.raises(SourceError, match="the code has 8 bits"):
        index.query("ff")
    assert list(index) == ["a"]
