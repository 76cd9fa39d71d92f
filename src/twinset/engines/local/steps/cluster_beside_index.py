"""Documents of an index beside those of a run: what each arrival resembles there, and what follows for the clusters.

An arrival that is near an earlier document is removed because of it. It takes no part in the clusters of the others:
it is no leader, no member, and no link between two of them.
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
from twinset.engines.local.steps.cluster import Clusters, Flags
from twinset.engines.local.write.table_file import TableFile
from twinset.errors import OutputError
from twinset.plan import LEAST_LOSS, Plan, band_probability
from twinset.schema import SCORES, Numbers, Places, Scores, earlier_schema, equal_scores, swap_sides
from twinset.system import batch_sizes
from twinset.system.scratch import Spool


@dataclass(frozen=True)
class IndexMatches:
    """What an index has of the documents of a run.

    Content contents[i], named by its first appearance and ascending, is most similar to the document ids[i] of the
    index; `scores` are those of the pair, the arrival left and the earlier document right. `held` are arrivals,
    ascending, that the index has itself: the same id, the same text.
    """

    contents: Numbers
    ids: pa.Array
    scores: Scores
    held: Numbers

    def reaching(self, threshold: float) -> IndexMatches:
        """Without what is less similar."""
        near = np.flatnonzero(self.scores["similarity"] >= threshold)
        scores = {name: values[near] for name, values in self.scores.items()}
        return replace(self, contents=self.contents[near], ids=self.ids.take(pa.array(near)), scores=scores)

    def removed(self, copies: Copies) -> Flags:
        """Which documents are near an earlier one; the copies of a content are so together."""
        near = np.zeros(len(copies.first), np.bool_)
        near[self.contents] = True
        removed: Flags = near[copies.first]
        return removed

    def count(self, copies: Copies) -> int:
        """How many documents are near an earlier one."""
        return int(np.count_nonzero(self.removed(copies)))

    def places(self, contents: Numbers) -> tuple[Places, Places]:
        """Those of some contents, by their place among them, that are near an earlier document, and which that is."""
        if not len(self.contents):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        at = np.minimum(np.searchsorted(self.contents, contents), len(self.contents) - 1)
        here = np.flatnonzero(self.contents[at] == contents)
        return here, at[here]

    def rename(self, names: pa.Array, contents: Numbers) -> pa.Array:
        """Names of kept documents, with the earlier one in the place of those that some contents are near to."""
        here, at = self.places(contents)
        if not len(here):
            return names
        chosen = np.arange(len(names))
        chosen[here] = len(names) + at
        return pa.concat_arrays([names, self.ids]).take(pa.array(chosen))

    def rescore(self, scores: Scores, contents: Numbers) -> Scores:
        """Scores with kept documents, with those of the earlier one in the place of some."""
        here, at = self.places(contents)
        rescored = {name: values.copy() for name, values in scores.items()}
        for name, values in rescored.items():
            values[here] = self.scores[name][at]
        return rescored

    def clusters(self, clusters: Clusters, copies: Copies) -> int:
        """How many clusters there are, those of earlier documents among them."""
        ours = clusters.removed & ~self.removed(copies)
        return len(np.unique(clusters.kept_by[ours])) + len(pc.unique(self.ids))

    def grouped(
        self, corpus: Corpus, copies: Copies, pairs: Spool, rank: Numbers, method: str, budget: Budget, scratch: Path
    ) -> Clusters:
        """Clusters of the documents that are near no earlier one; the others are removed because of that one."""
        gone = self.removed(copies)
        others = Spool(scratch / "apart-from-earlier", "<u4", 3)
        for rows in pairs.chunks():
            others.append(rows[~(gone[rows[:, 0]] | gone[rows[:, 1]])])
            if others.nbytes > budget.pairs:
                others.forget()
        others.close()
        if method != "complete":  # there documents that are kept may be near each other, and order alone decides
            rank = _held_first(rank, self.held)
        clusters = cluster.grouped(corpus, copies, others, rank, method, budget)
        mine = np.arange(corpus.documents, dtype=np.uint32)
        return Clusters(
            kept_by=np.where(gone, mine, clusters.kept_by),
            shared=np.where(gone, np.uint32(SAME), clusters.shared),
            kept=clusters.kept & ~gone,
            removed=clusters.removed | gone,
        )

    def write(self, path: Path, corpus: Corpus, copies: Copies) -> None:
        """Each arrival with the earlier document it is most similar to, and with itself where the index has it."""
        near = np.flatnonzero(self.removed(copies)).astype(np.uint32)
        numbers = np.concatenate([self.held, near])
        itself = np.arange(len(numbers)) < len(self.held)
        order = np.lexsort((~itself, numbers))
        with TableFile(path, earlier_schema()) as file:
            for start in range(0, len(order), batch_sizes.TABLE_ROWS):
                chosen = order[start : start + batch_sizes.TABLE_ROWS]
                file.write(self._table(corpus, copies, numbers[chosen], itself[chosen]))

    def _table(self, corpus: Corpus, copies: Copies, numbers: Numbers, itself: Flags) -> pa.Table:
        names = corpus.take_ids(numbers)
        # No content has this number, so that what the index has itself is named by its own id.
        contents = np.where(itself, np.uint32(SAME), copies.first[numbers])
        scores = swap_sides(self.rescore(equal_scores("jaccard", len(numbers)), contents), "jaccard")
        return pa.table({"left": self.rename(names, contents), "right": names, **scores}, schema=earlier_schema())

    @classmethod
    def of_table(cls, table: pa.Table, numbers: npt.NDArray[np.int64], copies: Copies) -> IndexMatches:
        """What `write` has written; `numbers` are those of the arrivals."""
        itself = np.asarray(pc.equal(table["left"], table["right"]), np.bool_)
        rows = np.flatnonzero(~itself)
        contents, first = np.unique(copies.first[numbers[rows]], return_index=True)
        near = table.take(pa.array(rows[first]))
        scores = swap_sides({column.name: np.asarray(near[column.name]) for column in SCORES["jaccard"]}, "jaccard")
        ids = pa.concat_arrays([pa.array([], pa.string()), *near["left"].chunks])
        held = np.sort(numbers[itself]).astype(np.uint32)
        return cls(contents, ids, scores, held)


def recall_at(plan: Plan, similarity: float) -> float:
    """The least probability with which an index of this plan finds a document of some similarity."""
    loss = min(LEAST_LOSS, (1 - plan.recall) / 10)
    return band_probability(similarity, plan.n_bands, plan.rows_per_band) * (1 - loss)


def _held_first(rank: Numbers, held: Numbers) -> Numbers:
    """Ranks with those documents first that the index has: nothing that comes later takes their place."""
    later = np.ones(len(rank), np.bool_)
    later[held] = False
    order = np.lexsort((rank, later))
    ranked = np.empty_like(rank)
    ranked[order] = np.arange(len(rank), dtype=rank.dtype)
    return ranked


def refuse_to_bury(output: Path | None, files: Sequence[str]) -> None:
    """An output takes the place of what is there: that must not hold the index."""
    place = os.path.realpath(output or "")
    for file in files if output is not None else ():
        if os.path.commonpath([place, os.path.realpath(file)]) == place:
            raise OutputError(f"{output} is for the result alone, and {file} lies in it; choose another output")
