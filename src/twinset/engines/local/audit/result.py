"""The result of an audit: the pairs of a sample, those the run has missed, and its summary."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from twinset.engines.local.budget import Budget
from twinset.engines.local.corpus import Corpus
from twinset.engines.local.sort_pairs import Rows, sorted_portions
from twinset.engines.local.write.tables import ResultTables
from twinset.errors import TwinsetError
from twinset.pairs.audit.recall_interval import Sampled, recall_of
from twinset.schema import Hashes, Numbers
from twinset.system.arrays import pair_words
from twinset.system.scratch import Spool
from twinset.wording import counted

MAX_NAMED = 1000
"""Maximum number of missed pairs in a summary."""


@dataclass(frozen=True, kw_only=True)
class AuditResult(Sampled):
    """The pairs of the documents `sample`, and those the run has missed; `sizes` are the known set sizes."""

    sample: Numbers
    sizes: Numbers
    rows: Spool
    limit: int

    @classmethod
    def empty(
        cls, corpus: Corpus, population: int, sample: Numbers, sizes: Numbers, scratch: Path, budget: Budget
    ) -> "AuditResult":
        """Make a result without pairs."""
        pairs_of, missed_of = np.zeros((2, len(sample)), np.int64)
        return cls(
            population=population, pairs_of=pairs_of, missed_of=missed_of, pairs=0, missed=0,
            one_sided=corpus.border is not None, sample=sample, sizes=sizes, rows=Spool(scratch / "missed", "<u4", 3),
            limit=budget.pairs,
        )  # fmt: skip

    def missed_rows(self) -> Iterator[Rows]:
        """Yield (left, right, shared) of the missed pairs, sorted, in portions."""
        yield from sorted_portions(self.rows, len(self.sizes), self.limit)


def known_pairs(sample: Numbers, pairs: Spool, documents: int) -> Hashes:
    """Return the run's pairs of sampled documents, each packed into a word: position in the sample, other document."""
    position = np.full(documents, -1, np.int64)
    position[sample] = np.arange(len(sample))
    known = [np.empty(0, np.uint64)]
    for chunk in pairs.chunks():
        for near, far in ((chunk[:, 0], chunk[:, 1]), (chunk[:, 1], chunk[:, 0])):
            sampled = position[near] >= 0
            known.append(pair_words(position[near[sampled]], far[sampled]))
    return np.concatenate(known)


def refuse_lost_pairs(met: int, known: int) -> None:
    """Raise if the audit has not found every known pair, which is a fault of the program."""
    if met != known:
        raise TwinsetError(
            f"the audit found {met} of {counted(known, 'pair')} that the run has verified; please report this, and "
            "do not use the result"
        )


def append_missed(spool: Spool, sample: Numbers, rows: Numbers) -> None:
    """Append rows (document, position in the sample, code, …) as (left, right, code)."""
    sampled = sample[rows[:, 1]]
    spool.append(np.stack([np.minimum(sampled, rows[:, 0]), np.maximum(sampled, rows[:, 0]), rows[:, 2]], axis=1))


def audit_summary(audited: AuditResult, tables: ResultTables) -> dict[str, Any]:
    """Return documents, pairs, found, recall, low, high; and `missed` if pairs were missed."""
    recall, low, high = recall_of(audited)
    summary: dict[str, Any] = {
        "documents": len(audited.sample),
        "pairs": audited.pairs,
        "found": audited.pairs - audited.missed,
        "recall": recall,
        "low": low,
        "high": high,
    }
    if audited.missed:
        missed: list[dict[str, Any]] = []
        for rows in audited.missed_rows():
            missed += tables.pairs(rows[: MAX_NAMED - len(missed)]).to_pylist()
            if len(missed) >= MAX_NAMED:
                break
        summary["missed"] = missed
    return summary


def write_missed(path: Path, audited: AuditResult, tables: ResultTables) -> None:
    """Write the missed pairs, if any."""
    if audited.missed:
        tables.write_pairs(path, audited.missed_rows())
