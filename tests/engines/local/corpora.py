"""A small corpus with everything in it, and the first three stages over it under any budget."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from twinset.documents.sources import open_sources
from twinset.engines.local.budget import Budget
from twinset.engines.local.copies import Copies
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.state import RunState
from twinset.engines.local.steps import candidates as joining
from twinset.engines.local.steps.read import DocumentReader
from twinset.engines.local.steps.verify import SetVerifier
from twinset.engines.local.threads import Threads
from twinset.engines.progress import Silent
from twinset.options import DedupOptions
from twinset.plan import plan
from twinset.system.scratch import Spool

PLENTY = Budget(10**12, 10**12)


def texts(count: int, seed: int = 1, family: int = 6) -> list[str]:
    """Families of near copies, some identical, one large, some empty."""
    dice = random.Random(seed)
    found: list[str] = []
    for number in range(count):
        if number % family == 0:
            words = [f"{dice.getrandbits(24):x}" for _ in range(dice.randint(20, 80))]
        copy = words[:]
        if number % 5:
            copy[dice.randrange(len(copy))] = f"changed{dice.randrange(4)}"
        found.append("" if number % 53 == 52 else " ".join(copy))
    return found


@dataclass
class Stages:
    """What the first three stages found."""

    corpus: Corpus
    copies: Copies
    candidates: Spool
    pairs: Spool
    sizes: npt.NDArray[np.uint32]

    def rows(self, spool: Spool) -> list[list[int]]:
        """All rows, sorted: the order in a spool says nothing."""
        return sorted(np.concatenate([*spool.chunks(), np.empty((0, spool.columns), np.uint32)]).tolist())


def stages(
    folder: Path, sources: list[Any], budget: Budget = PLENTY, *, against: list[Any] | None = None, threads: int = 2,
    batch_bytes: int = 4096, **words: Any,
) -> Stages:  # fmt: skip
    """Read, join and verify."""
    options = DedupOptions.of(**words)
    chosen = plan(options.threshold, options.recall)
    folder.mkdir(parents=True, exist_ok=True)
    own = open_sources(sources, options, scratch=folder).parts
    other = open_sources(against, options, scratch=folder, against=True).parts if against else []
    state = RunState(folder / "state", "mark")
    pool = Threads(threads)
    reading = DocumentReader(
        [*own, *other], len(own), options, chosen, budget, state, pool, Silent(),  # type: ignore[arg-type]
        batch_bytes=batch_bytes, whole=True, by_length=True,
    )  # fmt: skip
    corpus = reading.corpus()
    copies = Copies.of(joining.first_appearances(corpus), corpus.status)
    candidates = joining.candidates(corpus, copies.first, chosen, budget, state, pool, Silent())
    verifying = SetVerifier(corpus, options, budget, state.scratch, pool, Silent())  # type: ignore[arg-type]
    pairs = Spool(folder / "verified", "<u4", 3)
    verifying.verify(candidates, options.threshold, pairs)
    pool.close()
    return Stages(corpus, copies, candidates, pairs, verifying.sizes)
