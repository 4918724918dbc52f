"""Methods of NumPy's ufuncs on tensors: reduce, accumulate, outer, reduceat and at."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np

from jittape.core.dtypes import as_dtype
from jittape.errors import DTypeError, ShapeError
from jittape.numpy_api.numpy_functions import FUNCTIONS
from jittape.numpy_api.numpy_operands import (
    array_like,
    converted,
    dtype_of,
    given,
    is_mask,
    reject,
    shape_of,
    strong,
    values_of,
)
from jittape.numpy_api.numpy_reductions import masked
from jittape.numpy_api.numpy_shapes import numpy_concatenate, numpy_stack
from jittape.numpy_api.one_call import UFUNC_METHODS, OneCall, arranged
from jittape.primitives.broadcast import axis_key, normalized_axes
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.piecewise import absolute
from jittape.primitives.identity import identity
from jittape.primitives.indexing.gather import gather
from jittape.primitives.indexing.getitem import getitem
from jittape.primitives.indexing.scatter import (
    tensor_scatter_nd_add,
    tensor_scatter_nd_max,
    tensor_scatter_nd_min,
    tensor_scatter_nd_sub,
    tensor_scatter_nd_update,
)
from jittape.primitives.shape.reshaping import broadcast_to, expand_dims, one_axis, reshape, transpose

__all__ = ["LOGICAL", "REDUCTIONS", "combined_dtype", "dtype_beside", "ufunc_method", "value_after_at"]

REDUCTIONS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: FUNCTIONS[np.sum],
    np.logical_and: FUNCTIONS[np.all],
    np.logical_or: FUNCTIONS[np.any],
    np.maximum: FUNCTIONS[np.max],
    np.minimum: FUNCTIONS[np.min],
    np.multiply: FUNCTIONS[np.prod],
}
"""Functions for ``ufunc.reduce``."""

RUNNING: dict[np.ufunc, Callable[..., Any]] = {
    np.add: FUNCTIONS[np.cumsum],
    np.multiply: FUNCTIONS[np.cumprod],
}
"""Functions for ``ufunc.accumulate``."""

LOGICAL = (np.logical_and, np.logical_or, np.logical_xor)

ASSOCIATIVE = frozenset(
    (
        *REDUCTIONS,
        np.bitwise_and,
        np.bitwise_or,
        np.bitwise_xor,
        np.fmax,
        np.fmin,
        np.hypot,
        np.logaddexp,
        np.logaddexp2,
        np.logical_xor,
    )
)
"""Ufuncs whose operands may be combined in any order: n elements take log(n) calls instead of n."""


def ufunc_method(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record ``ufunc.reduce``, ``accumulate``, ``outer`` or ``reduceat``.

    Raises
    ------
    TypeError
        For ``ufunc.at`` unless it writes to a Variable, and for ufuncs that do not map two operands to one result.
    """
    name = f"{ufunc.__name__}.{method}"
    if method == "at":
        if hasattr(inputs[0], "value"):  # a Variable
            inputs[0].assign(value_after_at(ufunc, *inputs))
            return None
        raise TypeError(
            f"np.{name} would write into its operand; call {ufunc.__name__}.at of jittape.numpy, which writes to a "
            "tensor or a jt.Variable, or jt.tensor_scatter_nd_add or another scatter function"
        )
    results = (1, 2) if method == "outer" else (1,)
    if ufunc.nin != 2 or ufunc.nout not in results or ufunc.signature is not None:
        raise ValueError(f"[np.{name}] {method} is only supported for binary functions with one result")
    reject(name, out=kwargs.pop("out", None))
    if method == "outer":
        return _outer(ufunc, name, *inputs, **kwargs)
    names = ("indices", "axis", "dtype") if method == "reduceat" else ("axis", "dtype", "out", "keepdims")
    options = dict(zip(names, inputs[1:], strict=False)) | kwargs
    if method == "reduceat":
        indices = _indices(name, options.pop("indices"))
        options["dtype"] = combined_dtype(ufunc, method, (inputs[0], indices), options)
        return _reduceat(ufunc, name, inputs[0], indices, **options)
    options["dtype"] = combined_dtype(ufunc, method, inputs, options)
    options.pop("out", None)
    return (_reduce if method == "reduce" else _accumulate)(ufunc, name, inputs[0], **options)


def combined_dtype(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Return the dtype in which NumPy combines the elements of an operand; raise the errors that NumPy raises.

    NumPy decides both by dtypes and shapes, so it is asked with arrays of ones, of at most three along each dimension.
    """
    small: dict[str, Any] = {}
    for option, value in options.items():
        if option == "dtype":
            small[option] = None if value is None else as_dtype(value)
        elif option in ("out", "where") and hasattr(value, "shape"):
            small[option] = _few_ones(value)
        elif option != "out" or value is not None:
            small[option] = value
    rest = [np.zeros(len(inputs[1]), np.intp)] if method == "reduceat" else []
    try:
        with np.errstate(all="ignore"), catch_warnings():
            simplefilter("ignore")
            return np.asarray(getattr(ufunc, method)(_few_ones(strong(inputs[0])), *rest, **small)).dtype
    except np.exceptions.AxisError:
        return None  # the method raises it, with the name that the user has called
    except (TypeError, ValueError) as error:
        kind = DTypeError if isinstance(error, TypeError) else ShapeError
        raise kind(f"[np.{ufunc.__name__}.{method}] {error}") from None


def dtype_beside(ufunc: np.ufunc, array: Any, target: Any) -> dict[str, Any]:
    """Return the argument ``dtype`` for a target: a dtype that holds its elements too, if NumPy has such a loop."""
    both = np.promote_types(dtype_of(strong(array)), target)
    try:
        combined_dtype(ufunc, "accumulate", (np.ones(1, both),), {"dtype": both})
    except TypeError:
        return {}
    return {"dtype": both}


def _few_ones(value: Any) -> Any:
    return np.ones([min(n, 3) for n in shape_of(value)], dtype_of(value))


def _operand(ufunc: np.ufunc, array: Any, dtype: Any) -> Any:
    """Return the operand in the dtype in which NumPy combines its elements."""
    return cast(strong(array), np.bool_) if ufunc in LOGICAL else converted(strong(array), dtype)


def _reduce(
    ufunc: np.ufunc,
    name: str,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    if ufunc in REDUCTIONS:
        return _known_reduction(ufunc, array, axis, dtype, keepdims, initial, where)
    a = _operand(ufunc, array, dtype)
    shape = shape_of(a)
    axes = () if not shape and axis in (0, -1) else normalized_axes(f"np.{name}", axis_key(axis), len(shape))
    if len(axes) > 1 and ufunc not in ASSOCIATIVE and ufunc is not np.gcd:
        raise ValueError(
            f"[np.{name}] reduction operation is not reorderable, so at most one axis may be specified"
        )
    start, fill = initial if given(initial) else ufunc.identity, ufunc.identity
    if ufunc in (np.fmax, np.fmin):
        fill = start
    if is_mask(where):
        if fill is None:
            raise TypeError(
                f"np.{name} on a tensor does not support where=: the operation has no neutral element"
            )
        a = masked(name, a, where, np.array(fill).astype(dtype_of(a)))
    kept = [i for i in range(len(shape)) if i not in axes]
    lengths = [shape[i] for i in kept]
    count = int(np.prod([shape[i] for i in axes]))
    rows = reshape(transpose(a, [*axes, *kept]), [count, *lengths])
    if given(initial) or count == 0:
        if start is None:
            raise ValueError(f"[np.{name}] zero-size array to an operation without identity")
        rows = numpy_concatenate([np.full([1, *lengths], np.array(start).astype(dtype_of(a))), rows])
    elif ufunc is np.hypot and count == 1:  # NumPy begins with hypot(0, x)
        rows = absolute(rows)
    result = _combined(ufunc, rows)
    return reshape(result, [1 if i in axes else n for i, n in enumerate(shape)]) if keepdims else result


def _known_reduction(
    ufunc: np.ufunc, array: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any
) -> Any:
    """Return the result of one of the functions in `REDUCTIONS`."""
    options = {"where": where} if is_mask(where) else {}
    if ufunc in LOGICAL:
        result = REDUCTIONS[ufunc](strong(array), axis, keepdims=keepdims, **options)
        return _called(ufunc, result, bool(initial)) if given(initial) else result
    options |= {"initial": initial} if given(initial) else {}
    options |= {"dtype": dtype} if ufunc in RUNNING else {}
    return REDUCTIONS[ufunc](converted(strong(array), dtype), axis, keepdims=keepdims, **options)


def _called(ufunc: np.ufunc, one: Any, other: Any, **options: Any) -> Any:
    """Return the result of a ufunc, also in a body, whose values NumPy does not take."""
    return import_module("jittape.numpy_api.numpy_protocol").array_ufunc(
        ufunc, "__call__", one, other, **options
    )


def _combined(ufunc: np.ufunc, rows: Any) -> Any:
    """Return the rows combined from the first to the last."""
    if ufunc not in ASSOCIATIVE:
        result = getitem(rows, 0)
        for i in range(1, shape_of(rows)[0]):
            result = _called(ufunc, result, getitem(rows, i))
        return result
    while (n := shape_of(rows)[0]) > 1:
        half = n // 2
        pairs = _called(ufunc, getitem(rows, slice(0, half)), getitem(rows, slice(half, 2 * half)))
        rows = pairs if n == 2 * half else numpy_concatenate([pairs, getitem(rows, slice(n - 1, n))])
    return getitem(rows, 0)


def _accumulate(ufunc: np.ufunc, name: str, array: Any, axis: int = 0, dtype: Any = None) -> Any:
    a = strong(array)
    if not shape_of(a):
        raise TypeError(f"[np.{name}] cannot accumulate on a scalar")
    axis = one_axis(f"np.{name}", axis_key(axis), len(shape_of(a)))
    if ufunc in RUNNING and np.dtype(dtype).kind != "b":
        return RUNNING[ufunc](a, axis, dtype)
    a = _operand(ufunc, a, dtype)
    n = shape_of(a)[axis]
    if n == 0:
        return identity(a)
    if ufunc not in ASSOCIATIVE:
        return numpy_stack(_prefixes(ufunc, a, axis, n), axis)
    step = 1
    while step < n:  # after each pass, every element combines twice as many (Hillis and Steele)
        first, late, early = (_along(a, axis, s) for s in ((0, step), (step, n), (0, n - step)))
        a = numpy_concatenate([first, _called(ufunc, early, late)], axis)
        step *= 2
    return a


def _along(a: Any, axis: int, limits: tuple[int, int]) -> Any:
    return getitem(a, (*(slice(None),) * axis, slice(*limits)))


def _prefixes(ufunc: np.ufunc, a: Any, axis: int, n: int) -> list[Any]:
    before = (slice(None),) * axis
    results = [getitem(a, (*before, 0))]
    for i in range(1, n):
        results.append(_called(ufunc, results[-1], getitem(a, (*before, i))))
    return results


def _outer(ufunc: np.ufunc, name: str, one: Any, other: Any, **kwargs: Any) -> Any:
    one, other = strong(one), strong(other)
    rank = len(shape_of(other))
    return _called(ufunc, expand_dims(one, list(range(-rank, 0))) if rank else one, other, **kwargs)


def _indices(name: str, indices: Any) -> Any:
    places = np.zeros(0, np.intp) if isinstance(indices, list) and not indices else values_of(indices)
    if places.ndim != 1 or places.dtype.kind not in "iu":
        raise TypeError(
            f"[np.{name}] indices must be a vector of integers, got {places.dtype.name}{places.shape}"
        )
    return places


def _reduceat(ufunc: np.ufunc, name: str, array: Any, places: Any, axis: int = 0, dtype: Any = None) -> Any:
    a = strong(array)
    axis = one_axis(f"np.{name}", axis_key(axis), len(shape_of(a)))
    n = shape_of(a)[axis]
    for place in places:
        if not 0 <= place < n:
            raise IndexError(f"[np.{name}] index {place} out-of-bounds in {name} [0, {n})")
    parts = [
        _segment(ufunc, name, _along(a, axis, (i, end if i < end else i + 1)), axis, dtype)
        for i, end in zip(
            places.tolist(), [*places.tolist()[1:], n], strict=False
        )  # none if there are no places
    ]
    shape = shape_of(a)
    return numpy_stack(parts, axis) if parts else np.zeros([*shape[:axis], 0, *shape[axis + 1 :]], dtype)


def _segment(ufunc: np.ufunc, name: str, part: Any, axis: int, dtype: Any) -> Any:
    """Return the combined elements of a segment: ``hypot.reduce`` begins with 0, ``hypot.reduceat`` does not."""
    if ufunc is not np.hypot:
        return _reduce(ufunc, name, part, axis, dtype)
    others = [i for i in range(len(shape_of(part))) if i != axis]
    return _combined(ufunc, transpose(_operand(ufunc, part, dtype), [axis, *others]))


# ---- at --------------------------------------------------------------------------------------------------------------

_SCATTERS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: tensor_scatter_nd_add,
    np.maximum: tensor_scatter_nd_max,
    np.minimum: tensor_scatter_nd_min,
    np.subtract: tensor_scatter_nd_sub,
}
"""Functions that combine elements in place, also those whose position occurs several times."""


def value_after_at(ufunc: np.ufunc, a: Any, indices: Any, *values: Any) -> Any:
    """Return the value of `a` after ``ufunc.at(a, indices, *values)``; `indices` are those of ``a[indices]``."""
    name = f"{ufunc.__name__}.at"
    if ufunc.nout != 1 or ufunc.signature is not None or len(values) != ufunc.nin - 1:
        raise ValueError(f"[np.{name}] needs {ufunc.nin - 1} operands after the indices, got {len(values)}")
    a = identity(a)
    shape, dtype = shape_of(a), dtype_of(a)
    numbers = np.arange(math.prod(shape)).reshape(shape)
    positions: Any = getitem(identity(numbers), indices) if _is_recorded(indices) else numbers[indices]
    flat, places = reshape(a, (-1,)), reshape(positions, (-1,))
    others = [reshape(broadcast_to(array_like(x), shape_of(positions)), (-1,)) for x in values]
    sample = ufunc(np.zeros(0, dtype), *[np.zeros(0, dtype_of(x)) for x in others]).dtype
    scatter, recorded = _SCATTERS.get(ufunc), hasattr(positions, "aval")
    orders = dtype.kind in "iuf" or (dtype.kind == "c" and ufunc in (np.add, np.subtract))
    if scatter and orders and (sample == dtype or (recorded and np.can_cast(sample, dtype, "same_kind"))):
        return reshape(scatter(flat, expand_dims(places, -1), cast(others[0], dtype)), shape)
    if recorded:
        raise TypeError(
            f"[np.{name}] indices that are tensors are recorded for {', '.join(f.__name__ for f in _SCATTERS)} of "
            f"operands in one dtype only, got {dtype.name} and a result of {sample.name}; use indices.numpy()"
        )
    for chosen in _rounds(positions.ravel()):
        at = positions.ravel()[chosen]
        new = ufunc(gather(flat, at), *[gather(x, chosen) for x in others])
        flat = tensor_scatter_nd_update(flat, at[:, None], cast(new, dtype))
    return reshape(flat, shape)


def _is_recorded(indices: Any) -> bool:
    if isinstance(indices, (tuple, list)):
        return any(_is_recorded(i) for i in indices)
    return hasattr(indices, "aval")


def _rounds(positions: Any) -> list[Any]:
    """Return the places of the first, the second, ... occurrence of each position."""
    order = np.argsort(positions, kind="stable")
    ordered = positions[order]
    start = np.searchsorted(ordered, ordered)
    number = np.empty_like(order)
    number[order] = np.arange(len(order)) - start
    return [np.nonzero(number == k)[0] for k in range(int(number.max(initial=-1)) + 1)]


# ---- methods that are recorded as one call ---------------------------------------------------------------------------


def _method_call(ufunc: np.ufunc, method: str) -> OneCall:
    def called(*inputs: Any, **options: Any) -> Any:
        reject(f"{ufunc.__name__}.{method}", out=options.get("out"))
        return ufunc_method(ufunc, method, inputs, options)

    leading = 2 if method == "outer" else 1
    return OneCall(called, arranged(f"{ufunc.__name__}.{method}", called, None), leading, 0, None, [None])


UFUNC_METHODS |= {
    ufunc: {method: _method_call(ufunc, method) for method in ("accumulate", "outer", "reduce", "reduceat")}
    for ufunc in vars(np).values()
    if isinstance(ufunc, np.ufunc) and ufunc.nin == 2 and ufunc.nout == 1 and ufunc.signature is None
}
