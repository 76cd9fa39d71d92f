"""Options of an evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, ClassVar

from twinset.errors import OptionError
from twinset.options import checks
from twinset.options.base import option
from twinset.options.checks import Check
from twinset.options.formats import TRUTH_ENDINGS
from twinset.options.items import KINDS
from twinset.options.jobs import DedupOptions
from twinset.options.steps import FORCE, PlanOptions, ReadOptions, RunOptions, ShingleOptions
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


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(RunOptions, PlanOptions, ShingleOptions, ReadOptions):
    """The options of `twinset.evaluate` and ``twinset evaluate``."""

    title: ClassVar[str] = "Evaluation"
    meanings: ClassVar[dict[str, tuple[str, ...]]] = {"exact": KINDS}

    truth: object = option(
        None,
        f"Truth: a {either(TRUTH_ENDINGS)} file of pairs (columns left and right) or clusters (columns id and "
        "cluster).",
        Check(lambda value: value, "a file, or a table", in_help=False),
        "FILE",
        common=True,
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
        "leader", *(getattr(dict(DedupOptions.specs())["cluster"], name) for name in ("help", "check")), common=True
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
        if (self.truth is None) != self.exact:
            given = "both are" if self.exact else "neither is"
            raise OptionError(f"the truth is either a file (--truth FILE) or the exact join (--exact); {given} given")
        if self.against and self.cluster != "leader":
            raise OptionError(
                f"--cluster {self.cluster} cannot be used with --against: pairs between two sides make no clusters; "
                "leave one of them out"
            )

    @property
    def thresholds(self) -> tuple[float, ...]:
        """The thresholds to measure at, the lowest first; for a distance, its negative."""
        if self.measure in ("bits", "distance"):
            return (-self.reach,)
        return (self.threshold,) if self.sweep is None else parse_sweep(self.sweep)
