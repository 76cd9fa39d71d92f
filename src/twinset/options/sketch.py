"""The options of sketching as a step of its own, and what a file of sketches is known by."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from .. import checks
from ..checks import Word
from ..errors import OptionError
from .groups import option
from .items import SETS
from .steps import DEFAULT_SEED, FORCE, PlanOptions, ReadOptions, RunOptions, ShingleOptions

__all__ = ["METADATA", "SketchOptions", "holds_sketches"]

METADATA = b"twinset.sketches"
"""The key of a Parquet file's metadata under which it says what its sketches are."""

MOST_BOTTOM = 65535

_SEED = dict(PlanOptions.words())["seed"]
_MOST_FOOTER = 64 * 2**20


def holds_sketches(source: object) -> bool:
    """Whether a source is a file of sketches, or a table of them; for a file, by its footer alone.

    Examples
    --------
    >>> holds_sketches("nothing-there.parquet"), holds_sketches(["a text"])
    (False, False)
    """
    if not isinstance(source, (str, os.PathLike)):
        return METADATA in (getattr(getattr(source, "schema", None), "metadata", None) or {})
    if not os.path.isfile(source):
        return False  # opening a pipe would take what is in it
    try:
        with open(source, "rb") as file:
            file.seek(-8, os.SEEK_END)
            tail = file.read(8)
            size = int.from_bytes(tail[:4], "little")
            if tail[4:] != b"PAR1" or size > _MOST_FOOTER:
                return False
            file.seek(-8 - size, os.SEEK_END)
            return METADATA in file.read(size)
    except (OSError, ValueError):
        return False  # whoever reads it meets the same, and tells of it


@dataclass(frozen=True, kw_only=True)
class SketchRunOptions(RunOptions):
    """How sketches are made; none of these changes a result."""

    title: ClassVar[str] = "Work"

    scratch: str | None = option(
        None,
        "Folder for files that are needed during the run only: what is to be merged, a copy of stdin or of a stream.",
        checks.path,
        "FOLDER",
        default_words="the system's temporary folder",
        result=False,
    )


@dataclass(frozen=True, kw_only=True)
class SketchOptions(SketchRunOptions, ShingleOptions, ReadOptions):
    """The options of `twinset.sketch` and ``twinset sketch``."""

    title: ClassVar[str] = "Sketch"
    kinds: ClassVar[tuple[str, ...]] = SETS
    why_not: ClassVar[str] = "makes sketches of sets: of texts, records, lists and groups"

    sketch: str = option(
        "fss",
        "Sketch. fss: fast similarity sketching; kperm: the textbook's k permutations; bottom-k: the k least hashes.",
        checks.choice("fss", "kperm", "bottom-k"),
    )
    n_hashes: int = option(
        128, "Hashes in a sketch.", checks.whole(1, MOST_BOTTOM + 1), "K", flags=("--hashes", "--n-hashes")
    )
    seed: int = option(DEFAULT_SEED, _SEED.help, _SEED.check, "N")
    merge: bool = option(False, "Rows of the same id are one: the sketch of the union of their sets.", checks.switch)
    force: bool = option(False, *FORCE, result=False)

    @classmethod
    def words(cls) -> Iterator[tuple[str, Word]]:
        """Give each option's name with what is said about it, in the order of the help page."""
        # Nothing is compared here, so there is nothing to compare within or against; and only sets are sketched.
        none = ("by", "against", "weight", "codes", "vectors", "images", "distance")
        return ((name, word) for name, word in super().words() if name not in none)

    def _check_together(self) -> None:
        super()._check_together()
        if self.sketch == "bottom-k" and self.n_hashes > MOST_BOTTOM:
            raise OptionError(f"n_hashes is {self.n_hashes}; allowed of bottom-k is at most {MOST_BOTTOM}")

    def items_meant(self) -> dict[str, Any]:
        """Give what the elements of the sets are, in plain values: sketches of others cannot be compared."""
        kind = self.item_kind
        if kind in ("items", "groups"):
            return {"kind": "sets", "bag": self.bag}
        names = ("shingle", "bag", "lowercase", "nfc", "squeeze", "split")
        found: dict[str, Any] = {"kind": kind, **{name: getattr(self, name) for name in names}}
        if kind == "records":
            found["text"] = [[one.shingle, one.weight] for one in self.text_columns]
        return found
