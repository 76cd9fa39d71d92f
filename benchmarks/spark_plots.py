"""Runs on Spark as the documents grow: what was measured, and apart from it what a line through it foresees."""

from __future__ import annotations

from typing import Any

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.spark import dedup_share, long_costs, short_costs

SHORT, LONG, FAINT = "#0f766e", "#9a3412", "#6b7280"
NODE_CORES = 32
PUBLISHED = (2.53e9, 63 * 4.5)
"""distributed-curator: documents, and hours of machines with 32 virtual cores."""


def spark_growth(result: dict[str, Any]) -> Figure:
    figure, (measured, foreseen) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    _measured(measured, result)
    _foreseen(foreseen, result)
    return figure


def _measured(axes: Axes, result: dict[str, Any]) -> None:
    costs = short_costs(result)
    short = [(point["documents"], point["best"]) for point in result["short"]]
    line = [short[0][0] * (short[-1][0] / short[0][0]) ** (step / 40) for step in range(41)]
    axes.plot(line, [costs.seconds(n) for n in line], color=SHORT, lw=1, ls=(0, (4, 3)))
    _dots(axes, short, SHORT, "dedup, 270 bytes a text")
    runs = [result[name]["runs"][0] for name in ("pairs", "larger")]
    _dots(axes, [(run["documents"], run["seconds"]) for run in runs], LONG, "find_pairs, 3.1 kB a text")
    _logarithmic(axes, "seconds, two cores")
    axes.set_title("Measured (dots); dashed: a line through the\nfirst two dots", loc="left", fontsize=10)
    axes.set_xlim(5e4, 3e7)
    axes.set_ylim(10, 1000)
    axes.legend(frameon=False, fontsize=9, loc="upper left")


def _dots(axes: Axes, points: list[tuple[int, float]], colour: str, label: str) -> None:
    axes.plot([n for n, _ in points], [took for _, took in points], "o", color=colour, ms=7, label=label)
    for n, took in points:
        axes.annotate(f"{took:.0f} s", (n, took), (-6, 7), textcoords="offset points", ha="right", fontsize=9)


def _foreseen(axes: Axes, result: dict[str, Any]) -> None:
    costs, share = long_costs(result), dedup_share(result)
    sizes = [1e8, 1e9, 1e10]
    hours = [share * costs.core_hours(n) / NODE_CORES for n in sizes]
    axes.fill_between(sizes, hours, [5 * one for one in hours], color=LONG, alpha=0.12, lw=0)
    axes.plot(
        sizes, hours, color=LONG, lw=1.5, ls=(0, (4, 3)), label="as efficient as here, to a fifth of it"
    )
    for n, took in zip(sizes, hours, strict=True):
        axes.annotate(f"{took:.2g} to {5 * took:.2g} h", (n, took), (6, -12), textcoords="offset points", fontsize=9)
    axes.plot(*PUBLISHED, "s", color=FAINT, ms=7, label="distributed-curator, published: other texts")
    _logarithmic(axes, f"hours of a machine with {NODE_CORES} cores")
    axes.set_title("Extrapolated, not measured: dedup of\n3.1 kB a text", loc="left", fontsize=10)
    axes.set_xlim(5e7, 6e10)
    axes.set_ylim(0.05, 3000)
    axes.legend(frameon=False, fontsize=9, loc="upper left")


def _logarithmic(axes: Axes, unit: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.minorticks_off()
    axes.set_xlabel("documents")
    axes.set_ylabel(unit)
