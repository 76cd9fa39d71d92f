"""Print the best pairs of a file as a table that fits the window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from twinset.cli.screen import show

ROWS = 50
_GAP = 2
_LEAST_ID = 4
LEAST_HEAD = 16


def print_pairs(file: Path, total: int, sort: bool, *, contained: bool = False, what: str = "pairs") -> None:
    """Print the first rows of a Parquet file of pairs, the most similar ones if they are sorted.

    With `contained` the most similar are those of the largest containment.
    """
    import pyarrow.parquet as pq

    if not total:
        return
    with pq.ParquetFile(file) as pairs:
        rows = _best(pairs, contained) if sort else next(pairs.iter_batches(batch_size=ROWS)).to_pylist()
    print_rows(rows, total, sort, what)


def _best(pairs: Any, contained: bool) -> list[dict[str, Any]]:
    """Return the most similar pairs of a file, ties in its order; only a few rows are in memory."""
    import pyarrow as pa
    import pyarrow.compute as pc

    score, order = ("distance", "ascending") if "distance" in pairs.schema_arrow.names else ("similarity", "descending")
    score = "held" if contained else score
    better = pc.less if order == "ascending" else pc.greater
    best: pa.Table | None = None
    for batch in pairs.iter_batches():
        rows = pa.Table.from_batches([batch])
        if contained:
            rows = rows.append_column(score, pc.max_element_wise(rows["left_in_right"], rows["right_in_left"]))
        if best is not None:
            if len(best) == ROWS:
                rows = rows.filter(better(rows[score], best[score][-1]))
            rows = pa.concat_tables([best, rows])
        # Arrow's sort is stable: of equally similar pairs the first ones stay.
        best = rows.take(pc.sort_indices(rows, [(score, order)])[:ROWS])
    if best is None:
        return []
    found: list[dict[str, Any]] = (best.drop_columns(score) if contained else best).to_pylist()
    return found


def fitting(width: int, longest: Sequence[int], numbers: Sequence[str]) -> tuple[Sequence[str], tuple[int, int]]:
    """Choose the numbers to show, and the widths of both ids: the first number stays, and ids are cut last.

    Examples
    --------
    >>> fitting(80, [10, 10], ["similarity", "left in right", "right in left"])
    (['similarity', 'left in right', 'right in left'], (10, 10))
    >>> fitting(80, [30, 30], ["similarity", "left in right", "right in left"])
    (['similarity'], (30, 30))
    >>> fitting(80, [90, 90], ["similarity"]), fitting(80, [8, 90], ["similarity"])
    ((['similarity'], (33, 33)), (['similarity'], (8, 58)))
    """
    for shown in (numbers, numbers[:1]):
        room = max(2 * _LEAST_ID, width - _GAP - sum(len(name) + _GAP for name in shown))
        if sum(longest) <= room:
            return shown, (longest[0], longest[1])
    left = max(min(longest[0], room // 2), room - longest[1])
    return shown, (left, room - left if longest[0] < room // 2 else min(longest[1], room // 2))


def print_rows(rows: Sequence[Mapping[str, Any]], total: int, sort: bool = True, what: str = "pairs") -> None:
    """Print pairs as a table; `total` is the number of all pairs."""
    from rich.table import Table
    from rich.text import Text

    from twinset.schema import SHOWN

    console = show.console()
    names = [name.replace("_", " ") for name in rows[0] if name not in ("left", "right")]
    longest = [
        max(map(show.columns_of, (side, *(show.named(str(row[side]), 1024) for row in rows))))
        for side in ("left", "right")
    ]
    numbers, widths = fitting(console.width, longest, names)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
    for name, width in zip(("left", "right"), widths, strict=True):
        table.add_column(name, no_wrap=True, max_width=width)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        ids = apart(str(row["left"]), str(row["right"]), widths)
        scores = (name.replace(" ", "_") for name in numbers)
        table.add_row(*map(Text, ids), *(show.score(row[name], SHOWN[name]) for name in scores))
    console.print(table)
    if total > len(rows):
        which = "most similar" if sort else "first"
        console.print(f"the {which} {len(rows)} of {total:,} {what}; -o FILE writes all")
    if len(numbers) < len(names):
        console.print(f"a wider window also shows: {', '.join(names[1:])}")


def apart(left: str, right: str, widths: tuple[int, int]) -> tuple[str, str]:
    """Shorten two ids in the middle; if they then look the same, around their first difference.

    Examples
    --------
    >>> apart("news/2024/07/the-river-rose.txt", "news/2024/08/the-river-rose.txt", (15, 15))
    ('…024/07/the-ri…', '…024/08/the-ri…')
    """
    cut = show.named(left, widths[0]), show.named(right, widths[1])
    if cut[0] != cut[1] or left == right:
        return cut
    same = next((at for at, (one, other) in enumerate(zip(left, right, strict=False)) if one != other), 0)
    start = max(0, same - min(widths) // 3)
    return _window(left, start, widths[0]), _window(right, start, widths[1])


def heads(left: str, right: str, beside: int) -> tuple[str, str]:
    """Write two ids for the first column of a table: whole, or in a terminal shortened to what `beside` leaves."""
    width = show.terminal_width()
    if width is None:
        return show.named(left), show.named(right)
    room = max(LEAST_HEAD, width - beside)
    return apart(left, right, (room, room))


def _window(text: str, start: int, width: int) -> str:
    """Return the part of a text from a place on, with marks where it is cut."""
    rest = show.printable(text[start:])
    while show.columns_of(rest) > width - 2:
        rest = rest[:-1]
    return f"{'…' if start else ''}{rest}{'…' if start + len(rest) < len(text) else ''}"
