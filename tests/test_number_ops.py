"""Values and derivatives to second order of ops on numbers: recorded, in functions, loops, batches and `@njit` code.

A program weights the result of an op with fixed numbers. The reverse mode is compared with differences of the value,
its derivative by either mode with differences of the gradient. Everything else is compared with the recorded op.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest
import scipy.special
from numba import njit

import jittape as jt
from number_ops import NumberOp
from number_ops_fourier import FOURIER
from number_ops_linalg import LINALG
from number_ops_random import ORDER, RANDOM, SEED, SEGMENTS
from number_ops_special import SPECIAL

Array = np.ndarray[Any, Any]

OPS = (*LINALG, *SPECIAL, *FOURIER, *SEGMENTS, *ORDER, *RANDOM)
DIFFERENTIABLE = [op for op in OPS if op.order]
SMOOTH = [
    op for op in DIFFERENTIABLE if op.name not in ("stateless_gamma", "stateless_beta", "stateless_dirichlet")
]
"""Ops whose gradient is that of the value. Gamma numbers are drawn by rejection and have another one, see below."""
STEP = 1e-3


def rng() -> np.random.Generator:
    return np.random.default_rng(40)


def operands(op: NumberOp, dtype: str = "float64") -> tuple[Any, ...]:
    return tuple(jt.constant(np.asarray(x, dtype)) for x in op.sample(rng()))


def weighted(op: NumberOp) -> Any:
    """Return the function that weights the result of `op`, bent so that no second derivative is 0."""

    def scalar(*xs: Any) -> Any:
        y = op.function(*xs)
        weight = np.cos(1.3 * np.arange(np.prod(y.shape, dtype=int)) + 0.4).reshape(tuple(y.shape))
        return jt.reduce_sum(jt.asinh(y) * jt.constant(weight.astype(xs[0].dtype.name)))

    return scalar


def gradient(op: NumberOp) -> Any:
    """Return the function that gives the gradients with respect to all operands."""
    f = weighted(op)
    return lambda *xs: jt.grad(f, argnums=tuple(range(len(xs))))(*xs)


def directions(xs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a direction for each operand, of a size that keeps it in the domain."""
    return tuple(
        jt.constant(np.sin(2.1 * np.arange(np.size(x)) + 1.0).reshape(np.shape(x)).astype(x.dtype.name))
        for x in xs
    )


def along(gradients: Any, tangents: Any) -> Any:
    return functools.reduce(
        lambda a, b: a + b, [jt.reduce_sum(g * t) for g, t in zip(gradients, tangents, strict=True)]
    )


def second_order(op: NumberOp) -> Any:
    """Return the function that gives the product of the Hessian matrix with the directions, by reverse over reverse."""
    f = gradient(op)

    def product(*xs: Any) -> Any:
        tangents = directions(xs)
        return jt.grad(lambda *x: along(f(*x), tangents), argnums=tuple(range(len(xs))))(*xs)

    return product


def difference(function: Any, xs: tuple[Any, ...]) -> list[Array]:
    """Return the derivatives of the results of `function` along the directions, by differences of fourth order."""
    tangents = directions(xs)

    def moved(step: float) -> list[Array]:
        results = function(*(x + step * t for x, t in zip(xs, tangents, strict=True)))
        return [np.asarray(r) for r in (results if isinstance(results, tuple | list) else (results,))]

    plus, minus, plus2, minus2 = moved(STEP), moved(-STEP), moved(2 * STEP), moved(-2 * STEP)
    return [
        (8 * (a - b) - (c - d)) / (12 * STEP) for a, b, c, d in zip(plus, minus, plus2, minus2, strict=True)
    ]


def assert_close(found: Any, expected: Any, tolerance: float) -> None:
    """Compare results in sequence, relative to the largest number among them."""
    found = [np.asarray(x) for x in (found if isinstance(found, tuple | list) else (found,))]
    expected = [np.asarray(x) for x in (expected if isinstance(expected, tuple | list) else (expected,))]
    scale = max([1.0, *(float(np.max(np.abs(x), initial=0)) for x in expected)])
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_values_in_both_precisions(op: NumberOp) -> None:
    wide = op.function(*operands(op))
    expected = np.asarray(wide) if op.reference is None else op.reference(*op.sample(rng()))
    assert wide.dtype == jt.float64
    assert_close(wide, expected, op.tolerance)
    narrow = op.function(*operands(op, "float32"))
    assert narrow.dtype == jt.float32
    if op.reference is not None:
        assert_close(narrow, expected.astype("float32"), max(2e-5, 1e8 * op.tolerance))


@pytest.mark.parametrize("op", SMOOTH, ids=lambda op: op.name)
def test_first_derivatives(op: NumberOp) -> None:
    xs = operands(op)
    found = gradient(op)(*xs)
    (expected,) = difference(weighted(op), xs)
    assert_close(along(found, directions(xs)), expected, 1e-8)
    assert_close(jt.jvp(weighted(op), xs, directions(xs))[1], expected, 1e-8)
    narrow = gradient(op)(*operands(op, "float32"))
    assert_close(narrow, [np.asarray(g, "float32") for g in found], 1e-3)
    assert all(g.dtype == jt.float32 for g in narrow)


@pytest.mark.parametrize("op", SMOOTH, ids=lambda op: op.name)
def test_second_derivatives(op: NumberOp) -> None:
    xs = operands(op)
    expected = difference(gradient(op), xs)
    assert_close(second_order(op)(*xs), expected, 1e-7)
    assert_close(jt.jvp(gradient(op), xs, directions(xs))[1], expected, 1e-7)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_batches(op: NumberOp) -> None:
    samples = [operands(op), tuple(x * 1.01 for x in operands(op))]
    stacked = tuple(jt.stack(list(pair)) for pair in zip(*samples, strict=True))
    expected = jt.stack([op.function(*xs) for xs in samples])
    if op.leading:
        assert_close(op.function(*stacked), expected, 1e-12)
    assert_close(jt.vectorized_map(lambda xs: op.function(*xs), stacked), expected, 1e-12)
    if op.order:
        each = [gradient(op)(*xs) for xs in samples]
        expected = [jt.stack(list(pair)) for pair in zip(*each, strict=True)]
        assert_close(jt.vectorized_map(lambda xs: gradient(op)(*xs), stacked), expected, 1e-10)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_functions(op: NumberOp) -> None:
    xs, narrow = operands(op), operands(op, "float32")
    assert_close(jt.function(op.function)(*xs), op.function(*xs), 1e-10)
    if op.order:
        assert_close(jt.function(gradient(op))(*narrow), gradient(op)(*narrow), 2e-3)
        assert_close(jt.function(second_order(op))(*xs), second_order(op)(*xs), 1e-10)


def repeated(op: NumberOp, loop: str) -> Any:
    """Return the sum of the weighted results for three sets of operands, by a loop of one kind."""
    f = weighted(op)

    def at(i: Any, xs: tuple[Any, ...]) -> Any:
        return f(*(x * (1.0 + 0.01 * jt.cast(i, x.dtype)) for x in xs))

    def by_fori(*xs: Any) -> Any:
        return jt.fori_loop(0, 3, lambda i, total: total + at(i, xs), jt.zeros([], xs[0].dtype))

    def by_scan(*xs: Any) -> Any:
        start = jt.zeros([], xs[0].dtype)
        return jt.scan(lambda total, i: total + at(i, xs), jt.range(3), initializer=start)[-1]

    def by_python(*xs: Any) -> Any:
        return at(0, xs) + at(1, xs) + at(2, xs)

    return {"fori_loop": by_fori, "scan": by_scan, "python": by_python}[loop]


@pytest.mark.parametrize(
    ("op", "loop"), [(op, ("fori_loop", "scan")[i % 2]) for i, op in enumerate(OPS)], ids=str
)
def test_loops(op: NumberOp, loop: str) -> None:
    xs = operands(op)
    plain, looped = repeated(op, "python"), jt.function(repeated(op, loop))
    assert_close(looped(*xs), plain(*xs), 1e-11)
    if op.order:
        places = tuple(range(len(xs)))
        derive = jt.function(jt.grad(repeated(op, loop), argnums=places))
        assert_close(derive(*xs), jt.grad(plain, argnums=places)(*xs), 1e-10)


@pytest.mark.parametrize("first", range(0, len(DIFFERENTIABLE), 6), ids=lambda i: DIFFERENTIABLE[i].name)
def test_compiled_code(first: int) -> None:
    """Call functions of several ops each: one for every op takes Numba half as long again."""
    ops = DIFFERENTIABLE[first : first + 6]
    parts = [operands(op) for op in ops]
    ends = list(itertools.accumulate(map(len, parts)))

    def total(*xs: Any) -> Any:
        slices = map(slice, [0, *ends], ends)
        return jt.add_n([weighted(op)(*xs[part]) for op, part in zip(ops, slices, strict=False)])

    xs = list(itertools.chain(*parts))
    places = tuple(range(len(xs)))
    native = jt.njit_value_and_grad(total, *(jt.TensorSpec(x.shape, jt.float64) for x in xs), argnums=places)
    call = njit(lambda *args: native(*args))
    value, gradients = call(*map(np.asarray, xs))
    expected, derivatives = jt.value_and_grad(total, argnums=places)(*xs)
    assert_close(value, expected, 1e-11)
    assert_close(gradients, derivatives, 1e-10)


def quantile_path(name: str) -> Any:
    """Return the function of parameters that keeps the distribution functions of the gamma numbers of a law.

    Its derivatives are those of implicit reparameterization (M. Figurnov, S. Mohamed and A. Mnih, 2018).
    """
    shapes = [np.asarray(x) for x in next(op for op in RANDOM if op.name == name).sample(rng())]
    alpha = {
        "stateless_gamma": shapes[0],
        "stateless_beta": np.concatenate(shapes),
        "stateless_dirichlet": np.stack([shapes[0]] * 2),
    }[name]
    draws = jt.random.stateless_gamma(alpha.shape, SEED, jt.constant(alpha), dtype="float64")
    levels = scipy.special.gammainc(alpha, draws.numpy())

    def path(*xs: Any) -> Array:
        arrays = [np.asarray(x) for x in xs]
        if name == "stateless_gamma":
            return scipy.special.gammaincinv(arrays[0], levels) / arrays[1]
        if name == "stateless_beta":
            first, second = np.split(scipy.special.gammaincinv(np.concatenate(arrays), levels), 2)
            return first / (first + second)
        numbers = scipy.special.gammaincinv(np.stack([arrays[0]] * 2), levels)
        return numbers / np.sum(numbers, -1, keepdims=True)

    return path


@pytest.mark.parametrize("op", [op for op in DIFFERENTIABLE if op not in SMOOTH], ids=lambda op: op.name)
def test_derivatives_of_laws_that_are_drawn_by_rejection(op: NumberOp) -> None:
    xs, path = operands(op), quantile_path(op.name)
    tangents = directions(xs)
    assert_close(op.function(*xs), path(*xs), 1e-10)
    f = weighted(op._replace(function=lambda *x: jt.constant(path(*x))))
    (first,) = difference(f, xs)
    (second,) = difference(lambda *x: difference(f, x)[0], xs)
    assert_close(along(gradient(op)(*xs), tangents), first, 1e-6)
    assert_close(along(second_order(op)(*xs), tangents), second, 1e-4)
    assert_close(along(jt.jvp(gradient(op), xs, tangents)[1], tangents), second, 1e-4)
