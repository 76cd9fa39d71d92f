"""Corpora that make hot buckets: one document many times, and forms filled in by many hands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.corpus import LONGEST_WORD, MEAN_WORDS, ROW_GROUP, SEED
from benchmarks.vocabulary import Vocabulary, make_vocabulary
from benchmarks.writing import PLAIN_WORDS, WORD, Tokens, kernel, print_tokens, write_original

SHINGLE = 5
SCHEMA = pa.schema([("id", pa.string()), ("text", pa.string())])


def write_identical(path: Path, documents: int) -> None:
    """The same document `documents` times."""
    vocabulary = make_vocabulary(SEED)
    form = _form(vocabulary, SEED)
    _write(path, vocabulary, [np.broadcast_to(form, (documents, len(form)))])


def write_filled_forms(path: Path, documents: int, similarities: tuple[float, ...]) -> None:
    """One family of `documents` for each similarity: a form of fixed words whose gaps everyone fills anew.

    Two documents of a family share the shingles no gap touches: a share s of each, so that J = s / (2 - s).
    """
    vocabulary = make_vocabulary(SEED)
    families = []
    for number, similarity in enumerate(similarities):
        rng = np.random.default_rng([SEED, number])
        form = _form(vocabulary, SEED + number)
        gaps = _gaps(rng, len(form), 1 - 2 * similarity / (1 + similarity))
        tokens = np.tile(form, (documents, 1))
        words = rng.integers(0, PLAIN_WORDS, size=(documents, len(gaps)), dtype=np.uint32)
        tokens[:, gaps] = (tokens[:, gaps] & ~WORD) | words
        families.append(tokens)
    _write(path, vocabulary, families)


def _form(vocabulary: Vocabulary, seed: int) -> Tokens:
    tokens = np.empty(MEAN_WORDS, dtype=np.uint32)
    write_original(seed, MEAN_WORDS, False, vocabulary.keep, vocabulary.alias, vocabulary.phrases, tokens)
    return tokens


def _gaps(rng: np.random.Generator, words: int, share: float) -> npt.NDArray[np.int64]:
    """Places of the gaps, as many as it takes to touch `share` of the shingles."""
    touched = np.zeros(words - SHINGLE + 1, dtype=bool)
    places = rng.permutation(words)
    for count, place in enumerate(places):
        if touched.mean() >= share:
            return np.sort(places[:count])
        touched[max(0, place - SHINGLE + 1) : place + 1] = True
    return np.sort(places)


def _write(path: Path, vocabulary: Vocabulary, families: list[Tokens]) -> None:
    """Write the families, shuffled into each other."""
    number = np.repeat(np.arange(len(families)), [len(family) for family in families])
    member = np.concatenate([np.arange(len(family)) for family in families])
    order = np.random.default_rng(SEED).permutation(len(number))
    with pq.ParquetWriter(path, SCHEMA, compression="snappy") as writer:
        for start in range(0, len(order), ROW_GROUP):
            rows = order[start : start + ROW_GROUP]
            tokens = np.stack([families[number[row]][member[row]] for row in rows])
            ids = pa.array([f"d{row:08d}" for row in range(start, start + len(rows))])
            writer.write_table(pa.table([ids, _print_rows(vocabulary, tokens)], schema=SCHEMA))


def _print_rows(vocabulary: Vocabulary, tokens: Tokens) -> pa.Array:
    out = np.empty(tokens.size * LONGEST_WORD, dtype=np.uint8)
    offsets = np.zeros(len(tokens) + 1, dtype=np.int32)
    print_rows(
        tokens,
        vocabulary.forms,
        vocabulary.form_ends,
        vocabulary.separators,
        vocabulary.separator_ends,
        out,
        offsets,
    )
    data = pa.py_buffer(out[: offsets[-1]].tobytes())
    return pa.StringArray.from_buffers(len(tokens), pa.py_buffer(offsets), data)


@kernel
def print_rows(
    tokens: Tokens,
    forms: npt.NDArray[np.uint8],
    form_ends: npt.NDArray[np.int64],
    separators: npt.NDArray[np.uint8],
    separator_ends: npt.NDArray[np.int64],
    out: npt.NDArray[np.uint8],
    offsets: npt.NDArray[np.int32],
) -> None:
    at = 0
    for row in range(len(tokens)):
        document = tokens[row]
        at = print_tokens(document, len(document), forms, form_ends, separators, separator_ends, out, at)
        offsets[row + 1] = at
