"""Read every document once: words, and anchors instead of a sketch."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.candidates.anchors import Repeats
from twinset.documents.parts import Block, Chunk, Part
from twinset.engines.local.passages.words import BlockWords, block_words
from twinset.engines.local.steps.read import DocumentReader
from twinset.engines.local.steps.shingle import item_lengths
from twinset.engines.local.steps.sketch import (
    EMPTY,
    OTHER_SIDE,
    READ,
    UNREADABLE,
    SketchedBlock,
    block_ids,
    group_salts,
    hash_ids,
    refuse_replaced,
)
from twinset.options.passages import PassagesOptions
from twinset.schema import Hashes, Numbers, Places
from twinset.sketches.minhash_kernels import digest
from twinset.sketches.winnowing import Anchors, Winnow, winnow
from twinset.system.arrays import pair_words

_PLACE = np.uint64(0x9E3779B97F4A7C15)


def pack_anchors(anchors: Anchors, rows: Numbers) -> Hashes:
    """Pack anchors into pairs of words: the hash, and the row with the place."""
    return np.stack([anchors.hashes, pair_words(rows, anchors.places)], axis=1)


class AnchorReader(DocumentReader):
    """Reads parts into a corpus whose keys are anchors.

    `sizes` are the lengths of winnowing, and for joined runs `run_sizes`. With a filter, only anchors that it knows are
    kept: those of the smaller side.
    """

    sizes: Winnow
    run_sizes: Winnow | None = None
    filters: tuple[Repeats, Repeats | None] | None = None
    with_lengths = False

    def _sketch(self, task: tuple[int, Chunk]) -> tuple[tuple[int, Chunk, Block | None], SketchedBlock]:
        number, chunk = task
        holding = self._caching
        block = chunk.read(whole=self.whole and holding)
        done = self._anchor_block(block, number)
        if holding and self.filters is not None:
            block = _only_rows(block, [done.keys, done.sketches] if self.run_sizes else [done.keys])
        return (number, chunk, block if holding else None), done

    def _anchor_block(self, block: Block, number: int) -> SketchedBlock:
        part, options, other = self.parts[number], self.options, number >= self.against
        words, keys, extra = self._words(block, number)
        refuse_replaced(words.replaced, block, part, options)
        counts, barriers = np.zeros(block.rows, np.uint32), np.zeros(block.rows, np.uint32)
        counts[words.rows], barriers[words.rows] = np.diff(words.offsets), words.barriers
        status = np.where(counts == barriers, EMPTY, READ).astype(np.uint8)
        status[[row for row, _ in block.unreadable]] = UNREADABLE
        ids, lengths, sources = block_ids(block, part), np.zeros(0, np.uint64), block.sources
        if self.with_lengths:
            lengths = item_lengths(block.texts, options) if block.lengths is None else block.lengths
        return SketchedBlock(
            rows=block.rows, status=status, counts=counts, digests=self._digests(words, block.rows, other),
            salts=np.zeros(0, np.uint64), texts=np.zeros(0, np.uint64), keys=keys,
            sketches=np.ascontiguousarray(extra).reshape(-1).view(np.uint8), ids=ids, own_ids=block.ids is not None,
            id_hashes=hash_ids(ids, other), lengths=lengths,
            sources=np.full(block.rows, part.source, np.uint32) if sources is None else sources.astype(np.uint32),
            columns=block.columns, text_bytes=words.nbytes,
            replaced=sorted({*words.replaced.tolist(), *block.replaced}), repeats=np.zeros(0, np.uint32),
            unreadable=block.unreadable,
        )  # fmt: skip

    def _digests(self, words: BlockWords, rows: int, other: bool) -> Hashes:
        """Return the digests that verdicts are tied to; a result of trim has none."""
        digests = np.zeros((rows, 2), np.uint64)
        if self.with_lengths and isinstance(self.options, PassagesOptions):
            digests = digest_words(words, rows)
        return digests ^ OTHER_SIDE if other else digests

    def _words(self, block: Block, number: int) -> tuple[BlockWords, Hashes, npt.NDArray[Any]]:
        """Return the words of a block, its keys, and what else is stored: anchors of runs, or the number of marks."""
        words = block_words(block, self.options, number)  # type: ignore[arg-type]
        keys, runs = self._anchors(words.hashes, words.offsets, words.rows.astype(np.uint32))
        barriers = np.zeros(block.rows, np.uint32)
        barriers[words.rows] = words.barriers
        return words, keys, runs if self.run_sizes else barriers

    def salts(self, block: Block) -> Hashes:
        """Return a hash for each row that separates documents that are not compared (`--by`)."""
        return group_salts(block, self.options)

    def _anchors(self, words: Hashes, offsets: Places, rows: Numbers) -> tuple[Hashes, Hashes]:
        """Winnow words, for whole passages and for the runs that are joined."""
        packed = []
        for sizes, known in zip((self.sizes, self.run_sizes), self.filters or (None, None), strict=True):
            anchors = winnow(words, offsets, sizes) if sizes else Anchors.none()
            if known is not None and len(anchors.hashes):
                chosen = known.added(anchors.hashes)
                anchors = Anchors(anchors.hashes[chosen], anchors.documents[chosen], anchors.places[chosen])
            packed.append(pack_anchors(anchors, rows[anchors.documents]))
        return packed[0], packed[1]


def digest_words(words: BlockWords, rows: int) -> Hashes:
    """Return 128-bit digests of the words of each row, in their order."""
    digests = np.zeros((rows, 2), np.uint64)
    lengths = np.diff(words.offsets)
    places = np.arange(len(words.hashes)) - np.repeat(words.offsets[:-1] - words.offsets[0], lengths)
    placed = words.hashes ^ (places.astype(np.uint64) * _PLACE)
    digest(placed, words.offsets, words.rows, digests)
    return digests


def _only_rows(block: Block, anchors: list[Any]) -> Block:
    """Return the block with the texts of rows that have anchors: of a large source, no other is read again."""
    wanted = np.zeros(block.rows, np.bool_)
    for some in anchors:
        wanted[(some.reshape(-1).view(np.uint64)[1::2] >> np.uint64(32)).astype(np.int64)] = True
    texts = block.texts.take(pa.array(np.arange(block.rows), mask=~wanted))
    return Block(block.rows, block.first_row, texts, by=block.by)


def parts_bytes(parts: list[Part]) -> int:
    """Return the size of some parts, as far as known."""
    return sum(inner.size or sum(file.size for file in inner.files) for part in parts for inner in part.inner)
