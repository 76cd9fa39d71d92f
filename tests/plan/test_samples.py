"""How many samples must agree: probabilities equal those of counting, and limits are inclusive."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from twinset.plan.samples import Tail, drawn, held_hits, holding_hits, least_common, thinned


def tails(shares: list[Fraction]) -> list[float]:
    """The probability of at least each count, from those of the counts themselves."""
    return [float(sum(shares[count:], Fraction(0))) for count in range(len(shares) + 1)]


def check(found: Tail, shares: list[Fraction]) -> None:
    expected = tails(shares)
    assert [found.at_least(count) for count in range(len(expected))] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    for recall in (0.5, 0.9, 0.99):
        assert found.needed(recall) == max(count for count, tail in enumerate(expected) if tail >= recall)


@pytest.mark.parametrize("population", [1, 6, 17, 40, 300])
def test_draws_without_replacement(population: int) -> None:
    for common in {0, 1, population // 3, population - 2, population - 1, population} & set(range(population + 1)):
        for draws in {0, 1, population // 4, population // 2, population}:
            ways = [comb(common, count) * comb(population - common, draws - count) for count in range(draws + 1)]
            check(drawn(population, common, draws), [Fraction(one, comb(population, draws)) for one in ways])


@pytest.mark.parametrize("common", [0, 1, 2, 9, 60, 500])
def test_each_member_is_sampled_by_chance(common: int) -> None:
    shares = [Fraction(comb(common, count) * 7 ** (common - count), 8**common) for count in range(common + 1)]
    check(thinned(common, 8), shares)


def test_the_least_number_of_common_members_reaches_the_containment() -> None:
    for size in (1, 2, 3, 7, 25, 49, 100, 300, 1000):
        shared = np.arange(1, size + 1)
        for least in shared.tolist():
            limit = least / size
            assert least_common(size, limit) == least_common(size, float(np.nextafter(limit, 0))) == least
            if least < size:
                assert least_common(size, float(np.nextafter(limit, 1))) == least + 1


@pytest.mark.parametrize("containment", [0.5, 0.55, 0.8, 0.95, 1.0])
@pytest.mark.parametrize("recall", [0.9, 0.99])
def test_needed_hits(containment: float, recall: float) -> None:
    sizes = np.array([1, 2, 15, 16, 17, 18, 30, 100, 5000])
    common = least_common(sizes, containment).tolist()
    both = zip(sizes.tolist(), common, strict=True)
    expected = [drawn(size, same, min(16, size)).needed(recall) for size, same in both]
    assert held_hits(sizes, 16, containment, recall).tolist() == expected
    assert expected[:4] == common[:4], "all members of small sets are sampled"
    assert [holding_hits(size, min(16, size), containment, recall) for size in sizes.tolist()] == expected
