"""Choose the limit of a recut: a threshold or a distance, not beyond the floor of the run."""

import dataclasses
import math
from typing import Any

from twinset.errors import OptionError
from twinset.options import DedupOptions
from twinset.options.results import RecutOptions
from twinset.results.stored import StoredResult
from twinset.schema import Shares


def options_of(recorded: StoredResult, requested: RecutOptions) -> DedupOptions:
    """Return the options of a fresh run with the same result."""
    before, name = recorded.options, _name(recorded)
    keep, cluster = requested.keep or before.keep, requested.cluster or before.cluster
    _refuse_other_limit(recorded, requested)
    if before.by_distance:
        distance = before.reach if requested.distance is None else requested.distance
        if distance > before.farthest:
            raise OptionError(
                f"distance is {distance:g}, and pairs beyond {before.farthest:g}, the floor of {name}, were not "
                f"scored; allowed: 0 up to {before.farthest:g}; run dedup again with --floor {distance:g} for more"
            )
        chosen = before.distance if requested.distance is None else requested.distance
        return dataclasses.replace(before, floor=before.farthest, distance=chosen, keep=keep, cluster=cluster)
    threshold = before.threshold if requested.threshold is None else requested.threshold
    if threshold < before.least:
        raise OptionError(
            f"threshold is {threshold:g}, and pairs below {before.least:g}, the floor of {name}, were not "
            f"scored; allowed: {before.least:g} up to 1; run dedup again with --floor {threshold:g} for less"
        )
    return dataclasses.replace(before, floor=before.least, threshold=threshold, keep=keep, cluster=cluster)


def at(options: DedupOptions, limit: float) -> DedupOptions:
    """Return the options at another limit: a threshold, or a negated distance."""
    if options.by_distance:
        return dataclasses.replace(options, distance=abs(limit))
    return dataclasses.replace(options, threshold=limit)


def limit_by_name(options: DedupOptions) -> dict[str, float]:
    """Return the limit of a run, by its name."""
    return {"distance": options.reach} if options.by_distance else {"threshold": options.threshold}


def _refuse_other_limit(recorded: StoredResult, requested: RecutOptions) -> None:
    """Refuse a threshold for distances, and a distance for similarities."""
    before = recorded.options
    if before.by_distance and requested.threshold is not None:
        raise OptionError(
            f"threshold is {requested.threshold:g}, and {_name(recorded)} is one of {before.item_flag}, whose pairs "
            f"have a distance, not a similarity; give --distance, from 0 to {before.farthest:g}"
        )
    if not before.by_distance and requested.distance is not None:
        raise OptionError(
            f"distance is {requested.distance:g}, and the pairs of {_name(recorded)} have a similarity, not a "
            f"distance; give --threshold, from {before.least:g} to 1"
        )


def _name(recorded: StoredResult) -> str:
    """Return the name of a result for messages."""
    return str(recorded.folder) if recorded.folder.name else "this result"


def limit_for_rows(rows: int, levels: Shares, count_rows: Any) -> float:
    """Return the threshold among `levels` that leaves the number of rows nearest to `rows`, shortened if possible.

    Levels that are not positive are negated distances. A higher threshold leaves more rows, except in rare cases in
    which the members of a split cluster join others.

    Examples
    --------
    >>> import numpy as np
    >>> limit_for_rows(70, np.array([0.5, 0.61, 0.7777777, 1.0]), lambda level: int(100 * level))
    0.7
    >>> limit_for_rows(70, np.array([-6.0, -3.5, -2.25, 0.0]), lambda level: 100 + int(10 * level))
    -4.0
    """
    low, high = 0, len(levels) - 1
    fewest, most = count_rows(float(levels[low])), count_rows(float(levels[high]))
    if not fewest <= rows <= most:
        distances = levels[high] <= 0
        span = f"distances from {-levels[low]:g} down to 0" if distances else f"thresholds from {levels[low]:g} to 1"
        raise OptionError(
            f"rows is {rows:,}, and {span} leave {fewest:,} to {most:,}; allowed: a number between these: a "
            f"{'greater' if distances else 'lower'} --floor of dedup leaves fewer"
        )
    counts = {low: fewest, high: most}
    while high - low > 1:
        middle = (low + high) // 2
        counts[middle] = count_rows(float(levels[middle]))
        low, high = (middle, high) if counts[middle] < rows else (low, middle)
    best = min((low, high), key=lambda at: (abs(counts[at] - rows), at))
    return _shorten(float(levels[best]), float(levels[best - 1]) if best else None)


def _shorten(level: float, before: float | None) -> float:
    """Return the shortest number above `before` and up to `level`: it has the same result."""
    for digits in range(17):
        shorter = float(math.floor(level * 10**digits) / 10**digits)
        if before is not None and before < shorter <= level:
            return shorter
    return level
