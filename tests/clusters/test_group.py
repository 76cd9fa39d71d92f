"""Clusters against slow oracles, and what each kind promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracles
from twinset.clusters.group import Edges, Grouping, components, part_components
from twinset.system.arrays import pair_words

ORACLES = {"leader": oracles.leaders, "complete": oracles.complete, "components": oracles.components}
methods = pytest.mark.parametrize("method", list(ORACLES))


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    """Ranks, and edges (later, earlier), sorted."""
    documents = draw(st.integers(1, 16))
    possible = [(later, earlier) for later in range(documents) for earlier in range(later)]
    dense = draw(st.sampled_from([0.1, 0.3, 0.6, 0.9]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return documents, [edge for edge in possible if rng.random() < dense]


def shared_by(edge: tuple[int, int]) -> int:
    return 1000 + edge[0] * 100 + edge[1]


def edges_of(edges: list[tuple[int, int]]) -> Edges:
    return np.array([(*edge, shared_by(edge)) for edge in edges], np.uint32).reshape(-1, 3)


def cut_between_documents(edges: list[tuple[int, int]], at: int) -> list[Edges]:
    """Two portions; all edges of one later document stay in one."""
    return [edges_of([edge for edge in edges if edge[0] < at]), edges_of([edge for edge in edges if edge[0] >= at])]


@methods
@given(graph=graphs())
def test_equals_its_oracle(method: str, graph: tuple[int, list[tuple[int, int]]]) -> None:
    documents, edges = graph
    grouping = Grouping(documents, method).add([edges_of(edges)])
    assert grouping.leader.tolist() == ORACLES[method](documents, edges)


@methods
@given(graph=graphs(), at=st.integers(0, 16))
def test_portions_do_not_matter(method: str, graph: tuple[int, list[tuple[int, int]]], at: int) -> None:
    documents, edges = graph
    whole = Grouping(documents, method).add([edges_of(edges)])
    parted = Grouping(documents, method).add(cut_between_documents(edges, at))
    one_by_one = Grouping(documents, method)
    for later in range(documents):
        one_by_one.add([edges_of([edge for edge in edges if edge[0] == later])])
    assert whole.leader.tolist() == parted.leader.tolist() == one_by_one.leader.tolist()
    assert whole.shared.tolist() == parted.shared.tolist() == one_by_one.shared.tolist()


@pytest.mark.parametrize("method", ["leader", "complete"])
@given(graph=graphs())
def test_every_removal_has_an_edge_and_its_count(method: str, graph: tuple[int, list[tuple[int, int]]]) -> None:
    documents, edges = graph
    grouping = Grouping(documents, method).add([edges_of(edges)])
    for this, leader in enumerate(grouping.leader.tolist()):
        assert grouping.leader[leader] == leader
        if leader != this:
            assert (this, leader) in edges
            assert grouping.shared[this] == shared_by((this, leader))


@given(graphs())
def test_no_two_kept_documents_are_near(graph: tuple[int, list[tuple[int, int]]]) -> None:
    documents, edges = graph
    leader = Grouping(documents, "leader").add([edges_of(edges)]).leader
    kept = {this for this in range(documents) if leader[this] == this}
    assert not [edge for edge in edges if set(edge) <= kept]


@given(graphs())
def test_all_members_of_a_complete_cluster_are_near(graph: tuple[int, list[tuple[int, int]]]) -> None:
    documents, edges = graph
    leader = Grouping(documents, "complete").add([edges_of(edges)]).leader
    for later in range(documents):
        for earlier in range(later):
            assert leader[later] != leader[earlier] or (later, earlier) in edges


@given(graphs(), st.randoms(use_true_random=False))
def test_components_in_any_order_of_edges(graph: tuple[int, list[tuple[int, int]]], rng: object) -> None:
    documents, edges = graph
    shuffled = [edge if i % 2 else edge[::-1] for i, edge in enumerate(edges)]
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    columns = np.array(shuffled, np.uint32).reshape(-1, 2)
    assert components(documents, [columns[:3], columns[3:]]).tolist() == oracles.components(documents, edges)


def test_a_long_chain() -> None:
    """Leaders take every other link, components the whole chain; neither runs out of stack or time."""
    n = 100_000
    chain = np.array([(i, i - 1, 5) for i in range(1, n)], np.uint32)
    assert Grouping(n, "leader").add([chain]).leader.tolist() == [i - i % 2 for i in range(n)]
    assert not Grouping(n, "components").add([chain]).leader.any()
    assert not components(n, [chain[::-1]]).any()


@methods
def test_nothing_to_group(method: str) -> None:
    assert Grouping(3, method).add([edges_of([])]).leader.tolist() == [0, 1, 2]
    assert Grouping(3, method).add([]).leader.tolist() == [0, 1, 2]
    assert Grouping(0, method).add([]).leader.tolist() == []


# What people have judged: edges that must join, and pairs that must not.


@st.composite
def judged_graphs(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]], list[tuple[int, int]], list[tuple[int, int]]]:
    """A graph, some of its edges, and pairs without an edge."""
    documents, edges = draw(graphs())
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    share = draw(st.sampled_from([0.0, 0.1, 0.5]))
    possible = [(later, earlier) for later in range(documents) for earlier in range(later)]
    forced = [edge for edge in edges if rng.random() < share]
    return documents, edges, forced, [pair for pair in possible if pair not in edges and rng.random() < share]


@given(judged_graphs(), st.integers(0, 16))
def test_forced_edges_join_complete_clusters(
    graph: tuple[int, list[tuple[int, int]], list[tuple[int, int]], list[tuple[int, int]]], at: int
) -> None:
    documents, edges, forced, _ = graph
    words = np.sort(pair_words(*edges_of(forced)[:, :2].T))
    leader = Grouping(documents, "complete").add(cut_between_documents(edges, at), words).leader.tolist()
    assert leader == oracles.forced_complete(documents, edges, forced)
    for later, earlier in forced:  # of the two at most one leads
        assert leader[later] != later or leader[earlier] != earlier


@given(judged_graphs(), st.integers(0, 16))
def test_components_are_cut_between_parted_documents(
    graph: tuple[int, list[tuple[int, int]], list[tuple[int, int]], list[tuple[int, int]]], at: int
) -> None:
    documents, edges, _, parted = graph
    leader = Grouping(documents, "components").add([edges_of(edges)]).leader
    pairs = np.array(parted, np.uint32).reshape(-1, 2)
    part_components(leader, lambda: reversed(cut_between_documents(edges, at)), pairs)
    assert leader.tolist() == oracles.parted_components(documents, edges, parted)
    for pair in parted:
        assert all(leader[one] != other for one, other in (pair, pair[::-1]))
    for later, earlier in edges:
        assert leader[later] != later or leader[earlier] != earlier


def test_a_long_chain_is_cut() -> None:
    n = 100_000
    chain = np.array([(i, i - 1, 5) for i in range(1, n)], np.uint32)
    leader = Grouping(n, "components").add([chain]).leader
    part_components(leader, lambda: [chain], np.array([[n // 2, 0], [n - 1, 0]], np.uint32))
    assert leader.tolist() == [0] * (n // 2) + [n // 2] * (n // 2)
