"""Several diagonals of a matrix as the rows of a band, with TensorFlow's alignments.

Row m of a band is diagonal ``upper - m``. Its rows have the length of the longest diagonal. Shorter diagonals are at
the left or at the right end of their row, and the other elements of the row are padding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.dtypes import int64
from jittape.core.user_calls import as_int, named, shown
from jittape.errors import ShapeError
from jittape.primitives.broadcast import broadcast, cast_to, iota, to_shape
from jittape.primitives.elementwise.arithmetic import add, subtract
from jittape.primitives.elementwise.comparison import (
    greater_equal,
    less,
    less_equal,
    logical_and,
    where,
)
from jittape.primitives.elementwise.piecewise import maximum, minimum
from jittape.primitives.indexing.gather_ops import gather_op
from jittape.primitives.record_parts import filled
from jittape.primitives.shape.views import permuted

__all__ = ["alignment", "band_of", "band_width", "diagonal_range", "rows_of_band", "with_band"]

Range = tuple[int, int]
ALIGNMENTS = ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")


def diagonal_range(k: Any) -> int | Range:
    """Return `k` as the number of a diagonal, or as those of the lowest and the highest of several."""
    if isinstance(k, np.ndarray) and k.ndim:
        k = k.tolist()
    if not isinstance(k, (list, tuple)):
        return as_int("k", k)
    numbers = [as_int("k", number) for number in k]
    if len(numbers) not in (1, 2) or numbers[0] > numbers[-1]:
        raise named(ValueError(f"[diag] k must be an int or a pair (lowest, highest), got {shown(k)}"))
    return numbers[0], numbers[-1]


def alignment(align: Any) -> str:
    """Return `align`; raise if it is not one of TensorFlow's alignments."""
    if not isinstance(align, str) or align not in ALIGNMENTS:
        raise named(ValueError(f"[diag] align must be one of {ALIGNMENTS}, got {shown(align)}"))
    return align


def band_width(op: str, rows: int, columns: int, diagonals: Range) -> int:
    """Return the length of the longest of the diagonals; raise if one is outside the matrix."""
    for k in diagonals:
        if k != 0 and not -rows < k < columns:
            raise ShapeError(
                f"[{op}] k must be greater than {-rows} and less than {columns} for matrices of "
                f"{rows} rows and {columns} columns, got {k}"
            )
    lower, upper = diagonals
    return min(rows + min(upper, 0), columns - max(lower, 0))


def _start(k: Any, rows: int, columns: int, width: int, align: str) -> tuple[Any, Any]:
    """Return the length of the diagonals `k` and the padding before them, as integer arrays."""
    length = minimum(add(minimum(k, 0), rows), subtract(columns, maximum(k, 0)))
    padding, zero = subtract(width, length), filled(k, 0)
    # The main diagonal is the longest, so there is no padding before it.
    above, below = (padding if side == "RIGHT" else zero for side in align.split("_"))
    return length, where(less(k, 0), below, above)


def _limited(x: Any, size: int) -> Any:
    return maximum(minimum(x, size - 1), 0)


def band_of(x: Any, padding: Any, diagonals: Range, align: str, op: str) -> Any:
    """Return the band of the matrices in the last two dimensions of `x`."""
    lower, upper = diagonals
    *lead, rows, columns = x.shape
    width = band_width(op, rows, columns, diagonals)
    shape = (upper - lower + 1, width)
    padding = broadcast(cast_to(padding, x.dtype), (*lead, *shape))
    if not width or not rows * columns:
        return padding
    k = subtract(upper, iota(shape, 0, int64))
    length, start = _start(k, rows, columns, width, align)
    position = subtract(iota(shape, 1, int64), start)
    inside = logical_and(greater_equal(position, 0), less(position, length))
    row = _limited(add(position, maximum(subtract(0, k), 0)), rows)
    column = _limited(add(position, maximum(k, 0)), columns)
    return where(inside, _picked(x, row, column), padding)


def with_band(x: Any, band: Any, diagonals: Range, align: str) -> Any:
    """Return the matrices `x` with their diagonals replaced by those in `band`, whose shape fits."""
    lower, upper = diagonals
    rows, columns = x.shape[-2:]
    width = band.shape[-1]
    if not width or not rows * columns:
        return x
    k = subtract(iota((rows, columns), 1, int64), iota((rows, columns), 0, int64))
    _, start = _start(k, rows, columns, width, align)
    column = add(subtract(iota((rows, columns), 1, int64), maximum(k, 0)), start)
    picked = _picked(band, _limited(subtract(upper, k), band.shape[-2]), _limited(column, width))
    return where(logical_and(greater_equal(k, lower), less_equal(k, upper)), picked, x)


def _picked(x: Any, rows: Any, columns: Any) -> Any:
    """Return elements of the matrices `x`, whose positions are two integer matrices."""
    rank = len(x.shape)
    first = gather_op.bind(permuted(x, (rank - 2, rank - 1, *range(rank - 2))), rows, columns, axis=0)
    return permuted(first, (*range(2, rank), 0, 1))


def rows_of_band(diagonal: Any, diagonals: Range) -> Any:
    """Return `diagonal` with a dimension for the number of the diagonal, which is left out if there is only one."""
    lower, upper = diagonals
    return to_shape(diagonal, (*diagonal.shape[:-1], 1, diagonal.shape[-1])) if lower == upper else diagonal
