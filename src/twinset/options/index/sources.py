"""Options of the commands that change an index, and for reading its documents and queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from twinset.options import checks
from twinset.options.base import Options, option
from twinset.options.checks import OptionSpec
from twinset.options.steps import FORCE, ReadOptions, RunOptions

_TIMEOUT = ("Seconds to wait for another writer.", checks.whole(0, 86_400), "SECONDS")


@dataclass(frozen=True, kw_only=True)
class WriteOptions(Options):
    """The options of every command that changes an index."""

    title: ClassVar[str] = "Index"

    timeout: int = option(30, *_TIMEOUT, result=False, common=True)


@dataclass(frozen=True, kw_only=True)
class SourceOptions(RunOptions, ReadOptions):
    """Options for reading documents to add, or queries."""

    title: ClassVar[str] = "Work"
    kinds: ClassVar[tuple[str, ...]] = ("text", "records", "items", "groups", "weighted", "codes", "vectors", "images")
    why_not: ClassVar[str] = "works with an index of texts, records, sets, codes, vectors or pictures"
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
class ExportOptions(Options):
    """The options of `twinset.Index.export` and ``twinset index export``."""

    title: ClassVar[str] = "Export"

    force: bool = option(False, *FORCE, result=False)
