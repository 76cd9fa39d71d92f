"""Families of pictures whose truth is known: a drawn scene or a piece of a photograph, and edited copies of it."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageEnhance, ImageFilter
from PIL.Image import Resampling

SEED = 20240501
SIZES = ((320, 240), (240, 320), (400, 300), (300, 300), (480, 270))
KINDS = {"clouds": 0.28, "shapes": 0.22, "mixed": 0.28, "page": 0.1, "gradient": 0.05, "stripes": 0.03, "symbol": 0.04}
PLAIN = ("gradient", "stripes", "symbol")
"""Kinds of which a picture holds little: a hash by signs has little to go by."""


def scene(number: int) -> tuple[Image.Image, str]:
    """One picture, and of what kind it is."""
    rng = np.random.default_rng([SEED, number])
    width, height = SIZES[rng.integers(len(SIZES))]
    kind = str(rng.choice(list(KINDS), p=list(KINDS.values())))
    if kind in ("clouds", "mixed"):
        picture = _clouds(rng, width, height)
    elif kind in ("gradient", "stripes"):
        picture = _two_colours(rng, width, height, kind == "stripes")
    else:
        picture = Image.new("RGB", (width, height), "white" if kind in ("page", "symbol") else _colour(rng))
    if kind in ("shapes", "mixed"):
        _shapes(rng, picture)
    if kind == "page":
        _lines(rng, picture)
    if kind == "symbol":
        _symbol(rng, picture)
    return picture, kind


def photographs() -> list[Image.Image]:
    """Pieces of the two photographs that scikit-learn has, none of which lies over another."""
    from sklearn.datasets import load_sample_images

    return [
        Image.fromarray(photo[top : top + 142, left : left + 160])
        for photo in load_sample_images().images
        for top in range(0, photo.shape[0] - 141, 142)
        for left in range(0, photo.shape[1] - 159, 160)
    ]


def large(number: int) -> bytes:
    """A picture as a camera makes it: 12 megapixels, JPEG."""
    rng = np.random.default_rng([SEED, number, 12])
    picture = _clouds(rng, 500, 375).resize((4000, 3000), Resampling.BICUBIC)
    _shapes(rng, picture)
    return _saved(picture, "JPEG", quality=85)


def write_collection(folder: Path, counts: dict[str, tuple[int, tuple[int, int]]]) -> None:
    """Folders of JPEGs, by name: so many of a size, each a piece of one of some clouds with shapes of its own."""
    rng = np.random.default_rng([SEED, 640])
    grounds = [_clouds(rng, 900, 700) for _ in range(24)]
    for name, (count, (width, height)) in counts.items():
        (folder / name).mkdir(parents=True)
        for number in range(count):
            ground = grounds[int(rng.integers(len(grounds)))]
            x, y = int(rng.integers(900 - width)), int(rng.integers(700 - height))
            picture = ground.crop((x, y, x + width, y + height))
            _shapes(rng, picture)
            (folder / name / f"{name}-{number:05d}.jpg").write_bytes(_saved(picture, "JPEG", quality=85))


def write(folder: Path, families: int) -> None:
    """Files named ``family-kind-edit.ending``; the families after the drawn ones are photographs."""
    folder.mkdir(parents=True)
    drawn = [scene(number) for number in range(families)]
    every = [*drawn, *((photo, "photograph") for photo in photographs())]
    for number, (picture, kind) in enumerate(every):
        for edit, make in EDITS.items():
            data = make(picture)
            ending = {b"\xff\xd8": "jpg", b"GI": "gif"}.get(data[:2], "png")
            (folder / f"{number:04d}-{kind}-{edit}.{ending}").write_bytes(data)


def _colour(rng: np.random.Generator) -> Any:
    return tuple(rng.integers(0, 256, 3).tolist())


def _clouds(rng: np.random.Generator, width: int, height: int) -> Image.Image:
    """Noise with the spectrum of photographs: the higher a frequency, the less of it."""
    frequency = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.fftfreq(width)[None, :])
    frequency[0, 0] = 1
    power, common = rng.uniform(0.9, 1.6), rng.standard_normal((height, width))
    channels = []
    for _ in range(3):
        spectrum = np.fft.fft2(0.8 * common + 0.5 * rng.standard_normal((height, width))) / frequency**power
        spectrum[0, 0] = 0
        channel = np.real(np.fft.ifft2(spectrum))
        channels.append(channel / channel.std())
    levels: npt.NDArray[Any] = rng.uniform(70, 180, 3) + rng.uniform(20, 60) * np.stack(channels, axis=2)
    return Image.fromarray(np.clip(levels, 0, 255).astype(np.uint8))


def _two_colours(rng: np.random.Generator, width: int, height: int, stripes: bool) -> Image.Image:
    one, other = np.array(_colour(rng)), np.array(_colour(rng))
    y, x = np.mgrid[0:height, 0:width]
    if stripes:
        count = int(rng.integers(3, 9))
        share = (x * count // width + (y * count // height if rng.random() < 0.5 else 0)) % 2
    else:
        angle = rng.uniform(0, 2 * math.pi)
        share = math.cos(angle) * x / width + math.sin(angle) * y / height
        share = (share - share.min()) / np.ptp(share)
    levels = one * (1 - share[..., None]) + other * share[..., None]
    return Image.fromarray(levels.astype(np.uint8))


def _shapes(rng: np.random.Generator, picture: Image.Image) -> None:
    draw, (width, height) = ImageDraw.Draw(picture), picture.size
    for _ in range(int(rng.integers(2, 12))):
        x, y = rng.uniform(-0.1, 0.9) * width, rng.uniform(-0.1, 0.9) * height
        wide, high = rng.uniform(0.05, 0.5) * width, rng.uniform(0.05, 0.5) * height
        form = int(rng.integers(3))
        if form == 2:
            corners = [(x + rng.uniform() * wide, y + rng.uniform() * high) for _ in range(4)]
            draw.polygon(corners, fill=_colour(rng))
        else:
            (draw.ellipse, draw.rectangle)[form]((x, y, x + wide, y + high), fill=_colour(rng))


def _lines(rng: np.random.Generator, picture: Image.Image) -> None:
    """Something like a printed page."""
    draw, (width, height) = ImageDraw.Draw(picture), picture.size
    draw.rectangle((20, 12, 20 + rng.uniform(0.2, 0.8) * width * 0.8, 26), fill="black")
    y = 40
    while y < height - 20:
        y += 30 if rng.random() < 0.1 else 0
        long = 1.0 if rng.random() < 0.75 else rng.uniform(0.2, 0.9)
        draw.line((20, y, 20 + (width - 40) * long, y), fill=(40, 40, 40), width=3)
        y += 9


def _symbol(rng: np.random.Generator, picture: Image.Image) -> None:
    draw, (width, height) = ImageDraw.Draw(picture), picture.size
    radius = min(width, height) * rng.uniform(0.2, 0.45)
    middle = (width / 2 - radius, height / 2 - radius, width / 2 + radius, height / 2 + radius)
    draw.ellipse(middle, fill=_colour(rng))
    letters = "".join(rng.choice(list("ABCDEFGHKLMNPRSTXYZ"), 2))
    draw.text((width / 2 - 20, height / 2 - 20), letters, fill="white", font_size=40)


def _saved(picture: Image.Image, format: str = "PNG", **how: Any) -> bytes:
    made = io.BytesIO()
    picture.save(made, format, **how)
    return made.getvalue()


def _scaled(picture: Image.Image, factor: float, how: Resampling = Resampling.LANCZOS) -> Image.Image:
    return picture.resize((round(picture.width * factor), round(picture.height * factor)), how)


def _cropped(picture: Image.Image, share: float) -> Image.Image:
    x, y = round(picture.width * share / 2), round(picture.height * share / 2)
    return picture.crop((x, y, picture.width - x, picture.height - y))


def _marked(picture: Image.Image) -> Image.Image:
    marked = picture.copy()
    place = (picture.width * 0.55, picture.height * 0.88)
    size = max(10, picture.height // 16)
    ImageDraw.Draw(marked, "RGBA").text(place, "© example", fill=(255, 255, 255, 180), font_size=size)
    return marked


def _gamma(picture: Image.Image, power: float) -> Image.Image:
    return picture.point([round(255 * (level / 255) ** power) for level in range(256)] * 3)


EDITS: dict[str, Callable[[Image.Image], bytes]] = {
    "itself": _saved,
    "half": lambda picture: _saved(_scaled(picture, 0.5)),
    "quarter": lambda picture: _saved(_scaled(picture, 0.25, Resampling.BILINEAR)),
    "larger": lambda picture: _saved(_scaled(picture, 1.5, Resampling.BICUBIC)),
    "squeezed": lambda picture: _saved(picture.resize((200, 200), Resampling.BICUBIC)),
    "jpeg75": lambda picture: _saved(picture, "JPEG", quality=75),
    "jpeg30": lambda picture: _saved(picture, "JPEG", quality=30),
    "jpeg10": lambda picture: _saved(picture, "JPEG", quality=10),
    "gif64": lambda picture: _saved(picture.quantize(64), "GIF"),
    "brighter": lambda picture: _saved(ImageEnhance.Brightness(picture).enhance(1.15)),
    "darker": lambda picture: _saved(ImageEnhance.Brightness(picture).enhance(0.85)),
    "contrast": lambda picture: _saved(ImageEnhance.Contrast(picture).enhance(1.2)),
    "gamma": lambda picture: _saved(_gamma(picture, 0.8)),
    "grey": lambda picture: _saved(picture.convert("L")),
    "blurred": lambda picture: _saved(picture.filter(ImageFilter.GaussianBlur(1.5))),
    "cropped2": lambda picture: _saved(_cropped(picture, 0.02)),
    "cropped5": lambda picture: _saved(_cropped(picture, 0.05)),
    "watermark": lambda picture: _saved(_marked(picture)),
}
