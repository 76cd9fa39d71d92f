"""Banding: split signatures into bands, so that similar ones collide and others hardly ever do."""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import TypeVar

__all__ = ["band_probability", "band_step", "bands_by_step", "candidates", "table_probability"]

Name = TypeVar("Name", bound=Hashable)


def candidates(
    signatures: Mapping[Name, Sequence[Hashable]], n_bands: int, rows_per_band: int
) -> set[tuple[Name, Name]]:
    """Return the pairs whose signatures agree in all rows of at least one band.

    Bit codes in L tables, each keyed by k of the bits, are the same: L bands of k rows.

    Examples
    --------
    >>> first_band = {"one": (1, 3, 6, 0), "two": (2, 3, 1, 0), "three": (1, 3, 6, 0), "four": (2, 1, 3, 1)}
    >>> candidates(first_band, n_bands=1, rows_per_band=4)
    {('one', 'three')}
    """
    pairs: set[tuple[Name, Name]] = set()
    for band in range(n_bands):
        buckets: defaultdict[tuple[Hashable, ...], list[Name]] = defaultdict(list)
        for name, signature in signatures.items():
            buckets[tuple(signature[band * rows_per_band : (band + 1) * rows_per_band])].append(name)
        for names in buckets.values():
            pairs.update(combinations(names, 2))
    return pairs


def band_probability(similarity: float, n_bands: int, rows_per_band: int) -> float:
    """Return the probability that a pair becomes a candidate: 1-(1-s^r)^b.

    One band agrees with probability s^r, so all b of them miss with (1-s^r)^b.

    Examples
    --------
    >>> [round(band_probability(s / 10, 20, 5), 3) for s in range(2, 8)]
    [0.006, 0.047, 0.186, 0.47, 0.802, 0.975]

    At 0.8 one band agrees with probability 0.328, and all twenty miss with 0.00035; at 0.3 it is 0.00243 and 0.95:

    >>> round(0.8**5, 3), round((1 - 0.328) ** 20, 5)
    (0.328, 0.00035)
    >>> round(0.3**5, 5), round((1 - 0.00243) ** 20, 2)
    (0.00243, 0.95)
    """
    return float(1 - (1 - similarity**rows_per_band) ** n_bands)


def table_probability(agreement: float, n_bits: int, n_tables: int) -> float:
    """Return the probability that two codes meet in one of L tables keyed by k bits: 1-(1-s^k)^L.

    It is `band_probability` renamed: a table is a band, a bit is a row, and s is the probability that a bit agrees.

    Examples
    --------
    More bits are stricter, more tables looser; only both together make a step:

    >>> [round(table_probability(0.5, 10, n), 4) for n in (1, 50)]
    [0.001, 0.0477]
    >>> [round(table_probability(0.9, 10, n), 4) for n in (1, 50)]
    [0.3487, 1.0]
    """
    return band_probability(agreement, n_tables, n_bits)


def band_step(n_bands: int, rows_per_band: int) -> float:
    """Return the similarity near which the S-curve rises most steeply: (1/b)^(1/r).

    A pair at that similarity is found with a probability of about 1 - 1/e = 0.63, too low for a threshold.

    Examples
    --------
    >>> round(band_step(20, 5), 3), round(band_probability(band_step(20, 5), 20, 5), 2)
    (0.549, 0.64)
    """
    return float((1 / n_bands) ** (1 / rows_per_band))


def bands_by_step(threshold: float, n_hashes: int) -> int:
    """Choose the number of bands that puts the step at the threshold: b with (1/b)^(b/k) nearest to it.

    This is the old rule. At the threshold it finds about two pairs of three; `twinset.plan` takes a recall instead.

    Examples
    --------
    >>> bands_by_step(0.8, 100), round(band_probability(0.8, 10, 10), 2)
    (10, 0.68)
    """
    return min(range(1, n_hashes + 1), key=lambda b: abs((1 / b) ** (b / n_hashes) - threshold))
