"""Complex operands and differences for the tests of linear algebra."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt

Array = np.ndarray[Any, Any]


def complex_normal(rng: np.random.Generator, *shape: int) -> Array:
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def slope(f: Callable[[Any], Any], x: Array, direction: Array, step: float = 1e-5) -> float:
    """Return the derivative of a number along a direction, by central differences of fourth order."""
    near = float(f(x + step * direction)) - float(f(x - step * direction))
    far = float(f(x + 2 * step * direction)) - float(f(x - 2 * step * direction))
    return (8 * near - far) / (12 * step)


def assert_derivatives(f: Callable[[Any], Any], x: Array, direction: Array) -> None:
    """Compare the first two derivatives of a number along a direction with differences."""

    def sine_of_gradient(a: Any) -> Any:
        gradient = jt.grad(f)(a)
        return jt.reduce_sum(jt.sin(jt.math.real(gradient)) + jt.sin(jt.math.imag(gradient)))

    for function in (f, sine_of_gradient):
        along = np.real(np.sum(np.conj(jt.grad(function)(x)) * direction))
        assert along == pytest.approx(slope(function, x, direction), rel=1e-6, abs=1e-6)
