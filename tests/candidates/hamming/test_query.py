"""Tables of bit codes answer what brute force answers, in its order, however many keys they look up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracles
from tests.candidates.hamming.test_join import DISTANCES, Rows, array, codes, triples
from twinset.candidates.hamming import query as hamming_query
from twinset.candidates.hamming.query import NOBODY, CodeTables, radii_of
from twinset.errors import OptionError
from twinset.schema import Codes

both = st.integers(1, 3).flatmap(lambda words: st.tuples(codes(words, 50), codes(words, 8), st.just(words)))


@pytest.fixture(params=["as it comes", "keys are always looked up", "all codes are always compared"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Few codes are compared one by one; many must be found by their keys."""
    if request.param != "as it comes":
        monkeypatch.setattr(hamming_query, "_VISIT", 1e-9 if request.param == "keys are always looked up" else 1e9)
    return str(request.param)


@pytest.mark.usefixtures("way")
def test_answers_within_are_those_of_brute_force() -> None:
    @given(both, st.integers(0, 8), st.integers(0, 16) | st.sampled_from([64, 200]))
    def check(sides: tuple[Rows, Rows, int], built_for: int, distance: int) -> None:
        rows, queries, words = sides
        tables = CodeTables.of(array(rows, words), built_for)
        portions = list(tables.within(array(queries, words), distance))
        found = [pair for portion in portions for pair in portion.numbers.tolist()]
        expected = oracles.near_codes_across(queries, rows, distance)
        assert triples(portions) == expected
        assert found == [list(pair[:2]) for pair in sorted(expected, key=lambda pair: (pair[0], pair[2], pair[1]))]

    check()


@pytest.mark.usefixtures("way")
def test_the_nearest_are_those_of_brute_force() -> None:
    @given(both, st.integers(0, 8), st.integers(1, 12))
    def check(sides: tuple[Rows, Rows, int], built_for: int, k: int) -> None:
        rows, queries, words = sides
        numbers, distances = CodeTables.of(array(rows, words), built_for).nearest(array(queries, words), k)
        assert numbers.shape == distances.shape == (len(queries), k)
        for query, found, bits in zip(queries, numbers.tolist(), distances.tolist(), strict=True):
            expected = oracles.nearest_codes(rows, query, k)
            missing = k - len(expected)
            assert list(zip(bits, found, strict=True)) == expected + [(0xFFFF, NOBODY)] * missing

    check()


def brute(found: Codes, query: Codes) -> list[tuple[int, int]]:
    bits = np.unpackbits((found ^ query).view(np.uint8), axis=1).sum(axis=1)
    return sorted(zip(bits.tolist(), range(len(found)), strict=True))


@pytest.mark.parametrize("words", [1, 2])
def test_many_codes_are_found_by_their_keys(words: int) -> None:
    """Queries near a code, which are found in a few steps, and random ones, for which all codes are compared."""
    rng = np.random.default_rng(4)
    found = rng.integers(0, 2**64, (20_000, words), np.uint64)
    found[:30] = found[0]
    near = found[rng.integers(0, 20_000, 40)]
    for _ in range(4):
        near[:, 0] ^= np.uint64(1) << rng.integers(0, 64, 40).astype(np.uint64)
    queries = np.concatenate([near, rng.integers(0, 2**64, (10, words), np.uint64), found[:1]])
    tables = CodeTables.of(found, 4)
    assert tables.masks.shape[0] > 1
    numbers, distances = tables.nearest(queries, 7)
    within = triples(tables.within(queries, 4))
    expected = set()
    for place, query in enumerate(queries):
        order = brute(found, query)
        assert list(zip(distances[place].tolist(), numbers[place].tolist(), strict=True)) == order[:7]
        expected |= {(place, number, bits) for bits, number in order if bits <= 4}
    assert within == expected
    assert len(expected) >= 70


@given(DISTANCES, st.integers(1, 9))
def test_radii_add_up(distance: int, blocks: int) -> None:
    radii = radii_of(distance, blocks)
    assert int((radii + 1).sum()) == distance + 1
    assert radii.max() - radii.min() <= 1
    assert radii.min() >= -1


def test_portions_of_queries_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    found = rng.integers(0, 2**12, (2000, 1), np.uint64)
    queries = found[:50]
    tables = CodeTables.of(found, 2)
    expected = triples(tables.within(queries, 2))
    monkeypatch.setattr(hamming_query, "_ANSWERS", 1)
    monkeypatch.setattr(hamming_query, "_ROOM", 9)
    portions = list(tables.within(queries, 2))
    assert len(portions) == 50
    assert triples(portions) == expected
    numbers, _ = tables.nearest(queries, 5)
    parts = [tables.nearest(queries[begin : begin + 7], 5)[0] for begin in range(0, 50, 7)]
    assert np.concatenate(parts).tolist() == numbers.tolist()


def test_wrong_questions_are_refused() -> None:
    tables = CodeTables.of(np.zeros(3, np.uint64), 1)
    with pytest.raises(OptionError, match="queries have 128 bits; the codes in the tables have 64"):
        list(tables.within(np.zeros((1, 2), np.uint64), 1))
    with pytest.raises(OptionError, match="distance is -1"):
        list(tables.within(np.zeros(1, np.uint64), -1))
    with pytest.raises(OptionError, match="k is 0; allowed: 1 or more"):
        tables.nearest(np.zeros(1, np.uint64), 0)
