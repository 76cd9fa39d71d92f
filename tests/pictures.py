"""Pictures drawn for the tests, and what people do to pictures."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageEnhance, ImageFilter

WIDTH, HEIGHT = 160, 120


def scene(seed: int, width: int = WIDTH, height: int = HEIGHT) -> Image.Image:
    """A ground of soft colours, and some shapes on it."""
    rng = np.random.default_rng([seed, 21])
    small = Image.fromarray(rng.integers(40, 216, (3, 4, 3), np.uint8))
    picture = small.resize((width, height), Image.Resampling.BICUBIC)
    draw = ImageDraw.Draw(picture)
    for _ in range(int(rng.integers(4, 9))):
        x, y = rng.uniform(-0.1, 0.8) * width, rng.uniform(-0.1, 0.8) * height
        box = (x, y, x + rng.uniform(0.1, 0.5) * width, y + rng.uniform(0.1, 0.5) * height)
        colour = tuple(rng.integers(0, 256, 3).tolist())
        (draw.ellipse if rng.random() < 0.5 else draw.rectangle)(box, fill=colour)
    return picture


def encoded(picture: Image.Image, format: str = "PNG", **how: Any) -> bytes:
    made = io.BytesIO()
    picture.save(made, format, **how)
    return made.getvalue()


def _scaled(picture: Image.Image, factor: float) -> Image.Image:
    return picture.resize((round(picture.width * factor), round(picture.height * factor)), Image.Resampling.LANCZOS)


def _cropped(picture: Image.Image, share: float) -> Image.Image:
    x, y = round(picture.width * share / 2), round(picture.height * share / 2)
    return picture.crop((x, y, picture.width - x, picture.height - y))


def _marked(picture: Image.Image) -> Image.Image:
    marked = picture.copy()
    place = (picture.width * 0.6, picture.height * 0.88)
    ImageDraw.Draw(marked, "RGBA").text(place, "© someone", fill=(255, 255, 255, 170))
    return marked


EDITS: dict[str, Callable[[Image.Image], bytes]] = {
    "half the size": lambda picture: encoded(_scaled(picture, 0.5)),
    "larger": lambda picture: encoded(_scaled(picture, 1.7)),
    "JPEG, quality 75": lambda picture: encoded(picture, "JPEG", quality=75),
    "JPEG, quality 20": lambda picture: encoded(picture, "JPEG", quality=20),
    "WebP": lambda picture: encoded(picture, "WEBP", quality=60),
    "64 colours": lambda picture: encoded(picture.quantize(64), "GIF"),
    "brighter": lambda picture: encoded(ImageEnhance.Brightness(picture).enhance(1.15)),
    "darker": lambda picture: encoded(ImageEnhance.Brightness(picture).enhance(0.85)),
    "more contrast": lambda picture: encoded(ImageEnhance.Contrast(picture).enhance(1.2)),
    "grey": lambda picture: encoded(picture.convert("L")),
    "blurred": lambda picture: encoded(picture.filter(ImageFilter.GaussianBlur(1.5))),
    "cropped by 2 %": lambda picture: encoded(_cropped(picture, 0.02)),
    "with a watermark": lambda picture: encoded(_marked(picture)),
    "small and JPEG": lambda picture: encoded(_scaled(picture, 0.6), "JPEG", quality=60),
}
