"""The options of sketching as a step of its own, and what a file of sketches is known by."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from twinset.errors import OptionError
from twinset.options import checks
from twinset.options.base import option
from twinset.options.checks import Check, Word
from twinset.options.items import SETS
from twinset.options.steps import DEFAULT_SEED, FORCE, PlanOptions, ReadOptions, RunOptions, ShingleOptions

__all__ = ["METADATA", "SketchOptions", "holds_sketches"]

METADATA = b"twinset.sketches"
"""The key of a Parquet file's metadata under which it says what its sketches are."""

MOST_BOTTOM = 65535
WEIGHTS = ("count", "tf-idf", "none")

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


def _bits(value: Any) -> int | None:
    if value is not None and (isinstance(value, bool) or value not in (64, 128)):
        raise ValueError
    return None if value is None else int(value)


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
    kinds: ClassVar[tuple[str, ...]] = (*SETS, "weighted")
    why_not: ClassVar[str] = "makes sketches of sets: of texts, records, lists and groups"
    meanings: ClassVar[dict[str, tuple[str, ...]]] = {"sketch": (*SETS, "weighted")}

    sketch: str = option(
        "fss",
        "Sketch. fss: fast similarity sketching; kperm: the textbook's k permutations; bottom-k: the k least hashes; "
        "simhash: a bit code, for --codes.",
        checks.choice("fss", "kperm", "bottom-k", "simhash"),
    )
    n_hashes: int = option(
        128, "Hashes in a sketch.", checks.whole(1, MOST_BOTTOM + 1), "K", flags=("--hashes", "--n-hashes")
    )
    bits: int | None = option(
        None,
        "With --sketch simhash: bits of a code.",
        Check(_bits, "64 or 128", int),
        "N",
        default_words="64",
    )
    weights: str | None = option(
        None,
        "With --sketch simhash: how much a shingle counts. count: as often as it occurs, or as --weight says; "
        "tf-idf: that times its rarity, for which the sources are read twice; none: all alike.",
        checks.optional(checks.choice(*WEIGHTS)),
        default_words="count",
    )
    seed: int = option(DEFAULT_SEED, _SEED.help, _SEED.check, "N")
    merge: bool = option(False, "Rows of the same id are one: the sketch of the union of their sets.", checks.switch)
    force: bool = option(False, *FORCE, result=False)

    @classmethod
    def words(cls) -> Iterator[tuple[str, Word]]:
        """Give each option's name with what is said about it, in the order of the help page."""
        # Nothing is compared here, so there is nothing to compare within or against; and only sets are sketched.
        none = ("by", "against", "codes", "vectors", "images", "distance")
        return ((name, word) for name, word in super().words() if name not in none)

    def _check_together(self) -> None:
        super()._check_together()
        if self.sketch == "bottom-k" and self.n_hashes > MOST_BOTTOM:
            raise OptionError(f"n_hashes is {self.n_hashes}; allowed of bottom-k is at most {MOST_BOTTOM}")
        if self.sketch == "simhash":
            self._refuse_with_codes()
            return
        for name in ("bits", "weights"):
            if getattr(self, name) is not None:
                raise OptionError(f"--{name} has no meaning with --sketch {self.sketch}; it is of --sketch simhash")
        if self.weight is not None:
            raise OptionError(
                f"--weight has no meaning with --sketch {self.sketch}, which is of sets; --sketch simhash makes codes "
                "of weighted sets, and twinset pairs compares them as they are"
            )

    def _refuse_with_codes(self) -> None:
        reasons = {
            "n_hashes": "a code has --bits",
            "bag": "--weights count counts repeats",
            "merge": "two codes do not tell that of the union",
        }
        words, defaults = dict(self.words()), self.defaults()
        for name, reason in reasons.items():
            if getattr(self, name) != defaults[name]:
                flag = words[name].spellings(name)[0]
                raise OptionError(f"{flag} has no meaning with --sketch simhash: {reason}; leave it out")

    @property
    def code_bits(self) -> int:
        """Bits of a SimHash code."""
        return self.bits or 64

    @property
    def code_weights(self) -> str:
        """How much a shingle of a SimHash code counts."""
        return self.weights or "count"

    def items_meant(self) -> dict[str, Any]:
        """Give what the elements of the sets are, in plain values: sketches of others cannot be compared."""
        kind = self.item_kind
        if kind in ("items", "groups", "weighted"):
            return {"kind": "sets", "bag": self.bag}
        names = ("shingle", "bag", "lowercase", "nfc", "squeeze", "split")
        found: dict[str, Any] = {"kind": kind, **{name: getattr(self, name) for name in names}}
        if kind == "records":
            found["text"] = [[one.shingle, one.weight] for one in self.text_columns]
            found["columns"] = [one.name for one in self.text_columns]
        return found
