"""The second stage: collapse identical contents, and join sketches band by band into candidates."""

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np

from twinset.candidates import banding
from twinset.candidates.banding import Banded
from twinset.engines.local.budget import Budget
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.state import RunState
from twinset.engines.local.steps.sketch import READ
from twinset.engines.local.threads import Threads
from twinset.engines.progress import Progress
from twinset.plan import Plan
from twinset.schema import CandidatePairs, Flags, Numbers
from twinset.system import batch_sizes
from twinset.system.scratch import Spool

STAGE = "candidates"


def first_appearances(corpus: Corpus) -> Numbers:
    """Return the first document with the same content for each document; empty and unread documents are alone."""
    if not corpus.status.any():  # all were read: no copy needed
        return banding.first_of_equals(corpus.digests)
    first = np.arange(corpus.documents, dtype=np.uint32)
    read = np.flatnonzero(corpus.status == READ).astype(np.uint32)
    first[read] = read[banding.first_of_equals(np.ascontiguousarray(corpus.digests[read]))]
    return first


def distinct_contents(corpus: Corpus, first: Numbers) -> Flags:
    """Mark the documents that have shingles and are the first of their content."""
    distinct: Flags = (first == np.arange(corpus.documents, dtype=np.uint32)) & (corpus.status == READ)
    return distinct


def candidates(
    corpus: Corpus, first: Numbers, plan: Plan, budget: Budget, state: RunState, threads: Threads, progress: Progress
) -> Spool:
    """Find pairs of first appearances, the lesser left, that share a band and are not ruled out by their sketches."""
    earlier = state.recall(STAGE)
    if earlier is not None:
        return earlier[1]["candidates"]
    fits = corpus.bytes_per_document() * corpus.documents <= budget.sketches
    blocks = corpus.sketch_blocks(budget.sketches if fits else budget.sketches // 2)
    progress.stage("finding candidates", len(blocks) * (len(blocks) + 1) // 2 * plan.n_bands, "bands")
    pairs = _join_blocks(corpus, blocks, distinct_contents(corpus, first), plan, threads, progress)
    return write_candidates(pairs, budget, state)


def write_candidates(
    pairs: Iterable[CandidatePairs], budget: Budget, state: RunState, sizes: Numbers | None = None
) -> Spool:
    """Write candidates in records of some size, and finish the stage; `sizes` are set sizes to write with them."""
    spool = state.spool("candidates", "<u4", 2)
    buffer: list[CandidatePairs] = []
    for few in pairs:
        buffer.append(few)
        if sum(map(len, buffer)) >= batch_sizes.CANDIDATE_ROWS:
            spool.append(np.concatenate(buffer), budget.pairs)
            buffer.clear()
    if buffer:
        spool.append(np.concatenate(buffer))
    spools = {"candidates": spool}
    if sizes is not None:
        spools["set_sizes"] = state.spool("set_sizes", "<u4")
        spools["set_sizes"].append(sizes)
    state.finish(STAGE, {}, spools)
    return spool


def _join_blocks(
    corpus: Corpus, blocks: list[range], wanted: Flags, plan: Plan, threads: Threads, progress: Progress
) -> Iterator[CandidatePairs]:
    """Join each block with itself and with each later one."""

    def join(left: Banded, right: Banded | None, band: int) -> list[CandidatePairs]:
        if right is None:
            return list(banding.within(left, band, plan, corpus.border))
        return list(banding.across(left, right, band, plan, corpus.border))

    for i, left_spans in enumerate(blocks):
        left = corpus.banded(left_spans, wanted, threads)
        for right_spans in [None, *blocks[i + 1 :]]:
            right = None if right_spans is None else corpus.banded(right_spans, wanted, threads)
            for pairs in threads.map(partial(join, left, right), range(plan.n_bands)):
                progress.advance(1)
                yield from pairs
