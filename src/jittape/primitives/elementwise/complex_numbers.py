"""Casts, complex numbers, and their real and imaginary parts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from jittape.core.dtypes import as_dtype, info_of
from jittape.core.forms import Map
from jittape.core.primitive import Primitive, any_dtype, apply
from jittape.core.program import Aval
from jittape.errors import DTypeError
from jittape.primitives.batched_params import alike
from jittape.primitives.broadcast import (
    as_symbol,
    cast_to,
    real_op,
    require_equal,
)
from jittape.primitives.broadcast import conj as conj_of
from jittape.primitives.elementwise.arithmetic import add, multiply, square, zero_dominant_multiply
from jittape.primitives.elementwise.comparison import less, where
from jittape.primitives.elementwise.division import reciprocal
from jittape.primitives.record_parts import common_float, filled, floating, real_dtype, require_kinds
from jittape.typing import Tensor, TensorLike

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = [
    "angle",
    "cast",
    "cast_body",
    "complex",
    "conj",
    "imag",
    "imag_op",
    "real",
    "shifted",
    "squared_magnitude",
]


# ---- casts -----------------------------------------------------------------------------------------------------------


@any_dtype
def cast_body(x: Any, dtype: np.dtype[Any]) -> Any:
    """Return a handle in another dtype."""
    return cast_to(x, dtype)


def cast(x: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Cast `x` to another dtype.

    From complex to real the imaginary part is dropped. No gradient flows through an integer dtype.

    Parameters
    ----------
    x : tensor_like
        Any shape.
    dtype : dtype or str
        Dtype of the result.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `dtype` is not the name of a dtype.

    Examples
    --------
    >>> jt.cast([1.7, -1.7], jt.int32).numpy()
    array([ 1, -1], dtype=int32)
    """
    return apply(cast_body, (x,), (as_dtype(dtype),))


# ---- complex numbers -------------------------------------------------------------------------------------------------


def squared_magnitude(x: Any) -> Any:
    """Return the square of the absolute value of `x`, a real number."""
    return real_op.bind(multiply(x, conj_of(x))) if x.dtype.kind == "c" else square(x)


def _real_body(x: Any) -> Any:
    x = as_symbol(x)
    return real_op.bind(x) if x.dtype.kind == "c" else x


def real(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the real part; a real tensor is unchanged.

    Parameters
    ----------
    input : tensor_like
        Any shape.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.math.real([1 + 2j, 3 + 4j]).numpy()
    array([1., 3.])
    """
    return apply(_real_body, (input,))


imag_op = Primitive(
    "imag",
    abstract_eval=lambda x: Aval(x.shape, real_dtype(require_kinds("imag", "c", x).dtype)),
    impl=lambda x: np.imag(x).copy(),
    vjp=(lambda g, out, x: complex(filled(g, 0), g),),
    lowering=Map(lambda m, x: m.imag(x)),
    batch=alike(),
)


def _imag_body(x: Any) -> Any:
    x = as_symbol(x)
    return imag_op.bind(x) if x.dtype.kind == "c" else filled(x, 0)


def imag(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the imaginary part; for a real tensor zeros.

    Parameters
    ----------
    input : tensor_like
        Any shape.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.math.imag([1 + 2j, 3 + 4j]).numpy()
    array([2., 4.])
    """
    return apply(_imag_body, (input,))


def _conj_body(x: Any) -> Any:
    return conj_of(as_symbol(x))


def conj(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the complex conjugate; a real tensor is unchanged.

    Parameters
    ----------
    x : tensor_like
        Any shape.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.math.conj([1 + 2j, 3 + 4j]).numpy()
    array([1.-2.j, 3.-4.j])
    """
    return apply(_conj_body, (x,))


def _complex_abstract_eval(real: Aval, imag: Aval) -> Aval:
    part = require_equal("complex", real, imag)
    dtype = info_of(part.dtype).complex
    if dtype is None:
        raise DTypeError(
            f"[complex] the parts must be float32 or float64, got {part.dtype.name}; cast them first"
        )
    return Aval(part.shape, dtype)


def _complex_impl(real: Any, imag: Any) -> Any:
    result = np.empty(np.shape(real), info_of(real.dtype).complex)
    result.real = real
    result.imag = imag
    return result


complex_op = Primitive(
    "complex",
    abstract_eval=_complex_abstract_eval,
    impl=_complex_impl,
    vjp=(lambda g, out, re, im: real(g), lambda g, out, re, im: imag(g)),
    lowering=Map(lambda m, re, im: m.complex_number(re, im)),
    promote_args=common_float("complex"),
    batch=alike(),
)


def complex(real: TensorLike, imag: TensorLike, name: str | None = None) -> Tensor:
    """Return complex numbers with the given real and imaginary parts.

    Parameters
    ----------
    real, imag : tensor_like of float32 or float64
        Real and imaginary parts, of shapes that broadcast.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `real` or `imag` is complex.
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.complex([1.0, 3.0], [2.0, 4.0]).numpy()
    array([1.+2.j, 3.+4.j], dtype=complex64)
    """
    return apply(complex_op, (real, imag))


def _angle_vjp(g: Any, out: Any, z: Any) -> Any:
    return zero_dominant_multiply(complex(filled(g, 0), g), reciprocal(z))


angle_op = Primitive(
    "angle",
    abstract_eval=lambda z: Aval(z.shape, real_dtype(require_kinds("angle", "c", z).dtype)),
    impl=np.angle,
    vjp=(_angle_vjp,),
    lowering=Map(lambda m, z: m.arctan2(m.imag(z), m.real(z))),
    batch=alike(),
)


def _angle_body(x: Any) -> Any:
    x = as_symbol(x)
    if x.dtype.kind == "c":
        return angle_op.bind(x)
    x = floating(x)
    return where(less(x, 0), filled(x, math.pi), filled(x, 0))


def angle(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the argument of complex numbers, from -pi to pi; for real numbers 0 or pi.

    Parameters
    ----------
    input : tensor_like
        Any shape. Integers give floats; int32 gives float64.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.math.angle([1j, -1 + 0j]).numpy().round(4)
    array([1.5708, 3.1416])
    """
    return apply(_angle_body, (input,))


def shifted(x: Any, number: float) -> Any:
    """Return ``x + number``; a zero imaginary part keeps its sign, which selects the side of a branch cut."""
    return complex(add(real(x), number), imag(x)) if x.dtype.kind == "c" else add(x, number)
