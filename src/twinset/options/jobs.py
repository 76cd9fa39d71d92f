"""What the whole jobs are told: pairs, dedup, compare."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from twinset.errors import OptionError
from twinset.options import checks
from twinset.options.base import Options, option
from twinset.options.keep_rules import KEEP, RuleChain, check_kind, parse_keep
from twinset.options.steps import (
    CLUSTER,
    DEFAULT_SEED,
    ENCODING,
    FORCE,
    MOST_HASHES,
    SEED,
    SKETCH,
    AuditOptions,
    PlanOptions,
    ReadOptions,
    RunOptions,
    ShingleOptions,
)

_FLOOR = "a number above 0 and up to 1; where items have a distance, one from 0 on"


@dataclass(frozen=True, kw_only=True)
class PairsOptions(AuditOptions, RunOptions, PlanOptions, ShingleOptions, ReadOptions):
    """The options of `twinset.find_pairs` and ``twinset pairs``."""

    title: ClassVar[str] = "Pairs"

    exact: bool = option(
        False,
        "Miss nothing: join the shingle sets exactly, without sketches. Slower where much is shared.",
        checks.switch,
    )
    identical: str = option(
        "all",
        "Pairs of identical documents. all: every one; link: each copy with its first appearance only.",
        checks.choice("all", "link"),
    )
    top: int | None = option(
        None,
        "Of each item its N most similar only, each item as left in turn; those of vectors and pictures however far, "
        "unless --threshold or --distance is given with it.",
        checks.whole(1, 10_000, none=True),
        "N",
        default_words="every pair, once",
    )
    force: bool = option(False, *FORCE, result=False)

    @property
    def top_limit(self) -> float | None:
        """With ``top``: the least cosine or greatest distance of vectors; None for any, where none was given."""
        if self.measure == "distance":
            return self.distance
        return self.threshold if self.was_given("threshold") else None

    def _check_together(self) -> None:
        super()._check_together()
        defaults = self.defaults()
        for name in ("recall", "n_hashes", "n_bands", "rows_per_band", "sketch") if self.exact else ():
            if getattr(self, name) != defaults[name]:
                raise OptionError(
                    f"{name} is {getattr(self, name)}, which has no meaning with exact: the sets themselves are "
                    "compared, and every pair is found; leave one of the two out"
                )
        if self.exact and self.audit and self.top is not None and self.item_kind == "vectors":
            raise OptionError("--audit has no meaning with --exact and --top: all vectors are compared; leave it out")


@dataclass(frozen=True, kw_only=True)
class ArrivalOptions(Options):
    """What else new documents are compared with."""

    title: ClassVar[str] = "Index"

    index: object = option(
        None,
        "Compare with the documents of this index too, and add what is kept to it; shingles, sketches and plan are "
        "those of the index.",
        checks.index_place,
        "PATH|URL",
    )
    timeout: int = option(
        30,
        "With --index: seconds to wait for another writer before giving up.",
        checks.whole(0, 86_400),
        "SECONDS",
        result=False,
    )


@dataclass(frozen=True, kw_only=True)
class DedupOptions(ArrivalOptions, AuditOptions, RunOptions, PlanOptions, ShingleOptions, ReadOptions):
    """The options of `twinset.dedup` and ``twinset dedup``."""

    title: ClassVar[str] = "Clusters"

    floor: float | None = option(
        None,
        "Find and keep scored pairs down to this similarity, so that recut can choose another threshold; clusters "
        "are made of those from --threshold on. Where items have a --distance: up to this distance.",
        replace(checks.length(), allowed=_FLOOR),
        "T",
        default_words="the threshold, or the distance",
    )
    keep: str = option("first", *KEEP)
    cluster: str = option(
        "leader",
        *CLUSTER,
    )
    copy: bool = option(
        False, "Of a folder of files, copy the kept files too, not only list them.", checks.switch
    )
    flag: bool = option(
        False, "Remove nothing; add the columns cluster, duplicate_of and similarity instead.", checks.switch
    )
    force: bool = option(False, *FORCE, result=False)

    def to_dict(self, result_only: bool = True) -> dict[str, Any]:
        """Give the options as plain values, ready for JSON; the seed of an index is a secret, and left out."""
        found = super().to_dict(result_only)
        if self.index is not None:
            del found["seed"]
        return found

    def _check_together(self) -> None:
        super()._check_together()
        for name in ("against", "by") if self.index is not None else ():
            if getattr(self, name):
                raise OptionError(
                    f"--{name} has no meaning with --index: arrivals are compared with all documents of the index and "
                    "with each other; leave one of the two out"
                )
        if self.floor is not None:
            self._check_floor(self.floor)
        check_kind(self.keep_rules, self.item_kind, self.item_flag)
        if self.against and (self.keep != "first" or self.cluster != "leader"):
            came = f"--keep {self.keep}" if self.keep != "first" else f"--cluster {self.cluster}"
            raise OptionError(
                f"{came} has no meaning with --against: documents are compared with those of the other source only, "
                "which are always kept; leave one of the two out"
            )

    def _check_floor(self, floor: float) -> None:
        if self.by_distance:
            if floor < self.reach:
                raise OptionError(
                    f"floor is {floor:g}, below the distance, {self.reach:g}: pairs are kept up to the floor, for "
                    "greater distances later; allowed is a number from the distance on: raise the one or lower the "
                    "other"
                )
            if self.measure == "bits" and floor % 1:
                raise OptionError(f"floor is {floor:g}; codes differ in a whole number of bits")
            return
        if not 0 < floor <= 1:
            raise OptionError(f"floor is {floor:g}; allowed is {_FLOOR}")
        # With an index, the threshold may be the index's own, which is not known here.
        if floor > self.threshold and self.index is None:
            raise OptionError(
                f"floor is {floor:g}, above the threshold, {self.threshold:g}; allowed is a number up to the "
                "threshold: lower the one or raise the other"
            )

    @property
    def least(self) -> float:
        """The floor, if there is one and it is a similarity, else the threshold."""
        return self.threshold if self.floor is None or self.by_distance else self.floor

    @property
    def farthest(self) -> float:
        """The floor, if there is one and it is a distance, else the distance."""
        return self.reach if self.floor is None or not self.by_distance else self.floor

    @property
    def limit(self) -> float:
        """How near a pair must be that something is removed for: its similarity; of a distance, its negative."""
        return -self.reach if self.by_distance else self.threshold

    @property
    def lowest(self) -> float:
        """How near a pair must be to be found and scored, in the same way."""
        return -self.farthest if self.by_distance else self.least

    @property
    def keep_rules(self) -> RuleChain:
        """The keep policy, as rules each with the column it needs."""
        return parse_keep(self.keep)


@dataclass(frozen=True, kw_only=True)
class CompareOptions(ShingleOptions):
    """The options of `twinset.compare` and ``twinset compare``."""

    title: ClassVar[str] = "Sketch"

    encoding: str = option("utf-8", *ENCODING)
    sketch: str = option("fss", *SKETCH)
    n_hashes: int = option(
        128, "Hashes in a sketch.", checks.whole(1, MOST_HASHES), "K", flags=("--hashes", "--n-hashes")
    )
    seed: int = option(DEFAULT_SEED, *SEED)
