"""Which way the items of a run are held and joined, by their kind."""

from twinset.engines.corpus import Corpus
from twinset.engines.expanding import Copies
from twinset.engines.measured import Measured, Work
from twinset.errors import OptionError
from twinset.options import PairsOptions

__all__ = ["Measured", "Work", "held"]


def held(corpus: Corpus, copies: Copies, work: Work) -> Measured:
    """The distinct items of a run, in memory; what each kind needs is only loaded for it."""
    kind = work.options.item_kind
    if kind == "images" and work.options.measure == "distance":
        from twinset.engines.measured_images import MeasuredLayouts

        return MeasuredLayouts(corpus, copies, work)
    if kind in ("codes", "images"):
        from twinset.engines.measured_codes import MeasuredCodes

        return MeasuredCodes(corpus, copies, work)
    if kind == "vectors":
        from twinset.engines.measured_vectors import MeasuredVectors

        vectors = MeasuredVectors(corpus, copies, work)
        if isinstance(work.options, PairsOptions) and work.options.top is not None:
            from twinset.engines.measured_nearest import NearestPlan, NearestVectors

            vectors.nearest = nearest = NearestVectors(vectors, work.options.top)
            vectors.plan, vectors.told_plan = nearest.plan, NearestPlan(work.options.top, nearest.plan)
        return vectors
    if kind == "weighted":
        from twinset.engines.measured_weighted import MeasuredWeighted

        return MeasuredWeighted(corpus, copies, work)
    raise OptionError(f"items of the kind {kind} have no measure of their own")
