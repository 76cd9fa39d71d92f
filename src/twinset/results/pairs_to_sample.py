"""The scored pairs of a result, from which a sample to label is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.engines.local.copies import Copies
from twinset.results.stored import StoredResult
from twinset.results.stored_corpus import StoredPairs
from twinset.system.memory import temporary_folder
from twinset.verdicts.sample import Population

_IN_MEMORY = 256 * 2**20


class PairsToSample:
    """The pairs of distinct contents of a result, down to its floor."""

    def __init__(self, recorded: StoredResult) -> None:
        self._ids = recorded.ids
        documents, options = recorded.documents, recorded.options
        copies = Copies.of(np.asarray(documents["content"]), np.asarray(documents["status"]))
        with temporary_folder(None) as folder:
            scored = StoredPairs(recorded, copies, Path(folder), _IN_MEMORY)
            rows, scores = scored.rows.all()[:, :2], scored.similarities.all()
        distinct = (copies.first[rows] == rows).all(axis=1)  # with --against, copies are pairs of their own
        self._rows = rows[distinct]
        digests = recorded.digests
        self.population = Population(
            digests[self._rows[:, 0]], digests[self._rows[:, 1]], scores[distinct], options.measure,
            float(options.lowest), str(recorded.summary.get("check", "")), recorded.basis,
        )  # fmt: skip

    def names(self, rows: npt.NDArray[np.int64]) -> Sequence[tuple[str, str]]:
        """Return the ids of some pairs."""
        lefts, rights = (self._ids.take(pa.array(self._rows[rows, side])).to_pylist() for side in (0, 1))
        return list(zip(lefts, rights, strict=True))
