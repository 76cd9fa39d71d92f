"""Audit a join in memory: compare a random sample exactly with all other items."""

import dataclasses

import numpy as np
import numpy.typing as npt

from twinset.engines.local.audit import sample as sampling
from twinset.engines.local.audit.run import AuditResult, append_missed, known_pairs, refuse_lost_pairs
from twinset.engines.local.joins.in_memory import InMemoryJoin
from twinset.schema import Numbers
from twinset.system.arrays import pair_words
from twinset.system.scratch import Spool

_AT_ONCE = 256  # items compared with all others at a time, fewer if they have many pairs
_MIN_ITEMS, _MAX_PAIRS = 16, 1 << 22

_NearRows = npt.NDArray[np.uint32]
"""(n, 3): a document, the position in the sample of the item it is near, and the code of the pair."""


def audit(join: InMemoryJoin, size: int | None, pairs: Spool) -> AuditResult:
    """Look up the pairs of `size` sampled items, or of as many as the run affords, in `pairs`."""
    work, corpus = join.work, join.corpus
    own, partners = sampling.eligible(corpus, join.copies)
    numbers = np.flatnonzero(own).astype(np.uint32)
    degree = 2 * len(pairs) / max(1, len(numbers))  # known pairs per item
    limit = join.affordable(len(numbers), int(np.count_nonzero(partners))) if size is None else size
    if size is None:
        limit = min(limit, max(_MIN_ITEMS, int(_MAX_PAIRS / max(1.0, degree))))
    at_once = max(1, min(_AT_ONCE, int(_AT_ONCE * _AT_ONCE / max(1.0, degree))))
    sample = sampling.drawn(corpus, numbers, min(limit, len(numbers)), join.options.seed) if len(numbers) else numbers
    work.progress.stage("auditing", len(sample), "documents")
    audited = AuditResult.empty(corpus, len(numbers), sample, join.sizes, work.state.scratch, work.budget)
    sampled = np.zeros(corpus.documents, np.bool_)
    sampled[sample] = True
    total = missed = 0
    known = known_pairs(sample, pairs, corpus.documents)
    n_met = 0
    starts = range(0, len(sample), at_once)
    compared = work.threads.map(lambda at: _near_documents(join, sample[at : at + at_once], at, partners), starts)
    for start, rows in zip(starts, compared, strict=True):
        seen = np.isin(pair_words(rows[:, 1], rows[:, 0]), known)
        n_met += int(np.count_nonzero(seen))
        np.add.at(audited.pairs_of, rows[:, 1], 1)
        np.add.at(audited.missed_of, rows[~seen, 1], 1)
        # A pair of two sampled items is found from both; count it once, from the lesser.
        once = ~sampled[rows[:, 0]] | (sample[rows[:, 1]] < rows[:, 0])
        total += int(np.count_nonzero(once))
        missed += int(np.count_nonzero(once & ~seen))
        append_missed(audited.rows, sample, rows[once & ~seen])
        work.progress.advance(min(at_once, len(sample) - start))
    refuse_lost_pairs(n_met, len(known))
    audited.rows.close()
    return dataclasses.replace(audited, pairs=total, missed=missed)


def _near_documents(join: InMemoryJoin, batch: Numbers, first: int, partners: npt.NDArray[np.bool_]) -> _NearRows:
    """Find every document near one of a few; `first` is the position of these in the sample."""
    positions = np.searchsorted(join.numbers, batch)
    position = np.zeros(len(join.numbers), np.uint32)
    position[positions] = np.arange(first, first + len(batch), dtype=np.uint32)
    rows_found = [np.empty((0, 3), np.uint32)]
    for lefts, rights, codes in join.near_all(positions):
        near = (lefts != rights) & partners[join.numbers[rights]]
        if join.groups is not None:
            near &= join.groups[lefts] == join.groups[rights]
        rows_found.append(np.stack([join.numbers[rights[near]], position[lefts[near]], codes[near]], axis=1))
    return np.concatenate(rows_found)
