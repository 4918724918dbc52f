"""Transforms of 2 to 32 elements, which compiled code computes in its loops.

The decomposition is that of J. Cooley and J. Tukey (Math. Comp. 19, 1965): a transform of n elements is the sum and the
difference of two of n / 2 elements.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np

from jittape.core.builder import literal
from jittape.core.forms import Decomposition
from jittape.core.primitive import Primitive
from jittape.core.program import Aval
from jittape.primitives.batched_params import along_axis
from jittape.primitives.broadcast import broadcast
from jittape.primitives.elementwise.arithmetic import add, multiply, negative, subtract
from jittape.primitives.elementwise.complex_numbers import complex as complex_number
from jittape.primitives.elementwise.complex_numbers import imag, real
from jittape.primitives.record_parts import require_kinds
from jittape.primitives.shape.joining import concat
from jittape.primitives.shape.views import sliced
from jittape.primitives.signal.transform_ops import DUAL, fft_op

__all__ = ["is_small", "is_small_length", "small_fft_op"]

LENGTHS = {8: (2, 4, 8, 16), 16: (2, 4, 8, 16, 32)}
"""Lengths that are computed in loops, by the size of a complex element in bytes.

100,000 transforms of 8, 16 and 32 elements of complex128 take 1.0, 3.5 and 9.8 ms; calls of SciPy take 2.0, 4.7 and 15.
Real transforms of 16 float64 elements take 0.023 ms instead of 0.047 for 1,000 and 1.3 instead of 1.7 for 50,000.
With 64 elements, a gradient takes 1.1 s to compile, and complex64 is not faster than SciPy.
"""


def is_small(x: Any, axes: tuple[int, ...]) -> bool:
    """Return whether `small_fft_op` computes the transform along each of `axes`."""
    return all(is_small_length(x.shape[axis], x.dtype) for axis in axes)


def is_small_length(n: int, dtype: np.dtype[Any]) -> bool:
    """Return whether `small_fft_op` computes transforms of `n` elements of a complex dtype."""
    return n in LENGTHS[dtype.itemsize]


def _abstract_eval(x: Aval, *, axis: int, inverse: bool, norm: str) -> Aval:
    return require_kinds("fft", "c", x)


def _scaled(x: Any, factor: float) -> Any:
    """Return the product with a real number, without products of infinity and zero."""
    return complex_number(multiply(real(x), factor), multiply(imag(x), factor))


def _rotated(x: Any, k: int, n: int, inverse: bool) -> Any:
    """Return ``exp(-2j * pi * k / n) * x``, or with the conjugate factor if `inverse`."""
    if k == 0:
        return x
    if 4 * k == n:
        parts = (negative(imag(x)), real(x)) if inverse else (imag(x), negative(real(x)))
        return complex_number(*parts)
    factor = cmath.exp((2j if inverse else -2j) * math.pi * k / n)
    return multiply(x, broadcast(literal(factor, x.dtype), x.shape))


def _transformed(parts: list[Any], inverse: bool) -> list[Any]:
    n = len(parts)
    if n == 1:
        return parts
    even, odd = _transformed(parts[::2], inverse), _transformed(parts[1::2], inverse)
    odd = [_rotated(x, k, n, inverse) for k, x in enumerate(odd)]
    pairs = list(zip(even, odd, strict=True))
    return [add(a, b) for a, b in pairs] + [subtract(a, b) for a, b in pairs]


def _small_fft(x: Any, *, axis: int, inverse: bool, norm: str) -> Any:
    n = x.shape[axis]
    parts = [sliced(x, axis, k, 1) for k in range(n)]
    result = concat(_transformed(parts, inverse), axis)
    if norm == ("backward" if inverse else "forward"):
        return _scaled(result, 1 / n)
    return _scaled(result, 1 / math.sqrt(n)) if norm == "ortho" else result


small_fft_op: Primitive = Primitive(
    "small_fft",
    abstract_eval=_abstract_eval,
    impl=lambda x, *, axis, inverse, norm: fft_op.impl(x, axes=(axis,), inverse=inverse, norm=norm),
    vjp=(
        lambda g, out, x, *, axis, inverse, norm: small_fft_op.bind(
            g, axis=axis, inverse=not inverse, norm=DUAL[norm]
        ),
    ),
    lowering=Decomposition(_small_fft),
    batch=along_axis(),
)
"""The transform along one axis, which `is_small`."""
