"""NumPy's functions on tensors: small adapters from NumPy's signatures to user-level functions.

`FUNCTIONS` is the table of all adapters; the section after it says which of them are recorded as one call. Adapters of
reductions are in `numpy_reductions`, those that change shapes in `numpy_shapes`, and those of ``numpy.linalg`` in
`numpy_linalg`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.dtypes import common_dtype
from jittape.core.user_calls import as_int
from jittape.errors import DTypeError
from jittape.numpy_api.numpy_calculus import CALCULUS
from jittape.numpy_api.numpy_conditions import CONDITIONS
from jittape.numpy_api.numpy_fourier import FOURIER
from jittape.numpy_api.numpy_linalg import (
    LINALG_FUNCTIONS,
    EighResult,
    QRResult,
    SlogdetResult,
    SVDResult,
)
from jittape.numpy_api.numpy_nan_reductions import NAN_REDUCTIONS
from jittape.numpy_api.numpy_operands import (
    BROADCAST,
    QUOTIENTS,
    array_like,
    axis_of,
    dtype_of,
    is_number,
    numpy_function,
    reject,
    shape_of,
    strong,
)
from jittape.numpy_api.numpy_padding import numpy_pad
from jittape.numpy_api.numpy_polynomials import POLYNOMIALS
from jittape.numpy_api.numpy_products import PRODUCTS
from jittape.numpy_api.numpy_quantiles import QUANTILES
from jittape.numpy_api.numpy_rearranging import REARRANGING, delete_at, insert_at, take_at
from jittape.numpy_api.numpy_reductions import (
    cumulative_adapter,
    extreme_adapter,
    first_greatest,
    first_least,
    greatest,
    least,
    numpy_average,
    numpy_mean,
    numpy_norm,
    numpy_ptp,
    position_adapter,
    sum_adapter,
    truth_adapter,
)
from jittape.numpy_api.numpy_shapes import (
    RANGES,
    joining_adapter,
    numpy_array_split,
    numpy_broadcast_arrays,
    numpy_column_stack,
    numpy_concatenate,
    numpy_diag,
    numpy_flip,
    numpy_meshgrid,
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
from jittape.numpy_api.numpy_sorting import SORTING
from jittape.numpy_api.numpy_statistics import STATISTICS, deviation_adapter
from jittape.numpy_api.one_call import BY_OPERATOR, FRACTIONS, INDEX, ONE_CALLS, PERCENTS, OneCall, arranged
from jittape.primitives.broadcast import axis_key, normalized_axes
from jittape.primitives.elementwise.arithmetic import multiply, positive
from jittape.primitives.elementwise.comparison import where
from jittape.primitives.elementwise.complex_numbers import angle, cast, imag, real
from jittape.primitives.elementwise.complex_numbers import complex as complex_of
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.piecewise import maximum, minimum, round
from jittape.primitives.elementwise.trigonometric import atan2
from jittape.primitives.identity import identity, stop_gradient
from jittape.primitives.indexing.gather import take_along_axis
from jittape.primitives.reduce.cumulative import cumprod, cumsum
from jittape.primitives.reduce.reductions import (
    reduce_all,
    reduce_any,
    reduce_prod,
    reduce_sum,
)
from jittape.primitives.reduce.statistics import reduce_std, reduce_variance
from jittape.primitives.shape import creation
from jittape.primitives.shape.reordering import moveaxis, reverse
from jittape.primitives.shape.reshaping import (
    broadcast_to,
    expand_dims,
    matrix_transpose,
    reshape,
    squeeze,
    transpose,
)

__all__ = ["FUNCTIONS"]


# ---- elements --------------------------------------------------------------------------------------------------------


def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None and y is None:
        return np.nonzero(np.asarray(condition))
    if is_number(x) and is_number(y):
        x = strong(x)
    return where(array_like(condition), array_like(x), array_like(y))


def _clip(
    a: Any,
    a_min: Any = np._NoValue,
    a_max: Any = np._NoValue,
    out: Any = None,
    *,
    min: Any = np._NoValue,
    max: Any = np._NoValue,
) -> Any:
    reject("clip", out=out)
    missing = a_min is np._NoValue, a_max is np._NoValue
    if not any(missing) and (min is not np._NoValue or max is not np._NoValue):
        raise ValueError("[np.clip] min and max are other names of a_min and a_max: give two of the four")
    if any(missing) and not all(missing):
        raise TypeError(
            f"clip() missing 1 required positional argument: {'a_min' if missing[0] else 'a_max'!r}"
        )
    low, high = (min, max) if missing[0] else (a_min, a_max)
    low, high = (None if bound is np._NoValue else bound for bound in (low, high))
    a = array_like(a)
    if dtype_of(a).kind in "iu":  # a bound beyond all numbers of the dtype limits nothing
        limits = np.iinfo(dtype_of(a))
        low = None if type(low) is int and low < limits.min else low
        high = None if type(high) is int and high > limits.max else high
    if low is None and high is None:
        return positive(a)
    low, high = array_like(low), array_like(high)
    bounds = [x for x in (low, high) if not isinstance(x, str | None)]  # `maximum` refuses texts
    if any([dtype_of(x).kind == "c" for x in (a, *bounds)]):
        a = a if low is None else np.maximum(a, low)
        return a if high is None else np.minimum(a, high)
    if len(bounds) == 2 and is_number(low) is not is_number(high):
        a = cast(a, np.result_type(dtype_of(a), dtype_of(high if is_number(low) else low)))
    a = a if low is None else maximum(a, low)
    return a if high is None else minimum(a, high)


BROADCAST.add(_clip)


def _round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    reject("round", out=out)
    a, decimals = array_like(a), as_int("decimals", decimals)
    kind, dtype = dtype_of(a).kind, dtype_of(a)
    if kind == "b" and decimals:
        raise DTypeError("[np.round] bools cannot be rounded to decimals; cast them first")
    if kind in "iu" and decimals >= 0:
        return identity(a)
    if kind == "c":
        return complex_of(_round(real(a), decimals), _round(imag(a), decimals))
    if not decimals:
        return round(cast(a, np.float16) if kind == "b" else a)
    # NumPy's formula, so that results are bit-identical: a positive power of ten, and float64 for integers.
    power, wide = float(np.float64(10.0) ** abs(decimals)), cast(a, np.float64) if kind in "iu" else a
    if decimals > 0:
        return divide(round(multiply(wide, power)), power)
    return cast(multiply(round(divide(wide, power)), power), dtype)


QUOTIENTS.add(_round)


def _take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    return (
        take_along_axis(reshape(arr, -1), indices, 0) if axis is None else take_along_axis(arr, indices, axis)
    )


def _full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None
) -> Any:
    value = cast(array_like(fill_value), dtype_of(a) if dtype is None else dtype)
    return broadcast_to(value, shape_of(a) if shape is None else shape)


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
        reject(name, device=device)
        return _full_like(a, value, dtype, shape=shape)

    return like


def _squeeze(a: Any, axis: Any = None) -> Any:
    axis = axis_of("squeeze", a, axis)
    return identity(a) if axis == () else squeeze(a, axis)


def _angle(z: Any, deg: Any = False) -> Any:
    z = array_like(z)
    if dtype_of(z).kind != "c":  # jt.angle takes nan and -0.0 as positive
        z = cast(z, np.int64) if dtype_of(z).kind == "b" else z
        radians = atan2(creation.zeros_like(z), stop_gradient(z))
    else:
        radians = angle(z)
    return multiply(radians, 180 / np.pi) if deg else radians


# ---- functions without recording -------------------------------------------------------------------------------------


def _size(a: Any, axis: Any = None) -> int:
    shape = shape_of(a)
    if axis is None:
        return math.prod(shape)
    return int(
        np.prod([shape[i] for i in normalized_axes("np.size", axis_key(axis), len(shape))], dtype=np.int64)
    )


def _result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    return common_dtype(
        *[
            np.dtype(a)
            if isinstance(a, (type, str))
            else a
            if isinstance(a, (np.dtype, int, float, complex))
            else getattr(a, "aval", a).dtype
            for a in arrays_and_dtypes
        ]
    )


def _dtype_or_type(a: Any) -> Any:
    return dtype_of(a) if hasattr(a, "aval") else a


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.all: truth_adapter(reduce_all, "all"),
    np.amax: extreme_adapter(greatest, "amax"),
    np.amin: extreme_adapter(least, "amin"),
    np.angle: _angle,
    np.any: truth_adapter(reduce_any, "any"),
    np.argmax: position_adapter(first_greatest, "argmax"),
    np.argmin: position_adapter(first_least, "argmin"),
    np.around: _round,
    np.array_split: numpy_array_split,
    np.atleast_1d: rank_adapter(1),
    np.atleast_2d: rank_adapter(2),
    np.atleast_3d: rank_adapter(3),
    np.average: numpy_average,
    np.can_cast: lambda from_, to, casting="safe": np.can_cast(
        _dtype_or_type(from_), _dtype_or_type(to), casting
    ),
    np.common_type: lambda *arrays: np.common_type(*[np.empty(0, dtype_of(strong(a))) for a in arrays]),
    np.broadcast_arrays: numpy_broadcast_arrays,
    np.broadcast_to: lambda array, shape, subok=False: broadcast_to(array, shape),
    np.clip: _clip,
    np.column_stack: numpy_column_stack,
    np.concatenate: numpy_concatenate,
    np.copy: lambda a, order="K", subok=False: identity(a),
    np.cumprod: cumulative_adapter(cumprod, "cumprod"),
    np.cumsum: cumulative_adapter(cumsum, "cumsum"),
    np.diag: numpy_diag,
    np.dstack: joining_adapter(3, 2),
    np.expand_dims: expand_dims,
    np.flip: numpy_flip,
    np.fliplr: lambda m: reverse(m, 1),
    np.flipud: lambda m: reverse(m, 0),
    np.full_like: _full_like,
    np.hstack: joining_adapter(1, 1),
    np.imag: imag,
    np.iscomplexobj: lambda x: dtype_of(strong(x)).kind == "c",
    np.isrealobj: lambda x: dtype_of(strong(x)).kind != "c",
    np.linalg.matrix_transpose: matrix_transpose,
    np.linalg.norm: numpy_norm,
    np.matrix_transpose: matrix_transpose,
    np.max: extreme_adapter(greatest, "max"),
    np.mean: numpy_mean,
    np.meshgrid: numpy_meshgrid,
    np.min: extreme_adapter(least, "min"),
    np.moveaxis: moveaxis,
    np.ndim: lambda a: len(shape_of(a)),
    np.ones_like: _constant_like(1, "ones_like"),
    np.pad: numpy_pad,
    np.prod: sum_adapter(reduce_prod, reduce_all, "prod"),
    np.ptp: numpy_ptp,
    np.ravel: numpy_ravel,
    np.real: real,
    np.repeat: numpy_repeat,
    np.reshape: numpy_reshape,
    np.result_type: _result_type,
    np.round: _round,
    np.shape: shape_of,
    np.size: _size,
    np.split: numpy_split,
    np.squeeze: _squeeze,
    np.stack: numpy_stack,
    np.std: deviation_adapter(reduce_std, "std"),
    np.sum: sum_adapter(reduce_sum, reduce_any, "sum"),
    np.swapaxes: numpy_swapaxes,
    np.take_along_axis: _take_along_axis,
    np.tile: numpy_tile,
    np.transpose: lambda a, axes=None: transpose(a, axes),
    np.tril: numpy_tril,
    np.triu: numpy_triu,
    np.var: deviation_adapter(reduce_variance, "var"),
    np.vstack: joining_adapter(2, 0),
    np.where: _where,
    np.zeros_like: _constant_like(0, "zeros_like"),
    np.empty_like: _constant_like(0, "empty_like"),
    **CALCULUS,
    **CONDITIONS,
    **FOURIER,
    **LINALG_FUNCTIONS,
    **NAN_REDUCTIONS,
    **POLYNOMIALS,
    **PRODUCTS,
    **QUANTILES,
    **RANGES,
    **REARRANGING,
    **SORTING,
    **STATISTICS,
}


# ---- functions that are recorded as one call -------------------------------------------------------------------------

_NAMES_OF_NO_CALL = (
    "apply_along_axis apply_over_axes bincount can_cast choose common_type compress diag_indices_from "
    "diagflat digitize einsum_path emath.arccos emath.arcsin emath.arctanh emath.log emath.log10 emath.log2 emath.logn "
    "emath.power emath.sqrt extract geomspace histogram histogram2d histogram_bin_edges histogramdd "
    "intersect1d isin iscomplexobj isrealobj ix_ linalg.eig linalg.eigvals linalg.lstsq linspace logspace ndim "
    "packbits piecewise poly polydiv polyfit polymul ravel_multi_index real_if_close "
    "result_type roots setdiff1d setxor1d shape size tril_indices_from trim_zeros "
    "triu_indices_from union1d unique unique_all unique_counts unique_inverse unique_values unpackbits unravel_index"
)
_NO_CALL = frozenset(map(numpy_function, _NAMES_OF_NO_CALL.split()))
"""Functions that read values, return no tensors, or move elements by index arrays as long as the operand."""
_OF_TWO = (
    "append convolve correlate cross dot inner kron linalg.cross linalg.matmul linalg.outer linalg.solve "
    "linalg.tensordot linalg.tensorsolve linalg.vecdot outer polyadd polysub polyval take_along_axis tensordot vdot"
)
_OPERANDS: dict[Any, tuple[int, int]] = {
    **dict.fromkeys(map(numpy_function, _OF_TWO.split()), (2, 0)),
    np.append: (2, 1),
    np.clip: (3, 2),
    np.delete: (2, INDEX),
    np.einsum: (0, 0),
    np.full_like: (2, 1),
    np.gradient: (1, 1),
    np.insert: (3, INDEX),
    np.interp: (3, 0),
    np.isclose: (2, 1),
    np.linalg.pinv: (1, 1),
    np.polyval: (2, 1),
    **dict.fromkeys((np.nanquantile, np.quantile), (2, FRACTIONS)),
    **dict.fromkeys((np.nanpercentile, np.percentile), (2, PERCENTS)),
    np.searchsorted: (2, 2),
    np.take: (2, INDEX),
    np.trapezoid: (1, 1),
    np.where: (3, 2),
}
"""`OneCall.leading` and `OneCall.numbers` of functions other than those of one operand."""
_RESULTS: dict[Any, Callable[..., Any]] = {
    **dict.fromkeys((np.array_split, np.dsplit, np.hsplit, np.split, np.vsplit), list),
    np.linalg.eigh: EighResult._make,
    np.linalg.qr: QRResult._make,
    np.linalg.slogdet: SlogdetResult._make,
    np.linalg.svd: SVDResult._make,
}

_OF_INDEX: dict[Any, Callable[..., Any]] = {np.delete: delete_at, np.insert: insert_at, np.take: take_at}
"""Adapters in bodies, which find a number in place of the index."""
BY_OPERATOR[take_at] = True

ONE_CALLS |= {
    function: OneCall(
        adapter := _OF_INDEX.get(function, found),
        arranged(function.__name__, adapter, _RESULTS.get(function)),
        *_OPERANDS.get(function, (1, 0)),
        _RESULTS.get(function),
        [None],
    )
    for function, found in FUNCTIONS.items()
    if function not in _NO_CALL
}
