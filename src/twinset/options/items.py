"""What an item is: a text, a record of several, a set, a bit code, a vector, a picture.

The source says it, and everything else stays the same. Options that have no meaning for the kind of item there is are
refused, never passed over.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from twinset.errors import OptionError
from twinset.options import checks
from twinset.options.base import Options, option
from twinset.options.checks import Check, parse_shingle

KINDS = ("text", "records", "items", "groups", "weighted", "codes", "vectors", "images")
SETS = ("text", "records", "items", "groups")
"""The kinds that are sets of hashes once they are read, and compared by Jaccard."""

PACKED = ("records", "items", "groups")
"""Those of them that are read in a packed form: eight bytes an element, or the texts of several columns."""

MEASURED = ("weighted", "codes", "vectors", "images")
"""The kinds that are held in memory and joined by a measure of their own."""

_TEXTS_ALLOWED = "the name of a column; of a record several, each COLUMN[,SHINGLE[,WEIGHT]], such as 'name,char:3,2'"

_NAMES = {
    "text": "texts",
    "records": "records",
    "items": "sets",
    "groups": "groups of a long table",
    "weighted": "weighted sets",
    "codes": "bit codes",
    "vectors": "vectors",
    "images": "pictures",
}

_FLAGS = {"records": "text", "groups": "group", "weighted": "group"}  # of the other kinds, the kind's own name

# For which kinds an option has a meaning; those that are not here have one for all.
_MEANING: dict[str, tuple[str, ...]] = {
    "shingle": ("text", "records"),
    "lowercase": ("text", "records"),
    "nfc": ("text", "records"),
    "squeeze": ("text", "records"),
    "split": ("text", "records"),
    "bag": SETS,
    "lines": ("text",),
    "sketch": SETS,
    "n_hashes": (*SETS, "weighted"),
    "n_bands": (*SETS, "weighted"),
    "rows_per_band": (*SETS, "weighted"),
    "threshold": (*SETS, "weighted", "vectors"),
    "recall": (*SETS, "weighted", "vectors"),
    "distance": ("codes", "vectors", "images"),
    "exact": (*SETS, "vectors"),
    "index": ("text",),
    "copy": ("text", "images"),
}


@dataclass(frozen=True)
class TextColumn:
    """One column of a record: its name, what its shingles are (None: as those of the run), and how much it counts."""

    name: str
    shingle: str | None = None
    weight: int = 1


def flag_of_kind(kind: str) -> str:
    """The flag that says that items are of a kind.

    Examples
    --------
    >>> flag_of_kind("vectors"), flag_of_kind("records")
    ('--vectors', '--text')
    """
    return f"--{_FLAGS.get(kind, kind)}"


def parse_text(spec: str) -> TextColumn:
    """Read what one ``--text`` of a record says.

    Examples
    --------
    >>> parse_text("name"), parse_text("street,char:3,2")
    (TextColumn(name='name', shingle=None, weight=1), TextColumn(name='street', shingle='char:3', weight=2))
    """
    found = re.fullmatch(r"(?s)(.+?)(?:,((?:word|char):\d+))?(?:,(\d{1,3}))?", spec)
    if not found or (found[3] is not None and not 1 <= int(found[3]) <= 100):
        raise OptionError(f"text is {spec!r}; allowed is {_TEXTS_ALLOWED}, the weight from 1 to 100")
    if found[2] is not None:
        parse_shingle(found[2])
    return TextColumn(found[1], found[2], int(found[3] or 1))


def _texts(value: Any) -> str | tuple[str, ...]:
    several = (value,) if isinstance(value, str) else tuple(value)
    if not several or not all(isinstance(one, str) and one for one in several):
        raise TypeError
    if len(several) == 1:
        return str(several[0])
    names = [parse_text(one).name for one in several]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise OptionError(f"text names the column {twice!r} twice; name each column of a record once")
    return several


def _vectors(value: Any) -> str | None:
    if value is None or value is False:
        return None
    if value is True:
        return ""
    if not isinstance(value, str):
        raise TypeError
    return value


@dataclass(frozen=True, kw_only=True)
class ItemOptions(Options):
    """What an item is."""

    title: ClassVar[str] = "Items"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    """The kinds that the command can do; others are refused."""
    why_not: ClassVar[str] = "compares texts"
    """What a command that cannot do all kinds does instead, for the message."""

    meanings: ClassVar[dict[str, tuple[str, ...]]] = {}
    """For which kinds an option has a meaning, where that is another thing here than elsewhere."""

    lists_as_text: ClassVar[bool] = False
    """Whether sets are read as they are written, JSON lists, and not as hashes: an index keeps them so."""

    text: str | tuple[str, ...] = option(
        "text",
        "Column that holds the text. Several make a record, each COLUMN[,SHINGLE[,WEIGHT]].",
        Check(_texts, _TEXTS_ALLOWED, multiple=True, told=False),
        "COLUMN",
    )
    items: str | None = option(None, "Column that holds lists: items are sets.", checks.column(none=True), "COLUMN")
    group: str | None = option(
        None, "Long tables: the rows that agree in this column are one set.", checks.column(none=True), "COLUMN"
    )
    item: str | None = option(
        None, "With --group: the column that holds the elements.", checks.column(none=True), "COLUMN"
    )
    weight: str | None = option(
        None,
        "With --group or --items: the column that says how much each element counts.",
        checks.column(none=True),
        "COLUMN",
    )
    codes: str | None = option(
        None,
        "Column that holds bit codes: whole numbers, bytes, or hexadecimal digits.",
        checks.column(none=True),
        "COLUMN",
    )
    vectors: str | None = option(
        None,
        "Items are vectors: of .npy files, or of this column of lists.",
        Check(_vectors, "the name of a column, or True for the files or the one column that hold vectors", told=False),
        "[COLUMN]",
        bare="",
    )
    images: bool = option(False, "Items are pictures.", checks.switch)
    distance: float | None = option(
        None,
        "Greatest distance of a reported pair, inclusive: bits of codes and of pictures, Euclidean of vectors.",
        checks.length(),
        "R",
        default_words="3 bits for --codes, 6 for --images; vectors go by --threshold, their cosine",
    )

    @cached_property
    def item_kind(self) -> str:
        """One of `KINDS`."""
        if self.items is not None:
            return "weighted" if self.weight is not None else "items"
        if self.group is not None:
            return "weighted" if self.weight is not None else "groups"
        if self.codes is not None:
            return "codes"
        if self.vectors is not None:
            return "vectors"
        if self.images:
            return "images"
        return "text" if isinstance(self.text, str) else "records"

    @cached_property
    def text_columns(self) -> tuple[TextColumn, ...]:
        """The columns of a text, one, or of a record."""
        return (TextColumn(self.text),) if isinstance(self.text, str) else tuple(map(parse_text, self.text))

    @property
    def item_columns(self) -> tuple[str, ...]:
        """The columns that an item is made of."""
        named = (self.items, self.group, self.item, self.weight, self.codes, self.vectors)
        if self.item_kind in ("text", "records"):
            return tuple(one.name for one in self.text_columns)
        return tuple(name for name in named if name)

    @property
    def measure(self) -> str:
        """What pairs are scored by: jaccard, cosine, distance (Euclidean) or bits."""
        if self.item_kind == "images" and getattr(self, "top", None) is not None:
            return "distance"
        if self.item_kind in ("codes", "images"):
            return "bits"
        if self.item_kind == "vectors":
            return "cosine" if self.distance is None else "distance"
        return "jaccard"

    @property
    def reach(self) -> float:
        """The greatest distance of a pair, that of the kind where none was given."""
        if self.distance is not None:
            return self.distance
        if self.item_kind == "images":
            return 6.0 if self.measure == "bits" else math.inf
        return 3.0

    @property
    def by_distance(self) -> bool:
        """Whether pairs have a distance, not a similarity."""
        return self.measure in ("bits", "distance")

    @property
    def farthest(self) -> float:
        """The greatest distance up to which pairs are found and scored."""
        return self.reach

    @property
    def item_flag(self) -> str:
        """The flag that says what an item is, for messages."""
        return "--items" if self.items else flag_of_kind(self.item_kind)

    def flag_of(self, column: str) -> str:
        """The flag that names a column of an item, for messages."""
        named = {self.item: "--item", self.weight: "--weight"}
        return named.get(column, self.item_flag)

    def _check_together(self) -> None:
        super()._check_together()
        said = {
            "--text": self.text != "text",
            "--items": self.items is not None,
            "--group": self.group is not None,
            "--codes": self.codes is not None,
            "--vectors": self.vectors is not None,
            "--images": self.images,
        }
        several = [flag for flag, given in said.items() if given]
        if len(several) > 1:
            raise OptionError(f"{' and '.join(several)} each say what an item is; leave all but one out")
        if (self.group is None) != (self.item is None):
            there, missing = ("--group", "--item") if self.item is None else ("--item", "--group")
            raise OptionError(f"{there} needs {missing}: the one names the set of a row, the other its element")
        if self.weight is not None and self.group is None and self.items is None:
            raise OptionError("--weight needs --group and --item, or --items: it says how much their elements count")
        asked = getattr(self, "threshold", None) != self.defaults().get("threshold")
        if self.item_kind == "vectors" and self.distance is not None and asked:
            raise OptionError("vectors are near by --threshold, their cosine, or by --distance; leave one of them out")
        if self.distance is not None and self.measure == "bits" and self.distance % 1:
            raise OptionError(f"distance is {self.distance:g}; codes differ in a whole number of bits")
        if self.item_kind not in self.kinds:
            raise OptionError(f"{self.item_flag} has no meaning here: this command {self.why_not}")
        self._refuse_meaningless()

    def _refuse_meaningless(self) -> None:
        """Refuse what was asked for and would change nothing."""
        kind, defaults = self.item_kind, self.defaults()
        for name, kinds in {**_MEANING, **self.meanings}.items():
            if name in defaults and kind not in kinds and getattr(self, name) != defaults[name]:
                flag = dict(self.words())[name].spellings(name)[0]
                raise OptionError(f"{flag} has no meaning for {_NAMES[kind]} ({self.item_flag}); leave it out")
