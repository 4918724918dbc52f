"""NumPy's functions on tensors: small adapters from NumPy's signatures onto user-level functions.

`FUNCTIONS` at the end is the table of them. Reductions are in `numpy_reductions`, what changes
shapes in `numpy_shapes`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.primitives import creation
from jittape.primitives.arithmetic import multiply
from jittape.primitives.compare import where
from jittape.primitives.complexes import angle, cast, imag, real
from jittape.primitives.contract import matmul, outer, tensordot
from jittape.primitives.cumulative import cumprod, cumsum
from jittape.primitives.custom import identity
from jittape.primitives.division import divide
from jittape.primitives.einsum import diag_part, einsum, trace
from jittape.primitives.gather import gather, take_along_axis
from jittape.primitives.reduce import (
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_min,
)
from jittape.primitives.shape import (
    broadcast_to,
    expand_dims,
    matrix_transpose,
    moveaxis,
    reshape,
    reverse,
    roll,
    squeeze,
    transpose,
)
from jittape.primitives.statistics import argmax, argmin, reduce_std, reduce_variance
from jittape.primitives.steps import clip_by_value, maximum, minimum, round
from jittape.recording.numpy_reductions import (
    converted,
    dtype_of,
    extreme_adapter,
    numpy_average,
    numpy_mean,
    numpy_norm,
    numpy_prod,
    numpy_ptp,
    numpy_sum,
    place_adapter,
    refuse,
    running_adapter,
    shape_of,
    spread_adapter,
    truth_adapter,
    wide,
)
from jittape.recording.numpy_shapes import (
    joining_adapter,
    numpy_array_split,
    numpy_broadcast_arrays,
    numpy_column_stack,
    numpy_concatenate,
    numpy_diag,
    numpy_diff,
    numpy_flip,
    numpy_meshgrid,
    numpy_pad,
    numpy_ravel,
    numpy_repeat,
    numpy_reshape,
    numpy_split,
    numpy_stack,
    numpy_swapaxes,
    numpy_tile,
    numpy_tril,
    numpy_triu,
    rank_adapter,
)

__all__ = ["FUNCTIONS"]


# ---- products --------------------------------------------------------------------------------------------------------


def _dot(a: Any, b: Any, out: Any = None) -> Any:
    refuse("dot", out=out)
    rank_a, rank_b = len(shape_of(a)), len(shape_of(b))
    if rank_a == 0 or rank_b == 0:
        return multiply(a, b)
    if rank_b <= 2:
        return matmul(a, b)
    return tensordot(a, b, ([rank_a - 1], [rank_b - 2]))


def _inner(a: Any, b: Any) -> Any:
    rank_a, rank_b = len(shape_of(a)), len(shape_of(b))
    return multiply(a, b) if 0 in (rank_a, rank_b) else tensordot(a, b, ([rank_a - 1], [rank_b - 1]))


def _vdot(a: Any, b: Any) -> Any:
    return matmul(reshape(transpose(a, range(len(shape_of(a))), conjugate=True), -1), reshape(b, -1))


def _outer(a: Any, b: Any, out: Any = None) -> Any:
    refuse("outer", out=out)
    return outer(a, b)


def _einsum(*operands: Any, out: Any = None, optimize: Any = False, **kwargs: Any) -> Any:
    refuse("einsum", out=out, **kwargs)
    return einsum(*operands)


def _trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Any:
    refuse("trace", out=out)
    return trace(wide(a, dtype), offset, axis1, axis2)


def _diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return diag_part(a, offset, axis1, axis2)


# ---- elements --------------------------------------------------------------------------------------------------------


def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    return np.nonzero(np.asarray(condition)) if x is None and y is None else where(condition, x, y)


def _clip(
    a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None
) -> Any:
    refuse("clip", out=out)
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    if low is not None and high is not None:
        return clip_by_value(a, low, high)
    a = a if low is None else maximum(a, low)
    return a if high is None else minimum(a, high)


def _round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    refuse("round", out=out)
    if dtype_of(a).kind in "bui" and decimals >= 0:
        return identity(a)
    return round(a) if not decimals else divide(round(multiply(a, 10.0**decimals)), 10.0**decimals)


def _take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    refuse("take", out=out, mode=None if mode == "raise" else mode)
    return gather(reshape(a, -1), indices, axis=0) if axis is None else gather(a, indices, axis=axis)


def _take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    return (
        take_along_axis(reshape(arr, -1), indices, 0) if axis is None else take_along_axis(arr, indices, axis)
    )


def _full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None
) -> Any:
    return cast(
        creation.fill(shape_of(a) if shape is None else shape, fill_value),
        dtype_of(a) if dtype is None else dtype,
    )


def _constant_like(value: int, name: str) -> Callable[..., Any]:
    def like(
        a: Any,
        dtype: Any = None,
        order: str = "K",
        subok: bool = True,
        shape: Any = None,
        *,
        device: Any = None,
    ) -> Any:
        refuse(name, device=device)
        return _full_like(a, value, dtype, shape=shape)

    return like


def _linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    refuse("linspace", retstep=retstep or None, endpoint=None if endpoint else endpoint)
    start, stop = numpy_broadcast_arrays(start, stop)
    return converted(creation.linspace(start, stop, num, axis=axis), dtype)


# ---- what needs no recording -----------------------------------------------------------------------------------------


def _size(a: Any, axis: Any = None) -> int:
    shape = shape_of(a)
    return int(np.prod(shape)) if axis is None else shape[axis]


def _result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    return np.result_type(
        *[
            a if isinstance(a, (type, str, np.dtype, int, float, complex)) else a.dtype
            for a in arrays_and_dtypes
        ]
    )


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.all: truth_adapter(reduce_all, "all"),
    np.amax: extreme_adapter(reduce_max, "amax"),
    np.amin: extreme_adapter(reduce_min, "amin"),
    np.angle: lambda z, deg=False: multiply(angle(z), 180 / np.pi) if deg else angle(z),
    np.any: truth_adapter(reduce_any, "any"),
    np.argmax: place_adapter(argmax, "argmax"),
    np.argmin: place_adapter(argmin, "argmin"),
    np.around: _round,
    np.array_split: numpy_array_split,
    np.atleast_1d: rank_adapter(1),
    np.atleast_2d: rank_adapter(2),
    np.atleast_3d: rank_adapter(3),
    np.average: numpy_average,
    np.broadcast_arrays: numpy_broadcast_arrays,
    np.broadcast_to: lambda array, shape, subok=False: broadcast_to(array, shape),
    np.clip: _clip,
    np.column_stack: numpy_column_stack,
    np.concatenate: numpy_concatenate,
    np.copy: lambda a, order="K", subok=False: identity(a),
    np.cumprod: running_adapter(cumprod, "cumprod"),
    np.cumsum: running_adapter(cumsum, "cumsum"),
    np.diag: numpy_diag,
    np.diagonal: _diagonal,
    np.diff: numpy_diff,
    np.dot: _dot,
    np.dstack: joining_adapter(3, 2),
    np.einsum: _einsum,
    np.expand_dims: expand_dims,
    np.flip: numpy_flip,
    np.fliplr: lambda m: reverse(m, 1),
    np.flipud: lambda m: reverse(m, 0),
    np.full_like: _full_like,
    np.hstack: joining_adapter(1, 1),
    np.imag: imag,
    np.inner: _inner,
    np.linalg.diagonal: lambda x, /, *, offset=0: diag_part(x, offset),
    np.linalg.matmul: lambda x1, x2, /: matmul(x1, x2),
    np.linalg.matrix_transpose: matrix_transpose,
    np.linalg.norm: numpy_norm,
    np.linalg.outer: outer,
    np.linalg.tensordot: lambda a, b, /, *, axes=2: tensordot(a, b, axes),
    np.linalg.trace: lambda x, /, *, offset=0, dtype=None: trace(wide(x, dtype), offset),
    np.linspace: _linspace,
    np.matrix_transpose: matrix_transpose,
    np.max: extreme_adapter(reduce_max, "max"),
    np.mean: numpy_mean,
    np.meshgrid: numpy_meshgrid,
    np.min: extreme_adapter(reduce_min, "min"),
    np.moveaxis: moveaxis,
    np.ndim: lambda a: len(shape_of(a)),
    np.ones_like: _constant_like(1, "ones_like"),
    np.outer: _outer,
    np.pad: numpy_pad,
    np.prod: numpy_prod,
    np.ptp: numpy_ptp,
    np.ravel: numpy_ravel,
    np.real: real,
    np.repeat: numpy_repeat,
    np.reshape: numpy_reshape,
    np.result_type: _result_type,
    np.roll: lambda a, shift, axis=None: roll(a, shift, axis),
    np.round: _round,
    np.shape: shape_of,
    np.size: _size,
    np.split: numpy_split,
    np.squeeze: lambda a, axis=None: squeeze(a, axis),
    np.stack: numpy_stack,
    np.std: spread_adapter(reduce_std, "std"),
    np.sum: numpy_sum,
    np.swapaxes: numpy_swapaxes,
    np.take: _take,
    np.take_along_axis: _take_along_axis,
    np.tensordot: lambda a, b, axes=2: tensordot(a, b, axes),
    np.tile: numpy_tile,
    np.trace: _trace,
    np.transpose: lambda a, axes=None: transpose(a, axes),
    np.tril: numpy_tril,
    np.triu: numpy_triu,
    np.var: spread_adapter(reduce_variance, "var"),
    np.vdot: _vdot,
    np.vstack: joining_adapter(2, 0),
    np.where: _where,
    np.zeros_like: _constant_like(0, "zeros_like"),
    np.empty_like: _constant_like(0, "empty_like"),
}
