"""Record the compilation time of kernels, which belongs to no step of a run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

_spans: list[tuple[float, float]] = []
_compiled = _depth = 0
_reported = 0  # spans that a run has reported


@contextmanager
def recorded() -> Iterator[None]:
    """Record the compilation of one kernel; the kernels that it calls are compiled within its time.

    The caller holds a lock: one kernel is compiled at a time.
    """
    global _compiled, _depth
    since = time.perf_counter()
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        _compiled += 1
        if not _depth:
            _spans.append((since, time.perf_counter()))


def compiled_kernels() -> int:
    """Return the number of kernels that this process has compiled."""
    return _compiled


def compile_seconds(since: float = 0.0) -> float:
    """Return the seconds of compilation after a reading of `time.perf_counter`."""
    return sum(end - max(begin, since) for begin, end in _spans if end > since)


def take_seconds(before: float) -> tuple[float, float]:
    """Return the seconds that no run has reported yet: all of them, and those before a reading of the clock."""
    global _reported
    spans, _reported = _spans[_reported:], len(_spans)
    return sum(end - begin for begin, end in spans), sum(end - begin for begin, end in spans if end <= before)
