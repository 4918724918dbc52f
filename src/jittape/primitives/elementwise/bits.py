"""Reinterpretation of bytes, bitwise operations on integers, and tests for nan and inf."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.dtypes import as_dtype, info_of, kind_of
from jittape.core.forms import Map
from jittape.core.primitive import Primitive, any_dtype, apply
from jittape.core.program import Aval
from jittape.core.user_calls import named
from jittape.errors import DTypeError, ShapeError
from jittape.primitives.batched_params import alike
from jittape.primitives.broadcast import as_symbol
from jittape.primitives.elementwise.comparison import STEP
from jittape.primitives.record_parts import (
    common,
    common_number,
    one,
    require_kinds,
    same_of_kinds,
    truth_of_kinds,
)
from jittape.typing import Tensor, TensorLike

__all__ = [
    "bitcast", "bitcast_op", "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "is_finite", "is_inf", "is_nan",
    "left_shift", "right_shift",
]  # fmt: skip

BITS = "integers have no gradient"
BYTES = "bytes have no gradient"


# ---- bytes -----------------------------------------------------------------------------------------------------------

bitcast_op = Primitive(
    "bitcast",
    abstract_eval=lambda x, *, dtype: Aval(x.shape, dtype),
    impl=lambda x, *, dtype: x.view(dtype),
    lowering=Map(lambda m, x, *, dtype: m.bitcast(x, dtype)),
    gradient_stops=BYTES,
    any_dtype=True,
)
"""The bytes of each element as a number of another dtype of the same size."""


def _regrouped_abstract_eval(x: Aval, *, dtype: np.dtype[Any]) -> Aval:
    ratio = dtype.itemsize / x.dtype.itemsize
    if ratio == 1:
        return Aval(x.shape, dtype)
    if ratio < 1:
        return Aval((*x.shape, round(1 / ratio)), dtype)
    if x.shape[-1:] != (ratio,):
        raise ShapeError(
            f"[bitcast] the last dimension of shape {x.shape} must be {round(ratio)}, the number of {x.dtype.name} "
            f"elements in one {dtype.name}"
        )
    return Aval(x.shape[:-1], dtype)


def _regrouped(x: Any, *, dtype: np.dtype[Any]) -> Any:
    shape = _regrouped_abstract_eval(Aval(x.shape, x.dtype), dtype=dtype).shape
    return np.frombuffer(x.tobytes(), dtype).reshape(shape)


bitcast_regrouped_op = Primitive(
    "bitcast_regrouped",
    abstract_eval=_regrouped_abstract_eval,
    impl=_regrouped,
    gradient_stops=BYTES,
    any_dtype=True,
    batch=alike(),
)
"""The bytes of elements, regrouped along the last dimension, as numbers of another size."""


@any_dtype
def _bitcast(x: Any, dtype: np.dtype[Any]) -> Any:
    x = as_symbol(x)
    require_kinds("bitcast", "iufc", x)
    if x.dtype == dtype:
        return x
    # Compiled loops have float16 and bfloat16 as float32, not as their bits.
    in_loops = x.dtype.itemsize == dtype.itemsize and info_of(x.dtype).arithmetic == x.dtype
    op = bitcast_op if in_loops else bitcast_regrouped_op
    return op.bind(x, dtype=dtype)


def bitcast(input: TensorLike, type: Any, name: str | None = None) -> Tensor:
    """Return the bytes of `input` as numbers of another dtype; there is no gradient.

    Parameters
    ----------
    input : tensor_like
        An integer, real or complex dtype.
    type : dtype
        The dtype of the result, not bool. If it is smaller, the result has a further dimension; if it is larger, the
        last dimension of `input` must contain the bytes of one element and is removed.
    name : str, optional
        Ignored.

    Raises
    ------
    ValueError
        If the last dimension does not fit.

    Examples
    --------
    >>> jt.bitcast([1.0, 2.0], jt.int32).numpy()
    array([1065353216, 1073741824], dtype=int32)
    """
    dtype = as_dtype(type)
    if kind_of(dtype) not in "iufc":
        raise named(DTypeError(f"type must be an integer, real or complex dtype, got {dtype.name}"))
    return apply(_bitcast, (input,), (dtype,))


# ---- bits ------------------------------------------------------------------------------------------------------------

bitwise_and_op = Primitive(
    "bitwise_and",
    abstract_eval=same_of_kinds("bitwise_and", "biu"),
    impl=np.bitwise_and,
    lowering=Map(lambda m, x, y: m.bitwise_and(x, y)),
    promote_args=common("bitwise_and"),
    gradient_stops=BITS,
)


def bitwise_and(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the bitwise and of two integer tensors; of bools, logical and.

    Parameters
    ----------
    x, y : tensor_like
        Integers or bools. Shapes that broadcast. The dtypes are promoted.

    Raises
    ------
    DTypeError
        If an argument is neither an integer nor bool.
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.bitwise.bitwise_and([6, 5], 3).numpy()
    array([2, 1], dtype=int32)
    """
    return apply(bitwise_and_op, (x, y))


bitwise_or_op = Primitive(
    "bitwise_or",
    abstract_eval=same_of_kinds("bitwise_or", "biu"),
    impl=np.bitwise_or,
    lowering=Map(lambda m, x, y: m.bitwise_or(x, y)),
    promote_args=common("bitwise_or"),
    gradient_stops=BITS,
)


def bitwise_or(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the bitwise or of two integer tensors; of bools, logical or.

    Parameters
    ----------
    x, y : tensor_like
        Integers or bools. Shapes that broadcast. The dtypes are promoted.

    Raises
    ------
    DTypeError
        If an argument is neither an integer nor bool.
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.bitwise.bitwise_or([6, 5], 3).numpy()
    array([7, 7], dtype=int32)
    """
    return apply(bitwise_or_op, (x, y))


bitwise_xor_op = Primitive(
    "bitwise_xor",
    abstract_eval=same_of_kinds("bitwise_xor", "biu"),
    impl=np.bitwise_xor,
    lowering=Map(lambda m, x, y: m.bitwise_xor(x, y)),
    promote_args=common("bitwise_xor"),
    gradient_stops=BITS,
)


def bitwise_xor(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the bitwise exclusive or of two integer tensors; of bools, logical exclusive or.

    Parameters
    ----------
    x, y : tensor_like
        Integers or bools. Shapes that broadcast. The dtypes are promoted.

    Raises
    ------
    DTypeError
        If an argument is neither an integer nor bool.
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.bitwise.bitwise_xor([6, 5], 3).numpy()
    array([5, 6], dtype=int32)
    """
    return apply(bitwise_xor_op, (x, y))


left_shift_op = Primitive(
    "left_shift",
    abstract_eval=same_of_kinds("left_shift", "iu"),
    impl=np.left_shift,
    lowering=Map(lambda m, x, y: m.left_shift(x, y)),
    promote_args=common_number("left_shift"),
    gradient_stops=BITS,
)


def left_shift(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Shift `x` left by `y` bits.

    Parameters
    ----------
    x, y : tensor_like
        Integers or bools. Shapes that broadcast. The dtypes are promoted.

    Raises
    ------
    DTypeError
        If an argument is neither an integer nor bool.
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.bitwise.left_shift([1, 3], 2).numpy()
    array([ 4, 12], dtype=int32)
    """
    return apply(left_shift_op, (x, y))


right_shift_op = Primitive(
    "right_shift",
    abstract_eval=same_of_kinds("right_shift", "iu"),
    impl=np.right_shift,
    lowering=Map(lambda m, x, y: m.right_shift(x, y)),
    promote_args=common_number("right_shift"),
    gradient_stops=BITS,
)


def right_shift(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Shift `x` right by `y` bits; signed integers keep their sign.

    Parameters
    ----------
    x, y : tensor_like
        Integers or bools. Shapes that broadcast. The dtypes are promoted.

    Raises
    ------
    DTypeError
        If an argument is neither an integer nor bool.
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.bitwise.right_shift([4, -8], 2).numpy()
    array([ 1, -2], dtype=int32)
    """
    return apply(right_shift_op, (x, y))


invert_op = Primitive(
    "invert",
    abstract_eval=same_of_kinds("invert", "biu"),
    impl=np.invert,
    lowering=Map(lambda m, x: m.invert(x)),
    promote_args=one,
    gradient_stops=BITS,
)


def invert(x: TensorLike, name: str | None = None) -> Tensor:
    """Flip all bits; of bools, logical not.

    Parameters
    ----------
    x : tensor_like
        Integers or bools, of any shape.

    Raises
    ------
    DTypeError
        If `x` is neither an integer nor bool.

    Examples
    --------
    >>> jt.bitwise.invert([0, 5]).numpy()
    array([-1, -6], dtype=int32)
    """
    return apply(invert_op, (x,))


# ---- nan and inf -----------------------------------------------------------------------------------------------------

is_nan_op = Primitive(
    "is_nan",
    abstract_eval=truth_of_kinds("is_nan", "biufc"),
    impl=np.isnan,
    lowering=Map(lambda m, x: m.isnan(x)),
    promote_args=one,
    gradient_stops=STEP,
)


def is_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """Return whether each element is nan.

    Parameters
    ----------
    x : tensor_like
        Any shape.

    Examples
    --------
    >>> jt.math.is_nan([1.0, np.inf, np.nan]).numpy()
    array([False, False,  True])
    """
    return apply(is_nan_op, (x,))


is_inf_op = Primitive(
    "is_inf",
    abstract_eval=truth_of_kinds("is_inf", "biufc"),
    impl=np.isinf,
    lowering=Map(lambda m, x: m.isinf(x)),
    promote_args=one,
    gradient_stops=STEP,
)


def is_inf(x: TensorLike, name: str | None = None) -> Tensor:
    """Return whether each element is plus or minus infinity.

    Parameters
    ----------
    x : tensor_like
        Any shape.

    Examples
    --------
    >>> jt.math.is_inf([1.0, np.inf, np.nan]).numpy()
    array([False,  True, False])
    """
    return apply(is_inf_op, (x,))


is_finite_op = Primitive(
    "is_finite",
    abstract_eval=truth_of_kinds("is_finite", "biufc"),
    impl=np.isfinite,
    lowering=Map(lambda m, x: m.isfinite(x)),
    promote_args=one,
    gradient_stops=STEP,
)


def is_finite(x: TensorLike, name: str | None = None) -> Tensor:
    """Return whether each element is neither infinite nor nan.

    Parameters
    ----------
    x : tensor_like
        Any shape.

    Examples
    --------
    >>> jt.math.is_finite([1.0, np.inf, np.nan]).numpy()
    array([ True, False, False])
    """
    return apply(is_finite_op, (x,))
