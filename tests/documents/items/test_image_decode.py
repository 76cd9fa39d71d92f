"""Pictures of every mode and format come to the colours that a viewer shows; what is none is refused."""

from __future__ import annotations

import io
import random
import threading
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tests import oracles
from tests.pictures import encoded, scene
from twinset.documents.items import image_decode
from twinset.documents.items.image_decode import SIDE, read_picture, thumbnail
from twinset.documents.items.image_kernels import add_rows
from twinset.errors import OptionError, RowError

Turn = Image.Transpose
# How a picture must lie in the file so that the turn that EXIF data name brings it upright.
STORED = {
    2: Turn.FLIP_LEFT_RIGHT, 3: Turn.ROTATE_180, 4: Turn.FLIP_TOP_BOTTOM, 5: Turn.TRANSPOSE, 6: Turn.ROTATE_90,
    7: Turn.TRANSVERSE, 8: Turn.ROTATE_270,
}  # fmt: skip


def grid_of(data: bytes) -> npt.NDArray[np.float32]:
    return read_picture(data, "it").grid


def apart(data: bytes, other: bytes) -> float:
    return float(np.abs(grid_of(data) - grid_of(other)).max())


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.sampled_from([1, 2, 3, 4]), st.integers(0, 9), st.integers(0, 999))
def test_means_are_those_of_the_oracle(height: int, width: int, channels: int, cut: int, seed: int) -> None:
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, channels), np.uint8)
    side, cut = 5, min(cut, height)
    sums = np.zeros((side, side, 3), np.int64)
    for first, rows in ((cut, pixels[cut:]), (0, pixels[:cut])):
        add_rows(np.ascontiguousarray(rows), first, height, sums)
    wanted = oracles.cell_means(pixels.tolist(), side)
    for row in range(side):
        for column in range(side):
            assert sums[row, column].tolist() == [255 * width * height * mean for mean in wanted[row][column]]


@pytest.mark.parametrize(
    ("format", "how", "most"),
    [
        *[(name, {}, 0.0) for name in ("BMP", "TIFF", "GIF", "PPM", "PNG")],
        ("WEBP", {"lossless": True}, 0.0),
        ("JPEG2000", {}, 0.0),
        ("TIFF", {"compression": "tiff_lzw"}, 0.0),
        ("JPEG", {"quality": 95, "subsampling": 0}, 4.0),
        ("JPEG", {"quality": 95, "subsampling": 0, "progressive": True}, 4.0),
    ],
)
def test_formats(format: str, how: dict[str, Any], most: float) -> None:
    picture = scene(1).quantize(256, dither=Image.Dither.NONE).convert("RGB")  # no more colours than a GIF can hold
    assert apart(encoded(picture, format, **how), encoded(picture)) <= most


def test_modes() -> None:
    picture = scene(2)
    plain, grey = encoded(picture), picture.convert("L")
    levels = np.asarray(grey)
    for mode in ("RGBA", "P"):
        turned = picture.convert(mode)
        assert apart(encoded(turned), encoded(turned.convert("RGB"))) == 0.0
    assert apart(encoded(picture.convert("CMYK"), "JPEG", quality=95, subsampling=0), plain) < 6
    wide: list[tuple[npt.NDArray[Any], str]] = [
        (levels.astype(np.uint16) * 257, "PNG"),
        (levels.astype(np.uint16) * 257, "TIFF"),
        (levels.astype(np.int32) * 257, "TIFF"),
        (levels.astype(np.float32) / 255, "TIFF"),
        (levels.astype(np.float32), "TIFF"),
    ]
    for values, format in wide:
        assert apart(encoded(Image.fromarray(values), format), encoded(grey)) < 0.01
    black = grey.convert("1", dither=Image.Dither.NONE)
    assert apart(encoded(black), encoded(black.convert("RGB"))) == 0.0
    assert apart(encoded(grey.convert("LA")), encoded(grey)) == 0.0


def test_numbers_of_no_known_range_are_stretched() -> None:
    values = np.linspace(-3, 900, SIDE * SIDE, dtype=np.float32).reshape(SIDE, SIDE)
    grid = grid_of(encoded(Image.fromarray(values), "TIFF"))[:, :, 0]
    assert (grid[0, 0], grid[-1, -1]) == (0, 255)
    values[0, 0] = np.nan
    with pytest.raises(RowError, match="not numbers"):
        grid_of(encoded(Image.fromarray(values), "TIFF"))


def test_what_is_transparent_lies_on_white() -> None:
    picture, white = scene(3), encoded(Image.new("RGB", (9, 9), "white"))
    clear = picture.convert("RGBA")
    clear.putalpha(0)
    assert apart(encoded(clear), white) == 0.0
    half = picture.convert("RGBA")
    half.putalpha(128)
    ground = Image.new("RGBA", picture.size, "white")
    ground.alpha_composite(half)
    assert apart(encoded(half), encoded(ground.convert("RGB"))) < 1
    two = Image.new("P", (10, 10), 1)
    two.putpalette([0, 0, 0, 10, 20, 30])
    assert apart(encoded(two, transparency=1), white) == 0.0
    assert apart(encoded(two, "GIF", transparency=1), white) == 0.0
    assert apart(encoded(Image.new("RGB", (10, 10), (5, 6, 7)), transparency=(5, 6, 7)), white) == 0.0
    assert apart(encoded(Image.new("L", (10, 10), 5), transparency=5), white) == 0.0


@pytest.mark.parametrize("orientation", sorted(STORED))
@pytest.mark.parametrize("format", ["PNG", "JPEG", "TIFF", "WEBP"])
def test_it_is_turned_as_exif_data_say(orientation: int, format: str) -> None:
    picture, exif = scene(4), Image.Exif()
    exif[0x0112] = orientation
    how: dict[str, Any] = {"WEBP": {"lossless": True}, "JPEG": {"quality": 95, "subsampling": 0}}.get(format, {})
    data = encoded(picture.transpose(STORED[orientation]), format, exif=exif, **how)
    assert apart(data, encoded(picture)) <= (4 if format == "JPEG" else 0)
    small = Image.open(io.BytesIO(thumbnail(data, "it", 40)[0]))
    assert small.size == (40, 30)
    assert thumbnail(data, "it", 40)[1:] == (160, 120)
    assert 0x0112 not in small.getexif()


def test_of_an_animation_the_first_frame() -> None:
    first, second = scene(5).quantize(256).convert("RGB"), scene(6)
    for format in ("GIF", "WEBP", "PNG", "TIFF"):
        how: dict[str, Any] = {"lossless": True} if format == "WEBP" else {}
        data = encoded(first, format, save_all=True, append_images=[second], **how)
        assert apart(data, encoded(first)) == 0.0, format


def test_large_pictures_are_read_in_strips_and_large_jpegs_at_a_fraction(monkeypatch: pytest.MonkeyPatch) -> None:
    picture = scene(7, 1600, 1200)
    whole = read_picture(encoded(picture), "it")
    assert whole.pixels == 1600 * 1200
    fraction = read_picture(encoded(picture, "JPEG", quality=95), "it")
    assert fraction.pixels == 1600 * 1200
    assert float(np.abs(fraction.grid - whole.grid).mean()) < 0.5
    monkeypatch.setattr(image_decode, "_STRIP", 1600 * 7)
    monkeypatch.setattr(image_decode, "_LARGE", 1000)
    assert (grid_of(encoded(picture)) == whole.grid).all()
    assert not image_decode._large.locked()


def test_pictures_of_a_few_pixels() -> None:
    assert (grid_of(encoded(Image.new("RGB", (1, 1), (255, 255, 255))))[:, :, 0] == 255).all()
    wide = Image.new("L", (2, 1))
    wide.putpixel((1, 0), 255)
    assert grid_of(encoded(wide))[0, :, 0].tolist() == [0] * 16 + [255] * 16


PNG, JPEG, TIFF = (encoded(scene(8), format) for format in ("PNG", "JPEG", "TIFF"))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "unknown format"),
        (b"hello", "unknown format"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "unknown format"),
        (PNG[:200], "truncated"),
        (JPEG[: len(JPEG) // 2], "runcated"),
        (TIFF[: len(TIFF) // 2], "truncated"),
        (PNG[:30] + b"\0" * 200, "the picture cannot be read"),
    ],
)
def test_what_is_no_picture_or_damaged_is_refused(data: bytes, said: str) -> None:
    for read in (lambda: read_picture(data, "a/b.png"), lambda: thumbnail(data, "a/b.png", 40)):
        with pytest.raises(RowError, match=said) as caught:
            read()
        assert caught.value.where == "a/b.png"
    assert not image_decode._large.locked()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(PNG) - 1), st.integers(0, 255), st.sampled_from([PNG, JPEG, TIFF]))
def test_a_changed_byte_is_read_or_refused_and_nothing_else(place: int, byte: int, data: bytes) -> None:
    place %= len(data)
    try:
        grid = grid_of(data[:place] + bytes([byte]) + data[place + 1 :])
    except RowError:
        return
    assert np.isfinite(grid).all()


def test_what_would_unpack_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind of limit: ours, that at which Pillow warns, and that at which it refuses."""
    for size in ((9500, 9500), (14000, 14000)):
        bomb = encoded(Image.new("1", size))
        assert len(bomb) < 60_000
        with pytest.raises(RowError, match=r"89,478,485|89478485|178956970"):
            grid_of(bomb)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)  # as some programs do
    with pytest.raises(RowError, match="9,500 × 9,500 pixels, more than the maximum, 89,478,485"):
        grid_of(encoded(Image.new("1", (9500, 9500))))


def test_threads_see_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    data = [encoded(scene(seed), "JPEG") for seed in range(12)]
    alone = [grid_of(one) for one in data]
    found: dict[int, npt.NDArray[np.float32]] = {}
    monkeypatch.setattr(image_decode, "_LARGE", 1000)

    def work(place: int) -> None:
        found[place] = grid_of(data[place])

    threads = [threading.Thread(target=work, args=(place,)) for place in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((found[place] == alone[place]).all() for place in range(12))


def test_thumbnails_are_small_and_hold_nothing_but_the_picture() -> None:
    exif = Image.Exif()
    exif[0x010E] = "taken at home"
    picture = scene(9, 900, 500)
    others = (encoded(picture.convert(mode)) for mode in ("RGBA", "P", "I;16"))
    for data in (encoded(picture, "JPEG", exif=exif), *others):
        small, width, height = thumbnail(data, "it", 120)
        assert (width, height) == (900, 500)
        assert b"taken at home" not in small
        assert len(small) < 8000
        with Image.open(io.BytesIO(small)) as opened:
            assert (opened.format, opened.mode, opened.size) == ("JPEG", "RGB", (120, 67))
    tiny = Image.open(io.BytesIO(thumbnail(encoded(Image.new("RGB", (3, 2), "red")), "it", 120)[0]))
    assert tiny.size == (3, 2)


def test_what_there_is_no_room_for_stops_the_run_whatever_is_skipped() -> None:
    picture = scene(10, 400, 300)
    for data, needed in ((encoded(picture), 480_000), (encoded(picture, "JPEG", progressive=True), 960_000)):
        assert read_picture(data, "it", room=needed).pixels == 400 * 300
        with pytest.raises(OptionError, match=r"it: decoding the picture needs .*; raise memory= to at least"):
            read_picture(data, "it", room=needed - 1)
    assert read_picture(encoded(scene(10, 1600, 1200), "JPEG"), "it", room=600_000).pixels == 1600 * 1200


def test_flat_pictures_of_any_range() -> None:
    for values in (np.full((5, 5), 70000, np.int32), np.full((5, 5), 1e6, np.float32), np.full((5, 5), -1, np.int32)):
        assert np.ptp(grid_of(encoded(Image.fromarray(values), "TIFF"))[:, :, 0]) == 0
        assert thumbnail(encoded(Image.fromarray(values), "TIFF"), "it", 16)[1:] == (5, 5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "TIFF", "WEBP", "BMP"])
def test_a_damaged_file_is_a_picture_or_is_refused(format: str) -> None:
    dice, whole, refused = random.Random(1), encoded(scene(1, 40, 30), format), 0
    for _ in range(150):
        data = bytearray(whole[: dice.randrange(1, len(whole))] if dice.random() < 0.3 else whole)
        for _ in range(dice.randrange(1, 6)):  # headers most of all
            data[dice.randrange(min(200, len(data)) if dice.random() < 0.7 else len(data))] = dice.randrange(256)
        try:
            found = read_picture(bytes(data), "it")
        except RowError:
            refused += 1
        else:
            assert np.isfinite(found.grid).all()
    assert refused > 30


def test_whatever_goes_wrong_with_one_picture_is_said_of_it() -> None:
    with (
        pytest.raises(RowError, match=r"it: the picture cannot be read: division by zero"),
        image_decode._Opened(encoded(scene(1)), "it") as image,
    ):
        image.size[0] / 0
