"""Functions that write to their first argument, a tensor or a Variable, as ``t[index] = value`` does."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.dtypes import KINDS, kind_of
from jittape.core.user_calls import named, shown
from jittape.errors import ShapeError
from jittape.numpy.array_arguments import as_operand, as_tensor, dtype_found
from jittape.numpy_api.numpy_ufunc_methods import value_after_at
from jittape.primitives.broadcast import axis_key
from jittape.primitives.elementwise.comparison import where as select
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.shape.reshaping import one_axis, reshape
from jittape.recording.operators import Operators
from jittape.recording.tensor import holds_tensors

__all__ = ["IN_PLACE", "at_method"]


def _written(a: Any) -> Any:
    """Return the argument to write to, or raise: an array keeps no gradient."""
    if not isinstance(a, Operators):
        raise named(TypeError(f"can only write to a tensor or a jt.Variable, got {shown(a)}; use asarray"))
    a._require_kept(1)
    return a


def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """Assign the elements of `src`, those where `where` is true; see `numpy.copyto`."""
    dtype = _written(dst).aval.dtype
    src = _stored(src, "src", dtype, casting)
    if where is True:
        dst[...] = src
    else:
        mask, target = as_tensor(where, None, "where"), _value(dst)
        if len(mask.shape) > len(target.shape):  # NumPy drops leading dimensions of 1 of `src` only
            raise named(
                ShapeError(
                    f"could not broadcast where mask from shape {mask.shape} into shape {target.shape}"
                )
            )
        dst[...] = select(mask, src, target)


def _stored(value: Any, name: str, dtype: np.dtype[Any], casting: str) -> Any:
    """Return `value` in `dtype`; raise if the rule `casting` forbids the cast of its dtype."""
    value = as_operand(value, name)
    if isinstance(value, (int, float, complex)) and not isinstance(value, np.generic):
        # A Python number fits an array of its kind or a later one.
        if casting == "unsafe" or KINDS[np.result_type(type(value)).kind].rank <= KINDS[kind_of(dtype)].rank:
            return as_tensor(value, dtype, name)
    elif np.can_cast(dtype_found(value), dtype, casting):  # type: ignore[arg-type]
        return cast(value, dtype)
    found = dtype_found(value).name
    raise named(TypeError(f"Cannot cast {found} to {dtype.name} according to the rule {casting!r}"))


def _elements(values: Any, name: str, dtype: np.dtype[Any], casting: str) -> Any:
    """Return a vector of `dtype`: Python numbers as ``array[i] = value`` stores them, arrays by the rule `casting`."""
    if isinstance(values, np.generic):  # NumPy holds no scalar of its own to the rule
        casting = "unsafe"
    elif not (hasattr(values, "dtype") or holds_tensors(values)):
        return reshape(as_tensor(values, dtype, name), -1)
    return reshape(_stored(values, name, dtype, casting), -1)


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
    values = _elements(val, "val", a.aval.dtype, "unsafe")
    if values.shape[0] != 1:  # as many as the diagonal has, again from the first if there are fewer
        values = values[along % values.shape[0]]
    a[(along,) * len(shape)] = values


def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Assign elements by their positions in the flat array; see `numpy.put`."""
    if mode != "raise":
        raise TypeError(f"[put] mode must be 'raise' for a tensor, got {mode!r}")
    positions = np.asarray(ind).ravel()
    dtype = _written(a).aval.dtype
    values = _elements(v, "v", dtype, "unsafe")
    if positions.size and not operator.index(a.size):
        raise named(IndexError("cannot replace elements of an empty array"))
    if not (positions.size and values.shape[0]):
        return
    if values.shape[0] not in (1, positions.size):
        values = values[np.arange(positions.size) % values.shape[0]]
    flat = reshape(_value(a), (-1,))
    flat[positions] = values
    a[...] = reshape(flat, a.shape)


def putmask(a: Any, /, mask: Any, values: Any) -> None:
    """Assign where `mask` is true, the elements of `values` at the same positions; see `numpy.putmask`."""
    size = operator.index(_written(a).size)
    elements = _elements(values, "values", a.aval.dtype, "safe")
    if elements.shape[0]:
        spread = elements[np.arange(size) % elements.shape[0]]
        a[...] = select(_mask(mask, a), reshape(spread, a.shape), _value(a))
    else:
        _mask(mask, a)


def _mask(mask: Any, a: Any) -> Any:
    """Return a mask in the shape of `a`; raise if it has another size."""
    mask = as_tensor(mask, None, "mask")
    if operator.index(mask.size) != operator.index(a.size):
        shapes = f"{tuple(mask.shape)} and {tuple(a.shape)}"
        raise named(ValueError(f"mask and data must be the same size, got shapes {shapes}"))
    return reshape(mask, a.shape)


def place(arr: Any, mask: Any, vals: Any) -> None:
    """Assign where `mask` is true, the elements of `vals` in order; see `numpy.place`."""
    chosen = _mask(mask, _written(arr)).numpy()
    elements = _elements(vals, "vals", arr.aval.dtype, "safe")
    count = int(np.count_nonzero(chosen))
    if count:
        if not elements.shape[0]:
            raise named(ValueError("Cannot insert from an empty array!"))
        arr[chosen] = elements[np.arange(count) % elements.shape[0]]


def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    """Assign elements by their indices along `axis`; see `numpy.put_along_axis`."""
    indices = as_operand(indices, "indices")
    if axis is None:
        if np.ndim(indices) != 1:
            raise named(
                ValueError(f"indices must have one dimension for axis=None, got shape {np.shape(indices)}")
            )
        put(arr, indices, values)
        return
    rank = len(_written(arr).shape)
    along = one_axis("np.put_along_axis", axis_key(axis), rank)
    if np.ndim(indices) != rank:
        raise named(
            ValueError(f"indices must have {rank} dimensions as arr has, got shape {np.shape(indices)}")
        )
    grid = list(np.ogrid[tuple(slice(n) for n in arr.shape)])
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
