"""What an audit says in a summary, and the pairs that it found missing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from twinset.engines.local.write.tables import ResultTables
from twinset.pairs.audit.recall_interval import Sampled, recall_of

if TYPE_CHECKING:
    from twinset.engines.local.audit.run import AuditResult

NAMED = 1000
"""Missed pairs that a summary names."""


def audit_summary(audited: AuditResult, tables: ResultTables) -> dict[str, Any]:
    """Documents, pairs, found, recall, low, high; and `missed` where pairs were missed."""
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
            missed += tables.pairs(rows[: NAMED - len(missed)]).to_pylist()
            if len(missed) >= NAMED:
                break
        summary["missed"] = missed
    return summary


def write_missed(path: Path, audited: AuditResult, tables: ResultTables) -> None:
    """Write the missed pairs, if there are some."""
    if audited.missed:
        tables.write_pairs(path, audited.missed_rows())
