"""Mean colours of a grid of cells, in integers, so that the order of addition does not matter."""

import numpy as np

from twinset.compiled import inlined, kernel


@inlined
def add_row(row, channels, overlap, columns):  # type: ignore[no-untyped-def]
    """Add a row, times 255 and the overlap, to columns int64 (width · colours); transparent pixels are on white."""
    if channels == 1 or channels == 3:
        for i in range(len(row)):
            columns[i] += np.int64(row[i]) * (255 * overlap)
    else:
        colours = channels - 1
        for x in range(len(row) // channels):
            cover = np.int64(row[x * channels + colours])
            for c in range(colours):
                value = cover * np.int64(row[x * channels + c]) + (255 - cover) * 255
                columns[x * colours + c] += value * overlap


@inlined
def add_columns(columns, width, colours, cells):  # type: ignore[no-untyped-def]
    """Add columns to the cells of a row of cells, int64 (side, 3), and clear them."""
    side = len(cells)
    for cell in range(side):
        start, end = cell * width, (cell + 1) * width
        left, right = start // side, (end - 1) // side
        for c in range(3):
            channel = c if colours == 3 else 0
            total = np.int64(0)
            for x in range(left, right + 1):
                total += columns[x * colours + channel]
            total *= side
            total -= columns[left * colours + channel] * (start - left * side)
            total -= columns[right * colours + channel] * ((right + 1) * side - end)
            cells[cell, c] += total
    columns[:] = 0


@kernel("void(Array(uint8, 3, 'C', readonly=True), int64, int64, int64[:, :, ::1])")
def add_rows(pixels, first, height, sums):  # type: ignore[no-untyped-def]
    """Add rows of a picture to the cells they overlap.

    pixels uint8 (rows, width, channels): 1 grey, 2 grey and opacity, 3 colours, 4 colours and opacity; first: number of
    the first of these rows of `height`. sums int64 (side, side, 3): sums of each cell, rows first. A pixel is side
    units wide and a cell as many as the picture has pixels, so that every overlap is an integer. A cell's mean is its
    sum / (255 · width · height).
    """
    rows, width, channels = pixels.shape
    side = sums.shape[0]
    colours = 3 if channels > 2 else 1
    flat = pixels.reshape(rows, width * channels)
    columns = np.zeros(width * colours, np.int64)
    current = first * side // height
    for y in range(rows):
        start, end = (first + y) * side, (first + y + 1) * side
        cell = start // height
        while cell < side and cell * height < end:
            if cell != current:
                add_columns(columns, width, colours, sums[current])
                current = cell
            overlap = min(end, (cell + 1) * height) - max(start, cell * height)
            add_row(flat[y], channels, overlap, columns)
            cell += 1
    if rows:
        add_columns(columns, width, colours, sums[current])
