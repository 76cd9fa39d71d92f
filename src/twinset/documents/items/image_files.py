"""Picture files, each one item: those of a folder, or files given one by one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from twinset.documents.compressed import split_codec
from twinset.documents.formats.text_files import SKIP, TextChunk, TextPart, file_bytes
from twinset.documents.items.image_decode import ENDINGS, SIDE, Picture, check_pillow, read_picture
from twinset.documents.parts import LEAST_ROW, Block, Chunk, DocumentFile, Mask, Unreadable
from twinset.errors import OptionError, RowError, SourceError
from twinset.options import ReadOptions

_FILES = 64  # pictures read together
_UNPACKED = 8  # assumed growth of a decoded picture, for planning chunks


def is_picture(name: str) -> bool:
    """Whether a file has the extension of a picture.

    >>> is_picture("holiday/IMG_1.JPG"), is_picture("notes.txt")
    (True, False)
    """
    return os.path.splitext(split_codec(name)[0])[1].lower() in ENDINGS


class ImagePart(TextPart):
    """A folder of pictures, or pictures given one by one.

    A block's rows are the results of `picture_sketch` for the grids of colours, as bytes; without it, the grids.
    """

    format = "images"

    def __init__(self, name: str, options: ReadOptions, files: Sequence[DocumentFile], folder: Path | None) -> None:
        check_pillow()
        super().__init__(name, options, files, folder)
        memory: int | None = getattr(options, "memory", None)
        self.room = None if memory is None else memory // 3

    def check_flag(self) -> None:
        """Pictures have no columns to add to."""
        raise OptionError(
            f"{self.name}: --flag adds columns, but pictures have none; leave it out and see clusters.parquet"
        )

    def chunks(self, batch_bytes: int) -> Iterator[Chunk]:
        """Some files at a time."""
        first, size = 0, 0
        for row, file in enumerate(self.files):
            size += max(LEAST_ROW, _UNPACKED * file.size)
            if size >= batch_bytes or row + 1 - first == _FILES or row + 1 == len(self.files):
                yield ImageChunk(self, first, row + 1)
                first, size = row + 1, 0

    def take_rows(self, block: Block, chosen: Mask) -> Any:
        """Ids and paths."""
        paths = pa.array([os.fsencode(file.path).decode("utf-8", "backslashreplace") for file in block.payload])
        return pa.table({"id": self.row_ids(block), "path": paths}).filter(pa.array(chosen))


class ImageChunk(TextChunk):
    """Some pictures, read on demand."""

    _part: ImagePart

    def read(self, whole: bool = False, texts_only: bool = False) -> Block:
        """Read the pictures."""
        bad: Unreadable = []
        pictures = [self._picture(row, file, bad) for row, file in enumerate(self._files)]
        block = Block(self.rows, self.first_row, self._packed(pictures), unreadable=bad)
        block.lengths = np.array([0 if one is None else one.pixels for one in pictures], np.uint64)
        return self._described(block, whole, texts_only)

    def _picture(self, row: int, file: DocumentFile, bad: Unreadable) -> Picture | None:
        try:
            data = file_bytes(file)
        except SourceError as error:
            self._refuse(row, file, error, bad, stops=self._part.options.on_error != "skip")
            return None
        try:
            return read_picture(data, file.path, self._part.room)
        except SourceError as error:
            self._refuse(row, file, error, bad, stops=self._part.options.on_error == "stop")
        return None

    def _refuse(self, row: int, file: DocumentFile, error: SourceError, bad: Unreadable, stops: bool) -> None:
        """A file is one item, so a damaged or unreadable file is one unreadable item."""
        if stops:
            raise RowError(f"{error.message}; {SKIP}", where=file.path) from error
        bad.append((row, error.message))

    def _packed(self, pictures: list[Picture | None]) -> Any:
        read = [one.grid for one in pictures if one is not None]
        rows: npt.NDArray[Any] = np.stack(read) if read else np.zeros((0, SIDE, SIDE, 3), np.float32)
        if self._part.picture_sketch is not None:
            rows = self._part.picture_sketch(rows)
        each = iter(rows)
        values = [None if one is None else next(each).tobytes() for one in pictures]
        return pa.array(values, pa.large_binary())
