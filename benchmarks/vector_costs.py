"""What the steps over vectors cost, one by one: the measurement behind `twinset.plan.vector_costs`.

`python -m benchmarks.vector_costs VECTORS.npy` runs each step on one thread and prints its processor time in
nanoseconds (a busy machine says the same), beside what the plan supposes for a vector and a table. It is not one of the
benchmarks that `make bench` runs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from twinset.candidates import probing
from twinset.pairs import vectors as verifying
from twinset.plan import vector_costs
from twinset.plan.vectors import VectorPlan, vector_plan
from twinset.schema import Vectors
from twinset.sketches.vectors import keys as vector_keys
from twinset.system.vectors import squares, unit_vectors

TABLES = 4
ROWS = 4096
PLANS = (
    ("hyperplane", 12, 0), ("hyperplane", 16, 0), ("hyperplane", 16, 4), ("hyperplane", 16, 16),
    ("cross-polytope", 2, 0), ("cross-polytope", 2, 4), ("cross-polytope", 3, 1), ("cross-polytope", 2, 16),
)  # fmt: skip


def spent(work: Callable[[], object]) -> float:
    """The least processor time of three runs, in nanoseconds."""
    times = []
    for _ in range(3):
        start = time.thread_time()
        work()
        times.append(time.thread_time() - start)
    return 1e9 * min(times)


def measure(vectors: Vectors, plan: VectorPlan) -> str:
    """One line of the table: a vector in a table."""
    n = len(vectors) * TABLES
    drawn, found = vector_keys.draw(plan, 1), []
    chunks = [vectors[start : start + ROWS] for start in range(0, len(vectors), ROWS)]

    def hashing() -> None:
        found[:] = [vector_keys.moves(chunk, drawn, range(TABLES), plan.probes) for chunk in chunks]

    hashed = spent(hashing) / n
    tried = spent(lambda: [probing.next_keys(moves, plan.probes) for some in found for moves in some]) / n
    keys = [np.concatenate([probing.next_keys(some[t], plan.probes) for some in found]) for t in range(TABLES)]
    numbers, signatures = np.arange(len(vectors), dtype=np.uint32), vector_keys.sign(vectors, plan, 1)
    filed = spent(lambda: [probing.probed(numbers, one, signatures) for one in keys]) / n
    blocks = [probing.probed(numbers, one, signatures) for one in keys]
    looked = spent(lambda: [list(probing.within(block, plan.most_differing)) for block in blocks]) / n
    met = sum(_met(block) for block in blocks) / n
    hash_cost, try_cost = vector_costs._hash(plan), vector_costs._tried(plan)
    return (
        f"| {plan.method} {plan.functions} {plan.width:g} | {plan.probes} | {hashed:.0f} ({hash_cost:.0f})"
        f" | {tried:.0f} ({try_cost:.0f}) | {filed:.0f} | {looked:.0f} | {met:.1f} |"
    )


def _met(block: probing.Probed) -> int:
    """How many vectors stand in the buckets that are looked into."""
    order = np.sort(block.tried[:, 0])
    return int((np.searchsorted(order, block.tried, "right") - np.searchsorted(order, block.tried, "left")).sum())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("vectors", type=Path)
    vectors, _ = unit_vectors(np.load(parser.parse_args().vectors))
    lengths = squares(vectors)
    rng = np.random.default_rng(1)
    lefts, rights = (rng.integers(0, len(vectors), 200_000).astype(np.uint32) for _ in range(2))
    cost = spent(lambda: verifying.similar(lefts, rights, 0.9, vectors, lengths)) / len(lefts)
    print(f"{vectors.shape[1]} dimensions; verifying a pair {cost:.0f} ns")
    few = vectors[:8192]
    cost = spent(lambda: list(verifying.AllWithAll(few, 0.9).pairs(0, len(few)))) / (len(few) * (len(few) - 1) / 2)
    print(f"comparing all with all, a pair {cost:.1f} ns (processor time of this thread alone)")
    print("| key | probes | hash ns | try ns | file ns | look ns | met |\n|---|---:|---:|---:|---:|---:|---:|")
    for method, functions, probes in PLANS:
        words = {"method": method, "functions": functions, "probes": probes, "tables": TABLES}
        print(measure(vectors, vector_plan(0.9, 0.01, dimensions=vectors.shape[1], vectors=len(vectors), **words)))  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
