"""Options of `twinset.register`: how the SQL functions compare texts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

from twinset.options import checks
from twinset.options.base import option
from twinset.options.steps import PlanOptions, ShingleOptions


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
