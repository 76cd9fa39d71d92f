"""A small source of every kind of item: families of near ones, copies, what has nothing near, what is empty."""

from __future__ import annotations

import csv
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from tests.pictures import encoded, scene

DAYS, SCORES = ("2024-01-01", "2024-05-05", "2023-12-31"), (1.5, 2.0, -3.0)


class Kind(NamedTuple):
    """How a source of a kind is written, and the options that say what its items are."""

    write: Callable[[Path], Path]
    words: dict[str, Any]
    columns: bool = True  # whether a keep policy can name a column

    @property
    def flags(self) -> list[str]:
        """The options as the command line has them."""
        every = [(f"--{name.replace('_', '-')}", one) for name, value in self.words.items()
                 for one in (value if isinstance(value, list) else [value])]  # fmt: skip
        return [word for name, one in every for word in ([name] if one is True else [name, str(one)])]


def _families(seed: int, families: int, members: int, first: Callable[[Any], Any], changed: Callable[..., Any]) -> Any:
    """Items of which each is a changed one of the family before it, or the same; shuffled."""
    dice = random.Random(seed)
    found = []
    for _ in range(families):
        one = first(dice)
        for _ in range(members):
            found.append(one)
            one = changed(one, dice) if dice.random() < 0.8 else one
    dice.shuffle(found)
    return found


def _table(path: Path, columns: dict[str, Any]) -> Path:
    dice, count = random.Random(5), len(next(iter(columns.values())))
    more = {
        "id": [f"{dice.randrange(10**6):06}-{row}" for row in range(count)],
        "day": [dice.choice(DAYS) for _ in range(count)],
        "score": [dice.choice(SCORES) for _ in range(count)],
    }
    pq.write_table(pa.table({**more, **columns}), path, row_group_size=16)
    return path


def code_values(families: int = 10, members: int = 6) -> list[int]:
    def flipped(code: int, dice: Any) -> int:
        for bit in dice.sample(range(64), dice.randrange(1, 4)):
            code ^= 1 << bit
        return code

    found: list[int] = _families(1, families, members, lambda dice: dice.getrandbits(64), flipped)
    return found


def vector_values(families: int = 10, members: int = 6) -> list[list[float]]:
    def moved(vector: list[float], dice: Any) -> list[float]:
        return [float(np.float32(one + dice.gauss(0, 0.12))) for one in vector]

    found = _families(2, families, members, lambda dice: [dice.gauss(0, 1) for _ in range(8)], moved)
    return [*found, [0.0] * 8]


def basket_values(families: int = 10, members: int = 6) -> list[dict[str, float]]:
    def bought(basket: dict[str, float], dice: Any) -> dict[str, float]:
        gone = dice.choice(sorted(basket))
        rest = {name: weight for name, weight in basket.items() if name != gone}
        return {**rest, f"thing {dice.randrange(60)}": dice.choice([0.25, 1.0, 2.0])}

    def first(dice: Any) -> dict[str, float]:
        return {f"thing {one}": dice.choice([0.5, 1.0, 3.0]) for one in dice.sample(range(60), 8)}

    return [*_families(3, families, members, first, bought), {}]


def record_values(families: int = 10, members: int = 6) -> list[dict[str, str]]:
    def renamed(record: dict[str, str], dice: Any) -> dict[str, str]:
        words = record["name"].split()
        words[dice.randrange(len(words))] = f"n{dice.randrange(50)}"
        return {**record, "name": " ".join(words)}

    def first(dice: Any) -> dict[str, str]:
        return {"name": " ".join(f"n{dice.randrange(50)}" for _ in range(8)), "city": f"c{dice.randrange(9)}"}

    found: list[dict[str, str]] = _families(4, families, members, first, renamed)
    return found


def _long(path: Path, weights: bool) -> Path:
    """A long table, the rows of each basket spread over it."""
    rows = [(f"u{number:02}", *one) for number, basket in enumerate(basket_values()) for one in basket.items()]
    random.Random(6).shuffle(rows)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["user", "thing", "weight"] if weights else ["user", "thing"])
        writer.writerows(rows if weights else [row[:2] for row in rows])
    return path


def _lists(path: Path, weights: bool) -> Path:
    baskets = basket_values()
    columns: dict[str, Any] = {"things": pa.array([list(one) for one in baskets], pa.list_(pa.string()))}
    if weights:
        columns["w"] = pa.array([list(one.values()) for one in baskets], pa.list_(pa.float64()))
    return _table(path, columns)


def _pictures(folder: Path) -> Path:
    folder.mkdir()
    for number in range(8):
        picture = scene(number)
        (folder / f"{number}.png").write_bytes(encoded(picture))
        (folder / f"{number} copy.png").write_bytes(encoded(picture))
        for quality in (10, 30):
            (folder / f"{number} {quality}.jpg").write_bytes(encoded(picture, "JPEG", quality=quality))
        small = picture.resize((picture.width // 3, picture.height // 3))
        (folder / f"{number} small.png").write_bytes(encoded(small))
        (folder / f"{number} cut.png").write_bytes(encoded(picture.crop((4, 3, 156, 117))))
    return folder


def _turned(folder: Path) -> Path:
    """Rotate or mirror every third picture."""
    for number, path in enumerate(sorted(folder.iterdir())):
        if number % 3 == 0:
            with Image.open(path) as opened:
                turned = opened.convert("RGB").transpose(list(Image.Transpose)[number // 3 % 7])
            path.with_suffix(".png").write_bytes(encoded(turned))
    return folder


def _npy(path: Path) -> Path:
    np.save(path, np.array(vector_values(), np.float32))
    return path


def _records(path: Path) -> Path:
    rows = record_values()
    return _table(path, {name: [row[name] for row in rows] for name in ("name", "city")})


KINDS = {
    "items": Kind(lambda folder: _lists(folder / "sets.parquet", False), {"items": "things"}),
    "groups": Kind(lambda folder: _long(folder / "long.csv", False), {"group": "user", "item": "thing"}, False),
    "records": Kind(lambda folder: _records(folder / "people.parquet"), {"text": ["name,word:1", "city,word:1"]}),
    "weighted sets": Kind(lambda folder: _lists(folder / "sets.parquet", True), {"items": "things", "weight": "w"}),
    "weighted groups": Kind(
        lambda folder: _long(folder / "long.csv", True), {"group": "user", "item": "thing", "weight": "weight"}, False
    ),
    "codes": Kind(
        lambda folder: _table(folder / "codes.parquet", {"code": pa.array(code_values(), pa.uint64())}),
        {"codes": "code"},
    ),
    "vectors": Kind(
        lambda folder: _table(
            folder / "vectors.parquet", {"v": pa.array(vector_values(), pa.list_(pa.float32(), 8))}
        ),
        {"vectors": "v"},
    ),
    "npy": Kind(lambda folder: _npy(folder / "vectors.npy"), {"vectors": True}, False),
    "images": Kind(lambda folder: _pictures(folder / "pictures"), {"images": True}, False),
    "turned images": Kind(
        lambda folder: _turned(_pictures(folder / "pictures")), {"images": True, "any_orientation": True}, False
    ),
}  # fmt: skip
