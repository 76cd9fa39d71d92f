"""Options of an evaluation."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from typing import Any, ClassVar, Self

from twinset.errors import OptionError
from twinset.options import checks
from twinset.options.base import Options, option
from twinset.options.checks import Check
from twinset.options.formats import TRUTH_ENDINGS
from twinset.options.items import KINDS
from twinset.options.jobs import DedupOptions
from twinset.options.passages import PassageOptions, PassagesOptions
from twinset.options.steps import FORCE, ContainmentOptions, ReadOptions, RunOptions, ShingleOptions
from twinset.wording import either

__all__ = ["EvaluateOptions", "parse_sweep"]

SWEEP_ALLOWED = "FIRST:LAST:STEP, such as 0.5:0.95:0.05, with 0 < FIRST ≤ LAST ≤ 1 and at most 1000 thresholds"
MOST_THRESHOLDS = 1000


def parse_sweep(text: str) -> tuple[float, ...]:
    """Parse a range of thresholds, both ends included.

    Steps are decimals, so that 0.8 is exactly 0.8 and not a sum of rounded floats.

    Examples
    --------
    >>> parse_sweep("0.7:0.9:0.05")
    (0.7, 0.75, 0.8, 0.85, 0.9)
    """
    try:
        first, last, step = (Decimal(part) for part in text.split(":"))
        count = int((last - first) / step) + 1
        right = 0 < first <= last <= 1 and step > 0 and count <= MOST_THRESHOLDS
    except (ValueError, ArithmeticError, AttributeError, InvalidOperation):
        right = False
    if not right:
        raise OptionError(f"sweep is {str(text)[:60]!r}; allowed: {SWEEP_ALLOWED}")
    return tuple(float(first + step * number) for number in range(count))


def _sweep(value: Any) -> str | None:
    if value is not None:
        parse_sweep(value)
    return value if value is None else str(value)


def _rare(group: type[Options], name: str) -> Any:
    """Define an option of a group again, for the long help page only."""
    spec = dict(group.specs())[name]
    return field(default=group.defaults()[name], metadata={"spec": replace(spec, common=False)})


@dataclass(frozen=True, kw_only=True)
class _RarePassageOptions(PassageOptions):
    """The options of passages, for the long help page only: the short one has no room for them."""

    title: ClassVar[str] = PassageOptions.title

    least: int = _rare(PassageOptions, "least")
    gap: int = _rare(PassageOptions, "gap")
    run: int = _rare(PassageOptions, "run")
    crowd: int = _rare(PassageOptions, "crowd")
    within: bool = _rare(PassageOptions, "within")


@dataclass(frozen=True, kw_only=True)
class _RareContainmentOptions(ContainmentOptions):
    """The plan, with containment for the long help page only."""

    title: ClassVar[str] = ContainmentOptions.title

    contained: float | None = _rare(ContainmentOptions, "contained")


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(_RarePassageOptions, RunOptions, _RareContainmentOptions, ShingleOptions, ReadOptions):
    """The options of `twinset.evaluate` and ``twinset evaluate``."""

    title: ClassVar[str] = "Evaluation"
    meanings: ClassVar[dict[str, tuple[str, ...]]] = {"exact": KINDS, "passages": ("text",)}

    truth: object = option(
        None,
        f"Truth: a {either(TRUTH_ENDINGS)} file of pairs (columns left and right) or clusters (columns id and "
        "cluster).",
        Check(lambda value: value, "a file, or a table", in_help=False),
        "FILE",
        common=True,
    )
    passages: object = option(
        None,
        f"Find passages, and compare them with the true ones in this {either(TRUTH_ENDINGS)} file: columns left, "
        "left_start, left_end, right, right_start and right_end; or suspicious and source for left and right.",
        Check(lambda value: value, "a file, or a table", in_help=False),
        "FILE",
        common=True,
    )
    complete: bool = option(
        False,
        "With --passages: the truth is complete, so passages in document pairs that it does not name are false "
        "detections. Without it they are only counted.",
        checks.switch,
    )
    exact: bool = option(
        False, "Use the exact join as the truth: every pair that reaches the threshold.", checks.switch, common=True
    )
    sweep: str | None = option(
        None,
        "Measure at several thresholds, with one run at the lowest.",
        Check(_sweep, SWEEP_ALLOWED),
        "A:B:STEP",
        common=True,
    )
    cluster: str = option(
        "leader", *(getattr(dict(DedupOptions.specs())["cluster"], name) for name in ("help", "check"))
    )
    plots: str = option(
        "svg",
        "Format of the plots in the output; none: no plots, so that matplotlib is not needed.",
        checks.choice("svg", "png", "none"),
    )
    force: bool = option(False, *FORCE, result=False, common=True)

    def _check_together(self) -> None:
        super()._check_together()
        if self.sweep is not None and self.measure in ("bits", "distance"):
            raise OptionError("--sweep is for similarities, but these items have distances; give one --distance")
        if self.contained is not None and self.sweep is not None and self.contained != parse_sweep(self.sweep)[0]:
            raise OptionError(
                f"contained is {self.contained:g}, and sweep is {self.sweep}, which begins at another containment; "
                "give the first number of the sweep as --contained"
            )
        if self.passages is None and (self.truth is None) != self.exact:
            given = "two are" if self.exact else "none is"
            raise OptionError(
                "the truth is a file of pairs or clusters (--truth FILE), a file of passages (--passages FILE) or the "
                f"exact join (--exact); {given} given"
            )
        if self.against and self.cluster != "leader":
            raise OptionError(
                f"--cluster {self.cluster} cannot be used with --against: pairs between two sides make no clusters; "
                "leave one of them out"
            )

    @classmethod
    def of(cls, **values: Any) -> Self:
        """Make the options from keyword arguments, and refuse those that do not apply, even with their defaults."""
        options = super().of(**values)
        for name, spec in cls.specs():
            if name in options._unused and options.was_given(name):
                flag = spec.spellings(name)[0]
                if options.passages is None:
                    raise OptionError(f"{flag} needs --passages: it applies to passages only")
                raise OptionError(
                    f"{flag} cannot be used with --passages: passages are compared, not whole documents; leave one of "
                    "them out"
                )
        return options

    def to_dict(self, result_only: bool = True) -> dict[str, Any]:
        """Return the options that apply as plain values, ready for JSON."""
        return {name: value for name, value in super().to_dict(result_only).items() if name not in self._unused}

    @property
    def _unused(self) -> frozenset[str]:
        """The options that do not apply: those of passages, or those that a search for passages does not have."""
        own = {"passages", "complete"}
        if self.passages is None:
            return frozenset(own.union(name for name, _ in PassageOptions.specs()))
        searching = {name for name, _ in PassagesOptions.specs()}
        return frozenset(name for name, _ in self.specs() if name not in own | searching)

    @property
    def thresholds(self) -> tuple[float, ...]:
        """The thresholds to measure at, the lowest first; for a distance, its negative."""
        if self.measure in ("bits", "distance"):
            return (-self.reach,)
        return (self.threshold,) if self.sweep is None else parse_sweep(self.sweep)
