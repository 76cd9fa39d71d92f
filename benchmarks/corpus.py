"""Generated corpora with planted near-copies: deterministic, written in bounded memory.

`python -m benchmarks.corpus OUT.parquet --documents 200000` writes OUT.parquet (`id`, `text`) and, for the
documents that have copies, OUT.families.parquet (`row`, `family`, `member`; member 0 is the original).
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.vocabulary import Vocabulary, make_vocabulary
from benchmarks.writing import EDITED, IDENTICAL, RELAID, write_documents

SEED = 20240229
ROW_GROUP = 10_000
MEAN_WORDS = 490
SPREAD = 0.7  # of the log-normal lengths
COPIES_OF_ONE = ((1, 2, 3, 4, 5, 8, 16, 40), (0.62, 0.2, 0.08, 0.042, 0.03, 0.02, 0.006, 0.002))
LONGEST_WORD = 24  # bytes, separator included


@dataclass(frozen=True)
class Recipe:
    """One row a document, in the order of the file: how to write it, and which family it is of."""

    family: npt.NDArray[np.int64]
    member: npt.NDArray[np.int64]
    original_seeds: npt.NDArray[np.uint64]
    lengths: npt.NDArray[np.int64]
    accented: npt.NDArray[np.bool_]
    copy_seeds: npt.NDArray[np.uint64]
    kinds: npt.NDArray[np.int8]
    rates: npt.NDArray[np.float64]
    moves: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.family)


def make_recipe(documents: int, copies: float = 0.3, seed: int = SEED) -> Recipe:
    """Plan `documents` rows, the share `copies` of them near-copies of the others, at shuffled places."""
    rng = np.random.default_rng([seed, documents])
    sizes = _family_sizes(rng, round(documents * copies))
    originals = documents - int(sizes.sum())
    counts = np.ones(originals, dtype=np.int64)
    counts[: len(sizes)] += sizes
    family = np.repeat(np.arange(originals), counts)
    member = np.arange(documents) - np.repeat(np.cumsum(counts) - counts, counts)
    mu = np.log(MEAN_WORDS) - SPREAD**2 / 2
    lengths = np.clip(rng.lognormal(mu, SPREAD, originals), 20, 20_000).astype(np.int64)
    seeds = rng.integers(0, 2**64, size=originals, dtype=np.uint64)
    accented = rng.random(originals) < 0.1

    kinds = np.full(documents, EDITED, dtype=np.int8)
    luck = rng.random(documents)
    kinds[luck < 0.15] = RELAID
    kinds[(luck < 0.1) | (member == 0)] = IDENTICAL
    lost = shingles_lost(rng.uniform(0.6, 1.0, documents))
    # A moved sentence breaks three seams of four 5-word shingles each; what remains goes to single words.
    by_move = 12 / lengths[family]
    moves = (rng.random(documents) < 0.3) & (lost > 1.5 * by_move) & (kinds == EDITED)
    rates = word_rate(np.where(moves, lost - by_move, lost))

    order = rng.permutation(documents)
    return Recipe(
        family=family[order],
        member=member[order],
        original_seeds=seeds[family[order]],
        lengths=lengths[family[order]],
        accented=accented[family[order]],
        copy_seeds=rng.integers(0, 2**64, size=documents, dtype=np.uint64),
        kinds=kinds[order],
        rates=rates[order],
        moves=moves[order],
    )


def shingles_lost(similarity: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The share of shingles an edited copy has lost when its Jaccard similarity is `similarity`."""
    return np.asarray((1 - similarity) / (1 + similarity))


def word_rate(lost: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The share of words to edit so that `lost` of the 5-word shingles are touched."""
    return np.asarray(1 - (1 - lost) ** (1 / 5))


def _family_sizes(rng: np.random.Generator, copies: int) -> npt.NDArray[np.int64]:
    sizes, shares = COPIES_OF_ONE
    drawn = rng.choice(sizes, size=copies + 1, p=shares)
    total = np.cumsum(drawn)
    whole = drawn[: int(np.searchsorted(total, copies, side="right"))]
    rest = copies - int(whole.sum())
    return np.append(whole, rest) if rest else whole


def write_corpus(path: Path, recipe: Recipe) -> int:
    """Write the Parquet file and its families; return the bytes of text."""
    vocabulary = make_vocabulary(SEED)
    schema = pa.schema([("id", pa.string()), ("text", pa.string())])
    written = 0
    with pq.ParquetWriter(path, schema, compression="snappy") as writer:
        for start in range(0, len(recipe), ROW_GROUP):
            stop = min(start + ROW_GROUP, len(recipe))
            texts = _write_rows(recipe, vocabulary, start, stop)
            ids = pa.array([f"d{row:08d}" for row in range(start, stop)])
            writer.write_table(pa.table([ids, texts], schema=schema))
            written += texts.buffers()[2].size
    rows = np.flatnonzero(np.bincount(recipe.family)[recipe.family] > 1)
    families = {"row": rows, "family": recipe.family[rows], "member": recipe.member[rows]}
    pq.write_table(pa.table(families), families_path(path))
    return written


def families_path(corpus: Path) -> Path:
    return corpus.with_suffix(".families.parquet")


def write_sample(path: Path, corpus: Path, documents: int, seed: int = SEED) -> None:
    """Write about `documents` rows of a corpus, whole families at a time: the share of copies stays."""
    table = pq.read_table(corpus)
    planted = pq.read_table(families_path(corpus))
    family = -1 - np.arange(len(table))  # a document without copies is a family of its own
    family[planted["row"].to_numpy()] = planted["family"].to_numpy()
    _, which, sizes = np.unique(family, return_inverse=True, return_counts=True)
    drawn = np.random.default_rng(seed).permutation(len(sizes))
    taken = np.zeros(len(sizes), dtype=bool)
    taken[drawn[np.cumsum(sizes[drawn]) <= documents]] = True
    rows = np.flatnonzero(taken[which])
    pq.write_table(table.take(rows), path, row_group_size=ROW_GROUP)
    place = np.full(len(table), -1)
    place[rows] = np.arange(len(rows))
    planted = planted.set_column(0, "row", pa.array(place[planted["row"].to_numpy()]))
    pq.write_table(planted.filter(pc.greater_equal(planted["row"], 0)), families_path(path))


def _write_rows(recipe: Recipe, vocabulary: Vocabulary, start: int, stop: int) -> pa.Array:
    rows = slice(start, stop)
    lengths = recipe.lengths[rows]
    out = np.empty(int(lengths.sum() * 1.3 * LONGEST_WORD) + 4096, dtype=np.uint8)
    offsets = np.zeros(stop - start + 1, dtype=np.int32)
    write_documents(
        recipe.original_seeds[rows],
        lengths,
        recipe.accented[rows],
        recipe.copy_seeds[rows],
        recipe.kinds[rows],
        recipe.rates[rows],
        recipe.moves[rows],
        vocabulary.keep,
        vocabulary.alias,
        vocabulary.phrases,
        vocabulary.forms,
        vocabulary.form_ends,
        vocabulary.separators,
        vocabulary.separator_ends,
        out,
        offsets,
    )
    data = pa.py_buffer(out[: offsets[-1]].tobytes())
    return pa.StringArray.from_buffers(stop - start, pa.py_buffer(offsets), data)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a generated corpus and its families.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--copies", type=float, default=0.3)
    arguments = parser.parse_args()
    size = write_corpus(arguments.out, make_recipe(arguments.documents, arguments.copies))
    print(f"{arguments.out}: {arguments.documents:,} documents, {size / 1e6:,.0f} MB of text")


if __name__ == "__main__":
    main()
