"""An evaluation of two sides: only pairs between the sources and the source compared against count."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import twinset
from tests.evaluation.test_evaluate import families
from twinset.errors import SourceError
from twinset.evaluation import true_pairs
from twinset.evaluation.true_pairs import LinkedClusters

TEXTS = families(12, 5)
# Each side has copies of its own, one text is on both sides, and ids repeat across the sides.
NEW = {f"n{id}": text for id, text in TEXTS.items() if id[-1] in "01"} | {"n0-0 again": TEXTS["0-0"], "both": "one two"}
OLD = {f"o{id}": text for id, text in TEXTS.items() if id[-1] in "234"} | {"o0-0": TEXTS["0-0"], "both": "three four"}
GIVEN: dict[str, Any] = {"against": [OLD], "shingle": "word:1"}


def family(id: str) -> str:
    return id[1:].split("-")[0]


def similar(threshold: float) -> set[tuple[str, str]]:
    """Every pair between the sides that reaches the threshold, by brute force."""
    return {
        (left, right)
        for left, right in itertools.product(NEW, OLD)
        if twinset.compare(NEW[left], OLD[right], shingle="word:1").similarity >= threshold
    }


TRUE = {(left, right) for left, right in itertools.product(NEW, OLD) if "both" not in (left, right)} & {
    (left, right) for left, right in itertools.product(NEW, OLD) if family(left) == family(right)
}


def test_counts_equal_brute_force() -> None:
    # Bands of one row: every pair that shares anything is compared.
    plan = {"n_hashes": 128, "n_bands": 128, "rows_per_band": 1}
    done = twinset.evaluate(NEW, truth=sorted(TRUE), sweep="0.5:0.9:0.1", **GIVEN, **plan)
    for row in done.measures.to_pylist():
        found = similar(row["threshold"])
        assert (row["found_pairs"], row["true_pairs"]) == (len(found), len(TRUE))
        assert row["true_pairs_found"] == len(found & TRUE)
        assert row["precision"] == (len(found & TRUE) / len(found) if found else None)
        assert row["recall"] == len(found & TRUE) / len(TRUE)
        assert row["reduction_ratio"] == 1 - len(found) / (len(NEW) * len(OLD))
    assert (done.summary["documents"], done.summary["against"]) == (len(NEW), len(OLD))
    assert done.summary["sampled"] == {"true_pairs": len(TRUE), "looked_at": len(TRUE)}


def test_it_finds_what_pairs_finds() -> None:
    found = twinset.find_pairs(NEW, threshold=0.7, **GIVEN).pairs
    done = twinset.evaluate(NEW, truth=found, threshold=0.7, **GIVEN)
    assert done.best is not None
    assert (done.best["found_pairs"], done.best["f1"]) == (found.num_rows, 1.0)


def test_clusters_have_no_measures() -> None:
    row = twinset.evaluate(NEW, truth=sorted(TRUE), **GIVEN).measures.to_pylist()[0]
    names = ("found_clusters", "true_clusters", "exact_set_accuracy", "adjusted_rand", "b_cubed_f1")
    assert [row[name] for name in names] == [None] * 5


def test_a_truth_of_clusters_makes_pairs_between_the_sides_only() -> None:
    clusters = {id: family(id) for id in (*NEW, *OLD) if id != "both"}
    by_clusters = twinset.evaluate(NEW, truth=clusters, sweep="0.5:0.9:0.2", **GIVEN)
    by_pairs = twinset.evaluate(NEW, truth=sorted(TRUE), sweep="0.5:0.9:0.2", **GIVEN)
    assert by_clusters.summary["measures"] == by_pairs.summary["measures"]
    assert by_clusters.summary["shares"] == by_pairs.summary["shares"]


def test_pairs_of_linked_clusters_are_counted_and_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    label = np.array([0, 0, 2, 3, 0, 2, 6, 0, 2], np.uint32)
    known = LinkedClusters(label, border=4)
    every = [(a, b) for a in range(4) for b in range(4, 9) if label[a] == label[b]]
    left, right = known.sample()
    assert sorted(zip(left.tolist(), right.tolist(), strict=True)) == every
    assert known.count(0.5) == len(every)
    monkeypatch.setattr(true_pairs, "MOST_SAMPLED", 3)
    left, right = known.sample()
    assert len({*zip(left.tolist(), right.tolist(), strict=True)} & {*every}) == 3


def test_the_exact_join_is_a_truth_too() -> None:
    done = twinset.evaluate(NEW, exact=True, sweep="0.5:0.8:0.1", **GIVEN)
    for row in done.measures.to_pylist():
        assert row["true_pairs"] == len(similar(row["threshold"]))
        assert row["precision"] == 1.0


def test_an_id_of_both_sides_is_told_by_its_column() -> None:
    new, old = {"a": "one two three", "b": "four five six"}, {"a": "four five six", "b": "seven eight nine"}
    given: dict[str, Any] = {"against": [old], "shingle": "word:1"}
    right_way = twinset.evaluate(new, truth=[("b", "a")], **given)
    assert right_way.best is not None
    assert right_way.best["f1"] == 1.0
    other_way = twinset.evaluate(new, truth=[("a", "b")], **given)
    assert other_way.best is not None
    assert other_way.best["f1"] == 0.0
    with pytest.raises(SourceError, match="'a' is the id of documents on both sides"):
        twinset.evaluate(new, truth={"a": 1, "b": 2}, **given)


def test_rows_that_name_no_pair_between_the_sides_are_counted() -> None:
    truth = [("o0-2", "n0-0"), ("n0-0", "o0-2"), ("n0-0", "n0-1"), ("o1-2", "o1-3"), ("n0-0", "nobody")]
    done = twinset.evaluate(NEW, truth=truth, **GIVEN)
    facts = done.summary["truth"]
    assert (facts["within_one_side"], facts["rows_left_out"], facts["unknown"]) == (2, 1, ["nobody"])
    assert (facts["repeated"], done.measures["true_pairs"][0].as_py()) == (1, 1)


def test_results_do_not_depend_on_threads_or_memory() -> None:
    def measured(**more: Any) -> tuple[Any, Any]:
        done = twinset.evaluate(NEW, truth=sorted(TRUE), sweep="0.5:0.9:0.2", **GIVEN, **more)
        return done.summary["measures"], done.summary["shares"]

    assert measured(threads=1, batch_bytes=1024) == measured(threads=4) == measured(memory="512MB")


def test_other_kinds_of_items_have_sides_too() -> None:
    points = np.eye(4, dtype=np.float32)
    done = twinset.evaluate(points[:2], against=[points[1:]], vectors=True, truth=[("1", "against-array:0")])
    assert done.best is not None
    assert (done.best["found_pairs"], done.best["f1"]) == (1, 1.0)
