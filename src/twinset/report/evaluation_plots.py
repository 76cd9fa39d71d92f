"""The three figures of an evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from twinset.plan import Plan
from twinset.plan.containment import ContainmentPlan
from twinset.report.plots import curve_figure
from twinset.wording import counted, share

_ALL = (-0.02, 1.03)  # both axes of a share, with a margin for points at the ends


def evaluation_figures(
    summary: dict[str, Any], curve: Sequence[dict[str, Any]], plan: Any, folder: Path, ending: str,
    by_distance: bool = False,
) -> list[Path]:  # fmt: skip
    """Draw precision against recall, F1 against the threshold, and the share found against similarity.

    summary: of the evaluation: its `measures` and `shares`, and how many true pairs these are `sampled`
        from.
    curve: precision, recall and F1 at many thresholds.
    plan: the plan whose S-curve is drawn.
    folder, ending: of the figures; the ending is svg or png.
    by_distance: whether pairs have a distance instead of a similarity; then the third figure is left out.
    Returns the paths of the figures.
    """
    rows = summary["measures"]
    lowest = rows[0]["threshold"]
    drawn = [
        _precision_recall(rows, curve, folder / f"precision-recall.{ending}"),
        _by_threshold(rows, curve, folder / f"f1.{ending}", by_distance),
    ]
    if not by_distance:
        drawn.append(_by_similarity(summary, plan, lowest, folder / f"shares.{ending}"))
    return drawn


def _points(rows: Sequence[dict[str, Any]], x: str, y: str) -> list[tuple[float, float]]:
    return [(row[x], row[y]) for row in rows if row[x] is not None and row[y] is not None]


def _precision_recall(rows: Sequence[dict[str, Any]], curve: Sequence[dict[str, Any]], path: Path) -> Path:
    line = _points(curve, "recall", "precision")
    best = max((row for row in rows if row["f1"] is not None), key=lambda row: row["f1"], default=None)
    points = {"thresholds measured": _points(rows, "recall", "precision")}
    if best is not None:
        points[f"highest F1, {share(best['f1'])} at {best['threshold']:g}"] = _points([best], "recall", "precision")
    return curve_figure(
        {"every threshold": line} if len(set(line)) > 1 else {},
        path,
        x="recall: share of the true pairs that was found",
        y="precision: share of the pairs found that is true",
        title="Precision and recall of pairs",
        points={name: dots for name, dots in points.items() if dots},
        x_range=_ALL,
        y_range=_ALL,
    )


def _by_threshold(
    rows: Sequence[dict[str, Any]], curve: Sequence[dict[str, Any]], path: Path, by_distance: bool
) -> Path:
    names = {"F1": "f1", "precision": "precision", "recall": "recall"}
    lowest = rows[0]["threshold"]
    what = "distance" if by_distance else "threshold"
    ends = (0.0, lowest) if by_distance else (lowest, 1.0)
    margin = 0.02 * (ends[1] - ends[0]) or 0.02
    return curve_figure(
        {name: _points(curve, "threshold", column) for name, column in names.items()},
        path,
        x=what,
        y="share",
        title=f"F1, precision and recall of pairs against the {what}",
        points={name: _points(rows, "threshold", column) for name, column in names.items()},
        x_range=(ends[0] - margin, ends[1] + margin),
        y_range=_ALL,
    )


def _by_similarity(summary: dict[str, Any], plan: Any, lowest: float, path: Path) -> Path:
    names = ("similarity", "share", "share_low", "share_high")
    measure = "containment" if isinstance(plan, ContainmentPlan) else "similarity"
    if isinstance(plan, ContainmentPlan):
        expected, line = f"expected: {counted(plan.draws, 'shingle')}", [(0.0, 0.0), *plan.curve(200)]
    elif isinstance(plan, Plan):
        expected = f"found as planned: {counted(plan.n_bands, 'band')} × {counted(plan.rows_per_band, 'row')}"
        line = [(0.0, plan.p_found(0.0)), *plan.curve(200)]
    else:  # each probability is simulated
        expected, line = f"expected: {plan.method}, {counted(plan.tables, 'table')}", plan.curve(40)
    every, some = summary["sampled"]["true_pairs"], summary["sampled"]["looked_at"]
    measured = f"measured on {some:,} of {every:,} pairs" if some < every else "measured"
    return curve_figure(
        {expected: line},
        path,
        x=measure,
        y="share of the true pairs found",
        title=f"Share of the true pairs found against their {measure}",
        points={f"{measured}, with 95 % interval": [tuple(row[name] for name in names) for row in summary["shares"]]},
        vline={f"lowest threshold, {lowest:g}": lowest},
        x_range=_ALL,
        y_range=_ALL,
    )
