"""Fit the shingles of a run to the lengths of its texts, and notice where they do not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
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

MANY = 4
"""Texts are called short if this share of them, one in four, is short."""
HALF = 0.5
"""A text is short if one changed word, or character, leaves less than this, or less than a lower threshold."""


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
    return count_tokens(texts, options, "word:1"), count_tokens(texts, options, "char:1")


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
    median = lengths.TextLength(median_of(every), median_of(np.concatenate(characters)))
    chosen = lengths.longest_shingle(median, threshold)
    return {
        "shingle": chosen.shingle,
        "documents": len(every),
        "median_words": median.words,
        "median_characters": median.characters,
        "similarity": chosen.similarity,
    }


def count_tokens(texts: Any, options: ShingleOptions, spec: str) -> Numbers:
    """Count the words or characters of each text."""
    names = [name for name, _ in ShingleOptions.specs()]
    own = ShingleOptions.of(**{**{name: getattr(options, name) for name in names}, "shingle": spec})
    counts = np.zeros(len(texts), np.uint32)
    for portion in shingled(texts, own, 0).portions:
        counts[portion.rows] = np.diff(portion.offsets)
    return counts


def median_of(counts: Numbers) -> int:
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
    fewest = fewest_shingles(options)
    if fewest is None:
        return None
    counts = corpus.counts[corpus.status == READ]
    short = int(np.count_nonzero(counts < fewest))
    return describe_short_texts(short, len(counts), lambda: median_of(counts), options)


def fewest_shingles(options: Any) -> int | None:
    """Return the number of shingles below which a text is short; None where no shorter shingle would be better."""
    if options.item_kind != "text" or getattr(options, "index", None) is not None:
        return None
    if options.kind == "char" and options.size <= lengths.SHORTEST_CHARACTERS:
        return None
    return lengths.fewest_shingles(options.size, min(HALF, options.threshold))


def describe_short_texts(short: int, texts: int, median: Callable[[], int], options: Any) -> dict[str, Any] | None:
    """Describe the texts that are short for the shingles, and what to try; None if few of all are.

    `median` returns the lower median of the numbers of shingles.
    """
    if not short or MANY * short < texts:
        return None
    if options.kind == "char":
        chosen = lengths.character_shingle(median() + options.size - 1, options.size - 1)
        shingle, changed = chosen.shingle, "character"
    else:
        chosen = lengths.longest_shingle(lengths.usual_length(options.size, median()), options.threshold)
        shingle, changed = AUTO, "word"
    flags = f"--shingle {shingle}{lengths.threshold_flag(chosen.similarity, options.threshold)}"
    left = min(HALF, options.threshold)
    return {"documents": short, "shingle": options.shingle, "changed": changed, "similarity": left, "try": flags}


def short_texts_note(short: dict[str, Any], documents: int) -> str:
    """Say that texts, or fields of records, are too short for the shingles of a run."""
    measured, number = short.get("measured", documents), short["documents"]
    first = "the first " if measured < documents else ""
    verb = "is" if number == 1 else "are"
    return lengths.short_note(f"{number:,} of {first}{counted(measured, 'document')} {verb}", short)
