"""Expand the nearest contents of each content to the nearest documents of each document."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from twinset.engines.local.copies import Copies
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.sort_pairs import Rows
from twinset.schema import Numbers, Places
from twinset.system.arrays import ranges

ROWS_AT_ONCE = 1 << 18
"""Neighbours of contents expanded to pairs of documents at a time."""


@dataclass(frozen=True)
class NearContents:
    """Contents `lefts`, each with its nearest other ones: that of lefts[owners[i]] is rights[i], at distances[i].

    Contents are named by their first document. The nearest of one are complete up to `top` that is asked for.
    """

    lefts: Numbers
    owners: Places
    rights: Numbers
    distances: npt.NDArray[np.float64]

    def documents(
        self, copies: Copies, top: int, codes: Numbers, *, link: bool, one_sided: bool, same: int = 0,
        ranks: Numbers | None = None,
    ) -> Iterator[Rows]:  # fmt: skip
        """Yield (left, right, code) of documents, up to `top` for each left one.

        The copies of a document are its nearest, with the code `same`; with `link` a copy is paired with its first
        appearance only; `one_sided`: lefts are compared with other documents. Ties are in the order of `ranks`, by
        document, or else of the documents.
        """
        owners, rights, distances = self.owners, self.rights, self.distances
        if not one_sided:  # its own copies are near too
            own = np.arange(len(self.lefts))
            owners, rights = np.concatenate([own, owners]), np.concatenate([self.lefts, rights])
            distances = np.concatenate([np.zeros(len(own)), distances])
            codes = np.concatenate([np.full(len(own), same, np.uint32), codes])
        expanded = np.minimum(copies.counts[rights].astype(np.int64), top + 1)
        if link:
            expanded = np.where(self.lefts[owners] == rights, expanded, 1)
        owners, codes = np.repeat(owners, expanded), np.repeat(codes, expanded)
        distances = np.repeat(distances, expanded)
        members = copies.members[ranges(copies.starts[rights], expanded)]
        order = np.lexsort((members if ranks is None else ranks[members], distances, owners))
        owners, members, codes = owners[order], members[order], codes[order]
        firsts = np.searchsorted(owners, np.arange(len(self.lefts) + 1))
        kept = np.arange(len(owners)) - firsts[owners] <= top  # one more, since it may be the document itself
        yield from self._pair_copies(
            copies, top, owners[kept], members[kept], codes[kept], alone=link and not one_sided, same=same
        )

    def _pair_copies(
        self, copies: Copies, top: int, owners: Places, members: Numbers, codes: Numbers, *, alone: bool, same: int
    ) -> Iterator[Rows]:
        """Pair every copy of each content with its neighbours; all have the same ones, except themselves."""
        firsts = np.searchsorted(owners, np.arange(len(self.lefts) + 1))
        copies_of = copies.counts[self.lefts].astype(np.int64)
        documents = copies.members[ranges(copies.starts[self.lefts], copies_of)]
        group = np.repeat(np.arange(len(self.lefts)), copies_of)
        if alone:  # a copy is paired with its first appearance only
            later = documents != self.lefts[group]
            ties = [documents[later], self.lefts[group[later]], np.full(np.count_nonzero(later), same, np.uint32)]
            yield np.stack(ties, axis=1)
            documents, group = documents[~later], group[~later]
        at_once = max(1, ROWS_AT_ONCE // (top + 1))
        for start in range(0, len(documents), at_once):
            some = slice(start, start + at_once)
            sizes = np.diff(firsts)[group[some]]
            positions = ranges(firsts[:-1][group[some]], sizes)
            rows = np.stack([np.repeat(documents[some], sizes), members[positions], codes[positions]], axis=1)
            rows = rows[rows[:, 0] != rows[:, 1]]
            starts = np.flatnonzero(np.diff(rows[:, 0].astype(np.int64), prepend=-1))
            rank = np.arange(len(rows)) - np.repeat(starts, np.diff(np.append(starts, len(rows))))
            yield rows[rank < top]


def ranked_copies(copies: Copies, ranks: Numbers, *, link: bool) -> Copies:
    """Order the members of each content by their ranks; with `link`, its first appearance stays the first."""
    members = copies.members
    keys = ranks[members].astype(np.int64)
    if link:
        keys[copies.first[members] == members] = -1
    return dataclasses.replace(copies, members=members[np.lexsort((keys, copies.first[members]))])


class NearestDocuments:
    """Which documents are the nearest of each, given the nearest contents: ties in the order of the ids."""

    def __init__(self, corpus: Corpus, copies: Copies, top: int, *, link: bool) -> None:
        self.top, self._link, self._one_sided = top, link, corpus.border is not None
        self.ranks = id_ranks(corpus)
        self._copies = ranked_copies(copies, self.ranks, link=link)

    def content_ranks(self, numbers: Numbers) -> Numbers:
        """Return the rank of each content: the least of its copies that may be neighbours."""
        if self._link:
            return self.ranks[numbers]
        return self.ranks[self._copies.members[self._copies.starts[numbers]]]

    def rows(self, near: NearContents, codes: Numbers, same: int) -> Iterator[Rows]:
        """Yield (left, right, code) of documents; identical ones have the code `same`."""
        one_sided = self._one_sided
        words = {"link": self._link, "one_sided": one_sided, "same": same, "ranks": self.ranks}
        return near.documents(self._copies, self.top, codes, **words)  # type: ignore[arg-type] # of one call

    def cut(self, rows: slice) -> list[slice]:
        """Cut a task so that its neighbours do not fill the memory."""
        at_once = max(1, ROWS_AT_ONCE // self.top)
        return [slice(first, min(first + at_once, rows.stop)) for first in range(rows.start, rows.stop, at_once)]


def id_ranks(corpus: Corpus) -> Numbers:
    """Return the place of each document in the order of the ids, by code points; without ids, in that of the input."""
    ranks = np.arange(corpus.documents, dtype=np.uint32)
    if corpus.report.own_ids:
        order = pc.sort_indices(corpus.names.all().cast(pa.large_string())).to_numpy()
        ranks[order] = np.arange(corpus.documents, dtype=np.uint32)
    return ranks
