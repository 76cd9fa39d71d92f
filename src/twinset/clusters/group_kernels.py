"""Build clusters from pairs. Documents are numbered by rank under the keep policy, best first."""

import numpy as np

from twinset.compiled import inlined, kernel


@inlined
def root_of(parents, node):  # type: ignore[no-untyped-def]
    """Find the root of a node, with path halving."""
    while parents[node] != node:
        parents[node] = parents[parents[node]]
        node = np.int64(parents[node])
    return node


@kernel("void(uint32[::1], uint32[::1], uint32[::1])")
def unite(lefts, rights, parents):  # type: ignore[no-untyped-def]
    """Union-find: join the trees of lefts[i] and rights[i]. The smaller root stays root, in any order of edges."""
    for i in range(len(lefts)):
        a = root_of(parents, np.int64(lefts[i]))
        b = root_of(parents, np.int64(rights[i]))
        if a < b:
            parents[b] = a
        elif b < a:
            parents[a] = b


@kernel("void(uint32[::1])")
def flatten(parents):  # type: ignore[no-untyped-def]
    """Point every node at its root."""
    for node in range(len(parents)):
        parents[node] = root_of(parents, node)


@kernel("void(uint32[::1], uint32[::1], uint32[::1], uint32[::1], uint32[::1])")
def leaders(later, earlier, shared, leader, overlap):  # type: ignore[no-untyped-def]
    """Assign each document to the best-ranked kept document it has an edge with; otherwise it is kept.

    Edges are sorted by (later, earlier) rank.

    leader uint32: a kept document leads itself (all do at the start); overlap uint32: the edge's shared count. Both may
    be carried from one call to the next, as long as the edges continue in order.
    """
    for i in range(len(later)):
        if leader[later[i]] == later[i] and leader[earlier[i]] == earlier[i]:
            leader[later[i]] = earlier[i]
            overlap[later[i]] = shared[i]


@kernel("void(uint32[::1], uint32[::1], uint32[::1], boolean[::1], uint32[::1], uint32[::1], uint32[::1], uint32[::1])")
def complete(later, earlier, shared, forced, leader, overlap, sizes, tally):  # type: ignore[no-untyped-def]
    """As `leaders`, but a document joins a cluster, the best-ranked, only if it has an edge with every member.

    forced bool, or empty: edges by which a document joins the cluster that `earlier` leads, whatever its members.
    sizes uint32: members of the cluster a document leads, 1 at the start; tally uint32: scratch, zero. All edges of
    one `later` document must be in one call.
    """
    start = 0
    while start < len(later):
        end = start
        while end < len(later) and later[end] == later[start]:
            tally[leader[earlier[end]]] += 1
            end += 1
        this = later[start]
        for i in range(start, end if len(forced) else start):
            head = earlier[i]
            if forced[i] and leader[head] == head:
                leader[this] = head
                overlap[this] = shared[i]
                sizes[head] += 1
                break
        for i in range(start, end if leader[this] == this else start):
            head = earlier[i]
            if leader[head] == head and tally[head] == sizes[head]:
                leader[this] = head
                overlap[this] = shared[i]
                sizes[head] += 1
                break
        for i in range(start, end):
            tally[leader[earlier[i]]] = 0
        start = end


@kernel("void(int64[::1], uint32[::1], int64[::1], uint32[::1], uint32[::1], uint32[::1], uint32[::1])")
def peel(starts, neighbours, part_starts, strangers, leader, barred, stack):  # type: ignore[no-untyped-def]
    """Cut components so that no document is with a leader that it is parted from.

    The best-ranked document that is in no cluster leads the next one: all documents in no cluster that a chain of edges
    links with it, without passing through a document parted from it.

    starts int64 (n+1), neighbours uint32: the edges of each document in both directions, the documents by rank;
    part_starts int64 (n+1), strangers uint32: the documents that each is parted from; leader uint32 (n): n for all at
    the start; barred uint32 (n): scratch, n for all; stack uint32 (n): scratch.
    """
    n = len(leader)
    for first in range(n):
        if leader[first] != n:
            continue
        for i in range(part_starts[first], part_starts[first + 1]):
            barred[strangers[i]] = first
        leader[first] = first
        stack[0] = first
        count = 1
        while count:
            count -= 1
            node = stack[count]
            for i in range(starts[node], starts[node + 1]):
                other = neighbours[i]
                if leader[other] == n and barred[other] != first:
                    leader[other] = first
                    stack[count] = other
                    count += 1
