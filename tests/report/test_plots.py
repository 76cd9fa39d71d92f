"""Figures: real files of both formats, the same bytes every time, and nothing lost or invented in drawing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from twinset.errors import OptionError, OutputError
from twinset.plan import plan
from twinset.report.plots import check_figure, curve_figure

CURVE = plan(0.8).curve(50)
AXES: dict[str, Any] = {"x": "similarity", "y": "share", "title": "A title"}


def paths_of(svg: Path, colour: str) -> int:
    """How many strokes of a colour a figure has."""
    return len(re.findall(rf"stroke: {colour}", svg.read_text("utf-8")))


@pytest.mark.parametrize(("ending", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("SVG", b"<?xml")])
def test_the_ending_chooses_the_format(tmp_path: Path, ending: str, start: bytes) -> None:
    made = curve_figure({"one": CURVE}, tmp_path / f"figure.{ending}", **AXES)
    assert made.read_bytes().startswith(start)


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_the_same_numbers_give_the_same_bytes(tmp_path: Path, ending: str) -> None:
    words = {**AXES, "points": {"dots": [(0.5, 0.4, 0.3, 0.6)]}, "band": {"one": [(0, 0, 0.1), (1, 0.9, 1)]}}
    for name in ("a", "b"):
        curve_figure({"one": CURVE, "two": [(0, 0), (1, 1)]}, tmp_path / f"{name}.{ending}", vline=0.8, **words)
    first = (tmp_path / f"a.{ending}").read_bytes()
    assert first == (tmp_path / f"b.{ending}").read_bytes()
    assert not re.search(rb"<dc:date>|Software\0", first)


def test_settings_of_the_machine_do_not_change_a_figure(tmp_path: Path) -> None:
    program = (
        "from twinset.report.plots import curve_figure; "
        "curve_figure({'one': [(0, 0), (1, 1)]}, 'figure.svg', x='x', y='y', title='t')"
    )
    made = []
    for name, settings in (("plain", ""), ("loud", "lines.linewidth: 9\naxes.facecolor: red\nfont.size: 30\n")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "matplotlibrc").write_text(settings)
        subprocess.run([sys.executable, "-c", program], cwd=folder, check=True)
        made.append((folder / "figure.svg").read_bytes())
    assert made[0] == made[1]


def test_a_figure_leaves_the_settings_as_they_were(tmp_path: Path) -> None:
    import matplotlib

    matplotlib.rcParams["lines.linewidth"] = 7.5
    try:
        curve_figure({"one": CURVE}, tmp_path / "figure.svg", **AXES)
        assert matplotlib.rcParams["lines.linewidth"] == 7.5
    finally:
        matplotlib.rcdefaults()


def test_every_curve_of_a_family_is_drawn_and_some_are_named(tmp_path: Path) -> None:
    family = {f"L = {number}": [(0.0, 0.0), (1.0, number / 50)] for number in range(1, 51)}
    made = curve_figure(family, tmp_path / "family.svg", **AXES).read_text("utf-8")
    colours = set(re.findall(r"fill: none; stroke: (#[0-9a-f]{6}); stroke-width: 1.4", made))
    assert len(colours) == 50
    assert made.count("<!-- L = ") == 6
    assert "<!-- L = 1 -->" in made
    assert "<!-- L = 50 -->" in made


def test_words_are_words_and_not_formulas(tmp_path: Path) -> None:
    made = curve_figure({"costs $5 & <b>": CURVE}, tmp_path / "figure.svg", **{**AXES, "title": "漢字 $x^2$ _a_"})
    text = made.read_text("utf-8")
    assert "$x^2$" in text
    assert "<b>" not in text


def test_logarithmic_axes_have_plain_numbers(tmp_path: Path) -> None:
    line = [(10.0, 0.001), (1000.0, 1.0), (100000.0, 100.0)]
    made = curve_figure({"time": line}, tmp_path / "log.svg", log_x=True, log_y=True, **AXES).read_text("utf-8")
    for number in ("10", "100,000", "0.001", "100"):
        assert f"<!-- {number} -->" in made
    assert "mathdefault" not in made


def test_points_without_numbers_are_left_out_and_one_point_is_seen(tmp_path: Path) -> None:
    alone = curve_figure({"one": [(0.5, 0.5)]}, tmp_path / "alone.svg", **AXES)
    assert paths_of(alone, "#0063a8") > paths_of(curve_figure({}, tmp_path / "none.svg", **AXES), "#0063a8")
    dots = {"dots": [(0.1, float("nan")), (0.2, 0.5)], "none": []}
    assert curve_figure({}, tmp_path / "dots.svg", points=dots, **AXES).stat().st_size > 1000


def test_files_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"the figure is 'x\.pdf'; allowed: a name that ends in \.svg or \.png"):
        check_figure("x.pdf")
    with pytest.raises(OutputError, match=r"missing/figure\.svg cannot be written: No such file or directory"):
        curve_figure({"one": CURVE}, tmp_path / "missing" / "figure.svg", **AXES)
