"""NumPy's functions on tensors: small adapters from NumPy's signatures onto user-level functions.

`FUNCTIONS` is what is recorded. `LOOKS` are functions whose results no gradient could flow through (whether arrays are equal, how
they print, how they sort): these look at the value and give what NumPy gives.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.primitives import creation
from jittape.primitives.arithmetic import divide, multiply, subtract
from jittape.primitives.compare import where
from jittape.primitives.complexes import angle, cast, imag, real
from jittape.primitives.custom import identity
from jittape.primitives.contract import matmul, outer, tensordot
from jittape.primitives.cumulative import cumprod, cumsum
from jittape.primitives.einsum import diag_part, einsum, trace
from jittape.primitives.index import getitem
from jittape.primitives.reduce import (
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
from jittape.primitives.scatter import gather, take_along_axis
from jittape.primitives.shape import (
    as_shape,
    broadcast_to,
    concat,
    expand_dims,
    matrix_transpose,
    meshgrid,
    moveaxis,
    pad,
    repeat,
    reshape,
    reverse,
    roll,
    split,
    squeeze,
    stack,
    tile,
    transpose,
)
from jittape.primitives.statistics import argmax, argmin, norm, reduce_std, reduce_variance
from jittape.primitives.steps import clip_by_value, maximum, minimum, round

__all__ = ["FUNCTIONS", "LOOKS", "refuse"]


def refuse(function: str, **arguments: Any) -> None:
    """Raise `TypeError` if one of NumPy's arguments that cannot be recorded is given."""
    for name, value in arguments.items():
        if value is None or value is np._NoValue or (name == "where" and value is True):
            continue
        if name == "out":
            raise TypeError(
                f"np.{function} cannot record into out=: an ndarray keeps no gradient. Use its result, "
                "Variable.assign for state, or x.numpy() to leave the tape"
            )
        raise TypeError(
            f"np.{function} on a tensor takes no {name}=; use jt.where, or x.numpy() to leave the tape"
        )


def _shape(a: Any) -> tuple[int, ...]:
    return np.shape(np.asarray(a)) if isinstance(a, (int, float, complex, list, tuple)) else a.shape


def _dtype(a: Any) -> np.dtype[Any]:
    return np.asarray(a).dtype if isinstance(a, (int, float, complex, list, tuple)) else a.dtype


def _converted(a: Any, dtype: Any) -> Any:
    return a if dtype is None else cast(a, dtype)


# ---- reductions ------------------------------------------------------------------------------------------------------


def _wide(a: Any, dtype: Any) -> Any:
    """`a` in the dtype in which NumPy adds it up: small integers widen."""
    if dtype is None and _dtype(a).kind in "biu":
        dtype = np.sum(np.empty(0, _dtype(a))).dtype
    return _converted(a, dtype)


def _float(a: Any, dtype: Any = None) -> Any:
    """`a` in the dtype in which NumPy averages it: integers become float64."""
    return _converted(a, np.float64 if dtype is None and _dtype(a).kind in "biu" else dtype)


def _sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    refuse("sum", out=out, initial=initial, where=where)
    return reduce_sum(_wide(a, dtype), axis, bool(keepdims))


def _prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    refuse("prod", out=out, initial=initial, where=where)
    return reduce_prod(_wide(a, dtype), axis, bool(keepdims))


def _mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    refuse("mean", out=out, where=where)
    return reduce_mean(_float(a, dtype), axis, bool(keepdims))


def _spread(of: Callable[..., Any], name: str) -> Callable[..., Any]:
    def measure(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: Any = False,
        *,
        where: Any = True,
        mean: Any = None,
        correction: Any = None,
    ) -> Any:
        refuse(name, out=out, where=where, mean=mean)
        ddof = ddof if correction is None else correction
        result = of(_float(a, dtype), axis, bool(keepdims))
        if not ddof:
            return result
        shape = _shape(a)
        axes = range(len(shape)) if axis is None else (axis if isinstance(axis, tuple) else (axis,))
        count = float(np.prod([shape[i] for i in axes]))
        factor = count / (count - ddof) if count > ddof else np.nan
        return multiply(result, factor if name == "var" else factor**0.5)

    return measure


def _extreme(of: Callable[..., Any], name: str) -> Callable[..., Any]:
    def extreme(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        refuse(name, out=out, initial=initial, where=where)
        return of(a, axis, bool(keepdims))

    return extreme


def _truth(of: Callable[..., Any], name: str) -> Callable[..., Any]:
    def truth(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
        refuse(name, out=out, where=where)
        return of(cast(a, np.bool_), axis, bool(keepdims))

    return truth


def _place(of: Callable[..., Any], name: str) -> Callable[..., Any]:
    def place(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        refuse(name, out=out)
        if axis is None:
            flat = of(reshape(a, -1), 0)
            return reshape(flat, (1,) * len(_shape(a))) if keepdims is True else flat
        found = of(a, axis)
        return expand_dims(found, axis) if keepdims is True else found

    return place


def _running(of: Callable[..., Any], name: str) -> Callable[..., Any]:
    def running(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        refuse(name, out=out)
        a = _wide(a, dtype)
        return of(reshape(a, -1), 0) if axis is None else of(a, axis)

    return running


def _ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    refuse("ptp", out=out)
    return subtract(reduce_max(a, axis, bool(keepdims)), reduce_min(a, axis, bool(keepdims)))


def _average(
    a: Any, axis: Any = None, weights: Any = None, returned: Any = False, *, keepdims: Any = False
) -> Any:
    refuse("average", returned=returned or None)
    if weights is None:
        return _mean(a, axis, keepdims=keepdims)
    if _shape(weights) != _shape(a):
        raise TypeError("np.average on a tensor takes weights of the shape of a; broadcast them first")
    return divide(
        reduce_sum(multiply(_float(a), weights), axis, bool(keepdims)),
        reduce_sum(weights, axis, bool(keepdims)),
    )


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    matrix = len(_shape(x)) > 1 if axis is None else isinstance(axis, tuple) and len(axis) > 1
    if matrix and ord not in (None, "fro"):
        raise TypeError(
            f"np.linalg.norm on a tensor has no matrix norm ord={ord!r}; it has the Frobenius norm"
        )
    return norm(_float(x), "euclidean" if ord is None else ord, axis, bool(keepdims))


# ---- shape -----------------------------------------------------------------------------------------------------------


def _reshape(
    a: Any, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None
) -> Any:
    if order != "C":
        raise TypeError(f"np.reshape on a tensor takes order='C' only, got {order!r}; transpose first")
    return reshape(a, newshape if shape is None else shape)


def _ravel(a: Any, order: str = "C") -> Any:
    return _reshape(a, -1, order)


def _swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    perm = list(range(len(_shape(a))))
    perm[axis1], perm[axis2] = perm[axis2], perm[axis1]
    return transpose(a, perm)


def _broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    shape = np.broadcast_shapes(*[_shape(a) for a in args])
    return tuple([broadcast_to(a, shape) for a in args])


def _concatenate(
    arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = None
) -> Any:
    refuse("concatenate", out=out, casting=casting)
    if axis is None:
        arrays, axis = [reshape(a, -1) for a in arrays], 0
    return _converted(concat(list(arrays), axis), dtype)


def _stack(arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: Any = None) -> Any:
    refuse("stack", out=out, casting=casting)
    return _converted(stack(list(arrays), axis), dtype)


def _at_least(rank: int) -> Callable[..., Any]:
    def at_least(*arrays: Any) -> Any:
        results = []
        for a in arrays:
            shape = _shape(a)
            fitted = np.broadcast_to(False, shape)
            wide = {1: np.atleast_1d, 2: np.atleast_2d, 3: np.atleast_3d}[rank](fitted).shape
            results.append(a if wide == shape else reshape(a, wide))
        return results[0] if len(results) == 1 else tuple(results)

    return at_least


def _joined(rank: int, axis: int) -> Callable[..., Any]:
    def joined(tup: Any, *, dtype: Any = None, casting: Any = None) -> Any:
        parts = [_at_least(rank)(a) for a in tup]
        along = 0 if axis == 1 and all(len(_shape(p)) == 1 for p in parts) else axis
        return _concatenate(parts, along, dtype=dtype, casting=casting)

    return joined


def _column_stack(tup: Any) -> Any:
    return concat([expand_dims(a, 1) if len(_shape(a)) == 1 else _at_least(2)(a) for a in tup], 1)


def _split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    if isinstance(indices_or_sections, (int, np.integer)):
        return split(ary, int(indices_or_sections), axis)
    length = _shape(ary)[axis]
    edges = [slice(i, None).indices(length)[0] for i in as_shape("split", indices_or_sections)]
    before = (slice(None),) * (axis % len(_shape(ary)))
    return [getitem(ary, (*before, slice(a, b))) for a, b in zip([0, *edges], [*edges, length], strict=True)]


def _array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    if not isinstance(indices_or_sections, (int, np.integer)):
        return _split(ary, indices_or_sections, axis)
    each, extra = divmod(_shape(ary)[axis], int(indices_or_sections))
    return split(ary, [each + 1] * extra + [each] * (int(indices_or_sections) - extra), axis)


def _flip(m: Any, axis: Any = None) -> Any:
    return reverse(m, axis)


def _pad(array: Any, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Any:
    value = kwargs.pop("constant_values", 0)
    if kwargs or mode not in ("constant", "reflect", "symmetric"):
        raise TypeError(
            f"np.pad on a tensor has mode constant, reflect or symmetric, got {mode!r} with {kwargs or 'no'} options"
        )
    rank = len(_shape(array))
    widths = np.broadcast_to(np.asarray(pad_width, np.int64), (rank, 2)).tolist()
    return pad(array, widths, mode, value)


def _diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    refuse("diff", prepend=prepend, append=append)
    before = (slice(None),) * (axis % len(_shape(a)))
    for _ in range(operator.index(n)):
        a = subtract(getitem(a, (*before, slice(1, None))), getitem(a, (*before, slice(None, -1))))
    return a


def _diag(v: Any, k: int = 0) -> Any:
    shape = _shape(v)
    if len(shape) == 2:
        return diag_part(v, k)
    square = where(np.eye(shape[0], dtype=bool), expand_dims(v, 1), 0)
    return pad(square, [[max(-k, 0), max(k, 0)], [max(k, 0), max(-k, 0)]])


def _triangle(m: Any, k: int, lower: bool) -> Any:
    keep = np.tri(*_shape(m)[-2:], k=k if lower else k - 1, dtype=bool)
    return where(keep, m, 0) if lower else where(keep, 0, m)


def _tril(m: Any, k: int = 0) -> Any:
    return _triangle(m, k, True)


def _triu(m: Any, k: int = 0) -> Any:
    return _triangle(m, k, False)


# ---- products --------------------------------------------------------------------------------------------------------


def _dot(a: Any, b: Any, out: Any = None) -> Any:
    refuse("dot", out=out)
    rank_a, rank_b = len(_shape(a)), len(_shape(b))
    if rank_a == 0 or rank_b == 0:
        return multiply(a, b)
    if rank_b <= 2:
        return matmul(a, b)
    return tensordot(a, b, ([rank_a - 1], [rank_b - 2]))


def _inner(a: Any, b: Any) -> Any:
    rank_a, rank_b = len(_shape(a)), len(_shape(b))
    return multiply(a, b) if 0 in (rank_a, rank_b) else tensordot(a, b, ([rank_a - 1], [rank_b - 1]))


def _vdot(a: Any, b: Any) -> Any:
    return matmul(reshape(transpose(a, range(len(_shape(a))), conjugate=True), -1), reshape(b, -1))


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
    return trace(_wide(a, dtype), offset, axis1, axis2)


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
    if _dtype(a).kind in "bui" and decimals >= 0:
        return identity(a)
    return round(a) if not decimals else divide(round(multiply(a, 10.0**decimals)), 10.0**decimals)


def _take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    refuse("take", out=out, mode=None if mode == "raise" else mode)
    return gather(reshape(a, -1), indices, axis=0) if axis is None else gather(a, indices, axis=axis)


def _take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    return (
        take_along_axis(reshape(arr, -1), indices, 0) if axis is None else take_along_axis(arr, indices, axis)
    )


def _repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    return repeat(a, repeats, axis)


def _full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None
) -> Any:
    return cast(
        creation.fill(_shape(a) if shape is None else shape, fill_value),
        _dtype(a) if dtype is None else dtype,
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
    start, stop = _broadcast_arrays(start, stop)
    return _converted(creation.linspace(start, stop, num, axis=axis), dtype)


def _meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Any, ...]:
    refuse("meshgrid", sparse=sparse or None)
    return tuple(meshgrid(*xi, indexing=indexing))


# ---- what needs no recording -----------------------------------------------------------------------------------------


def _size(a: Any, axis: Any = None) -> int:
    shape = _shape(a)
    return int(np.prod(shape)) if axis is None else shape[axis]


def _result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    return np.result_type(
        *[
            a if isinstance(a, (type, str, np.dtype, int, float, complex)) else a.dtype
            for a in arrays_and_dtypes
        ]
    )


LOOKS: frozenset[Callable[..., Any]] = frozenset(
    (
        np.allclose,
        np.argsort,
        np.argwhere,
        np.array2string,
        np.array_equal,
        np.array_equiv,
        np.array_repr,
        np.array_str,
        np.bincount,
        np.count_nonzero,
        np.flatnonzero,
        np.histogram,
        np.isclose,
        np.may_share_memory,
        np.nonzero,
        np.save,
        np.savetxt,
        np.savez,
        np.savez_compressed,
        np.searchsorted,
        np.shares_memory,
    )
)

FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.all: _truth(reduce_all, "all"),
    np.amax: _extreme(reduce_max, "amax"),
    np.amin: _extreme(reduce_min, "amin"),
    np.angle: lambda z, deg=False: multiply(angle(z), 180 / np.pi) if deg else angle(z),
    np.any: _truth(reduce_any, "any"),
    np.argmax: _place(argmax, "argmax"),
    np.argmin: _place(argmin, "argmin"),
    np.around: _round,
    np.array_split: _array_split,
    np.atleast_1d: _at_least(1),
    np.atleast_2d: _at_least(2),
    np.atleast_3d: _at_least(3),
    np.average: _average,
    np.broadcast_arrays: _broadcast_arrays,
    np.broadcast_to: lambda array, shape, subok=False: broadcast_to(array, shape),
    np.clip: _clip,
    np.column_stack: _column_stack,
    np.concatenate: _concatenate,
    np.copy: lambda a, order="K", subok=False: identity(a),
    np.cumprod: _running(cumprod, "cumprod"),
    np.cumsum: _running(cumsum, "cumsum"),
    np.diag: _diag,
    np.diagonal: _diagonal,
    np.diff: _diff,
    np.dot: _dot,
    np.dstack: _joined(3, 2),
    np.einsum: _einsum,
    np.expand_dims: expand_dims,
    np.flip: _flip,
    np.fliplr: lambda m: reverse(m, 1),
    np.flipud: lambda m: reverse(m, 0),
    np.full_like: _full_like,
    np.hstack: _joined(1, 1),
    np.imag: imag,
    np.inner: _inner,
    np.linalg.diagonal: lambda x, /, *, offset=0: diag_part(x, offset),
    np.linalg.matmul: lambda x1, x2, /: matmul(x1, x2),
    np.linalg.matrix_transpose: matrix_transpose,
    np.linalg.norm: _norm,
    np.linalg.outer: outer,
    np.linalg.tensordot: lambda a, b, /, *, axes=2: tensordot(a, b, axes),
    np.linalg.trace: lambda x, /, *, offset=0, dtype=None: trace(_wide(x, dtype), offset),
    np.linspace: _linspace,
    np.matrix_transpose: matrix_transpose,
    np.max: _extreme(reduce_max, "max"),
    np.mean: _mean,
    np.meshgrid: _meshgrid,
    np.min: _extreme(reduce_min, "min"),
    np.moveaxis: moveaxis,
    np.ndim: lambda a: len(_shape(a)),
    np.ones_like: _constant_like(1, "ones_like"),
    np.outer: _outer,
    np.pad: _pad,
    np.prod: _prod,
    np.ptp: _ptp,
    np.ravel: _ravel,
    np.real: real,
    np.repeat: _repeat,
    np.reshape: _reshape,
    np.result_type: _result_type,
    np.roll: lambda a, shift, axis=None: roll(a, shift, axis),
    np.round: _round,
    np.shape: _shape,
    np.size: _size,
    np.split: _split,
    np.squeeze: lambda a, axis=None: squeeze(a, axis),
    np.stack: _stack,
    np.std: _spread(reduce_std, "std"),
    np.sum: _sum,
    np.swapaxes: _swapaxes,
    np.take: _take,
    np.take_along_axis: _take_along_axis,
    np.tensordot: lambda a, b, axes=2: tensordot(a, b, axes),
    np.tile: lambda A, reps: tile(A, reps),
    np.trace: _trace,
    np.transpose: lambda a, axes=None: transpose(a, axes),
    np.tril: _tril,
    np.triu: _triu,
    np.var: _spread(reduce_variance, "var"),
    np.vdot: _vdot,
    np.vstack: _joined(2, 0),
    np.where: _where,
    np.zeros_like: _constant_like(0, "zeros_like"),
    np.empty_like: _constant_like(0, "empty_like"),
}
