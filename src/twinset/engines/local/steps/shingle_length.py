"""Fit the shingles of a run to the lengths of its texts, and notice where they do not fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from twinset.documents.parts import Part
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.steps.open import total_rows
from twinset.engines.local.steps.shingle import shingled
from twinset.engines.local.steps.sketch import READ
from twinset.engines.local.threads import Threads
from twinset.engines.progress import Progress
from twinset.options import ShingleOptions
from twinset.options.checks import AUTO
from twinset.plan import shingle_length as lengths
from twinset.schema import Numbers
from twinset.wording import counted, share

_MANY = 4
"""Texts are called short if this share of them, one in four, is short."""
_HALF = 0.5
"""A text is short if one changed word leaves less than this, or less than a lower threshold."""


def measure_parts(
    parts: Sequence[Part], options: ShingleOptions, batch_bytes: int, threads: Threads, progress: Progress
) -> Iterator[tuple[Numbers, Numbers]]:
    """Read all texts once, and yield their lengths, as `measure_texts` returns them."""
    progress.stage("measuring texts", total_rows(list(parts)), "documents")
    chunks = (chunk for part in parts for chunk in part.chunks(batch_bytes))
    for measured in threads.map(lambda chunk: measure_texts(chunk.read(texts_only=True).texts, options), chunks):
        progress.advance(len(measured[0]))
        yield measured


def measure_texts(texts: Any, options: ShingleOptions) -> tuple[Numbers, Numbers]:
    """Return the number of words and of characters of each text."""
    return _count_tokens(texts, options, "word:1"), _count_tokens(texts, options, "char:1")


def choose_shingle(measured: Iterable[tuple[Numbers, Numbers]], threshold: float) -> dict[str, Any]:
    """Choose the shingle from the lengths of all texts; return it with the reasons, as plain values.

    Texts without words are empty and do not count.
    """
    words, characters = [np.zeros(0, np.uint32)], [np.zeros(0, np.uint32)]
    for n_words, n_characters in measured:
        words.append(n_words[n_words > 0])
        characters.append(n_characters[n_words > 0])
    every = np.concatenate(words)
    if not len(every):
        return {"shingle": ShingleOptions().shingle, "documents": 0}
    median = lengths.TextLength(_median(every), _median(np.concatenate(characters)))
    chosen = lengths.longest_shingle(median, threshold)
    return {
        "shingle": chosen.shingle,
        "documents": len(every),
        "median_words": median.words,
        "median_characters": median.characters,
        "similarity": chosen.similarity,
    }


def _count_tokens(texts: Any, options: ShingleOptions, spec: str) -> Numbers:
    """Count the words or characters of each text."""
    names = [name for name, _ in ShingleOptions.specs()]
    own = ShingleOptions.of(**{**{name: getattr(options, name) for name in names}, "shingle": spec})
    counts = np.zeros(len(texts), np.uint32)
    for portion in shingled(texts, own, 0).portions:
        counts[portion.rows] = np.diff(portion.offsets)
    return counts


def _median(counts: Numbers) -> int:
    """Return the lower median, which is a count of the texts."""
    middle = (len(counts) - 1) // 2
    return int(np.partition(counts, middle)[middle])


def choice_note(choice: dict[str, Any], threshold: float) -> str:
    """Say which shingle was chosen, and why."""
    if not choice["documents"]:
        return f"shingles: {choice['shingle']}; there are no words to measure"
    similarity = choice["similarity"]
    note = (
        f"shingles: {choice['shingle']}, chosen for a median of {counted(choice['median_words'], 'word')} and "
        f"{counted(choice['median_characters'], 'character')}; one changed word leaves a similarity of "
        f"{share(similarity)}"
    )
    if similarity >= threshold:
        return note
    flag = lengths.threshold_flag(similarity, threshold)
    return f"{note}, below the threshold" + (f"; try --shingle {AUTO}{flag}" if flag else "")


def find_short_texts(corpus: Corpus, options: Any) -> dict[str, Any] | None:
    """Return how many texts are short for the shingles, and what to try; None if few are."""
    if options.item_kind != "text" or getattr(options, "index", None) is not None:
        return None
    counts = corpus.counts[corpus.status == READ]
    left = min(_HALF, options.threshold)
    needed = lengths.fewest_shingles(options.kind, options.size, left)
    short = int(np.count_nonzero(counts < needed))
    if not short or _MANY * short < len(counts):
        return None
    median = lengths.usual_length(options.kind, options.size, _median(counts))
    chosen = lengths.longest_shingle(median, options.threshold)
    flags = f"--shingle {AUTO}{lengths.threshold_flag(chosen.similarity, options.threshold)}"
    return {"documents": short, "shingle": options.shingle, "similarity": left, "try": flags}


def short_texts_note(short: dict[str, Any], documents: int) -> str:
    """Say that texts are too short for the shingles of a run."""
    verb = "is" if short["documents"] == 1 else "are"
    return (
        f"{short['documents']:,} of {counted(documents, 'document')} {verb} short for shingles of {short['shingle']}: "
        f"one changed word leaves a similarity below {short['similarity']:g}; try {short['try']}"
    )
