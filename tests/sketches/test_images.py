"""Perceptual hashes and colour layouts: equal to the oracle, golden, and near for what people do to pictures."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tests import oracles
from tests.pictures import EDITS, encoded, scene
from twinset.documents.items.image_decode import read_picture
from twinset.sketches.images import (
    LAYOUT,
    colour_layouts,
    hashes_and_layouts,
    oriented_hashes,
    oriented_sketches,
    perceptual_hashes,
)

Grids = npt.NDArray[np.float32]
GOLDEN_CODES = [0x667848F44B10A088, 0x0B8350B24DD88DB9]
GOLDEN_LAYOUT = [100.1834, -7.257757, -36.44253, 0.0, -1.136768, 89.99631, 89.99631]
SCENES = 60
DEFAULT = 6


def grids_of(seed: int, count: int, depth: float = 120.0) -> Grids:
    rng = np.random.default_rng(seed)
    small = rng.uniform(-depth, depth, (count, 4, 4, 3))
    return np.clip(128 + np.kron(small, np.ones((1, 8, 8, 1))), 0, 255).astype(np.float32)


def bits(left: int, right: int) -> int:
    return (int(left) ^ int(right)).bit_count()


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(2, 120))
def test_bits_are_the_signs_of_the_oracle(seed: int, depth: float) -> None:
    (grid,) = grids_of(seed, 1, depth)
    wanted = oracles.perceptual_hash(grid[:, :, 0].astype(float).tolist())
    (code,) = perceptual_hashes(grid[None]).tolist()
    for bit, value in enumerate(wanted):
        if abs(value) > 1.0:  # the kernel's whole numbers are rounded: what is all but zero may have either sign
            assert (code >> bit & 1) == (value > 0)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_layouts_are_those_of_the_oracle(seed: int) -> None:
    (grid,) = grids_of(seed, 1)
    (layout,) = colour_layouts(grid[None])
    assert layout.dtype == np.float32
    assert len(layout) == LAYOUT == 33
    assert layout == pytest.approx(oracles.colour_layout(grid.astype(float).tolist()), abs=0.01)


def test_golden_values() -> None:
    steps = np.arange(32, dtype=np.float32)
    grid = np.stack([4 * steps[:, None] + 2 * (steps * steps % 37), *[np.full((32, 32), 90.0)] * 2], axis=2)
    flat = np.full((32, 32, 3), (200, 100, 50))
    assert perceptual_hashes(np.stack([grid, flat]).astype(np.float32)).tolist() == GOLDEN_CODES
    layout = colour_layouts(grid[None].astype(np.float32))[0]
    assert layout[[0, 1, 2, 5, 20, 21, 27]].tolist() == pytest.approx(GOLDEN_LAYOUT, rel=1e-6)


def test_rows_do_not_depend_on_their_batch() -> None:
    grids = grids_of(3, 20)
    codes, layouts = perceptual_hashes(grids), colour_layouts(grids)
    for row in range(20):
        assert perceptual_hashes(grids[row : row + 1])[0] == codes[row]
        assert (colour_layouts(grids[row : row + 1])[0] == layouts[row]).all()
    assert perceptual_hashes(grids[:0]).shape == (0,)
    assert colour_layouts(grids[:0]).shape == (0, LAYOUT)


def test_brightness_and_contrast_change_no_bit() -> None:
    grids = grids_of(4, 50, depth=60)
    changed = np.clip(grids * 0.5 + 90, 0, 255).astype(np.float32)
    apart = [bits(one, other) for one, other in zip(perceptual_hashes(grids), perceptual_hashes(changed), strict=True)]
    assert max(apart) <= 1


def test_unrelated_codes_are_like_drawn_ones() -> None:
    """The mean of 4,950 distances of drawn codes has a standard error of 0.06 bits, and bits of pictures hang together
    a little; a bit in a hundred that was always the same would be seen."""
    codes = perceptual_hashes(grids_of(5, 100)).tolist()
    apart = [bits(codes[i], codes[j]) for i in range(100) for j in range(i)]
    assert 31 < np.mean(apart) < 33
    assert min(apart) > 8
    shares = np.mean([[code >> bit & 1 for bit in range(64)] for code in codes], axis=0)
    assert shares.min() > 0.3  # half, with a standard error of 0.05
    assert shares.max() < 0.7


def test_pictures_of_one_colour_are_as_far_apart_as_their_colours() -> None:
    rng = np.random.default_rng(6)
    colours = rng.integers(0, 256, (400, 3))
    codes = perceptual_hashes(np.broadcast_to(colours[:, None, None, :], (400, 32, 32, 3)).astype(np.float32)).tolist()
    assert len(set(codes)) == len(set(map(tuple, colours.tolist())))
    for i in range(400):
        for j in range(i):
            levels = int(np.abs(colours[i] - colours[j]).sum())
            assert bits(codes[i], codes[j]) <= levels
            if levels >= 30:
                assert bits(codes[i], codes[j]) > DEFAULT
    noise = rng.normal(0, 0.4, (400, 32, 32, 3))
    noisy = perceptual_hashes((colours[:, None, None, :] + noise).astype(np.float32)).tolist()
    assert max(bits(one, other) for one, other in zip(codes, noisy, strict=True)) <= 3


@pytest.mark.parametrize("turned", [0, 90, 37])
def test_a_gradient_is_found_in_its_copies_and_not_in_another(turned: int) -> None:
    """Nearly all coefficients of a gradient are nothing: their signs must not be noise."""
    ground = Image.linear_gradient("L").resize((400, 400)).rotate(turned, Image.Resampling.BICUBIC)
    picture = ground.crop((90, 90, 310, 255)).convert("RGB")
    (own,) = perceptual_hashes(read_picture(encoded(picture), "own").grid[None])
    for name, edit in EDITS.items():
        if name != "with a watermark":  # on a picture without anything else it is what there is to see
            (code,) = perceptual_hashes(read_picture(edit(picture), name).grid[None])
            assert bits(own, code) <= DEFAULT, name
    (other,) = perceptual_hashes(read_picture(encoded(picture.rotate(180)), "turned").grid[None])
    assert bits(own, other) > 20


@pytest.fixture(scope="module")
def edited() -> dict[str, Grids]:
    """The grids of all scenes, as they are ("") and edited in each way."""
    scenes = [scene(seed) for seed in range(SCENES)]
    edits = {"": encoded, **EDITS}
    return {
        name: np.stack([read_picture(edit(one), name).grid for one in scenes])
        for name, edit in edits.items()
    }


def test_edited_copies_are_near_and_others_are_not(edited: dict[str, Grids]) -> None:
    """At the default distance. Of 840 edited copies 97 % are asked for, and no pair of 1,770 others."""
    codes = {name: perceptual_hashes(grids).tolist() for name, grids in edited.items()}
    own = codes.pop("")
    found = {name: np.mean([bits(*two) <= DEFAULT for two in zip(own, of, strict=True)]) for name, of in codes.items()}
    assert min(found.values()) > 0.85, found
    assert np.mean(list(found.values())) > 0.97, found
    assert all(bits(own[i], own[j]) > DEFAULT for i in range(SCENES) for j in range(i))


def test_the_nearest_layout_is_that_of_the_same_picture(edited: dict[str, Grids]) -> None:
    own = colour_layouts(edited[""]).astype(float)
    for name, grids in edited.items():
        if name == "grey":  # the colours are half of what is compared
            continue
        apart = np.linalg.norm(colour_layouts(grids)[:, None, :] - own[None, :, :], axis=2)
        assert (apart.argmin(axis=1) == np.arange(SCENES)).mean() > 0.95, name


@pytest.mark.parametrize("size", [(160, 120), (37, 91), (20, 20), (300, 5)])
def test_orientations_are_those_of_the_turned_pictures_to_the_bit(size: tuple[int, int]) -> None:
    """The eight sketches are, in any order, the sketches of eight files that Pillow has turned."""
    picture = scene(8, *size)
    turned = [picture, *(picture.transpose(way) for way in Image.Transpose)]
    grids = np.stack([read_picture(encoded(one), "it").grid for one in turned])
    (hashes,) = oriented_hashes(grids[:1])
    (sketches,) = oriented_sketches(grids[:1])
    assert hashes[0] == perceptual_hashes(grids[:1])[0]
    assert (sketches[0] == hashes_and_layouts(grids[:1])[0]).all()
    assert sorted(hashes.tolist()) == sorted(perceptual_hashes(grids).tolist())
    assert sorted(map(bytes, sketches)) == sorted(map(bytes, hashes_and_layouts(grids)))
    assert len(set(hashes.tolist())) == 8


def test_the_sketch_of_an_index_is_the_hash_and_the_layout() -> None:
    grids = grids_of(5, 9)
    both = hashes_and_layouts(grids)
    assert both.dtype == np.uint32
    assert (np.ascontiguousarray(both[:, :2]).view(np.uint64)[:, 0] == perceptual_hashes(grids)).all()
    assert (np.ascontiguousarray(both[:, 2:]).view(np.float32) == colour_layouts(grids)).all()
    for some in (oriented_hashes(grids), oriented_sketches(grids)):
        assert some.shape[:2] == (9, 8)
        assert (some[4] == (oriented_hashes if some.ndim == 2 else oriented_sketches)(grids[4:5])[0]).all()
