"""Options of ``twinset verdicts``."""

from __future__ import annotations

import getpass
from dataclasses import dataclass
from typing import Any, ClassVar

from twinset.options import checks
from twinset.options.base import Options, option
from twinset.options.steps import FORCE

__all__ = ["ExportVerdictsOptions", "PrecisionOptions", "SampleVerdictsOptions", "user_name"]


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
