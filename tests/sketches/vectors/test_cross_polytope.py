"""Cross-polytopes: rotations and keys equal the oracle's, values stay what they were, chances are those of theory.

Statistical bounds, seeds fixed. Theory is a truly random rotation, simulated in `twinset.plan.vector_chances`: 20,000
pairs against 8,192 simulated ones are allowed ±0.02, which is more than 3 standard errors of their difference (0.0057
at most); a single given pair, rotated in 4,000 ways, ±0.03 (3 standard errors are 0.024). Signatures: the mean of 3,000
pairs within 3 standard errors of θ/π, their variance at most 1.1 of independent bits'.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracles
from tests.directions import beside, differing, directions
from twinset.errors import OptionError
from twinset.plan.vector_chances import MOST_ALTERNATIVES, Ranks, padded_size, side_agrees
from twinset.schema import HASH_SCHEME, Vectors
from twinset.sketches.vectors import rotation_kernels as kernels
from twinset.sketches.vectors.cross_polytope import Rotations, cross_polytopes, moves, random_rotations
from twinset.sketches.vectors.keys import signatures

SIGNS = {1: [0xC1611522156C4C46, 0x7D96A37032325B2E]}
ORDER = {1: [57, 59, 26, 46]}
KEYS = {1: [[1446, 13368], [13204, 13354], [13187, 14807]]}
SIGNATURE = {1: [0xCC715FF40D4F3459, 0x726318442D5F0299]}


def rotated(vectors: Vectors, turned: Rotations) -> Vectors:
    out = np.empty((len(turned.signs), len(vectors), turned.size), np.float32)
    kernels.rotated(vectors, turned.signs, turned.orders, out)
    return out


# Rotations


@given(st.integers(0, 70), st.integers(1, 64), st.sampled_from([64, 128]), st.integers(0, 2**64 - 1))
def test_rotations_equal_the_oracle(n: int, dimensions: int, size: int, seed: int) -> None:
    """Whole numbers, so that no sum is rounded."""
    vectors = np.random.default_rng(seed).integers(-3, 4, (n, dimensions)).astype(np.float32)
    turned = random_rotations(2, size, seed)
    found = rotated(vectors, turned)
    for i in {0, n // 2, n - 1} if n else ():
        for r in range(2):
            signs, order = turned.signs[r].tolist(), turned.orders[r].tolist()
            assert found[r, i].tolist() == oracles.rotated(vectors[i].tolist(), signs, order)


@pytest.mark.parametrize("size", [64, 128, 256, 2048])
def test_rotations_keep_lengths_and_angles(size: int) -> None:
    vectors = directions(50, size - 3, size)
    turned = rotated(vectors, random_rotations(1, size, 9))[0].astype(np.float64) / size**1.5
    assert np.allclose(turned @ turned.T, vectors.astype(np.float64) @ vectors.T, atol=1e-5)


def test_signs_are_fair_and_what_they_were() -> None:
    signs = random_rotations(5, 64, 1).signs
    assert set(signs.ravel().tolist()) == {1.0, -1.0}
    words = [sum(int(sign < 0) << bit for bit, sign in enumerate(row)) for row in signs[0, :2].tolist()]
    assert words == SIGNS[HASH_SCHEME]
    many = random_rotations(50, 1024, 2)
    assert abs(many.signs.mean()) <= 4 / math.sqrt(many.signs.size)
    assert (np.sort(many.orders, axis=1) == np.arange(1024)).all()
    assert (random_rotations(5, 64, 2).signs != signs).any()
    assert random_rotations(1, 64, 1).orders[0, :4].tolist() == ORDER[HASH_SCHEME]


def test_sizes_are_powers_of_two() -> None:
    assert [padded_size(d) for d in (1, 64, 65, 128, 129, 1000)] == [64, 64, 128, 128, 256, 1024]


# Keys


@given(
    st.integers(0, 70), st.integers(1, 100), st.integers(1, 3), st.sampled_from([2, 8, 64]), st.integers(1, 5),
    st.integers(0, 40), st.integers(0, 2**32),
)  # fmt: skip
def test_keys_and_moves_equal_the_oracle(
    n: int, dimensions: int, functions: int, width: int, tables: int, probes: int, seed: int
) -> None:
    """Few whole numbers: coordinates are often equal, and some vectors are all zeros."""
    vectors = np.random.default_rng(seed).integers(-1, 2, (n, dimensions)).astype(np.float32)
    polytopes = cross_polytopes(dimensions, functions, width, tables, seed)
    coordinates = rotated(vectors, polytopes.rotations)
    bits, wanted = width.bit_length(), min(probes, width - 1, MOST_ALTERNATIVES)
    for table, found in enumerate(moves(vectors, polytopes, range(tables), probes)):
        assert found.groups.tolist() == [f for f in range(functions) for _ in range(wanted)]
        for i in {0, n // 2, n - 1} if n else ():
            flat = coordinates[:, i, :].ravel().tolist()
            for f in range(functions):
                start = (table * functions + f) * width
                values = flat[start : start + width]
                order = oracles.corner(values)
                assert int(found.keys[i]) >> bits * f & (1 << bits) - 1 == order[0]
                of_f = slice(f * wanted, (f + 1) * wanted)
                turned = [(int(turn) >> bits * f) ^ order[0] for turn in found.turns[i, of_f]]
                assert turned == order[1 : 1 + wanted]
                gaps = [abs(values[order[0] // 2]) - abs(values[corner // 2]) for corner in turned]
                assert found.costs[i, of_f].tolist() == [np.float32(gap) * np.float32(gap) for gap in gaps]


def test_keys_do_not_depend_on_the_rows_beside_or_on_the_tables_asked_for() -> None:
    vectors, polytopes = directions(150, 100, 1), cross_polytopes(100, 3, 32, 7, 5)
    together = moves(vectors, polytopes, range(7), probes=3)
    for tables in (range(2, 3), range(5, 7), range(1, 6)):
        for start, end in ((0, 1), (63, 65), (10, 150)):
            for one, table in zip(moves(vectors[start:end], polytopes, tables, probes=3), tables, strict=True):
                assert one.keys.tolist() == together[table].keys[start:end].tolist()
                assert one.costs.tolist() == together[table].costs[start:end].tolist()


def test_keys_are_what_they_were() -> None:
    vectors = np.sin(np.arange(300, dtype=np.float64)).reshape(3, 100).astype(np.float32)
    found = moves(vectors, cross_polytopes(100, 2, 64, 2, 1), range(2))
    assert np.stack([one.keys for one in found], axis=1).tolist() == KEYS[HASH_SCHEME]
    assert signatures(vectors, 128, 1)[0].tolist() == SIGNATURE[HASH_SCHEME]


@pytest.mark.parametrize("width", [0, 1, 3, 256])
def test_a_width_that_is_no_power_of_two_or_too_large(width: int) -> None:
    with pytest.raises(OptionError, match=f"width is {width}; allowed: a power of two from 2 to 128"):
        cross_polytopes(100, 1, width, 1, 1)


def test_keys_that_would_be_too_long() -> None:
    with pytest.raises(OptionError, match="72 bits"):
        cross_polytopes(100, 9, 128, 1, 1)


# Against theory


@pytest.mark.parametrize(("dimensions", "width"), [(128, 128), (128, 16), (64, 64), (20, 64), (300, 256)])
@pytest.mark.parametrize("cosine", [0.0, 0.5, 0.8, 0.9, 0.95])
def test_the_chance_of_a_common_corner(dimensions: int, width: int, cosine: float) -> None:
    """Fresh rotations for each 500 pairs."""
    left = directions(20_000, dimensions, 1)
    right = beside(left, cosine, 2)
    met = np.zeros(20_000, bool)
    for part in range(0, 20_000, 500):
        rows, polytopes = slice(part, part + 500), cross_polytopes(dimensions, 1, width, 1, part)
        met[rows] = moves(left[rows], polytopes, range(1))[0].keys == moves(right[rows], polytopes, range(1))[0].keys
    theory = Ranks("cross-polytope", cosine, 1, 0, width, padded_size(dimensions), pairs=8192).chance(0, sides=1)
    assert abs(met.mean() - theory) <= 0.02
    if cosine >= 0.5:
        assert met.mean() > side_agrees(cosine) ** width.bit_length(), "hyperplanes of as many bits do as well"


@pytest.mark.parametrize(
    ("dimensions", "functions", "width", "cosine"),
    [(50, 5, 8, 0.8), (64, 2, 32, 0.9), (128, 2, 64, 0.9), (128, 3, 64, 0.9), (128, 2, 128, 0.9)],
)
def test_the_chance_of_a_common_key(dimensions: int, functions: int, width: int, cosine: float) -> None:
    """Functions that share a rotation agree less often than independent ones: that is in the theory. ±0.01 here."""
    left = directions(20_000, dimensions, 3)
    right = beside(left, cosine, 4)
    shares = []
    for part in range(0, 20_000, 500):
        rows, polytopes = slice(part, part + 500), cross_polytopes(dimensions, functions, width, 4, part)
        both = zip(moves(left[rows], polytopes, range(4)), moves(right[rows], polytopes, range(4)), strict=True)
        shares += [(one.keys == other.keys).mean() for one, other in both]
    theory = Ranks("cross-polytope", cosine, functions, 0, width, padded_size(dimensions), pairs=16384)
    assert abs(np.mean(shares) - theory.chance(0, sides=1)) <= 0.01


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({0: 1.0}, {0: 0.9, 1: math.sqrt(0.19)}),
        ({0: 0.6, 5: 0.8}, {0: 0.8, 5: 0.6}),
        ({3: 1.0}, {3: 0.5, 4: math.sqrt(0.75)}),
    ],
)
def test_vectors_of_one_or_two_coordinates_are_rotated_as_well_as_any(
    left: dict[int, float], right: dict[int, float]
) -> None:
    """What one round of signs and a transform would do badly: 4,000 rotations of a single pair."""
    both = np.zeros((2, 64), np.float32)
    for row, values in enumerate((left, right)):
        both[row, list(values)] = list(values.values())
    cosine = float(both[0] @ both[1])
    polytopes = cross_polytopes(64, 1, 64, 4000, 3)
    met = np.mean([one.keys[0] == one.keys[1] for one in moves(both, polytopes, range(4000))])
    theory = Ranks("cross-polytope", cosine, 1, 0, 64, 64, pairs=8192).chance(0, sides=1)
    assert abs(met - theory) <= 0.03


@pytest.mark.parametrize("cosine", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("dimensions", [10, 128, 300])
def test_signatures_differ_as_often_as_the_angle_says(dimensions: int, cosine: float) -> None:
    left = directions(3000, dimensions, 6)
    right = beside(left, cosine, 7)
    expected, bits = 1 - side_agrees(cosine), 256
    fives = [slice(i, i + 5) for i in range(0, 3000, 5)]
    found = np.concatenate(
        [differing(signatures(left[at], bits, at.start), signatures(right[at], bits, at.start)) for at in fives]
    )
    assert abs(found.mean() / bits - expected) <= 3 * found.std() / bits / math.sqrt(3000)
    assert found.var() <= 1.1 * bits * expected * (1 - expected)


@given(st.integers(1, 130), st.integers(1, 200), st.sampled_from([64, 128, 320]), st.integers(0, 99))
def test_signatures_are_the_signs_of_coordinates(n: int, dimensions: int, bits: int, seed: int) -> None:
    vectors, size = directions(n, dimensions, seed), padded_size(dimensions)
    coordinates = rotated(vectors, random_rotations(-(-bits // size), size, seed))
    flat = coordinates.transpose(1, 0, 2).reshape(n, -1)[:, :bits] >= 0
    packed = np.packbits(flat, axis=1, bitorder="little").view(np.uint64)
    assert signatures(vectors, bits, seed).tolist() == packed.tolist()
