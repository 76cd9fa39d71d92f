"""Options of ``twinset sketch`` and of `twinset.register`, and the test for files of sketches."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from twinset.errors import OptionError
from twinset.options import checks
from twinset.options.base import option
from twinset.options.checks import Check, OptionSpec
from twinset.options.items import SETS
from twinset.options.steps import DEFAULT_SEED, FORCE, PlanOptions, ReadOptions, RunOptions, ShingleOptions

__all__ = ["METADATA", "SketchOptions", "SqlOptions", "holds_sketches"]

METADATA = b"twinset.sketches"
"""The key of the Parquet metadata that describes the sketches."""

MOST_BOTTOM = 65535
WEIGHTS = ("count", "tf-idf", "none")

_SEED = dict(PlanOptions.specs())["seed"]
_MOST_FOOTER = 64 * 2**20


def holds_sketches(source: object) -> bool:
    """Whether a source is a file or a table of sketches; of a file, only the footer is read.

    Examples
    --------
    >>> holds_sketches("nothing-there.parquet"), holds_sketches(["a text"])
    (False, False)
    """
    if not isinstance(source, (str, os.PathLike)):
        return METADATA in (getattr(getattr(source, "schema", None), "metadata", None) or {})
    if not os.path.isfile(source):
        return False  # reading a pipe would consume its data
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
        return False  # the reader of the source reports the error


def _bits(value: Any) -> int | None:
    if value is not None and (isinstance(value, bool) or value not in (64, 128)):
        raise ValueError
    return None if value is None else int(value)


@dataclass(frozen=True, kw_only=True)
class SketchRunOptions(RunOptions):
    """Resources of a run that makes sketches; none of these options changes a result."""

    title: ClassVar[str] = "Work"

    scratch: str | None = option(
        None,
        "Folder for temporary files: sketches to merge, a copy of stdin or of a stream.",
        checks.path,
        "FOLDER",
        default_text="the system's temporary folder",
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
        "Sketch method. fss: fast similarity sketching; kperm: k permutations, as in textbooks; bottom-k: the k "
        "smallest hashes; simhash: a bit code, for --codes.",
        checks.choice("fss", "kperm", "bottom-k", "simhash"),
        common=True,
    )
    n_hashes: int = option(
        128, "Hashes per sketch.", checks.whole(1, MOST_BOTTOM + 1), "K", flags=("--hashes", "--n-hashes"), common=True
    )
    bits: int | None = option(
        None,
        "With --sketch simhash: bits per code.",
        Check(_bits, "64 or 128", int),
        "N",
        default_text="64",
        common=True,
    )
    weights: str | None = option(
        None,
        "With --sketch simhash: weight of a shingle. count: its number of occurrences, or its --weight; tf-idf: count "
        "times rarity, which reads the sources twice; none: 1 for all.",
        checks.optional(checks.choice(*WEIGHTS)),
        default_text="count",
    )
    seed: int = option(DEFAULT_SEED, _SEED.help, _SEED.check, "N")
    merge: bool = option(
        False, "Merge rows with the same id: the sketch of the union of their sets.", checks.switch, common=True
    )
    force: bool = option(False, *FORCE, result=False, common=True)

    @classmethod
    def specs(cls) -> Iterator[tuple[str, OptionSpec]]:
        """Yield the name and the description of each option, in the order of the help page."""
        # Nothing is compared here, and only sets are sketched.
        unused = ("by", "against", "codes", "vectors", "images", "distance")
        return ((name, spec) for name, spec in super().specs() if name not in unused)

    def _check_together(self) -> None:
        super()._check_together()
        if self.sketch == "bottom-k" and self.n_hashes > MOST_BOTTOM:
            raise OptionError(f"n_hashes is {self.n_hashes}; allowed for bottom-k: at most {MOST_BOTTOM}")
        if self.sketch == "simhash":
            self._refuse_with_codes()
            return
        for name in ("bits", "weights"):
            if getattr(self, name) is not None:
                raise OptionError(f"--{name} cannot be used with --sketch {self.sketch}; it needs --sketch simhash")
        if self.weight is not None:
            raise OptionError(
                f"--weight cannot be used with --sketch {self.sketch}, which is for unweighted sets; --sketch simhash "
                "makes codes of weighted sets, and twinset pairs compares weighted sets directly"
            )

    def _refuse_with_codes(self) -> None:
        reasons = {
            "n_hashes": "a code has --bits",
            "bag": "--weights count counts repeats",
            "merge": "the code of a union cannot be computed from two codes",
        }
        specs, defaults = dict(self.specs()), self.defaults()
        for name, reason in reasons.items():
            if getattr(self, name) != defaults[name]:
                flag = specs[name].spellings(name)[0]
                raise OptionError(f"{flag} cannot be used with --sketch simhash: {reason}; leave it out")

    @property
    def code_bits(self) -> int:
        """Bits of a SimHash code."""
        return self.bits or 64

    @property
    def code_weights(self) -> str:
        """How shingles are weighted in a SimHash code."""
        return self.weights or "count"

    def describe_items(self) -> dict[str, Any]:
        """Describe the elements of the sets in plain values; only sketches with equal descriptions are comparable."""
        kind = self.item_kind
        if kind in ("items", "groups", "weighted"):
            return {"kind": "sets", "bag": self.bag}
        names = ("shingle", "bag", "lowercase", "nfc", "squeeze", "split")
        description: dict[str, Any] = {"kind": kind, **{name: getattr(self, name) for name in names}}
        if not self.spaces:
            description["spaces"] = False
        if kind == "records":
            description["text"] = [[one.shingle, one.weight] for one in self.text_columns]
            description["columns"] = [one.name for one in self.text_columns]
        return description


def _prefix(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[a-z_][a-z0-9_]{0,39}", value):
        raise ValueError
    return value


@dataclass(frozen=True, kw_only=True)
class SqlOptions(PlanOptions, ShingleOptions):
    """The options of `twinset.register`."""

    title: ClassVar[str] = "SQL"

    prefix: str = option(
        "twinset",
        "Beginning of the names of the functions; another one for each set of options.",
        checks.Check(_prefix, "up to 40 lower-case letters, digits and underscores, a letter first", in_help=False),
        "NAME",
    )
