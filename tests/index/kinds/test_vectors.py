"""An index of vectors: what is answered is exact, and as much is found as was promised, in both homes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import twinset
from tests.index.conftest import NewIndex
from twinset.errors import OptionError, SourceError
from twinset.pairs.vectors import AllWithAll, every_nearest
from twinset.plan.vectors import VectorPlan
from twinset.system.vectors import check_vectors

RNG = np.random.default_rng(5)
VECTORS = check_vectors(RNG.standard_normal((600, 24)))


def turned(vectors: Any, cosine: float, seed: int = 2) -> Any:
    """Vectors of another length at a cosine to each."""
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    other = np.random.default_rng(seed).standard_normal(vectors.shape)
    other -= (other * units).sum(axis=1, keepdims=True) * units
    other /= np.linalg.norm(other, axis=1, keepdims=True)
    return check_vectors(3 * (cosine * units + math.sqrt(1 - cosine**2) * other))


def rows(table: Any, name: str) -> list[tuple[str, float]]:
    return list(zip(table.column("id").to_pylist(), table.column(name).to_pylist(), strict=True))


@pytest.mark.parametrize("measure", ["threshold", "distance"])
def test_found_as_often_as_promised_and_scored_exactly(new_index: NewIndex, measure: str) -> None:
    """Those right at the limit, within four errors; nothing beyond it; scores as pairs have them, to the last bit."""
    index = new_index(vectors="v", recall=0.9, **{measure: 0.9 if measure == "threshold" else 2.0})
    index.add([str(row) for row in range(600)], VECTORS)
    if measure == "threshold":
        asked, score = turned(VECTORS, 0.901), "similarity"
    else:
        step = RNG.standard_normal(VECTORS.shape)
        asked, score = check_vectors(VECTORS + 1.999 * step / np.linalg.norm(step, axis=1, keepdims=True)), "distance"
    table = index.query(asked)
    both = np.concatenate([asked, VECTORS])
    limit = 0.9 if score == "similarity" else 2.0
    every = AllWithAll(both, limit, "cosine" if score == "similarity" else "distance").pairs(0, 600)
    true = {
        (int(left), int(right) - 600): value
        for lefts, rights, values in every
        for left, right, value in zip(lefts, rights, values.tolist(), strict=True)
        if right >= 600
    }
    found = zip(table.column("query").to_pylist(), rows(table, score), strict=True)
    answers = {(int(query), int(id)): value for query, (id, value) in found}
    assert answers.items() <= true.items()  # to the last bit
    assert len(true) >= 600
    assert len(answers) >= 0.9 * len(true) - 4 * math.sqrt(len(true) * 0.09)
    assert min(table.column("recall").to_pylist()) >= 0.9
    assert not any(table.column("estimate").to_pylist())
    assert index.verify() == []


def test_the_nearest_say_how_sure_they_are(tmp_path: Path) -> None:
    """By the recall that they tell, no fewer of the true nearest are found than it says."""
    index = twinset.Index.create(tmp_path / "v.twinset", vectors="v", threshold=0.8, recall=0.95, seed=1)
    index.add([str(row) for row in range(600)], VECTORS)
    asked = turned(VECTORS, 0.7)
    table = index.query(asked, k=1)
    numbers, cosines, _ = every_nearest(asked, VECTORS, 1)
    firsts = dict(zip(table.column("query").to_pylist(), rows(table, "similarity"), strict=True))
    hits = [firsts.get(str(row), ("", 0))[0] == str(numbers[row, 0]) for row in range(600)]
    told = [index._kind.recall(float(cosine)) for cosine in cosines[:, 0]]  # type: ignore[attr-defined]
    assert 0.3 < np.mean(told) < 0.95
    assert sum(hits) >= sum(told) - 4 * math.sqrt(sum(one * (1 - one) for one in told))
    some = table.column("recall").to_pylist()
    assert all(0 < one <= 1 for one in some)
    recalls = [index._kind.recall(cosine) for cosine in (0.0, 0.5, 0.79, 0.8, 1.0)]  # type: ignore[attr-defined]
    assert recalls == sorted(recalls)
    assert recalls[0] < 0.05 < 0.95 <= recalls[3]


def test_where_tables_do_not_pay_all_are_compared(new_index: NewIndex) -> None:
    index = new_index(vectors="v", threshold=0.05)
    index.add([str(row) for row in range(600)], VECTORS)
    assert isinstance(index.plan, VectorPlan)
    assert (index.plan.method, index.plan.tables) == ("exact", 0)
    numbers, cosines, _ = every_nearest(VECTORS[:7], VECTORS, 5)
    found = index.query(VECTORS[:7], k=5)
    expected = list(zip(map(str, numbers.ravel()), cosines.ravel().tolist(), strict=True))
    assert rows(found, "similarity") == expected
    assert rows(index.similar_to("3", k=4), "similarity") == expected[16:20]
    assert set(found.column("recall").to_pylist()) == {1.0}
    assert index.remove(["599"]) == 1
    assert index.verify() == []


def test_a_distance_that_everything_is_within(new_index: NewIndex) -> None:
    index = new_index(vectors="v", distance=1e31)
    index.add(["a", "b"], VECTORS[:2])
    assert index.query(VECTORS[0]).num_rows == 2


def test_vectors_that_rounding_would_move_are_refused_by_distance(new_index: NewIndex) -> None:
    index = new_index(vectors="v", distance=0.1)
    far = [[5432101.37, 381200.12]]
    for given in (far, np.array(far), pa.array(far)):
        with pytest.raises(SourceError, match=r"vector number 0 cannot be read: .* moves this vector by 0\.13"):
            index.add(["a"], given)
    index.add(["a"], np.array(far, np.float32))
    assert len(index) == 1


def test_vectors_as_they_come(new_index: NewIndex, tmp_path: Path) -> None:
    index = new_index(vectors=True, threshold=0.9)
    np.save(tmp_path / "v.npy", VECTORS[:100].astype(np.float64))
    assert index.add(tmp_path / "v.npy").added == 100
    lists = VECTORS[100:103].tolist()
    index.add(["a", "b", "c"], lists)
    index.add(pa.table({"id": ["d"], "vector": [VECTORS[103].tolist()]}))
    index.add(["e", "zero"], np.stack([VECTORS[104], np.zeros(24)]))
    assert len(index) == 106
    for query in (lists[1], VECTORS[101], ",".join(map(str, lists[1])), tuple(lists[1])):
        assert index.query(query).column("id").to_pylist() == ["b"]
    found = index.query(np.concatenate([VECTORS[[0]], VECTORS[101:105], np.zeros((1, 24))]))
    assert found.column("id").to_pylist() == [f"{tmp_path}/v.npy:0", "b", "c", "d", "e"]
    assert index.similar_to("zero").num_rows == 0  # without a direction it is like nothing
    assert index.add(["zero"], [[0.0] * 24]).unchanged == 1
    assert index.verify() == []


def test_what_has_no_meaning_is_refused(new_index: NewIndex) -> None:
    for words, said in (
        ({"n_hashes": 64}, "n_hashes does not apply to vectors"),
        ({"threshold": 0.9, "distance": 1}, "leave one of them out"),
        ({"distance": 0}, "allowed for an index of vectors: a number above 0"),
        ({"bits": 64}, "bits does not apply to vectors"),
    ):
        with pytest.raises(OptionError, match=said):
            new_index(vectors="v", **words)
    index = new_index(vectors="v", threshold=0.9, dimensions=24)
    for wrong, said in (
        ([[1.0, 2.0]], "the vector has 2 dimensions, and those of the index have 24"),
        ([[math.nan] * 24], "nan; allowed: finite numbers"),
        (["text"], "allowed: numbers"),
        ([[[1.0]]], "a vector must be a list of numbers"),
        (np.ones(24), "one vector per row"),
    ):
        with pytest.raises(SourceError, match=said):
            index.add(["a"], wrong)
    assert len(index) == 0
    assert index.plan is None
    index.add(["a"], VECTORS[:1])
    for words, said in (
        ({"threshold": 0.5}, "planned for 0.9: a vector at 0.5 would be found only with probability 0"),
        ({"distance": 1.0}, "distance does not apply to this index, which is searched by threshold"),
    ):
        with pytest.raises(OptionError, match=said):
            index.query(VECTORS[0], **words)
    assert index.query(VECTORS[0], threshold=0.5, force=True).num_rows == 1
    with pytest.raises(SourceError, match="the vector has 3 dimensions"):
        index.query([1.0, 2.0, 3.0])
