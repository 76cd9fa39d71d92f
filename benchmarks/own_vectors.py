"""Twinset's pairs of vectors, from an array in memory to verified pairs, with several plans; prints one JSON line."""

from __future__ import annotations

import argparse
import gc
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import vector_join
from twinset.plan import vectors as planning
from twinset.plan.vector_chances import _corners_agree
from twinset.plan.vectors import VectorPlan, vector_plan
from twinset.schema import Vectors

PLANS: dict[str, dict[str, Any]] = {
    "twinset": {},
    "cross-polytope, 8 probes": {"method": "cross-polytope", "probes": 8},
    "cross-polytope, no probes": {"method": "cross-polytope", "probes": 0},
    "hyperplane, 8 probes": {"method": "hyperplane", "probes": 8},
    "hyperplane, no probes": {"method": "hyperplane", "probes": 0},
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("vectors", type=Path)
    parser.add_argument("pairs", type=Path, help="folder for the pairs that each plan finds")
    parser.add_argument("--threshold", type=float, default=0.9)
    parser.add_argument("--recall", type=float, default=0.95)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    vectors: Vectors = np.load(arguments.vectors)
    arguments.pairs.mkdir(parents=True, exist_ok=True)
    result = {}
    for place, (name, words) in enumerate(PLANS.items()):
        seconds, joining, cpu = [], [], []
        vector_join.pairs(vectors[:1000], _planned(vectors, arguments, words))  # warm
        for _ in range(arguments.repeat):
            gc.collect()
            planning._simulated.cache_clear()  # what a plan simulated is not to be had for nothing the next time
            _corners_agree.cache_clear()
            start, busy = time.perf_counter(), time.process_time()
            plan = _planned(vectors, arguments, words)
            planned = time.perf_counter()
            lefts, rights, scores = vector_join.pairs(vectors, plan, threads=arguments.threads)
            end = time.perf_counter()
            seconds.append(end - start)
            joining.append(end - planned)
            cpu.append(time.process_time() - busy)
        np.savez(arguments.pairs / f"{place}.npz", lefts=lefts, rights=rights, scores=scores)
        result[name] = {
            "seconds": seconds,
            "best": min(seconds),
            "joining": min(joining),
            "cpu": min(cpu),
            "pairs": len(lefts),
            "plan": plan.to_dict(),
            "words": str(plan),
            "file": f"{place}.npz",
        }
    print(json.dumps(result))


def _planned(vectors: Vectors, arguments: argparse.Namespace, words: dict[str, Any]) -> VectorPlan:
    """A plan, with the cosines of some pairs of the collection to tell it what will meet by chance."""
    rng = np.random.default_rng(1)
    left, right = (vectors[rng.integers(0, len(vectors), 5000)] for _ in range(2))
    others = (left.astype(np.float64) * right).sum(axis=1).tolist()
    return vector_plan(
        arguments.threshold,
        arguments.recall,
        dimensions=vectors.shape[1],
        vectors=len(vectors),
        others=[cosine for cosine in others if cosine < 1 - 1e-6],
        **words,
    )


if __name__ == "__main__":
    main()
