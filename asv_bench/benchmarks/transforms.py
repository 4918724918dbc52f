"""Derivatives as functions: recorded at each call, and of a compiled function."""

from collections.abc import Callable
from typing import Any

import numpy as np

import jittape as jt


def rosenbrock(x: Any) -> Any:
    return jt.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


WAYS: dict[str, Callable[..., Any]] = {"recorded": lambda f: f, "function": jt.function}


class Rosenbrock:
    """Derivatives from arrays to arrays, as SciPy's optimizers call them."""

    params = (("recorded", "function"), (10, 1_000))
    param_names = ("way", "n")

    def setup(self, way: str, n: int) -> None:
        f = WAYS[way](rosenbrock)
        self.value_and_grad, self.hvp, self.hessian = jt.value_and_grad(f), jt.hvp(f), jt.hessian(f)
        self.x, self.v = np.linspace(-1.0, 1.0, n), np.ones(n)
        for _ in range(3):
            self.time_value_and_grad(way, n)
            self.time_hvp(way, n)
            self.time_hessian(way, n)

    def time_value_and_grad(self, way: str, n: int) -> None:
        self.value_and_grad(self.x)

    def time_hvp(self, way: str, n: int) -> None:
        self.hvp(self.x, self.v)

    def time_hessian(self, way: str, n: int) -> None:
        self.hessian(self.x)


class LogisticRegression:
    """The Hessian times a vector: three products of a matrix and a vector."""

    def setup(self) -> None:
        rng = np.random.default_rng(0)
        x = rng.standard_normal((500, 20))
        self.hvp = jt.hvp(jt.function(lambda w: jt.reduce_mean(jt.math.softplus(jt.linalg.matvec(x, w)))))
        self.w, self.v = rng.standard_normal(20), rng.standard_normal(20)
        for _ in range(3):
            self.time_hvp()

    def time_hvp(self) -> None:
        self.hvp(self.w, self.v)


class Jacobian:
    """More results than arguments, and fewer; in the suitable mode and in the other."""

    params = (((200, 3), (3, 200)), (None, "forward", "reverse"))
    param_names = ("shape", "mode")

    def setup(self, shape: tuple[int, int], mode: str | None) -> None:
        rng = np.random.default_rng(0)
        w = rng.standard_normal(shape)
        f = jt.function(lambda x: jt.tanh(jt.linalg.matvec(w, jt.sin(x))))
        self.jacobian = jt.jacobian(f, mode=mode)
        self.x = rng.standard_normal(shape[1])
        for _ in range(3):
            self.time_jacobian(shape, mode)

    def time_jacobian(self, shape: tuple[int, int], mode: str | None) -> None:
        self.jacobian(self.x)


class Pullback:
    """A pullback that is called repeatedly."""

    def setup(self) -> None:
        x = np.linspace(-1.0, 1.0, 100)
        _, self.pullback = jt.vjp(lambda x: jt.tanh(x) * jt.sin(x), x)
        self.cotangent = np.ones(100)
        for _ in range(3):
            self.time_pullback()

    def time_pullback(self) -> None:
        self.pullback(self.cotangent)
