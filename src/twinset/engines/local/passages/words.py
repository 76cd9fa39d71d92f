"""The words of documents, by number, and their places in the original texts."""

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinset.compiled.bytes_kernels import UNSETTLED, splitmix64
from twinset.documents.normalize import buffers_of, normalize
from twinset.documents.parts import Block
from twinset.engines.local.steps.sketch import group_salts
from twinset.options.passages import PassagesOptions, TrimOptions
from twinset.schema import Flags, Hashes, Numbers, Places, Texts
from twinset.shingles.runs import WordRuns, byte_borders, code_points_at, place_words, word_runs
from twinset.system.arrays import offsets_of, ranges
from twinset.unicode import classes, combining

PassageWork = PassagesOptions | TrimOptions


@dataclass(frozen=True)
class BlockWords:
    """Words of some rows of a block, ascending: those of rows[i] are hashes[offsets[i]:offsets[i+1]].

    barriers[i]: how many of them are not words but marks, which equal nothing. replaced: rows with replaced bytes.
    """

    rows: Places
    offsets: Places
    hashes: Hashes
    barriers: Numbers
    replaced: Places
    nbytes: int


def block_words(block: Block, options: PassageWork, part: int, wanted: Flags | None = None) -> BlockWords:
    """Hash the words of a block's texts, or of the wanted ones; words of other groups (`--by`) never agree."""
    ready = normalize(block.texts, lowercase=options.lowercase, nfc=options.nfc, wanted=wanted)
    mark = _normal_mark(options)
    runs, barriers = [], []
    for texts in ready.texts:
        found = word_runs(texts, options.lowercase, options.split)
        counts = np.zeros(len(found.rows), np.uint32)
        if mark:
            found, counts = _with_barriers(found, texts, mark, options, (part << 40) + block.first_row)
        runs.append(found)
        barriers.append(counts)
    rows, offsets, hashes, marks = _in_order(runs, barriers)
    if options.by is not None:
        hashes ^= np.repeat(group_salts(block, options)[rows], np.diff(offsets))
    nbytes = sum(int((texts.ends - texts.starts).sum()) for texts in ready.texts)
    return BlockWords(rows, offsets, hashes, marks, ready.replaced, nbytes)


def _normal_mark(options: PassageWork) -> bytes:
    """Return the mark as it appears in normalised texts."""
    if not options.mark:
        return b""
    ready = normalize(pa.array([options.mark]), lowercase=options.lowercase, nfc=options.nfc)
    texts = ready.texts[0]
    mark = bytes(texts.data[texts.starts[0] : texts.ends[0]])
    return mark.lower() if texts.ascii and options.lowercase else mark


def _in_order(runs: list[WordRuns], barriers: list[Numbers]) -> tuple[Places, Places, Hashes, Numbers]:
    """Put the rows of several runs into ascending order."""
    if not runs:
        return np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0, np.uint64), np.zeros(0, np.uint32)
    if len(runs) == 1:
        return runs[0].rows, runs[0].offsets, runs[0].hashes, barriers[0]
    rows = np.concatenate([one.rows for one in runs])
    counts = np.concatenate([np.diff(one.offsets) for one in runs])
    starts = offsets_of(counts)[:-1]
    order = np.argsort(rows)
    hashes = np.concatenate([one.hashes for one in runs])[ranges(starts[order], counts[order])]
    return rows[order], offsets_of(counts[order]), hashes, np.concatenate(barriers)[order]


def _with_barriers(
    runs: WordRuns, texts: Texts, mark: bytes, options: PassageWork, base: int
) -> tuple[WordRuns, Numbers]:
    """Put a value that equals no other in the place of each mark."""
    barriers = np.zeros(len(runs.rows), np.uint32)
    if texts.ascii and not mark.isascii():
        return runs, barriers
    holding = [index for index in range(len(texts.rows)) if _holds_mark(texts, index, mark, options.lowercase)]
    if not holding:
        return runs, barriers
    pieces = np.split(runs.hashes, runs.offsets[1:-1])
    for index in holding:
        text = _text_of(texts, index, options.lowercase)
        tokens = tokens_of(text, texts.ascii, options.split, mark)
        values = np.empty(len(tokens.starts), np.uint64)
        values[~tokens.is_mark] = pieces[index][tokens.words]
        numbers = np.arange(int(tokens.is_mark.sum()), dtype=np.uint64)
        key = np.array([base + int(runs.rows[index]) + 1], np.uint64)
        values[tokens.is_mark] = splitmix64(splitmix64(key) + numbers)
        pieces[index] = values
        barriers[index] = len(numbers)
    offsets = offsets_of(np.array([len(one) for one in pieces]))
    return WordRuns(runs.rows, offsets, np.concatenate(pieces)), barriers


def _text_of(texts: Texts, index: int, lowercase: bool) -> bytes:
    text = bytes(texts.data[texts.starts[index] : texts.ends[index]])
    return text.lower() if texts.ascii and lowercase else text


def _holds_mark(texts: Texts, index: int, mark: bytes, lowercase: bool) -> bool:
    return (not texts.ascii or mark.isascii()) and mark in _text_of(texts, index, lowercase)


@dataclass(frozen=True)
class TokenPlaces:
    """Words and marks of a normalised text by their first and last byte (exclusive).

    words: for each token that is no mark, its number among all words of the text.
    """

    starts: Places
    ends: Places
    is_mark: Flags
    words: Places


def tokens_of(text: bytes, ascii_only: bool, split: bool, mark: bytes) -> TokenPlaces:
    """Find words and marks; a word that overlaps a mark is a part of it."""
    borders = byte_borders(text, ascii_only, split).astype(np.int64)
    starts, ends = borders[0::2], borders[1::2]
    words = np.arange(len(starts))
    mark_starts, mark_ends = _marks_in(text, mark)
    if not len(mark_starts):
        return TokenPlaces(starts, ends, np.zeros(len(starts), np.bool_), words)
    next_mark = np.searchsorted(mark_ends, starts, side="right")
    hit = (next_mark < len(mark_starts)) & (mark_starts[np.minimum(next_mark, len(mark_starts) - 1)] < ends)
    starts, ends, words = starts[~hit], ends[~hit], words[~hit]
    order = np.argsort(np.concatenate([starts, mark_starts]), kind="stable")
    is_mark = order >= len(starts)
    return TokenPlaces(
        np.concatenate([starts, mark_starts])[order], np.concatenate([ends, mark_ends])[order], is_mark, words
    )


def _marks_in(text: bytes, mark: bytes) -> tuple[Places, Places]:
    """Return first and last bytes (exclusive) of marks; those that overlap are one, wherever the search began."""
    found = [one.start() for one in re.finditer(b"(?=" + re.escape(mark) + b")", text)] if mark else []
    starts = np.array(found, np.int64)
    fresh = np.ones(len(starts), np.bool_)
    fresh[1:] = np.diff(starts) >= len(mark)
    ends = starts[np.append(fresh[1:], True)] + len(mark) if len(starts) else starts
    return starts[fresh], ends


@dataclass(frozen=True)
class WordSpans:
    """Spans of words of rows of a block, ascending by row: words first[j] to last[j] (exclusive) of rows[j]."""

    rows: Places
    first: Numbers
    last: Numbers


def place_spans(block: Block, options: PassageWork, spans: WordSpans) -> tuple[Places, Places]:
    """Return the code points of the original texts at which spans of words start and end."""
    wanted = np.zeros(block.rows, np.bool_)
    wanted[spans.rows] = True
    ready = normalize(block.texts, lowercase=options.lowercase, nfc=options.nfc, wanted=wanted)
    mark = _normal_mark(options)
    changed = _changed_rows(block.texts, ready.unsettled) if options.nfc else {}
    starts, ends = np.empty(len(spans.rows), np.int64), np.empty(len(spans.rows), np.int64)
    for texts in ready.texts:
        begin = np.searchsorted(spans.rows, texts.rows)
        counts = np.searchsorted(spans.rows, texts.rows, side="right") - begin
        at = ranges(begin, counts)
        starts[at], ends[at] = place_words(texts, options.split, offsets_of(counts), spans.first[at], spans.last[at])
        for index, row in enumerate(texts.rows.tolist()):
            some = slice(int(begin[index]), int(begin[index] + counts[index]))
            if mark and _holds_mark(texts, index, mark, options.lowercase):
                text = _text_of(texts, index, options.lowercase)
                tokens = tokens_of(text, texts.ascii, options.split, mark)
                byte_starts, byte_ends = tokens.starts[spans.first[some]], tokens.ends[spans.last[some] - 1]
                starts[some], ends[some] = _code_points(text, byte_starts), _code_points(text, byte_ends)
            if row in changed:
                starts[some], ends[some] = original_places(changed[row], starts[some], ends[some])
    return starts, ends


def _code_points(text: bytes, places: Places) -> Places:
    """Return the code points before byte offsets in any order."""
    order = np.argsort(places)
    points = np.empty(len(places), np.int64)
    points[order] = code_points_at(text, places[order])
    return points


def _changed_rows(texts: pa.Array, rows: Places) -> dict[int, str]:
    """Return the texts of some rows that NFC changes."""
    data, offsets = buffers_of(texts)
    found = {}
    for row in rows.tolist():
        text = bytes(data[offsets[row] : offsets[row + 1]]).decode("utf-8", "replace")
        if pc.utf8_normalize(pa.scalar(text), form="NFC").as_py() != text:
            found[row] = text
    return found


def original_places(text: str, starts: Places, ends: Places) -> tuple[Places, Places]:
    """Turn places in the NFC form of a text into places in the text itself.

    The text is cut where nothing composes across. A place inside a changed piece becomes the border of the piece that
    lies outside the word.

    Examples
    --------
    >>> text = "e\\u0301te\\u0301 chaud"
    >>> starts, ends = original_places(text, np.array([0, 4]), np.array([3, 9]))
    >>> [text[start:end] for start, end in zip(starts, ends)]
    ['e\\u0301te\\u0301', 'chaud']
    """
    points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    begins = (combining()[points] == 0) & (classes()[points] & UNSETTLED == 0)
    begins[:1] = True
    first = np.flatnonzero(begins)
    pieces = [text[start:end] for start, end in zip(first, [*first[1:], len(text)], strict=True)]
    normal = pc.utf8_normalize(pa.array(pieces, pa.string()), form="NFC")
    after = offsets_of(np.asarray(pc.utf8_length(normal)))
    same = np.asarray(pc.equal(normal, pa.array(pieces, pa.string())))
    before = np.append(first, len(text))

    def moved(places: Places, is_end: bool) -> Places:
        piece = np.searchsorted(after, places, side="left" if is_end else "right") - 1
        piece = np.clip(piece, 0, len(first) - 1)
        inside = places - after[piece]
        outer = before[piece + 1] if is_end else before[piece]
        return np.where(same[piece], before[piece] + inside, outer)

    return moved(starts, is_end=False), moved(ends, is_end=True)
