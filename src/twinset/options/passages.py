"""Options of passages: what is long enough, what is joined, and what stands in too many documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from twinset.options import checks
from twinset.options.base import Options, option

__all__ = ["PassageOptions"]


@dataclass(frozen=True, kw_only=True)
class PassageOptions(Options):
    """Options that define a shared passage."""

    title: ClassVar[str] = "Passages"

    least: int = option(50, "Minimum number of words of a passage.", checks.whole(1, 10_000), "WORDS", common=True)
    gap: int = option(
        0,
        "Maximum number of words between two shared runs of a passage.",
        checks.whole(0, 10_000),
        "WORDS",
        common=True,
    )
    run: int = option(5, "With --gap: minimum number of words of a shared run.", checks.whole(1, 10_000), "WORDS")
    crowd: int = option(
        100, "Leave out passages that are in more than this number of documents.", checks.whole(2, 2**31), "N"
    )
    within: bool = option(False, "Also find passages that one document has twice.", checks.switch)
