"""Audit a run over sets: compare a sample of its documents exactly with all others.

Texts are read once more. For most documents the beginning shows that they have no pair in the sample (see
`twinset.pairs.audit.screen`). A sample too large for memory is split, and each part takes one reading.
"""

import dataclasses
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.documents.normalize import buffers_of
from twinset.documents.parts import Block
from twinset.engines.local.audit import sample as sampling
from twinset.engines.local.audit.result import AuditResult, append_missed, known_pairs, refuse_lost_pairs
from twinset.engines.local.budget import Budget
from twinset.engines.local.copies import Copies
from twinset.engines.local.corpus import Corpus, Span
from twinset.engines.local.steps.shingle import shingled
from twinset.engines.local.steps.sketch import OTHER_SIDE, WorkOptions, content_digests
from twinset.engines.local.threads import Threads
from twinset.engines.progress import Progress
from twinset.pairs.audit.inverted import Inverted
from twinset.pairs.audit.screen import LEAST_COUNT, Screen, first_parts, saves
from twinset.pairs.sets import Sets
from twinset.schema import Flags, Hashes, Numbers, Places, Shingles
from twinset.system.arrays import Room, pair_words
from twinset.system.scratch import Spool

BYTES_A_SHINGLE = 64  # of the sample: its sets, and the table while it is built
BYTES_A_PAIR = 96  # found and looked up
LEAST_TRIED = 256  # documents screened before judging whether screening saves work

_NearRows = npt.NDArray[np.uint32]
"""(n, 4): a document, the position in the sample of its match, the shingles they share, and its set size."""


@dataclass(frozen=True)
class LoadedSets:
    """Documents with their shingle sets; only those of the same group (`by`) are compared."""

    numbers: Numbers
    sets: Sets
    groups: Hashes

    def part(self, first: int, last: int) -> "LoadedSets":
        """Return documents first to last - 1."""
        sets = Sets(self.sets.hashes, self.sets.starts[first : last + 1], self.sets.sizes[first:last])
        return LoadedSets(self.numbers[first:last], sets, self.groups[first:last])


class SetLoader:
    """Loads the sets of some documents, in the order given: from blocks read for other steps, the rest at the end."""

    def __init__(self, corpus: Corpus, options: WorkOptions, numbers: Numbers) -> None:
        self.corpus, self.options = corpus, options
        sets = Sets.with_room(corpus.counts[numbers])
        self.loaded = LoadedSets(numbers, sets, np.zeros(len(numbers), np.uint64))
        self._order = np.argsort(numbers, kind="stable")
        self._missing = np.ones(len(numbers), np.bool_)

    def fill(self, span: Span, block: Block) -> None:
        """Load the missing sets of a block; threads may call this with different blocks."""
        sorted_numbers = self.loaded.numbers[self._order]
        first, last = np.searchsorted(sorted_numbers, [span.first, span.first + span.rows])
        positions = self._order[first:last]
        positions = positions[self._missing[positions]]
        rows = self.loaded.numbers[positions].astype(np.int64) - span.first
        for portion in chosen(block.texts, rows, self.options):
            targets = positions[np.searchsorted(rows, portion.rows)]
            self.loaded.sets.fill(portion, np.arange(len(targets)), targets)
            self.loaded.groups[targets] = groups_of(self.corpus, self.options, portion, portion.rows + span.first)
        self._missing[positions] = False

    def finish(self, threads: Threads) -> LoadedSets:
        """Read what is missing and return all sets."""
        wanted = np.zeros(self.corpus.documents, np.bool_)
        wanted[self.loaded.numbers[self._missing]] = True
        if wanted.any():
            for _ in self.corpus.read(threads, self.fill, wanted=wanted):
                pass
        return self.loaded


class SetAudit:
    """Audits the pairs of a run over a corpus."""

    def __init__(
        self, corpus: Corpus, copies: Copies, options: WorkOptions, budget: Budget, scratch: Path, threads: Threads,
        progress: Progress, left_alone: Flags | None = None,
    ) -> None:  # fmt: skip
        self.corpus, self.options, self.budget = corpus, options, budget
        self.scratch, self.threads, self.progress = scratch, threads, progress
        self.contained = options.contained is not None
        self.own, self.partners = sampling.eligible(corpus, copies)
        if left_alone is not None:
            self.own, self.partners = self.own & ~left_alone, self.partners & ~left_alone
        self.n_partners = int(np.count_nonzero(self.partners))
        self.work = int(corpus.counts[self.partners].sum(dtype=np.int64))
        self._room = Room()
        self._ahead: SetLoader | None = None
        self._tried = np.zeros(2, np.int64)  # documents screened, and those that passed

    def look_ahead(self, size: int | None) -> None:
        """Load the sample's sets while texts are read for verification, to avoid reading them once more.

        Nothing is loaded if all texts are in memory, if there are two sides, or if there is no room. If the sample is
        too large, only its pilot is loaded.
        """
        if self.corpus.cached_blocks or self.corpus.border is not None:
            return
        sample = self._draw(size)
        for numbers in [sample] if size is not None else [sample, sample[: 2 * sampling.PILOT]]:
            if int(self.corpus.counts[numbers].sum(dtype=np.int64)) * BYTES_A_SHINGLE <= self.budget.sets:
                self._ahead = SetLoader(self.corpus, self.options, numbers)
                self.corpus.noticed = self._ahead.fill
                break

    def _draw(self, size: int | None) -> Numbers:
        """Draw the documents to compare."""
        numbers = np.flatnonzero(self.own).astype(np.uint32)
        shingles = int(self.corpus.counts[numbers].sum(dtype=np.int64))
        limit = sampling.most(len(numbers), shingles, self.work, self.options) if size is None else size
        return sampling.drawn(self.corpus, numbers, min(limit, len(numbers)), self.options.seed)

    def audit(self, size: int | None, pairs: Spool, sizes: Numbers, candidates: int) -> AuditResult:
        """Look up the pairs of `size` sampled documents, or of as many as the run affords, in `pairs`.

        `sizes` are the known set sizes; the result has a copy with those found here.
        """
        self.corpus.noticed = None
        degrees = _degrees(pairs, self.corpus.documents)
        self.progress.stage("auditing", self.n_partners, "documents")
        sample = self._draw(size)
        loaded = None
        if size is None:
            sample, loaded = self._cut_sample(sample, degrees, candidates)
        population = int(np.count_nonzero(self.own))
        audited = AuditResult.empty(self.corpus, population, sample, sizes.copy(), self.scratch, self.budget)
        return self._count_missed(audited, loaded, degrees, pairs)

    def _cut_sample(self, sample: Numbers, degrees: Places, candidates: int) -> tuple[Numbers, LoadedSets | None]:
        """Cut the sample to what the run affords; return its sets too if they fit in memory.

        A pilot of the sample is compared with as many others first, to estimate the work.
        """
        few = sampling.pilot_size(len(sample), int(np.count_nonzero(self.own)))
        first, others = sample[:few], sample[few : 2 * few]
        if self.corpus.border is not None:
            numbers = np.flatnonzero(self.partners).astype(np.uint32)
            others = sampling.drawn(self.corpus, numbers, min(sampling.PILOT, len(numbers)), self.options.seed)
        if not len(first) or not len(others):
            return sample, None  # so few that all are compared
        fits = len(self._split_sample(sample, degrees)) == 1
        loadable = sample if fits else first
        together = not fits or self.corpus.border is not None
        loaded = self._load(np.concatenate([loadable, others]) if together else loadable)
        start = len(loadable) if len(loaded.numbers) > len(loadable) else len(first)
        count = affordable_count(
            loaded.part(0, len(first)).sets, loaded.part(start, start + len(others)).sets, self.options, len(sample),
            self.n_partners, self.work, candidates, float(degrees[sample].mean()),
        )  # fmt: skip
        return sample[:count], loaded.part(0, count) if fits or count <= len(first) else None

    def _split_sample(self, sample: Numbers, degrees: Places) -> list[tuple[int, int]]:
        """Cut the sample into parts whose sets and expected pairs fit in memory."""
        shingles = np.cumsum(self.corpus.counts[sample], dtype=np.int64) * BYTES_A_SHINGLE
        expected = np.cumsum(1 + degrees[sample]) * BYTES_A_PAIR
        full = np.maximum(shingles // max(1, self.budget.sets), expected // max(1, self.budget.pairs))
        cuts = [0, *(np.flatnonzero(np.diff(full)) + 1).tolist(), len(sample)]
        return [(first, last) for first, last in itertools.pairwise(cuts) if first < last]

    def _count_missed(
        self, audited: AuditResult, loaded: LoadedSets | None, degrees: Places, pairs: Spool
    ) -> AuditResult:
        sample, sizes = audited.sample, audited.sizes
        sampled = np.zeros(self.corpus.documents, np.bool_)
        sampled[sample] = True
        parts = self._split_sample(sample, degrees)
        if len(parts) > 1:
            self.progress.stage("auditing", len(parts) * self.n_partners, "documents")
        total = missed = 0
        for first, last in parts:
            few = self._load(sample[first:last]) if loaded is None else loaded.part(first, last)
            sizes[few.numbers] = few.sets.sizes
            rows = self._find_near(few)
            is_missed = self._mark_missed(few, rows, pairs)
            sizes[rows[:, 0]] = rows[:, 3]
            audited.pairs_of[first:last] = np.bincount(rows[:, 1], minlength=last - first)
            audited.missed_of[first:last] = np.bincount(rows[is_missed, 1], minlength=last - first)
            # A pair of two sampled documents is found from both; count it once, from the lesser.
            once = ~sampled[rows[:, 0]] | (few.numbers[rows[:, 1]] < rows[:, 0])
            total += int(np.count_nonzero(once))
            missed += int(np.count_nonzero(once & is_missed))
            append_missed(audited.rows, few.numbers, rows[once & is_missed])
        audited.rows.close()
        return dataclasses.replace(audited, pairs=total, missed=missed)

    def _load(self, numbers: Numbers) -> LoadedSets:
        """Load the sets of some documents in the order given; use those loaded ahead."""
        ahead, self._ahead = self._ahead, None
        if ahead is None or not np.array_equal(ahead.loaded.numbers[: len(numbers)], numbers):
            ahead = SetLoader(self.corpus, self.options, numbers)
        return ahead.finish(self.threads).part(0, len(numbers))

    def _find_near(self, few: LoadedSets) -> _NearRows:
        """Find every document that reaches the minimum similarity with one of the few."""
        table = Inverted.of(few.sets)
        if not self.contained:  # a larger set may lack nothing of a smaller one, and have much else
            table = table.with_rare(self.options.least)
        counts = self.corpus.most_distinct()
        # Only texts can be screened by their beginning; packed items are read whole.
        text = self.options.item_kind == "text" and not self.contained
        screen = Screen.of(few.sets, counts[few.numbers], self.options.least) if text else None
        partners = self.partners.copy()
        partners[few.numbers] = False  # these are compared with each other in the table

        def work(span: Span, block: Block) -> list[_NearRows]:
            rows = np.flatnonzero(partners[span.documents])
            sizes = counts[span.documents]
            screened = screen if screen is not None and not self._is_wasteful(screen.share) else None
            if screened is not None:
                rows = self._screen_rows(screened, block.texts, rows, sizes)
            near = []
            for portion in chosen(block.texts, rows, self.options):
                passed = table.meets(portion) if screened is None else screened.passes(portion, sizes[portion.rows])
                near += self._near_rows(few, table, portion, np.flatnonzero(passed), portion.rows + span.first)
            return near

        near = [np.empty((0, 4), np.uint32), *(self._rows_within(few, table) if self.corpus.border is None else ())]
        for span, met in self.corpus.read(self.threads, work, wanted=partners):
            near += met
            self.progress.advance(int(np.count_nonzero(partners[span.documents])))
        return np.concatenate(near)

    def _is_wasteful(self, share: float) -> bool:
        """Whether screening costs more than it saves."""
        tried, passed = self._tried.tolist()
        return share == 0.0 or (tried >= LEAST_TRIED and not saves(share, passed / tried))

    def _screen_rows(self, screen: Screen, texts: pa.Array, rows: Places, counts: Numbers) -> Places:
        """Return the rows whose beginning does not rule out a pair."""
        alive = np.ones(len(rows), np.bool_)
        long = np.flatnonzero(counts[rows] >= LEAST_COUNT)
        data, offsets = buffers_of(plain(texts))
        tried = rows[long]
        first, bounds = first_parts(data, offsets[tried], offsets[tried + 1], screen.share)
        pieces = pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), len(tried), [None, pa.py_buffer(bounds), pa.py_buffer(first)]
        )
        for portion in shingled(pieces, self.options, self.options.seed).portions:
            # A beginning shorter than a shingle gives one shingle that the text does not have.
            passed = screen.passes(portion, counts[tried[portion.rows]]) | (np.diff(portion.offsets) < 2)
            alive[long[portion.rows]] = passed
        self._tried += np.array([len(long), np.count_nonzero(alive[long])])
        return rows[alive]

    def _near_rows(
        self, few: LoadedSets, table: Inverted, portion: Shingles, rows: Places, numbers: Places
    ) -> list[_NearRows]:
        if not len(rows):
            return []
        sets = Sets.with_room(np.diff(portion.offsets)[rows], self._room)
        sets.fill(portion, rows, np.arange(len(rows)))
        groups = np.broadcast_to(groups_of(self.corpus, self.options, portion, numbers), len(numbers))[rows]
        numbers = numbers[rows]
        near = []
        for matches, _ in table.matches(sets, self.options.least, contained=self.contained):
            positions, owners = matches[:, 0], matches[:, 1]
            met = np.stack([numbers[positions], owners, matches[:, 2], sets.sizes[positions]], axis=1)
            near.append(met[groups[positions] == few.groups[owners]].astype(np.uint32))
        return near

    def _rows_within(self, few: LoadedSets, table: Inverted) -> Iterator[_NearRows]:
        for matches in table.matches_within(self.options.least, contained=self.contained):
            lefts, rights = matches[:, 0], matches[:, 1]
            rows = np.stack([few.numbers[lefts], rights, matches[:, 2], few.sets.sizes[lefts]], axis=1)
            yield rows[few.groups[lefts] == few.groups[rights]]

    def _mark_missed(self, few: LoadedSets, rows: _NearRows, pairs: Spool) -> Flags:
        """Mark the rows that the run has missed."""
        known = known_pairs(few.numbers, pairs, self.corpus.documents)
        seen = np.isin(pair_words(rows[:, 1], rows[:, 0]), known)
        refuse_lost_pairs(int(np.count_nonzero(seen)), len(known))
        return ~seen


def affordable_count(
    first: Sets, others: Sets, options: WorkOptions, count: int, partners: int, work: int, candidates: int, pairs: float
) -> int:
    """Return how many of `count` sampled documents a run affords, after comparing the `first` ones with as many others.

    `work` are the shingles of all partners, `pairs` the pairs per sampled document.
    """
    contained = options.contained is not None
    table = Inverted.of(first)
    entries_read = sum(entries for _, entries in table.matches(others, options.least, contained=contained))
    limit = sampling.crowd(table.known(others), options.least)
    read = entries_read / len(first.sizes) / len(others.sizes)
    return sampling.affordable(count, read, partners, work, candidates * (work // partners), pairs, limit)


def _degrees(pairs: Spool, documents: int) -> Places:
    """Count the pairs of each document."""
    degrees = np.zeros(documents, np.int64)
    for chunk in pairs.chunks():
        np.add.at(degrees, chunk[:, :2], 1)  # a count of all documents for each chunk would grow with both
    return degrees


def chosen(texts: pa.Array, rows: Places, options: WorkOptions) -> Iterator[Shingles]:
    """Yield the shingles of some rows of a block; a few rows are copied first, many are masked."""
    if 2 * len(rows) > len(texts):
        wanted = np.zeros(len(texts), np.bool_)
        wanted[rows] = True
        yield from shingled(texts, options, options.seed, wanted).portions
        return
    for portion in shingled(plain(texts).take(pa.array(rows)), options, options.seed).portions:
        yield dataclasses.replace(portion, rows=rows[portion.rows])


def groups_of(
    corpus: Corpus, options: WorkOptions, portion: Shingles, numbers: npt.NDArray[np.integer]
) -> Hashes | np.uint64:
    """Recover the hash of each document's `by` column, which salts its digest."""
    if options.by is None:
        return np.uint64(0)
    groups: Hashes = corpus.digests[numbers, 0] ^ content_digests(portion)[:, 0]
    if corpus.border is not None:
        groups[numbers >= corpus.border] ^= OTHER_SIDE
    return groups


def plain(texts: pa.Array) -> pa.Array:
    """Cast string views, from which Arrow cannot take rows."""
    view = pa.types.is_string_view(texts.type) or pa.types.is_binary_view(texts.type)
    return texts.cast(pa.large_binary()) if view else texts
