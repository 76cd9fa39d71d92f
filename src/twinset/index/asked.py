"""What was asked of an index, counted."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from twinset.index.kinds.text_entries import Sketched
from twinset.index.read_batches import Batch
from twinset.system import batch_sizes


@dataclass
class Asked:
    """How many queries there were, how many of them have answers, and how many answers were found.

    `least_similarity` is that of the least similar answer, or `greatest_distance` that of the farthest. Of the queries,
    how many hold no token (`empty`) and so have no answer, and how many held bytes that were no text (`undecoded`).
    Rows that could not be read were left out: `unreadable` counts them, and `named` has the first thousand, each with
    the reason. `skipped` are files that were passed over.
    """

    queries: int = 0
    answered: int = 0
    found: int = 0
    least_similarity: float | None = None
    greatest_distance: float | None = None
    empty: int = 0
    undecoded: int = 0
    unreadable: int = 0
    named: list[tuple[str, str]] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)

    def count_answers(self, found: pa.Table) -> None:
        """Count answers in."""
        if found.num_rows and "distance" in found.schema.names:
            greatest = pc.max(found.column("distance")).as_py()
            self.greatest_distance = max(greatest, self.greatest_distance or 0)
        elif found.num_rows:
            least = pc.min(found.column("similarity")).as_py()
            self.least_similarity = least if self.least_similarity is None else min(least, self.least_similarity)
        self.found += found.num_rows

    def count(self, batch: Batch, queries: Sketched, found: pa.Table) -> None:
        """Count a batch of queries with its answers in."""
        self.queries += len(queries)
        self.count_answers(found)
        self.answered += pc.count_distinct(found.column("query")).as_py()
        self.empty += int(np.count_nonzero(queries.shingles == 0))
        self.undecoded += batch.undecoded
        self.unreadable += len(batch.unreadable)
        self.named += batch.unreadable[: batch_sizes.NAMED - len(self.named)]
