"""Counters of a service, in the text format of Prometheus."""

from __future__ import annotations

import resource
import sys
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from twinset import __version__
from twinset.web.framework import Scope
from twinset.web.log import RequestLog

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64)


@dataclass
class Histogram:
    """Counts of values up to each bound, and their sum."""

    bounds: tuple[float, ...]
    counts: list[int] = field(default_factory=list)
    total: float = 0.0

    def __post_init__(self) -> None:
        self.counts = [0] * (len(self.bounds) + 1)

    def add(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def lines(self, name: str, labels: str) -> Iterable[str]:
        """Yield the lines of the histogram."""
        done, comma = 0, "," if labels else ""
        for bound, count in zip((*self.bounds, "+Inf"), self.counts, strict=True):
            done += count
            yield f'{name}_bucket{{{labels}{comma}le="{bound}"}} {done}'
        yield f"{name}_sum{{{labels}}} {self.total:.6f}"
        yield f"{name}_count{{{labels}}} {done}"


class Metrics:
    """What a service counts. Its log of requests calls `request`; the queues count batches and documents."""

    def __init__(self) -> None:
        self.began = time.time()
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self.seconds: dict[str, Histogram] = {}
        self.batches: dict[str, Histogram] = {}
        self.documents: Counter[tuple[str, str]] = Counter()

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self.requests[method, route, status] += 1
        self.seconds.setdefault(route, Histogram(_SECONDS)).add(seconds)

    def batch(self, index: str, queries: int) -> None:
        """Count queries that were answered together."""
        self.batches.setdefault(index, Histogram(_SIZES)).add(queries)

    def text(self, gauges: Iterable[tuple[str, str, str, float]]) -> str:
        """Return all counters, and gauges: name, help, labels and value."""
        lines = [f'twinset_info{{version="{__version__}"}} 1']
        lines = ["# HELP twinset_info The version of Twinset.", "# TYPE twinset_info gauge", *lines]
        lines += _counter("twinset_requests_total", "Requests by method, route and status.", (
            (f'method="{method}",route="{_escaped(route)}",status="{status}"', value)
            for (method, route, status), value in sorted(self.requests.items())
        ))  # fmt: skip
        lines += _counter("twinset_documents_total", "Documents by index and what was done to them.", (
            (f'index="{_escaped(index)}",done="{done}"', value)
            for (index, done), value in sorted(self.documents.items())
        ))  # fmt: skip
        for name, help, label, found in (
            ("twinset_request_seconds", "Seconds of requests, by route.", "route", self.seconds),
            ("twinset_query_batch", "Queries that were answered together, by index.", "index", self.batches),
        ):
            lines += [f"# HELP {name} {help}", f"# TYPE {name} histogram"]
            for key in sorted(found):
                lines += found[key].lines(name, f'{label}="{_escaped(key)}"')
        for name, help, labels, value in gauges:
            if (head := f"# TYPE {name} gauge") not in lines:
                lines += [f"# HELP {name} {help}", head]
            lines.append(f"{name}{labels} {value:g}")
        return "\n".join([*lines, ""])

    def of_process(self) -> list[tuple[str, str, str, float]]:
        """Return gauges of this process."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        unit = 1 if sys.platform == "darwin" else 1024
        return [
            ("process_start_time_seconds", "When the process began, in seconds since 1970.", "", self.began),
            ("process_cpu_seconds_total", "Processor time of the process.", "", used.ru_utime + used.ru_stime),
            ("process_max_resident_memory_bytes", "The most memory that it had.", "", float(used.ru_maxrss * unit)),
        ]


class CountedLog(RequestLog):
    """Logs requests and counts them."""

    def __init__(self, metrics: Metrics, *, texts: bool = False) -> None:
        super().__init__(texts=texts)
        self.metrics = metrics

    def request(self, scope: Scope, status: int, seconds: float, size: int, problem: str) -> None:
        """Count and log an answered request."""
        route = getattr(scope.get("route"), "path", "other")
        self.metrics.request(scope["method"] if route != "other" else "any", route, status, seconds)
        super().request(scope, status, seconds, size, problem)


def _counter(name: str, help: str, rows: Iterable[tuple[str, int]]) -> list[str]:
    return [f"# HELP {name} {help}", f"# TYPE {name} counter", *(f"{name}{{{labels}}} {n}" for labels, n in rows)]


def _escaped(label: str) -> str:
    return label.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
