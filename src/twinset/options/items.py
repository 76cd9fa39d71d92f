"""Options that define an item: a text, a record of several, a set, a bit code, a vector or a picture.

Options that do not apply to the kind of item are refused, never ignored.
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

KINDS = ("text", "records", "items", "groups", "weighted", "codes", "vectors", "sparse", "images")
SETS = ("text", "records", "items", "groups")
"""The kinds that are read as sets of hashes and compared by Jaccard similarity."""

PACKED = ("records", "items", "groups")
"""The kinds in `SETS` that are read in a packed form: eight bytes per element, or the texts of several columns."""

MEASURED = ("weighted", "codes", "vectors", "sparse", "images")
"""The kinds that are stored in memory and joined by a measure of their own."""

KIND_OPTIONS = ("text", "items", "group", "codes", "vectors", "images")
"""The options that select a kind of items."""

VECTORS = ("vectors", "sparse")
"""The kinds of vectors: ``--top`` finds their nearest at any distance."""

MOST_TABLES, MOST_PROBES, MOST_BITS = 1024, 255, 48
"""Maximum number of hash tables of vectors, of keys tried besides a vector's own, and of bits of a key."""

_TEXTS_ALLOWED = "the name of a column; several for a record, each COLUMN[,SHINGLE[,WEIGHT]], such as 'name,char:3,2'"

_NAMES = {
    "text": "texts",
    "records": "records",
    "items": "sets",
    "groups": "groups of a long table",
    "weighted": "weighted sets",
    "codes": "bit codes",
    "vectors": "vectors",
    "sparse": "sparse vectors",
    "images": "pictures",
}

# Of the other kinds: the name of the kind.
_FLAGS = {"records": "text", "groups": "group", "weighted": "group", "sparse": "vectors"}

# Kinds to which an option applies; an option that is not listed applies to all.
_MEANING: dict[str, tuple[str, ...]] = {
    "shingle": ("text", "records"),
    "lowercase": ("text", "records"),
    "nfc": ("text", "records"),
    "squeeze": ("text", "records"),
    "spaces": ("text", "records"),
    "split": ("text", "records"),
    "bag": SETS,
    **dict.fromkeys(("format", "delimiter", "header"), tuple(kind for kind in KINDS if kind != "images")),
    **dict.fromkeys(("lines", "html"), ("text",)),
    "sketch": SETS,
    "n_hashes": (*SETS, "weighted"),
    "n_bands": (*SETS, "weighted"),
    "rows_per_band": (*SETS, "weighted"),
    "threshold": (*SETS, "weighted", "vectors", "sparse"),
    "recall": (*SETS, "weighted", "vectors"),
    **dict.fromkeys(("contained", "least_shingles"), SETS),
    "distance": ("codes", "vectors", "images"),
    "exact": (*SETS, "vectors"),
    "index": ("text",),
    "copy": ("text", "images"),
    "any_orientation": ("images",),
}


@dataclass(frozen=True)
class TextColumn:
    """One column of a record: its name, its shingles (None: those of the run) and its weight."""

    name: str
    shingle: str | None = None
    weight: int = 1


def flag_of_kind(kind: str) -> str:
    """Return the flag that selects a kind of items.

    Examples
    --------
    >>> flag_of_kind("vectors"), flag_of_kind("records")
    ('--vectors', '--text')
    """
    return f"--{_FLAGS.get(kind, kind)}"


def parse_text(spec: str) -> TextColumn:
    """Parse one ``--text`` of a record.

    Examples
    --------
    >>> parse_text("name"), parse_text("street,char:3,2")
    (TextColumn(name='name', shingle=None, weight=1), TextColumn(name='street', shingle='char:3', weight=2))
    """
    found = re.fullmatch(r"(?s)(.+?)(?:,((?:word|char):\d+))?(?:,(\d{1,3}))?", spec)
    if not found or (found[3] is not None and not 1 <= int(found[3]) <= 100):
        raise OptionError(f"text is {spec!r}; allowed: {_TEXTS_ALLOWED}, the weight from 1 to 100")
    if found[2] is not None:
        parse_shingle(found[2])
    return TextColumn(found[1], found[2], int(found[3] or 1))


def text_columns_of(text: str | tuple[str, ...]) -> tuple[TextColumn, ...]:
    """Return the column of a text, or the columns of a record.

    Examples
    --------
    >>> [column.name for column in text_columns_of(("name", "street,char:3,2"))]
    ['name', 'street']
    """
    return (TextColumn(text),) if isinstance(text, str) else tuple(map(parse_text, text))


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


def optional_column(value: Any) -> str | None:
    """Check a switch that may name a column: None if it is off, empty if it names none."""
    if value is None or value is False:
        return None
    if value is True:
        return ""
    if not isinstance(value, str):
        raise TypeError
    return value


def check_set_columns(items: str | None, group: str | None, item: str | None, weight: str | None) -> None:
    """Refuse columns of sets that need others."""
    if (group is None) != (item is None):
        present, missing = ("--group", "--item") if item is None else ("--item", "--group")
        raise OptionError(f"{present} needs {missing}: --group names the set of a row, --item its element")
    if weight is not None and group is None and items is None:
        raise OptionError("--weight needs --group and --item, or --items: it is the weight of their elements")


@dataclass(frozen=True, kw_only=True)
class ItemOptions(Options):
    """Options that define an item."""

    title: ClassVar[str] = "Items"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    """The kinds that the command supports; others are refused."""
    why_not: ClassVar[str] = "compares texts"
    """The purpose of a command that does not support all kinds, for the message."""

    meanings: ClassVar[dict[str, tuple[str, ...]]] = {}
    """Exceptions to `_MEANING` for this command."""

    lists_as_text: ClassVar[bool] = False
    """Whether sets are read as JSON lists instead of hashes, as an index stores them."""

    text: str | tuple[str, ...] = option(
        "text",
        "Text column. Several columns make a record, each given as COLUMN[,SHINGLE[,WEIGHT]].",
        Check(_texts, _TEXTS_ALLOWED, multiple=True, in_help=False),
        "COLUMN",
        common=True,
    )
    items: str | None = option(None, "Column of lists: items are sets.", checks.column(none=True), "COLUMN")
    group: str | None = option(
        None, "Long tables: rows with the same value in this column are one set.", checks.column(none=True), "COLUMN"
    )
    item: str | None = option(None, "With --group: column of the elements.", checks.column(none=True), "COLUMN")
    weight: str | None = option(
        None, "With --group or --items: column of the weights of the elements.", checks.column(none=True), "COLUMN"
    )
    codes: str | None = option(
        None, "Column of bit codes: whole numbers, bytes or hexadecimal digits.", checks.column(none=True), "COLUMN"
    )
    vectors: str | None = option(
        None,
        "Items are vectors, from .npy or .npz files or from this column of lists.",
        Check(
            optional_column,
            "the name of a column, or True for .npy or .npz files or the only column of vectors",
            in_help=False,
        ),
        "[COLUMN]",
        bare="",
        common=True,
    )
    sparse: bool = option(
        False,
        "With --vectors: vectors are sparse, of which only numbers other than 0 are stored and compared. Those of .npz "
        "files and SciPy matrices always are.",
        checks.switch,
    )
    images: bool = option(False, "Items are pictures.", checks.switch, common=True)
    distance: float | None = option(
        None,
        "Maximum distance of a reported pair (inclusive): bits for codes and pictures, Euclidean for vectors.",
        checks.length(),
        "R",
        default_text="3 bits for --codes, 6 for --images; vectors use --threshold (cosine)",
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
            return "sparse" if self.sparse else "vectors"
        if self.images:
            return "images"
        return "text" if isinstance(self.text, str) else "records"

    @cached_property
    def text_columns(self) -> tuple[TextColumn, ...]:
        """The column of a text, or the columns of a record."""
        return text_columns_of(self.text)

    @property
    def item_columns(self) -> tuple[str, ...]:
        """The columns that an item is made of."""
        named = (self.items, self.group, self.item, self.weight, self.codes, self.vectors)
        if self.item_kind in ("text", "records"):
            return tuple(one.name for one in self.text_columns)
        return tuple(name for name in named if name)

    @property
    def measure(self) -> str:
        """The score of a pair: jaccard, containment, cosine, distance (Euclidean) or bits."""
        if self.item_kind == "images" and getattr(self, "top", None) is not None:
            return "distance"
        if self.item_kind in ("codes", "images"):
            return "bits"
        if self.item_kind in VECTORS:
            return "cosine" if self.distance is None else "distance"
        return "jaccard" if getattr(self, "contained", None) is None else "containment"

    @property
    def reach(self) -> float:
        """The maximum distance of a pair: as given, else the default of the kind."""
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
        """The maximum distance of scored pairs."""
        return self.reach

    @property
    def item_flag(self) -> str:
        """The flag that selects the kind of items, for messages."""
        return "--items" if self.items else flag_of_kind(self.item_kind)

    @property
    def item_noun(self) -> str:
        """The noun for items of this kind, for messages."""
        return _NAMES[self.item_kind]

    def flag_of(self, column: str) -> str:
        """Return the flag that names a column of an item, for messages."""
        named = {self.item: "--item", self.weight: "--weight"}
        return named.get(column, self.item_flag)

    def _check_together(self) -> None:
        super()._check_together()
        given = {
            "--text": self.text != "text",
            "--items": self.items is not None,
            "--group": self.group is not None,
            "--codes": self.codes is not None,
            "--vectors": self.vectors is not None,
            "--images": self.images,
        }
        kinds = [flag for flag, present in given.items() if present]
        if len(kinds) > 1:
            raise OptionError(f"{' and '.join(kinds)} each select a kind of items; leave all but one out")
        check_set_columns(self.items, self.group, self.item, self.weight)
        if self.sparse and self.vectors is None:
            raise OptionError("--sparse needs --vectors: it says how vectors are stored and compared")
        by_cosine = getattr(self, "threshold", None) != self.defaults().get("threshold")
        if self.item_kind == "vectors" and self.distance is not None and by_cosine:
            raise OptionError("vectors are compared by --threshold (cosine) or by --distance; leave one of them out")
        if self.distance is not None and self.measure == "bits" and self.distance % 1:
            raise OptionError(f"distance is {self.distance:g}; codes differ in a whole number of bits")
        if self.item_kind not in self.kinds:
            raise OptionError(f"{self.item_flag} cannot be used here: this command {self.why_not}")
        self._refuse_meaningless()

    def _refuse_meaningless(self) -> None:
        """Refuse options that would have no effect."""
        kind, defaults = self.item_kind, self.defaults()
        for name, kinds in {**_MEANING, **self.meanings}.items():
            if name in defaults and kind not in kinds and getattr(self, name) != defaults[name]:
                flag = dict(self.specs())[name].spellings(name)[0]
                raise OptionError(f"{flag} does not apply to {self.item_noun} ({self.item_flag}); leave it out")


@dataclass(frozen=True, kw_only=True)
class TableOptions(Options):
    """Options that fix the hash tables of vectors."""

    title: ClassVar[str] = "Vectors"

    tables: int | None = option(
        None,
        "Hash tables of vectors (L); more find more. A number that cannot reach --recall is used all the same, and the "
        "plan says what it reaches.",
        checks.whole(1, MOST_TABLES, none=True),
        "L",
        default_text="chosen by the plan",
    )
    bits: int | None = option(
        None,
        "Bits of a key of vectors (k), each from a random hyperplane; fewer find more.",
        checks.whole(1, MOST_BITS, none=True),
        "K",
        default_text="chosen by the plan, which may prefer cross-polytopes",
    )
    probes: int | None = option(
        None,
        "Keys that a vector tries in each table besides its own (multi-probe); more find more.",
        checks.whole(0, MOST_PROBES, none=True),
        "N",
        default_text="chosen by the plan",
    )

    @property
    def fixed_tables(self) -> dict[str, int]:
        """The options that are given."""
        given = {"tables": self.tables, "bits": self.bits, "probes": self.probes}
        return {name: value for name, value in given.items() if value is not None}

    def _check_together(self) -> None:
        super()._check_together()
        fixed = [f"--{name}" for name in self.fixed_tables]
        if not fixed:
            return
        if isinstance(self, ItemOptions) and self.item_kind != "vectors":
            raise OptionError(f"{fixed[0]} does not apply to {self.item_noun} ({self.item_flag}); leave it out")
        if self.bits is not None and getattr(self, "distance", None) is not None:
            raise OptionError("--bits cannot be used with --distance: its keys are strips, not bits; leave it out")
        if getattr(self, "distance", None) == 0:
            raise OptionError(f"{fixed[0]} cannot be used with --distance 0, which finds equal vectors; leave it out")
        if getattr(self, "exact", False):
            raise OptionError(f"{fixed[0]} cannot be used with --exact, which compares all vectors; leave it out")
