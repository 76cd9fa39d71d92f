"""Options for collapsing search results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from twinset.options.base import option
from twinset.options.checks import Check
from twinset.options.steps import DEFAULT_SEED, PlanOptions, ShingleOptions

__all__ = ["CollapseOptions"]

_PLAN = dict(PlanOptions.specs())


def _text(value: Any) -> Any:
    if not callable(value) and not (isinstance(value, str) and value):
        raise TypeError
    return value


@dataclass(frozen=True, kw_only=True)
class CollapseOptions(ShingleOptions):
    """The options of `twinset.collapse`."""

    title: ClassVar[str] = "Collapse"

    text: str | Callable[[Any], Any] = option(
        "text",
        "Text of a result: a key or column, or a function that takes the result and returns its text.",
        Check(_text, "the name of a key or column, or a function", in_help=False),
        "COLUMN",
    )
    threshold: float = option(
        0.8,
        "Minimum exact similarity (Jaccard) of a result to the one it is folded under (inclusive).",
        _PLAN["threshold"].check,
        "T",
    )
    seed: int = option(DEFAULT_SEED, _PLAN["seed"].help, _PLAN["seed"].check, "N")
