"""The fourth stage: verified pairs to clusters, and a reason for every removal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from twinset.clusters import keep
from twinset.clusters.group import Grouping
from twinset.engines.local.budget import Budget
from twinset.engines.local.copies import SAME, Copies
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.sort_pairs import Rows, sorted_portions
from twinset.engines.local.steps.sketch import UNREADABLE
from twinset.options import DedupOptions
from twinset.options.keep_rules import RuleChain
from twinset.schema import Numbers
from twinset.system.scratch import Spool

if TYPE_CHECKING:
    from twinset.engines.local.joins.base import SimilarityJoin
    from twinset.engines.local.steps.cluster_beside_index import IndexMatches

Flags = npt.NDArray[np.bool_]
Similarity = Callable[[Rows], npt.NDArray[np.float64]]
"""How near the two documents of each row are; of what has a distance, its negative."""


@dataclass(frozen=True)
class Clusters:
    """For each document the one it was removed because of, itself where it is kept, and the code of that pair.

    The code of a pair of sets is the number of shingles they share; SAME stands for equal contents.
    """

    kept_by: Numbers
    shared: Numbers
    kept: Flags
    removed: Flags


def cluster(join: SimilarityJoin, pairs: Spool, matches: IndexMatches | None) -> Clusters:
    """Group the pairs that reach the threshold; without an index, `matches` is None."""
    corpus, copies, work, options = join.corpus, join.copies, join.work, join.options
    if not isinstance(options, DedupOptions):
        raise ValueError("clusters are made by dedup only")
    work.progress.stage("clustering", None, "documents")
    rank = ranks(corpus, options.keep_rules, corpus.report.own_ids)
    scratch = work.state.scratch
    if options.lowest < options.limit:
        near = Spool(scratch / "near", "<u4", 3)
        pairs = near_enough(pairs, join.similarity, options.limit, near, work.budget.pairs)
    if matches is None:
        clusters = grouped(corpus, copies, pairs, rank, options.cluster, work.budget)
    else:
        earlier = matches.reaching(options.threshold)
        clusters = earlier.grouped(corpus, copies, pairs, rank, options.cluster, work.budget, scratch)
    if options.cluster == "components":
        clusters = with_reasons(clusters, join)
    return clusters


def ranks(corpus: Corpus, rules: RuleChain, own_ids: bool) -> Numbers:
    """The rank of each document under the keep policy; documents compared against come before all others."""
    if corpus.border is None:
        return keep.ranking(rules, corpus, own_ids)
    order = np.lexsort([np.arange(corpus.documents), np.arange(corpus.documents) < corpus.own])
    rank = np.empty(corpus.documents, np.uint32)
    rank[order] = np.arange(corpus.documents, dtype=np.uint32)
    return rank


def near_enough(pairs: Spool, similarity: Similarity, threshold: float, out: Spool, limit: int) -> Spool:
    """Those of the pairs that reach the threshold, in `out`; what goes beyond the limit is not held in memory."""
    for rows in pairs.chunks():
        out.append(rows[similarity(rows) >= threshold])
        if out.nbytes > limit:
            out.forget()
    out.close()
    return out


def grouped(corpus: Corpus, copies: Copies, pairs: Spool, rank: Numbers, method: str, budget: Budget) -> Clusters:
    """Clusters of all documents.

    A content stands or falls as one: it is ranked by its best copy, and the others go with that.
    """
    best = rank.copy()  # of each first appearance, the best rank of its copies
    np.minimum.at(best, copies.first, rank)

    def by_rank(rows: Rows) -> Rows:
        ranks = np.sort(best[rows[:, :2]], axis=1)
        return np.stack([ranks[:, 1], ranks[:, 0], rows[:, 2]], axis=1)

    grouping = Grouping(corpus.documents, method)
    grouping.add(sorted_portions(pairs, corpus.documents, budget.pairs, by_rank))
    numbers = np.empty(corpus.documents, np.uint32)
    numbers[rank] = np.arange(corpus.documents, dtype=np.uint32)
    node = best[copies.first]
    kept_by = numbers[grouping.leader[node]]
    alone = grouping.leader[node] == node
    mine = np.arange(corpus.documents, dtype=np.uint32)
    if corpus.border is not None:  # copies within one source are not compared with each other
        kept_by = np.where(alone, mine, kept_by)
    shared = np.where(copies.first[kept_by] == copies.first, np.uint32(SAME), grouping.shared[node])
    readable = corpus.status != UNREADABLE
    own = mine < corpus.own
    kept = (kept_by == mine) & readable & own
    removed = (kept_by != mine) & readable & own
    return Clusters(kept_by, shared, kept, removed)


def with_reasons(clusters: Clusters, join: SimilarityJoin) -> Clusters:
    """For components: the exact overlap of each removed content with the kept one, which may be no pair of its own."""
    copies, folder = join.copies, join.work.state.scratch
    scratch, out = (Spool(folder / name, "<u4", columns) for name, columns in (("apart", 2), ("why", 3)))
    apart = clusters.removed & (copies.first[clusters.kept_by] != copies.first)
    ours, theirs = copies.first[apart], copies.first[clusters.kept_by[apart]]
    wanted = np.unique(np.sort(np.stack([ours, theirs], axis=1), axis=1), axis=0)
    scratch.append(wanted.astype(np.uint32))
    join.measure_all(scratch, out)
    rows = out.all()
    found = np.sort((rows[:, 0].astype(np.uint64) << np.uint64(32)) | rows[:, 1])
    order = np.argsort((rows[:, 0].astype(np.uint64) << np.uint64(32)) | rows[:, 1])
    low, high = np.minimum(ours, theirs), np.maximum(ours, theirs)
    places = np.searchsorted(found, (low.astype(np.uint64) << np.uint64(32)) | high)
    shared = clusters.shared.copy()
    shared[apart] = rows[order[places], 2]
    return Clusters(clusters.kept_by, shared, clusters.kept, clusters.removed)
