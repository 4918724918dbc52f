"""Gradients of ``@njit`` functions, the functions themselves, and adjoints written by hand."""

from __future__ import annotations

import math
import statistics
import time
from typing import Any

import numba
import numpy as np

import jittape as jt
from npbench import FILTERS, KERNELS
from npbench.by_hand import ADJOINTS


@numba.njit
def seidel(a, sweeps):
    for _ in range(sweeps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = (
                    a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1] + a[i, j - 1] + a[i, j]
                    + a[i, j + 1] + a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
                ) / 9.0  # fmt: skip
    return np.sum(a * a)


@numba.njit
def seidel_by_hand(a, sweeps):
    value = seidel(a, sweeps)
    b = 2.0 * a
    for _ in range(sweeps):
        for i in range(a.shape[0] - 2, 0, -1):
            for j in range(a.shape[1] - 2, 0, -1):
                g = b[i, j] / 9.0
                b[i, j] = 0.0
                for k in range(i - 1, i + 2):
                    b[k, j - 1] += g
                    b[k, j] += g
                    b[k, j + 1] += g
    return value, b


@numba.njit
def bodies(x, m):
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(i):
            u, v, w = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2]
            total -= m[i] * m[j] / math.sqrt(u * u + v * v + w * w + 1e-3)
    return total


@numba.njit
def bodies_by_hand(x, m):
    total, b = 0.0, np.zeros_like(x)
    for i in range(x.shape[0]):
        for j in range(i):
            u, v, w = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2]
            square = u * u + v * v + w * w + 1e-3
            part = m[i] * m[j] / math.sqrt(square)
            total -= part
            c = part / square
            b[i, 0] += c * u
            b[j, 0] -= c * u
            b[i, 1] += c * v
            b[j, 1] -= c * v
            b[i, 2] += c * w
            b[j, 2] -= c * w
    return total, b


@numba.njit
def slope(u, v, p):
    return p[0] * u - p[1] * u * v, p[2] * u * v - p[3] * v


@numba.njit
def predators(p, steps, h):
    u, v = 1.0, 0.5
    for _ in range(steps):
        a1, b1 = slope(u, v, p)
        a2, b2 = slope(u + 0.5 * h * a1, v + 0.5 * h * b1, p)
        a3, b3 = slope(u + 0.5 * h * a2, v + 0.5 * h * b2, p)
        a4, b4 = slope(u + h * a3, v + h * b3, p)
        u += h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
        v += h / 6.0 * (b1 + 2.0 * b2 + 2.0 * b3 + b4)
    return u * v


@numba.njit
def slope_vjp(a, b, u, v, p, p_b):
    p_b[0] += a * u
    p_b[1] -= a * u * v
    p_b[2] += b * u * v
    p_b[3] -= b * v
    return a * (p[0] - p[1] * v) + b * p[2] * v, b * (p[2] * u - p[3]) - a * p[1] * u


@numba.njit
def predators_by_hand(p, steps, h):
    us, vs = np.empty(steps), np.empty(steps)
    u, v = 1.0, 0.5
    for k in range(steps):
        us[k], vs[k] = u, v
        a1, b1 = slope(u, v, p)
        a2, b2 = slope(u + 0.5 * h * a1, v + 0.5 * h * b1, p)
        a3, b3 = slope(u + 0.5 * h * a2, v + 0.5 * h * b2, p)
        a4, b4 = slope(u + h * a3, v + h * b3, p)
        u += h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
        v += h / 6.0 * (b1 + 2.0 * b2 + 2.0 * b3 + b4)
    value, p_b, w = u * v, np.zeros(4), h / 6.0
    u_b, v_b = v, u
    for k in range(steps - 1, -1, -1):
        u, v = us[k], vs[k]
        a1, b1 = slope(u, v, p)
        u2, v2 = u + 0.5 * h * a1, v + 0.5 * h * b1
        a2, b2 = slope(u2, v2, p)
        u3, v3 = u + 0.5 * h * a2, v + 0.5 * h * b2
        a3, b3 = slope(u3, v3, p)
        x4, y4 = slope_vjp(w * u_b, w * v_b, u + h * a3, v + h * b3, p, p_b)
        x3, y3 = slope_vjp(2.0 * w * u_b + h * x4, 2.0 * w * v_b + h * y4, u3, v3, p, p_b)
        x2, y2 = slope_vjp(2.0 * w * u_b + 0.5 * h * x3, 2.0 * w * v_b + 0.5 * h * y3, u2, v2, p, p_b)
        x1, y1 = slope_vjp(w * u_b + 0.5 * h * x2, w * v_b + 0.5 * h * y2, u, v, p, p_b)
        u_b += x1 + x2 + x3 + x4
        v_b += y1 + y2 + y3 + y4
    return value, p_b


@numba.njit
def normal_cdf(x):
    return 0.5 * math.erfc(-x * math.sqrt(0.5))


@numba.njit
def options(price, strike, time, rate, volatility):
    total = 0.0
    for i in range(len(price)):
        spread = volatility * math.sqrt(time[i])
        d = (math.log(price[i] / strike[i]) + (rate + 0.5 * volatility**2) * time[i]) / spread
        discounted = strike[i] * math.exp(-rate * time[i])
        total += price[i] * normal_cdf(d) - discounted * normal_cdf(d - spread)
    return total


@numba.njit
def options_by_hand(price, strike, time, rate, volatility):
    total, delta = 0.0, np.empty(len(price))
    density = 1.0 / math.sqrt(2.0 * math.pi)
    for i in range(len(price)):
        spread = volatility * math.sqrt(time[i])
        d = (math.log(price[i] / strike[i]) + (rate + 0.5 * volatility**2) * time[i]) / spread
        e = d - spread
        discounted = strike[i] * math.exp(-rate * time[i])
        first, second = normal_cdf(d), normal_cdf(e)
        total += price[i] * first - discounted * second
        change = price[i] * density * math.exp(-0.5 * d * d) - discounted * density * math.exp(-0.5 * e * e)
        delta[i] = first + change / (spread * price[i])
    return total, delta


@numba.njit
def rational(x, y):
    product = 1.0
    for i in range(len(x)):
        product *= x[i] * y[i] / (1.0 + x[i] * x[i] + y[i] * y[i])
    return product


@numba.njit
def rational_by_hand(x, y):
    products, b = np.empty(len(x)), np.empty(len(x))
    product, after = 1.0, 1.0
    for i in range(len(x)):
        products[i] = product
        product *= x[i] * y[i] / (1.0 + x[i] * x[i] + y[i] * y[i])
    for i in range(len(x) - 1, -1, -1):
        w = 1.0 / (1.0 + x[i] * x[i] + y[i] * y[i])
        factor = x[i] * y[i] * w
        b[i] = after * products[i] * w * (y[i] - 2.0 * factor * x[i])
        after *= factor
    return product, b


@numba.njit
def coupled_maps(a, steps):
    for _ in range(steps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = 3.5 * a[i, j] * (1.0 - a[i, j]) + 0.05 * a[i - 1, j] * a[i, j - 1]
    return np.sum(a)


@numba.njit
def coupled_maps_by_hand(a, steps):
    old = np.empty((steps, *a.shape))
    for t in range(steps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                old[t, i, j] = a[i, j]
                a[i, j] = 3.5 * a[i, j] * (1.0 - a[i, j]) + 0.05 * a[i - 1, j] * a[i, j - 1]
    value, result, b = np.sum(a), a.copy(), np.ones_like(a)
    for t in range(steps - 1, -1, -1):
        for i in range(a.shape[0] - 2, 0, -1):
            for j in range(a.shape[1] - 2, 0, -1):
                a[i, j] = old[t, i, j]
                g = b[i, j]
                b[i, j] = 3.5 * g * (1.0 - 2.0 * a[i, j])
                b[i - 1, j] += 0.05 * g * a[i, j - 1]
                b[i, j - 1] += 0.05 * g * a[i - 1, j]
    a[:] = result
    return value, b


def ratio(run, other):
    """Return the median ratio of the times of two functions, called in turn."""
    ratios = []
    for _ in range(101):
        start = time.perf_counter()
        run()
        middle = time.perf_counter()
        other()
        ratios.append((middle - start) / (time.perf_counter() - middle))
    return statistics.median(ratios)


class _Program:
    """A function, its gradient, and an adjoint written by hand."""

    unit = "times"
    function: Any
    by_hand: Any

    def arguments(self, rng: Any) -> tuple[Any, ...]:
        """Return arguments of the function."""
        raise NotImplementedError

    def setup(self) -> None:
        self.args = self.arguments(np.random.default_rng(0))
        self.gradient = jt.njit_value_and_grad(type(self).function)
        value, gradient = self.time_gradient()
        expected, by_hand = self.time_by_hand()
        np.testing.assert_allclose(value, expected)
        np.testing.assert_allclose(gradient, by_hand, rtol=1e-6)
        self.time_function()

    def time_function(self) -> Any:
        return type(self).function(*self.args)

    def time_gradient(self) -> Any:
        return self.gradient(*self.args)

    def time_by_hand(self) -> Any:
        return type(self).by_hand(*self.args)

    def track_gradient_to_function(self) -> float:
        return ratio(self.time_gradient, self.time_function)

    def track_gradient_to_adjoint_by_hand(self) -> float:
        return ratio(self.time_gradient, self.time_by_hand)


class Seidel(_Program):
    """Ten in-place sweeps over 40 x 40 elements; nothing is recorded."""

    function, by_hand = seidel, seidel_by_hand

    def arguments(self, rng: Any) -> tuple[Any, ...]:
        return rng.normal(size=(40, 40)), 10

    def time_function(self) -> Any:
        return seidel(self.args[0].copy(), 10)

    def time_gradient(self) -> Any:
        return self.gradient(self.args[0].copy(), 10)

    def time_by_hand(self) -> Any:
        return seidel_by_hand(self.args[0].copy(), 10)


class Bodies(_Program):
    """The energy of 64 bodies, a double loop that runs forward and backward in one pass."""

    function, by_hand = bodies, bodies_by_hand

    def arguments(self, rng: Any) -> tuple[Any, ...]:
        return rng.normal(size=(64, 3)), rng.uniform(size=64)


class Predators(_Program):
    """10,000 Runge-Kutta steps of the equations of Lotka and Volterra; two numbers a step are recorded."""

    function, by_hand = predators, predators_by_hand

    def arguments(self, rng: Any) -> tuple[Any, ...]:
        return np.array([1.1, 0.4, 0.1, 0.4]), 10_000, 1e-3


class Options(_Program):
    """Prices of 10,000 options by the formula of Black and Scholes."""

    function, by_hand = options, options_by_hand

    def arguments(self, rng: Any) -> tuple[Any, ...]:
        price, strike = rng.uniform(50.0, 150.0, size=(2, 10_000))
        return price, strike, rng.uniform(0.2, 2.0, size=10_000), 0.03, 0.2


class Rational(_Program):
    """A product of rational functions of the elements of two vectors."""

    function, by_hand = rational, rational_by_hand

    def arguments(self, rng: Any) -> tuple[Any, ...]:
        # All factors are near 1/3, and no product of them underflows.
        return tuple(rng.uniform(0.9, 1.1, size=(2, 500)))


class CoupledMaps(_Program):
    """Ten steps of 60 x 60 logistic maps in place; one number for each of them is recorded."""

    function, by_hand = coupled_maps, coupled_maps_by_hand

    def arguments(self, rng: Any) -> tuple[Any, ...]:
        return rng.uniform(0.2, 0.8, size=(60, 60)), 10

    def time_function(self) -> Any:
        return coupled_maps(self.args[0].copy(), 10)

    def time_gradient(self) -> Any:
        return self.gradient(self.args[0].copy(), 10)

    def time_by_hand(self) -> Any:
        return coupled_maps_by_hand(self.args[0].copy(), 10)


class Kernels:
    """Kernels of NPBench, a filter, a loop with random waiting times and a network in loops."""

    unit = "times"
    params = ("cholesky", "trmm", "deriche", "vadv", "nbody", "kalman", "gillespie", "lstm")
    param_names = ("kernel",)

    def setup(self, name: str) -> None:
        (kernel,) = [one for one in [*KERNELS, *FILTERS] if one.name == name]
        self.function = kernel.function
        self.args = kernel.arguments(np.random.default_rng(0), kernel.size)
        self.gradient = jt.njit_value_and_grad(kernel.function, argnums=kernel.argnums)
        self.time_gradient(name)
        self.time_function(name)

    def time_function(self, name: str) -> Any:
        return self.function(*self.args)

    def time_gradient(self, name: str) -> Any:
        return self.gradient(*self.args)

    def track_gradient_to_function(self, name: str) -> float:
        return ratio(lambda: self.time_gradient(name), lambda: self.time_function(name))

    def track_kept_bytes(self, name: str) -> int:
        return self.gradient.kept_bytes(*self.args)

    track_kept_bytes.unit = "bytes"


class KernelsByHand:
    """Kernels of NPBench beside adjoints written by hand."""

    unit = "times"
    params = tuple(ADJOINTS)
    param_names = ("kernel",)

    def setup(self, name: str) -> None:
        (kernel,) = [one for one in KERNELS if one.name == name]
        self.args = kernel.arguments(np.random.default_rng(0), kernel.size)
        self.gradient = jt.njit_value_and_grad(kernel.function, argnums=kernel.argnums)
        value, gradients = self.time_gradient(name)
        expected, by_hand = self.time_by_hand(name)
        np.testing.assert_allclose(value, expected)
        for one, other in zip(gradients, by_hand, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-8)

    def time_gradient(self, name: str) -> Any:
        return self.gradient(*self.args)

    def time_by_hand(self, name: str) -> Any:
        return ADJOINTS[name](*self.args)

    def track_gradient_to_adjoint_by_hand(self, name: str) -> float:
        return ratio(lambda: self.time_gradient(name), lambda: self.time_by_hand(name))
