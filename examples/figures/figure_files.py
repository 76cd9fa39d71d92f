"""Shared parts of these programs: their arguments, and the files of figures and numbers."""

import argparse
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

Numbers = dict[str, Any]


def parser(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser for the arguments that every program takes."""
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--out", type=Path, metavar="FOLDER", help="folder for the figure; by default a trial run")
    made.add_argument("--redraw", action="store_true", help="measure nothing, draw the numbers stored in --out")
    return made


def run(
    arguments: argparse.Namespace, name: str, measure: Callable[[], Numbers], draw: Callable[[Numbers, Path], None]
) -> None:
    """Measure, print a summary, draw, and write the numbers and the figure."""
    if arguments.out is None:
        if arguments.redraw:
            raise SystemExit("--redraw draws the numbers stored in --out; name that folder")
        numbers = measure()
        print(numbers["words"])
        with tempfile.TemporaryDirectory() as scratch:
            draw(numbers, Path(scratch, name))
        print("this was a small trial run; --out FOLDER measures in full and writes the figure")
        return
    kept = arguments.out / f"{name}.json"
    if arguments.redraw:
        numbers = json.loads(kept.read_text("utf-8"))
    else:
        arguments.out.mkdir(parents=True, exist_ok=True)
        numbers = measure()
        kept.write_text(json.dumps(numbers, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(numbers["words"])
    draw(numbers, arguments.out / name)


def both(draw: Callable[[Path], object], place: Path) -> None:
    """Draw a figure twice: as SVG and as PNG."""
    for ending in (".svg", ".png"):
        draw(place.with_name(place.name + ending))
