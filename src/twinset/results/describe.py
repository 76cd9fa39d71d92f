"""Describe results in a line, and as HTML for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import pyarrow as pa

from twinset.schema import SHOWN
from twinset.wording import counted, score, share

_ROWS, _LETTERS = 5, 40


def describe_dedup(summary: Mapping[str, Any]) -> str:
    """Describe a result of dedup.

    Examples
    --------
    >>> counts = {"documents": 3, "kept": 2, "removed": 1, "clusters": 1, "unreadable": 0, "audit": None}
    >>> describe_dedup({**counts, "options": {"flag": False}})
    '2 of 3 documents kept, 1 removed in 1 cluster'
    """
    parts = [f"{summary['kept']:,} of {counted(summary['documents'], 'document')} kept"]
    if summary["removed"]:
        gone = "flagged" if summary["options"]["flag"] else "removed"
        parts.append(f"{summary['removed']:,} {gone} in {counted(summary['clusters'], 'cluster')}")
    if summary["unreadable"]:
        parts.append(f"{summary['unreadable']:,} unreadable")
    return ", ".join(parts) + _recall(summary)


def describe_pairs(summary: Mapping[str, Any]) -> str:
    """Describe a result of find_pairs.

    Examples
    --------
    >>> seen = {"recall": 1.0, "low": 0.93, "high": 1.0}
    >>> describe_pairs({"pairs": 1, "documents": 2, "audit": seen})
    '1 pair of 2 documents; recall 1.0000 (95 %: 0.9300 to 1.0000)'
    """
    pairs, documents = (counted(summary[f"{name}s"], name) for name in ("pair", "document"))
    return f"{pairs} of {documents}{_recall(summary)}"


def _recall(summary: Mapping[str, Any]) -> str:
    """Return the recall that the audit measured, if there was one and pairs to find."""
    audit = summary.get("audit")
    if not audit or audit["recall"] is None:
        return ""
    span = f" (95 %: {share(audit['low'])} to {share(audit['high'])})" if audit["low"] < audit["high"] else ""
    return f"; recall {share(audit['recall'])}{span}"


def dedup_as_html(summary: Mapping[str, Any], removed: pa.Table) -> str:
    """Show a result of dedup: the counts, and the first removed documents."""
    return f"<p>{escape(describe_dedup(summary))}</p>{_table(removed)}"


def pairs_as_html(summary: Mapping[str, Any], pairs: pa.Table) -> str:
    """Show a result of find_pairs: the counts, and the first pairs."""
    return f"<p>{escape(describe_pairs(summary))}</p>{_table(pairs)}"


def _table(table: pa.Table) -> str:
    """Write the first rows of a table."""
    if not table.num_rows:
        return ""
    head = "".join(f"<th>{escape(name)}</th>" for name in table.column_names)
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(_cell(name, value))}</td>' for name, value in row.items())}</tr>"
        for row in table.slice(0, _ROWS).to_pylist()
    )
    more = table.num_rows - _ROWS
    rest = f"<p>and {counted(more, 'more row')}</p>" if more > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{rest}"


def _cell(name: str, value: Any) -> str:
    text = score(value, SHOWN[name]) if name in SHOWN else "" if value is None else str(value)
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"
