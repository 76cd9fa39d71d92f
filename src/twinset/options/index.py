"""Options of the index: written once, as all others are in `options.py`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from twinset.errors import OptionError
from twinset.options import checks
from twinset.options.base import Options, option
from twinset.options.checks import Word
from twinset.options.items import ItemOptions
from twinset.options.steps import FORCE, PlanOptions, ReadOptions, RunOptions, ShingleOptions

__all__ = [
    "AddOptions",
    "AskOptions",
    "ExportOptions",
    "IndexOptions",
    "IndexedOptions",
    "QueryOptions",
    "SourceOptions",
    "WriteOptions",
]

_TIMEOUT = (
    "Seconds to wait for another writer before giving up.",
    checks.whole(0, 86_400),
    "SECONDS",
)
_ITEM_WORDS = dict(ItemOptions.words())

_TEXTS, _SETS = ("text",), ("text", "items")
_OF_KINDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("shingle", "lowercase", "nfc", "squeeze", "split"), _TEXTS),
    **dict.fromkeys(("bag", "sketch", "n_hashes", "n_bands", "rows_per_band", "store"), _SETS),
    **dict.fromkeys(("threshold", "recall"), (*_SETS, "vectors")),
    "distance": ("codes", "vectors", "images"),
    "bits": ("codes", "vectors"),
    **dict.fromkeys(("dimensions", "learned"), ("vectors",)),
}
"""For which kinds of documents an option of an index has a meaning; those that are not here have one for all."""

_NAMES = {
    "text": "texts",
    "items": "sets (--items)",
    "codes": "bit codes (--codes)",
    "vectors": "vectors (--vectors)",
    "images": "pictures (--images)",
}


def _as_elsewhere(name: str, default: Any = None) -> Any:
    """An option that says the same here as where an item is read."""
    return field(default=default, metadata={"word": _ITEM_WORDS[name]})


@dataclass(frozen=True, kw_only=True)
class IndexOptions(PlanOptions, ShingleOptions):
    """The options of `twinset.Index.create` and ``twinset index create``: fixed for the index's life."""

    title: ClassVar[str] = "Index"

    items: str | None = option(
        None, "The documents are sets: column that holds their lists.", checks.column(none=True), "COLUMN"
    )
    codes: str | None = _as_elsewhere("codes")
    vectors: str | None = _as_elsewhere("vectors")
    images: bool = _as_elsewhere("images", False)
    distance: float | None = option(
        None,
        "Greatest distance that is asked for, inclusive: bits of codes and of pictures, Euclidean of vectors.",
        checks.length(),
        "R",
        default_words="3 bits for --codes, 6 for --images; vectors go by --threshold, their cosine",
    )
    bits: int | None = option(
        None,
        "Bits of a code; also of those that are learned.",
        checks.whole(8, 32768, none=True),
        "N",
        default_words="those of the first code that is added; 64 of learned ones",
    )
    dimensions: int | None = option(
        None,
        "Numbers of a vector.",
        checks.whole(1, 65536, none=True),
        "D",
        default_words="those of the first vector that is added",
    )
    learned: str | None = option(
        None,
        "With --vectors: learn bit codes from --sample, by which the K nearest (-k) are ranked first.",
        checks.optional(checks.choice("itq", "spectral")),
    )
    sample: tuple[object, ...] = option(
        (), "With --learned: vectors that the codes are fitted on.", checks.items(object), "SOURCE", result=False
    )
    store: str = option(
        "text",
        "What is kept of a document besides its sketch. text: its text, compressed; shingles: its shingle hashes; "
        "none: nothing, and answers are estimates.",
        checks.choice("text", "shingles", "none"),
    )
    seed: int | None = option(  # type: ignore[assignment] # until it is drawn there is none
        None,
        "Seed of all hashing. Whoever knows it can make documents that crowd one bucket.",
        checks.optional(checks.whole(0, 2**63 - 1)),
        "N",
        default_words="drawn at random and kept in the index",
    )

    @property
    def item_kind(self) -> str:
        """What the documents are: text, items, codes, vectors or images."""
        if self.images:
            return "images"
        return next((kind for kind in ("items", "codes", "vectors") if getattr(self, kind) is not None), "text")

    @property
    def measure(self) -> str:
        """What answers are scored by: jaccard, cosine, distance (Euclidean) or bits."""
        if self.item_kind == "vectors":
            return "cosine" if self.distance is None else "distance"
        return "jaccard" if self.item_kind in _SETS else "bits"

    @property
    def reach(self) -> float:
        """The greatest distance, that of the kind where none was given."""
        return self.distance if self.distance is not None else 6.0 if self.images else 3.0

    def to_dict(self, result_only: bool = True) -> dict[str, Any]:
        """Give the options as plain values; of an index of texts, those that every version of it has had."""
        found, kind = super().to_dict(result_only), self.item_kind
        for name in ("items", "codes", "vectors", "images"):
            if name != kind:
                del found[name]
        return {name: value for name, value in found.items() if kind in _OF_KINDS.get(name, (kind,))}

    def _check_together(self) -> None:
        super()._check_together()
        said = [f"--{name}" for name in ("items", "codes", "vectors") if getattr(self, name) is not None]
        said += ["--images"] if self.images else []
        if len(said) > 1:
            raise OptionError(f"{' and '.join(said)} each say what a document is; leave all but one out")
        defaults, kind = self.defaults(), self.item_kind
        for name, kinds in _OF_KINDS.items():
            if kind not in kinds and getattr(self, name) != defaults[name]:
                raise OptionError(f"{name} has no meaning for {_NAMES[kind]}; leave it out")
        if kind == "vectors" and self.distance is not None and self.threshold != defaults["threshold"]:
            raise OptionError("vectors are near by --threshold, their cosine, or by --distance; leave one of them out")
        if kind == "vectors" and self.distance == 0:
            raise OptionError("distance is 0; allowed for an index of vectors is more than 0, however little")
        if self.measure == "bits" and self.reach % 1:
            raise OptionError(f"distance is {self.reach:g}; codes differ in a whole number of bits")
        if kind == "vectors" and self.bits is not None and self.learned is None:
            raise OptionError("bits has no meaning for vectors without --learned; leave it out")
        if self.sample and self.learned is None:
            raise OptionError("sample has no meaning without learned codes; give --learned itq, or leave it out")
        if self.bits is not None and self.bits % 8:
            raise OptionError(f"bits is {self.bits}; a code is whole bytes, so that allowed is a multiple of 8")


@dataclass(frozen=True, kw_only=True)
class WriteOptions(Options):
    """The options of every command that changes an index."""

    title: ClassVar[str] = "Index"

    timeout: int = option(30, *_TIMEOUT, result=False)


@dataclass(frozen=True, kw_only=True)
class SourceOptions(RunOptions, ReadOptions):
    """How documents are read on their way to an index, to be added or asked for."""

    title: ClassVar[str] = "Work"
    kinds: ClassVar[tuple[str, ...]] = ("text", "items", "groups", "codes", "vectors", "images")
    why_not: ClassVar[str] = "works with an index of texts, sets, codes, vectors or pictures"
    lists_as_text: ClassVar[bool] = True
    # Every document is compared with the whole index, and none is held in memory for longer than it is worked on.
    left_out: ClassVar[tuple[str, ...]] = ("by", "against", "memory", "distance")

    scratch: str | None = option(
        None,
        "Folder for files that are needed during the run only: a copy of stdin, or of a stream.",
        checks.path,
        "FOLDER",
        default_words="the system's temporary folder",
        result=False,
    )
    batch_bytes: int = option(
        4 * 2**20,
        "Text that a thread takes up at a time, such as 4MiB.",
        checks.size(1024, 2**28),
        "SIZE",
        flags=("--batch",),
        result=False,
    )

    @classmethod
    def words(cls) -> Iterator[tuple[str, Word]]:
        """Give each option's name with what is said about it, in the order of the help page."""
        return ((name, word) for name, word in super().words() if name not in cls.left_out)


@dataclass(frozen=True, kw_only=True)
class IndexedOptions(SourceOptions):
    """How documents are read for one index, whose kind and measure are known."""

    left_out: ClassVar[tuple[str, ...]] = ("by", "against", "memory")


@dataclass(frozen=True, kw_only=True)
class AddOptions(WriteOptions, SourceOptions):
    """The options of ``twinset index add`` and ``twinset index update``."""

    title: ClassVar[str] = "Index"


@dataclass(frozen=True, kw_only=True)
class QueryOptions(Options):
    """The options of `twinset.Index.query` and ``twinset index query``."""

    title: ClassVar[str] = "Query"

    k: int | None = option(
        None,
        "The K most similar documents, also beyond the threshold of the index unless one is given here.",
        checks.whole(1, 1_000_000, none=True),
        "K",
        flags=("-k", "--top"),
        default_words="all from the threshold on",
    )
    threshold: float | None = option(
        None,
        "Least similarity of an answer.",
        checks.optional(checks.number(above=0.0, most=1.0)),
        "T",
        default_words="that of the index",
    )
    distance: float | None = option(
        None,
        "Greatest distance of an answer, of an index of codes, pictures or vectors that goes by distance.",
        checks.length(),
        "R",
        default_words="that of the index",
    )
    force: bool = option(
        False, "Ask beyond what the index was planned for, and find less than was promised.", checks.switch
    )


@dataclass(frozen=True, kw_only=True)
class AskOptions(QueryOptions, SourceOptions):
    """The options of ``twinset index query``."""

    title: ClassVar[str] = "Query"
    left_out: ClassVar[tuple[str, ...]] = ("by", "against", "memory")

    force: bool = option(
        False,
        "Ask beyond what the index was planned for, and find less than was promised. Also: replace an output that "
        "exists.",
        checks.switch,
    )

    def _refuse_meaningless(self) -> None:
        """Only the index knows what its documents are, and so what has a meaning for them."""


@dataclass(frozen=True, kw_only=True)
class ExportOptions(Options):
    """The options of `twinset.Index.export` and ``twinset index export``."""

    title: ClassVar[str] = "Export"

    force: bool = option(False, *FORCE, result=False)
