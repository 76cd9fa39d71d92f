"""Pixels to the mean colours of a grid of cells, in whole numbers, so that the order of adding does not matter."""

import numpy as np

from twinset.compiled import inlined, kernel


@inlined
def on_white(pixels, y, x, c, colours):  # type: ignore[no-untyped-def]
    """A channel's value times 255; what is transparent lies on white."""
    if pixels.shape[2] == colours:
        return np.int64(pixels[y, x, c]) * 255
    cover = np.int64(pixels[y, x, colours])
    return cover * np.int64(pixels[y, x, c]) + (255 - cover) * 255


@kernel("void(Array(uint8, 3, 'C', readonly=True), int64, int64, int64[:, :, ::1])")
def add_rows(pixels, first, height, sums):  # type: ignore[no-untyped-def]
    """Add some rows of a picture to the cells that they lie in.

    pixels uint8 (rows, width, channels): 1 grey, 2 grey and opacity, 3 colours, 4 colours and opacity; first is the
    number of the first of these rows of `height`. sums int64 (side, side, 3): of each cell, rows first. A pixel is
    side units wide and a cell as many as the picture has pixels, so that every overlap is a whole number. A cell's
    mean is its sum / (255 · width · height).
    """
    rows, width, channels = pixels.shape
    side = sums.shape[0]
    colours = 3 if channels > 2 else 1
    line = np.zeros((side, 3), np.int64)
    for y in range(rows):
        for cell in range(side):
            start, end = cell * width, (cell + 1) * width
            left, right = start // side, (end - 1) // side
            for c in range(colours):
                total = np.int64(0)
                for x in range(left, right + 1):
                    total += on_white(pixels, y, x, c, colours)
                total *= side
                total -= on_white(pixels, y, left, c, colours) * (start - left * side)
                total -= on_white(pixels, y, right, c, colours) * ((right + 1) * side - end)
                line[cell, c] = total
        start, end = (first + y) * side, (first + y + 1) * side
        cell = start // height
        while cell < side and cell * height < end:
            overlap = min(end, (cell + 1) * height) - max(start, cell * height)
            for i in range(side):
                for c in range(3):
                    sums[cell, i, c] += overlap * line[i, c if colours == 3 else 0]
            cell += 1
