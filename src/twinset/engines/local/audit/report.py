"""Write the results of an audit: its summary and the missed pairs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from twinset.engines.local.write.tables import ResultTables
from twinset.pairs.audit.recall_interval import Sampled, recall_of

if TYPE_CHECKING:
    from twinset.engines.local.audit.run import AuditResult

MAX_NAMED = 1000
"""Maximum number of missed pairs in a summary."""


def audit_summary(audited: AuditResult, tables: ResultTables) -> dict[str, Any]:
    """Return documents, pairs, found, recall, low, high; and `missed` if pairs were missed."""
    sampled = Sampled(
        audited.population, audited.pairs_of, audited.missed_of, audited.pairs, audited.missed, audited.one_sided
    )
    recall, low, high = recall_of(sampled)
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
