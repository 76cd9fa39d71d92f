"""Answer queries of weighted sets: candidates by bands of weighted sketches, compared by their weights."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from twinset.index.backend import Int64s
from twinset.index.kinds.columns.weighted_sets import SetsWithWeights
from twinset.index.kinds.text_queries import TextSearcher
from twinset.pairs.sets import Sets
from twinset.pairs.weighted import overlaps, scores, totals
from twinset.schema import Numbers, Scores


class WeightedSearcher(TextSearcher):
    """Answers queries in an index of weighted sets."""

    def _may_reach(self, ours: Numbers, theirs: Numbers, threshold: float) -> npt.NDArray[np.bool_]:
        """Rule nothing out: the number of elements says little about the weights."""
        return np.ones(len(ours), np.bool_)

    def _compare(
        self, queries: Sets, query_rows: Int64s, documents: Sets, places: Int64s, threshold: float
    ) -> tuple[Int64s, Scores]:
        if not isinstance(queries, SetsWithWeights) or not isinstance(documents, SetsWithWeights):
            raise TypeError("sets without weights cannot be compared by their weights")
        rows, lefts = np.unique(query_rows, return_inverse=True)
        sets = SetsWithWeights.concat([queries.take(rows), documents]).weighted
        sums, rights = totals(sets), places + len(rows)
        similarity = overlaps(sets, sums, lefts.astype(np.uint32), rights.astype(np.uint32), threshold)[1]
        some = np.flatnonzero(similarity)
        return some, scores(sets, sums, lefts[some], rights[some])
