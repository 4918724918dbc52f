"""Convolutions and pooling under jittape's names, against loops over windows in NumPy: see `numpy_rows`.

Operands are small whole numbers, so sums are exact in any order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jittape as jt
from numpy_rows import Deviation, Row
from numpy_samples import given
from numpy_table import checked
from window_reference import convolved, pooled, transposed

FLOATS = ("float32", "float64")
EXPLICIT = [[0, 0], [2, 1], [0, 3], [0, 0]]


def whole(*shape: int, dtype: str = "float64") -> Any:
    """Return whole numbers from -5 to 5 in an order without a pattern."""
    return (np.arange(np.prod(shape, dtype=int)) * 37 % 11 - 5).astype(dtype).reshape(shape)


def changed(x: Any, value: float) -> Any:
    """Return `x` with another value in the middle."""
    x = x.copy()
    x.flat[x.size // 2] = value
    return x


def spread(value: Any, rank: int) -> tuple[int, ...]:
    """Return strides, dilations or a size for each spatial dimension."""
    numbers = tuple(np.atleast_1d(1 if value is None else value).tolist())
    numbers = numbers[1:-1] if len(numbers) == rank + 2 else numbers
    checked(len(numbers) in (1, rank) and min(numbers) > 0, numbers)
    return numbers * rank if len(numbers) == 1 else numbers


def to_last(x: Any, data_format: str | None) -> Any:
    """Return `x` with the channels last."""
    return np.moveaxis(x, 1, -1) if data_format and data_format.startswith("NC") else x


def from_last(x: Any, data_format: str | None) -> Any:
    """Return `x`, whose channels are last, in a layout."""
    return np.moveaxis(x, -1, 1) if data_format and data_format.startswith("NC") else x


def fits(x: Any, w: Any, rank: int) -> None:
    checked(x.ndim == w.ndim == rank + 2 and x.dtype.kind in "fc", x)


# ---- references ------------------------------------------------------------------------------------------------------


def convolution(spatial: int | None = None) -> Callable[..., Any]:
    """Return the reference of a convolution; the rank is that of the filters if `spatial` is None."""

    def reference(
        x: Any, w: Any, s: Any = 1, padding: Any = "VALID", data_format: Any = None, d: Any = None
    ) -> Any:
        rank = w.ndim - 2 if spatial is None else spatial
        fits(x, w, rank)
        x = to_last(x, data_format)
        checked(x.shape[-1] % w.shape[-2] == 0, x)
        return from_last(convolved(x, w, spread(s, rank), padding, spread(d, rank)), data_format)

    return reference


def adjoint(spatial: int | None = None) -> Callable[..., Any]:
    """Return the reference of a transposed convolution; the rank is that of the filters if `spatial` is None."""

    def reference(
        g: Any, w: Any, shape: Any, s: Any, padding: Any = "SAME", data_format: Any = None, d: Any = None
    ) -> Any:
        rank = w.ndim - 2 if spatial is None else spatial
        fits(g, w, rank)
        if data_format and data_format.startswith("NC"):
            shape = (shape[0], *shape[2:], shape[1])
        result = transposed(to_last(g, data_format), w, shape, spread(s, rank), padding, spread(d, rank))
        return from_last(result, data_format)

    return reference


def depthwise(
    x: Any, w: Any, s: Any = 1, padding: Any = "VALID", data_format: Any = None, d: Any = None
) -> Any:
    """Return the convolution of each channel with its own filters."""
    fits(x, w, 2)
    x = to_last(x, data_format)
    checked(x.shape[-1] == w.shape[2], x)
    each = [
        convolved(x[..., i : i + 1], w[:, :, i : i + 1], spread(s, 2), padding, spread(d, 2))
        for i in range(w.shape[2])
    ]
    return from_last(np.concatenate(each, -1), data_format)


def separable(
    x: Any, w: Any, p: Any, s: Any = 1, padding: Any = "VALID", data_format: Any = None, d: Any = None
) -> Any:
    """Return the products of the channels of a depthwise convolution with a matrix."""
    checked(p.shape[:2] == (1, 1), p)
    return from_last(to_last(depthwise(x, w, s, padding, data_format, d), data_format) @ p[0, 0], data_format)


def pooling(kind: str, spatial: int | None = None) -> Callable[..., Any]:
    """Return the reference of a pooling; the rank is that of the operand if `spatial` is None."""

    def reference(
        x: Any, size: Any, s: Any = None, padding: Any = "VALID", data_format: Any = None, d: Any = None
    ) -> Any:
        rank = x.ndim - 2 if spatial is None else spatial
        checked(x.ndim == rank + 2 and 1 <= rank <= 3 and x.dtype.kind == "f", x)
        found = pooled(
            to_last(x, data_format), kind, spread(size, rank), spread(s, rank), padding, spread(d, rank)
        )
        return from_last(found, data_format)

    return reference


def either_pool(
    x: Any, size: Any, kind: str, s: Any = None, padding: Any = "VALID", f: Any = None, d: Any = None
) -> Any:
    checked(kind in ("MAX", "AVG"), x)
    return pooling(kind)(x, size, s, padding, f, d)


# ---- cases -----------------------------------------------------------------------------------------------------------

IMAGE, FILTERS = whole(2, 7, 6, 3), whole(3, 2, 3, 4)
LINE, CUBE = (whole(2, 7, 3), whole(2, 3, 4)), (whole(2, 5, 4, 3, 2), whole(2, 3, 2, 2, 3))
IN_A_PLANE = (
    *[
        (IMAGE.astype(dtype), FILTERS.astype(dtype))
        for dtype in (*FLOATS, "complex64", "complex128", "int64")
    ],
    *[(IMAGE, FILTERS, 1, padding) for padding in ("SAME", "VALID", EXPLICIT)],
    *[(IMAGE, FILTERS, strides, "SAME") for strides in (2, [2, 3], [1, 2, 1, 1])],
    *[(changed(IMAGE, value), FILTERS, 1, "SAME") for value in (np.nan, np.inf)],
    (IMAGE, changed(FILTERS, np.inf), 2, "SAME"),
    (IMAGE, FILTERS, 1, "SAME", "NHWC", (2, 3)),
    (np.moveaxis(IMAGE, -1, 1), FILTERS, 2, "SAME", "NCHW"),
    (whole(2, 5, 4, 6), whole(2, 3, 2, 9), 1, "SAME"),
    (whole(0, 7, 6, 3), FILTERS),
    (IMAGE, whole(8, 2, 3, 4)),
    (IMAGE, whole(3, 2, 2, 4)),
    (IMAGE[0], FILTERS),
    (IMAGE, FILTERS[0]),
)
ALONG_A_LINE = (
    LINE,
    (*LINE, 2, "SAME"),
    (np.moveaxis(LINE[0], -1, 1), LINE[1], 1, "VALID", "NCW", 2),
    (IMAGE, LINE[1]),
)
IN_SPACE = (
    CUBE,
    (*CUBE, (2, 1, 3), "SAME"),
    (np.moveaxis(CUBE[0], -1, 1), CUBE[1], 1, "VALID", "NCDHW"),
    (IMAGE, CUBE[1]),
)
BACK_IN_A_PLANE = (
    *[(whole(2, 4, 3, 4, dtype=d), FILTERS.astype(d), (2, 7, 6, 3), 2) for d in (*FLOATS, "int64")],
    (whole(2, 5, 5, 4), FILTERS, (2, 7, 6, 3), 1, "VALID"),
    (whole(2, 8, 8, 4), FILTERS, (2, 7, 6, 3), 1, EXPLICIT),
    (whole(2, 7, 3, 4), FILTERS, [2, 7, 6, 3], [1, 2], "SAME", None, (2, 1)),
    (whole(2, 4, 4, 3), FILTERS, (2, 3, 7, 6), 2, "SAME", "NCHW"),
    (changed(whole(2, 4, 3, 4), np.nan), FILTERS, (2, 7, 6, 3), 2),
    (whole(2, 4, 3, 4), FILTERS, (2, 9, 6, 3), 2),
    (whole(2, 4, 3, 5), FILTERS, (2, 7, 6, 3), 2),
)
BACK_ALONG_A_LINE = (
    (whole(2, 4, 4), LINE[1], (2, 7, 3), 2),
    (whole(2, 6, 4), LINE[1], (2, 7, 3), 1, "VALID"),
)
BACK_IN_SPACE = (
    (whole(2, 3, 2, 2, 3), CUBE[1], (2, 5, 4, 3, 2), 2),
    (whole(2, 4, 2, 2, 3), CUBE[1], (2, 5, 4, 3, 2), 1, "VALID"),
)
EACH = whole(3, 2, 3, 2)
BY_CHANNEL = (
    *[(IMAGE.astype(dtype), EACH.astype(dtype)) for dtype in (*FLOATS, "complex128", "int64")],
    *[(IMAGE, EACH, [1, 2, 1, 1], padding) for padding in ("SAME", "VALID", EXPLICIT)],
    (changed(IMAGE, np.nan), EACH, 1, "SAME"),
    (IMAGE, EACH, 1, "SAME", "NHWC", (2, 3)),
    (np.moveaxis(IMAGE, -1, 1), EACH, 2, "SAME", "NCHW"),
    (IMAGE, whole(3, 2, 4, 2)),
    (IMAGE[0], EACH),
)
MATRIX = whole(1, 1, 6, 5)
SEPARABLE = (
    *[tuple(a.astype(dtype) for a in (IMAGE, EACH, MATRIX)) for dtype in (*FLOATS, "int64")],
    (IMAGE, EACH, MATRIX, 2, "SAME"),
    (np.moveaxis(IMAGE, -1, 1), EACH, MATRIX, 1, "SAME", "NCHW", 2),
    (IMAGE, EACH, whole(1, 1, 5, 5)),
    (IMAGE, EACH, whole(2, 1, 6, 5)),
)
POOLS = (
    *[(IMAGE.astype(dtype), 2, 2, "SAME") for dtype in (*FLOATS, "int64", "complex128")],
    *[(IMAGE, [3, 2], [1, 2], padding) for padding in ("SAME", "VALID", [[0, 0], [1, 1], [0, 1], [0, 0]])],
    *[(changed(IMAGE, value), 2, 1, "SAME") for value in (np.nan, np.inf, -np.inf)],
    (np.full((1, 3, 3, 1), -np.inf), 2, 2, "SAME"),
    (IMAGE, [1, 2, 3, 1], [1, 2, 1, 1], "VALID"),
    (np.moveaxis(IMAGE, -1, 1), 2, 2, "SAME", "NCHW"),
    (whole(0, 7, 6, 3), 2, 2, "SAME"),
    (IMAGE, 8, 1, "VALID"),
    (IMAGE[0, 0], 2, 1, "VALID"),
)
LINES = (
    (LINE[0], 2, 2, "SAME"),
    (LINE[0], 3, 1, "VALID"),
    (np.moveaxis(LINE[0], -1, 1), 2, 1, "SAME", "NCW"),
)
CUBES = ((CUBE[0], 2, 2, "SAME"), (CUBE[0], (2, 1, 3), 1, "VALID"), (IMAGE, 2, 2, "SAME"))
EITHER = (
    *[(IMAGE, [3, 2], kind, 1, "SAME", None, (1, 2)) for kind in ("MAX", "AVG", "SUM")],
    *[(LINE[0], 2, kind) for kind in ("MAX", "AVG")],
    *[(np.moveaxis(CUBE[0], -1, 1), 2, kind, 2, "SAME", "NCDHW") for kind in ("MAX", "AVG")],
)


def row(name: str, reference: Callable[..., Any], cases: tuple[Any, ...], *deviations: Deviation) -> Row:
    return Row(
        f"jt.nn.{name}", getattr(jt.nn, name), reference, given(*cases), deviations, signed_zeros=False
    )


ROWS = [
    row("conv1d", convolution(1), ALONG_A_LINE),
    row("conv2d", convolution(2), IN_A_PLANE),
    row("conv3d", convolution(3), IN_SPACE),
    row("convolution", convolution(), (*ALONG_A_LINE[:3], *IN_A_PLANE[:10], *IN_SPACE[:3])),
    row("conv1d_transpose", adjoint(1), BACK_ALONG_A_LINE),
    row("conv2d_transpose", adjoint(2), BACK_IN_A_PLANE),
    row("conv3d_transpose", adjoint(3), BACK_IN_SPACE),
    row("conv_transpose", adjoint(), (*BACK_ALONG_A_LINE, *BACK_IN_A_PLANE, *BACK_IN_SPACE)),
    row("depthwise_conv2d", depthwise, BY_CHANNEL),
    row("separable_conv2d", separable, SEPARABLE),
    row("pool", either_pool, EITHER),
    *[
        row(f"{name}_pool{suffix}", pooling(kind, spatial), cases)
        for name, kind in (("max", "MAX"), ("avg", "AVG"))
        for suffix, spatial, cases in (
            ("1d", 1, LINES),
            ("2d", 2, POOLS),
            ("3d", 3, CUBES),
            ("", None, (*LINES, *POOLS, *CUBES)),
        )
    ],
]
