"""Options of the index: written once, as all others are in `options.py`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from .. import checks
from ..checks import Word
from ..errors import OptionError
from .groups import Options, option
from .steps import FORCE, PlanOptions, ReadOptions, RunOptions, ShingleOptions

__all__ = [
    "AddOptions",
    "AskOptions",
    "ExportOptions",
    "IndexOptions",
    "QueryOptions",
    "SourceOptions",
    "WriteOptions",
]

_TIMEOUT = (
    "Seconds to wait for another writer before giving up.",
    checks.whole(0, 86_400),
    "SECONDS",
)


@dataclass(frozen=True, kw_only=True)
class IndexOptions(PlanOptions, ShingleOptions):
    """The options of `twinset.Index.create` and ``twinset index create``: fixed for the index's life."""

    title: ClassVar[str] = "Index"

    items: str | None = option(
        None, "The documents are sets: column that holds their lists.", checks.column(none=True), "COLUMN"
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
        """What the documents are: texts, or sets of items."""
        return "text" if self.items is None else "items"

    def to_dict(self, result_only: bool = True) -> dict[str, Any]:
        """Give the options as plain values; of an index of texts, those that every version of it has had."""
        found = super().to_dict(result_only)
        if self.items is None:
            del found["items"]
        return found

    def _check_together(self) -> None:
        super()._check_together()
        defaults = self.defaults()
        for name in ("shingle", "lowercase", "nfc", "squeeze", "split") if self.items is not None else ():
            if getattr(self, name) != defaults[name]:
                raise OptionError(f"{name} has no meaning for sets (--items); leave it out")


@dataclass(frozen=True, kw_only=True)
class WriteOptions(Options):
    """The options of every command that changes an index."""

    title: ClassVar[str] = "Index"

    timeout: int = option(30, *_TIMEOUT, result=False)


@dataclass(frozen=True, kw_only=True)
class SourceOptions(RunOptions, ReadOptions):
    """How documents are read on their way to an index, to be added or asked for."""

    title: ClassVar[str] = "Work"
    kinds: ClassVar[tuple[str, ...]] = ("text", "items")
    why_not: ClassVar[str] = "works with an index of texts or of sets"
    lists_as_text: ClassVar[bool] = True

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
        # Every document is compared with the whole index, and none is held in memory for longer than it is worked on.
        return ((name, word) for name, word in super().words() if name not in ("by", "against", "memory"))


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
        "The K most similar documents, also below the threshold of the index unless --threshold is given.",
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
    force: bool = option(
        False, "Ask below the threshold that the index was planned for, and find less than was promised.", checks.switch
    )


@dataclass(frozen=True, kw_only=True)
class AskOptions(QueryOptions, SourceOptions):
    """The options of ``twinset index query``."""

    title: ClassVar[str] = "Query"

    force: bool = option(
        False,
        "Ask below the threshold that the index was planned for, and find less than was promised. Also: replace an "
        "output that exists.",
        checks.switch,
    )


@dataclass(frozen=True, kw_only=True)
class ExportOptions(Options):
    """The options of `twinset.Index.export` and ``twinset index export``."""

    title: ClassVar[str] = "Export"

    force: bool = option(False, *FORCE, result=False)
