"""Sets, bags and weighted sets; the search of all pairs; the paper's program."""

from __future__ import annotations

import csv
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import twinset
from tests.cli.conftest import Run, run
from twinset import textbook
from twinset.pairs.weighted import overlaps, totals
from twinset.schema import WeightedSets
from twinset.textbook import jaccard, shingles

__all__ = ["run"]

some_weights = st.dictionaries(st.integers(1, 9), st.floats(0.001, 1000))


@given(st.lists(st.sampled_from("abcd")), st.lists(st.sampled_from("abcd")))
def test_a_bag_as_a_set_has_the_similarity_of_the_bags(left: list[str], right: list[str]) -> None:
    a, b = Counter(left), Counter(right)
    least, most = sum((a & b).values()), sum((a | b).values())
    assert jaccard(a, b) == (least / most if most else 0)
    assert jaccard(textbook.bag_as_set(left), textbook.bag_as_set(right)) == jaccard(a, b)
    assert textbook.weighted_jaccard(a, b) == jaccard(a, b)


@given(st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9)))
def test_similarity_and_containment_agree_with_each_other(a: set[int], b: set[int]) -> None:
    assert jaccard(a, b) == jaccard(b, a) <= max(textbook.containment(a, b), textbook.containment(b, a))
    assert textbook.containment(a, a | b) == (1 if a else 0)
    assert textbook.weighted_jaccard(dict.fromkeys(a, 1), dict.fromkeys(b, 1)) == jaccard(a, b)


@given(some_weights, some_weights)
def test_the_product_weighs_as_the_textbook_does(left: dict[int, float], right: dict[int, float]) -> None:
    every = [*sorted(left.items()), *sorted(right.items())]
    sets = WeightedSets(
        np.array([0, len(left), len(every)]),
        np.array([item for item, _ in every], np.uint64),
        np.array([weight for _, weight in every], np.float64),
    )
    pair = np.array([0], np.uint32), np.array([1], np.uint32)
    _, similarities = overlaps(sets, totals(sets), *pair, threshold=0.0)
    assert similarities[0] == pytest.approx(textbook.weighted_jaccard(left, right), abs=1e-14)


def test_all_pairs_includes_the_threshold_and_leaves_out_the_empty() -> None:
    sets = {"a": "abcde", "b": "cdefgh", "c": "", "d": "", "e": "abcde"}
    found = list(textbook.all_pairs(sets, 3 / 8))
    assert found == [("a", "b", 3 / 8), ("a", "e", 1.0), ("b", "e", 3 / 8)]


@given(st.lists(st.frozensets(st.integers(0, 5)), min_size=1, max_size=8), st.integers(1, 9))
def test_the_most_similar_are_the_first_of_all_in_order(sets: list[frozenset[int]], k: int) -> None:
    query = sets[0]
    found = textbook.most_similar(query, dict(enumerate(sets)), k, jaccard)
    scores = [jaccard(query, one) for one in sets]
    assert found == sorted(enumerate(scores), key=lambda one: (-one[1], one[0]))[:k]
    if query:
        assert found[0] == (sets.index(query), 1.0)


def test_nearest_by_distance() -> None:
    points = {"a": (0.0, 3.0), "b": (1.0, 0.0), "c": (5.0, 5.0)}
    found = textbook.most_similar((0.0, 0.0), points, 2, lambda one, other: -textbook.euclidean_distance(one, other))
    assert found == [("b", -1.0), ("a", -3.0)]


# The paper's program: a folder of .txt files and a threshold in, the similar pairs out


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """Forty short answers in latin-1, half of them made from an earlier one by leaving out its beginning."""
    chance, folder = random.Random(11), tmp_path / "answers"
    folder.mkdir()
    made: list[str] = []
    for number in range(40):
        if number % 2:
            made.append(made[-1][chance.randrange(120) :])
        else:
            made.append("".join(chance.choice("aeiouéürst \n") for _ in range(300)))
        (folder / f"g{number:02}.txt").write_text(made[-1], "latin-1")
    return folder


@pytest.mark.parametrize("way", [{"recall": 0.9999}, {"exact": True}], ids=["sketches", "exact"])
@pytest.mark.parametrize("threshold", [tenth / 10 for tenth in range(1, 10)])
def test_a_folder_and_a_threshold_give_the_pairs_of_the_naive_search(
    answers: Path, threshold: float, way: dict[str, object]
) -> None:
    texts = {path.name: path.read_text("latin-1") for path in sorted(answers.iterdir())}
    sets = {name: shingles(text, "char:9") for name, text in texts.items()}
    naive = {(left, right): similarity for left, right, similarity in textbook.all_pairs(sets, threshold)}
    words = {"encoding": "latin-1", "shingle": "char:9", "threshold": threshold}
    found = twinset.find_pairs(answers, **words, **way).pairs.to_pylist()
    assert {(one["left"], one["right"]): one["similarity"] for one in found} == naive
    assert 0 < len(naive) <= 20


def test_the_program_of_the_paper(answers: Path, run: Run) -> None:
    """Characters without spaces and line ends, a hundred hashes in twenty bands, and what comparing all would give.

    A pair at 0.8 is missed with a probability of 0.0004; the seed is fixed.
    """
    sets = {
        path.name: shingles(path.read_text("latin-1"), "char:5", spaces=False) for path in sorted(answers.iterdir())
    }
    naive = {(left, right): similarity for left, right, similarity in textbook.all_pairs(sets, 0.6)}
    words = ("--encoding", "latin-1", "--shingle", "char:5", "--no-spaces", "--threshold", "0.6", "-o", "pairs.csv")
    found = {}
    for name, way, plan in (
        ("bands", ("--hashes", 100, "--bands", 20, "--rows", 5), "100 hashes, 20 bands × 5 rows"),
        ("exact", ("--exact",), "exact: every pair at 0.6"),
    ):
        done = run("pairs", answers, *words, *way, "--force")
        assert done.returncode == 0, done.stderr
        assert f"plan: {plan}" in done.stderr
        with Path("pairs.csv").open(newline="") as rows:
            found[name] = {(row["left"], row["right"]): float(row["similarity"]) for row in csv.DictReader(rows)}
    assert found["exact"] == naive
    assert found["bands"].items() <= naive.items()
    assert {pair for pair, similarity in naive.items() if similarity >= 0.8} <= found["bands"].keys()
