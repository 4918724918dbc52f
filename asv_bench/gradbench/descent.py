"""Gradient descent on functions that contain derivatives, or a descent, themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradbench.evaluation import Evaluation
from gradbench.libraries import Library

__all__ = ["Particle", "Saddle"]

TOLERANCE = 1e-5
"""Length of a gradient, or of a step, that ends a descent."""


def argmin(library: Library, value_and_slope: Callable[[Any], Any], start: Any) -> Any:
    """Return the end of a descent whose rate doubles after ten steps that lower the value, and halves after others."""
    xp = library.xp

    def long(vector: Any) -> Any:
        return xp.sum(vector * vector) > TOLERANCE**2

    def going(x: Any, value: Any, slope: Any, rate: Any, count: Any, more: Any) -> Any:
        return more

    def step(x: Any, value: Any, slope: Any, rate: Any, count: Any, more: Any) -> Any:
        full = count > 9.5
        rate, count = xp.where(full, 2.0 * rate, rate), xp.where(full, 0.0 * count, count)
        moved = x - rate * slope
        new_value, new_slope = value_and_slope(moved)
        far = long(rate * slope)
        lower = new_value < value
        taken = lower & far
        slope = xp.where(taken, new_slope, slope)
        return (
            xp.where(taken, moved, x), xp.where(taken, new_value, value), slope,
            xp.where(lower, rate, 0.5 * rate), xp.where(lower, count + 1.0, 0.0 * count), far & long(slope),
        )  # fmt: skip

    value, slope = value_and_slope(start)
    zero = 0.0 * value
    return library.while_loop(going, step, (start, value, slope, zero + 1e-5, zero, long(slope)))[0]


class Particle(Evaluation):
    """The control with which a charged particle passes through the origin; its force is the slope of a potential."""

    title = "particle"
    tolerance = 1e-7

    def data(self) -> None:
        self.arguments = (np.array([0.0]),)

    def program(self, library: Library) -> Any:
        outer = library.value_and_slope(self.objective(library))
        return lambda control: argmin(library, outer, control)

    def objective(self, library: Library) -> Any:
        """Square of the place where the path, in Euler's steps of 0.1, crosses the axis."""
        xp = library.xp
        fixed, begin, speed = (library.array(a) for a in ([10.0, 0.0], [0.0, 8.0], [0.75, 0.0]))
        corner, up = library.array([10.0, 10.0]), library.array([0.0, 1.0])

        def distance(x: Any, charge: Any) -> Any:
            return xp.sqrt(xp.sum((x - charge) * (x - charge)))

        def result(control: Any) -> Any:
            charge = corner - control * up
            force = library.grad(lambda x: 1.0 / distance(x, charge) + 1.0 / distance(x, fixed))

            def step(x: Any, v: Any) -> Any:
                moved = x + 0.1 * v
                return moved, xp.where(moved[1] > 0.0, v - 0.1 * force(x), v)

            x, v = library.while_loop(
                lambda x, v: x[1] > 0.0, step, (begin + 0.0 * control, speed + 0.0 * control)
            )
            place = x[0] - x[1] / v[1] * v[0]
            return place * place

        return result


class Saddle(Evaluation):
    """The saddle point of the difference of two squared lengths: a descent whose function ends with an ascent."""

    title = "saddle"
    tolerance = 1e-7

    def data(self) -> None:
        self.arguments = (np.array([1.0, 1.0]),)

    def program(self, library: Library) -> Any:
        def result(start: Any) -> Any:
            x = argmin(library, library.value_and_slope(self.maximum(library, start)), start)
            return x, self.highest(library, x, start)

        return result

    def objective(self, library: Library) -> Any:
        xp = library.xp
        return lambda x, y: xp.sum(x * x) - xp.sum(y * y)

    def highest(self, library: Library, x: Any, start: Any) -> Any:
        """Return the end of the ascent along the second argument."""
        function = self.objective(library)
        both = library.value_and_grad(lambda y, x: -function(x, y))

        def value_and_slope(y: Any) -> Any:
            value, (slope,) = both(y, x)
            return value, slope

        return argmin(library, value_and_slope, start)

    def maximum(self, library: Library, start: Any) -> Any:
        function = self.objective(library)
        return lambda x: function(x, self.highest(library, x, start))
