"""Pairs of hosts: counts and shares equal those of a slow definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import host_pairs
from twinset.documents.pages.hosts import host_of
from twinset.pairs.hosts import HostPairs, share_of

hosts_and_pairs = st.lists(st.integers(-1, 5), min_size=1, max_size=30).flatmap(
    lambda hosts: st.tuples(
        st.just(hosts),
        st.sets(st.tuples(st.integers(0, len(hosts) - 1), st.integers(0, len(hosts) - 1))),
        st.integers(1, 7),
    )
)


@given(hosts_and_pairs)
def test_pairs_of_hosts_equal_the_definition(drawn: tuple[list[int], set[tuple[int, int]], int]) -> None:
    hosts, drawn_pairs, portion = drawn
    pairs = sorted({(min(pair), max(pair)) for pair in drawn_pairs if pair[0] != pair[1]})
    known = np.array(hosts)
    counts = HostPairs(known)
    for start in range(0, len(pairs), portion):
        counts.add(np.array(pairs[start : start + portion], np.uint32).reshape(-1, 2))
    table = counts.table(np.bincount(known[known >= 0], minlength=known.max() + 1))
    assert table.tolist() == host_pairs(hosts, pairs)
    assert (share_of(table) <= 1).all()
    assert (np.diff(share_of(table)) <= 0).all()


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://example.org", "example.org"), ("HTTPS://User:Pass@EXAMPLE.org:8443/x?y#z", "example.org"),
        ("http://[::1]/a", "::1"), ("example.org/a", None), ("", None), ("http://", None), ("http://[bad", None),
        ("file:///etc/hosts", None), ("ftp://a.b./x", "a.b"), ("//a.b/x", "a.b"), ("mailto:a@b.c", None),
        ("C:\\pages\\a.html", None), ("pages/a.html:3", None),
    ],
)  # fmt: skip
def test_hosts_of_addresses(url: str, host: str | None) -> None:
    assert host_of(url) == host
    assert host_of("Example.ORG", plain=True) == "example.org"
    assert host_of("no host", plain=True) is None
