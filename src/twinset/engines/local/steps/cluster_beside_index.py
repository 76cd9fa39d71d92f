"""Cluster documents beside an index.

A document that matches one of the index is removed because of it. It takes no part in the clusters of the others:
it is neither a leader, nor a member, nor a link between two of them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from twinset.engines.local.budget import Budget
from twinset.engines.local.copies import SAME, Copies
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.steps import cluster
from twinset.engines.local.steps.cluster import Clusters
from twinset.engines.local.write.table_file import TableFile
from twinset.errors import OutputError
from twinset.plan import LEAST_LOSS, Plan, band_probability
from twinset.schema import SCORES, Flags, Numbers, Places, Scores, earlier_schema, equal_scores, swap_sides
from twinset.system import batch_sizes
from twinset.system.scratch import Spool


@dataclass(frozen=True)
class IndexMatches:
    """The matches of a run's documents in an index.

    Content contents[i] (its first appearance; ascending) is most similar to document ids[i] of the index; `scores` are
    those of the pair, the new document left. `already_indexed` are the new documents, ascending, that the index
    already has, with the same id and text.
    """

    contents: Numbers
    ids: pa.Array
    scores: Scores
    already_indexed: Numbers

    def reaching(self, threshold: float) -> IndexMatches:
        """Drop matches below the threshold."""
        near = np.flatnonzero(self.scores["similarity"] >= threshold)
        scores = {name: values[near] for name, values in self.scores.items()}
        return replace(self, contents=self.contents[near], ids=self.ids.take(pa.array(near)), scores=scores)

    def removed(self, copies: Copies) -> Flags:
        """Mark the documents that match one of the index, including copies."""
        near = np.zeros(len(copies.first), np.bool_)
        near[self.contents] = True
        removed: Flags = near[copies.first]
        return removed

    def count(self, copies: Copies) -> int:
        """Count the documents that match one of the index."""
        return int(np.count_nonzero(self.removed(copies)))

    def find_matches(self, contents: Numbers) -> tuple[Places, Places]:
        """Return the positions of the contents that have a match, and the positions of their matches."""
        if not len(self.contents):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        matches = np.minimum(np.searchsorted(self.contents, contents), len(self.contents) - 1)
        positions = np.flatnonzero(self.contents[matches] == contents)
        return positions, matches[positions]

    def rename(self, names: pa.Array, contents: Numbers) -> pa.Array:
        """Replace the ids of kept documents by that of the match where a content has one."""
        positions, matches = self.find_matches(contents)
        if not len(positions):
            return names
        chosen = np.arange(len(names))
        chosen[positions] = len(names) + matches
        return pa.concat_arrays([names, self.ids]).take(pa.array(chosen))

    def rescore(self, scores: Scores, contents: Numbers) -> Scores:
        """Replace the scores with kept documents by those of the match where a content has one."""
        positions, matches = self.find_matches(contents)
        rescored = {name: values.copy() for name, values in scores.items()}
        for name, values in rescored.items():
            values[positions] = self.scores[name][matches]
        return rescored

    def clusters(self, clusters: Clusters, copies: Copies) -> int:
        """Count the clusters, including those of documents of the index."""
        is_removed = clusters.removed & ~self.removed(copies)
        return len(np.unique(clusters.kept_by[is_removed])) + len(pc.unique(self.ids))

    def grouped(
        self, corpus: Corpus, copies: Copies, pairs: Spool, rank: Numbers, method: str, budget: Budget, scratch: Path
    ) -> Clusters:
        """Cluster the documents without a match in the index; the others are removed."""
        matched = self.removed(copies)
        others = Spool(scratch / "apart-from-earlier", "<u4", 3)
        for rows in pairs.chunks():
            others.append(rows[~(matched[rows[:, 0]] | matched[rows[:, 1]])], budget.pairs)
        others.close()
        if method != "complete":  # complete clusters may keep similar documents: only the order decides
            rank = _rank_indexed_first(rank, self.already_indexed)
        clusters = cluster.grouped(corpus, copies, others, rank, method, budget)
        documents = np.arange(corpus.documents, dtype=np.uint32)
        return Clusters(
            kept_by=np.where(matched, documents, clusters.kept_by),
            shared=np.where(matched, np.uint32(SAME), clusters.shared),
            kept=clusters.kept & ~matched,
            removed=clusters.removed | matched,
        )

    def write(self, path: Path, corpus: Corpus, copies: Copies) -> None:
        """Write each document with its match in the index, or with itself if the index has it."""
        near = np.flatnonzero(self.removed(copies)).astype(np.uint32)
        numbers = np.concatenate([self.already_indexed, near])
        itself = np.arange(len(numbers)) < len(self.already_indexed)
        order = np.lexsort((~itself, numbers))
        with TableFile(path, earlier_schema()) as file:
            for start in range(0, len(order), batch_sizes.TABLE_ROWS):
                chosen = order[start : start + batch_sizes.TABLE_ROWS]
                file.write(self._table(corpus, copies, numbers[chosen], itself[chosen]))

    def _table(self, corpus: Corpus, copies: Copies, numbers: Numbers, itself: Flags) -> pa.Table:
        names = corpus.take_ids(numbers)
        # No content has the number SAME, so a document that the index has keeps its own id.
        contents = np.where(itself, np.uint32(SAME), copies.first[numbers])
        scores = swap_sides(self.rescore(equal_scores("jaccard", len(numbers)), contents), "jaccard")
        return pa.table({"left": self.rename(names, contents), "right": names, **scores}, schema=earlier_schema())

    @classmethod
    def of_table(cls, table: pa.Table, numbers: npt.NDArray[np.int64], copies: Copies) -> IndexMatches:
        """Read what `write` has written; `numbers` are those of the new documents."""
        itself = np.asarray(pc.equal(table["left"], table["right"]), np.bool_)
        rows = np.flatnonzero(~itself)
        contents, first = np.unique(copies.first[numbers[rows]], return_index=True)
        near = table.take(pa.array(rows[first]))
        scores = swap_sides({column.name: np.asarray(near[column.name]) for column in SCORES["jaccard"]}, "jaccard")
        ids = pa.concat_arrays([pa.array([], pa.string()), *near["left"].chunks])
        already_indexed = np.sort(numbers[itself]).astype(np.uint32)
        return cls(contents, ids, scores, already_indexed)


def recall_at(plan: Plan, similarity: float) -> float:
    """Return a lower bound on the probability that an index of this plan finds a document of some similarity."""
    loss = min(LEAST_LOSS, (1 - plan.recall) / 10)
    return band_probability(similarity, plan.n_bands, plan.rows_per_band) * (1 - loss)


def _rank_indexed_first(rank: Numbers, already_indexed: Numbers) -> Numbers:
    """Rank the documents that the index has first, so that no later document replaces them."""
    later = np.ones(len(rank), np.bool_)
    later[already_indexed] = False
    order = np.lexsort((rank, later))
    ranked = np.empty_like(rank)
    ranked[order] = np.arange(len(rank), dtype=rank.dtype)
    return ranked


def refuse_to_bury(output: Path | None, files: Sequence[str]) -> None:
    """Refuse an output folder that contains the index, since the output replaces the folder."""
    folder = os.path.realpath(output or "")
    for file in files if output is not None else ():
        if os.path.commonpath([folder, os.path.realpath(file)]) == folder:
            raise OutputError(f"{output} would be replaced, and {file} is in it; choose another output")
