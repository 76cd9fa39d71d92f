"""Options of the index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from twinset.errors import OptionError
from twinset.options import checks
from twinset.options.base import Options, option
from twinset.options.checks import AUTO, OptionSpec
from twinset.options.items import ItemOptions
from twinset.options.passages import MOST_WORDS, PassageOptions
from twinset.options.steps import FORCE, PlanOptions, ReadOptions, RunOptions, ShingleOptions

__all__ = [
    "AddOptions",
    "ExportOptions",
    "IndexOptions",
    "IndexedOptions",
    "PassageQueryOptions",
    "QueryCommandOptions",
    "QueryOptions",
    "SourceOptions",
    "WriteOptions",
]

_TIMEOUT = ("Seconds to wait for another writer.", checks.whole(0, 86_400), "SECONDS")
_ITEM_SPECS = dict(ItemOptions.specs())

_TEXTS, _SETS = ("text",), ("text", "items")
_OF_KINDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("shingle", "lowercase", "nfc", "squeeze", "spaces", "split", "passages"), _TEXTS),
    **dict.fromkeys(("bag", "sketch", "n_hashes", "n_bands", "rows_per_band", "store", "contained"), _SETS),
    **dict.fromkeys(("threshold", "recall"), (*_SETS, "vectors")),
    "distance": ("codes", "vectors", "images"),
    "bits": ("codes", "vectors"),
    **dict.fromkeys(("dimensions", "learned"), ("vectors",)),
}
"""Kinds of documents to which an option applies; an option that is not listed applies to all."""

_NAMES = {
    "text": "texts",
    "items": "sets (--items)",
    "codes": "bit codes (--codes)",
    "vectors": "vectors (--vectors)",
    "images": "pictures (--images)",
}


def _as_elsewhere(name: str, default: Any = None) -> Any:
    """Reuse the description of an option of `ItemOptions`."""
    return field(default=default, metadata={"spec": _ITEM_SPECS[name]})


@dataclass(frozen=True, kw_only=True)
class IndexOptions(PlanOptions, ShingleOptions):
    """The options of `twinset.Index.create` and ``twinset index create``, which cannot be changed later."""

    title: ClassVar[str] = "Index"
    measures_texts: ClassVar[bool] = True

    items: str | None = option(
        None, "Column of lists: documents are sets.", checks.column(none=True), "COLUMN", common=True
    )
    codes: str | None = _as_elsewhere("codes")
    vectors: str | None = _as_elsewhere("vectors")
    images: bool = _as_elsewhere("images", False)
    distance: float | None = option(
        None,
        "Maximum distance of an answer (inclusive): bits for codes and pictures, Euclidean for vectors.",
        checks.length(),
        "R",
        default_text="3 bits for --codes, 6 for --images; vectors use --threshold (cosine)",
        common=True,
    )
    bits: int | None = option(
        None,
        "Bits per code, also for learned codes.",
        checks.whole(8, 32768, none=True),
        "N",
        default_text="those of the first code added; 64 for learned codes",
    )
    dimensions: int | None = option(
        None,
        "Dimensions of a vector.",
        checks.whole(1, 65536, none=True),
        "D",
        default_text="those of the first vector added",
    )
    learned: str | None = option(
        None,
        "With --vectors: learn bit codes from --sample, to preselect the K nearest vectors (-k).",
        checks.optional(checks.choice("itq", "spectral")),
    )
    sample: tuple[object, ...] = option(
        (),
        "With --learned: sample of vectors to learn the codes from. With --shingle auto: the texts to measure.",
        checks.items(object),
        "SOURCE",
        result=False,
    )
    store: str = option(
        "text",
        "Content to store besides the sketch of a document. text: its text, compressed; shingles: its shingle hashes; "
        "none: nothing, so that answers are estimates.",
        checks.choice("text", "shingles", "none"),
        common=True,
    )
    contained: bool = option(
        False,
        "Also store samples of the shingles, so that queries for containment are fast.",
        checks.switch,
        common=True,
    )
    passages: int | None = option(
        None,
        "Also store anchors of the words, so that queries find passages of N words or more that documents share with "
        "them.",
        checks.whole(1, MOST_WORDS, none=True),
        "N",
        default_text="no anchors, and no queries for passages",
        common=True,
    )
    seed: int | None = option(  # type: ignore[assignment] # None until it is drawn
        None,
        "Seed of all hash functions. Anyone who knows it can craft documents that all fall into one bucket.",
        checks.optional(checks.whole(0, 2**63 - 1)),
        "N",
        default_text="drawn at random and stored in the index",
    )

    @property
    def item_kind(self) -> str:
        """The kind of documents: text, items, codes, vectors or images."""
        if self.images:
            return "images"
        return next((kind for kind in ("items", "codes", "vectors") if getattr(self, kind) is not None), "text")

    @property
    def measure(self) -> str:
        """The score of an answer: jaccard, cosine, distance (Euclidean) or bits."""
        if self.item_kind == "vectors":
            return "cosine" if self.distance is None else "distance"
        return "jaccard" if self.item_kind in _SETS else "bits"

    @property
    def reach(self) -> float:
        """The maximum distance: as given, else the default of the kind."""
        return self.distance if self.distance is not None else 6.0 if self.images else 3.0

    def to_dict(self, result_only: bool = True) -> dict[str, Any]:
        """Return the options that apply to the kind of documents, as plain values."""
        values, kind = super().to_dict(result_only), self.item_kind
        for name in ("items", "codes", "vectors", "images"):
            if name != kind:
                del values[name]
        return {name: value for name, value in values.items() if kind in _OF_KINDS.get(name, (kind,))}

    def _check_together(self) -> None:
        super()._check_together()
        given = [f"--{name}" for name in ("items", "codes", "vectors") if getattr(self, name) is not None]
        given += ["--images"] if self.images else []
        if len(given) > 1:
            raise OptionError(f"{' and '.join(given)} each select a kind of documents; leave all but one out")
        defaults, kind = self.defaults(), self.item_kind
        for name, kinds in _OF_KINDS.items():
            if kind not in kinds and getattr(self, name) != defaults[name]:
                raise OptionError(f"{name} does not apply to {_NAMES[kind]}; leave it out")
        if kind == "vectors" and self.distance is not None and self.threshold != defaults["threshold"]:
            raise OptionError("vectors are compared by --threshold (cosine) or by --distance; leave one of them out")
        if kind == "vectors" and self.distance == 0:
            raise OptionError("distance is 0; allowed for an index of vectors: a number above 0")
        if self.measure == "bits" and self.reach % 1:
            raise OptionError(f"distance is {self.reach:g}; codes differ in a whole number of bits")
        if kind == "vectors" and self.bits is not None and self.learned is None:
            raise OptionError("bits does not apply to vectors without --learned; leave it out")
        if self.sample and self.learned is None and self.shingle != AUTO:
            raise OptionError(
                "sample cannot be used without learned codes or shingle auto; give --learned itq or --shingle auto, or "
                "leave it out"
            )
        if self.shingle == AUTO and not self.sample:
            raise OptionError(
                "shingle is 'auto', and a new index has no documents to measure; name some with --sample SOURCE, or "
                "give a shingle such as word:2"
            )
        if self.contained and self.store == "none":
            raise OptionError(
                "contained needs stored contents, and store is 'none'; use --store text or --store shingles"
            )
        if self.passages is not None and self.store != "text":
            raise OptionError(f"passages are found in stored texts, and store is {self.store!r}; use --store text")
        if self.bits is not None and self.bits % 8:
            raise OptionError(f"bits is {self.bits}; allowed: a multiple of 8")


@dataclass(frozen=True, kw_only=True)
class WriteOptions(Options):
    """The options of every command that changes an index."""

    title: ClassVar[str] = "Index"

    timeout: int = option(30, *_TIMEOUT, result=False, common=True)


@dataclass(frozen=True, kw_only=True)
class SourceOptions(RunOptions, ReadOptions):
    """Options for reading documents to add, or queries."""

    title: ClassVar[str] = "Work"
    kinds: ClassVar[tuple[str, ...]] = ("text", "items", "groups", "codes", "vectors", "images")
    why_not: ClassVar[str] = "works with an index of texts, sets, codes, vectors or pictures"
    lists_as_text: ClassVar[bool] = True
    # Every document is compared with the whole index, and stays in memory only while it is processed.
    left_out: ClassVar[tuple[str, ...]] = ("by", "against", "memory", "distance")

    scratch: str | None = option(
        None,
        "Folder for temporary files: a copy of stdin or of a stream.",
        checks.path,
        "FOLDER",
        default_text="the system's temporary folder",
        result=False,
    )
    batch_bytes: int = option(
        4 * 2**20,
        "Amount of text that a thread processes at a time, such as 4MiB.",
        checks.size(1024, 2**28),
        "SIZE",
        flags=("--batch",),
        result=False,
    )

    @classmethod
    def specs(cls) -> Iterator[tuple[str, OptionSpec]]:
        """Yield the name and the description of each option, in the order of the help page."""
        return ((name, spec) for name, spec in super().specs() if name not in cls.left_out)


@dataclass(frozen=True, kw_only=True)
class IndexedOptions(SourceOptions):
    """Options for reading documents of an index whose kind and measure are known."""

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
        "Return the K most similar documents, even beyond the limit of the index, unless a limit is given here.",
        checks.whole(1, 1_000_000, none=True),
        "K",
        flags=("-k", "--top"),
        default_text="all documents that reach the threshold",
        common=True,
    )
    threshold: float | None = option(
        None,
        "Minimum similarity of an answer (inclusive).",
        checks.optional(checks.number(above=0.0, most=1.0)),
        "T",
        default_text="that of the index",
        common=True,
    )
    contained: float | None = option(
        None,
        "Instead of --threshold: minimum share of the query's shingles that the document has, or of the document's "
        "shingles that the query has (inclusive).",
        checks.optional(checks.number(above=0.0, most=1.0)),
        "T",
        common=True,
    )
    distance: float | None = option(
        None,
        "Maximum distance of an answer (inclusive), if the index uses distances.",
        checks.length(),
        "R",
        default_text="that of the index",
        common=True,
    )
    any_orientation: bool = option(
        False,
        "For an index of pictures: compare each of the eight orientations of the query (four rotations, mirrored or "
        "not). The distance of an answer is the least of the eight.",
        checks.switch,
    )
    force: bool = option(
        False,
        "Allow a lower threshold or a greater distance than planned, with a lower recall.",
        checks.switch,
        common=True,
    )

    def _check_together(self) -> None:
        super()._check_together()
        other = next((name for name in ("threshold", "distance") if getattr(self, name) is not None), None)
        if self.contained is not None and other is not None:
            raise OptionError(f"--contained cannot be used with --{other}; leave one of them out")


@dataclass(frozen=True, kw_only=True)
class PassageQueryOptions(Options):
    """The options of `twinset.Index.passages`."""

    title: ClassVar[str] = "Passages"

    least: int | None = option(
        None,
        "Minimum number of words of a passage, not below that of the index.",
        checks.whole(1, MOST_WORDS, none=True),
        "N",
        default_text="that of the index",
    )
    crowd: int = option(
        PassageOptions.defaults()["crowd"],
        "Text in more documents of the index than this is boilerplate: the first of them is the answer.",
        checks.whole(1, 2**31 - 2),
        "N",
    )


@dataclass(frozen=True, kw_only=True)
class QueryCommandOptions(PassageQueryOptions, QueryOptions, SourceOptions):
    """The options of ``twinset index query``."""

    title: ClassVar[str] = "Query"
    left_out: ClassVar[tuple[str, ...]] = ("by", "against", "memory")

    passages: bool = option(
        False,
        "Find the passages that documents share with the query, and their places, instead of similar documents. For an "
        "index made with --passages.",
        checks.switch,
        common=True,
    )

    force: bool = option(
        False,
        "Allow a lower threshold or a greater distance than planned, with a lower recall. Also replace an existing "
        "output.",
        checks.switch,
        common=True,
    )

    def _check_together(self) -> None:
        super()._check_together()
        passages, others = ({name for name, _ in one.specs()} for one in (PassageQueryOptions, QueryOptions))
        wrong = (others if self.passages else passages) - {"force"}
        specs, defaults = dict(self.specs()), self.defaults()
        name = next((name for name in sorted(wrong) if getattr(self, name) != defaults[name]), None)
        if name is not None:
            flag = specs[name].spellings(name)[0]
            problem = "cannot be used with --passages; leave one of them out" if self.passages else "needs --passages"
            raise OptionError(f"{flag} {problem}")

    def _refuse_meaningless(self) -> None:
        """Leave the check to the index, which knows the kind of its documents."""


@dataclass(frozen=True, kw_only=True)
class ExportOptions(Options):
    """The options of `twinset.Index.export` and ``twinset index export``."""

    title: ClassVar[str] = "Export"

    force: bool = option(False, *FORCE, result=False)
