"""Options of queries of an index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from twinset.errors import OptionError
from twinset.options import checks
from twinset.options.base import Options, option
from twinset.options.index.sources import SourceOptions
from twinset.options.passages import MOST_WORDS, PassageOptions


@dataclass(frozen=True, kw_only=True)
class QueryOptions(Options):
    """The options of `twinset.Index.query` and ``twinset index query``."""

    title: ClassVar[str] = "Query"

    k: int | None = option(
        None,
        "Return the K most similar documents, even beyond the limit of the index, unless a limit is given here.",
        checks.whole(1, 1_000_000, none=True),
        "K",
        flags=("-k", "--top"),
        default_text="all documents that reach the threshold",
        common=True,
    )
    threshold: float | None = option(
        None,
        "Minimum similarity of an answer (inclusive).",
        checks.optional(checks.number(above=0.0, most=1.0)),
        "T",
        default_text="that of the index",
        common=True,
    )
    contained: float | None = option(
        None,
        "Instead of --threshold: minimum share of the query's shingles that the document has, or of the document's "
        "shingles that the query has (inclusive).",
        checks.optional(checks.number(above=0.0, most=1.0)),
        "T",
        common=True,
    )
    distance: float | None = option(
        None,
        "Maximum distance of an answer (inclusive), if the index uses distances.",
        checks.length(),
        "R",
        default_text="that of the index",
        common=True,
    )
    any_orientation: bool = option(
        False,
        "For an index of pictures: compare each of the eight orientations of the query (four rotations, mirrored or "
        "not). The distance of an answer is the least of the eight.",
        checks.switch,
    )
    force: bool = option(
        False,
        "Allow a lower threshold or a greater distance than planned, with a lower recall.",
        checks.switch,
        common=True,
    )

    def _check_together(self) -> None:
        super()._check_together()
        other = next((name for name in ("threshold", "distance") if getattr(self, name) is not None), None)
        if self.contained is not None and other is not None:
            raise OptionError(f"--contained cannot be used with --{other}; leave one of them out")


@dataclass(frozen=True, kw_only=True)
class PassageQueryOptions(Options):
    """The options of `twinset.Index.passages`."""

    title: ClassVar[str] = "Passages"

    least: int | None = option(
        None,
        "Minimum number of words of a passage, not below that of the index.",
        checks.whole(1, MOST_WORDS, none=True),
        "N",
        default_text="that of the index",
    )
    crowd: int = option(
        PassageOptions.defaults()["crowd"],
        "Text in more documents of the index than this is boilerplate: the first of them is the answer.",
        checks.whole(1, 2**31 - 2),
        "N",
    )


@dataclass(frozen=True, kw_only=True)
class QueryCommandOptions(PassageQueryOptions, QueryOptions, SourceOptions):
    """The options of ``twinset index query``."""

    title: ClassVar[str] = "Query"
    left_out: ClassVar[tuple[str, ...]] = ("by", "against", "memory")

    passages: bool = option(
        False,
        "Find the passages that documents share with the query, and their places, instead of similar documents. For an "
        "index made with --passages.",
        checks.switch,
        common=True,
    )

    force: bool = option(
        False,
        "Allow a lower threshold or a greater distance than planned, with a lower recall. Also replace an existing "
        "output.",
        checks.switch,
        common=True,
    )

    def _check_together(self) -> None:
        super()._check_together()
        passages, others = ({name for name, _ in one.specs()} for one in (PassageQueryOptions, QueryOptions))
        wrong = (others if self.passages else passages) - {"force"}
        specs, defaults = dict(self.specs()), self.defaults()
        name = next((name for name in sorted(wrong) if getattr(self, name) != defaults[name]), None)
        if name is not None:
            flag = specs[name].spellings(name)[0]
            problem = "cannot be used with --passages; leave one of them out" if self.passages else "needs --passages"
            raise OptionError(f"{flag} {problem}")

    def _refuse_meaningless(self) -> None:
        """Leave the check to the index, which knows the kind of its documents."""
