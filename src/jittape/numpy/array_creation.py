"""Functions that create tensors: NumPy computes the values, unless tensors are among the arguments."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.dtypes import as_dtype, float64
from jittape.core.symbolic.extent_functions import index_of
from jittape.core.symbolic.extents import Extent
from jittape.core.user_calls import named, shown
from jittape.numpy.argument_errors import UNNAMED, explaining, name_argument, signature_of
from jittape.numpy.array_arguments import (
    SEQUENCES,
    as_operand,
    as_result,
    as_tensor,
    check_device,
    dtype_found,
    fresh,
    joined_tensors,
    tensor_over,
)
from jittape.numpy_api.numpy_functions import FUNCTIONS
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.identity import identity
from jittape.primitives.shape import creation
from jittape.primitives.shape.reshaping import broadcast_to, reshape
from jittape.recording.convert import constant, plain_kind
from jittape.recording.machine_code.path_tables import NUMBERS, STRUCTURE
from jittape.recording.operators import Operators
from jittape.recording.tensor import Tensor, any_recorded, tensor_of

__all__ = ["CONVERSIONS", "CREATION", "PLANNED", "asarray"]


# ---- options ---------------------------------------------------------------------------------------------------------


def _check_order(order: Any) -> None:
    """Raise for the order of memory ``"F"``: tensors are stored row by row, and NumPy's other orders allow that."""
    if order not in (None, "C", "A", "K"):
        raise named(
            ValueError(f"order must be 'C', got {shown(order)}: a tensor is stored row by row; transpose it")
        )


# ---- from data -------------------------------------------------------------------------------------------------------


def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    like: Any = None,
) -> Tensor:
    """Return a tensor of the elements of nested sequences, an array or a tensor; see `numpy.array`."""
    if copy is True and order == "K" and ndmin == 0:
        if dtype is None:
            if hasattr(object, "_aval"):
                return identity(object)
            if (made := _made_of_plain(object)) is not None:
                return made
        elif object.__class__ is np.ndarray and object.dtype.kind in "biufc":
            return _converted(object, as_dtype(dtype))
    tensor = asarray(object, dtype, order, copy=copy)
    missing = operator.index(ndmin) - len(tensor.shape)
    return tensor if missing <= 0 else reshape(tensor, (*(1,) * missing, *tensor.shape))


def _made_of_plain(value: Any) -> Any:
    """Return an array, a float, or a sequence of floats or of tensors as a tensor; None for anything else.

    ``array([x, y])`` takes 0.2 µs on a known path, and ``array([1.0, 2.0])`` 1.0, instead of 4.9 and 2.9.
    """
    kind = value.__class__
    if kind is np.ndarray or kind is float:
        return constant(np.asarray(value))
    if kind not in SEQUENCES:
        return None
    numbers = plain_kind(value)
    if numbers is not None:
        return constant(np.array(value, numbers))
    return joined_tensors(value)


def _converted(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> Tensor:
    """Return an array of numbers as a tensor of `dtype`."""
    return constant(array) if array.dtype == dtype else tensor_over(array.astype(dtype, order="C"))


def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None, like: Any = None
) -> Tensor:
    """Return `a` as a tensor, of NumPy's dtype; a tensor itself unless `copy` is true; see `numpy.asarray`.

    Raises
    ------
    ValueError
        For ``copy=False`` if `a` is neither a tensor nor an array that cannot change.
    """
    # 0.25 µs for an array instead of 3.5.
    if order is None and device is None and copy is None and a.__class__ is np.ndarray:
        if dtype is None:
            return constant(a)
        if a.dtype.kind in "biufc":
            return _converted(a, as_dtype(dtype))
    if dtype is None and order is None and device is None and copy is None:
        if a.__class__ is Tensor:
            return a
        if (made := _made_of_plain(a)) is not None:
            return made
    check_device(device)
    _check_order(order)
    if isinstance(copy, str):
        raise named(ValueError(f"copy must be True, False or None, got {copy!r}"))
    tensor = as_tensor(a, dtype)
    if copy is False and tensor is not a and not _shares(tensor, a):
        raise named(
            ValueError(
                "copy=False, but a tensor does not share memory that may change, and cannot avoid a copy here; "
                "give copy=None"
            )
        )
    return identity(tensor) if copy and tensor is a else tensor


def _shares(tensor: Tensor, a: Any) -> bool:
    return (
        isinstance(a, np.ndarray) and tensor._buffer is not None and np.shares_memory(tensor._buffer.array, a)
    )


def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Tensor:
    """Return `a` as a tensor of at least one dimension; see `numpy.ascontiguousarray`."""
    tensor = as_tensor(a, dtype)
    return tensor if tensor.shape else reshape(tensor, (1,))


def copy(a: Any, order: Any = "K", subok: bool = False) -> Tensor:
    """Return a tensor with the values of `a`; see `numpy.copy`."""
    _check_order(order)
    return identity(a if a.__class__ is Tensor else as_tensor(a))


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """Return a tensor in another dtype; see `numpy.astype`."""
    check_device(device)
    if not (hasattr(x, "_aval") or isinstance(x, np.ndarray)):
        raise named(TypeError(f"x must be a tensor or an array, got {shown(x)}; use asarray"))
    return cast(x, dtype)


def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Tensor:
    """Return a tensor of the elements of an object with ``__dlpack__``; see `numpy.from_dlpack`."""
    check_device(device)
    if isinstance(x, Operators):
        return asarray(x, copy=copy)
    return asarray(np.from_dlpack(x), copy=copy)


# ---- of one value ----------------------------------------------------------------------------------------------------


def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: Any = None
) -> Tensor:
    """Return a tensor filled with a value, which may be a tensor; see `numpy.full`."""
    is_usual = dtype is None and order == "C" and device is None
    if is_usual and fill_value.__class__ in _NUMBERS and _is_plain(shape):
        return tensor_over(np.full(shape, fill_value))
    check_device(device)
    _check_order(order)
    extents = _extents(shape)
    if not any_recorded(fill_value) and not _is_general(extents):
        return fresh(np.full(extents, fill_value, dtype))
    return broadcast_to(as_tensor(fill_value, dtype), extents)


def _filled(name: str) -> Callable[..., Tensor]:
    create, general = getattr(np, name), getattr(creation, name)

    def filled(
        shape: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: Any = None
    ) -> Tensor:
        if dtype is None and order == "C" and device is None and _is_plain(shape):
            return tensor_over(create(shape))
        check_device(device)
        _check_order(order)
        wanted = float64 if dtype is None else as_dtype(dtype)
        if not _is_plain(shape):
            shape = _extents(shape)
            if _is_general(shape):
                return general(shape, wanted)
        return tensor_of(create(shape, wanted))

    return _called(filled, name, f"Return a tensor of {name}; see `numpy.{name}`.")


def empty(shape: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: Any = None) -> Tensor:
    """Return a tensor of zeros: memory that nothing has written is never shown; see `numpy.empty`."""
    return zeros(shape, dtype, order, device=device)


_NUMBERS = frozenset((float, int, bool))


def _extents(shape: Any) -> Any:
    """Return a shape, which may hold 0-d tensors of integers."""
    try:
        if isinstance(shape, Operators):
            return tuple(map(index_of, shape.numpy().tolist())) if shape.shape else (operator.index(shape),)
        return tuple(map(index_of, shape if isinstance(shape, (list, tuple)) else (shape,)))
    except TypeError:
        raise named(TypeError(f"shape must be an int or a tuple of ints, got {shown(shape)}")) from None


def _is_plain(shape: Any) -> bool:
    """Return whether a shape is an int or a tuple of ints."""
    return shape.__class__ is int or (shape.__class__ is tuple and {*map(type, shape)} <= {int})


def _is_general(extents: tuple[Any, ...]) -> bool:
    """Return whether a shape holds numbers that vary between the calls of a trace."""
    return any(n.__class__ is Extent for n in extents)


def _called(made: Any, name: str, summary: str) -> Any:
    made.__name__ = made.__qualname__ = name
    made.__doc__ = summary
    return made


zeros = _filled("zeros")
ones = _filled("ones")


# ---- ranges ----------------------------------------------------------------------------------------------------------


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """Return evenly spaced numbers over an interval; see `numpy.linspace`."""
    check_device(device)
    if not any_recorded(start, stop):
        given: Any = (start, stop, num, endpoint, retstep, dtype, axis)
        return as_result(np.linspace(*given))
    ends = as_operand(start, "start"), as_operand(stop, "stop")
    return as_result(FUNCTIONS[np.linspace](*ends, num, endpoint, retstep, dtype, axis))


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Tensor:
    """Return numbers spaced evenly on a log scale; see `numpy.logspace`."""
    if not any_recorded(start, stop, base):
        return as_result(np.logspace(start, stop, num, endpoint, base, dtype, axis))
    ends = as_operand(start, "start"), as_operand(stop, "stop")
    base = as_operand(base, "base")
    return as_result(FUNCTIONS[np.logspace](*ends, num, endpoint, base, dtype, axis))


def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Tensor:
    """Return numbers spaced evenly on a log scale, from one end to the other; see `numpy.geomspace`."""
    if not any_recorded(start, stop):
        return as_result(np.geomspace(start, stop, num, endpoint, dtype, axis))
    ends = as_operand(start, "start"), as_operand(stop, "stop")
    return as_result(FUNCTIONS[np.geomspace](*ends, num, endpoint, dtype, axis))


def fromfunction(function: Any, shape: Any, *, dtype: Any = float, like: Any = None, **kwargs: Any) -> Any:
    """Return ``function(i, j, ...)`` of the coordinates of each element, as tensors; see `numpy.fromfunction`."""
    return as_result(function(*as_result(list(np.indices(_extents(shape), dtype=dtype))), **kwargs))


# ---- computed with NumPy ---------------------------------------------------------------------------------------------

_ON_NUMBERS = (
    "arange bartlett blackman diag_indices diag_indices_from eye frombuffer fromfile fromiter fromstring genfromtxt "
    "hamming hanning identity indices ix_ kaiser loadtxt mask_indices ravel_multi_index tri tril_indices "
    "tril_indices_from triu_indices triu_indices_from unravel_index load packbits unpackbits"
)
"""Functions of numbers and shapes: NumPy runs them on the values of tensors."""


def _on_numbers(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        check_device(kwargs.get("device"))
        _check_order(kwargs.get("order"))
        given = [_number(a) for a in args]
        try:
            return as_result(function(*given, **{key: _number(a) for key, a in kwargs.items()}))
        except UNNAMED as error:
            name_argument(error, name, signature_of(function), given, kwargs)
            raise

    return call


def _number(value: Any) -> Any:
    """Return the value of a tensor; 0-d tensors of integers become ints. A tape reports a float that it follows."""
    if not isinstance(value, Operators):
        return tuple(map(_number, value)) if isinstance(value, tuple) else value
    if not value.shape:
        return operator.index(value) if dtype_found(value).kind in "iu" else np.asarray(value)[()]
    return np.asarray(value)


CREATION: dict[str, Callable[..., Any]] = {
    "array": array,
    "asanyarray": asarray,
    "asarray": asarray,
    "ascontiguousarray": ascontiguousarray,
    "astype": astype,
    "copy": copy,
    "empty": empty,
    "from_dlpack": explaining(from_dlpack),
    "fromfunction": explaining(fromfunction),
    "full": full,
    "geomspace": geomspace,
    "linspace": linspace,
    "logspace": logspace,
    "ones": ones,
    "zeros": zeros,
    **{name: _on_numbers(name) for name in _ON_NUMBERS.split()},
}
"""Functions of the namespace that create tensors."""

PLANNED: dict[Any, int] = {
    **dict.fromkeys((empty, full, geomspace, linspace, logspace, ones, zeros), NUMBERS),
    astype: STRUCTURE,
    **{CREATION[name]: NUMBERS for name in ("arange", "eye", "identity", "tri")},
    **{CREATION[name]: NUMBERS for name in ("bartlett", "blackman", "hamming", "hanning", "kaiser")},
}
"""Those whose calls machine code records, and how they take numbers."""
CONVERSIONS: dict[Any, bool] = {array: True, asarray: False}
"""Those that convert their argument, and whether they copy tensors."""
