"""The three figures of an evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from twinset.plan import Plan
from twinset.report.plots import curve_figure
from twinset.wording import counted, share

_ALL = (-0.02, 1.03)  # both axes of a share, with room for what lies on its ends


def evaluation_figures(
    summary: dict[str, Any], curve: Sequence[dict[str, Any]], plan: Plan, folder: Path, ending: str
) -> list[Path]:
    """Draw precision against recall, F1 against the threshold, and the share found against similarity.

    Parameters
    ----------
    summary
        What the evaluation found: its `measures` and `shares`, and how many true pairs these are `sampled` from.
    curve
        Precision, recall and F1 at many thresholds.
    plan
        Whose S-curve is drawn.
    folder
        Where the figures go.
    ending
        Their format, svg or png.

    Returns
    -------
    list of Path
        The three files.
    """
    rows = summary["measures"]
    lowest = rows[0]["threshold"]
    return [
        _precision_recall(rows, curve, folder / f"precision-recall.{ending}"),
        _by_threshold(rows, curve, folder / f"f1.{ending}"),
        _by_similarity(summary, plan, lowest, folder / f"shares.{ending}"),
    ]


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


def _by_threshold(rows: Sequence[dict[str, Any]], curve: Sequence[dict[str, Any]], path: Path) -> Path:
    names = {"F1": "f1", "precision": "precision", "recall": "recall"}
    lowest = rows[0]["threshold"]
    return curve_figure(
        {name: _points(curve, "threshold", column) for name, column in names.items()},
        path,
        x="threshold",
        y="share",
        title="F1, precision and recall of pairs against the threshold",
        points={name: _points(rows, "threshold", column) for name, column in names.items()},
        x_range=(lowest - 0.02 * (1 - lowest), 1 + 0.02 * (1 - lowest)),
        y_range=_ALL,
    )


def _by_similarity(summary: dict[str, Any], plan: Plan, lowest: float, path: Path) -> Path:
    names = ("similarity", "share", "share_low", "share_high")
    expected = f"expected: {counted(plan.n_bands, 'band')} × {counted(plan.rows_per_band, 'row')}"
    every, some = summary["sampled"]["true_pairs"], summary["sampled"]["looked_at"]
    measured = f"measured on {some:,} of {every:,} pairs" if some < every else "measured"
    return curve_figure(
        {expected: [(0.0, plan.p_found(0.0)), *plan.curve(200)]},
        path,
        x="similarity",
        y="share of the true pairs found",
        title="Share of the true pairs found against their similarity",
        points={f"{measured}, with 95 % interval": [tuple(row[name] for name in names) for row in summary["shares"]]},
        vline={f"lowest threshold, {lowest:g}": lowest},
        x_range=_ALL,
        y_range=_ALL,
    )
