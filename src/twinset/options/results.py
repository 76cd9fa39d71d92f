"""Options of the commands that read a result: explain, recut, report, verdicts."""

from __future__ import annotations

import getpass
import os
from dataclasses import dataclass
from typing import Any, ClassVar

from twinset.errors import OptionError
from twinset.options import checks
from twinset.options.base import Options, option
from twinset.options.keep_rules import DATE_FORMAT, KEEP
from twinset.options.steps import CLUSTER, DETAILS_FORMAT, FORCE, RunOptions, ShingleOptions

__all__ = ["ExplainOptions", "ExportVerdictsOptions", "PrecisionOptions", "RecutOptions", "ReportOptions",
           "SampleVerdictsOptions", "user_name"]  # fmt: skip

_SOURCE = (
    "Path of a source of the result that has moved, or its address; give all sources, in their original order.",
    checks.items(str),
    "PATH",
)


def _verdicts(value: Any) -> str | None:
    """Convert to a path; True, or a flag without a value, stands for the file beside the result."""
    if value is None or value is False:
        return None
    return "" if value is True else os.fsdecode(value)


@dataclass(frozen=True, kw_only=True)
class ExplainOptions(ShingleOptions):
    """The options of `twinset.explain` and ``twinset explain``."""

    title: ClassVar[str] = "Explanation"

    encoding: str = option("utf-8", "Encoding of the two files.", checks.encoding_name, "NAME")
    context: int = option(6, "Equal words to show around each difference.", checks.whole(0, 1_000_000), "N")
    full: bool = option(False, "Show all words and all shingles.", checks.switch)
    shingles: int = option(8, "Shingles to show of each kind.", checks.whole(0, 1_000_000), "N")
    source: tuple[str, ...] = option((), *_SOURCE)


@dataclass(frozen=True, kw_only=True)
class RecutOptions(RunOptions):
    """The options of `DedupResult.rethreshold` and ``twinset recut``."""

    title: ClassVar[str] = "Clusters"

    threshold: float | None = option(
        None,
        "Minimum exact similarity of a removed document to the kept one (inclusive); not below the floor of OUT.",
        checks.optional(checks.number(above=0.0, most=1.0)),
        "T",
        default_text="as in OUT",
        common=True,
    )
    contained: float | None = option(
        None,
        "For a result of --contained: minimum share of a removed document's shingles that the kept one has "
        "(inclusive); not below the floor of OUT.",
        checks.optional(checks.number(above=0.0, most=1.0)),
        "T",
        default_text="as in OUT",
        common=True,
    )
    distance: float | None = option(
        None,
        "Maximum distance of a removed document from the kept one (inclusive): bits for codes and pictures, Euclidean "
        "for vectors; not beyond the floor of OUT.",
        checks.length(),
        "R",
        default_text="as in OUT",
        common=True,
    )
    rows: int | None = option(
        None,
        "Find the threshold or distance that leaves about N rows.",
        checks.whole(0, 2**32, none=True),
        "N",
        common=True,
    )
    keep: str | None = option(None, KEEP[0], checks.optional(KEEP[1]), KEEP[2], default_text="as in OUT", common=True)
    date_format: str | None = option(None, *DATE_FORMAT, default_text="as in OUT")
    cluster: str | None = option(None, CLUSTER[0], checks.optional(CLUSTER[1]), default_text="as in OUT")
    verdicts: str | None = option(
        None,
        "Obey the verdicts in this file, as for dedup; without FILE those in OUT.verdicts, where review puts them.",
        checks.Check(_verdicts, "the path of a file of verdicts, or True for OUT.verdicts", in_help=False),
        "[FILE]",
        bare="",
        common=True,
    )
    source: tuple[object, ...] = option(
        (),
        "Path of a SOURCE of OUT that has moved, or its address; give all sources, in their original order.",
        checks.items(object),
        "PATH",
    )
    details_format: str = option("parquet", *DETAILS_FORMAT, result=False)
    force: bool = option(False, *FORCE, result=False, common=True)

    def _check_together(self) -> None:
        super()._check_together()
        limits = {name: getattr(self, name) for name in ("threshold", "contained", "distance")}
        given = {name: value for name, value in limits.items() if value is not None}
        if len(given) > 1:
            names = " or by ".join(f"--{name}" for name in given)
            raise OptionError(f"items are compared by {names}; leave one of them out")
        for name, value in given.items():
            if self.rows is not None:
                raise OptionError(
                    f"{name} is {value:g} and rows is {self.rows}: each determines the other; leave one of them out"
                )


@dataclass(frozen=True, kw_only=True)
class ReportOptions(Options):
    """The options of `DedupResult.report` and ``twinset report``."""

    title: ClassVar[str] = "Report"

    clusters: int = option(
        40,
        "Clusters to show with their differences: the N largest and the N most doubtful.",
        checks.whole(0, 1000),
        "N",
    )
    rows: int = option(
        200_000,
        "Maximum number of removed documents and clusters to list; the page says if there are more.",
        checks.whole(0, 5_000_000),
        "N",
    )
    texts: bool = option(
        True, "Show texts.", checks.switch, off_help="Show ids and numbers only, no texts of documents."
    )
    source: tuple[str, ...] = option((), *_SOURCE)
    card: bool = option(
        False,
        "Write the section Deduplication for the card of a data set, as Markdown, instead of a page.",
        checks.switch,
        common=True,
    )
    force: bool = option(False, *FORCE, result=False)

    def _check_together(self) -> None:
        super()._check_together()
        defaults, specs = self.defaults(), dict(self.specs())
        for name in ("clusters", "rows", "texts", "source") if self.card else ():
            if getattr(self, name) != defaults[name]:
                flag = specs[name].spellings(name)[0]
                raise OptionError(f"{flag} does not apply to --card, which shows no documents; leave one of them out")


def user_name() -> str:
    """Return the name of the user, under which verdicts are stored unless another name is given."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container may have no name for its user
        return "nobody"


def _name(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        raise TypeError
    return value


PERSON = (
    "Name to store with each verdict.",
    checks.Check(_name, "a name", in_help=False),
    "NAME",
)


@dataclass(frozen=True, kw_only=True)
class ExportVerdictsOptions(Options):
    """The options of ``twinset verdicts export``."""

    title: ClassVar[str] = "Export"

    force: bool = option(False, *FORCE, result=False, common=True)


@dataclass(frozen=True, kw_only=True)
class SampleVerdictsOptions(Options):
    """The options of `DedupResult.sample` and ``twinset verdicts sample``."""

    title: ClassVar[str] = "Sample"

    pairs: int = option(60, "Number of pairs to draw.", checks.whole(1, 1_000_000), "N", common=True)
    strata: int = option(
        6,
        "Number of ranges of similarity, each of which gets its share of the pairs; the precision is estimated at the "
        "lower end of each.",
        checks.whole(1, 1000),
        "N",
        common=True,
    )
    seed: int = option(1, "Seed of the random choice.", checks.whole(0, 2**64 - 1), "N")
    verdicts: str | None = option(
        None,
        "File of verdicts in which to store the sample.",
        checks.verdicts_file,
        "FILE",
        default_text="OUT.verdicts",
        common=True,
    )
    name: str | None = option(None, *PERSON, default_text="the name of the user")


@dataclass(frozen=True, kw_only=True)
class PrecisionOptions(Options):
    """The options of ``twinset verdicts precision``."""

    title: ClassVar[str] = "Precision"

    precision: float | None = option(
        None,
        "Also find the lowest threshold whose precision is at least P, by the lower end of its interval.",
        checks.optional(checks.number(above=0.0, below=1.0)),
        "P",
        common=True,
    )
    sample: int | None = option(
        None,
        "Use sample N, counted from 1.",
        checks.whole(1, 2**31 - 1, none=True),
        "N",
        default_text="the last one",
    )
