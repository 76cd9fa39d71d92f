"""What a document costs under several plans, stage by stage: the measurement behind `twinset.plan.band_costs`.

`python -m benchmarks.plan_costs CORPUS [THRESHOLD:HASHES …]` runs the first three stages for each plan on one thread,
and prints, a line a plan, processor time in microseconds a document (a busy machine says the same), how often
documents met in a band, candidates and pairs. It is not one of the benchmarks that `make bench` runs.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

from twinset.candidates.banding import Banded
from twinset.engines.base import Job
from twinset.engines.local.run import LocalEngine
from twinset.options import PairsOptions
from twinset.plan import Plan, plan

THRESHOLDS, SIZES = (0.5, 0.7, 0.8, 0.9), (64, 128, 256, 512, 1024)
HEAD = "| threshold | hashes | bands × rows | read µs | join µs | verify µs | meetings | candidates | pairs |"


def meetings(banded: Banded) -> int:
    """Pairs that share a key, counted once for each band."""
    total = 0
    for keys in banded.keys:
        ordered = np.sort(keys)
        ends = np.append(np.flatnonzero(np.diff(ordered)) + 1, len(ordered))
        runs = np.diff(ends, prepend=0)
        total += int((runs * (runs - 1) // 2).sum())
    return total


def measure(corpus: Path, chosen: Plan) -> str:
    """One line of the table."""
    sizes = {name: getattr(chosen, name) for name in ("n_hashes", "n_bands", "rows_per_band")}
    options = PairsOptions.of(
        threshold=chosen.threshold, threads=1, memory="6GB", identical="link", audit=0, **sizes
    )
    with LocalEngine().open(Job((str(corpus),), options, "benchmark")) as run:
        clock = [time.process_time()]
        documents = run.read()
        clock.append(time.process_time())
        copies = run.collapse(documents)
        join = run.plan(documents, copies)
        candidates = run.candidates(join)
        clock.append(time.process_time())
        pairs = run.verify(join, candidates)
        clock.append(time.process_time())
        first = (copies.first == np.arange(documents.documents)) & (documents.status == 0)
        met = meetings(documents.banded(documents.sketch_blocks(2**62)[0], first))
        times = " | ".join(f"{taken / documents.documents * 1e6:.2f}" for taken in np.diff(clock))
        cut = f"{chosen.n_bands} × {chosen.rows_per_band}"
        counts = f"{met:,} | {candidates.count:,} | {len(pairs):,}"
        return f"| {chosen.threshold:g} | {chosen.n_hashes} | {cut} | {times} | {counts} |"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what a document costs under several plans.")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("plans", nargs="*", help="THRESHOLD:HASHES; all of the table unless given")
    arguments = parser.parse_args()
    wanted = [tuple(map(float, one.split(":"))) for one in arguments.plans]
    plans = [plan(t, n_hashes=int(k)) for t, k in wanted or [(t, k) for t in THRESHOLDS for k in SIZES]]
    measure(arguments.corpus, plans[0])  # the first run of a process is slower: memory is new
    print(HEAD)
    print("|---" * HEAD.count(" | ") + "|---|")
    for chosen in plans:
        print(measure(arguments.corpus, chosen), flush=True)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
