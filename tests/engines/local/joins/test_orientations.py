"""Pictures in any orientation through the whole run: every pair that fifteen comparisons of each two would find."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import twinset
from tests.cli.helpers import twinset as command
from tests.pictures import EDITS, encoded, scene
from twinset.documents.items.image_decode import read_picture
from twinset.errors import OptionError
from twinset.sketches.images import perceptual_hashes

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
        assert "in some orientation" in str(found.summary["plan"]) or found.summary["plan"]["reached"] == 1.0
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
    apart = [(hashes_of(folder / f"{n:02d}.png"), hashes_of(folder / f"{m:02d}.png")) for n, m in ((0, 1), (2, 3), (4, 5))]
    one_way = [min(int(way ^ other[0]).bit_count() for way in one) for one, other in apart]
    back = [min(int(way ^ one[0]).bit_count() for way in other) for one, other in apart]
    assert one_way != back, "the hash of a turned picture is no turned hash, so one way alone would miss pairs"


def test_joined_by_blocks_as_by_comparing_all(tmp_path: Path) -> None:
    """More pictures than are compared all with all; the hashes are put in by hand, as a run reads them."""
    from twinset.candidates.hamming.join import Join

    rng = np.random.default_rng(4)
    hashes = rng.integers(0, 2**64, (3000, 8), np.uint64)
    hashes[1500:, 0] = hashes[:1500, 5] ^ (np.uint64(1) << rng.integers(0, 64, 1500).astype(np.uint64))
    join = Join.across(hashes.reshape(-1, 1), np.ascontiguousarray(hashes[:, :1]), 6)
    found = {(int(turned) // 8, int(own)) for portion in join.pairs() for turned, own in portion.numbers}
    assert {(row, 1500 + row) for row in range(1500)} <= found
    assert len([pair for pair in found if pair[0] != pair[1]]) == 1500


def test_audit_summary_and_plan_say_what_was_compared(folder: Path, by_hand: dict[tuple[str, str], int]) -> None:
    found = twinset.find_pairs(folder, images=True, any_orientation=True, audit=32)
    assert found.summary["options"]["any_orientation"] is True
    audit = found.summary["audit"]
    assert (audit["documents"], audit["missed"]) == (32, 0)
    assert audit["pairs"] == len(within(by_hand, 6))
    done = command("pairs", folder, "--images", "--any-orientation", "--distance", "1")
    assert "in at most 1 bit in some orientation" in done.err


def test_turned_copies_are_removed(folder: Path, tmp_path: Path) -> None:
    done = twinset.dedup(folder, images=True, any_orientation=True, output=tmp_path / "OUT")
    kept = done.kept["id"].to_pylist()
    assert {f"{seed:02d}.png" for seed in range(14)} <= set(kept)
    assert not {f"copies/{seed:02d}.png" for seed in range(7)} & set(kept)
    assert "copies/equal.png" not in kept
    again = twinset.open_result(tmp_path / "OUT")
    assert "some orientation" in str(again.plan if hasattr(again, "plan") else again.recorded.plan)
    report = tmp_path / "album.html"
    again.report(report)
    assert report.stat().st_size > 10_000


def test_what_does_not_fit_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"text": "a", "c": 1}\n')
    for words, message in (
        ({}, "any_orientation does not apply to texts"),
        ({"codes": "c"}, "any_orientation does not apply to bit codes"),
    ):
        for job in (twinset.find_pairs, twinset.dedup):
            with pytest.raises(OptionError, match=message):
                job(tmp_path / "t.jsonl", any_orientation=True, **words)
    with pytest.raises(OptionError, match="any_orientation compares hashes, and top colour layouts"):
        twinset.find_pairs(folder, images=True, any_orientation=True, top=3)
