"""datatrove: its signature, bucket and cluster steps with its default 14 x 8."""

# The peer lives in an environment of its own, where the type checker does not look.
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from datatrove.data import Document
from datatrove.pipeline.dedup import MinhashDedupBuckets, MinhashDedupCluster, MinhashDedupSignature
from datatrove.pipeline.dedup.minhash import MinhashConfig
from datatrove.utils.logging import logger
from datatrove.utils.word_tokenizers import load_word_tokenizer

from benchmarks.peers.contest import Pairs, pairs_of_groups, run

CONFIG = MinhashConfig()
_texts: list[str] = []  # reaches the workers by fork, as a list in memory, without a copy


def sign(folder: Path, processes: int, rank: int) -> None:
    documents = (Document(text=text, id=str(row)) for row, text in enumerate(_texts[rank::processes]))
    MinhashDedupSignature(str(folder / "signatures"), CONFIG).run(documents, rank, processes)


def match(folder: Path, bucket: int) -> None:
    step = MinhashDedupBuckets(str(folder / "signatures"), str(folder / "pairs"), config=CONFIG)
    step.run(None, bucket, CONFIG.num_buckets)


def find(texts: list[str], folder: Path, processes: int) -> Callable[[], Pairs]:
    _texts[:] = texts
    with ProcessPoolExecutor(processes, mp_context=get_context("fork")) as pool:
        list(pool.map(partial(sign, folder, processes), range(processes)))
        list(pool.map(partial(match, folder), range(CONFIG.num_buckets)))
    MinhashDedupCluster(str(folder / "pairs"), str(folder / "clusters")).run(None, 0, 1)
    return lambda: list(pairs_of_groups(read_buckets(folder / "pairs", processes)))


def read_buckets(folder: Path, processes: int) -> Iterator[list[int]]:
    """Its files link each member of a bucket to the one before it; give the whole buckets back."""
    for path in sorted(folder.glob("*.dups")):
        chain: list[int] = []
        for file_a, a, file_b, b in struct.iter_unpack("<4I", path.read_bytes()):
            first, second = a * processes + file_a, b * processes + file_b
            if not chain or chain[-1] != first:
                yield chain
                chain = [first]
            chain.append(second)
        yield chain


if __name__ == "__main__":
    logger.remove()
    load_word_tokenizer("en").word_tokenize("Loaded once here, so that no worker has to load it on the clock.")
    run(find)
