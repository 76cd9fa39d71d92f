"""Print the documents with the most copied words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from twinset.cli.screen import show

ROWS = 20


def passages(folder: Path) -> list[dict[str, Any]]:
    """Read the passages of a result folder."""
    import pyarrow.parquet as pq

    rows: list[dict[str, Any]] = pq.read_table(folder / "passages.parquet").to_pylist()
    return rows


def print_copied(folder: Path) -> None:
    """Print how many words of each document stand in another one, those with the largest share first."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    table = pq.read_table(folder / "copied.parquet", filters=[("role", "==", "source"), ("copied", ">", 0)])
    order = pc.sort_indices(table, [("share", "descending"), ("copied", "descending")])
    for row in table.take(order[:ROWS]).to_pylist():
        where = "" if row["most_in"] is None else f", {row['most_words']:,} of them in {show.named(row['most_in'])}"
        words = show.count(row["words"], "word")
        show.say(f"{show.named(row['id'])}: {row['copied']:,} of {words} stand elsewhere{where}")
    if table.num_rows > ROWS:
        show.say(f"the first {ROWS} of {table.num_rows:,} documents; -o FOLDER/ writes all")
