"""Curves of learned codes and random hyperplanes: recall over precision, a panel for each set and number of bits."""

from __future__ import annotations

from typing import Any

from matplotlib import pyplot as plt
from matplotlib.figure import Figure

# Told apart by people who do not see all colours, and on paper by their dashes.
STYLES: dict[str, Any] = {
    "itq": {"color": "#0f766e", "ls": "-", "lw": 2.2},
    "spectral": {"color": "#b45309", "ls": (0, (6, 2)), "lw": 1.8},
    "hyperplanes, centred": {"color": "#4b5563", "ls": (0, (2, 1.5)), "lw": 1.8},
    "hyperplanes": {"color": "#9ca3af", "ls": (0, (7, 2, 1.5, 2)), "lw": 1.8},
}


def learned_codes(learned: dict[str, Any]) -> Figure:
    panels = [(name, bits, curves) for name, one in learned.items() for bits, curves in one["bits"].items()]
    figure, axes = plt.subplots(1, len(panels), figsize=(2.9 * len(panels), 3.4), sharey=True, layout="constrained")
    for place, (name, bits, curves) in zip(axes, panels, strict=True):
        for method, style in STYLES.items():
            precisions, recalls = zip(*curves[method], strict=True)
            place.plot(precisions, recalls, label=method, **style)
        place.set_title(f"{name}, {bits} bits", loc="left", fontsize=10)
        place.set_xlabel("precision")
        place.set_xlim(0.1, 0.95)
        place.set_ylim(0, 1.01)
    axes[0].set_ylabel("recall")
    lines, names = axes[-1].get_legend_handles_labels()
    figure.legend(lines, names, frameon=False, fontsize=8.5, loc="outside lower center", ncols=len(names))
    return figure
