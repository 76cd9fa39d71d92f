"""Options of ``twinset plan`` and ``twinset textbook``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from twinset.options import checks
from twinset.options.base import option
from twinset.options.checks import Check, OptionSpec
from twinset.options.items import KINDS, SETS, TableOptions
from twinset.options.steps import (
    DEFAULT_SEED,
    FORCE,
    SEED,
    ContainmentOptions,
    PlanOptions,
    ReadOptions,
    RunOptions,
    ShingleOptions,
)

__all__ = ["CurveOptions", "SurveyOptions", "TextbookOptions"]

_NOT_FOR_THE_TEXTBOOK = (
    *("items", "group", "item", "weight", "codes", "vectors", "sparse", "images", "distance", "by", "against"),
)


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


@dataclass(frozen=True, kw_only=True)
class TextbookOptions(ShingleOptions, ReadOptions):
    """The options of ``twinset textbook``."""

    title: ClassVar[str] = "Textbook"
    kinds: ClassVar[tuple[str, ...]] = ("text",)
    why_not: ClassVar[str] = "shows pairs of texts"

    shingle: str = option(
        "char:5",
        "Shingles to compare: runs of K words or K characters. Short ones give pairs of all similarities.",
        checks.shingle_spec,
        "KIND:K",
        common=True,
    )
    documents: int = option(
        500,
        "Maximum number of documents to compare; of more, a sample is drawn by their contents.",
        checks.whole(2, 2000),
        "N",
        common=True,
    )
    texts: bool = option(
        True,
        "Show the beginning of each text.",
        checks.switch,
        off_help="Show ids and numbers only, no texts of documents.",
        common=True,
    )
    seed: int = option(DEFAULT_SEED, *SEED)
    force: bool = option(False, *FORCE, result=False, common=True)

    @classmethod
    def specs(cls) -> Iterator[tuple[str, OptionSpec]]:
        """Yield the name and the description of each option, in the order of the help page."""
        # Texts of one collection, all compared with each other.
        return ((name, spec) for name, spec in super().specs() if name not in _NOT_FOR_THE_TEXTBOOK)
