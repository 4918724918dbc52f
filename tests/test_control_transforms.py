"""Derivatives as functions, through loops and branches; and `vectorized_map`, whose elements run side by side."""

from __future__ import annotations

import numpy as np
import pytest

import jittape as jt
from control_programs import CASES, Case, X

SOME = [
    case
    for case in CASES
    if case.name
    in (
        "fori 3",
        "fori in segments",
        "rnn",
        "pair",
        "growing",
        "cond in while",
        "while in scan",
        "scan in cond",
        "hosted",
    )
]


@pytest.fixture(params=[False, True], ids=["interpreted", "compiled"], autouse=True)
def way(request):
    before = jt.config.interpret, jt.config.compile_after
    jt.config.interpret, jt.config.compile_after = not request.param, 0
    yield
    jt.config.interpret, jt.config.compile_after = before


def differences(f, x, h=1e-5):
    """The Jacobian of `f` by central differences."""
    columns = [(np.asarray(f(x + h * e)) - np.asarray(f(x - h * e))) / (2 * h) for e in np.eye(len(x))]
    return np.stack(columns, -1)


@pytest.mark.parametrize("case", SOME, ids=str)
def test_jacobians_forward_and_reverse(case: Case):
    wanted = differences(case.reference, X)
    np.testing.assert_allclose(jt.jacobian(case.function)(X), wanted, rtol=1e-6, atol=1e-7)
    tangent = np.array([0.3, -1.0, 0.5])
    value, moved = jt.jvp(case.function, (X,), (tangent,))
    np.testing.assert_allclose(value, case.reference(X), rtol=1e-12)
    np.testing.assert_allclose(moved, wanted @ tangent, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("case", SOME, ids=str)
def test_hessians(case: Case):
    def loss(x):
        return jt.reduce_sum(jt.sin(case.function(x)))

    gradient = jt.grad(loss)
    wanted = differences(gradient, X)
    np.testing.assert_allclose(jt.hessian(loss)(X), wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(jt.hvp(loss)(X, np.ones(3)), wanted @ np.ones(3), rtol=1e-5, atol=1e-6)


# ---- vectorized_map --------------------------------------------------------------------------------------------------

ROWS = np.random.default_rng(0).normal(size=(4, 3))


def outer_product(x):
    return x[:, None] * x[None, :]


def looped(x):
    return jt.fori_loop(0, 3, lambda i, s: jt.sin(s) * x + ROWS[0], x)


def scanned(x):
    return jt.scan(lambda a, e: a * 0.5 + e * x, ROWS, initializer=x)


def searching(x):
    """Ends at another time for each element."""
    return jt.while_loop(
        lambda y, n: jt.reduce_max(jt.abs(y)) < 3.0, lambda y, n: (y * 1.5 + x, n + 1), (x * x, 0)
    )


def choosing(x):
    return jt.cond(jt.reduce_sum(x) > 0, lambda: jt.sin(x), lambda: x * x)


def switching(x):
    return jt.cond(jt.constant(True), lambda: jt.sin(x), lambda: x * x), jt.constant(2.0)


def multiplied(x):
    return jt.linalg.matvec(jt.constant(ROWS), x), jt.reduce_sum(x), {"sorted": jt.cumsum(x)[1:]}


def concatenated(x):
    y = jt.concat([x[1:], x[:1]], 0)
    y[1] = x[2]
    return jt.roll(y, 1, 0) + jt.pad(x[1:], [[1, 0]])


MAPPED = [outer_product, looped, scanned, searching, choosing, switching, multiplied, concatenated]


@pytest.mark.parametrize("function", MAPPED)
def test_vectorized_map_is_map_fn(function):
    import optree

    found = optree.tree_leaves(jt.vectorized_map(function, jt.constant(ROWS)))
    wanted = optree.tree_leaves(jt.map_fn(function, jt.constant(ROWS)))
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)


@pytest.mark.parametrize("function", [outer_product, looped, scanned, searching, choosing, concatenated])
def test_gradients_through_vectorized_map(function):
    def loss(x, each):
        out = each(
            lambda e: jt.reduce_sum(jt.sin(function(e)[0] if function is searching else function(e))), x
        )
        return jt.reduce_sum(out * out)

    found = jt.grad(lambda x: loss(x, jt.vectorized_map))(ROWS)
    wanted = jt.grad(lambda x: loss(x, jt.map_fn))(ROWS)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_vectorized_map_with_a_custom_gradient_or_without_elements():
    @jt.custom_gradient
    def own(x):
        return x * x, lambda upstream: upstream * 100.0

    x = jt.constant(ROWS)
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = jt.vectorized_map(own, x, fallback_to_while_loop=False)
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), np.full(ROWS.shape, 100.0))
    with pytest.raises(jt.ControlFlowError, match=r"\[vectorized_map\] .*map_fn"):
        jt.vectorized_map(own, x[:0], fallback_to_while_loop=False)
    assert jt.vectorized_map(outer_product, x[:0]).shape == (0, 3, 3)


def test_vectorized_map_of_a_branch_over_captured_values_only():
    rows = np.array([[-1.0, 2.0], [1.0, 2.0], [-3.0, 4.0]])
    one, other = jt.constant([1.0, 2.0]), jt.constant([3.0, 4.0])
    found = jt.vectorized_map(lambda row: jt.cond(row[0] > 0, lambda: one, lambda: other), jt.constant(rows))
    np.testing.assert_array_equal(found, [[3.0, 4.0], [1.0, 2.0], [3.0, 4.0]])


def test_random_numbers_of_vectorized_map_differ():
    out = jt.vectorized_map(
        lambda e: jt.random.normal([2], dtype=jt.float64) + 0.0 * e[:2], jt.constant(ROWS)
    ).numpy()
    assert len(np.unique(out)) == 8


def test_vectorized_map_is_no_loop():
    from jittape.runtime.counters import counters

    before = jt.config.interpret, jt.config.compile_after
    jt.config.interpret, jt.config.compile_after = False, 0
    try:
        jt.vectorized_map(outer_product, jt.constant(ROWS)).numpy()
        (step,) = counters.last.compiled.steps
        assert step.kernel.loops
        assert not step.bodies
    finally:
        jt.config.interpret, jt.config.compile_after = before
