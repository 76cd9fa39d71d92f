"""Properties of the code points, from a table in the package.

The table is a file and not the `unicodedata` of the running Python, so that a text has the same words and hashes with
every version of Python. `python -m twinset.unicode` rewrites the table, which changes the hash scheme.
"""

import functools
import itertools
import unicodedata
from pathlib import Path

import numpy as np
import numpy.typing as npt

from twinset.compiled.bytes_kernels import SINGLE, SPACE, UNSETTLED, WORD

POINTS = 0x110000
_TABLE = Path(__file__).with_name("unicode.txt")


def class_of(point: int, composing: frozenset[int]) -> int:
    """Compute the class bits of a code point from the Unicode database of the running Python."""
    from twinset import textbook  # only needed to write the table

    character = chr(point)
    word = WORD if textbook.is_word_character(character) else 0
    single = SINGLE if textbook.is_single(character) else 0
    space = SPACE if character.isspace() else 0
    if 0xD800 <= point <= 0xDFFF:
        return 0
    unsettled = point in composing or unicodedata.normalize("NFC", character) != character
    return word | single | space | (UNSETTLED if unsettled else 0)


def composing_points() -> frozenset[int]:
    """Return the code points that may compose with the previous one under NFC (NFC_Quick_Check=Maybe)."""
    points = {*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)}  # Hangul vowels and finals join by rule
    for point in range(POINTS):
        parts = unicodedata.decomposition(chr(point)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            points.add(int(parts[1], 16))
    return frozenset(points)


def write_table() -> None:
    """Write the runs of code points with equal class and combining class, one per line, in hexadecimal."""
    composing = composing_points()
    both = [(class_of(point, composing), unicodedata.combining(chr(point))) for point in range(POINTS)]
    lines = [f"# Unicode {unicodedata.unidata_version}: last code point of a run, class bits, combining class"]
    end = -1
    for (bits, order), run in itertools.groupby(both):
        end += len(list(run))
        lines.append(f"{end:x} {bits:x} {order:x}")
    _TABLE.write_text("\n".join(lines) + "\n", encoding="ascii")


@functools.cache
def _tables() -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    rows = [line.split() for line in _TABLE.read_text(encoding="ascii").splitlines()[1:]]
    ends = np.array([int(row[0], 16) for row in rows]) + 1
    lengths = np.diff(ends, prepend=0)
    classes, combining = (
        np.repeat(np.array([int(row[column], 16) for row in rows], dtype=np.uint8), lengths) for column in (1, 2)
    )
    return classes, combining


def version() -> str:
    """Return the Unicode version of the table."""
    return _TABLE.read_text(encoding="ascii").partition(":")[0].removeprefix("# Unicode ")


def classes() -> npt.NDArray[np.uint8]:
    """Return the class bits (WORD, SINGLE, SPACE, UNSETTLED) of every code point."""
    return _tables()[0]


def combining() -> npt.NDArray[np.uint8]:
    """Return the canonical combining class of every code point."""
    return _tables()[1]


if __name__ == "__main__":
    write_table()
