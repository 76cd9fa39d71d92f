"""Draw figures as SVG or PNG: curves, points with intervals, bands and bars.

Only this module imports matplotlib, and only when a figure is drawn. The same numbers give the same bytes, whatever
matplotlib settings the machine has.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twinset.errors import MissingError, OptionError, OutputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ENDINGS = (".svg", ".png")

# Distinguishable by colour-blind readers, and on paper by their dashes.
_COLOURS = ("#0063a8", "#d4600a", "#00866a", "#b0438f", "#6a51a3", "#7a6a00", "#4d4d4d", "#c02e3b")
_DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (7, 2, 1.5, 2)))
_MARKERS = "osD^vPX*"
_FAMILY = 9  # from this many curves on they are a family: shades of one scale, some without a label
_NAMED = 6
_STYLE: dict[Any, Any] = {
    "figure.figsize": (7.2, 4.5),
    "figure.dpi": 100,
    "savefig.dpi": 160,
    "figure.facecolor": "white",
    "font.size": 11.0,
    "axes.titlesize": 12.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 12.0,
    "axes.labelsize": 11.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#555555",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.8,
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "xtick.labelcolor": "#222222",
    "ytick.labelcolor": "#222222",
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    "legend.fontsize": 10.0,
    "svg.hashsalt": "twinset",
    "svg.fonttype": "path",
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
}


def check_figure(path: str | Path) -> Path:
    """Check, before any work, that a figure can be drawn and that its name has a known format.

    path: the file; its ending, .svg or .png, chooses the format.

    Examples
    --------
    >>> check_figure("curve.pdf")
    Traceback (most recent call last):
    twinset.errors.OptionError: the figure is 'curve.pdf'; allowed: a name that ends in .svg or .png
    """
    output = Path(path)
    if output.suffix.lower() not in ENDINGS:
        raise OptionError(f"the figure is {str(path)!r}; allowed: a name that ends in .svg or .png")
    try:
        import matplotlib  # noqa: F401 - checks that it is installed
    except ImportError as error:
        raise MissingError.of("matplotlib", extra="plots") from error
    return output


def curve_figure(
    curves: Mapping[str, Sequence[tuple[float, float]]],
    path: str | Path,
    *,
    x: str,
    y: str,
    title: str,
    vline: float | Mapping[str, float] | None = None,
    points: Mapping[str, Sequence[tuple[float, ...]]] | None = None,
    band: Mapping[str, Sequence[tuple[float, float, float]]] | None = None,
    log_x: bool = False,
    log_y: bool = False,
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
) -> Path:
    """Draw curves over one pair of axes.

    curves: the points (x, y) of each named curve, in order. Nine or more are drawn as a family: in shades of one scale,
        with only some of them labelled.
    path: the file, ending in .svg or .png.
    x, y, title: labels of the axes, and title of the figure.
    vline: a position on the x axis to mark, or several with labels.
    points: named points: (x, y), or (x, y, low, high) with an interval. Points with the name of a curve have its
        colour.
    band: named bands: (x, low, high), in order. A band with the name of a curve has its colour.
    log_x, log_y: whether an axis is logarithmic.
    x_range, y_range: ends of the axes; derived from the data unless given.
    Returns the file written.

    Examples
    --------
    >>> import tempfile
    >>> from twinset.plan import plan
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = curve_figure(
    ...         {"16 × 6": plan(0.8).curve(100)}, f"{folder}/curve.svg", x="similarity", y="found", title="The S-curve"
    ...     )
    ...     made.stat().st_size > 1000
    True
    """
    output = check_figure(path)
    with _axes(output, x, y, title) as axes:
        _draw(axes, curves, points or {}, band or {})
        axes.set(**{name: ends for name, ends in (("xlim", x_range), ("ylim", y_range)) if ends})
        _logarithmic(axes, x=log_x, y=log_y)
        _mark(axes, vline)
        _legend(axes)
    return output


@contextmanager
def _axes(output: Path, x: str, y: str, title: str) -> Iterator[Axes]:
    """Yield axes to draw on, in the package's style; then write the figure."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(), warnings.catch_warnings():
        # Settings of the machine must not change a figure; a name may have letters that the font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        figure = Figure(layout="constrained")
        axes = figure.add_subplot()
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.set_title(title)
        yield axes
        image, kind = io.BytesIO(), output.suffix.lower()[1:]
        figure.savefig(image, format=kind, metadata={"Date": None} if kind == "svg" else {"Software": None})
    try:
        output.write_bytes(image.getvalue())
    except OSError as error:
        raise OutputError(f"{output} cannot be written: {error.strerror or error}; choose another output") from error


def _draw(
    axes: Axes,
    curves: Mapping[str, Sequence[tuple[float, float]]],
    points: Mapping[str, Sequence[tuple[float, ...]]],
    bands: Mapping[str, Sequence[tuple[float, float, float]]],
) -> None:
    """Draw bands below, curves above them, and points on top."""
    colours = _colours([*curves, *points, *bands], len(curves))
    named = _named(list(curves))
    for name, stripe in bands.items():
        at, low, high = _columns(stripe, 3)
        label = None if name in curves or name in points else name
        axes.fill_between(at, low, high, color=colours[name], alpha=0.18, linewidth=0, label=label)
    for number, (name, line) in enumerate(curves.items()):
        at, height = _columns(line, 2)
        family = len(curves) >= _FAMILY
        dashes, width = ("-", 1.4) if family else (_DASHES[number % len(_DASHES)], 2.0)
        marker = "o" if len(line) == 1 else ""  # a curve of one point would be invisible
        label = name if name in named else None
        axes.plot(at, height, color=colours[name], linestyle=dashes, linewidth=width, marker=marker, label=label)
    for number, (name, dots) in enumerate(points.items()):
        _points(axes, dots, colours[name], _MARKERS[number % len(_MARKERS)], None if name in named else name)


def _logarithmic(axes: Axes, x: bool = False, y: bool = False) -> None:
    """Make axes logarithmic, with plain numbers: 0.01, 1, 10,000."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    plain = FuncFormatter(lambda value, _: f"{value:,.10g}")
    if x:
        axes.set_xscale("log")
    if y:
        axes.set_yscale("log")
    for axis, (low, high) in [(axes.xaxis, axes.get_xlim())] * x + [(axes.yaxis, axes.get_ylim())] * y:
        axis.set_major_formatter(plain)
        # Label numbers between the powers of ten only where there are few powers.
        axis.set_minor_formatter(plain if high < 30 * low else NullFormatter())


def _columns(rows: Sequence[tuple[float, ...]], count: int) -> list[list[float]]:
    return [[float(row[column]) for row in rows] for column in range(count)]


def _colours(names: Sequence[str], curves: int) -> dict[str, Any]:
    """Assign each name one colour."""
    different = list(dict.fromkeys(names))
    if curves < _FAMILY:
        return {name: _COLOURS[number % len(_COLOURS)] for number, name in enumerate(different)}
    import matplotlib

    shades = matplotlib.colormaps["viridis"]
    family = {name: shades(0.92 * number / (curves - 1)) for number, name in enumerate(different[:curves])}
    return family | {name: _COLOURS[(1 + number) % len(_COLOURS)] for number, name in enumerate(different[curves:])}


def _named(names: Sequence[str]) -> set[str]:
    """Choose the curves for the legend: all, or for a family some at even steps, including first and last."""
    if len(names) < _FAMILY:
        return set(names)
    return {names[round(step * (len(names) - 1) / (_NAMED - 1))] for step in range(_NAMED)}


def _points(axes: Axes, dots: Sequence[tuple[float, ...]], colour: Any, marker: str, label: str | None) -> None:
    dots = [dot for dot in dots if all(map(math.isfinite, dot))]
    at, height = _columns(dots, 2)
    style = {"color": colour, "marker": marker, "markersize": 5.5, "linestyle": "none", "label": label}
    if not any(len(dot) == 4 for dot in dots):
        axes.plot(at, height, **style)
        return
    low = [max(0.0, dot[1] - dot[2]) if len(dot) == 4 else 0.0 for dot in dots]
    high = [max(0.0, dot[3] - dot[1]) if len(dot) == 4 else 0.0 for dot in dots]
    axes.errorbar(at, height, yerr=(low, high), capsize=2.5, elinewidth=1.2, **style)


def _mark(axes: Axes, vline: float | Mapping[str, float] | None) -> None:
    if vline is None:
        return
    several = vline if isinstance(vline, Mapping) else {"": vline}
    for number, (name, at) in enumerate(several.items()):
        dots = ((0, (1, 2)), (0, (5, 3)), (0, (3, 2, 1, 2)))[number % 3]
        axes.axvline(at, color="#222222", linewidth=1.3, linestyle=dots, label=name or None, zorder=3)


def _legend(axes: Axes) -> None:
    handles, _ = axes.get_legend_handles_labels()
    if handles:
        axes.legend(loc="best", ncols=1 if len(handles) <= 6 else 2)
