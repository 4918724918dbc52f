"""NumPy's ufuncs that are compositions of jittape's ops."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.primitives.elementwise.bits import bitcast, is_nan
from jittape.primitives.elementwise.comparison import equal, less, where
from jittape.primitives.elementwise.complex_numbers import cast, complex
from jittape.primitives.elementwise.piecewise import absolute, ceil, floor, maximum, minimum
from jittape.primitives.identity import identity, stop_gradient

__all__ = ["copysign", "fmax", "fmin", "heaviside", "hypot", "signbit", "trunc"]


def signbit(x: Any) -> Any:
    """Return whether the sign bit is set, also that of a zero or nan."""
    return less(bitcast(stop_gradient(x), f"int{8 * x.dtype.itemsize}"), 0)


def copysign(x: Any, y: Any) -> Any:
    """Return `x` with the sign of `y`."""
    return where(equal(signbit(x), signbit(y)), x, -x)


def fmax(x: Any, y: Any) -> Any:
    """Return the greater operand, or the one that is not nan."""
    return where(is_nan(x), y, where(is_nan(y), x, maximum(x, y)))


def fmin(x: Any, y: Any) -> Any:
    """Return the smaller operand, or the one that is not nan."""
    return where(is_nan(x), y, where(is_nan(y), x, minimum(x, y)))


def heaviside(x: Any, h0: Any) -> Any:
    """Return 0 for negative numbers, 1 for positive ones and `h0` for zeros."""
    step = where(less(x, 0), cast(0, x.dtype), cast(1, x.dtype))
    return where(is_nan(x), x, where(equal(x, 0), h0, step))


def hypot(x: Any, y: Any) -> Any:
    """Return the length of the vector of `x` and `y`, without overflow."""
    wide = np.float32 if x.dtype == np.float16 else x.dtype
    return cast(absolute(complex(cast(x, wide), cast(y, wide))), x.dtype)


def trunc(x: Any) -> Any:
    """Round toward zero; integers and bools stay as they are."""
    return identity(x) if x.dtype.kind in "biu" else where(less(x, 0), ceil(x), floor(x))
