"""Custom gradients inside `vmap`, with gradients inside and around it: the same as in a Python loop over the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import jittape as jt

X = np.random.default_rng(0).normal(size=(2, 4, 3))
W = np.random.default_rng(1).normal(size=(4, 3))
VARIABLE = jt.Variable(np.array([0.5, 1.5, -0.3]))
CONSTANT = jt.constant(np.array([2.0, 0.5, 1.0]))
ARRAY = np.array([0.3, 0.2, 0.9])


@jt.custom_gradient
def scaled_sine(x: Any) -> Any:
    return jt.sin(x), lambda u: u * (jt.cos(x) + 10.0)


@jt.custom_gradient
def product(x: Any, w: Any) -> Any:
    return x * w, lambda u: (u * w * 2.0, u * x * 3.0)


@jt.custom_gradient
def no_second_gradient(x: Any, w: Any) -> Any:
    return x * w + x, lambda u: (u * (w + 1.0) * 2.0, None)


@jt.custom_gradient
def with_variable(x: Any) -> Any:
    def gradient(u: Any, variables: Any = None) -> Any:
        return u * VARIABLE * 2.0, [u * x * 5.0 for _ in variables]

    return x * VARIABLE, gradient


@jt.custom_gradient
def with_closure(x: Any) -> Any:
    return x * CONSTANT + ARRAY, lambda u: u * CONSTANT * jt.reduce_sum(x)


@jt.custom_gradient
def two_results(x: Any) -> Any:
    a = jt.exp(x)
    return (a, jt.reduce_sum(x * x)), lambda u, v: u * a * 2.0 + v * 3.0 * x


@jt.custom_gradient
def extent(x: Any) -> Any:
    return jt.reduce_max(x) - jt.reduce_min(x), lambda u: u * (x - jt.reduce_mean(x))


@jt.custom_gradient
def elements(x: Any) -> Any:
    return x[0] * x[1], lambda u: jt.stack([u * x[1] * 7.0, u * x[0], jt.zeros_like(u)])


@jt.custom_gradient
def nested(x: Any) -> Any:
    return scaled_sine(x) * x, lambda u: u * scaled_sine(x)


@jt.custom_gradient
def with_loops(x: Any) -> Any:
    def gradient(u: Any) -> Any:
        return jt.fori_loop(0, 2, lambda i, c: c * x + u, u)

    return jt.fori_loop(0, 3, lambda i, c: jt.sin(c) + x, x), gradient


def over_rows(x: Any, w: Any) -> Any:
    @jt.custom_gradient
    def inner(z: Any) -> Any:
        return z * w, lambda u: u * w * 4.0

    return inner(jt.sin(x))


ONE: dict[str, Callable[[Any], Any]] = {
    "sine": scaled_sine,
    "square": lambda x: scaled_sine(x) ** 2,
    "variable": with_variable,
    "closure": with_closure,
    "two results": lambda x: two_results(x)[0] * two_results(x)[1],
    "extent": extent,
    "elements": elements,
    "nested": nested,
    "loops": with_loops,
    "in a loop": lambda x: jt.fori_loop(0, 3, lambda i, c: scaled_sine(c) * 0.5 + x, x),
    "recomputed": jt.recompute_grad(lambda x: jt.tanh(x * VARIABLE) * CONSTANT),
    "passed through": lambda x: jt.grad_pass_through(jt.round)(x * VARIABLE) * x,
}
TWO = {"product": product, "None": no_second_gradient, "rows": over_rows}
AXES = [(0, 0), (0, None), (None, 0)]


@pytest.fixture(params=[False, True], ids=["compiled", "interpreted"], autouse=True)
def interpreted(request: pytest.FixtureRequest) -> Iterator[None]:
    before = jt.config.interpret
    jt.config.interpret = request.param
    yield
    jt.config.interpret = before


def total(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: jt.reduce_sum(f(*args) * jt.constant(np.array(1.3)))


def values(found: Any) -> Any:
    return None if found is None else np.asarray(found)


def check(found: Any, wanted: Any) -> None:
    if wanted is None:
        assert found is None
    else:
        np.testing.assert_allclose(values(found), values(wanted), rtol=1e-9, atol=1e-12)


def stacked(rows: list[Any]) -> Any:
    return None if rows[0] is None else np.stack([np.asarray(row) for row in rows])


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_argument(name: str) -> None:
    f, x2 = ONE[name], jt.constant(X)
    x, gradient, rows = x2[0], jt.grad(total(f)), range(4)
    for _ in range(3):
        check(jt.vmap(f)(x), stacked([f(x[i]) for i in rows]))
        wanted = stacked([gradient(x[i]) for i in rows])
        check(jt.vmap(gradient)(x), wanted)
        check(jt.vmap(gradient, in_axes=1, out_axes=-1)(jt.constant(X[0].T)), wanted.T)
        check(jt.grad(lambda x: total(jt.vmap(f))(x))(x), wanted)
        check(jt.function(lambda x: jt.vmap(gradient)(x))(x), wanted)
        both = stacked([stacked([gradient(x2[j, i]) for i in rows]) for j in range(2)])
        check(jt.vmap(jt.vmap(gradient))(x2), both)
        check(jt.vmap(jt.vmap(gradient, in_axes=1))(jt.constant(X.transpose(0, 2, 1))), both)
        jacobian, hessian = jt.jacobian(f), jt.hessian(total(f))
        check(jt.vmap(jacobian)(x), stacked([jacobian(x[i]) for i in rows]))
        if name not in ("variable", "in a loop", "loops"):
            check(jt.vmap(hessian)(x), stacked([hessian(x[i]) for i in rows]))


@pytest.mark.filterwarnings("ignore::jittape.errors.UnconnectedGradientWarning")
@pytest.mark.parametrize("axes", AXES, ids=str)
@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_arguments(name: str, axes: tuple[Any, ...]) -> None:
    f = TWO[name]
    args = [jt.constant(v if axis == 0 else v[0]) for v, axis in zip((X[0], W), axes, strict=True)]
    rows = [[a[i] if axis == 0 else a for a, axis in zip(args, axes, strict=True)] for i in range(4)]
    for _ in range(3):
        check(jt.vmap(f, in_axes=axes)(*args), stacked([f(*row) for row in rows]))
        for k in range(2):
            gradient = jt.grad(total(f), argnums=k)
            wanted = stacked([gradient(*row) for row in rows])
            check(jt.vmap(gradient, in_axes=axes)(*args), wanted)
            shared = wanted if wanted is None or axes[k] == 0 else wanted.sum(0)
            check(jt.grad(total(jt.vmap(f, in_axes=axes)), argnums=k)(*args), shared)


def test_gradient_with_respect_to_the_variable() -> None:
    x = jt.constant(X[0])
    for _ in range(3):
        with jt.GradientTape(persistent=True) as tape:
            batch = jt.reduce_sum(jt.vmap(with_variable)(x))
            loop = sum([jt.reduce_sum(with_variable(x[i])) for i in range(4)])
        check(tape.gradient(batch, VARIABLE), tape.gradient(loop, VARIABLE))
