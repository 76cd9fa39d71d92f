"""Find the ten nearest neighbours of an image in a collection, by colour layout.

    python similar_images.py                          in 200 generated pictures
    python similar_images.py PICTURE FOLDER           in your folder
    python similar_images.py --sheet nearest.png      and show all of them on one sheet

Needs ``pip install "twinset[images]"``.
"""

import argparse
import random
import tempfile
from pathlib import Path

from PIL import Image, ImageDraw, ImageOps

import twinset

SKIES = {"day": ("#6db3f2", "#cfe8fb"), "dusk": ("#34295e", "#f08a4b"), "night": ("#050b24", "#20366b")}
GROUNDS = {"meadow": "#4f8a3c", "desert": "#d9a95b", "sea": "#1f5f8b", "snow": "#eef3f7"}


def landscape(sky: str, ground: str, seed: int) -> Image.Image:
    """Draw a sky, a sun, hills and a ground; the seed chooses their positions."""
    drawn = random.Random(f"{sky} {ground} {seed}")
    high, low = (Image.new("RGB", (240, 160), colour) for colour in SKIES[sky])
    picture = Image.composite(low, high, Image.linear_gradient("L").resize((240, 160)))
    draw = ImageDraw.Draw(picture)
    x, y, size = drawn.randint(10, 200), drawn.randint(5, 60), drawn.randint(12, 30)
    draw.ellipse((x, y, x + size, y + size), fill="#fff4c2")
    horizon = drawn.randint(80, 115)
    for _ in range(drawn.randint(1, 4)):
        x, width, height = drawn.randint(-40, 220), drawn.randint(60, 140), drawn.randint(20, 60)
        draw.polygon([(x, horizon), (x + width // 2, horizon - height), (x + width, horizon)], fill="#5b5f77")
    draw.rectangle((0, horizon, 240, 160), fill=GROUNDS[ground])
    return picture


def draw_collection(folder: Path, count: int) -> None:
    """Draw `count` landscapes, named after what they show."""
    for number in range(count):
        sky, ground = list(SKIES)[number % 3], list(GROUNDS)[number % 4]
        landscape(sky, ground, number).save(folder / f"{sky}-{ground}-{number:03}.png")


def nearest(picture: Path, folder: Path, count: int = 10) -> list[tuple[str, float]]:
    """Return the nearest pictures in the folder, each with its distance: levels from 0 to 255."""
    found = twinset.find_pairs(picture, against=[folder], images=True, top=count)
    return list(zip(found.pairs["right"].to_pylist(), found.pairs["distance"].to_pylist(), strict=True))


def sheet(picture: Path, folder: Path, found: list[tuple[str, float]]) -> Image.Image:
    """Draw the picture with its nearest beside it."""
    made = Image.new("RGB", (6 * 130 + 10, 2 * 122 + 10), "white")
    draw = ImageDraw.Draw(made)
    shown = [(picture, "asked for"), *((folder / name, f"{apart:.1f}") for name, apart in found)]
    for place, (path, words) in enumerate(shown):
        # The query is in the first column, the others in rows of five.
        column, row = (0, 0) if place == 0 else (1 + (place - 1) % 5, (place - 1) // 5)
        with Image.open(path) as opened:
            small = ImageOps.contain(ImageOps.exif_transpose(opened).convert("RGB"), (120, 90))
        x, y = 10 + 130 * column, 10 + 122 * row
        made.paste(small, (x, y))
        draw.text((x, y + 94), words, fill="black", font_size=13)
    return made


def main() -> None:
    """Find the nearest pictures, and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", type=Path, nargs="?")
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--sheet", type=Path, help="a file for the pictures side by side, such as nearest.png")
    arguments = parser.parse_args()
    if arguments.picture is not None and arguments.folder is None:
        parser.error("name a folder of pictures too")
    with tempfile.TemporaryDirectory() as drawn:
        picture, folder = arguments.picture, arguments.folder
        if picture is None:
            folder, picture = Path(drawn, "collection"), Path(drawn, "asked-for.png")
            folder.mkdir()
            draw_collection(folder, 200)
            landscape("dusk", "sea", 2024).save(picture)
        found = nearest(picture, folder)
        print(f"nearest to {picture.name}:")
        for name, apart in found:
            print(f"  {apart:6.2f}  {name}")
        if arguments.sheet is not None:
            sheet(picture, folder, found).save(arguments.sheet)


if __name__ == "__main__":
    main()
