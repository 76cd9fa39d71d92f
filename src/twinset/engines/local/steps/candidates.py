"""The second stage: identical contents are collapsed, and sketches joined band by band into candidates."""

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np
import numpy.typing as npt

from twinset.candidates import banding
from twinset.candidates.banding import Banded, CandidatePairs
from twinset.engines.local.budget import Budget
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.state import State
from twinset.engines.local.steps.sketch import READ
from twinset.engines.local.threads import Threads
from twinset.engines.progress import Progress
from twinset.plan import Plan
from twinset.schema import Numbers
from twinset.system import batch_sizes
from twinset.system.scratch import Spool

STAGE = "candidates"


def first_appearances(corpus: Corpus) -> Numbers:
    """For each document the first with the same content; documents without shingles, or unread, are alone."""
    if not corpus.status.any():  # all were read: none is set apart, and nothing is copied
        return banding.first_of_equals(corpus.digests)
    first = np.arange(corpus.documents, dtype=np.uint32)
    read = np.flatnonzero(corpus.status == READ).astype(np.uint32)
    first[read] = read[banding.first_of_equals(np.ascontiguousarray(corpus.digests[read]))]
    return first


def candidates(
    corpus: Corpus,
    first: Numbers,
    plan: Plan,
    budget: Budget,
    state: State,
    threads: Threads,
    progress: Progress,
) -> Spool:
    """Pairs of first appearances that share a band and whose sketches do not rule them out, the lesser number first."""
    earlier = state.recall(STAGE)
    if earlier is not None:
        return earlier[1]["candidates"]
    wanted = (first == np.arange(corpus.documents, dtype=np.uint32)) & (corpus.status == READ)
    blocks = corpus.sketch_blocks(budget.sketches if budget.sketches >= _all(corpus) else budget.sketches // 2)
    progress.stage("finding candidates", len(blocks) * (len(blocks) + 1) // 2 * plan.n_bands, "bands")
    return kept(_joined(corpus, blocks, wanted, plan, threads, progress), budget, state)


def kept(found: Iterable[CandidatePairs], budget: Budget, state: State) -> Spool:
    """Write candidates down as they come, in records of some size, and finish the stage."""
    spool = state.spool("candidates", "<u4", 2)
    buffer: list[CandidatePairs] = []
    for few in found:
        buffer.append(few)
        if sum(map(len, buffer)) >= batch_sizes.CANDIDATE_ROWS:
            spool.append(np.concatenate(buffer))
            buffer.clear()
            if spool.nbytes > budget.pairs:
                spool.forget()
    if buffer:
        spool.append(np.concatenate(buffer))
    state.finish(STAGE, {}, {"candidates": spool})
    return spool


def _all(corpus: Corpus) -> float:
    return corpus.bytes_per_document() * corpus.documents


def _joined(
    corpus: Corpus,
    blocks: list[range],
    wanted: npt.NDArray[np.bool_],
    plan: Plan,
    threads: Threads,
    progress: Progress,
) -> Iterator[npt.NDArray[np.uint32]]:
    """Each block with itself and with each later one."""
    bands = range(plan.n_bands)
    for i, left_spans in enumerate(blocks):
        left = corpus.banded(left_spans, wanted, threads)
        inside = partial(_found_within, left, plan, corpus.border)
        for right_spans in [None, *blocks[i + 1 :]]:
            join = inside
            if right_spans is not None:
                join = partial(_found_across, left, corpus.banded(right_spans, wanted, threads), plan, corpus.border)
            for found in threads.map(join, bands):
                progress.advance(1)
                yield from found


def _found_within(block: Banded, plan: Plan, border: int | None, band: int) -> list[CandidatePairs]:
    return list(banding.within(block, band, plan, border))


def _found_across(left: Banded, right: Banded, plan: Plan, border: int | None, band: int) -> list[CandidatePairs]:
    return list(banding.across(left, right, band, plan, border))
