"""Options of the jobs: pairs, dedup, compare, collapse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from twinset.errors import OptionError
from twinset.options import checks
from twinset.options.base import Options, option
from twinset.options.checks import Check, OptionSpec
from twinset.options.items import SETS, VECTORS, TableOptions, optional_column
from twinset.options.keep_rules import DATE_FORMAT, KEEP, RuleChain, check_date_format, check_kind, parse_keep
from twinset.options.steps import (
    CLUSTER,
    DEFAULT_SEED,
    DETAILS_FORMAT,
    ENCODING,
    FORCE,
    MOST_HASHES,
    SEED,
    SKETCH,
    AuditOptions,
    ContainmentOptions,
    EngineOptions,
    PlanOptions,
    ReadOptions,
    RunOptions,
    ShingleOptions,
)

_PLAN = dict(PlanOptions.specs())
_FLOOR = "a number above 0 and up to 1; for items with a distance, 0 or more"


@dataclass(frozen=True, kw_only=True)
class OrientationOptions(Options):
    """The option for pictures that are rotated or mirrored."""

    any_orientation: bool = option(
        False,
        "With --images: also find rotated and mirrored copies. The distance of two pictures is then the least between "
        "one of the eight orientations of one (four rotations, mirrored or not) and the other.",
        checks.switch,
    )


@dataclass(frozen=True, kw_only=True)
class PairsOptions(
    OrientationOptions, AuditOptions, RunOptions, EngineOptions, TableOptions, ContainmentOptions, ShingleOptions,
    ReadOptions,
):  # fmt: skip
    """The options of `twinset.find_pairs` and ``twinset pairs``."""

    title: ClassVar[str] = "Pairs"
    measures_texts: ClassVar[bool] = True
    # Options that only dedup has.
    keep_rules: ClassVar[tuple[tuple[str, str | None], ...]] = ()
    flag: ClassVar[bool] = False
    copy: ClassVar[bool] = False
    details_format: ClassVar[str] = "parquet"
    least_shingles: ClassVar[int] = 1

    exact: bool = option(
        False,
        "Find every pair: join the shingle sets exactly, without sketches. Slower if documents share many shingles.",
        checks.switch,
        common=True,
    )
    identical: str = option(
        "all",
        "Pairs of identical documents to report. all: every pair; link: each copy with its first occurrence only.",
        checks.choice("all", "link"),
    )
    top: int | None = option(
        None,
        "For each item (column left), report only the N most similar ones, at any distance unless --threshold, "
        "--contained or --distance is given; codes within --distance.",
        checks.whole(1, 10_000, none=True),
        "N",
        default_text="every pair, once",
        common=True,
    )
    hosts: str | None = option(
        None,
        "Report mirror sites instead: pairs of hosts, with the number and the share of their pages that are "
        "near-duplicates. Ids are URLs, or this column has them.",
        Check(optional_column, "the name of a column, or True for ids that are URLs", in_help=False),
        "[COLUMN]",
        bare="",
        common=True,
    )
    force: bool = option(False, *FORCE, result=False, common=True)

    @property
    def top_limit(self) -> float | None:
        """With ``top``: the minimum cosine or maximum distance of vectors; None for no limit."""
        if self.measure == "distance":
            return self.distance
        return self.threshold if self.was_given("threshold") else None

    @property
    def nearest_sets(self) -> bool:
        """Whether each set is paired with its nearest, however far, instead of all that reach the threshold."""
        by_jaccard = self.item_kind in (*SETS, "weighted") and self.contained is None
        return self.top is not None and by_jaccard and not self.was_given("threshold")

    @property
    def finds_nearest(self) -> bool:
        """Whether only the nearest of each item become pairs, so that many identical items do no harm."""
        return self.nearest_sets or (self.item_kind in VECTORS and self.top is not None)

    @property
    def lowest(self) -> float:
        """The minimum score of a pair that is found and scored; the score of a distance is its negative."""
        return -self.farthest if self.by_distance else self.least

    def _check_together(self) -> None:
        super()._check_together()
        if self.any_orientation and self.top is not None:
            raise OptionError(
                "--any-orientation compares hashes, and --top colour layouts; leave one of them out, or query an index "
                "of the pictures, which finds the nearest in any orientation"
            )
        defaults = self.defaults()
        for name in ("recall", "n_hashes", "n_bands", "rows_per_band", "sketch") if self.exact else ():
            if getattr(self, name) != defaults[name]:
                raise OptionError(
                    f"{name} is {getattr(self, name)}, which cannot be used with exact: the sets themselves are "
                    "compared, and every pair is found; leave one of them out"
                )
        if self.exact and self.audit and self.top is not None and self.item_kind == "vectors":
            raise OptionError("--audit cannot be used with --exact and --top: all vectors are compared; leave it out")
        for name in ("top", "identical") if self.hosts is not None else ():
            if getattr(self, name) != defaults[name]:
                raise OptionError(
                    f"--{name} {getattr(self, name)} cannot be used with --hosts, which counts every pair of pages; "
                    "leave one of them out"
                )
        if self.audit and self.top is not None and self.item_kind == "sparse":
            raise OptionError("--audit cannot be used with --top and sparse vectors: the search is exact; leave it out")

    def refuse_sketching(self) -> None:
        """Refuse options of a search by sketches where the nearest sets are found exactly."""
        defaults, specs = self.defaults(), dict(self.specs())
        for name in ("recall", "n_hashes", "n_bands", "rows_per_band", "sketch", "audit"):
            if self.nearest_sets and getattr(self, name) not in (defaults[name], 0):
                raise OptionError(
                    f"{specs[name].spellings(name)[0]} does not apply to the nearest (--top), which are found exactly, "
                    "without sketches; leave it out, or limit them by --threshold"
                )


@dataclass(frozen=True, kw_only=True)
class ArrivalOptions(Options):
    """Options for documents that are added to an index."""

    title: ClassVar[str] = "Index"

    index: object = option(
        None,
        "Also compare with the documents of this index, and add the kept documents to it. Shingles, sketches and plan "
        "are those of the index.",
        checks.index_place,
        "PATH|URL",
        common=True,
    )
    timeout: int = option(
        30, "With --index: seconds to wait for another writer.", checks.whole(0, 86_400), "SECONDS", result=False
    )


@dataclass(frozen=True, kw_only=True)
class DedupOptions(
    ArrivalOptions, OrientationOptions, AuditOptions, RunOptions, EngineOptions, TableOptions, ContainmentOptions,
    ShingleOptions,
    ReadOptions,
):  # fmt: skip
    """The options of `twinset.dedup` and ``twinset dedup``."""

    title: ClassVar[str] = "Clusters"
    measures_texts: ClassVar[bool] = True
    # Options that only pairs has.
    exact: ClassVar[bool] = False
    identical: ClassVar[str] = "link"
    top: ClassVar[int | None] = None
    top_limit: ClassVar[float | None] = None
    nearest_sets: ClassVar[bool] = False
    finds_nearest: ClassVar[bool] = False

    floor: float | None = option(
        None,
        "Also score pairs down to this similarity, so that recut can choose another threshold; clusters still use "
        "--threshold. For items with a --distance: pairs up to this distance.",
        replace(checks.length(), allowed=_FLOOR),
        "T",
        default_text="the threshold, or the distance",
    )
    least_shingles: int = option(
        3,
        "With --contained: keep documents with fewer distinct shingles, even if another one contains them.",
        checks.whole(1, 2**31 - 1),
        "N",
    )
    keep: str = option("first", *KEEP, common=True)
    date_format: str | None = option(None, *DATE_FORMAT, default_text="detected from all dates")
    cluster: str = option("leader", *CLUSTER)
    verdicts: str | None = option(
        None,
        "Obey the verdicts in this file: pairs judged different are never a reason for a removal, pairs judged "
        "duplicate always are, and documents judged principal are kept first.",
        checks.verdicts_file,
        "FILE",
    )
    copy: bool = option(
        False, "For a folder of files: copy the kept files, too; by default they are only listed.", checks.switch
    )
    flag: bool = option(
        False,
        "Remove nothing; add the columns cluster, duplicate_of and similarity instead.",
        checks.switch,
        common=True,
    )
    details_format: str = option("parquet", *DETAILS_FORMAT, result=False)
    force: bool = option(False, *FORCE, result=False, common=True)

    def to_dict(self, result_only: bool = True) -> dict[str, Any]:
        """Return the options as plain values, ready for JSON, without the seed of an index, which is secret."""
        values = super().to_dict(result_only)
        if self.index is not None:
            del values["seed"]
        return values

    def _check_together(self) -> None:
        super()._check_together()
        for name in ("against", "by") if self.index is not None else ():
            if getattr(self, name):
                raise OptionError(
                    f"--{name} cannot be used with --index: new documents are compared with the index and with each "
                    "other; leave one of them out"
                )
        if self.verdicts is not None and self.index is not None:
            raise OptionError(
                "--verdicts cannot be used with --index: verdicts are tied to contents, and an index does not store "
                "the digests of its contents; leave one of them out"
            )
        if self.floor is not None:
            self._check_floor(self.floor)
        self._check_contained()
        check_kind(self.keep_rules, self.item_kind, self.item_flag)
        check_date_format(self.keep_rules, self.date_format)
        if self.against and (self.keep != "first" or self.cluster != "leader"):
            given = f"--keep {self.keep}" if self.keep != "first" else f"--cluster {self.cluster}"
            raise OptionError(
                f"{given} cannot be used with --against: documents are compared only with those of the other source, "
                "which are always kept; leave one of them out"
            )

    def _check_contained(self) -> None:
        if self.contained is None:
            if self.least_shingles != self.defaults()["least_shingles"]:
                raise OptionError("--least-shingles needs --contained: it has no other use")
            return
        if self.index is not None:
            raise OptionError(
                "--contained cannot be used with --index: documents of an index are found by similarity; leave one of "
                "them out"
            )
        if self.cluster != "leader":
            raise OptionError(
                f"--cluster {self.cluster} cannot be used with --contained: a document is removed only if a kept one "
                "contains it; leave one of them out"
            )

    def _check_floor(self, floor: float) -> None:
        if self.by_distance:
            if floor < self.reach:
                raise OptionError(
                    f"floor is {floor:g}, below the distance, {self.reach:g}; allowed: the distance or more; raise "
                    "the floor or lower the distance"
                )
            if self.measure == "bits" and floor % 1:
                raise OptionError(f"floor is {floor:g}; codes differ in a whole number of bits")
            return
        if not 0 < floor <= 1:
            raise OptionError(f"floor is {floor:g}; allowed: {_FLOOR}")
        # With an index, the threshold may be the index's own, which is not known here.
        if floor > self.threshold and self.index is None:
            raise OptionError(
                f"floor is {floor:g}, above the threshold, {self.threshold:g}; allowed: a number up to the "
                "threshold; lower the floor or raise the threshold"
            )

    @property
    def least(self) -> float:
        """The minimum similarity of scored pairs: the floor, if given, else the threshold."""
        return self.threshold if self.floor is None or self.by_distance else self.floor

    @property
    def farthest(self) -> float:
        """The maximum distance of scored pairs: the floor, if given, else the distance."""
        return self.reach if self.floor is None or not self.by_distance else self.floor

    @property
    def limit_name(self) -> str:
        """The option that limits the pairs: threshold, contained or distance."""
        return "distance" if self.by_distance else "threshold" if self.contained is None else "contained"

    @property
    def limit(self) -> float:
        """The minimum score of a pair that causes a removal; the score of a distance is its negative."""
        return -self.reach if self.by_distance else self.threshold

    @property
    def lowest(self) -> float:
        """The minimum score of a pair that is found and scored."""
        return -self.farthest if self.by_distance else self.least

    @property
    def keep_rules(self) -> RuleChain:
        """The rules of the keep policy, each with the column it needs."""
        return parse_keep(self.keep)


@dataclass(frozen=True, kw_only=True)
class CompareOptions(ShingleOptions):
    """The options of `twinset.compare` and ``twinset compare``."""

    title: ClassVar[str] = "Sketch"

    encoding: str = option("utf-8", *ENCODING)
    html: bool = option(False, "Texts are web pages: compare the text of their main content.", checks.switch)
    sketch: str = option("fss", *SKETCH)
    n_hashes: int = option(
        128, "Hashes per sketch.", checks.whole(1, MOST_HASHES), "K", flags=("--hashes", "--n-hashes")
    )
    seed: int = option(DEFAULT_SEED, *SEED)


def _text_of_result(value: Any) -> Any:
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
        checks.Check(_text_of_result, "the name of a key or column, or a function", in_help=False),
        "COLUMN",
    )
    threshold: float = option(
        0.8,
        "Minimum exact similarity (Jaccard) of a result to the one it is folded under (inclusive).",
        _PLAN["threshold"].check,
        "T",
    )
    seed: int = option(DEFAULT_SEED, _PLAN["seed"].help, _PLAN["seed"].check, "N")


_COLLAPSE = dict(CollapseOptions.specs())


@dataclass(frozen=True, kw_only=True)
class CollapseFileOptions(ShingleOptions, ReadOptions):
    """The options of ``twinset collapse``."""

    title: ClassVar[str] = "Collapse"
    kinds: ClassVar[tuple[str, ...]] = ("text",)
    why_not: ClassVar[str] = "folds results by their texts"

    threshold: float = option(0.8, _COLLAPSE["threshold"].help, _PLAN["threshold"].check, "T", common=True)
    seed: int = option(DEFAULT_SEED, *SEED)
    force: bool = option(False, *FORCE, result=False, common=True)

    @classmethod
    def specs(cls) -> Iterator[tuple[str, OptionSpec]]:
        """Yield the name and the description of each option, in the order of the help page."""
        # Results are texts, and are named by their places.
        unused = ("items", "group", "item", "weight", "codes", "vectors", "sparse", "images", "distance", "by")
        return ((name, spec) for name, spec in super().specs() if name not in (*unused, "against", "id", "no_id"))
