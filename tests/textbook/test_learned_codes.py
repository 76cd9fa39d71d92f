"""Spectral hashing and ITQ by the textbook: the product's codes are these, and both keep neighbours together."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinset import textbook
from twinset.compiled import vector_kernels
from twinset.schema import Codes
from twinset.sketches.vectors import hyperplane
from twinset.sketches.vectors.learned import codes, fit
from twinset.textbook.learned_codes import Bits, Matrix

SIDES = (9.0, 5.0, 4.0, 2.5, 1.5, 1.0)


def box(count: int, seed: int, sides: tuple[float, ...] = SIDES) -> Matrix:
    """Points spread evenly in a box that is along no axis; 32-bit values, as in the product."""
    rng = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(np.random.default_rng(4).standard_normal((len(sides), len(sides))))
    points = (rng.uniform(-0.5, 0.5, (count, len(sides))) * sides) @ turn + 3
    return points.astype(np.float32).astype(np.float64)


def bits_of(found: Codes, count: int) -> Bits:
    return np.unpackbits(found.view(np.uint8), axis=1, bitorder="little")[:, :count]


def start_of(bits: int, seed: int) -> Matrix:
    """The product's first rotation: normal numbers, orthogonalised."""
    drawn = np.empty(bits * bits, np.float32)
    vector_kernels.normals(np.uint64(seed), np.uint64(0), drawn)
    rotation, upper = np.linalg.qr(drawn.reshape(bits, bits).astype(np.float64))
    turned: Matrix = rotation * np.where(np.diag(upper) < 0, -1.0, 1.0)
    return turned


@pytest.mark.parametrize("bits", [1, 4, 9, 16])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_spectral_codes_of_the_product_are_those_of_the_textbook(bits: int, seed: int) -> None:
    """At most one bit in five hundred may differ: on a border, 32-bit sums fall on the other side."""
    points = box(500, seed)
    found = bits_of(codes(points.astype(np.float32), fit(points.astype(np.float32), bits, "spectral")), bits)
    assert (found != textbook.spectral_codes(points, bits)).mean() <= 0.002


@pytest.mark.parametrize("bits", [1, 3, 6])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_itq_codes_of_the_product_are_those_of_the_textbook(bits: int, seed: int) -> None:
    points = box(500, seed)
    found = bits_of(codes(points.astype(np.float32), fit(points.astype(np.float32), bits, "itq", seed)), bits)
    assert (found != textbook.itq_codes(points, start_of(bits, seed))).mean() <= 0.002


def test_directions_of_largest_variance() -> None:
    """Along the sides of the box, longest first; orthogonal; the variance of a side of length s is s²/12."""
    points = box(4000, 1)
    directions = textbook.principal_directions(points, 6)
    assert np.allclose(directions @ directions.T, np.eye(6), atol=1e-9)
    spread = ((points - points.mean(axis=0)) @ directions.T).var(axis=0)
    assert np.allclose(spread, np.square(SIDES) / 12, rtol=0.1)
    assert (directions[np.arange(6), np.abs(directions).argmax(axis=1)] > 0).all()


@given(st.lists(st.floats(0.1, 100), min_size=1, max_size=6), st.integers(1, 20))
def test_the_modes_are_the_lowest_of_all(spans: list[float], bits: int) -> None:
    found = textbook.spectral_modes(spans, bits)
    every = {(side, waves) for side in range(len(spans)) for waves in range(1, bits + 1)}
    highest = max(waves / spans[side] for side, waves in found)
    assert len(set(found)) == bits
    assert all(waves / spans[side] >= highest for side, waves in every - set(found))


@given(st.integers(0, 2**32), st.integers(1, 5))
def test_no_turn_raises_the_error_and_all_turns_are_rotations(seed: int, bits: int) -> None:
    rng = np.random.default_rng(seed)
    projected = rng.standard_normal((40, bits)) * np.arange(1, bits + 1)
    start, _ = np.linalg.qr(rng.standard_normal((bits, bits)))
    rotations = list(textbook.itq_rotations(projected, start, 8))
    errors = [textbook.quantisation_error(projected, one) for one in rotations]
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(errors))
    assert len(rotations) == 9
    for one in rotations:
        assert np.allclose(one @ one.T, np.eye(bits), atol=1e-9)


def neighbours_kept(points: Matrix, found: Bits) -> float:
    """The share of the ten nearest points that is among the ten nearest codes and their ties, weighted by the ties."""
    apart = np.linalg.norm(points[:, None, :] - points[None, :, :], axis=2)
    differ = (found[:, None, :] != found[None, :, :]).sum(axis=2).astype(np.float64)
    kept = 0.0
    for row in range(len(points)):
        near = np.delete(np.argsort(apart[row], kind="stable"), 0)[:10]
        others = np.delete(differ[row], row)
        tenth = np.sort(others)[9]
        below, ties = (others < tenth).sum(), (others == tenth).sum()
        kept += (differ[row, near] < tenth).sum() + (differ[row, near] == tenth).sum() * (10 - below) / ties
    return kept / (10 * len(points))


def test_learned_codes_keep_more_neighbours_than_hyperplanes() -> None:
    """Where a few directions have most of the variance; six bits, 300 points, five draws each."""
    points = box(300, 8)
    centred = (points - points.mean(axis=0)).astype(np.float32)
    by_chance = [neighbours_kept(points, bits_of(hyperplane.codes(centred, 6, seed), 6)) for seed in range(5)]
    by_itq = [neighbours_kept(points, textbook.itq_codes(points, start_of(6, seed))) for seed in range(5)]
    assert neighbours_kept(points, textbook.spectral_codes(points, 6)) > max(by_chance)
    assert np.mean(by_itq) > np.mean(by_chance)
