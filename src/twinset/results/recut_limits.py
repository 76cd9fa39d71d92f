"""The options of a recut: its limit, and whether the scored pairs of the result reach that limit."""

import dataclasses
import math
from typing import Any

from twinset.errors import OptionError
from twinset.options import DedupOptions
from twinset.options.keep_rules import KEEP_RULES, parse_keep
from twinset.options.place import verdicts_beside
from twinset.options.results import RecutOptions
from twinset.results.stored import StoredResult
from twinset.schema import Shares


def options_of(recorded: StoredResult, requested: RecutOptions) -> DedupOptions:
    """Return the options of a fresh run with the same result."""
    before, name = recorded.options, result_name(recorded)
    rules = requested.keep or before.keep
    dated = any(KEEP_RULES[rule].dates for rule, _ in parse_keep(rules))
    chosen: dict[str, Any] = {
        "keep": rules,
        "date_format": requested.date_format or (before.date_format if dated else None),
        "cluster": requested.cluster or before.cluster,
        "verdicts": verdicts_of(recorded, requested),
    }
    _refuse_other_limit(recorded, requested)
    if before.by_distance:
        distance = before.reach if requested.distance is None else requested.distance
        if distance > before.farthest:
            raise OptionError(
                f"distance is {distance:g}, and pairs beyond {before.farthest:g}, the floor of {name}, were not "
                f"scored; allowed: 0 to {before.farthest:g}; for more, run dedup again with --floor {distance:g}"
            )
        given = before.distance if requested.distance is None else requested.distance
        return dataclasses.replace(before, floor=before.farthest, distance=given, **chosen)
    given = requested.threshold if before.contained is None else requested.contained
    threshold = before.threshold if given is None else given
    if threshold < before.least:
        raise OptionError(
            f"{before.limit_name} is {threshold:g}, and pairs below {before.least:g}, the floor of {name}, were not "
            f"scored; allowed: {before.least:g} to 1; for less, run dedup again with --floor {threshold:g}"
        )
    return at_limit(dataclasses.replace(before, floor=before.least, **chosen), threshold)


def verdicts_of(recorded: StoredResult, requested: RecutOptions) -> str | None:
    """Return the file of verdicts to obey; by default the one beside the result, if any is to be obeyed."""
    if requested.verdicts != "":
        return requested.verdicts
    if not recorded.folder.name:
        raise OptionError("verdicts is True, but this result has no folder, so no file is beside it; name the file")
    return str(verdicts_beside(recorded.folder))


def at_limit(options: DedupOptions, limit: float) -> DedupOptions:
    """Return the options with another threshold, containment or distance."""
    changes: dict[str, Any] = {options.limit_name: limit}
    if options.contained is not None:
        changes["threshold"] = limit  # the same by definition
    return dataclasses.replace(options, **changes)


def _refuse_other_limit(recorded: StoredResult, requested: RecutOptions) -> None:
    """Refuse a threshold for distances, and a distance for similarities."""
    before = recorded.options
    other = "threshold" if before.contained is not None else "contained"
    if getattr(requested, other) is not None and not before.by_distance:
        by = "containment" if before.contained is not None else "similarity"
        raise OptionError(
            f"{other} is {getattr(requested, other):g}, but the pairs of {result_name(recorded)} were found by {by}; "
            f"give --{before.limit_name}, from {before.least:g} to 1"
        )
    other = "threshold" if requested.contained is None else "contained"
    given = getattr(requested, other)
    if before.by_distance and given is not None:
        raise OptionError(
            f"{other} is {given:g}, but the pairs of {result_name(recorded)} ({before.item_flag}) have a "
            f"distance, not a similarity; give --distance, from 0 to {before.farthest:g}"
        )
    if not before.by_distance and requested.distance is not None:
        raise OptionError(
            f"distance is {requested.distance:g}, but the pairs of {result_name(recorded)} have a similarity, not a "
            f"distance; give --{before.limit_name}, from {before.least:g} to 1"
        )


def result_name(recorded: StoredResult) -> str:
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
            f"rows is {rows:,}, but {span} leave {fewest:,} to {most:,}; allowed: a number in this range; for fewer, "
            f"run dedup again with a {'greater' if distances else 'lower'} --floor"
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
