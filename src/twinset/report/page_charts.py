"""Charts of a report as SVG, coloured by the page's style."""

from __future__ import annotations

import math
from collections.abc import Sequence

from twinset.plan import Plan
from twinset.report.numbers import Bin
from twinset.wording import counted, share

WIDTH, HEIGHT = 520, 272
LEFT, RIGHT, TOP, BOTTOM = 60, 14, 28, 40
_DOTS = 10
_LETTER = 8  # approximate width of a letter, on a small screen
_NAME = 96  # width of the name of the upward axis, on a small screen
_DIGIT, _SMALL_DIGIT, _GAP = 7, 10, 4  # width of a digit, on a small screen, and between two labels
_INNER, _TALL = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM


def histogram(bins: Sequence[Bin], threshold: float) -> str:
    """Draw pairs by similarity."""
    low, most = bins[0].low, nice(max(max(one.count for one in bins), 1))
    body = [_grid([(step, f"{step:,}") for step in _steps(most)], most)]
    for one in bins:
        left, right = _x(one.low, low), _x(one.high, low)
        height = _TALL * one.count / most
        title = f"{one.low:g} to {one.high:g}: {counted(one.count, 'pair')}"
        if one.count:
            body.append(_bar(left, right, height, title, _value(bins, one, right - left)))
    body.append(_axis(low, "pairs"))
    if threshold > low + 1e-9:
        body.append(_upright(_x(threshold, low), f"threshold {threshold:g}"))
    return _svg("Pairs by similarity", body)


def distances(bins: Sequence[Bin], bits: bool) -> str:
    """Draw pairs by distance, for codes a bar per number of bits."""
    low, high = bins[0].low, bins[-1].high
    most = nice(max(max(one.count for one in bins), 1))
    body = [_grid([(step, f"{step:,}") for step in _steps(most)], most)]
    every = math.ceil(len(bins) / 12)
    for place, one in enumerate(bins):
        left, right = (LEFT + _INNER * (value - low) / (high - low) for value in (one.low, one.high))
        height = _TALL * one.count / most
        name = f"{one.middle:g}" if bits else f"{one.low:.3g} to {one.high:.3g}"
        title = f"{name}{' bits' if bits else ''}: {counted(one.count, 'pair')}"
        if one.count:
            body.append(_bar(left, right, height, title, _value(bins, one, right - left)))
        if place % every == 0:
            x, label = ((left + right) / 2, f"{one.middle:g}") if bits else (left, f"{one.low:.3g}")
            body.append(
                f'<text class="tick" x="{x:.2f}" y="{HEIGHT - BOTTOM + 17}" text-anchor="middle">{label}</text>'
            )
    body.append(_base("distance in bits" if bits else "distance", "pairs"))
    return _svg("Pairs by distance", body)


def _bar(left: float, right: float, height: float, title: str, value: tuple[str, str] | None) -> str:
    """A bar with its count above it, because bars of close counts look the same."""
    top = TOP + _TALL - height
    rect = (
        f'<rect class="bar" x="{left + 0.75:.2f}" y="{top:.2f}" width="{max(right - left - 1.5, 1):.2f}" '
        f'height="{max(height, 1):.2f}"><title>{title}</title></rect>'
    )
    if value is None:
        return rect
    place = f'x="{(left + right) / 2:.2f}" y="{top - 4:.2f}" text-anchor="middle"'
    return f'{rect}<text class="{value[0]}" {place}>{value[1]}</text>'


def _value(bins: Sequence[Bin], one: Bin, width: float) -> tuple[str, str] | None:
    """Return the class and the text of the count above a bar; None unless the counts of all bars fit."""
    digits = max(len(f"{each.count:,}") for each in bins)
    if _DIGIT * digits + _GAP > width:
        return None
    return "value" if _SMALL_DIGIT * digits + _GAP <= width else "value roomy", f"{one.count:,}"


def s_curve(plan: Plan, bins: Sequence[Bin], missed: Sequence[float], threshold: float) -> str:
    """Draw the probability of being found, with the pairs of the corpus on the curve and missed pairs below."""
    steps = [i / 200 for i in range(201)]
    points = " ".join(f"{_x(s, 0):.2f},{_y(plan.p_found(s)):.2f}" for s in steps)
    body = [_grid([(step / 4, f"{step / 4:g}") for step in range(5)], 1.0)]
    body.append(f'<polyline class="curve" points="{points}"/>')
    body.append(_upright(_x(threshold, 0), f"threshold {threshold:g}"))
    groups = grouped(bins, _DOTS)
    most = max(one.count for one in groups)
    for one in groups:
        if one.count:
            probability = plan.p_found(one.middle)
            radius = 2 + 8 * math.sqrt(one.count / most)
            pairs = f"{counted(one.count, 'pair')} from {one.low:g} to {one.high:g}"
            title = f"{pairs}{', each' if one.count > 1 else ','} found with probability {share(probability)}"
            body.append(
                f'<circle class="dot" cx="{_x(one.middle, 0):.2f}" cy="{_y(probability):.2f}" r="{radius:.2f}">'
                f"<title>{title}</title></circle>"
            )
    for similarity in missed:
        x, y = _x(similarity, 0), _y(0) - 5
        cross = f"M{x - 4:.2f} {y - 4:.2f}l8 8m0-8l-8 8"
        body.append(f'<path class="missed" d="{cross}"><title>missed, {share(similarity)}</title></path>')
    body.append(_axis(0, "probability"))
    return _svg("Probability that a pair is found, by similarity", body)


def grouped(bins: Sequence[Bin], most: int) -> list[Bin]:
    """Merge neighbouring bins to at most `most`.

    Examples
    --------
    >>> grouped([Bin(0.7, 0.8, 1), Bin(0.8, 0.9, 2), Bin(0.9, 1.0, 4)], 2)
    [Bin(low=0.7, high=0.9, count=3), Bin(low=0.9, high=1.0, count=4)]
    """
    step = math.ceil(len(bins) / most)
    pieces = [bins[first : first + step] for first in range(0, len(bins), step)]
    return [Bin(piece[0].low, piece[-1].high, sum(one.count for one in piece)) for piece in pieces]


def interval(low: float, high: float, value: float, requested: float) -> str:
    """Draw a share with its interval on an axis that ends at 1."""
    start = max(0.0, math.floor((min(low, requested) - (1 - min(low, requested)) * 0.25) * 100) / 100)
    span = (1 - start) or 1

    def at(place: float) -> float:
        return 8 + 384 * (place - start) / span

    body = [
        '<line class="axis" x1="8" x2="392" y1="22" y2="22"/>',
        f'<line class="range" x1="{at(low):.2f}" x2="{at(high):.2f}" y1="22" y2="22"/>',
        f'<circle class="dot solid" cx="{at(value):.2f}" cy="22" r="6"/>',
        f'<line class="mark" x1="{at(requested):.2f}" x2="{at(requested):.2f}" y1="10" y2="34"/>',
        f'<text class="tick" x="8" y="52">{start:g}</text>',
        '<text class="tick" x="392" y="52" text-anchor="end">1</text>',
        f'<text class="tick" x="{min(max(at(requested), 60), 340):.2f}" y="52" text-anchor="middle">'
        f"requested {requested:g}</text>",
    ]
    return (
        f'<svg class="chart small" viewBox="0 0 400 60" role="img" aria-label="recall {share(value)}, '
        f'interval {share(low)} to {share(high)}">{"".join(body)}</svg>'
    )


def nice(number: float) -> float:
    """Next round number for the end of an axis; a quarter of it is an integer.

    Examples
    --------
    >>> [nice(n) for n in (1, 7, 10, 12, 130, 2600)]
    [4, 8, 12, 12, 200, 4000]
    """
    if number <= 4:
        return 4
    power = int(10 ** math.floor(math.log10(number)))
    ends = (step * power // 10 for step in (10, 12, 20, 40, 60, 80, 100, 120))
    return next(end for end in ends if end >= number and end % 4 == 0)


def _steps(most: float) -> list[int]:
    return [round(most * quarter / 4) for quarter in range(5)]


def _x(value: float, low: float) -> float:
    return LEFT + _INNER * (value - low) / ((1 - low) or 1)


def _y(share: float) -> float:
    return TOP + _TALL * (1 - share)


def _grid(ticks: Sequence[tuple[float, str]], most: float) -> str:
    lines = []
    for value, label in ticks:
        y = _y(value / most)
        lines.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.2f}" y2="{y:.2f}"/>')
        lines.append(f'<text class="tick" x="{LEFT - 8}" y="{y + 4:.2f}" text-anchor="end">{label}</text>')
    return "".join(lines)


def _axis(low: float, upward: str) -> str:
    """The similarity axis, and the label of the other axis."""
    step = next((one for one in (0.01, 0.02, 0.05, 0.1, 0.2) if (1 - low) / one <= 6), 0.2)
    count = round(1 / step)
    ticks = [i / count for i in range(math.ceil(low * count - 1e-9), count + 1)]
    labels = [
        f'<text class="tick" x="{_x(s, low):.2f}" y="{HEIGHT - BOTTOM + 17}" text-anchor="middle">{s:g}</text>'
        for s in ticks
    ]
    return "".join(labels) + _base("similarity", upward)


def _base(along: str, upward: str) -> str:
    """The base line, and the labels of both axes."""
    return (
        f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{TOP + _TALL}" y2="{TOP + _TALL}"/>'
        f'<text class="name" x="{LEFT + _INNER / 2}" y="{HEIGHT - 4}" text-anchor="middle">{along}</text>'
        f'<text class="name" x="4" y="{TOP - 12}">{upward}</text>'
    )


def _upright(x: float, label: str) -> str:
    """A dashed line with its label above the chart, where neither bars nor curves are."""
    half = _LETTER * len(label) / 2
    middle = min(max(x, _NAME + half), WIDTH - RIGHT - half)
    return (
        f'<line class="mark" x1="{x:.2f}" x2="{x:.2f}" y1="{TOP - 8}" y2="{TOP + _TALL}"/>'
        f'<text class="tick" x="{middle:.2f}" y="{TOP - 14}" text-anchor="middle">{label}</text>'
    )


def _svg(title: str, body: Sequence[str]) -> str:
    return f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}">{"".join(body)}</svg>'
