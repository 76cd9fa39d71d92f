"""Options of ``twinset plan``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from twinset.options import checks
from twinset.options.base import option
from twinset.options.checks import Check
from twinset.options.items import KINDS, SETS, TableOptions
from twinset.options.steps import ContainmentOptions, PlanOptions, ReadOptions, RunOptions, ShingleOptions

__all__ = ["CurveOptions", "SurveyOptions"]


def _texts(value: Any) -> tuple[str, ...]:
    several = (value,) if isinstance(value, str) else tuple(value or ())
    if not all(isinstance(one, str) for one in several):
        raise TypeError
    return several


_several = Check(_texts, "a string or a list of strings", multiple=True, in_help=False)


@dataclass(frozen=True, kw_only=True)
class SurveyOptions(RunOptions, PlanOptions, ShingleOptions, ReadOptions):
    """The options of a survey: the plan, and how to read the source."""

    title: ClassVar[str] = "Survey"
    kinds: ClassVar[tuple[str, ...]] = SETS
    why_not: ClassVar[str] = "plans for texts and sets"

    sample: int = option(
        64,
        "With a SOURCE: number of pieces of about 1 MiB to read, spread over the source.",
        checks.whole(1, 4096),
        "N",
        common=True,
    )


@dataclass(frozen=True, kw_only=True)
class CurveOptions(TableOptions, ContainmentOptions, SurveyOptions):
    """The options of ``twinset plan``."""

    title: ClassVar[str] = "Curves"
    kinds: ClassVar[tuple[str, ...]] = KINDS

    compare: tuple[str, ...] = option(
        (), "Also draw the S-curve of these bands and rows, such as 20x5.", _several, "BxR", common=True
    )
    family: tuple[str, ...] = option(
        (), "Also draw the S-curves of L tables of K bits, each a number or a range, such as 5,1-50.", _several, "K,L"
    )
    force: bool = option(False, "Replace an existing file of --plot.", checks.switch, result=False)
