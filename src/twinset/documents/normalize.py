"""Normalize texts for comparison: valid UTF-8, NFC, lower case.

ASCII texts are unchanged (the shingle kernel lowercases them). Only others are rewritten, and only those that may not
be NFC are normalised, which is by far the slowest step.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from twinset.documents import normalize_kernels as kernels
from twinset.schema import Bytes, Hashes, Places, Texts
from twinset.unicode import classes, combining

_ASCII, _LOWER, _NFC, _INVALID = range(4)
_AS_TEXT = pc.CastOptions(pa.large_string(), allow_invalid_utf8=True)  # `survey` has validated it already


@dataclass(frozen=True)
class Normalized:
    """Texts ready to be shingled, the rows whose invalid UTF-8 was replaced, and those that NFC may have changed."""

    texts: list[Texts]
    replaced: Places
    unsettled: Places


def buffers_of(array: pa.Array) -> tuple[Bytes, Places]:
    """Bytes and offsets of a string or binary array, without a copy where Arrow's layout allows."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    kind = array.type
    if pa.types.is_dictionary(kind):
        array = array.dictionary_decode()
        kind = array.type
    if not (pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_large_string(kind)
            or pa.types.is_large_binary(kind)):  # fmt: skip
        array = array.cast(pa.large_binary())
        kind = array.type
    wide = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    _, offsets_buffer, data_buffer = array.buffers()
    if len(array) == 0:
        return np.zeros(0, np.uint8), np.zeros(1, np.int64)
    every: Places = np.frombuffer(offsets_buffer, np.int64 if wide else np.int32)
    offsets = every[array.offset : array.offset + len(array) + 1].astype(np.int64)
    data = np.zeros(0, np.uint8) if data_buffer is None else np.frombuffer(data_buffer, np.uint8)
    return data, offsets


def normalize(
    array: pa.Array, *, lowercase: bool = True, nfc: bool = True, wanted: npt.NDArray[np.bool_] | None = None
) -> Normalized:
    """Normalise a batch of texts (null counts as empty), or the wanted ones of it, for comparison.

    Examples
    --------
    >>> import pyarrow as pa
    >>> ready = normalize(pa.array(["Plain", "CAFE\\u0301", None, b"\\xff"], pa.binary()))
    >>> [bytes(t.data[s:e]).decode() for t in ready.texts for s, e in zip(t.starts, t.ends)]
    ['Plain', '', 'caf\\xe9', '\\ufffd']
    >>> ready.replaced.tolist()
    [3]
    """
    if pa.types.is_string_view(array.type) or pa.types.is_binary_view(array.type):
        array = array.cast(pa.large_binary())  # Arrow cannot select rows of views
    data, offsets = buffers_of(array)
    needs = np.empty(len(array), np.uint8)
    kernels.survey(data, offsets, classes(), combining(), needs)
    if array.null_count:
        needs[np.asarray(array.is_null())] = _ASCII
    chosen = np.ones(len(array), np.bool_) if wanted is None else wanted
    others = np.flatnonzero((needs != _ASCII) & chosen)
    plain = np.flatnonzero((needs == _ASCII) & chosen)
    starts, ends = offsets[plain], offsets[plain + 1]
    if array.null_count:
        ends = np.where(np.asarray(array.is_null())[plain], starts, ends)
    texts = [Texts(data, starts, ends, plain, ascii=True)] if len(plain) else []
    replaced = np.flatnonzero(needs == _INVALID)
    if len(others):
        rewritten = _rewrite(array, others, needs[others], lowercase, nfc)
        new_data, new_offsets = buffers_of(rewritten)
        texts.append(Texts(new_data, new_offsets[:-1], new_offsets[1:], others, ascii=False))
    return Normalized(texts, replaced, np.flatnonzero((needs >= _NFC) & chosen))


def _rewrite(array: pa.Array, rows: Places, needs: Bytes, lowercase: bool, nfc: bool) -> pa.Array:
    chosen = array.take(pa.array(rows)).cast(pa.large_binary())
    invalid = needs == _INVALID
    if invalid.any():
        repaired = [value.as_py().decode("utf-8", "replace").encode() for value in chosen.filter(pa.array(invalid))]
        chosen = pc.replace_with_mask(chosen, pa.array(invalid), pa.array(repaired, pa.large_binary()))
    text = chosen.cast(options=_AS_TEXT)
    unsettled = needs >= _NFC
    if nfc and unsettled.any():
        mask = pa.array(unsettled)
        text = pc.replace_with_mask(text, mask, pc.utf8_normalize(text.filter(mask), form="NFC"))
    if lowercase:
        text = pc.utf8_lower(text)
    return text


def hash_values(array: pa.Array, seed: int) -> Hashes:
    """64-bit hash of each value of a column of any type; nulls are equal to each other."""
    hashes = np.empty(len(array), np.uint64)
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        array = array.cast(pa.large_string())
    data, offsets = buffers_of(array)
    kernels.hash_values(data, offsets, np.uint64(seed), hashes)
    if array.null_count:
        hashes[np.asarray(array.is_null())] = np.uint64(0)
    return hashes


def hash_rows(array: pa.Array, seed: int) -> Hashes:
    """64-bit hash of the bytes of each row, such as packed numbers; undefined for null."""
    data, offsets = buffers_of(array)
    hashes = np.empty(len(array), np.uint64)
    kernels.hash_rows(data, offsets, np.uint64(seed), hashes)
    return hashes


def hash_bytes(array: pa.Array) -> Hashes:
    """XXH64 of the bytes of each text as it was read, to find equal ones; undefined for null.

    Examples
    --------
    >>> import pyarrow as pa
    >>> one, same, other = hash_bytes(pa.array(["A rose", "A rose", "a rose"]))
    >>> one == same, one == other
    (np.True_, np.False_)
    """
    data, offsets = buffers_of(array)
    hashes = np.empty(len(array), np.uint64)
    kernels.hash_bytes(data, offsets, hashes)
    return hashes


def lengths(array: pa.Array, others: Places | None = None) -> Hashes:
    """Number of characters of each text, 0 for null; `others` are the rows that are not ASCII, if known."""
    data, offsets = buffers_of(array)
    counts = np.diff(offsets).astype(np.uint64)
    kernels.characters(data, offsets, np.arange(len(array)) if others is None else others, counts)
    if array.null_count:
        counts[np.asarray(array.is_null())] = 0
    return counts
