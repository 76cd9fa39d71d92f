"""Pictures in any orientation through the whole run: every pair that fifteen comparisons of each two would find."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import twinset
from tests.pictures import EDITS, encoded, scene
from twinset.documents.items.image_decode import read_picture
from twinset.errors import OptionError
from twinset.options import PairsOptions
from twinset.plan.codes import OrientationPlan
from twinset.plan.from_summary import plan_from_summary
from twinset.sketches.images import oriented_hashes, perceptual_hashes

WAYS = list(Image.Transpose)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fourteen scenes, a turned copy of each in one of seven ways, equal files, and symmetric pictures."""
    place = tmp_path_factory.mktemp("turned")
    (place / "copies").mkdir()
    for seed in range(14):
        picture = scene(seed, 150, 110)
        (place / f"{seed:02d}.png").write_bytes(encoded(picture))
        turned = picture.transpose(WAYS[seed % 7])
        data = encoded(turned) if seed < 7 else EDITS["JPEG, quality 20"](turned)
        (place / f"copies/{seed:02d}.{'png' if seed < 7 else 'jpg'}").write_bytes(data)
    (place / "copies/equal.png").write_bytes(encoded(scene(0, 150, 110)))
    for number, level in enumerate((90, 91, 200)):
        (place / f"copies/flat {number}.png").write_bytes(encoded(Image.new("RGB", (60, 60), (level, level, 40))))
    return place


def hashes_of(path: Path) -> Any:
    """The hashes of a picture and of the seven pictures that Pillow makes of it by turning: the decoded pixels."""
    with Image.open(path) as opened:
        plain = opened.convert("RGB")
    files = [path.read_bytes(), *(encoded(plain.transpose(way)) for way in WAYS)]
    return perceptual_hashes(np.stack([read_picture(one, "it").grid for one in files]))


def least(one: Any, other: Any) -> int:
    """The definition: some orientation of one of the two, and the other as it is."""
    ways = [*(one[way] ^ other[0] for way in range(8)), *(one[0] ^ other[way] for way in range(8))]
    return min(int(differing).bit_count() for differing in ways)


@pytest.fixture(scope="module")
def by_hand(folder: Path) -> dict[tuple[str, str], int]:
    every = {path.relative_to(folder).as_posix(): hashes_of(path) for path in sorted(folder.rglob("*.*g"))}
    return {(one, other): least(every[one], every[other]) for one, other in combinations(sorted(every), 2)}


def pairs_of(found: twinset.PairsResult) -> dict[tuple[str, str], int]:
    return {(row["left"], row["right"]): row["distance"] for row in found.pairs.to_pylist()}


def within(by_hand: dict[tuple[str, str], int], distance: int) -> dict[tuple[str, str], int]:
    return {pair: apart for pair, apart in by_hand.items() if apart <= distance}


@pytest.mark.parametrize("words", [{}, {"threads": 1}, {"threads": 2, "batch_bytes": 1024}])
def test_every_pair_and_no_other(folder: Path, by_hand: dict[tuple[str, str], int], words: dict[str, Any]) -> None:
    for distance in (0, 6, 21, 64):
        found = twinset.find_pairs(folder, images=True, any_orientation=True, distance=distance, **words)
        assert pairs_of(found) == within(by_hand, distance)
    found = pairs_of(twinset.find_pairs(folder, images=True, any_orientation=True, **words))
    assert {(f"{seed:02d}.png", f"copies/{seed:02d}.png") for seed in range(7)} <= set(found)
    plain = pairs_of(twinset.find_pairs(folder, images=True, **words))
    assert plain.items() < found.items()


def test_two_sides(folder: Path, by_hand: dict[tuple[str, str], int]) -> None:
    """Both ways round: turned pictures of this side and the other side as it is, and the reverse."""
    for distance in (6, 21, 64):
        words = {"images": True, "any_orientation": True, "distance": distance}
        found = pairs_of(twinset.find_pairs(folder / "copies", against=[str(folder / "*.png")], **words))
        wanted = {
            (right.removeprefix("copies/"), left): apart
            for (left, right), apart in within(by_hand, distance).items()
            if right.startswith("copies/") and not left.startswith("copies/")
        }
        assert {(left, Path(right).name): apart for (left, right), apart in found.items()} == wanted
    every = [hashes_of(folder / f"{seed:02d}.png") for seed in range(6)]
    apart = list(zip(every[::2], every[1::2], strict=True))
    one_way = [min(int(way ^ other[0]).bit_count() for way in one) for one, other in apart]
    back = [min(int(way ^ one[0]).bit_count() for way in other) for one, other in apart]
    assert one_way != back, "the hash of a turned picture is no turned hash, so one way alone would miss pairs"


def test_joined_by_blocks_as_by_comparing_all(tmp_path: Path) -> None:
    """So many pictures that their hashes are joined by blocks, not compared all with all."""
    rng = np.random.default_rng(4)
    small = rng.integers(0, 256, (1200, 8, 8), np.uint8).repeat(4, axis=1).repeat(4, axis=2)
    small[900:] = np.rot90(small[:300], axes=(1, 2))
    small[900:, ::3, 5] ^= 4
    names = [f"{number:04d}.png" for number in range(len(small))]
    for name, one in zip(names, small, strict=True):
        Image.fromarray(one).save(tmp_path / name)
    hashes = oriented_hashes(
        np.stack([read_picture((tmp_path / name).read_bytes(), "it").grid for name in names])
    )
    apart = np.full((len(small), len(small)), 64)
    for way in range(8):
        apart = np.minimum(apart, np.bitwise_count(hashes[:, way, None] ^ hashes[None, :, 0]))
    apart = np.minimum(apart, apart.T)
    for distance in (0, 2):
        found = twinset.find_pairs(tmp_path, images=True, any_orientation=True, distance=distance, audit=0)
        assert found.summary["plan"]["tables"] > 0
        wanted = {(names[one], names[other]): int(apart[one, other]) for one, other in np.argwhere(apart <= distance)
                  if one < other}  # fmt: skip
        assert pairs_of(found) == wanted
        assert len(wanted) > 100


def test_audit_summary_and_plan_say_what_was_compared(folder: Path, by_hand: dict[tuple[str, str], int]) -> None:
    found = twinset.find_pairs(folder, images=True, any_orientation=True, audit=32)
    assert found.summary["options"]["any_orientation"] is True
    audit = found.summary["audit"]
    distinct = [pair for pair in within(by_hand, 6) if "copies/equal.png" not in pair]
    assert (audit["documents"], audit["pairs"], audit["found"]) == (31, len(distinct), len(distinct))
    assert str(plan_from_summary(PairsOptions.of(images=True, any_orientation=True), found.summary["plan"])) == (
        "exact, all compared with all: every pair of pictures is found whose 64-bit codes differ in at most 6 bits in "
        "some orientation"
    )


def test_turned_copies_are_removed(folder: Path, tmp_path: Path) -> None:
    done = twinset.dedup(folder, images=True, any_orientation=True, output=tmp_path / "OUT")
    kept = done.kept["id"].to_pylist()
    assert {f"{seed:02d}.png" for seed in range(14)} <= set(kept)
    assert not {f"copies/{seed:02d}.png" for seed in range(7)} & set(kept)
    assert "copies/equal.png" not in kept
    again = twinset.open_result(tmp_path / "OUT")
    assert isinstance(again.recorded.plan, OrientationPlan)
    again.report(tmp_path / "album.html")
    assert "data:image/jpeg" in (tmp_path / "album.html").read_text()


def test_what_does_not_fit_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"text": "a", "c": 1}\n')
    for words, message in (
        ({}, "any_orientation does not apply to texts"),
        ({"codes": "c"}, "any_orientation does not apply to bit codes"),
    ):
        for job in (twinset.find_pairs, twinset.dedup):
            with pytest.raises(OptionError, match=message):
                job(tmp_path / "t.jsonl", any_orientation=True, **words)
    with pytest.raises(OptionError, match="any_orientation=True compares hashes, and top= colour layouts"):
        twinset.find_pairs(folder, images=True, any_orientation=True, top=3)
