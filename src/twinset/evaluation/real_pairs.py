"""Compare all documents of a small collection, exactly and by their signatures, slot by slot.

With the slots in which two signatures agree one can tell, for any bands and rows, whether a pair becomes a candidate,
without the documents. The page of ``twinset textbook`` does this.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.documents.sources import open_sources
from twinset.engines.local.steps.open import tell_unexpected, total_rows
from twinset.engines.local.steps.sketch import READ, shingle_sets, sketch_block
from twinset.engines.progress import Progress, Silent
from twinset.errors import SourceError
from twinset.options import PairsOptions
from twinset.options.survey import TextbookOptions
from twinset.pairs.sets import Sets, overlaps, scores
from twinset.plan import Plan
from twinset.schema import Hashes, Numbers, Shares, Shingles
from twinset.sketches.minhash import sketch
from twinset.system.memory import temporary_folder
from twinset.wording import counted

SLOTS = 256
"""Hashes of a signature."""
MOST_PAIRS = 6000
"""Maximum number of pairs with their slots; less similar ones are only counted."""
EXCERPT = 240
"""Characters of a text that are kept."""

_AT_ONCE = 20_000  # pairs
_BATCH = 2**20
_BINS = 100
_SMALLEST = Plan(1.0, 0.5, 8, 1, 8, 8)  # used without bands: only contents are distinguished

AgreeingSlots = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class RealPairs:
    """The pairs of a collection with any shingle in common, most similar first.

    documents, empty: documents that were read, and those of them without a token.
    ids, excerpts, sizes: of the compared documents: id, beginning of the text (None without texts), distinct shingles.
    lefts, rights, similarities: the pairs, as numbers of documents, and their exact similarities.
    agreeing: uint8 (pairs, 32): a bit for each slot of the signatures, 1 where both agree; the first is the lowest bit.
    rest: pairs beyond the first 6,000, by similarity: the mean of a range, and the number of pairs.
    shingle: the shingles.
    """

    documents: int
    empty: int
    ids: list[str]
    excerpts: list[str] | None
    sizes: list[int]
    lefts: Numbers
    rights: Numbers
    similarities: Shares
    agreeing: AgreeingSlots
    rest: list[tuple[float, int]]
    shingle: str

    @property
    def every(self) -> int:
        """The number of all pairs, also of those without a common shingle."""
        return len(self.ids) * (len(self.ids) - 1) // 2


def compare_all(
    sources: Sequence[object], options: TextbookOptions, progress: Progress | None = None
) -> RealPairs:
    """Read a collection, or a sample of it, and compare all pairs.

    A sample is drawn by content and seed, so that it does not depend on the order of the rows.

    Examples
    --------
    >>> texts = {"a": "the same words here", "b": "the same words there", "c": ""}
    >>> found = compare_all([texts], TextbookOptions.of())
    >>> found.ids, found.empty, found.similarities.round(2).tolist()
    (['a', 'b'], 1, [0.55])
    >>> estimate = np.unpackbits(found.agreeing).sum() / SLOTS
    >>> bool(abs(estimate - 0.55) < 0.1)
    True
    """
    reports = progress or Silent()
    read = _read(sources, options, reports)
    hashes = shingle_sets(read.texts, options, options.seed)
    shingles = Shingles(
        np.arange(len(hashes)), np.append(0, np.cumsum([len(one) for one in hashes])), np.concatenate(hashes)
    )
    sets = Sets.with_room(np.diff(shingles.offsets))
    sets.fill(shingles, np.arange(len(hashes)), np.arange(len(hashes)))
    lefts, rights = (side.astype(np.uint32) for side in np.triu_indices(len(hashes), 1))
    reports.stage("comparing", len(lefts), "pairs")
    shared = np.empty(len(lefts), np.uint32)
    for start in range(0, len(lefts), _AT_ONCE):  # a run can be interrupted in between
        some = slice(start, start + _AT_ONCE)
        shared[some] = overlaps(sets, lefts[some], rights[some], 0.0)
        reports.advance(len(lefts[some]))
    near = np.flatnonzero(shared)
    lefts, rights = lefts[near], rights[near]
    similarities = scores(shared[near], sets.sizes[lefts], sets.sizes[rights])["similarity"]
    order = np.argsort(-similarities, kind="stable")
    kept, rest = order[:MOST_PAIRS], order[MOST_PAIRS:]
    signatures = sketch(shingles, "kperm", SLOTS, options.seed)
    agreeing = signatures[lefts[kept]] == signatures[rights[kept]]
    return RealPairs(
        documents=read.documents,
        empty=read.empty,
        ids=read.ids,
        excerpts=[_excerpt(text) for text in read.texts.to_pylist()] if options.texts else None,
        sizes=sets.sizes.tolist(),
        lefts=lefts[kept],
        rights=rights[kept],
        similarities=similarities[kept],
        agreeing=np.packbits(agreeing, axis=1, bitorder="little"),
        rest=_ranges(similarities[rest]),
        shingle=options.shingle,
    )


@dataclass(frozen=True)
class _Read:
    documents: int
    empty: int
    ids: list[str]
    texts: pa.Array


def _read(sources: Sequence[object], options: TextbookOptions, progress: Progress) -> _Read:
    """Read all documents, and keep those whose contents have the smallest marks."""
    names = {name for name, _ in PairsOptions.specs()} & {name for name, _ in TextbookOptions.specs()}
    as_run = PairsOptions.of(**{name: getattr(options, name) for name in names})
    documents = empty = 0
    marks: Hashes = np.zeros((0, 2), np.uint64)  # of the content, and of the id: copies are told apart by it
    ids, texts = pa.array([], pa.string()), pa.array([], pa.large_binary())
    with temporary_folder(None) as scratch:
        found = open_sources(sources, as_run, scratch=Path(scratch))
        tell_unexpected(found.skipped, found.parts, progress)
        progress.stage("reading", total_rows(found.parts), "documents")
        for part in found.parts:
            for chunk in part.chunks(_BATCH):
                block = chunk.read()
                done = sketch_block(block, part, as_run, _SMALLEST, False, False)
                good = np.flatnonzero(done.status == READ)
                raw = block.texts.combine_chunks() if isinstance(block.texts, pa.ChunkedArray) else block.texts
                ids = pa.concat_arrays([ids, done.ids.take(pa.array(good))])
                texts = pa.concat_arrays([texts, raw.take(pa.array(good)).cast(pa.large_binary())])
                drawn = np.stack([_marks(done.digests[good, 0], options.seed), done.id_hashes[good]], axis=1)
                marks = np.append(marks, drawn, axis=0)
                kept = np.sort(np.lexsort((marks[:, 1], marks[:, 0]))[: options.documents])
                ids, texts, marks = ids.take(pa.array(kept)), texts.take(pa.array(kept)), marks[kept]
                documents, empty = documents + block.rows, empty + block.rows - len(good)
                progress.advance(block.rows)
            part.check_unchanged()
    if len(ids) < 2:
        raise SourceError(
            f"the sources hold {counted(len(ids), 'document')} with words, and pairs need two; name another source"
        )
    return _Read(documents, empty, ids.to_pylist(), texts)


def _marks(digests: Hashes, seed: int) -> Hashes:
    """Random marks of contents, other ones for each seed."""
    mixed: Hashes = (digests ^ np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
    return mixed ^ mixed >> np.uint64(32)


def _excerpt(text: bytes) -> str:
    words = " ".join(text[: 8 * EXCERPT].decode("utf-8", "replace").split())
    return words if len(words) <= EXCERPT else f"{words[: EXCERPT - 1].rstrip()}…"


def _ranges(similarities: Shares) -> list[tuple[float, int]]:
    """Count similarities by ranges of a hundredth."""
    places = np.minimum((similarities * _BINS).astype(np.int64), _BINS - 1)
    counts, sums = np.bincount(places, minlength=_BINS), np.bincount(places, similarities, minlength=_BINS)
    return [(float(sums[one] / counts[one]), int(counts[one])) for one in np.flatnonzero(counts)]
