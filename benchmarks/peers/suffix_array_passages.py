"""Every maximal run of equal words of two documents, by pydivsufsort's suffix array and Kasai's LCP array.

By default words are integers, and a separator that equals nothing stands before each document. With `--bytes` the text
is sorted: its words in lower case, each followed by a space. Then only suffixes that begin with a word count, and
common bytes are turned into common words. Suffixes with a common beginning of at least LEAST words are neighbours; each
two of them in different documents with different words before them are one maximal run. The clock runs from the words
(or bytes) in memory to the runs in memory; finding the words in the texts is timed by itself.
"""

# The peer lives in an environment of its own, where the type checker does not look.
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import argparse
import gc
import json
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
from pydivsufsort import divsufsort, kasai

Numbers = npt.NDArray[np.int64]
_WORD = re.compile(r"\w+")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", type=Path, help="Parquet file with a column `text`")
    parser.add_argument("runs", type=Path, help="Parquet file with the runs that it should find: rows and code points")
    parser.add_argument("--least", type=int, default=50)
    parser.add_argument("--bytes", action="store_true", help="sort the bytes of the texts instead of their words")
    arguments = parser.parse_args()
    idle = _peak()
    texts = pq.read_table(arguments.corpus, columns=["text"])["text"].to_pylist()
    start = time.perf_counter()
    words, borders = numbered(texts)
    text = joined(texts) if arguments.bytes else np.zeros(0, np.uint8)
    tokenising = time.perf_counter() - start
    gc.collect()
    start = time.perf_counter()
    suffixes = divsufsort(text if arguments.bytes else words)
    sorted_at = time.perf_counter()
    common = kasai(text if arguments.bytes else words, suffixes)
    counted_at = time.perf_counter()
    if arguments.bytes:
        suffixes, common = whole_words(text, suffixes, common)
    owner = np.repeat(np.arange(len(texts)), np.diff(borders)).astype(np.int32)
    runs = maximal_runs(words, owner, suffixes, common, arguments.least)
    if arguments.bytes:  # a run may have gone on into the next document
        rest = borders[1:][owner[runs[:, :2]]] - runs[:, :2]
        runs[:, 2] = np.minimum(runs[:, 2], rest.min(axis=1))
        runs = runs[runs[:, 2] >= arguments.least]
    end = time.perf_counter()
    result: dict[str, Any] = {
        "seconds": {
            "words": tokenising,
            "suffix array": sorted_at - start,
            "LCP array": counted_at - sorted_at,
            "runs": end - counted_at,
        },
        "best": end - start,
        "words": len(words) - len(texts),
        "idle": idle,
        "peak": _peak(),
    }
    print(json.dumps({**result, **compared(placed(runs, borders, texts), arguments.runs)}))


def numbered(texts: list[str]) -> tuple[npt.NDArray[np.uint32], Numbers]:
    """The words of all texts as integers, each text after a separator; and where each text begins."""
    known: dict[str, int] = {}
    pieces, borders = [], [0]
    for text in texts:
        found = [known.setdefault(word, len(known)) for word in _WORD.findall(text.lower())]
        pieces.append(np.array([0, *found], np.uint32))
        borders.append(borders[-1] + len(pieces[-1]))
    words = np.concatenate(pieces)
    words[borders[:-1]] = len(known) + np.arange(len(texts), dtype=np.uint32)
    return words, np.array(borders)


def joined(texts: list[str]) -> npt.NDArray[np.uint8]:
    """All words of all texts in lower case, each followed by a space; a zero byte stands before each text."""
    pieces = (f"\0 {' '.join(_WORD.findall(text.lower()))} ".replace("  ", " ") for text in texts)
    return np.frombuffer(bytearray("".join(pieces).encode()), np.uint8)  # pydivsufsort wants to be able to write


def whole_words(text: npt.NDArray[np.uint8], suffixes: Numbers, common: Numbers) -> tuple[Numbers, Numbers]:
    """Suffixes that begin with a word, as numbers of words; common beginnings in whole words."""
    spaces = np.concatenate([[0], np.cumsum(text == ord(" "), dtype=np.int32)])
    begins = np.zeros(len(text), np.bool_)
    begins[1:] = (text[:-1] == ord(" ")) & (text[1:] != 0)
    at = np.flatnonzero(begins[suffixes])
    least = np.minimum.reduceat(common, at)  # common beginning with the next suffix that begins with a word
    places = suffixes[at].astype(np.int64)
    return spaces[places], spaces[places + least] - spaces[places]


def maximal_runs(
    words: npt.NDArray[np.uint32], owner: npt.NDArray[np.int32], suffixes: Numbers, common: Numbers, least: int
) -> Numbers:
    """Rows (place, place, length): places of equal words of two texts that cannot be made longer.

    common[i] is the length of the common beginning of the suffixes i and i + 1.
    """
    before = np.concatenate([words[-1:], words[:-1]])
    at = np.flatnonzero(common[:-1] >= least)
    length, step = common[at], 1
    rows = [np.empty((0, 3), np.int64)]
    while len(at):
        left, right = suffixes[at], suffixes[at + step]
        chosen = (owner[left] != owner[right]) & (before[left] != before[right])
        rows.append(np.stack([left[chosen], right[chosen], length[chosen]], axis=1).astype(np.int64))
        at, length = at[at + step < len(common) - 1], length[at + step < len(common) - 1]
        length = np.minimum(length, common[at + step])
        at, length = at[length >= least], length[length >= least]
        step += 1
    return np.concatenate(rows)


def placed(runs: Numbers, borders: Numbers, texts: list[str]) -> set[tuple[int, ...]]:
    """Both rows of each run, the earlier first, with the code points at which both sides start and end."""
    rows = np.searchsorted(borders, runs[:, :2], side="right") - 1
    first = runs[:, :2] - borders[rows] - 1
    spans: dict[int, list[tuple[int, int]]] = {}
    for row in np.unique(rows).tolist():
        spans[row] = [word.span() for word in _WORD.finditer(texts[row])]
    found: set[tuple[int, ...]] = set()
    for (left, right), (i, j), n in zip(rows.tolist(), first.tolist(), runs[:, 2].tolist(), strict=True):
        sides = sorted([(left, i), (right, j)])
        ends = [(spans[row][at][0], spans[row][at + n - 1][1]) for row, at in sides]
        found.add((sides[0][0], sides[1][0], *ends[0], *ends[1]))
    return found


def compared(found: set[tuple[int, ...]], path: Path) -> dict[str, int]:
    """How many runs there are, and of those of Twinset how many are missed and how many too many."""
    table = pq.read_table(path)
    names = ("left", "right", "left_start", "left_end", "right_start", "right_end")
    own = set(zip(*(table[name].to_pylist() for name in names), strict=True))
    return {"runs": len(found), "missed": len(found - own), "extra": len(own - found)}


def _peak() -> int:
    """The peak memory of this program alone; what `resource` says includes that of the program that started it."""
    status = Path("/proc/self/status").read_text("ascii")
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


if __name__ == "__main__":
    main()
