"""Choose the join of a run by the kind of its items."""

from twinset.engines.local.copies import Copies
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.joins.base import SimilarityJoin, Work
from twinset.engines.local.joins.sets import SetJoin
from twinset.plan import Plan
from twinset.plan.choose import containment_plan
from twinset.schema import Flags


def join_for(
    corpus: Corpus, copies: Copies, work: Work, plan: Plan | None, wanted: Flags | None = None
) -> SimilarityJoin:
    """Make the join for the distinct items of a run.

    `plan` is the plan of sets, by which they were sketched; other kinds are planned here, from their items. With
    `wanted`, a join in memory loads only these documents.
    """
    options = work.options
    if options.contained is not None:
        from twinset.engines.local.joins.contained import ContainmentJoin  # loads kernels: only where needed

        return ContainmentJoin(corpus, copies, work, containment_plan(options))
    if options.nearest_sets and options.item_kind != "weighted":
        from twinset.engines.local.joins.nearest.sets import NearestSetJoin

        return NearestSetJoin(corpus, copies, work)
    if plan is not None:
        return SetJoin(corpus, copies, work, plan)
    # Imported for the kind that needs it only: kernels take time to load.
    if options.item_kind == "weighted" and options.nearest_sets:
        from twinset.engines.local.joins.nearest.weighted import NearestWeightedJoin

        return NearestWeightedJoin(corpus, copies, work, wanted)
    if options.item_kind == "weighted":
        from twinset.engines.local.joins.weighted import WeightedJoin

        return WeightedJoin(corpus, copies, work, wanted)
    if options.item_kind == "images" and options.measure == "distance":
        from twinset.engines.local.joins.images import LayoutJoin

        return LayoutJoin(corpus, copies, work, wanted)
    if options.any_orientation:
        from twinset.engines.local.joins.orientations import OrientationJoin

        return OrientationJoin(corpus, copies, work, wanted)
    if options.item_kind in ("codes", "images"):
        from twinset.engines.local.joins.codes import CodeJoin

        return CodeJoin(corpus, copies, work, wanted)
    if options.item_kind == "sparse":
        from twinset.engines.local.joins.nearest.sparse import NearestSparseJoin
        from twinset.engines.local.joins.sparse import SparseVectorJoin

        return (SparseVectorJoin if options.top is None else NearestSparseJoin)(corpus, copies, work, wanted)
    if options.top is not None:
        from twinset.engines.local.joins.nearest.vectors import NearestVectorJoin

        return NearestVectorJoin(corpus, copies, work, wanted)
    from twinset.engines.local.joins.vectors import VectorJoin

    return VectorJoin(corpus, copies, work, wanted)
