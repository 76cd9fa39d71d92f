"""Decode pictures to small grids of colours and to thumbnails, with Pillow.

A picture becomes the mean colours of 32 × 32 cells, so that copies of other sizes and formats give nearly the same
numbers. It is read as a viewer shows it: rotated by its EXIF orientation, transparent parts on white, the first frame
of an animation. Colour profiles are ignored. Only this module imports Pillow.
"""

from __future__ import annotations

import io
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from twinset.documents.items.image_kernels import add_rows
from twinset.errors import MissingError, OptionError, RowError, TwinsetError
from twinset.options.checks import shown_size

if TYPE_CHECKING:
    from PIL.Image import Image

SIDE = 32
"""Rows and columns of a grid."""

MOST_PIXELS = 89_478_485
"""Maximum pixels of a picture: Pillow's own limit against decompression bombs."""

ENDINGS = (
    *(".png", ".apng", ".jpg", ".jpeg", ".jpe", ".jfif", ".gif", ".webp", ".bmp", ".dib", ".tif", ".tiff"),
    *(".avif", ".jp2", ".ppm", ".pgm", ".pbm", ".pnm"),
)
"""File extensions of pictures in folders and patterns; the format is detected from the bytes."""

Grid = npt.NDArray[np.float32]

# A selection of Pillow's formats; others start external programs or are not photographs.
_FORMATS = ("PNG", "JPEG", "MPO", "GIF", "WEBP", "BMP", "DIB", "TIFF", "AVIF", "JPEG2000", "PPM")
_FRACTIONS = ("JPEG", "MPO")  # these can be decoded at half, a quarter or an eighth of their size
_ENOUGH = 8 * SIDE  # minimum pixels for that
_STRIP = 2**20  # pixels converted to colours at a time
_LARGE = 2**26
_COPIES = {"WEBP": 2, "AVIF": 3, "JPEG2000": 5}  # copies in their decoders besides Pillow's own
_OPACITY = ("RGBA", "LA", "PA", "RGBa", "La")
_ORIENTATION = 0x0112

_opening = threading.Lock()  # Python's warning filters are shared by all threads
_large = threading.Lock()  # large pictures are decoded one at a time, whatever the number of threads


def check_pillow() -> None:
    """Raise `MissingError` unless Pillow is installed."""
    try:
        import PIL.Image  # noqa: F401 - checks that it is installed
    except ImportError as error:
        raise MissingError.of("Pillow", extra="images") from error


@dataclass(frozen=True)
class Picture:
    """A decoded picture: its number of pixels, and the mean colours of its cells.

    grid float32 (32, 32, 3), rows first: luminance, blueness and redness (Y, Cb and Cr as in JPEG), from 0 to 255.
    """

    pixels: int
    grid: Grid


def read_picture(data: bytes, where: str, room: int | None = None) -> Picture:
    """Decode a picture; an invalid, damaged or too large one raises `RowError`.

    One that needs more than `room` bytes raises `OptionError`: results must not depend on the memory.
    """
    sums = np.zeros((SIDE, SIDE, 3), np.int64)
    opened = _Opened(data, where, room=room)
    with opened as image:
        width, height = image.size
        for first, pixels in _strips(image, where):
            add_rows(pixels, first, height, sums)
        turn = _orientation(image)
    red, green, blue = np.moveaxis(sums / (255.0 * width * height), 2, 0)
    luminance = 0.299 * red + 0.587 * green + 0.114 * blue
    colours = np.stack([luminance, 128 + 0.564 * (blue - luminance), 128 + 0.713 * (red - luminance)], axis=2)
    return Picture(opened.size[0] * opened.size[1], np.ascontiguousarray(_turned(colours, turn), np.float32))


def thumbnail(data: bytes, where: str, side: int) -> tuple[bytes, int, int]:
    """Return a JPEG of at most `side` pixels either way, without other data of the file, and the original size."""
    from PIL import Image, ImageOps

    opened = _Opened(data, where, 2 * side)
    with opened as image:
        turn, clear = _orientation(image), _transparent(image)
        plain: Image.Image = image
        if image.mode.startswith(("I", "F")):
            plain = Image.fromarray(np.concatenate([pixels for _, pixels in _strips(image, where)])[:, :, 0])
        elif image.mode not in ("RGB", "RGBA", "L") or "transparency" in image.info:
            plain = image.convert("RGBA" if clear else "RGB")
        plain.thumbnail((side, side), Image.Resampling.LANCZOS, reducing_gap=3.0)
        plain = plain.convert("RGBA" if clear else "RGB")
    ground = Image.new("RGB", plain.size, "white")
    ground.paste(plain, mask=plain.getchannel("A") if plain.mode == "RGBA" else None)
    ground.getexif()[_ORIENTATION] = turn
    jpeg = io.BytesIO()
    ImageOps.exif_transpose(ground).save(jpeg, "JPEG", quality=82, optimize=True)
    width, height = opened.size[::-1] if turn >= 5 else opened.size
    return jpeg.getvalue(), width, height


class _Opened:
    """A decoded picture; Pillow's errors are reported with the name of the file."""

    def __init__(self, data: bytes, where: str, enough: int = _ENOUGH, room: int | None = None) -> None:
        self._data, self._where, self._enough, self._room = data, where, enough, room
        self._has_lock = False
        self.size = (0, 0)

    def __enter__(self) -> Image:
        check_pillow()
        try:
            image = self._open()
            if _unpacked(image, self.size) > _LARGE:
                _large.acquire()
                self._has_lock = True
            image.load()
            if image.format not in _FRACTIONS:
                self.size = image.size  # a TIFF is rotated as it is decoded
        except (RowError, OptionError):
            raise
        except MemoryError:
            self._release()
            raise
        except Exception as error:  # damaged files make Pillow's decoders raise almost anything
            self._release()
            raise self._unreadable(error) from error
        except BaseException:
            self._release()
            raise
        self._image = image
        return image

    def _open(self) -> Image:
        from PIL import Image

        with _opening, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about unreadable metadata
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            image = Image.open(io.BytesIO(self._data), formats=_known())
        width, height = image.size
        self.size = (width, height)
        if width * height > MOST_PIXELS:
            raise RowError(
                f"the picture has {width:,} × {height:,} pixels, more than the maximum, {MOST_PIXELS:,}",
                where=self._where,
            )
        if image.format in _FRACTIONS:
            image.draft(image.mode, (self._enough, self._enough))
        needed = _unpacked(image, self.size)
        if self._room is not None and needed > self._room:
            least = shown_size(16 * needed // 5)  # rounded up from three times the size
            raise OptionError(
                f"{self._where}: decoding the picture needs {shown_size(needed)}, but this run may use "
                f"{shown_size(self._room)} for that; raise --memory to at least {least}"
            )
        return image

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._image.close()
        self._release()
        if isinstance(error, Exception) and not isinstance(error, (TwinsetError, MemoryError)):
            raise self._unreadable(error) from error  # one damaged picture must not end a run that skips such

    def _unreadable(self, error: Exception) -> RowError:
        return RowError(f"the picture cannot be read: {_error_text(error)}", where=self._where)

    def _release(self) -> None:
        if self._has_lock:
            self._has_lock = False
            _large.release()


def _unpacked(image: Image, size: tuple[int, int]) -> int:
    """Upper bound of the bytes needed to decode a picture of that size."""
    if image.info.get("progressive"):
        return 8 * size[0] * size[1]  # decoded whole, whatever fraction is wanted
    return _COPIES.get(image.format or "", 1) * 4 * image.size[0] * image.size[1]


@cache
def _known() -> list[str]:
    """The supported formats that this Pillow can decode."""
    from PIL import Image

    Image.init()
    return [name for name in _FORMATS if name in Image.OPEN]


def _error_text(error: Exception) -> str:
    """Pillow's message in one line, without the address of the stream."""
    from PIL import UnidentifiedImageError

    if isinstance(error, UnidentifiedImageError):
        return "unknown format"
    message = " ".join(str(error).split()) or type(error).__name__
    return message if len(message) <= 200 else message[:200] + "…"


def _transparent(image: Image) -> bool:
    return image.mode in _OPACITY or "transparency" in image.info


def _strips(image: Image, where: str) -> Iterator[tuple[int, npt.NDArray[np.uint8]]]:
    """Yield strips of rows, each with its first row: (rows, width, channels), contiguous."""
    width, height = image.size
    scale = _scale(image, where)
    mode = "LA" if image.mode in ("LA", "La") else "RGBA" if _transparent(image) else "RGB"
    mode = "L" if image.mode in ("L", "1") and mode == "RGB" else mode
    rows = max(1, _STRIP // width)
    for first in range(0, height, rows):
        strip = image if rows >= height else image.crop((0, first, width, min(height, first + rows)))
        if scale is not None:
            low, unit = scale
            levels = (np.asarray(strip).astype(np.float64) - low) * unit
            pixels = np.clip(np.rint(levels), 0, 255).astype(np.uint8)
        else:
            pixels = np.asarray(_converted(strip, mode, where))
        yield first, np.ascontiguousarray(pixels.reshape(len(pixels), width, -1))


def _converted(strip: Image, mode: str, where: str) -> Image:
    try:
        return strip if strip.mode == mode else strip.convert(mode)
    except ValueError as error:
        raise RowError(f"a picture in {strip.mode} cannot be converted to plain colours", where=where) from error


def _scale(image: Image, where: str) -> tuple[float, float] | None:
    """Offset and factor that map values of more than eight bits to 0 to 255; None for other modes."""
    if not image.mode.startswith(("I", "F")):
        return None
    if image.mode.startswith("I;16"):
        return 0.0, 255 / 65535
    values = np.asarray(image)
    low, high = float(values.min()), float(values.max())
    if not np.isfinite(low + high):
        raise RowError("the picture holds values that are not numbers", where=where)
    for most in (1.0, 255.0, 65535.0) if image.mode == "F" else (65535.0,):
        if low >= 0 and high <= most:
            return 0.0, 255 / most
    return low, 255 / (high - low) if high > low else 0.0


def _orientation(image: Image) -> int:
    """EXIF orientation, 1 to 8; 1 by default."""
    with _opening, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            orientation = image.getexif().get(_ORIENTATION, 1)
        except Exception:  # damaged metadata does not make the picture unreadable
            return 1
    return orientation if orientation in range(1, 9) else 1


def _turned(grid: npt.NDArray[Any], orientation: int) -> npt.NDArray[Any]:
    if orientation >= 5:
        grid = grid.transpose(1, 0, 2)
    if orientation in (2, 3, 6, 7):
        grid = grid[:, ::-1]
    if orientation in (3, 4, 7, 8):
        grid = grid[::-1]
    return grid
