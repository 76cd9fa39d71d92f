"""Folders of pictures through the whole run: pairs by perceptual hash, the nearest by colour layout, clean folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twinset
from tests.pictures import EDITS, encoded, scene
from twinset.documents.items.image_decode import read_picture
from twinset.errors import OptionError, RowError
from twinset.sketches.images import colour_layouts, perceptual_hashes

FAMILIES = 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve scenes; of every third an enlarged copy and a JPEG, and of the first an equal file."""
    place = tmp_path_factory.mktemp("pictures")
    (place / "copies").mkdir()
    for seed in range(FAMILIES):
        (place / f"{seed:02d}.png").write_bytes(encoded(scene(seed)))
        if seed % 3 == 0:
            (place / f"copies/{seed:02d}-large.png").write_bytes(EDITS["larger"](scene(seed)))
            (place / f"copies/{seed:02d}.jpg").write_bytes(EDITS["small and JPEG"](scene(seed)))
    (place / "copies/equal.png").write_bytes(encoded(scene(0)))
    (place / "notes.txt").write_text("no picture")
    return place


def grids(folder: Path) -> dict[str, Any]:
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".png", ".jpg"))
    return {path.relative_to(folder).as_posix(): read_picture(path.read_bytes(), "it").grid for path in files}


def pairs_of(found: twinset.PairsResult) -> list[tuple[str, str, float]]:
    return [(row["left"], row["right"], row["distance"]) for row in found.pairs.to_pylist()]


def by_hand(folder: Path, distance: int) -> list[tuple[str, str, float]]:
    every = grids(folder)
    names = sorted(every)
    codes = perceptual_hashes(np.stack([every[name] for name in names])).tolist()
    bits = [(one, other, (codes[i] ^ codes[j]).bit_count()) for i, one in enumerate(names)
            for j, other in enumerate(names) if i < j]  # fmt: skip
    return [pair for pair in bits if pair[2] <= distance]


@pytest.mark.parametrize("words", [{}, {"threads": 1}, {"threads": 2, "batch_bytes": 1024}])
def test_every_pair_within_the_distance_and_no_other(folder: Path, words: dict[str, Any]) -> None:
    found = twinset.find_pairs(folder, images=True, **words)
    assert pairs_of(found) == by_hand(folder, 6)
    assert len(pairs_of(found)) == 3 * 3 + 6
    assert found.summary["documents"] == 21
    assert [reason for _, reason in found.summary["skipped"]] == ["not a picture, judging by its extension"]
    for distance in (0, 30):
        other = twinset.find_pairs(folder, images=True, distance=distance, **words)
        assert pairs_of(other) == by_hand(folder, distance)


@pytest.mark.parametrize("words", [{}, {"threads": 2, "batch_bytes": 1024}])
def test_of_each_the_nearest_by_colour_layout(folder: Path, words: dict[str, Any]) -> None:
    every = grids(folder)
    names = sorted(every)
    layouts = colour_layouts(np.stack([every[name] for name in names])).astype(float)
    apart = np.sqrt(((layouts[:, None, :] - layouts[None, :, :]) ** 2).sum(axis=2))
    found = pairs_of(twinset.find_pairs(folder, images=True, top=10, **words))
    assert len(found) == 10 * len(names)
    for place, name in enumerate(names):
        others = [other for other in range(len(names)) if other != place]
        wanted = sorted(others, key=lambda other: (apart[place, other], other))[:10]
        mine = found[10 * place : 10 * place + 10]
        assert [left for left, _, _ in mine] == [name] * 10
        assert [right for _, right, _ in mine] == [names[other] for other in wanted]
        assert [far for *_, far in mine] == pytest.approx([apart[place, other] for other in wanted], abs=1e-6)
    near = pairs_of(twinset.find_pairs(folder, images=True, top=10, distance=12.5, **words))
    assert near == [pair for pair in found if pair[2] <= 12.5]
    assert 0 < len(near) < len(found)


def test_the_nearest_in_another_folder(folder: Path) -> None:
    found = pairs_of(twinset.find_pairs(folder / "copies", against=[str(folder / "*.png")], images=True, top=1))
    shown = {left: Path(right).name for left, right, _ in found}
    wanted = {f"{seed:02d}{end}": f"{seed:02d}.png" for seed in range(0, 12, 3) for end in ("-large.png", ".jpg")}
    assert shown == {**wanted, "equal.png": "00.png"}


@pytest.mark.soak
def test_the_ten_nearest_of_a_picture_in_a_folder_of_twenty_thousand(tmp_path: Path) -> None:
    (tmp_path / "collection").mkdir()
    for number in range(20_000):
        (tmp_path / f"collection/{number:05d}.png").write_bytes(encoded(scene(number, 32, 24)))
    (tmp_path / "asked.jpg").write_bytes(EDITS["JPEG, quality 75"](scene(12_345, 32, 24)))
    found = pairs_of(twinset.find_pairs(tmp_path / "asked.jpg", against=[tmp_path / "collection"], images=True, top=10))
    every = grids(tmp_path)
    layouts = dict(zip(every, colour_layouts(np.stack(list(every.values()))).astype(float), strict=True))
    asked = layouts.pop("asked.jpg")
    apart = sorted((float(np.linalg.norm(one - asked)), Path(name).name) for name, one in layouts.items())[:10]
    assert [right for _, right, _ in found] == [name for _, name in apart]
    assert [far for *_, far in found] == pytest.approx([far for far, _ in apart], abs=1e-6)
    assert found[0][1] == "12345.png"


def test_a_clean_folder(folder: Path, tmp_path: Path) -> None:
    done = twinset.dedup(folder, images=True, output=tmp_path / "OUT", copy=True)
    kept = [f"{seed:02d}.png" for seed in range(FAMILIES)]
    assert (tmp_path / "OUT/kept.txt").read_text().split() == kept
    assert sorted(path.name for path in (tmp_path / "OUT/kept").iterdir()) == kept
    assert (tmp_path / "OUT/kept/00.png").read_bytes() == (folder / "00.png").read_bytes()
    assert done.summary["removed"] == 9
    removed = done.removed.to_pylist()
    assert done.removed.column_names == ["id", "because_of", "distance"]
    assert all(row["because_of"][:2] in (row["id"].removeprefix("copies/")[:2], "00") for row in removed)
    held = twinset.dedup(folder, images=True)
    assert held.kept.column_names == ["id", "path"]
    assert held.kept["id"].to_pylist() == kept
    assert held.removed.to_pylist() == removed


def test_the_picture_of_most_pixels_is_kept_where_that_is_asked_for(folder: Path) -> None:
    done = twinset.dedup(folder, images=True, keep="longest")
    kept = set(done.kept["id"].to_pylist())
    assert {f"copies/{seed:02d}-large.png" for seed in range(0, 12, 3)} < kept
    assert not {f"{seed:02d}.png" for seed in range(0, 12, 3)} & kept


def test_damaged_pictures_stop_the_run_or_are_named(folder: Path, tmp_path: Path) -> None:
    for path in folder.glob("*.png"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "05.png").write_bytes(b"no picture")
    with pytest.raises(RowError, match=r'05\.png: the picture cannot be read: .*; use on_error="skip"'):
        twinset.find_pairs(tmp_path, images=True, on_error="stop")
    done = twinset.dedup(tmp_path, images=True, output=tmp_path / "OUT")
    assert done.summary["unreadable"] == 1
    assert done.summary["kept"] == FAMILIES - 1
    assert "05.png" not in (tmp_path / "OUT/kept.txt").read_text()


def test_words_without_a_meaning_for_pictures_are_refused(folder: Path) -> None:
    for words in ({"threshold": 0.7}, {"shingle": "word:3"}, {"exact": True}, {"text": "body"}, {"distance": 2.5}):
        with pytest.raises(OptionError):
            twinset.find_pairs(folder, images=True, **words)
