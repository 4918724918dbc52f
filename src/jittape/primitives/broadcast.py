"""The ops that all other rules use (cast, reshape, broadcast_to, sum), and the promotion of operands.

Broadcasting is a separate op, and all other ops require operands of equal shapes. So the gradient rule of
`broadcast_to_op` is the only rule in the package that sums over broadcast axes.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Container, Iterable
from typing import Any

import numpy as np

from jittape.core.builder import Symbol, WeakScalar, cast_op
from jittape.core.dtypes import common_dtype, default_dtype, info_of, is_differentiable
from jittape.core.forms import Alias, Index, Iota, Map, Reduce, View
from jittape.core.primitive import Primitive
from jittape.core.program import Aval
from jittape.core.symbolic.extent_functions import is_always
from jittape.core.symbolic.extents import applied
from jittape.core.user_calls import named, shown
from jittape.errors import AxisError, DTypeError, ShapeError
from jittape.primitives.batched_params import alike, along_axes, in_shape

__all__ = [
    "aligned_shapes", "as_symbol", "axis_key", "broadcast", "broadcast_back", "broadcast_operands",
    "broadcast_shapes", "broadcast_to_op", "cast_op", "cast_to", "conj", "conj_op", "count_along", "iota", "iota_op",
    "normalized_axes", "one_axis_key", "promote", "real_op", "require_differentiable", "require_equal", "reshape_op",
    "sum_op", "sum_over", "to_shape", "with_ones", "without_axes",
]  # fmt: skip


# ---- dtype -----------------------------------------------------------------------------------------------------------


def cast_to(x: Any, dtype: np.dtype[Any]) -> Any:
    """Return `x` in `dtype`, or `x` itself if it has that dtype. A cast to real drops the imaginary part."""
    if isinstance(x, WeakScalar):
        if x.kind is not complex or dtype.kind == "c":
            return x.resolve(dtype)
        x = x.default()
    return x if x.dtype == dtype else cast_op.bind(x, dtype=dtype)


def _real_part(x: Aval) -> Aval:
    return Aval(x.shape, info_of(x.dtype).real)


real_op = Primitive(
    "real",
    abstract_eval=_real_part,
    impl=lambda x: np.real(x).copy(),
    vjp=(lambda g, out, x: cast_to(g, x.dtype),),
    lowering=Map(lambda m, x: m.real(x)),
    batch=alike(),
)

conj_op = Primitive(
    "conj",
    abstract_eval=lambda x: x,
    impl=np.conjugate,
    vjp=(lambda g, out, x: conj(g),),
    lowering=Map(lambda m, x: m.conj(x)),
    batch=alike(),
)


def conj(x: Any) -> Any:
    """Return the complex conjugate, or `x` itself if it is real; for derivatives in gradient rules."""
    return conj_op.bind(x) if x.dtype.kind == "c" else x


# ---- shape -----------------------------------------------------------------------------------------------------------


def _reshape_abstract_eval(x: Aval, *, shape: tuple[int, ...]) -> Aval:
    result = Aval(shape, x.dtype)
    if result.size != x.size:
        raise ShapeError(
            f"[reshape] cannot reshape {x.size} elements of shape {x.shape} into shape {shape} ({result.size} elements)"
        )
    return result


reshape_op = Primitive(
    "reshape",
    abstract_eval=_reshape_abstract_eval,
    impl=lambda x, *, shape: x.reshape(shape),
    vjp=(lambda g, out, x, *, shape: to_shape(g, x.shape),),
    lowering=Alias(),
    batch=in_shape(alike()),
    any_dtype=True,
)


def to_shape(x: Any, shape: tuple[int, ...]) -> Any:
    """Return `x` in a full `shape` (no -1), or `x` itself if it has it. Extents are compared at equal ranks only."""
    return x if len(x.shape) == len(shape) and x.shape == shape else reshape_op.bind(x, shape=shape)


def _is_stretched(n: int, m: int) -> bool:
    """Return whether `n` elements are broadcast to `m` other ones.

    One element is always broadcast to an extent. The extent is not compared with 1, so general traces hold for 1, too.
    """
    if is_always(1, n):
        return not is_always(1, m)
    return n is not m and n == 1 and m != 1


def _is_same(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Return whether two shapes are equal; one element and an extent are not, whatever the extent is."""
    if len(shape) != len(other) or any(
        [is_always(1, n) != is_always(1, m) for n, m in zip(shape, other, strict=True)]
    ):
        return False
    return shape == other


def _broadcast_abstract_eval(x: Aval, *, shape: tuple[int, ...]) -> Aval:
    lead = len(shape) - x.ndim
    pairs = [] if lead < 0 else zip(x.shape, shape[lead:], strict=True)
    if lead < 0 or not all([n is m or is_always(1, n) or n in (m, 1) for n, m in pairs]):
        raise ShapeError(
            f"[broadcast_to] shape {x.shape} cannot be broadcast to {shape}: "
            "each dimension must be equal or 1, counted from the last"
        )
    return Aval(shape, x.dtype)


def _broadcast_index(x: Aval, out: Aval, *, shape: tuple[int, ...]) -> tuple[Index, ...]:
    lead = len(shape) - x.ndim
    return tuple(
        Index() if n == 1 and shape[lead + axis] != 1 else Index(axis=lead + axis)
        for axis, n in enumerate(x.shape)
    )


def _broadcast_vjp(g: Any, out: Any, x: Any, *, shape: tuple[int, ...]) -> Any:
    lead = len(shape) - len(x.shape)
    stretched = [lead + axis for axis, n in enumerate(x.shape) if _is_stretched(n, shape[lead + axis])]
    return to_shape(sum_over(g, (*range(lead), *stretched)), x.shape)


def _broadcast_batch(n: int, stacked: tuple[bool, ...], x: Any, *, shape: tuple[int, ...]) -> Any:
    ones = (1,) * (len(shape) + 1 - len(x.shape))
    return broadcast(to_shape(x, (n, *ones, *x.shape[1:])), (n, *shape))


def _broadcast_impl(x: Any, *, shape: tuple[int, ...]) -> Any:
    """Return a view; that of a single element takes a tenth of the time of `np.broadcast_to`."""
    if x.size == 1:
        return np.ndarray(shape, x.dtype, x, 0, (0,) * len(shape))
    return np.broadcast_to(x, shape)


broadcast_to_op = Primitive(
    "broadcast_to",
    abstract_eval=_broadcast_abstract_eval,
    impl=_broadcast_impl,
    vjp=(_broadcast_vjp,),
    lowering=View(_broadcast_index),
    batch=_broadcast_batch,
    any_dtype=True,
    is_broadcast=True,
)


def broadcast(x: Any, shape: tuple[int, ...]) -> Any:
    """Return `x` broadcast to `shape`, or `x` itself if it has that shape."""
    return x if _is_same(x.shape, shape) else broadcast_to_op.bind(x, shape=shape)


def _iota_impl(*, shape: tuple[int, ...], axis: int, dtype: np.dtype[Any]) -> Any:
    line = np.arange(shape[axis], dtype=dtype)
    return np.broadcast_to(
        line.reshape(with_ones(shape, tuple(a for a in range(len(shape)) if a != axis))), shape
    )


iota_op = Primitive(
    "iota",
    abstract_eval=lambda *, shape, axis, dtype: Aval(shape, dtype),
    impl=_iota_impl,
    lowering=Iota(),
    gradient_stops="it is a constant",
)


def iota(shape: tuple[int, ...], axis: int, dtype: np.dtype[Any]) -> Any:
    """Return an array of `shape` whose elements are their own coordinates along `axis` (not negative)."""
    return iota_op.bind(shape=shape, axis=axis, dtype=dtype)


# ---- sum -------------------------------------------------------------------------------------------------------------


def without_axes(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return `shape` without the dimensions in `axes`."""
    return tuple(n for axis, n in enumerate(shape) if axis not in axes)


def with_ones(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return `shape` with 1 for the dimensions in `axes`: the shape of a reduction with ``keepdims=True``."""
    return tuple(1 if axis in axes else n for axis, n in enumerate(shape))


def count_along(shape: tuple[int, ...], axes: tuple[int, ...]) -> float:
    """Return the number of elements along `axes`, as a float."""
    count: float = applied(float, math.prod([shape[axis] for axis in axes]))
    return count


def broadcast_back(x: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """Return `x`, the result of a reduction of `shape` over `axes`, repeated along these axes."""
    return broadcast(to_shape(x, with_ones(shape, axes)), shape)


sum_op = Primitive(
    "sum",
    abstract_eval=lambda x, *, axes: Aval(without_axes(x.shape, axes), x.dtype),
    impl=lambda x, *, axes: np.sum(x, axis=axes, dtype=info_of(x.dtype).arithmetic).astype(
        x.dtype, copy=False
    ),
    vjp=(lambda g, out, x, *, axes: broadcast_back(g, x.shape, axes),),
    lowering=Reduce(combine=lambda m, a, b: m.add(a, b), identity=lambda dtype: 0),
    batch=along_axes(),
    linear=((0,),),
    is_sum=True,
)


def sum_over(x: Any, axes: tuple[int, ...]) -> Any:
    """Return the sum of `x` over `axes` (sorted, not negative), which are removed; `x` itself if there are none."""
    return sum_op.bind(x, axes=axes) if axes else x


def axis_key(axis: Any) -> Any:
    """Return `axis`, an int or a sequence of ints, as part of a trie's key; None stays None.

    It reads the values of tensors. It rejects True and 1.0, which are equal to 1 in a key.

    Raises
    ------
    TypeError
        For anything else. The message names the function that the user has called.
    """
    if axis is None or axis.__class__ is int:
        return axis
    try:
        values = axis.numpy() if hasattr(axis, "aval") and axis.aval.shape else axis
        if isinstance(values, (tuple, list, range)) or (isinstance(values, np.ndarray) and values.ndim):
            return tuple([_index(a) for a in values])
        return _index(values)
    except TypeError:
        raise named(TypeError(f"axis must be an int or a sequence of ints, got {shown(axis)}")) from None


def one_axis_key(axis: Any) -> int:
    """Return `axis`, a single int, as part of a trie's key; see `axis_key`."""
    if axis.__class__ is int:
        return axis
    try:
        return _index(axis)
    except TypeError:
        raise named(TypeError(f"axis must be an int, got {shown(axis)}")) from None


def _index(axis: Any) -> int:
    if isinstance(axis, (bool, np.bool_)):
        raise TypeError
    return operator.index(axis.numpy() if hasattr(axis, "aval") else axis)


def normalized_axes(op: str, axis: Any, ndim: int) -> tuple[int, ...]:
    """Return `axis` (None, an int or a sequence) as sorted non-negative axes of a value with `ndim` dimensions.

    Raises
    ------
    AxisError
        If an axis is out of range.
    ShapeError
        If an axis is named twice.
    """
    if axis is None:
        return tuple(range(ndim))
    axes = []
    for a in axis if isinstance(axis, (tuple, list)) else (axis,):
        if isinstance(a, bool) or not isinstance(a, (int, np.integer)):
            raise TypeError(f"[{op}] axis must be an int or a sequence of ints, got {axis!r}")
        if not -ndim <= a < ndim:
            error = AxisError(
                f"[{op}] axis {a} is out of range for {ndim} dimension{'s' if ndim != 1 else ''}"
                + (f"; use {-ndim} to {ndim - 1}" if ndim else ": a scalar has no axis")
            )
            error.axis, error.ndim = int(a), ndim
            raise error
        axes.append(int(a) % ndim)
    if len(set(axes)) != len(axes):
        raise ShapeError(f"[{op}] axis {axis!r} names a dimension twice")
    return tuple(sorted(axes))


# ---- operands --------------------------------------------------------------------------------------------------------


def as_symbol(x: Any) -> Symbol:
    """Return a handle with a dtype: a Python scalar gets its default dtype."""
    return x.default() if isinstance(x, WeakScalar) else x


def promote(*operands: Any) -> tuple[Any, ...]:
    """Return the operands in their common dtype: NumPy's promotion with weak Python scalars (NEP 50)."""
    known = [x.dtype for x in operands if not isinstance(x, WeakScalar)]
    weak = [x.example for x in operands if isinstance(x, WeakScalar)]
    if not known:
        dtype = common_dtype(*[default_dtype(type(e)) for e in weak])
        if dtype.kind == "f":
            dtype = default_dtype(float)
    else:
        dtype = common_dtype(*known, *weak)
    return tuple([cast_to(x, dtype) for x in operands])


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the common shape, as `numpy.broadcast_shapes`; extents may be symbolic.

    Raises
    ------
    ValueError
        If the shapes do not broadcast.
    """
    common = [1] * max(map(len, shapes), default=0)
    for shape in shapes:
        first = len(common) - len(shape)
        for axis, extent in enumerate(shape, first):
            if is_always(1, extent) or extent is common[axis]:
                continue
            if is_always(1, common[axis]):
                common[axis] = extent
            elif common[axis] == extent or extent == 1:
                continue
            elif common[axis] == 1:
                common[axis] = extent
            else:
                raise ValueError(f"{' and '.join(map(str, shapes))} do not broadcast")
    return tuple(common)


def aligned_shapes(*shapes: tuple[int, ...], equal: Container[int] | None = None) -> str:
    """Return a picture of shapes, one below the other, with marks where those in `equal` differ, or do not broadcast.

    >>> print(aligned_shapes((4, 20, 3), (2, 3)))
        (4, 20, 3)
        (    2, 3)
            ^^
    """
    rank = max(map(len, shapes))
    rows = [[""] * (rank - len(shape)) + [str(extent) for extent in shape] for shape in shapes]
    columns = list(zip(*rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    ignored = {"", "1"} if equal is None else set[str]()
    marks = [
        "^" * width if len({*column} - ignored) > 1 and (equal is None or i in equal) else ""
        for i, (column, width) in enumerate(zip(columns, widths, strict=True))
    ]

    def line(cells: Iterable[str], comma: str) -> str:
        text = [
            cell.rjust(width) + (comma if cell else " ") for cell, width in zip(cells, widths, strict=True)
        ]
        return " ".join(text)[:-1]

    return "\n".join([*[f"    ({line(row, ',')})" for row in rows], f"     {line(marks, ' ')}".rstrip()])


def broadcast_operands(*operands: Any, op: str = "broadcast") -> tuple[Any, ...]:
    """Return the operands broadcast to their common shape."""
    first = operands[0].shape
    if all([_is_same(x.shape, first) for x in operands]):
        return operands
    try:
        shape = broadcast_shapes(*[x.shape for x in operands])
    except ValueError:
        shapes = " and ".join(str(x.shape) for x in operands)
        raise ShapeError(
            f"[{op}] shapes {shapes} do not broadcast: counted from the last, dimensions must be equal or 1; "
            f"reshape or expand_dims one of them\n{aligned_shapes(*[x.shape for x in operands])}"
        ) from None
    return tuple([broadcast(x, shape) for x in operands])


def require_equal(op: str, *avals: Aval) -> Aval:
    """Return the aval of the operands; raise if they differ in shape or dtype."""
    for aval in avals[1:]:
        if aval.shape != avals[0].shape:
            raise ShapeError(
                f"[{op}] operands must have equal shapes, got {' and '.join(str(a.shape) for a in avals)}"
            )
        if aval.dtype != avals[0].dtype:
            raise DTypeError(
                f"[{op}] operands must have equal dtypes, got {' and '.join(a.dtype.name for a in avals)}"
            )
    return avals[0]


def require_differentiable(op: str, aval: Aval) -> Aval:
    """Return `aval`; raise `DTypeError` unless its dtype is floating or complex."""
    if not is_differentiable(aval.dtype):
        raise DTypeError(f"[{op}] needs a floating or complex dtype, got {aval.dtype.name}; cast it first")
    return aval
