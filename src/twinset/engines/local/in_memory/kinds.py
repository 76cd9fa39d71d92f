"""Which way the items of a run are held and joined, by their kind."""

import numpy as np
import numpy.typing as npt

from twinset.engines.local.copies import Copies
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.in_memory.base import Measured, Work
from twinset.errors import OptionError
from twinset.options import PairsOptions

__all__ = ["Measured", "Work", "held"]


def held(corpus: Corpus, copies: Copies, work: Work, wanted: npt.NDArray[np.bool_] | None = None) -> Measured:
    """The distinct items of a run, in memory; what each kind needs is only loaded for it.

    With `wanted`, those of some documents only, to be scored.
    """
    kind = work.options.item_kind
    if kind == "images" and work.options.measure == "distance":
        from twinset.engines.local.in_memory.images import MeasuredLayouts

        return MeasuredLayouts(corpus, copies, work, wanted)
    if kind in ("codes", "images"):
        from twinset.engines.local.in_memory.codes import MeasuredCodes

        return MeasuredCodes(corpus, copies, work, wanted)
    if kind == "vectors":
        from twinset.engines.local.in_memory.vectors import MeasuredVectors

        vectors = MeasuredVectors(corpus, copies, work, wanted)
        if isinstance(work.options, PairsOptions) and work.options.top is not None:
            from twinset.engines.local.in_memory.nearest_vectors import NearestPlan, NearestVectors

            top, limit, link = work.options.top, work.options.top_limit, work.options.identical == "link"
            vectors.nearest = nearest = NearestVectors(vectors, top, limit, link)
            vectors.plan, vectors.told_plan = nearest.plan, NearestPlan(top, nearest.plan, limit)
        return vectors
    if kind == "weighted":
        from twinset.engines.local.in_memory.weighted import MeasuredWeighted

        return MeasuredWeighted(corpus, copies, work, wanted)
    raise OptionError(f"items of the kind {kind} have no measure of their own")
