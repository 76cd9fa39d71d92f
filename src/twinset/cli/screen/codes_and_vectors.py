"""Print the differences of two codes bit by bit, and of two vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from twinset.cli.screen import pairs_table, show

if TYPE_CHECKING:
    from twinset.jobs.result import CodeDifference, VectorDifference

_ROW = 8  # bytes of a code on a line
_LISTED = 16
_BITS, _LENGTH = 4 + 9 * _ROW + 2 * _ROW + 1, 45  # columns beside the name of a code, and of a vector


def print_item_difference(difference: CodeDifference | VectorDifference, left: str, right: str) -> None:
    """Print the differences of two codes or two vectors."""
    from twinset.jobs.result import CodeDifference

    if isinstance(difference, CodeDifference):
        _print_codes(difference, *pairs_table.heads(left, right, _BITS))
    else:
        _print_vectors(difference, *pairs_table.heads(left, right, _LENGTH))


def _print_vectors(difference: VectorDifference, left: str, right: str) -> None:
    cosine = "undefined: one of them has no direction"
    if difference.cosine is not None and difference.angle is not None:
        cosine = f"{show.share(difference.cosine)}  an angle of {difference.angle:.4g} degrees"
    show.facts(
        (
            ("distance", f"{difference.distance:.6g}"),
            ("cosine", cosine),
            (f"length of {left}", f"{difference.left_length:.6g}"),
            (f"length of {right}", f"{difference.right_length:.6g}"),
            ("dimensions", f"{difference.dimensions:,}"),
        )
    )


def _print_codes(difference: CodeDifference, left: str, right: str) -> None:
    differing = difference.differing
    listed = ", ".join(map(str, differing[:_LISTED])) + (", …" if len(differing) > _LISTED else "")
    which = f": {listed} (0 is the highest bit)" if differing else ""
    show.facts((("distance", f"{len(differing):,} of {show.count(difference.bits, 'bit')} differ{which}"),))
    width = max(show.columns_of(left), show.columns_of(right))
    for row in _rows(difference):
        click.echo()
        if isinstance(row, int):
            click.echo(f"  … {show.count(row, 'equal bit')} …")
            continue
        for name, text in zip((left, right, ""), row, strict=True):
            click.echo(f"  {show.padded(name, width)}  {text}".rstrip())


def _rows(difference: CodeDifference) -> Iterator[tuple[str, str, str] | int]:
    """Yield lines of bits of both codes, with marks below those that differ; for equal lines, their number of bits."""
    same = 0
    for at in range(0, max(1, len(difference.left)), _ROW):
        ours, theirs = difference.left[at : at + _ROW], difference.right[at : at + _ROW]
        if ours == theirs and len(difference.left) > _ROW:
            same += 8 * len(ours)
            continue
        if same:
            yield same
            same = 0
        written = [" ".join(f"{byte:08b}" for byte in one) for one in (ours, theirs)]
        marks = "".join(" " if a == b else "^" for a, b in zip(*written, strict=True))
        yield f"{written[0]}  {ours.hex()}", f"{written[1]}  {theirs.hex()}", marks
    if same:
        yield same
