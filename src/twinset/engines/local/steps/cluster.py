"""The fourth stage: cluster verified pairs, with a reason for every removal."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from twinset.clusters import keep
from twinset.clusters.group import Grouping, is_among, part_components
from twinset.clusters.keep_columns import Unread
from twinset.engines.local.budget import Budget
from twinset.engines.local.copies import SAME, Copies
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.sort_pairs import Rows, sorted_portions
from twinset.engines.local.steps.sketch import READ, UNREADABLE
from twinset.engines.progress import Progress
from twinset.errors import SourceWarning
from twinset.options import DedupOptions
from twinset.options.checks import shown_value
from twinset.options.keep_rules import KEEP_RULES
from twinset.options.passages import TrimOptions
from twinset.schema import Flags, Numbers
from twinset.system.arrays import pair_words
from twinset.system.scratch import Spool
from twinset.verdicts.basis import basis_of
from twinset.wording import counted

if TYPE_CHECKING:
    from twinset.engines.local.joins.base import SimilarityJoin
    from twinset.engines.local.steps.cluster_beside_index import IndexMatches
    from twinset.verdicts.judged import Judgements, Links

Similarity = Callable[[Rows], npt.NDArray[np.float64]]
"""Returns the similarity of the documents of each row; for distances, the negative distance."""


@dataclass(frozen=True)
class Clusters:
    """For each document the one kept in its place (itself if it is kept), and the code of that pair.

    The code of a pair of sets is the number of shared shingles; SAME stands for equal contents.
    """

    kept_by: Numbers
    shared: Numbers
    kept: Flags
    removed: Flags
    links: Links | None = None
    """The verdicts that were obeyed."""

    def judged(self, first: Numbers) -> Flags:
        """Mark the removed documents that were judged duplicates of the kept one; `first` are the contents."""
        if self.links is None:
            return np.zeros(len(self.removed), np.bool_)
        lefts, rights = first, first[self.kept_by]
        words = pair_words(np.minimum(lefts, rights), np.maximum(lefts, rights))
        return self.removed & is_among(words, self.links.duplicate_words)


def cluster(
    join: SimilarityJoin, pairs: Spool, matches: IndexMatches | None, judgements: Judgements | None = None
) -> Clusters:
    """Cluster the pairs that reach the threshold; `matches` is None without an index, `judgements` without verdicts."""
    corpus, copies, work, options = join.corpus, join.copies, join.work, join.options
    if not isinstance(options, DedupOptions):
        raise ValueError("only dedup clusters pairs")
    work.progress.stage("clustering", None, "documents")
    rank = ranks(corpus, options, corpus.report.own_ids, work.progress)
    scratch = work.state.scratch
    one_sided = corpus.border is not None
    if options.measure == "containment":
        rank = larger_first(rank, join.sizes[copies.first], one_sided)
    if options.lowest < options.limit or (options.measure == "containment" and one_sided):
        near = Spool(scratch / "near", "<u4", 3)
        similarity = partial(join.similarity, one_sided=one_sided)
        pairs = near_enough(pairs, similarity, options.limit, near, work.budget.pairs)
    if judgements is not None:
        readable = corpus.status == READ
        digests = corpus.content_digests()
        links = judgements.find(basis_of(options), digests, copies.first, readable, corpus.border)
        codes = measure_pairs(join, *links.duplicates.T) if len(links.duplicates) else np.zeros(0, np.uint32)
        judged = Spool(scratch / "judged", "<u4", 3)
        pairs = obeying(links, pairs, codes, corpus.border, judged, work.budget.pairs)
        clusters = grouped(corpus, copies, pairs, rank, options.cluster, work.budget, links)
    elif matches is None:
        clusters = grouped(corpus, copies, pairs, rank, options.cluster, work.budget)
    else:
        earlier = matches.reaching(options.threshold)
        clusters = earlier.grouped(corpus, copies, pairs, rank, options.cluster, work.budget, scratch)
    if options.cluster == "components":
        clusters = with_reasons(clusters, join)
    return clusters


def ranks(corpus: Corpus, options: DedupOptions | TrimOptions, own_ids: bool, progress: Progress) -> Numbers:
    """Return the rank of each document under the keep policy; documents compared against come first."""
    if corpus.border is None:
        missing: dict[str, Unread] = {}
        readable = corpus.status != UNREADABLE
        rank = keep.ranking(options.keep_rules, corpus, own_ids, options.date_format, missing, readable)
        _tell_unranked(corpus, options, missing, progress)
        return rank
    order = np.lexsort([np.arange(corpus.documents), np.arange(corpus.documents) < corpus.own])
    rank = np.empty(corpus.documents, np.uint32)
    rank[order] = np.arange(corpus.documents, dtype=np.uint32)
    return rank


def larger_first(rank: Numbers, sizes: Numbers, one_sided: bool) -> Numbers:
    """Return ranks in which documents with larger sets come first, equal ones by rank.

    A document can only be removed for one that holds it, so the larger is decided on first. With `one_sided` all
    documents of the other source are kept, whatever their sizes.
    """
    if one_sided:
        return rank
    ranks = np.empty(len(rank), np.uint32)
    ranks[np.lexsort((rank, -sizes.astype(np.int64)))] = np.arange(len(rank), dtype=np.uint32)
    return ranks


def _tell_unranked(
    corpus: Corpus, options: DedupOptions | TrimOptions, missing: dict[str, Unread], progress: Progress
) -> None:
    """Count the documents that have no value to be ranked by, and say so; warn if their values look readable."""
    counts = {column: int(np.count_nonzero(one.missing)) for column, one in missing.items()}
    corpus.report.unranked = {column: count for column, count in counts.items() if count}
    for rule, column in options.keep_rules:
        if column is None or column not in corpus.report.unranked:
            continue
        one, dates = missing[column], KEEP_RULES[rule].dates
        example = "" if one.example is None else f", such as {shown_value(one.example)}"
        progress.note(
            f"--keep {rule}:{column}: {counted(counts[column], 'document')} of {corpus.documents:,} without a "
            f"{'date' if dates else 'number'} in this column{example}; they rank last"
        )
        if one.odd:
            what, remedy = (
                ("a two-digit year", "write all years with four digits")
                if dates
                else ("a comma", "write numbers without thousands separators and with a decimal point: 1234.5")
            )
            warnings.warn(
                SourceWarning(
                    f"--keep {rule}:{column}: {counted(one.odd, 'value')} with {what}, such as "
                    f"{shown_value(one.odd_example)}, cannot be read and {'ranks' if one.odd == 1 else 'rank'} last; "
                    f"{remedy}"
                ),
                stacklevel=2,
            )


def near_enough(pairs: Spool, similarity: Similarity, threshold: float, out: Spool, limit: int) -> Spool:
    """Write the pairs that reach the threshold to `out`; beyond `limit` bytes they stay on disk only."""
    for rows in pairs.chunks():
        out.append(rows[similarity(rows) >= threshold], limit)
    out.close()
    return out


def obeying(links: Links, pairs: Spool, codes: Numbers, border: int | None, out: Spool, limit: int) -> Spool:
    """Write the pairs that clusters follow: the near ones without those judged different, and those judged duplicates.

    `codes` are those of the duplicates. Documents compared against cannot make way for a principal document, so it has
    no near pairs with them.
    """
    parted, joined = links.different_words, links.duplicate_words
    for rows in pairs.chunks():
        words = pair_words(rows[:, 0], rows[:, 1])
        chosen = ~is_among(words, parted) & ~is_among(words, joined)
        if border is not None:
            chosen &= ~np.isin(rows[:, 0], links.principals)
        out.append(rows[chosen], limit)
    if len(links.duplicates):
        out.append(np.concatenate([links.duplicates, codes[:, None]], axis=1).astype(np.uint32), limit)
    out.close()
    return out


def principals_first(rank: Numbers, first: Numbers, principals: Numbers) -> Numbers:
    """Return ranks in which documents of principal contents come first, in their order."""
    others = ~np.isin(first, principals)
    ranks = np.empty(len(rank), np.uint32)
    ranks[np.lexsort((rank, others))] = np.arange(len(rank), dtype=np.uint32)
    return ranks


def grouped(
    corpus: Corpus, copies: Copies, pairs: Spool, rank: Numbers, method: str, budget: Budget,
    links: Links | None = None,
) -> Clusters:  # fmt: skip
    """Cluster all documents. A content is kept or removed as one, ranked by its best copy.

    With verdicts (`links`), `pairs` are those that `obeying` returns.
    """
    if links is not None and corpus.border is None and len(links.principals):
        rank = principals_first(rank, copies.first, links.principals)
    best = rank.copy()  # the best rank among the copies of each first appearance
    np.minimum.at(best, copies.first, rank)

    def by_rank(rows: Rows) -> Rows:
        ranks = np.sort(best[rows[:, :2]], axis=1)
        return np.stack([ranks[:, 1], ranks[:, 0], rows[:, 2]], axis=1)

    def portions() -> Iterator[Rows]:
        return sorted_portions(pairs, corpus.documents, budget.pairs, by_rank)

    grouping = Grouping(corpus.documents, method)
    grouping.add(portions(), None if links is None else _ranked_words(best, links.duplicates))
    if links is not None and method == "components":
        part_components(grouping.leader, portions, best[links.different])
    numbers = np.empty(corpus.documents, np.uint32)
    numbers[rank] = np.arange(corpus.documents, dtype=np.uint32)
    node = best[copies.first]
    kept_by = numbers[grouping.leader[node]]
    is_leader = grouping.leader[node] == node
    documents = np.arange(corpus.documents, dtype=np.uint32)
    if corpus.border is not None:  # copies within one source are not compared with each other
        kept_by = np.where(is_leader, documents, kept_by)
    shared = np.where(copies.first[kept_by] == copies.first, np.uint32(SAME), grouping.shared[node])
    readable = corpus.status != UNREADABLE
    own = documents < corpus.own
    kept = (kept_by == documents) & readable & own
    removed = (kept_by != documents) & readable & own
    return Clusters(kept_by, shared, kept, removed, links)


def _ranked_words(best: Numbers, pairs: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint64]:
    """Return pairs of contents as sorted words of their ranks, the later first."""
    ranks = best[pairs]
    return np.sort(pair_words(ranks.max(axis=1, initial=0), ranks.min(axis=1, initial=SAME)))


def with_reasons(clusters: Clusters, join: SimilarityJoin) -> Clusters:
    """Compute the overlap of each removed content with the kept one, which may not be a pair in a component."""
    first = join.copies.first
    differs = clusters.removed & (first[clusters.kept_by] != first)
    shared = clusters.shared.copy()
    shared[differs] = measure_pairs(join, first[differs], first[clusters.kept_by[differs]])
    return replace(clusters, shared=shared)


def measure_pairs(join: SimilarityJoin, lefts: Numbers, rights: Numbers) -> Numbers:
    """Return the code of each pair of distinct contents, however dissimilar."""
    folder = join.work.state.scratch
    candidates, measured = (Spool(folder / name, "<u4", columns) for name, columns in (("apart", 2), ("why", 3)))
    pairs, inverse = np.unique(np.sort(np.stack([lefts, rights], axis=1), axis=1), axis=0, return_inverse=True)
    candidates.append(pairs)
    join.measure_all(candidates, measured)
    rows = measured.all()
    codes: Numbers = rows[np.lexsort((rows[:, 1], rows[:, 0])), 2][inverse.reshape(-1)]
    return codes
