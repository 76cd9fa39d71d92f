"""The result of an evaluation: metrics at each threshold, their definitions, and the files written."""

import json
import textwrap
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from twinset.errors import OutputError
from twinset.evaluation.sweep import BETWEEN, BIN_COLUMNS, COLUMNS, TRUE_BETWEEN, TRUE_PAIRS, WORDS
from twinset.wording import counted, share

_WHOLE = frozenset(
    {"found_pairs", "true_pairs", "true_pairs_found", "found_clusters", "true_clusters", "pairs", "found"}
)


@dataclass(frozen=True)
class Evaluation:
    """Agreement of a run with the truth: `.measures` and `.shares` (Arrow tables), `.best`, `.summary` and `.plan`.

    Attributes
    ----------
    summary
        Everything as plain values, as in ``evaluation.json``.
    plan
        The plan of the run, made for the lowest threshold.
    path
        The folder written, or None.
    """

    summary: dict[str, Any]
    plan: Any
    path: Path | None = None

    @cached_property
    def measures(self) -> pa.Table:
        """One row per threshold."""
        return _table(self.summary["measures"], COLUMNS)

    @cached_property
    def shares(self) -> pa.Table:
        """One row per range of similarity with a true pair: the share found, and the share expected."""
        return _table(self.summary["shares"], BIN_COLUMNS)

    @property
    def best(self) -> dict[str, Any] | None:
        """The row with the highest F1 of pairs, ties by the lowest threshold; None if no F1 is defined."""
        return best_of(self.summary["measures"])

    def __repr__(self) -> str:
        best, documents = self.best, counted(self.summary["documents"], "document")
        if best is None:
            return f"<Evaluation: {documents}, no pair found and none true>"
        return f"<Evaluation: {documents}, F1 {share(best['f1'])} at {best['threshold']:g}>"


def best_of(rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the row with the highest F1.

    Examples
    --------
    >>> best_of([{"f1": None}, {"f1": 0.5}, {"f1": 0.75}, {"f1": 0.75, "later": True}])
    {'f1': 0.75}
    """
    known = [row for row in rows if row["f1"] is not None]
    return max(known, key=lambda row: row["f1"]) if known else None


def definitions(kind: str, between: bool = False) -> dict[str, str]:
    """Return the definition of each metric, for this kind of truth: pairs, clusters or exact.

    `between`: one source is compared against another, so there are pairs between two sides and no clusters.

    Examples
    --------
    >>> sorted(definitions("pairs").keys() - definitions("pairs", between=True))[:3]
    ['adjusted_rand', 'b_cubed_f1', 'b_cubed_precision']
    """
    if not between:
        return {"true_pairs": TRUE_PAIRS[kind], **WORDS}
    clusters = COLUMNS[COLUMNS.index("found_clusters") :]
    words = {name: text for name, text in WORDS.items() if name not in clusters}
    return {"true_pairs": TRUE_BETWEEN[kind], **words, **BETWEEN}


def write_files(summary: dict[str, Any], folder: Path) -> None:
    """Write evaluation.json, measures.csv, shares.csv and definitions.txt."""
    tables = {
        name: _table(summary[name], columns) for name, columns in (("measures", COLUMNS), ("shares", BIN_COLUMNS))
    }
    write_summary(summary, tables, folder)


def write_summary(summary: dict[str, Any], tables: dict[str, pa.Table], folder: Path) -> None:
    """Write evaluation.json, definitions.txt, and each table as a CSV file."""
    lines = [
        f"{name}\n{textwrap.fill(text, 100, initial_indent='    ', subsequent_indent='    ')}\n"
        for name, text in summary["definitions"].items()
    ]
    try:
        text = json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        (folder / "evaluation.json").write_bytes(text.encode("utf-8", "backslashreplace"))
        (folder / "definitions.txt").write_text("\n".join(lines), "utf-8")
        for name, table in tables.items():
            pa.csv.write_csv(table, folder / f"{name}.csv")
    except OSError as error:
        raise OutputError(f"cannot write {folder}: {error.strerror or error}") from error


def _table(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> pa.Table:
    kinds = [(name, pa.int64() if name in _WHOLE else pa.float64()) for name in columns]
    return pa.Table.from_pylist(rows, schema=pa.schema(kinds))
