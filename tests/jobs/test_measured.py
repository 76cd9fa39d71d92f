"""Codes, vectors and weighted sets, end to end, against comparing everything with everything."""

from __future__ import annotations

import hashlib
import itertools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import twinset
from twinset.engines.local.write.tables import ResultTables
from twinset.engines.progress import Silent
from twinset.errors import OptionError, RowError, SourceError

Pair = tuple[int, int]
Score = dict[Pair, float]

# Few bits and few directions, so that much is near and much is equal.
CODES = st.lists(st.integers(0, 255) | st.integers(0, 2**64 - 1), min_size=0, max_size=24)
NUMBERS = st.sampled_from([-2.0, -1.0, -0.0, 0.0, 0.5, 1.0, 1.25, 3.0])
VECTORS = st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=20)
BASKETS = st.lists(
    st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0]), max_size=5), max_size=16
)


def bits_apart(left: int, right: int) -> float:
    return float((left ^ right).bit_count())


def euclidean(left: Any, right: Any) -> float:
    return math.dist(left, right)


def cosine(left: Any, right: Any) -> float | None:
    """None where one has no direction."""
    if not any(left) or not any(right):
        return None
    dot = sum(Fraction(a) * Fraction(b) for a, b in zip(left, right, strict=True))
    squares = [sum(Fraction(a) ** 2 for a in one) for one in (left, right)]
    return float(dot) / math.sqrt(squares[0] * squares[1])


def weighted_jaccard(left: dict[str, float], right: dict[str, float]) -> float | None:
    names = set(left) | set(right)
    most = sum(max(left.get(name, 0), right.get(name, 0)) for name in names)
    return sum(min(left.get(name, 0), right.get(name, 0)) for name in names) / most if most else None


def listed(result: Any, column: str) -> Score:
    rows = [result.pairs[name].to_pylist() for name in ("left", "right", column)]
    found = {(int(left), int(right)): float(score) for left, right, score in zip(*rows, strict=True)}
    assert len(found) == result.pairs.num_rows == result.summary["pairs"], "a pair is listed twice"
    assert all(left < right for left, right in found)
    return found


def all_pairs(items: Any, measure: Any, keep: Any, groups: Any = None) -> Score:
    found = {}
    for right in range(len(items)):
        for left in range(right):
            score = measure(items[left], items[right])
            if score is not None and keep(score) and (groups is None or groups[left] == groups[right]):
                found[left, right] = score
    return found


def same(found: Score, wanted: Score) -> None:
    assert found.keys() == wanted.keys()
    for pair, score in wanted.items():
        assert found[pair] == pytest.approx(score, abs=1e-12)


@settings(max_examples=15)
@given(CODES, st.integers(0, 6))
def test_codes_within_a_distance(codes: list[int], distance: int) -> None:
    found = twinset.find_pairs(codes, codes="code", distance=distance, threads=1)
    same(listed(found, "distance"), all_pairs(codes, bits_apart, lambda score: score <= distance))
    assert found.summary["audit"] is None  # nothing can be missed


@settings(max_examples=15)
@given(VECTORS, st.sampled_from([0.0, 0.5, 1.0, 2.5]))
def test_vectors_within_a_distance(vectors: list[Any], distance: float) -> None:
    found = twinset.find_pairs([list(one) for one in vectors], vectors=True, distance=distance, threads=1)
    same(listed(found, "distance"), all_pairs(vectors, euclidean, lambda score: score <= distance))


@settings(max_examples=15)
@given(VECTORS, st.sampled_from([0.3, 0.75, 0.97]))
def test_vectors_by_cosine(vectors: list[Any], threshold: float) -> None:
    found = twinset.find_pairs([list(one) for one in vectors], vectors=True, threshold=threshold, threads=1)
    same(listed(found, "similarity"), all_pairs(vectors, cosine, lambda score: score >= threshold))
    assert found.summary["empty"] == sum(not any(one) for one in vectors)


@settings(max_examples=12)
@given(BASKETS, st.sampled_from([0.4, 0.75, 1.0]))
def test_weighted_sets(baskets: list[dict[str, float]], threshold: float) -> None:
    # So many bands of one row that none of these few pairs is missed.
    words = {"n_hashes": 256, "n_bands": 256, "rows_per_band": 1}
    found = twinset.find_pairs(baskets, items="e", weight="w", threshold=threshold, threads=1, **words)
    same(listed(found, "similarity"), all_pairs(baskets, weighted_jaccard, lambda score: score >= threshold))
    shares = zip(*(found.pairs[name].to_pylist() for name in ("left", "right", "left_in_right")), strict=True)
    for left, right, share in shares:
        ours, theirs = baskets[int(left)], baskets[int(right)]
        common = sum(min(weight, theirs.get(name, 0)) for name, weight in ours.items())
        assert share == pytest.approx(common / sum(ours.values()))


@settings(max_examples=15)
@given(CODES, CODES, st.integers(0, 4))
def test_codes_against_others(ours: list[int], theirs: list[int], distance: int) -> None:
    found = twinset.find_pairs({f"a{i}": c for i, c in enumerate(ours)}, codes="code", distance=distance, threads=1,
                               against=[{f"b{i}": c for i, c in enumerate(theirs)}])  # fmt: skip
    pairs = set(zip(found.pairs["left"].to_pylist(), found.pairs["right"].to_pylist(), strict=True))
    wanted = {
        (f"a{i}", f"b{j}") for i, a in enumerate(ours) for j, b in enumerate(theirs) if bits_apart(a, b) <= distance
    }
    assert pairs == wanted


@settings(max_examples=15)
@given(VECTORS, VECTORS, st.sampled_from([0.0, 1.0]))
def test_vectors_against_others(ours: list[Any], theirs: list[Any], distance: float) -> None:
    found = twinset.find_pairs({f"a{i}": list(v) for i, v in enumerate(ours)}, vectors=True, distance=distance,
                               threads=1, against=[{f"b{i}": list(v) for i, v in enumerate(theirs)}])  # fmt: skip
    pairs = set(zip(found.pairs["left"].to_pylist(), found.pairs["right"].to_pylist(), strict=True))
    wanted = {
        (f"a{i}", f"b{j}") for i, a in enumerate(ours) for j, b in enumerate(theirs) if euclidean(a, b) <= distance
    }
    assert pairs == wanted


@settings(max_examples=12)
@given(st.data())
def test_only_rows_that_agree_in_a_column_are_compared(data: st.DataObject) -> None:
    codes = data.draw(st.lists(st.integers(0, 31), min_size=1, max_size=20))
    groups = [data.draw(st.sampled_from("xy")) for _ in codes]
    ids = [str(number) for number in range(len(codes))]
    table = pa.table({"id": ids, "code": pa.array(codes, pa.uint8()), "group": groups})
    found = twinset.find_pairs(table, codes="code", distance=1, by="group", threads=1)
    same(listed(found, "distance"), all_pairs(codes, bits_apart, lambda score: score <= 1, groups))
    vectors = pa.array([[float(code & 7), float(code >> 3), 1.0] for code in codes])
    table = pa.table({"id": ids, "v": vectors, "group": groups})
    found = twinset.find_pairs(table, vectors="v", distance=1.0, by="group", threads=1)
    same(listed(found, "distance"), all_pairs(vectors.to_pylist(), euclidean, lambda score: score <= 1, groups))


@pytest.mark.parametrize("cluster", ["leader", "components", "complete"])
@settings(max_examples=8)
@given(CODES)
def test_clusters_of_codes(cluster: str, codes: list[int]) -> None:
    """Every removed code has a kept one; its distance is told, and is near enough unless it hangs on by others."""
    done = twinset.dedup(codes, codes="code", distance=2, cluster=cluster, threads=1)
    kept = [int(id) for id in done.clusters.filter(done.clusters["kept"])["id"].to_pylist()]
    removed = done.removed.to_pylist()
    assert sorted(kept + [int(row["id"]) for row in removed]) == list(range(len(codes)))
    for row in removed:
        apart = bits_apart(codes[int(row["id"])], codes[int(row["because_of"])])
        assert row["distance"] == apart
        assert apart <= 2 or cluster == "components"
        assert int(row["because_of"]) in kept
    if cluster == "leader":
        assert not all_pairs([codes[number] for number in kept], bits_apart, lambda score: score <= 2)


def planted(count: int, dimensions: int, near: float, seed: int = 1) -> Any:
    """Random directions, a tenth of them with a neighbour at this cosine."""
    rng = np.random.default_rng(seed)
    found = rng.normal(size=(count, dimensions))
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    few = count // 10
    aside = rng.normal(size=(few, dimensions))
    aside -= (aside * found[:few]).sum(axis=1, keepdims=True) * found[:few]
    aside /= np.linalg.norm(aside, axis=1, keepdims=True)
    found[few : 2 * few] = near * found[:few] + math.sqrt(1 - near * near) * aside
    return found.astype(np.float32)


@pytest.fixture(scope="module")
def many() -> Any:
    return planted(12_000, 32, 0.93)


@pytest.fixture(scope="module")
def joined(many: Any) -> Any:
    found = twinset.find_pairs(many, vectors=True, threshold=0.9, recall=0.9)
    assert found.plan.method != "exact", "this is for hash tables"
    return found


def test_tables_find_what_they_promise(many: Any, joined: Any) -> None:
    truth = {(row, row + 1200) for row in range(1200)}
    assert listed(joined, "similarity").keys() <= truth
    # With 1,200 pairs and a recall of 0.9, fewer than 1,030 come once in 10^5 runs; the plan has a margin besides.
    assert joined.summary["pairs"] >= 1030
    audit = joined.summary["audit"]
    assert audit["low"] <= joined.summary["pairs"] / 1200 <= audit["high"]
    assert twinset.find_pairs(many, vectors=True, threshold=0.9, exact=True).summary["pairs"] == 1200


def test_the_same_pairs_whatever_the_work_is_cut_into(many: Any, joined: Any) -> None:
    for words in ({"threads": 1}, {"threads": 3, "batch_bytes": 50_000}, {"memory": "512MB"}):
        again = twinset.find_pairs(many, vectors=True, threshold=0.9, recall=0.9, **words)
        assert again.pairs.equals(joined.pairs)
        assert again.plan == joined.plan


def test_the_same_pairs_whatever_the_order_of_the_rows(many: Any, joined: Any) -> None:
    order = np.random.default_rng(5).permutation(len(many))
    shuffled = {str(number): many[number] for number in order.tolist()}
    again = twinset.find_pairs(shuffled, vectors=True, threshold=0.9, recall=0.9)
    pairs = zip(again.pairs["left"].to_pylist(), again.pairs["right"].to_pylist(), strict=True)
    assert {tuple(sorted((int(left), int(right)))) for left, right in pairs} == listed(joined, "similarity").keys()


def test_groups_are_kept_apart_in_tables(many: Any) -> None:
    groups = ["x" if row < 1200 or row >= 1800 else "y" for row in range(len(many))]
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(many.reshape(-1)), 32)
    table = pa.table({"id": [str(row) for row in range(len(many))], "v": vectors, "group": groups})
    found = twinset.find_pairs(table, vectors=True, threshold=0.9, by="group")
    assert {right for _, right in listed(found, "similarity")} <= set(range(1800, 2400))
    assert found.summary["pairs"] > 500


def brute_nearest(items: Any, top: int, apart: Any, limit: float = math.inf, link: bool = False) -> list[Pair]:
    found = []
    first = [items.index(one) for one in items]
    for left in range(len(items)):
        others = [(apart(items[left], items[right]), right) for right in range(len(items)) if right != left]
        if link:  # a copy has its first appearance alone, and a first one its copies and other first ones
            others = [
                (score, right)
                for score, right in others
                if (first[left] == left and first[right] in (left, right)) or first[left] == right
            ]
        found += [(left, right) for score, right in sorted(others)[:top] if score <= limit]
    return found


@settings(max_examples=20)
@given(VECTORS, st.integers(1, 4), st.sampled_from([0.0, 1.0, 2.5, 1e30, 1e300]), st.booleans())
def test_the_nearest_vectors(vectors: list[Any], top: int, limit: float, link: bool) -> None:
    words = {"top": top, "threads": 1, "identical": "link" if link else "all"}
    found = twinset.find_pairs([list(one) for one in vectors], vectors=True, distance=limit, **words)
    pairs = zip(found.pairs["left"].to_pylist(), found.pairs["right"].to_pylist(), strict=True)
    assert [(int(left), int(right)) for left, right in pairs] == brute_nearest(vectors, top, euclidean, limit, link)


def test_the_nearest_by_cosine_have_a_limit_where_one_was_given() -> None:
    vectors = [[1.0, 0.0], [2.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.5]]
    ties = [("0", "1"), ("0", "2"), ("1", "0"), ("1", "2"), ("2", "0"), ("2", "1")]  # by input order, copies or not
    for words, of_the_others in (
        ({}, [("3", "4"), ("3", "0"), ("4", "0"), ("4", "1")]),
        ({"threshold": 0.8}, [("4", "0"), ("4", "1")]),  # the default itself, but given
        ({"threshold": 0.95}, []),
    ):
        rows = twinset.find_pairs(vectors, vectors=True, top=2, **words).pairs.to_pylist()
        assert [(row["left"], row["right"]) for row in rows] == ties + of_the_others
    plan = twinset.find_pairs(vectors, vectors=True, top=2, threshold=0.95).plan
    assert str(plan) == "exact: the 2 nearest of each vector with a cosine of at least 0.95, all compared with all"


def test_of_many_copies_only_the_nearest_are_made() -> None:
    copies = np.ones((20_000, 2), np.float32)  # two hundred million pairs
    assert twinset.find_pairs(copies, vectors=True, top=2).summary["pairs"] == 40_000
    with pytest.raises(OptionError, match="identical documents alone"):
        twinset.find_pairs(copies, vectors=True)


def test_vectors_that_are_very_far_apart() -> None:
    vectors = np.array([[1e38, 0], [2e38, 1e38], [2, 0]], np.float32)
    for distance, count in ((1e20, 0), (1.2e38, 1), (1e39, 3), (1e300, 3)):
        assert twinset.find_pairs(vectors, vectors=True, distance=distance).summary["pairs"] == count
    rows = twinset.find_pairs(vectors, vectors=True, distance=1.2e38, top=1).pairs.to_pylist()
    assert [(row["left"], row["right"]) for row in rows] == [("0", "2"), ("2", "0")]


def test_items_that_differ_in_upper_bits_only_are_not_identical() -> None:
    signs = np.array(list(itertools.product([1, -1], repeat=6)), np.float32) * np.arange(1, 7, dtype=np.float32)
    assert twinset.find_pairs(signs, vectors=True, threshold=0.999).pairs.num_rows == 0
    code = bytearray(16)
    code[7] = code[11] = code[15] = 0x80
    assert twinset.find_pairs([bytes(16), bytes(code)], codes="code", distance=0).pairs.num_rows == 0
    assert twinset.find_pairs([bytes(16), bytes(code)], codes="code", distance=3).pairs["distance"].to_pylist() == [3]


def test_equal_vectors_of_two_groups_and_two_sides() -> None:
    ours, theirs = (
        pa.table({"id": [f"{side}1", f"{side}2"], "group": ["x", "y"], "v": [[1.0, 2.0], [1.0, 2.0]]}) for side in "ab"
    )
    found = twinset.find_pairs(ours, against=[theirs], vectors="v", distance=0, by="group")
    assert [(row["left"], row["right"]) for row in found.pairs.to_pylist()] == [("a1", "b1"), ("a2", "b2")]


def test_the_nearest_by_tables_with_the_recall_that_they_have() -> None:
    rng = np.random.default_rng(2)
    centres = rng.normal(size=(800, 24))
    vectors = (centres[rng.integers(0, 800, 8000)] + 0.2 * rng.normal(size=(8000, 24))).astype(np.float32)
    exact = twinset.find_pairs(vectors, vectors=True, top=3, exact=True)
    found = twinset.find_pairs(vectors, vectors=True, top=3, recall=0.9)
    assert found.plan.tables.method != "exact"
    assert twinset.find_pairs(vectors, vectors=True, top=3, recall=0.9, threads=1).pairs.equals(found.pairs)
    pairs = [
        set(zip(one.pairs["left"].to_pylist(), one.pairs["right"].to_pylist(), strict=True)) for one in (exact, found)
    ]
    share = len(pairs[0] & pairs[1]) / len(pairs[0])
    audit = found.summary["audit"]
    assert audit["low"] <= share <= audit["high"]
    assert share > 0.85


def tree(folder: Path) -> dict[str, str]:
    """Every file but the summary, whose timings differ."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "summary.json"
    }


@pytest.mark.parametrize("kind", ["codes", "vectors", "weighted"])
def test_a_run_that_was_stopped_goes_on(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    source = tmp_path / "items.parquet"
    items = {
        "codes": pa.array(rng.integers(0, 1 << 12, 300)),
        "vectors": pa.array(rng.integers(-2, 3, (300, 3)).astype(float).tolist()),
        "weighted": pa.array([[str(one) for one in row] for row in rng.integers(0, 8, (300, 3)).tolist()]),
    }[kind]
    weights = pa.array(rng.integers(1, 3, (300, 3)).astype(float).tolist())
    pq.write_table(pa.table({"item": items, "w": weights}), source)
    words = {"items": "item", "weight": "w"} if kind == "weighted" else {kind: "item"}
    twinset.dedup(source, output=tmp_path / "clean", **words)

    def stop(*_: object) -> None:
        raise MemoryError("no more")

    with monkeypatch.context() as patch:
        patch.setattr(ResultTables, "write_removed", stop)
        with pytest.raises(MemoryError):
            twinset.dedup(source, output=tmp_path / "out", **words)
    assert not (tmp_path / "out").exists()
    done = twinset.dedup(source, output=tmp_path / "out", **words)
    assert done.summary["timings"]["resumed"] == ["pairs", "sketches"]
    assert tree(tmp_path / "out") == tree(tmp_path / "clean")
    assert twinset.open_result(tmp_path / "out").plan == done.plan


def test_what_does_not_fit_in_memory_is_refused_with_sizes(tmp_path: Path) -> None:
    np.save(tmp_path / "large.npy", np.zeros((60_000, 700), np.float32) + np.arange(60_000, dtype=np.float32)[:, None])
    with pytest.raises(OptionError, match=r"joining 60,000 distinct vectors takes .* of memory, .* memory=, at least"):
        twinset.find_pairs(tmp_path / "large.npy", vectors=True, distance=0.5, memory="512MB")
    np.save(tmp_path / "small.npy", np.arange(40_000, dtype=np.float32).reshape(20_000, 2) + 1)
    with pytest.raises(OptionError, match=r"the 10,000 nearest of 20,000 vectors take [\d,]+ MiB"):
        twinset.find_pairs(tmp_path / "small.npy", vectors=True, top=10_000, memory="512MB")


def test_other_widths_are_unreadable_rows() -> None:
    codes = {"a": b"\0\1", "b": b"\0\3", "c": b"\0"}
    with pytest.raises(RowError, match="the code has 8 bits, and most have 16"):
        twinset.find_pairs(codes, codes="c")
    found = twinset.find_pairs(codes, codes="c", on_error="skip")
    assert found.pairs.to_pylist() == [{"left": "a", "right": "b", "distance": 1}]
    assert [id for id, _ in found.summary["named"]["unreadable"]] == ["c"]
    done = twinset.dedup({"x": [1.0], "y": [1.0, 2.0], "z": [2.0, 4.0]}, vectors=True, on_error="skip")
    assert (done.summary["kept"], done.summary["removed"], done.summary["unreadable"]) == (1, 1, 1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"codes": "c", "threshold": 0.9}, "threshold does not apply to bit codes"),
        ({"codes": "c", "distance": 1.5}, "a whole number of bits"),
        ({"vectors": True, "distance": 1.0, "threshold": 0.9}, "leave one of them out"),
        ({"vectors": True, "shingle": "word:3"}, "shingle does not apply to vectors"),
        ({"codes": "c", "vectors": True}, "leave all but one out"),
    ],
)
def test_options_that_have_no_meaning(words: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        twinset.find_pairs([[1.0]], **words)


def test_arrays_that_hold_no_items() -> None:
    with pytest.raises(SourceError, match="an array can hold vectors"):
        twinset.find_pairs(np.zeros((2, 2)))
    with pytest.raises(SourceError, match="the array is 2 of type float64"):
        twinset.find_pairs(np.zeros(2), vectors=True)
    with pytest.raises(SourceError, match=r"array\['1'\]|list\['1'\]"):
        twinset.find_pairs([[1.0], "text"], vectors=True)


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_pairs_come_back_from_every_kind_of_file(ending: str, tmp_path: Path) -> None:
    memory = twinset.find_pairs([1, 3, 7, 7], codes="c", distance=1)
    file = twinset.find_pairs([1, 3, 7, 7], codes="c", distance=1, output=tmp_path / f"pairs{ending}")
    assert file.pairs.to_pylist() == memory.pairs.to_pylist()
    assert file.pairs.schema.types == memory.pairs.schema.types
    none = twinset.find_pairs([1], codes="c", output=tmp_path / f"none{ending}")
    assert none.pairs.schema.types == memory.pairs.schema.types


def test_what_has_no_texts_is_explained_by_its_score() -> None:
    done = twinset.dedup({"a": 5, "b": 7, "c": 5}, codes="c")
    account = done.explain("a")
    assert (account.state, account.other, account.explanation) == ("kept", "b", None)
    assert account.members["distance"].to_pylist() == [1, 0]
    assert account.apart is not None
    assert (account.apart.distance, account.apart.differing) == (1, (62,))


def test_an_evaluation_of_vectors(many: Any) -> None:
    truth = [(str(row), str(row + 1200)) for row in range(1200)]
    done = twinset.evaluate(many, vectors=True, truth=truth, recall=0.9, sweep="0.9:0.95:0.05")
    first, last = done.measures.to_pylist()
    assert (first["precision"], first["true_pairs"], last["found_pairs"]) == (1.0, 1200, 0)  # they are at 0.93
    assert first["recall"] >= 1030 / 1200
    (share,) = done.shares.to_pylist()
    assert share["share_low"] <= share["expected"] <= share["share_high"]
    exact = twinset.evaluate(many, vectors=True, exact=True, recall=0.9, threshold=0.9)
    assert exact.measures["true_pairs"].to_pylist() == [1200]


def test_an_evaluation_of_what_has_distances(tmp_path: Path) -> None:
    truth = [("0", "1"), ("1", "2"), ("0", "3")]
    done = twinset.evaluate([1, 3, 7, 255], codes="c", distance=1, truth=truth, output=tmp_path / "out", plots="none")
    (row,) = done.measures.to_pylist()
    assert (row["threshold"], row["found_pairs"], row["precision"], row["recall"]) == (1.0, 2, 1.0, 2 / 3)
    assert done.shares.num_rows == 0
    weighted = twinset.evaluate([{"a": 1.0}, {"a": 1.25}, {"b": 1.0}], items="e", weight="w", truth=[("0", "1")])
    assert weighted.best is not None
    assert weighted.best["f1"] == 1.0
    equal = twinset.evaluate([1, 3, 3], codes="c", distance=0, truth=[("1", "2"), ("0", "1")])
    assert (equal.measures["recall"].to_pylist(), equal.shares.num_rows) == ([0.5], 0)


@settings(max_examples=8)
@given(CODES.filter(len), BASKETS.filter(len))
def test_the_exact_join_of_every_kind_as_truth(codes: list[int], baskets: list[dict[str, float]]) -> None:
    near = all_pairs(codes, bits_apart, lambda score: score <= 3)
    done = twinset.evaluate(codes, codes="c", exact=True, threads=1)
    assert done.measures.select(["found_pairs", "true_pairs"]).to_pylist() == [
        {"found_pairs": len(near), "true_pairs": len(near)}
    ]
    near = all_pairs(baskets, weighted_jaccard, lambda score: score >= 0.5)
    done = twinset.evaluate(baskets, items="x", weight="w", threshold=0.5, exact=True, threads=1)
    assert done.measures["true_pairs"].to_pylist() == [len(near)]
    assert done.measures["precision"].to_pylist() == [1.0 if done.measures["found_pairs"][0].as_py() else None]


class _Counting(Silent):
    """Adds up what was done of each stage."""

    def __init__(self) -> None:
        self.done: dict[str, list[int | None]] = {}

    def stage(self, name: str, total: int | None, unit: str) -> None:
        self.done[name] = [total, 0]
        self._now = self.done[name]

    def advance(self, n: int) -> None:
        self._now[1] = (self._now[1] or 0) + n


@pytest.mark.parametrize("count", [255, 256, 300])
def test_no_more_is_done_than_there_is(count: int) -> None:
    progress = _Counting()
    vectors = np.random.default_rng(7).normal(size=(count, 3)).astype(np.float32)
    twinset.evaluate(vectors, vectors=True, exact=True, threshold=0.99, progress=progress)
    assert progress.done["comparing all"] == [count, count]
