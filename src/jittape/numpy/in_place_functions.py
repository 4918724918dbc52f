"""Functions that write to their first argument, a tensor or a Variable, as ``t[index] = value`` does."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.user_calls import named, shown
from jittape.errors import ShapeError
from jittape.numpy.array_arguments import as_operand, dtype_found
from jittape.numpy_api.numpy_ufunc_methods import value_after_at
from jittape.primitives.broadcast import axis_key
from jittape.primitives.elementwise.comparison import where as select
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.shape.reshaping import broadcast_to, one_axis, reshape
from jittape.recording.operators import Operators

__all__ = ["IN_PLACE", "at_method"]


def _written(a: Any) -> Any:
    """Return the argument to write to, or raise: an array keeps no gradient."""
    if not isinstance(a, Operators):
        raise named(TypeError(f"can only write to a tensor or a jt.Variable, got {shown(a)}; use asarray"))
    a._require_kept(1)
    return a


def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """Assign the elements of `src`, those where `where` is true; see `numpy.copyto`."""
    src = as_operand(src, "src")
    known = dtype_found(src) if not isinstance(src, (int, float, complex)) else np.result_type(src)
    if not np.can_cast(known, _written(dst).aval.dtype, casting) and not isinstance(
        src, (int, float, complex)
    ):
        raise named(
            TypeError(f"Cannot cast {known.name} to {dst.dtype.name} according to the rule {casting!r}")
        )
    if where is True:
        dst[...] = cast(src, dst.aval.dtype)
    else:
        dst[...] = select(as_operand(where, "where"), cast(src, dst.aval.dtype), _value(dst))


def _value(a: Any) -> Any:
    return a.value() if hasattr(a, "value") else a


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Assign the main diagonal; see `numpy.fill_diagonal`."""
    shape = tuple(_written(a).shape)
    if len(shape) < 2 or (len(shape) > 2 and len(set(shape)) > 1):
        raise ShapeError(f"[fill_diagonal] a must be a matrix, or have equal dimensions, got shape {shape}")
    if wrap:
        raise TypeError(
            "[fill_diagonal] wrap=True is not supported for a tensor; assign the parts one by one"
        )
    along = np.arange(min(shape))
    a[(along,) * len(shape)] = val


def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Assign elements by their positions in the flat array; see `numpy.put`."""
    if mode != "raise":
        raise TypeError(f"[put] mode must be 'raise' for a tensor, got {mode!r}")
    positions = np.asarray(ind).ravel()
    values = reshape(as_operand(v, "v", weak=False), -1)
    if values.shape[0] not in (1, positions.size):
        values = values[np.arange(positions.size) % values.shape[0]]
    flat = reshape(_value(_written(a)), (-1,))
    flat[positions] = cast(values, a.aval.dtype)
    a[...] = reshape(flat, a.shape)


def putmask(a: Any, /, mask: Any, values: Any) -> None:
    """Assign where `mask` is true, the elements of `values` at the same positions; see `numpy.putmask`."""
    values = as_operand(values, "values", weak=False)
    size = operator.index(_written(a).size)
    spread = reshape(values, -1)[np.arange(size) % max(values.size, 1)]
    a[...] = select(as_operand(mask, "mask"), cast(reshape(spread, a.shape), a.aval.dtype), _value(a))


def place(arr: Any, mask: Any, vals: Any) -> None:
    """Assign where `mask` is true, the elements of `vals` in order; see `numpy.place`."""
    chosen = broadcast_to(as_operand(mask, "mask"), _written(arr).shape).numpy()
    vals = reshape(as_operand(vals, "vals", weak=False), -1)
    count = int(np.count_nonzero(chosen))
    if count:
        arr[chosen] = cast(vals[np.arange(count) % vals.shape[0]], arr.aval.dtype)


def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    """Assign elements by their indices along `axis`; see `numpy.put_along_axis`."""
    indices = as_operand(indices, "indices")
    if axis is None:
        put(arr, indices, values)
        return
    rank = len(_written(arr).shape)
    along = one_axis("np.put_along_axis", axis_key(axis), rank)
    grid = list(np.ogrid[tuple(slice(n) for n in indices.shape)])
    grid[along] = indices
    arr[tuple(grid)] = values


def at_method(ufunc: np.ufunc) -> Callable[..., None]:
    """Return ``ufunc.at`` for tensors and Variables."""

    def at(a: Any, indices: Any, *b: Any) -> None:
        target = _written(a)
        operands = [as_operand(x, "b", weak=False) for x in b]
        target[...] = value_after_at(ufunc, _value(target), indices, *operands)

    return at


IN_PLACE: dict[str, Callable[..., Any]] = {
    "copyto": copyto,
    "fill_diagonal": fill_diagonal,
    "place": place,
    "put": put,
    "put_along_axis": put_along_axis,
    "putmask": putmask,
}
"""Functions of the namespace by name."""
