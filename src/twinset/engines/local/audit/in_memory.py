"""The audit of items that have a measure of their own: some of them, drawn at random, compared with all others.

Nothing clever is done: a sample is compared exactly with everything, and what is near enough is looked up in the pairs.
"""

import dataclasses

import numpy as np
import numpy.typing as npt

from twinset.engines.local.audit import sample as sampling
from twinset.engines.local.audit.run import AuditResult
from twinset.engines.local.joins.in_memory import InMemoryJoin
from twinset.errors import TwinsetError
from twinset.schema import Hashes, Numbers
from twinset.system.arrays import pair_words
from twinset.system.scratch import Spool
from twinset.wording import counted

_AT_ONCE = 256  # items compared with all others at a time, fewer where each has many pairs
_LEAST, _MOST_PAIRS = 16, 1 << 22

_Met = npt.NDArray[np.uint32]
"""(n, 3): a document, the place in the sample of the one it is near, and the code of the pair."""


def audit(held: InMemoryJoin, asked: int | None, pairs: Spool) -> AuditResult:
    """Compare `asked` items, or as many as a run of this size affords, and look up what was found in `pairs`."""
    work, corpus = held.work, held.corpus
    own, partners = sampling.eligible(corpus, held.copies)
    numbers = np.flatnonzero(own).astype(np.uint32)
    degree = 2 * len(pairs) / max(1, len(numbers))  # pairs of an item, as far as they are known
    most = held.affordable(len(numbers), int(np.count_nonzero(partners))) if asked is None else asked
    if asked is None:
        most = min(most, max(_LEAST, int(_MOST_PAIRS / max(1.0, degree))))
    at_once = max(1, min(_AT_ONCE, int(_AT_ONCE * _AT_ONCE / max(1.0, degree))))
    sample = sampling.drawn(corpus, numbers, min(most, len(numbers)), held.options.seed) if len(numbers) else numbers
    work.progress.stage("auditing", len(sample), "documents")
    audited = AuditResult(
        population=len(numbers), sample=sample, pairs_of=np.zeros(len(sample), np.int64),
        missed_of=np.zeros(len(sample), np.int64), pairs=0, missed=0, one_sided=corpus.border is not None,
        sizes=held.sizes, rows=Spool(work.state.scratch / "missed", "<u4", 3), limit=work.budget.pairs,
    )  # fmt: skip
    sampled = np.zeros(corpus.documents, np.bool_)
    sampled[sample] = True
    total = missed = 0
    known = _known(sample, pairs, corpus.documents)
    met = 0
    starts = range(0, len(sample), at_once)
    compared = work.threads.map(lambda at: _met(held, sample[at : at + at_once], at, partners), starts)
    for start, rows in zip(starts, compared, strict=True):
        seen = np.isin(pair_words(rows[:, 1], rows[:, 0]), known)
        met += int(np.count_nonzero(seen))
        np.add.at(audited.pairs_of, rows[:, 1], 1)
        np.add.at(audited.missed_of, rows[~seen, 1], 1)
        # A pair of two drawn items is met from both; it counts once, from the lesser.
        once = ~sampled[rows[:, 0]] | (sample[rows[:, 1]] < rows[:, 0])
        total += int(np.count_nonzero(once))
        missed += int(np.count_nonzero(once & ~seen))
        _keep(audited.rows, sample, rows[once & ~seen])
        work.progress.advance(min(at_once, len(sample) - start))
    if met != len(known):
        raise TwinsetError(
            f"the audit met {met} of {counted(len(known), 'pair')} that the run has verified; please report this, and "
            "do not use the result"
        )
    audited.rows.close()
    return dataclasses.replace(audited, pairs=total, missed=missed)


def _met(held: InMemoryJoin, few: Numbers, first: int, partners: npt.NDArray[np.bool_]) -> _Met:
    """Every document that is near enough to one of a few, these by their place in the sample."""
    ours = np.searchsorted(held.numbers, few)
    place = np.zeros(len(held.numbers), np.uint32)
    place[ours] = np.arange(first, first + len(few), dtype=np.uint32)
    found = [np.empty((0, 3), np.uint32)]
    for lefts, rights, codes in held.near_all(ours):
        kept = (lefts != rights) & partners[held.numbers[rights]]
        if held.groups is not None:
            kept &= held.groups[lefts] == held.groups[rights]
        found.append(np.stack([held.numbers[rights[kept]], place[lefts[kept]], codes[kept]], axis=1))
    return np.concatenate(found)


def _known(sample: Numbers, pairs: Spool, documents: int) -> Hashes:
    """The run's pairs of the sample: each of its places with the other document."""
    place = np.full(documents, -1, np.int64)
    place[sample] = np.arange(len(sample))
    known = [np.empty(0, np.uint64)]
    for chunk in pairs.chunks():
        for near, far in ((chunk[:, 0], chunk[:, 1]), (chunk[:, 1], chunk[:, 0])):
            ours = place[near] >= 0
            known.append(pair_words(place[near[ours]], far[ours]))
    return np.concatenate(known)


def _keep(out: Spool, sample: Numbers, rows: _Met) -> None:
    ours = sample[rows[:, 1]]
    if len(rows):
        out.append(np.stack([np.minimum(ours, rows[:, 0]), np.maximum(ours, rows[:, 0]), rows[:, 2]], axis=1))
