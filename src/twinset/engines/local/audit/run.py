"""The audit of a run: a sample of its documents is compared exactly with all others, and the run's pairs with these.

Texts are read once more. Of nearly every document only the beginning is needed to see that it has no pair with any
document of the sample (see `twinset.pairs.audit.screen`). A sample whose table does not fit in memory is cut, and each
part of it takes a reading of its own.
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
from twinset.engines.local.audit.load_sets import LoadedSets, SetLoader, chosen, groups_of, plain
from twinset.engines.local.budget import Budget
from twinset.engines.local.copies import Copies
from twinset.engines.local.corpus import Corpus, Span
from twinset.engines.local.sort_pairs import Rows, sorted_portions
from twinset.engines.local.steps.shingle import kind_of, shingled
from twinset.engines.local.steps.sketch import WorkOptions
from twinset.engines.local.threads import Threads
from twinset.engines.progress import Progress
from twinset.errors import TwinsetError
from twinset.pairs.audit.inverted import Inverted
from twinset.pairs.audit.screen import LEAST_COUNT, Screen, first_parts, saves
from twinset.pairs.sets import Sets
from twinset.schema import Numbers, Places, Shingles
from twinset.system.arrays import Room, pair_words
from twinset.system.scratch import Spool
from twinset.wording import counted

BYTES_A_SHINGLE = 64  # of a sample: its sets, and the table while it is made from them
BYTES_A_PAIR = 96  # met and looked up
LEAST_TRIED = 256  # documents after which it shows whether looking at beginnings saves work

_Met = npt.NDArray[np.uint32]
"""(n, 4): a document, the place in the sample of the one it is near, the shingles they share, and those it has."""


@dataclass(frozen=True)
class AuditResult:
    """What an audit found.

    Of `population` documents that could be drawn, `sample` was. Document sample[i] has pairs_of[i] pairs, missed_of[i]
    of which the run has not found. `pairs` and `missed` count each pair once, also where both documents were drawn.
    `sizes` are the set sizes of all documents that were met.
    """

    population: int
    sample: Numbers
    pairs_of: Places
    missed_of: Places
    pairs: int
    missed: int
    one_sided: bool
    sizes: Numbers
    rows: Spool
    limit: int

    def missed_rows(self) -> Iterator[Rows]:
        """(left, right, shared) of the missed pairs, sorted, in portions."""
        yield from sorted_portions(self.rows, len(self.sizes), self.limit)


class SetAudit:
    """Audits the pairs of a run over a corpus."""

    def __init__(
        self, corpus: Corpus, copies: Copies, options: WorkOptions, budget: Budget, scratch: Path, threads: Threads,
        progress: Progress,
    ) -> None:  # fmt: skip
        self.corpus, self.options, self.budget = corpus, options, budget
        self.scratch, self.threads, self.progress = scratch, threads, progress
        self.own, self.partners = sampling.eligible(corpus, copies)
        self.n_partners = int(np.count_nonzero(self.partners))
        self.work = int(corpus.counts[self.partners].sum(dtype=np.int64))
        self._room = Room()
        self._ahead: SetLoader | None = None
        self._tried = np.zeros(2, np.int64)  # documents whose beginnings were looked at, and those that it told nothing

    def look_ahead(self, asked: int | None) -> None:
        """Have the sample's sets made as its texts are read for something else: a reading less.

        Not if all texts are in memory anyway, if two sides have samples of their own, or if there is no room; of a
        sample that is still to be cut, those that are tried first.
        """
        if self.corpus.held or self.corpus.border is not None:
            return
        sample = self._drawn(asked)
        for numbers in [sample] if asked is not None else [sample, sample[: 2 * sampling.PILOT]]:
            if int(self.corpus.counts[numbers].sum(dtype=np.int64)) * BYTES_A_SHINGLE <= self.budget.sets:
                self._ahead = SetLoader(self.corpus, self.options, numbers)
                self.corpus.noticed = self._ahead.fill
                break

    def _drawn(self, asked: int | None) -> Numbers:
        """The documents to compare, or to choose from."""
        numbers = np.flatnonzero(self.own).astype(np.uint32)
        characters = kind_of(self.options) == "text" and self.options.kind == "char"
        most = sampling.most(self.corpus.counts[numbers], self.work, characters) if asked is None else asked
        return sampling.drawn(self.corpus, numbers, min(most, len(numbers)), self.options.seed)

    def audit(self, asked: int | None, pairs: Spool, sizes: Numbers, candidates: int) -> AuditResult:
        """Compare `asked` documents, or as many as a run of this size affords, and look up what was found in `pairs`.

        `sizes` are the set sizes that are known; what is found here is added to a copy of them.
        """
        self.corpus.noticed = None
        degrees = _degrees(pairs, self.corpus.documents)
        self.progress.stage("auditing", self.n_partners, "documents")
        sample = self._drawn(asked)
        loaded = None
        if asked is None:
            sample, loaded = self._affordable(sample, degrees, candidates)
        audited = AuditResult(
            population=int(np.count_nonzero(self.own)), sample=sample,
            pairs_of=np.zeros(len(sample), np.int64), missed_of=np.zeros(len(sample), np.int64), pairs=0, missed=0,
            one_sided=self.corpus.border is not None, sizes=sizes.copy(),
            rows=Spool(self.scratch / "missed", "<u4", 3), limit=self.budget.pairs,
        )  # fmt: skip
        return self._audited(audited, loaded, degrees, pairs)

    def _affordable(self, sample: Numbers, degrees: Places, candidates: int) -> tuple[Numbers, LoadedSets | None]:
        """As many of the sample as the run affords, with their sets if these fit in memory at once.

        A few of the sample are compared with as many others first, to see how much work that is.
        """
        few = sampling.PILOT if len(sample) == np.count_nonzero(self.own) else min(sampling.PILOT, len(sample) // 2)
        first, others = sample[:few], sample[few : 2 * few]
        if self.corpus.border is not None:
            numbers = np.flatnonzero(self.partners).astype(np.uint32)
            others = sampling.drawn(self.corpus, numbers, min(sampling.PILOT, len(numbers)), self.options.seed)
        if not len(first) or not len(others):
            return sample, None  # so few that all are looked at
        fits = len(self._parts(sample, degrees)) == 1
        held = sample if fits else first
        loaded = self._load(np.concatenate([held, others]) if not fits or self.corpus.border is not None else held)
        start = len(held) if len(loaded.numbers) > len(held) else len(first)
        table = Inverted.of(loaded.part(0, len(first)).sets)
        trial = loaded.part(start, start + len(others))
        looked = sum(entries for _, entries in table.matches(trial.sets, self.options.least))
        most = sampling.crowd(table.known(trial.sets), self.options.least)
        count = sampling.affordable(
            len(sample), looked / len(first) / len(others), self.n_partners, self.work,
            candidates * (self.work // self.n_partners), float(degrees[sample].mean()), most,
        )  # fmt: skip
        return sample[:count], loaded.part(0, count) if fits or count <= len(first) else None

    def _parts(self, sample: Numbers, degrees: Places) -> list[tuple[int, int]]:
        """The sample cut into parts whose sets and pairs fit in memory.

        How many pairs a document has is guessed from those that were found.
        """
        shingles = np.cumsum(self.corpus.counts[sample], dtype=np.int64) * BYTES_A_SHINGLE
        expected = np.cumsum(1 + degrees[sample]) * BYTES_A_PAIR
        full = np.maximum(shingles // max(1, self.budget.sets), expected // max(1, self.budget.pairs))
        cuts = [0, *(np.flatnonzero(np.diff(full)) + 1).tolist(), len(sample)]
        return [(first, last) for first, last in itertools.pairwise(cuts) if first < last]

    def _audited(self, audited: AuditResult, loaded: LoadedSets | None, degrees: Places, pairs: Spool) -> AuditResult:
        sample, sizes = audited.sample, audited.sizes
        sampled = np.zeros(self.corpus.documents, np.bool_)
        sampled[sample] = True
        parts = self._parts(sample, degrees)
        if len(parts) > 1:
            self.progress.stage("auditing", len(parts) * self.n_partners, "documents")
        total = missed = 0
        for first, last in parts:
            few = self._load(sample[first:last]) if loaded is None else loaded.part(first, last)
            sizes[few.numbers] = few.sets.sizes
            rows = self._compared(few)
            lost = self._lost(few, rows, pairs)
            sizes[rows[:, 0]] = rows[:, 3]
            audited.pairs_of[first:last] = np.bincount(rows[:, 1], minlength=last - first)
            audited.missed_of[first:last] = np.bincount(rows[lost, 1], minlength=last - first)
            # A pair of two drawn documents is met from both; it counts once, from the lesser.
            once = ~sampled[rows[:, 0]] | (few.numbers[rows[:, 1]] < rows[:, 0])
            total += int(np.count_nonzero(once))
            missed += int(np.count_nonzero(once & lost))
            _keep(audited.rows, few, rows[once & lost])
        audited.rows.close()
        return dataclasses.replace(audited, pairs=total, missed=missed)

    def _load(self, numbers: Numbers) -> LoadedSets:
        """The sets of some documents, in the order given, with what was looked at ahead."""
        ahead, self._ahead = self._ahead, None
        if ahead is None or not np.array_equal(ahead.loaded.numbers[: len(numbers)], numbers):
            ahead = SetLoader(self.corpus, self.options, numbers)
        return ahead.finish(self.threads).part(0, len(numbers))

    def _compared(self, few: LoadedSets) -> _Met:
        """Every document that reaches the least similarity with one of the few."""
        table = Inverted.of(few.sets).with_rare(self.options.least)
        counts = self.corpus.most_distinct()
        # Only texts have a beginning that can be cut off; what is packed is read whole.
        text = kind_of(self.options) == "text"
        screen = Screen.of(few.sets, counts[few.numbers], self.options.least) if text else None
        partners = self.partners.copy()
        partners[few.numbers] = False  # these meet each other in the table itself

        def work(span: Span, block: Block) -> list[_Met]:
            rows = np.flatnonzero(partners[span.first : span.first + span.rows])
            sizes = counts[span.first : span.first + span.rows]
            screened = screen if screen is not None and not self._in_vain(screen.share) else None
            if screened is not None:
                rows = self._screened(screened, block.texts, rows, sizes)
            found = []
            for portion in chosen(block.texts, rows, self.options):
                passed = table.meets(portion) if screened is None else screened.passes(portion, sizes[portion.rows])
                found += self._met(few, table, portion, np.flatnonzero(passed), portion.rows + span.first)
            return found

        found = [np.empty((0, 4), np.uint32), *(self._within(few, table) if self.corpus.border is None else ())]
        for span, met in self.corpus.read(self.threads, work, wanted=partners):
            found += met
            self.progress.advance(int(np.count_nonzero(partners[span.first : span.first + span.rows])))
        return np.concatenate(found)

    def _in_vain(self, share: float) -> bool:
        """Whether beginnings say too little: then it is quicker to look at whole texts at once."""
        tried, passed = self._tried.tolist()
        return share == 0.0 or (tried >= LEAST_TRIED and not saves(share, passed / tried))

    def _screened(self, screen: Screen, texts: pa.Array, rows: Places, counts: Numbers) -> Places:
        """Those of the rows whose beginning does not show that they have no pair."""
        alive = np.ones(len(rows), np.bool_)
        long = np.flatnonzero(counts[rows] >= LEAST_COUNT)
        data, offsets = buffers_of(plain(texts))
        tried = rows[long]
        first, bounds = first_parts(data, offsets[tried], offsets[tried + 1], screen.share)
        pieces = pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), len(tried), [None, pa.py_buffer(bounds), pa.py_buffer(first)]
        )
        for portion in shingled(pieces, self.options, self.options.seed).portions:
            # One shingle may be all of a beginning that is shorter than a shingle, and none of the text's own.
            passed = screen.passes(portion, counts[tried[portion.rows]]) | (np.diff(portion.offsets) < 2)
            alive[long[portion.rows]] = passed
        self._tried += np.array([len(long), np.count_nonzero(alive[long])])
        return rows[alive]

    def _met(self, few: LoadedSets, table: Inverted, portion: Shingles, rows: Places, numbers: Places) -> list[_Met]:
        if not len(rows):
            return []
        sets = Sets.with_room(np.diff(portion.offsets)[rows], self._room)
        sets.fill(portion, rows, np.arange(len(rows)))
        groups = np.broadcast_to(groups_of(self.corpus, self.options, portion, numbers), len(numbers))[rows]
        numbers = numbers[rows]
        found = []
        for matches, _ in table.matches(sets, self.options.least):
            places, owners = matches[:, 0], matches[:, 1]
            met = np.stack([numbers[places], owners, matches[:, 2], sets.sizes[places]], axis=1)
            found.append(met[groups[places] == few.groups[owners]].astype(np.uint32))
        return found

    def _within(self, few: LoadedSets, table: Inverted) -> Iterator[_Met]:
        for matches in table.matches_within(self.options.least):
            this, other = matches[:, 0], matches[:, 1]
            rows = np.stack([few.numbers[this], other, matches[:, 2], few.sets.sizes[this]], axis=1)
            yield rows[few.groups[this] == few.groups[other]]

    def _lost(self, few: LoadedSets, rows: _Met, pairs: Spool) -> npt.NDArray[np.bool_]:
        """Which of the rows are no pairs of the run; a pair of the run that is no row is a fault of the program."""
        place = np.full(self.corpus.documents, -1, np.int64)
        place[few.numbers] = np.arange(len(few.numbers))
        known = [np.empty(0, np.uint64)]
        for chunk in pairs.chunks():
            for near, far in ((chunk[:, 0], chunk[:, 1]), (chunk[:, 1], chunk[:, 0])):
                ours = place[near] >= 0
                known.append(pair_words(place[near[ours]], far[ours]))
        found = np.concatenate(known)
        met = pair_words(rows[:, 1], rows[:, 0])
        seen = np.isin(met, found)
        if np.count_nonzero(seen) != len(found):
            raise TwinsetError(
                f"the audit met {np.count_nonzero(seen)} of {counted(len(found), 'pair')} that the run has verified; "
                "please report this, and do not use the result"
            )
        return ~seen


def _degrees(pairs: Spool, documents: int) -> Places:
    """How many pairs of each document were found."""
    degrees = np.zeros(documents, np.int64)
    for chunk in pairs.chunks():
        np.add.at(degrees, chunk[:, :2], 1)  # a count of all documents for each chunk would grow with both
    return degrees


def _keep(spool: Spool, few: LoadedSets, rows: _Met) -> None:
    ours = few.numbers[rows[:, 1]]
    lefts, rights = np.minimum(ours, rows[:, 0]), np.maximum(ours, rows[:, 0])
    spool.append(np.stack([lefts, rights, rows[:, 2]], axis=1))
