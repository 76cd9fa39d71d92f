"""Options of a new index, which it stores."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from twinset.errors import OptionError
from twinset.options import checks
from twinset.options.base import option
from twinset.options.checks import AUTO
from twinset.options.items import ItemOptions, TextColumn, check_set_columns, text_columns_of
from twinset.options.passages import MOST_WORDS
from twinset.options.steps import PlanOptions, ShingleOptions

_ITEM_SPECS = dict(ItemOptions.specs())

_TEXTS, _SETS = ("text", "records"), ("text", "records", "items")
_WEIGHTED = (*_SETS, "weighted")
_OF_KINDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("shingle", "lowercase", "nfc", "squeeze", "spaces", "split"), _TEXTS),
    "passages": ("text",),
    **dict.fromkeys(("bag", "sketch", "contained"), _SETS),
    **dict.fromkeys(("n_hashes", "n_bands", "rows_per_band", "store"), _WEIGHTED),
    **dict.fromkeys(("threshold", "recall"), (*_WEIGHTED, "vectors")),
    "distance": ("codes", "vectors", "images"),
    "bits": ("codes", "vectors"),
    **dict.fromkeys(("dimensions", "learned"), ("vectors",)),
}
"""Kinds of documents to which an option applies; an option that is not listed applies to all."""

_NAMES = {
    "text": "texts",
    "records": "records (--text)",
    "items": "sets (--items)",
    "weighted": "weighted sets (--weight)",
    "codes": "bit codes (--codes)",
    "vectors": "vectors (--vectors)",
    "images": "pictures (--images)",
}


_COLUMNS = ("text", "items", "group", "item", "weight", "codes", "vectors")
"""The options that name columns."""


def _as_elsewhere(name: str, default: Any = None) -> Any:
    """Reuse the description of an option of `ItemOptions`."""
    return field(default=default, metadata={"spec": _ITEM_SPECS[name]})


@dataclass(frozen=True, kw_only=True)
class IndexOptions(PlanOptions, ShingleOptions):
    """The options of `twinset.Index.create` and ``twinset index create``, which cannot be changed later."""

    title: ClassVar[str] = "Index"
    measures_texts: ClassVar[bool] = True

    text: str | tuple[str, ...] | None = option(
        None,
        "Text column that index add and index query read unless they name another. Several columns make records, each "
        "given as COLUMN[,SHINGLE[,WEIGHT]].",
        checks.optional(_ITEM_SPECS["text"].check),
        "COLUMN",
        default_text="text",
        common=True,
    )
    items: str | None = option(
        None, "Column of lists: documents are sets.", checks.column(none=True), "COLUMN", common=True
    )
    group: str | None = option(
        None,
        "Long tables: rows with the same value in this column are one document, a set.",
        checks.column(none=True),
        "COLUMN",
        common=True,
    )
    item: str | None = _as_elsewhere("item")
    weight: str | None = option(
        None,
        "With --group or --items: column of the weights of the elements; documents are weighted sets.",
        checks.column(none=True),
        "COLUMN",
        common=True,
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
        """The kind of documents: text, records, items (sets), weighted, codes, vectors or images."""
        if self.images:
            return "images"
        if self.items is not None or self.group is not None:
            return "items" if self.weight is None else "weighted"
        return next((kind for kind in ("codes", "vectors") if getattr(self, kind) is not None), self._text_kind)

    @property
    def _text_kind(self) -> str:
        return "records" if isinstance(self.text, tuple) else "text"

    @property
    def text_columns(self) -> tuple[TextColumn, ...]:
        """The columns of a record."""
        return text_columns_of(self.text) if isinstance(self.text, tuple) else ()

    @property
    def documents_are(self) -> str:
        """The name of documents of this kind, for messages."""
        return _NAMES[self.item_kind].partition(" (")[0]

    @property
    def measure(self) -> str:
        """The score of an answer: jaccard, cosine, distance (Euclidean) or bits."""
        if self.item_kind == "vectors":
            return "cosine" if self.distance is None else "distance"
        return "jaccard" if self.item_kind in _WEIGHTED else "bits"

    @property
    def reach(self) -> float:
        """The maximum distance: as given, else the default of the kind."""
        return self.distance if self.distance is not None else 6.0 if self.images else 3.0

    def to_dict(self, result_only: bool = True) -> dict[str, Any]:
        """Return the options that apply to the kind of documents, as plain values."""
        values, kind = super().to_dict(result_only), self.item_kind
        for name in (*_COLUMNS, "images"):
            if values[name] is None or values[name] is False:
                del values[name]
        return {name: value for name, value in values.items() if kind in _OF_KINDS.get(name, (kind,))}

    def _check_together(self) -> None:
        super()._check_together()
        self._check_columns()
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

    def _check_columns(self) -> None:
        """Check the columns that select a kind of documents."""
        given = [
            f"--{name}" for name in ("text", "items", "group", "codes", "vectors") if getattr(self, name) is not None
        ]
        given += ["--images"] if self.images else []
        if len(given) > 1:
            raise OptionError(f"{' and '.join(given)} each select a kind of documents; leave all but one out")
        check_set_columns(self.items, self.group, self.item, self.weight)
        if self.group is not None and self.bag:
            raise OptionError("--bag cannot be used with --group, whose rows make sets; leave it out, or use --items")
        if self.weight is not None and self.store == "none":
            raise OptionError(
                "store is 'none', and sketches of weighted sets do not tell their weights; use --store text or "
                "--store shingles"
            )
