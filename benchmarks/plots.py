"""Pictures: speed and recall of every contestant, time and memory as the corpus grows, learned codes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.spark_plots import spark_growth
from benchmarks.vector_plots import learned_codes

SPEED_TITLE = "Speed: Twinset file to clean file,\npeers text in memory to candidates"
OWN, OTHER, INK, FAINT = "#0f766e", "#b6bec9", "#1f2937", "#6b7280"
STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": FAINT,
    "ytick.color": INK,
    "svg.hashsalt": "twinset",
}


def draw(folder: Path, results: dict[str, Any]) -> None:
    parts = results["parts"]
    with plt.rc_context(STYLE):
        if "peers" in parts:
            _save(_speed(parts["peers"]), folder / "speed")
        if "growth" in parts:
            _save(_growth(parts["growth"]["points"]), folder / "growth")
        if "vectors" in parts:
            _save(learned_codes(parts["vectors"]["learned"]), folder / "learned-codes")
        if "spark" in parts:
            _save(spark_growth(parts["spark"]), folder / "spark-growth")


def _save(figure: Figure, path: Path) -> None:
    figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    figure.savefig(path.with_suffix(".png"), dpi=160)
    plt.close(figure)


def _speed(result: dict[str, Any]) -> Figure:
    rows = [one for one in result["contestants"] if "failed" not in one]
    rows.sort(key=lambda one: float(one["scaled"]), reverse=True)
    rates = [result["bytes"] / one["scaled"] / 1e6 for one in rows]
    colours = [OWN if one["name"] == "twinset" else OTHER for one in rows]
    figure, (speed, recall) = plt.subplots(
        1, 2, figsize=(9, 0.45 * len(rows) + 1.5), sharey=True, width_ratios=(3, 2), layout="constrained"
    )
    speed.barh([one["name"] for one in rows], rates, color=colours, height=0.62)
    for y, (one, rate) in enumerate(zip(rows, rates, strict=True)):
        behind = "" if one["name"] == "twinset" else f"   1/{one['times']:.0f} of Twinset"
        speed.text(rate + max(rates) * 0.015, y, f"{rate:,.3g}{behind}", va="center", fontsize=9)
    speed.set_xlim(0, max(rates) * 1.15)
    speed.set_xlabel("MB of text a second")
    speed.set_title(SPEED_TITLE, loc="left", fontsize=10)
    speed.tick_params(left=False)
    for y, one in enumerate(rows):
        recall.plot([one["recall"], 1], [y, y], color="#e5e7eb", lw=2, zorder=1)
        recall.plot(one["recall"], y, "o", color=colours[y], ms=8, zorder=2)
        recall.text(one["recall"] - 0.015, y, f"{one['recall']:.3f}", va="center", ha="right", fontsize=9)
    recall.set_xlim(min(0.7, min(one["recall"] for one in rows) - 0.12), 1.01)
    recall.axvline(1, color=FAINT, lw=0.8)
    recall.set_xlabel("share of true pairs found")
    recall.set_title("Recall at exact\nJaccard ≥ 0.8", loc="left", fontsize=10)
    recall.tick_params(left=False)
    recall.spines["left"].set_visible(False)
    return figure


def _growth(points: list[dict[str, Any]]) -> Figure:
    documents = [point["documents"] for point in points]
    figure, (time, memory) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    seconds = [point["best"] for point in points]
    memory_used = [point["peak"] / 1e9 for point in points]
    _curve(time, documents, seconds, "seconds", [f"{value:.3g} s" for value in seconds])
    linear = [seconds[-1] * count / documents[-1] for count in documents]
    time.plot(documents, linear, color=FAINT, lw=0.9, ls=(0, (4, 3)), zorder=1)
    beside = {"color": FAINT, "fontsize": 9, "ha": "left", "va": "top"}
    time.text(documents[1] * 1.2, linear[1] * 1.1, "linear", **beside)
    time.set_title("Time of dedup, whole process", loc="left", fontsize=10)
    _curve(memory, documents, memory_used, "GB", [f"{value:.2f} GB" for value in memory_used])
    memory.set_title("Peak resident memory", loc="left", fontsize=10)
    return figure


def _curve(axes: Axes, x: list[int], y: list[float], unit: str, labels: list[str]) -> None:
    axes.plot(x, y, "o-", color=OWN, lw=2, ms=6, zorder=2)
    for place, value, label in zip(x, y, labels, strict=True):
        above = (-4, 8)
        axes.annotate(label, (place, value), above, textcoords="offset points", ha="right", fontsize=9)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(min(y) / 2, max(y) * 2.5)
    axes.set_xlim(min(x) / 3, max(x) * 1.6)
    axes.set_xticks(x, [f"{place:,}" for place in x], fontsize=9)
    axes.set_yticks([])  # the points carry their values
    axes.minorticks_off()
    axes.set_xlabel("documents, both scales logarithmic")
    axes.set_ylabel(unit)
