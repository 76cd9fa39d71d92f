"""At which limit a result is cut: a threshold, or a distance, not beyond the floor of the run."""

import dataclasses
import math
from typing import Any

from twinset.errors import OptionError
from twinset.options import DedupOptions
from twinset.options.results import RecutOptions
from twinset.results.stored import StoredResult
from twinset.schema import Shares


def options_of(recorded: StoredResult, asked: RecutOptions) -> DedupOptions:
    """The options of a fresh run that would give the same."""
    was, name = recorded.options, _name(recorded)
    keep, cluster = asked.keep or was.keep, asked.cluster or was.cluster
    _refuse_the_other(recorded, asked)
    if was.by_distance:
        distance = was.reach if asked.distance is None else asked.distance
        if distance > was.farthest:
            raise OptionError(
                f"distance is {distance:g}, and pairs beyond {was.farthest:g}, the floor of {name}, were not "
                f"scored; allowed: 0 up to {was.farthest:g}; run dedup again with --floor {distance:g} for more"
            )
        chosen = was.distance if asked.distance is None else asked.distance
        return dataclasses.replace(was, floor=was.farthest, distance=chosen, keep=keep, cluster=cluster)
    threshold = was.threshold if asked.threshold is None else asked.threshold
    if threshold < was.least:
        raise OptionError(
            f"threshold is {threshold:g}, and pairs below {was.least:g}, the floor of {name}, were not "
            f"scored; allowed: {was.least:g} up to 1; run dedup again with --floor {threshold:g} for less"
        )
    return dataclasses.replace(was, floor=was.least, threshold=threshold, keep=keep, cluster=cluster)


def at(options: DedupOptions, limit: float) -> DedupOptions:
    """The options at another limit: a threshold, or a distance, negated."""
    if options.by_distance:
        return dataclasses.replace(options, distance=abs(limit))
    return dataclasses.replace(options, threshold=limit)


def told(options: DedupOptions) -> dict[str, float]:
    """The limit of a run, by its name."""
    return {"distance": options.reach} if options.by_distance else {"threshold": options.threshold}


def _refuse_the_other(recorded: StoredResult, asked: RecutOptions) -> None:
    """Items are near by a similarity or by a distance; the limit of the other kind says nothing of them."""
    was = recorded.options
    if was.by_distance and asked.threshold is not None:
        raise OptionError(
            f"threshold is {asked.threshold:g}, and {_name(recorded)} is one of {was.item_flag}, whose pairs have a "
            f"distance, not a similarity; give --distance, from 0 to {was.farthest:g}"
        )
    if not was.by_distance and asked.distance is not None:
        raise OptionError(
            f"distance is {asked.distance:g}, and the pairs of {_name(recorded)} have a similarity, not a distance; "
            f"give --threshold, from {was.least:g} to 1"
        )


def _name(recorded: StoredResult) -> str:
    """What a result is called in a message."""
    return str(recorded.folder) if recorded.folder.name else "this result"


def leaving(rows: int, levels: Shares, left: Any) -> float:
    """The threshold of those given that leaves the number of rows nearest to `rows`, as short a number as will do.

    Levels that are not positive are distances, negated. A higher threshold leaves more rows, but for rare cases in
    which a cluster falls apart and its members find others.

    Examples
    --------
    >>> import numpy as np
    >>> leaving(70, np.array([0.5, 0.61, 0.7777777, 1.0]), lambda level: int(100 * level))
    0.7
    >>> leaving(70, np.array([-6.0, -3.5, -2.25, 0.0]), lambda level: 100 + int(10 * level))
    -4.0
    """
    low, high = 0, len(levels) - 1
    least, most = left(float(levels[low])), left(float(levels[high]))
    if not least <= rows <= most:
        distances = levels[high] <= 0
        span = f"distances from {-levels[low]:g} down to 0" if distances else f"thresholds from {levels[low]:g} to 1"
        raise OptionError(
            f"rows is {rows:,}, and {span} leave {least:,} to {most:,}; allowed: a number between these; a "
            f"{'greater' if distances else 'lower'} --floor of dedup leaves fewer"
        )
    counts = {low: least, high: most}
    while high - low > 1:
        middle = (low + high) // 2
        counts[middle] = left(float(levels[middle]))
        low, high = (middle, high) if counts[middle] < rows else (low, middle)
    best = min((low, high), key=lambda at: (abs(counts[at] - rows), at))
    return _short(float(levels[best]), float(levels[best - 1]) if best else None)


def _short(level: float, before: float | None) -> float:
    """The shortest number above `before` and not above `level`: it cuts at the same place."""
    for digits in range(17):
        shorter = float(math.floor(level * 10**digits) / 10**digits)
        if before is not None and before < shorter <= level:
            return shorter
    return level
