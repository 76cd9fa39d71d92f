"""Options of ``twinset review``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from twinset.options import checks
from twinset.options.base import option
from twinset.options.web import WebOptions

__all__ = ["ReviewOptions"]


@dataclass(frozen=True, kw_only=True)
class ReviewOptions(WebOptions):
    """The options of ``twinset review``."""

    title: ClassVar[str] = "Review"

    verdicts: str | None = option(
        None,
        "File of verdicts; if it does not exist, the first verdict makes it.",
        checks.path,
        "FILE",
        default_text="OUT.verdicts",
        common=True,
    )
    who: str | None = option(
        None,
        "Name stored with verdicts; each browser can choose another one.",
        checks.text("a name"),
        "NAME",
        default_text="the name of the user, or of the token",
        common=True,
    )
    blind: bool = option(False, "Hide all scores, so that they do not influence verdicts.", checks.switch, common=True)
    source: tuple[str, ...] = option(
        (),
        "New path of a source of the result that has moved; give all sources, in their original order.",
        checks.items(str),
        "PATH",
        common=True,
    )
    scratch: str | None = option(
        None,
        "Folder for a copy of the texts shown, which is removed at the end.",
        checks.path,
        "FOLDER",
        default_text="the system's temporary folder",
        common=True,
    )
