"""MinHash step by step: each state of the table that a lecturer writes on the board, as values and as text."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from twinset.textbook.minhash import minhash_by_permutation
from twinset.textbook.sets import characteristic_matrix

__all__ = [
    "HashingStep",
    "PermutationStep",
    "hashing_steps",
    "permutation_steps",
    "trace_permutations",
    "trace_row_hashing",
]

Item = TypeVar("Item", bound=Hashable)
Name = TypeVar("Name", bound=Hashable)

INFINITY = "∞"


class PermutationStep(NamedTuple):
    """A row of the permuted matrix: the row of the original, its bits, and the columns whose first 1 it holds."""

    row: Hashable
    bits: list[int]
    first_in: list[Hashable]


class HashingStep(NamedTuple):
    """A row of the matrix: its number, its hashes, and the signatures after it, one row per hash function.

    `row` and `hashes` are None and empty in the state before the first row.
    """

    row: int | None
    hashes: list[int]
    signatures: list[list[float]]


def permutation_steps(sets: Mapping[Name, Iterable[Item]], order: Sequence[Item]) -> Iterator[PermutationStep]:
    """Go down the rows in a permuted order; a column's minhash is the first row in which it has a 1.

    Examples
    --------
    >>> sets = {"S1": "ad", "S2": "c", "S3": "bde", "S4": "acd"}
    >>> for step in permutation_steps(sets, "beadc"):
    ...     print(*step)
    b [0, 0, 1, 0] ['S3']
    e [0, 0, 1, 0] []
    a [1, 0, 0, 1] ['S1', 'S4']
    d [1, 0, 1, 1] []
    c [0, 1, 0, 1] ['S2']
    """
    columns = {name: frozenset(items) for name, items in sets.items()}
    minhashes = {name: minhash_by_permutation(items, order.index) for name, items in columns.items() if items}
    for place, (row, bits) in enumerate(zip(order, characteristic_matrix(columns, order), strict=True)):
        yield PermutationStep(row, bits, [name for name, first in minhashes.items() if first == place])


def hashing_steps(
    sets: Mapping[Name, Iterable[int]], hashes: Sequence[Callable[[int], int]], rows: Iterable[int]
) -> Iterator[HashingStep]:
    """Scan the rows in order and yield the signatures after each, beginning with the state before the first.

    Parameters
    ----------
    sets
        The columns, as sets of row numbers.
    hashes
        Functions of the row number.
    rows
        The row numbers.

    Yields
    ------
    HashingStep
        The row, its hashes, and the signatures after it. `minhash_by_row_hashing` returns the last signatures.

    Examples
    --------
    >>> sets = {"S1": {0, 3}, "S2": {2}, "S3": {1, 3, 4}, "S4": {0, 2, 3}}
    >>> steps = list(hashing_steps(sets, [lambda x: (x + 1) % 5, lambda x: (3 * x + 1) % 5], range(5)))
    >>> steps[3].signatures, steps[-1].signatures
    ([[1, 3, 2, 1], [1, 2, 4, 1]], [[1, 3, 0, 1], [0, 2, 0, 0]])
    """
    columns = [frozenset(items) for items in sets.values()]
    signatures = [[float("inf")] * len(columns) for _ in hashes]
    yield HashingStep(None, [], [list(line) for line in signatures])
    for row in rows:
        values = [h(row) for h in hashes]
        for place, column in enumerate(columns):
            if row in column:
                for line, value in zip(signatures, values, strict=True):
                    line[place] = min(line[place], value)
        yield HashingStep(row, values, [list(line) for line in signatures])


def trace_permutations(sets: Mapping[Name, Iterable[Item]], orders: Sequence[Sequence[Item]]) -> str:
    """Return the permuted matrix for each order, with each column's first 1 in brackets, and its minhashes.

    The last two lines are the rows of these 1s and their positions, counted from 1. Both are used as minhashes.

    Examples
    --------
    >>> print(trace_permutations({"S1": "ad", "S2": "c", "S3": "bde", "S4": "acd"}, ["beadc"]))
    order b e a d c
          S1   S2   S3   S4
    b      0    0   [1]   0
    e      0    0    1    0
    a     [1]   0    0   [1]
    d      1    0    1    1
    c      0   [1]   0    1
    min    a    c    b    a
    at     3    5    1    3
    """
    tables = []
    for order in orders:
        lines, firsts, places = [], dict.fromkeys(sets, "-"), dict.fromkeys(sets, "-")
        for place, step in enumerate(permutation_steps(sets, order), 1):
            cells = []
            for name, bit in zip(sets, step.bits, strict=True):
                first = name in step.first_in
                if first:
                    firsts[name], places[name] = str(step.row), str(place)
                cells.append(f"[{bit}]" if first else str(bit))
            lines.append((str(step.row), *cells))
        heads = ("", *map(str, sets))
        table = _aligned([heads, *lines, ("min", *firsts.values()), ("at", *places.values())])
        tables.append(f"order {' '.join(map(str, order))}\n{table}")
    return "\n\n".join(tables)


def trace_row_hashing(
    sets: Mapping[Name, Iterable[int]], hashes: Mapping[str, Callable[[int], int]], rows: Sequence[int]
) -> str:
    """Return every state of the signatures while the rows are scanned: one line per row.

    Parameters
    ----------
    sets
        The columns, as sets of row numbers.
    hashes
        Functions of the row number, by name.
    rows
        The row numbers.

    Returns
    -------
    str
        A table: the row, its hashes, and after a bar for each function the signatures of all columns.

    Examples
    --------
    >>> sets = {"S1": {0, 3}, "S2": {2}, "S3": {1, 3, 4}, "S4": {0, 2, 3}}
    >>> print(trace_row_hashing(sets, {"h1": lambda x: (x + 1) % 5, "h2": lambda x: (3 * x + 1) % 5}, range(5)))
    row   h1   h2    |   h1   S1   S2   S3   S4    |   h2   S1   S2   S3   S4
                     |         ∞    ∞    ∞    ∞    |         ∞    ∞    ∞    ∞
    0      1    1    |         1    ∞    ∞    1    |         1    ∞    ∞    1
    1      2    4    |         1    ∞    2    1    |         1    ∞    4    1
    2      3    2    |         1    3    2    1    |         1    2    4    1
    3      4    0    |         1    3    2    1    |         0    2    0    0
    4      0    3    |         1    3    0    1    |         0    2    0    0
    """
    heads = ["row", *hashes]
    for name in hashes:
        heads += ["|", name, *map(str, sets)]
    lines = [heads]
    for step in hashing_steps(sets, list(hashes.values()), rows):
        line = [""] * (1 + len(hashes)) if step.row is None else [str(step.row), *map(str, step.hashes)]
        for signature in step.signatures:
            line += ["|", "", *(INFINITY if value == float("inf") else str(value) for value in signature)]
        lines.append(line)
    return _aligned(lines)


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    """Align cells in columns: the first to the left, brackets outside of the others."""
    wide = max(len(cell) for line in lines for cell in line) if lines else 0
    width = max(4, wide + 1)  # a cell ends with a bracket or a space
    text = []
    for first, *cells in lines:
        padded = (cell if cell.endswith("]") else cell + " " for cell in cells)
        text.append((first.ljust(4) + "".join(cell.rjust(width + 1) for cell in padded)).rstrip())
    return "\n".join(text)
