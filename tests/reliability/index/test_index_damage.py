"""A file that is cut short or has a bit wrong: refused by name, or unharmed. Never a crash, never another answer."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import twinset
from tests.reliability.index.index_work import MORE_TABLES, OPTIONS, text_of
from tests.reliability.nursery import Nursery

STORES: dict[str, dict[str, Any]] = {store: {"store": store} for store in ("text", "shingles", "none")}
WAYS = STORES | MORE_TABLES
PAGE = 8192
HEAD = 100


def made(folder: Path, options: dict[str, Any]) -> Path:
    """A folder with a small index that has pages of every kind: long texts, short ones, free pages."""
    folder.mkdir()
    with twinset.Index.create(folder / "documents.twinset", **OPTIONS, **options) as index:
        ids = {f"{family}-{member}": text_of(family, member) for family in range(16) for member in range(4)}
        index.add(list(ids), list(ids.values()))
        index.add(["long"], [" ".join(f"{number}th" for number in range(6000))])
        index.add(["gone"], [" ".join(f"{number}nd" for number in range(6000))])
        index.remove(["gone"])
        index.update(["5-1"], [text_of(5, 1, version=3)])
    assert sorted(path.name for path in folder.iterdir()) == ["documents.twinset"]
    return folder


@pytest.fixture(scope="module", params=WAYS)
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("kept") / request.param, WAYS[request.param])


def in_turn(number: int, places: list[int], every: bool) -> list[int]:
    """All places of a page or frame; or a half of them, the other half for the next one."""
    return places if every else places[number % 2 :: 2]


def flips(size: int, dice: random.Random, everywhere: int, *, every: bool) -> Iterator[list[Any]]:
    """Bits to turn: in each byte of the header, at the telling places of each page, and anywhere."""
    for at in range(HEAD):
        yield from (["flip", at, 1 << bit] for bit in (range(8) if every else [at % 8]))
    for page in range(0, size, PAGE):
        head = page + (HEAD if page == 0 else 0)
        within = (dice.randrange(HEAD, PAGE), PAGE - 8, PAGE - 1)
        places = [*(head + at for at in (0, 3, 6, 9)), *(page + at for at in within)]
        yield from (["flip", at, 1 << dice.randrange(8)] for at in in_turn(page // PAGE, places, every))
    for _ in range(everywhere):
        yield ["flip", dice.randrange(size), dice.randrange(1, 256)]


def cuts(size: int, dice: random.Random, everywhere: int, *, every: bool) -> Iterator[list[Any]]:
    """Sizes to cut a file to: nothing, parts of its header, each page's border and just beside it, and any."""
    yield from (["cut", at] for at in (0, 1, 15, 16, 17, 31, 32, 99, 100, 511, 512, 513, 4096) if at < size)
    for page in range(PAGE, size, PAGE):
        yield from (["cut", at] for at in in_turn(page // PAGE, [page, page - 1, page + 1], every))
    yield ["cut", size - 1]
    for _ in range(everywhere):
        yield ["cut", dice.randrange(size)]


def sweep(nursery: Nursery, kept: Path, folder: Path, name: str, damages: list[list[Any]]) -> dict[str, int]:
    """Examine all, in two processes; how many were noticed."""
    halves = [damages[0::2], damages[1::2]]
    children = [
        nursery.start("examine", kept, folder / str(number), name, half) for number, half in enumerate(halves) if half
    ]
    said = [one for child in children for one in child.ended_well(3000)]
    assert len(said) == len(damages)
    wrong = [one for one in said if one["wrong"]]
    assert not wrong, (len(wrong), wrong[:3])
    noticed = [one for one in said if one["refused"]]
    at_once = [one for one in noticed if one["refused"] == ["open"]]
    print(f"{name} of {kept.name}: {len(said)} damages, {len(noticed)} noticed, {len(at_once)} of them on opening")
    return {"noticed": len(noticed), "unharmed": len(said) - len(noticed)}


def test_bits_turned(nursery: Nursery, kept: Path, tmp_path: Path) -> None:
    size = (kept / "documents.twinset").stat().st_size
    found = list(flips(size, random.Random(11), 60, every=False))
    assert sweep(nursery, kept, tmp_path, "documents.twinset", found)["noticed"] > 0.8 * len(found)


def test_cut_short(nursery: Nursery, kept: Path, tmp_path: Path) -> None:
    size = (kept / "documents.twinset").stat().st_size
    found = list(cuts(size, random.Random(12), 20, every=False))
    sweep(nursery, kept, tmp_path, "documents.twinset", found)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_bits_turned_everywhere(nursery: Nursery, kept: Path, tmp_path: Path) -> None:
    size = (kept / "documents.twinset").stat().st_size
    found = list(flips(size, random.Random(13), 5000, every=True))
    assert sweep(nursery, kept, tmp_path, "documents.twinset", found)["noticed"] > 0.8 * len(found)
    sweep(nursery, kept, tmp_path, "documents.twinset", list(cuts(size, random.Random(14), 1000, every=True)))


def sweep_export(nursery: Nursery, kept: Path, folder: Path, count: int) -> None:
    """Turn bits and cut, everywhere and above all in what a Parquet file has at its end."""
    exported = folder / "exported.parquet"
    with twinset.Index.open(kept / "documents.twinset") as index:
        index.export(exported)
    dice, size = random.Random(15), exported.stat().st_size
    places = [*range(8), *(dice.randrange(size) for _ in range(count))]
    places += [size - dice.randrange(1, 7000) for _ in range(count)]
    damages = [["flip", at, 1 << dice.randrange(8)] for at in places if 0 <= at < size]
    damages += [["cut", at] for at in (0, 1, 4, 8, 12, size - 1, size - 4, size - 8, size // 2)]
    halves = [damages[0::2], damages[1::2]]
    folders = [folder / "one", folder / "two"]
    for one in folders:
        one.mkdir()
    children = [
        nursery.start("examine_export", exported, one, half) for one, half in zip(folders, halves, strict=True)
    ]
    said = [one for child in children for one in child.ended_well(3000)]
    wrong = [one for one in said if one["wrong"]]
    assert not wrong, (len(wrong), wrong[:3])
    noticed = sum(bool(one["refused"]) for one in said)
    print(f"export of {kept.name}: {len(said)} damages, {noticed} noticed")
    assert len(said) == len(damages)
    assert noticed > count // 4


@pytest.mark.parametrize("kept", STORES, indirect=True)  # the others are exported as texts
def test_an_exported_file(nursery: Nursery, kept: Path, tmp_path: Path) -> None:
    sweep_export(nursery, kept, tmp_path, 60)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_an_exported_file_everywhere(nursery: Nursery, kept: Path, tmp_path: Path) -> None:
    sweep_export(nursery, kept, tmp_path, 4000)
