"""Groups: what leaders, complete clusters and components promise."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import twinset
from twinset import textbook
from twinset.clusters.group import Grouping
from twinset.textbook import complete_clusters, connected_components, leader_clusters

NAMES = "abcdefg"
METHODS = {"leader": leader_clusters, "complete": complete_clusters, "components": connected_components}
some_pairs = st.sets(st.sampled_from(list(combinations(NAMES, 2))))
Pairs = set[tuple[str, str]]


def grouped(found: dict[str, str]) -> dict[str, set[str]]:
    groups: dict[str, set[str]] = {}
    for name, head in found.items():
        groups.setdefault(head, set()).add(name)
    return groups


@given(some_pairs)
def test_leaders_never_remove_what_is_not_like_the_kept_one_and_keep_no_pair(pairs: Pairs) -> None:
    found = leader_clusters(NAMES, pairs)
    for name, head in found.items():
        assert name == head or (head, name) in pairs
    kept = [name for name, head in found.items() if name == head]
    assert not pairs & set(combinations(kept, 2))


@given(some_pairs)
def test_in_a_complete_cluster_every_two_are_a_pair(pairs: Pairs) -> None:
    for head, members in grouped(complete_clusters(NAMES, pairs)).items():
        assert set(combinations(sorted(members), 2)) <= pairs
        assert head == min(members)


@given(some_pairs)
def test_components_are_closed_and_no_larger_than_they_must_be(pairs: Pairs) -> None:
    found = connected_components(NAMES, pairs)
    assert all(found[left] == found[right] for left, right in pairs)
    assert all(head <= name for name, head in found.items())
    for members in grouped(found).values():
        for size in range(1, len(members)):
            for some in map(set, combinations(sorted(members), size)):
                assert any((left in some) != (right in some) for left, right in pairs)


@pytest.mark.parametrize("method", METHODS)
@given(pairs=some_pairs)
def test_the_product_groups_as_the_textbook_does(method: str, pairs: Pairs) -> None:
    edges = sorted((NAMES.index(right), NAMES.index(left), 1) for left, right in pairs)
    found = Grouping(len(NAMES), method).add([np.array(edges, np.uint32).reshape(-1, 3)])
    assert [NAMES[head] for head in found.leader] == list(METHODS[method](NAMES, pairs).values())


def test_a_chain_of_texts() -> None:
    """Each of four texts is 0.8 similar to the next; the first and the last have little in common."""
    words = [f"w{n}" for n in range(30)]
    texts = {name: " ".join(words[start : start + 18]) for name, start in zip("abcd", range(0, 8, 2), strict=True)}
    sets = {name: textbook.shingles(text, "word:1") for name, text in texts.items()}
    pairs = [(left, right) for left, right, _ in textbook.all_pairs(sets, 0.8)]
    assert pairs == [("a", "b"), ("b", "c"), ("c", "d")]
    for method, grouping in METHODS.items():
        found = twinset.dedup(texts, shingle="word:1", threshold=0.8, recall=0.9999, cluster=method)
        heads = grouping(texts, pairs)
        assert found.kept["id"].to_pylist() == [name for name in texts if heads[name] == name]
        removed = {row["id"]: (row["because_of"], row["similarity"]) for row in found.removed.to_pylist()}
        expected = {name: head for name, head in heads.items() if name != head}
        assert removed == {name: (head, textbook.jaccard(sets[name], sets[head])) for name, head in expected.items()}
