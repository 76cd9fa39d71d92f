"""Tables, bits and probes that are given are used, and find what the plan says."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import twinset
from tests.directions import away, beside, directions
from twinset.errors import OptionError, PlanWarning

PAIRS, SEEDS = 1500, 4


def share_found(options: dict[str, Any], limit: dict[str, float], seed: int) -> tuple[float, float]:
    """The share of planted pairs at the limit that is found, and what the plan says."""
    one = directions(PAIRS, 48, seed)
    if "threshold" in limit:
        other = beside(one, limit["threshold"] + 1e-6, seed)
    else:
        other = away(one, limit["distance"] - 1e-5, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlanWarning)
        found = twinset.find_pairs(
            np.concatenate([one, other]), vectors=True, audit=0, progress=False, seed=seed, **limit, **options
        )
    planted = {(str(row), str(row + PAIRS)) for row in range(PAIRS)}
    pairs = set(zip(found.pairs["left"].to_pylist(), found.pairs["right"].to_pylist(), strict=True))
    for name in ("tables", "probes"):
        assert name not in options or getattr(found.plan, name) == options[name] == found.summary["plan"][name]
    if "bits" in options:
        assert (found.plan.method, found.plan.functions) == ("hyperplane", options["bits"])
    return len(planted & pairs) / PAIRS, found.plan.reached


@pytest.mark.parametrize(
    ("options", "limit"),
    [
        ({"tables": 1, "bits": 8, "probes": 0}, {"threshold": 0.9}),
        ({"tables": 3, "bits": 12, "probes": 0}, {"threshold": 0.9}),
        ({"tables": 2, "bits": 10, "probes": 6}, {"threshold": 0.8}),
        ({"tables": 2, "probes": 3, "recall": 0.5}, {"threshold": 0.9}),
        ({"tables": 2, "probes": 0, "recall": 0.5}, {"distance": 0.5}),
        ({"tables": 1, "probes": 8, "recall": 0.5}, {"distance": 0.5}),
    ],
)
def test_the_share_found_is_the_stated_one(options: dict[str, Any], limit: dict[str, float]) -> None:
    """Within four standard errors of the pairs and of the simulation, and 0.02 for tables that all pairs share."""
    shares = [share_found(options, limit, seed) for seed in range(1, SEEDS + 1)]
    measured, stated = np.mean(shares, axis=0).tolist()  # the plan may differ with the vectors
    error = math.sqrt(stated * (1 - stated) * (1 / (PAIRS * SEEDS) + 1 / 8192))
    assert abs(measured - stated) < 4 * error + 0.02, (measured, stated)


def test_beside_given_tables_the_rest_is_chosen_for_the_recall() -> None:
    vectors = directions(2000, 32, 1)
    for tables in (2, 8, 30):
        found = twinset.find_pairs(vectors, vectors=True, threshold=0.9, tables=tables, progress=False)
        assert found.plan.tables == tables
        assert found.plan.reached >= 0.98
    with pytest.warns(PlanWarning, match=r"1 table of 16 bits: .* 0\.08\d+, less than the requested recall"):
        few = twinset.find_pairs(vectors, vectors=True, threshold=0.9, tables=1, bits=16, probes=0, progress=False)
    assert few.plan.reached < 0.1


def test_the_nearest_by_given_tables() -> None:
    vectors = directions(900, 16, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlanWarning)
        few = twinset.find_pairs(vectors, vectors=True, top=3, tables=1, bits=6, probes=0, progress=False)
        many = twinset.find_pairs(vectors, vectors=True, top=3, tables=40, bits=6, probes=3, progress=False)
    assert (few.summary["plan"]["tables"], many.summary["plan"]["tables"]) == (1, 40)
    assert few.summary["audit"]["recall"] < 0.7 < 0.95 < many.summary["audit"]["recall"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"codes": "c", "tables": 3}, "tables does not apply to bit codes"),
        ({"bits": 3}, "bits does not apply to texts"),
        ({"items": "i", "probes": 3}, "probes does not apply to sets"),
        ({"vectors": True, "sparse": True, "tables": 3}, "tables does not apply to sparse vectors"),
        ({"vectors": True, "exact": True, "tables": 3}, "cannot be used with exact=True, which compares all vectors"),
        ({"vectors": True, "distance": 1.0, "bits": 3}, "keys are strips, not bits"),
        ({"vectors": True, "distance": 0.0, "probes": 3}, "which finds equal vectors"),
        ({"vectors": True, "tables": 0}, "tables is 0; allowed: a whole number from 1 to 1,?024"),
        ({"vectors": True, "bits": 49}, "bits is 49; allowed: a whole number from 1 to 48"),
        ({"vectors": True, "probes": 256}, "probes is 256; allowed: a whole number from 0 to 255"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        twinset.find_pairs(["a text"], progress=False, **options)
