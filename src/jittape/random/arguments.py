"""Checks of the arguments of random functions: shapes, dtypes, seeds and parameters of distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.config import config
from jittape.core.dtypes import as_dtype, is_floating, kind_of
from jittape.core.traced_scalar import TracedScalar
from jittape.core.user_calls import shown
from jittape.errors import DTypeError, ShapeError
from jittape.primitives.broadcast import broadcast_shapes
from jittape.primitives.shape.reshaping import as_shape
from jittape.recording.convert import convert_to_tensor
from jittape.recording.operators import Operators

__all__ = [
    "count_dtype",
    "extents_of",
    "float_dtype",
    "is_symbolic",
    "operand_shape",
    "parameter",
    "real_array",
    "seed_operand",
    "shape_with",
]


def extents_of(op: str, shape: Any) -> tuple[int, ...]:
    """Return a shape as a tuple of ints."""
    extents = as_shape(f"random.{op}", shape)
    if any(n < 0 for n in extents):
        raise ShapeError(f"[random.{op}] dimensions must not be negative, got {shape!r}")
    return extents


def float_dtype(op: str, dtype: Any) -> np.dtype[Any]:
    """Return the dtype of floating-point numbers to draw; None is the default float."""
    wanted = as_dtype(config.default_float if dtype is None else dtype)
    if not is_floating(wanted):
        raise DTypeError(f"[random.{op}] draws floating-point numbers, not {wanted.name}; cast the result")
    return wanted


def count_dtype(op: str, dtype: Any) -> np.dtype[Any]:
    """Return the dtype of counts or classes: an integer or floating dtype."""
    wanted = as_dtype(dtype)
    if kind_of(wanted) not in "iuf":
        raise DTypeError(f"[random.{op}] dtype must be an integer or floating dtype, got {wanted.name}")
    return wanted


def is_symbolic(value: Any) -> bool:
    """Return whether `value` is a tensor, a Variable or a traced number; its value is not checked."""
    return isinstance(value, (Operators, TracedScalar))


def real_array(op: str, argument: str, value: Any) -> np.ndarray[Any, Any]:
    """Return a number, a list or an array as an array of real numbers."""
    array = _array_of(value)
    if array is None or kind_of(array.dtype) not in "biuf":
        raise DTypeError(f"[random.{op}] {argument} must be a real number or an array of them, got {value!r}")
    return array


def parameter(
    op: str,
    argument: str,
    value: Any,
    shape: tuple[int, ...] | None,
    valid: Callable[[Any], Any] | None = None,
    rule: str = "",
) -> Any:
    """Return a parameter of a distribution as an operand.

    Parameters
    ----------
    value : number, array or tensor
        Tensors stay as they are, so that gradients flow to them; their values are not read.
    shape : tuple of int or None
        Shape to which the parameter must broadcast; None accepts all shapes.
    valid : callable, optional
        Returns whether each number of an array is allowed.
    rule : str
        What `valid` demands, for the error.
    """
    found: Any = ()
    operand: Any
    if isinstance(value, (list, tuple)) and _has_symbols(value):
        value = convert_to_tensor(value)
    if type(value) is float or type(value) is int:
        operand = value
        if valid is not None and not valid(value):
            raise ValueError(f"[random.{op}] {argument} must {rule}, got {value!r}")
    elif is_symbolic(value):
        found = getattr(value, "shape", ())
        if isinstance(value, Operators) and kind_of(value.aval.dtype) not in "biuf":
            raise DTypeError(f"[random.{op}] {argument} must be real, got {value.dtype.name}")
        operand = value
    else:
        array = real_array(op, argument, value)
        found = array.shape
        if valid is not None and not np.all(valid(array)):
            raise ValueError(f"[random.{op}] {argument} must {rule}, got {shown(value)}")
        operand = array if found else array.item()
    if shape is not None and found and not _broadcasts(tuple(found), shape):
        raise ShapeError(f"[random.{op}] {argument} of shape {tuple(found)} does not broadcast to {shape}")
    return operand


def _array_of(value: Any) -> np.ndarray[Any, Any] | None:
    """Return `value` as an array, or None if it is a ragged list."""
    try:
        return np.array(value)
    except ValueError:
        return None


def _has_symbols(value: Any) -> bool:
    parts = value if isinstance(value, (list, tuple)) else ()
    return is_symbolic(value) or any(_has_symbols(part) for part in parts)


def _broadcasts(found: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    return len(found) <= len(shape) and all(
        n in (1, m) for n, m in zip(reversed(found), reversed(shape), strict=False)
    )


def operand_shape(operand: Any) -> tuple[int, ...]:
    """Return the shape of an operand; that of a number is ()."""
    return tuple(getattr(operand, "shape", ()))


def shape_with(op: str, shape: tuple[int, ...], **parameters: Any) -> tuple[int, ...]:
    """Return `shape` followed by the shape to which the parameters broadcast."""
    shapes = {name: operand_shape(x) for name, x in parameters.items()}
    try:
        return (*shape, *broadcast_shapes(*shapes.values()))
    except ValueError:
        found = " and ".join(f"{name} of shape {x}" for name, x in shapes.items())
        raise ShapeError(f"[random.{op}] {found} do not broadcast") from None


def seed_operand(op: str, seed: Any) -> Any:
    """Return the seed of a stateless function: two integers."""
    if isinstance(seed, (list, tuple)) and _has_symbols(seed):
        seed = convert_to_tensor(seed)
    given = seed if isinstance(seed, Operators) else _as_integers(op, seed)
    if given.dtype.kind not in "iu":
        raise DTypeError(f"[random.{op}] seed must have an integer dtype, got {given.dtype.name}")
    if tuple(given.shape) != (2,):
        raise ShapeError(f"[random.{op}] seed must have shape (2,), got {tuple(given.shape)}")
    return given


def _as_integers(op: str, seed: Any) -> np.ndarray[Any, Any]:
    array = _array_of(seed)
    if array is not None and kind_of(array.dtype) in "iufb":
        return array
    raise DTypeError(f"[random.{op}] seed must be two integers of at most 64 bits, got {shown(seed)}")
