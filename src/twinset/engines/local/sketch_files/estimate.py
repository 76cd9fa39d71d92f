"""Find pairs in files of sketches, without the documents.

Sketches with slots are cut into bands and joined as in any run. Bottom-k sketches are joined by an inverted list of
their hashes, which misses none. A pair is reported if its *estimated* similarity reaches the threshold; it cannot be
verified without the documents.
"""

import itertools
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.candidates import banding
from twinset.candidates.inverted import InvertedSketches, met
from twinset.documents.normalize import hash_values
from twinset.engines.local.budget import Budget
from twinset.engines.local.copies import SAME, Copies
from twinset.engines.local.corpus import Corpus, Span, cut_ranges
from twinset.engines.local.ids import DocumentIds
from twinset.engines.local.sketch_files.estimate_plan import EstimatePlan, estimate_plan
from twinset.engines.local.sketch_files.files import SketchBatch, SketchSource, open_sketches
from twinset.engines.local.sketch_files.make import is_empty
from twinset.engines.local.sort_pairs import Rows
from twinset.engines.local.state import RunState
from twinset.engines.local.steps import candidates as joining
from twinset.engines.local.steps.sketch import EMPTY, OTHER_SIDE, READ, low_bytes, row_digests
from twinset.engines.local.threads import Threads
from twinset.engines.progress import Progress
from twinset.errors import DuplicateIdError, OptionError
from twinset.options import PairsOptions
from twinset.plan import Plan
from twinset.schema import Flags, Numbers, Scores
from twinset.sketches import minhash
from twinset.sketches.bottom_k import BottomK, scores
from twinset.system.arrays import offsets_of
from twinset.system.memory import temporary_folder
from twinset.system.scratch import Spool, packed, unpacked

_ALLOWED = (
    "threshold", "recall", "n_hashes", "n_bands", "rows_per_band", "identical", "top", "audit", "against", "force",
    "threads", "memory", "scratch", "batch_bytes",
)  # fmt: skip
_ID_SEED = 0x1D
_AT_ONCE = 1 << 14
_IN_HAND = 1 << 20  # bytes per thread: there are no texts


def check_given(options: PairsOptions, given: dict[str, Any]) -> None:
    """Refuse options that need documents."""
    for name in given:
        if name not in _ALLOWED or (name == "audit" and given[name]):
            flag = dict(options.specs())[name].spellings(name)[0]
            raise OptionError(
                f"{flag} does not apply to a file of sketches, which holds no documents and cannot be changed; "
                "leave it out"
            )


class EstimateRun:
    """A run over files of sketches, a context manager; `read` comes before `join`."""

    measure = "estimate"

    def __init__(self, sources: tuple[Any, ...], options: PairsOptions, progress: Progress) -> None:
        self.options, self.progress = options, progress
        self.sources: list[SketchSource] = open_sketches((*sources, *options.against))
        self._own = len(sources)
        self.scheme = self.sources[0].scheme
        self.plan = self._plan()
        # Candidates need enough equal slots to reach the threshold.
        self._bands = Plan(**asdict(self.plan), min_matches=self.plan.min_matches)
        self.budget = Budget.of(options.memory_bytes, options.thread_count, _IN_HAND)
        self._stack = ExitStack()
        folder = Path(self._stack.enter_context(temporary_folder(options.scratch)))
        self.state = RunState(folder / "state", "estimates")
        self.threads = Threads(options.thread_count)
        self._slots = Spool(folder / "slots", "u1")

    def __enter__(self) -> "EstimateRun":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.threads.close()
        self._slots.close()
        self.state.close(keep=False)
        self._stack.close()

    def _plan(self) -> EstimatePlan:
        options, k = self.options, self.scheme.n_hashes
        if options.n_hashes not in (None, k):
            raise OptionError(f"--hashes is {options.n_hashes}, but the sketches have {k}; leave it out")
        if self.scheme.bottom:
            if options.n_bands or options.rows_per_band:
                raise OptionError("--bands and --rows have no meaning for bottom-k sketches: they have no bands")
            return EstimatePlan(options.threshold, options.recall, k, 0, 0)
        return estimate_plan(options.threshold, options.recall, k, options.n_bands, options.rows_per_band)

    def read(self) -> None:
        """Read the sketches into `corpus`: ids, digests, status and bands by number."""
        spools = {
            name: self.state.spool(name, *kind)
            for name, kind in {"names": ("u1", 1), "keys": ("<u8", 1), "bytes": ("u1", 1)}.items()
        }
        names = DocumentIds(spools["names"], self.budget.names)
        spans: list[Span] = []
        status, digests, hashes = [np.zeros(0, np.uint8)], [np.empty((0, 2), np.uint64)], [np.zeros(0, np.uint64)]
        first, border = 0, None
        self.progress.stage("reading sketches", sum(source.rows for source in self.sources), "sketches")
        for number, source in enumerate(self.sources):
            row, other_side = 0, number >= self._own
            border = first if number == self._own else border
            for batch in source.batches():
                spans.append(Span(number, row, first, len(batch)))
                status.append(np.where(is_empty(batch), EMPTY, READ).astype(np.uint8))
                digests.append(_digests(batch) ^ (OTHER_SIDE if other_side else np.uint64(0)))
                hashes.append(hash_values(batch.ids, _ID_SEED + other_side))
                names.append(batch.ids, {})
                self._write(batch, spools)
                row, first = row + len(batch), first + len(batch)
                self.progress.advance(len(batch))
        names.finish(np.array([span.first for span in spans], np.int64))
        self._slots.close()
        pa.default_memory_pool().release_unused()
        self.corpus = Corpus(
            [], spans, border, np.concatenate(status), np.zeros(first, np.uint32), np.concatenate(digests), names,
            spools["keys"], spools["bytes"], self.plan.n_bands, np.zeros(0, np.uint64), np.zeros(0, np.uint32), {}, 0,
        )  # fmt: skip
        repeated = self.corpus.find_repeated_id(np.concatenate(hashes))
        if repeated is not None:
            name, *numbers = repeated
            one, two = (f"{self.sources[part].name}, row {row}" for part, row in map(self.corpus.locate, numbers))
            raise DuplicateIdError(
                f"the id {name!r} appears twice: {one}, and {two} (counted from 0); merge sketches of the "
                "same id with twinset sketch --merge"
            )

    def _write(self, batch: SketchBatch, spools: dict[str, Spool]) -> None:
        """Write sketches, bands, and the low bytes by which candidates are compared."""
        record = packed(batch.table(self.scheme).combine_chunks().to_batches()[0])
        self._slots.append(record, self.budget.sets // 4)
        if isinstance(batch.sketches, BottomK):
            return
        slots = np.ascontiguousarray(batch.sketches)
        keys = banding.band_keys(slots, np.zeros(len(batch), np.uint64), self._bands)
        spools["keys"].append(keys, self.budget.sketches // 4)
        spools["bytes"].append(low_bytes(slots), self.budget.sketches // 4)

    def join(self, copies: Copies) -> tuple[Spool, int]:
        """Find pairs of first appearances whose estimate reaches the threshold; return them and the number compared."""
        pairs = self.state.spool("pairs", "<u4", 3)
        self._wanted = joining.distinct_contents(self.corpus, copies.first)
        compared = self._join_lists(pairs) if self.scheme.bottom else self._join_bands(copies.first, pairs)
        pairs.close()
        return pairs, compared

    def _join_bands(self, first: Numbers, pairs: Spool) -> int:
        work = (self.budget, self.state, self.threads, self.progress)
        candidates = joining.candidates(self.corpus, first, self._bands, *work)
        self.progress.stage("counting equal slots", len(candidates), "candidates")
        blocks = self._blocks()
        for i, j in itertools.combinations_with_replacement(range(len(blocks)), 2):
            left = self._load(blocks[i])
            right = left if i == j else self._load(blocks[j])
            for record in candidates.chunks():
                inside = record[_is_within(record[:, 0], left) & _is_within(record[:, 1], right)]
                for start in range(0, len(inside), _AT_ONCE):
                    some = inside[start : start + _AT_ONCE]
                    equal = left.slots[some[:, 0] - left.first] == right.slots[some[:, 1] - right.first]
                    shared = equal.sum(axis=1).astype(np.uint32)
                    near = shared >= self.plan.min_matches
                    if near.any():
                        pairs.append(np.column_stack([some, shared])[near], self.budget.pairs)
                self.progress.advance(len(inside))
        return len(candidates)

    def _join_lists(self, pairs: Spool) -> int:
        blocks = self._blocks()
        count = len(blocks) * (len(blocks) + 1) // 2
        self.progress.stage("joining sketches", count, "blocks")
        for i, j in itertools.combinations_with_replacement(range(len(blocks)), 2):
            for found in self._join_two(self._load(blocks[i]), None if i == j else self._load(blocks[j])):
                codes = found[:, 2] << np.uint32(16) | found[:, 3]
                if len(found):
                    pairs.append(np.column_stack([found[:, :2], codes]), self.budget.pairs)
            self.progress.advance(1)
        return len(pairs)

    def _join_two(self, left: "_SketchRun", right: "_SketchRun | None") -> Iterator[npt.NDArray[np.uint32]]:
        numbers, values, starts = left.lists(self._wanted)
        against = self.corpus.border
        border = None if against is None else int(np.searchsorted(numbers, against))
        if right is not None:
            right_numbers, right_values, right_starts = right.lists(self._wanted)
            border = len(numbers)
            numbers = np.concatenate([numbers, right_numbers])
            starts = np.concatenate([starts, right_starts[1:] + starts[-1]])
            values = np.concatenate([values, right_values])
        if against is not None and not (numbers[:1] < against <= numbers[-1:]).any():
            return  # all on one side
        inverted = InvertedSketches.of(self.scheme.n_hashes, self.options.threshold, starts, values)
        parts = inverted.slices(8 * self.threads.count)
        for found in self.threads.map(lambda part: list(met(inverted, part, border)), parts):
            for rows in found:
                rows[:, :2] = numbers[rows[:, :2]]
                yield rows if against is None else rows[(rows[:, 0] < against) & (rows[:, 1] >= against)]

    def identical_across(self, copies: Copies, pairs: Spool) -> int:
        """Count the pairs of documents with equal sketches on two sides."""
        return sum(copies.count_pairs(*rows[self.similarity(rows) == 1.0, :2].T) for rows in pairs.chunks())

    def _blocks(self) -> list[range]:
        """Cut the spans into ranges, two of which fit in memory with their sketches."""
        return cut_ranges([record[0] for record in self._slots.records], self.budget.sets // 6)

    def _load(self, block: range) -> "_SketchRun":
        source = SketchSource(self.scheme.schema.empty_table())
        batches = [source.batch(unpacked(self._slots.read(index))) for index in block]
        return _SketchRun(self.corpus.spans[block[0]].first, batches)

    def similarity(self, rows: Rows) -> npt.NDArray[np.float64]:
        """Return the estimated similarity of each pair."""
        similarity: npt.NDArray[np.float64] = self.scores(rows[:, 0], rows[:, 1], rows[:, 2])["similarity"]
        return similarity

    def scores(self, left: Numbers, right: Numbers, code: Numbers) -> Scores:
        """Return similarity, standard error, and whether the similarity is an estimate."""
        k, same = self.scheme.n_hashes, code == SAME
        if self.scheme.bottom:
            shared, seen = code >> np.uint32(16), code & np.uint32(0xFFFF)
            sizes = self._sizes(left) if same.any() else seen
            similarity, errors = scores(np.where(same, sizes, shared), np.where(same, sizes, seen), k)
        else:
            shared = np.where(same, np.uint32(k), code)
            similarity, errors = shared / k, minhash.standard_errors(shared, k)
        return {"similarity": similarity, "standard_error": errors, "estimate": errors > 0}

    def _sizes(self, numbers: Numbers) -> npt.NDArray[np.int64]:
        """Return the numbers of hashes of some bottom-k sketches."""
        if not hasattr(self, "_lengths"):
            runs = (self._load(range(index, index + 1)) for index in range(len(self.corpus.spans)))
            self._lengths = np.concatenate([run.lengths() for run in runs])
        return np.asarray(self._lengths[numbers])


class _SketchRun:
    """Sketches of consecutive numbers, in memory."""

    def __init__(self, first: int, batches: list[SketchBatch]) -> None:
        self.first, self.batches = first, batches
        self.rows = sum(map(len, batches))
        self.slots: Any = None
        if not isinstance(batches[0].sketches, BottomK):
            self.slots = np.concatenate([np.asarray(batch.sketches) for batch in batches])

    def lengths(self) -> npt.NDArray[np.int64]:
        """Return the number of hashes of each sketch."""
        return np.concatenate([np.diff(batch.sketches.starts) for batch in self.batches])  # type: ignore[union-attr]

    def lists(self, wanted: Flags) -> tuple[Numbers, Any, Any]:
        """Return the numbers of the wanted sketches, their hashes, and the start of each."""
        chosen = wanted[self.first : self.first + self.rows]
        lengths = self.lengths()
        values = np.concatenate([batch.sketches.values for batch in self.batches])  # type: ignore[union-attr]
        numbers = (np.flatnonzero(chosen) + self.first).astype(np.uint32)
        return numbers, values[np.repeat(chosen, lengths)], offsets_of(lengths[chosen])


def _is_within(numbers: Numbers, run: _SketchRun) -> Flags:
    return (numbers >= run.first) & (numbers < run.first + run.rows)


def _digests(batch: SketchBatch) -> npt.NDArray[np.uint64]:
    """Return 128-bit digests of the sketches."""
    sketches = batch.sketches
    if isinstance(sketches, BottomK):
        offsets, data = sketches.starts * 8, np.ascontiguousarray(sketches.values)
    else:
        offsets, data = np.arange(len(batch) + 1) * sketches.shape[1] * 4, np.ascontiguousarray(sketches.reshape(-1))
    buffers = [None, pa.py_buffer(offsets.astype(np.int64)), pa.py_buffer(data)]
    return row_digests(pa.Array.from_buffers(pa.large_binary(), len(batch), buffers))
