"""Choose the join of a run by the kind of its items."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from twinset.engines.local.copies import Copies
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.joins.base import SimilarityJoin, Work
from twinset.engines.local.joins.sets import SetJoin
from twinset.options import PairsOptions
from twinset.plan import Plan


def join_for(
    corpus: Corpus, copies: Copies, work: Work, plan: Plan | None, wanted: npt.NDArray[np.bool_] | None = None
) -> SimilarityJoin:
    """The join for the distinct items of a run.

    `plan` is that of sets, whose sketches were made by it; other kinds are planned here, from their items. With
    `wanted`, only some documents will be measured, and a join in memory holds no others.
    """
    if plan is not None:
        return SetJoin(corpus, copies, work, plan)
    options = work.options
    # What a kind needs is imported for that kind only: kernels take a moment to load.
    if options.item_kind == "weighted":
        from twinset.engines.local.joins.weighted import WeightedJoin

        return WeightedJoin(corpus, copies, work, wanted)
    if options.item_kind == "images" and options.measure == "distance":
        from twinset.engines.local.joins.images import LayoutJoin

        return LayoutJoin(corpus, copies, work, wanted)
    if options.item_kind in ("codes", "images"):
        from twinset.engines.local.joins.codes import CodeJoin

        return CodeJoin(corpus, copies, work, wanted)
    if isinstance(options, PairsOptions) and options.top is not None:
        from twinset.engines.local.joins.nearest_vectors import NearestVectorJoin

        return NearestVectorJoin(corpus, copies, work, wanted)
    from twinset.engines.local.joins.vectors import VectorJoin

    return VectorJoin(corpus, copies, work, wanted)
