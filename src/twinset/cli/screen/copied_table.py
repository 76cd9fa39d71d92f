"""Print the documents with the most copied words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinset.cli.screen import show

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 20


def print_copied(copied: pa.Table) -> None:
    """Print how many words of each document are shared with others, those with the largest share first."""
    import pyarrow.compute as pc

    table = copied.filter((pc.field("role") == "source") & (pc.field("copied") > 0))
    order = pc.sort_indices(table, [("share", "descending"), ("copied", "descending")])
    for row in table.take(order[:ROWS]).to_pylist():
        where = "" if row["most_in"] is None else f", {row['most_words']:,} of them with {show.named(row['most_in'])}"
        words = show.count(row["words"], "word")
        show.say(f"{show.named(row['id'])}: {row['copied']:,} of {words} are shared{where}")
    if table.num_rows > ROWS:
        show.say(f"the first {ROWS} of {table.num_rows:,} documents; -o FOLDER/ writes all")
