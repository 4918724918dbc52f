"""Gradients of loops that rebind the name of an array, as in ``x = F @ x``."""

import re

import numba
import numpy as np
import pytest

import jittape as jt
from jittape.numba_ad import gradient_of_dispatcher
from njit_as_python import as_python, copies

njit = numba.njit
rng = np.random.default_rng(5)
A = np.array([[1.0, 0.3], [0.1, 0.9]])


@njit
def kalman(F, noise, measured):
    x, P, total = np.zeros(2), np.eye(2), 0.0
    Q = noise[0] * np.eye(2)
    for k in range(len(measured)):
        x = F @ x
        P = F @ P @ F.T + Q
        s = P[0, 0] + noise[1]
        residual = measured[k] - x[0]
        gain = P[:, 0] / s
        x = x + gain * residual
        P = P - np.outer(gain, P[0, :])
        total += 0.5 * (residual * residual / s + np.log(s))
    return total + np.sum(x * x)


@njit
def momentum(x, A, n):
    prev = x
    for _ in range(n):
        y = x + 0.3 * (x - prev)
        prev = x
        x = y - 0.1 * np.sin(A @ y)
    return np.sum(x * prev) + np.sum(x)


@njit
def runs_over_the_name_that_it_rebinds(x, A, n):
    y, s = A[0], 0.0
    for _ in range(n):
        for v in y:
            s = 0.7 * s + np.sin(v) * x[1]
            y = x * s
    return s


@njit
def nested(x, A, n):
    for i in range(n):
        for _ in range(i):
            x = np.tanh(A @ x)
        x = x * x + 1.0
        x[0] += x[1]
    return np.sum(x**3)


@njit
def exchanges(u, A, n):
    v = np.ones(2)
    while n > 0 and np.sum(v) < 100.0:
        n -= 1
        u, v = v[::-1], np.sin(u + A @ v)
        if u[0] > 5.0:
            break
    return np.sum(u * v) + 2.0 * v[0]


@njit
def step(x, A):
    return x + 0.1 * (A @ x) ** 2


@njit
def in_a_callee(x, A, n):
    total = 0.0
    for k in range(n):
        before = x
        x = step(x, A)
        half = x[:1]
        total += np.sum(x * before) * half[0]
        if k == 1:
            x[1] = total
    last = x.copy()
    last *= 2.0
    return total + np.sum(last)


PROGRAMS = [(kalman, (A, np.array([0.3, 0.7]), rng.normal(size=4)), (0, 1, 2))]
PROGRAMS += [
    (f, (rng.normal(size=2), A, n), (0, 1))
    for f in (momentum, nested, exchanges, in_a_callee, runs_over_the_name_that_it_rebinds)
    for n in (0, 1, 4)
]


def derived(f, args, numbers, kind="value_and_gradient", checkpoint=None):
    gradient = gradient_of_dispatcher(f, numbers, kind, "test", False, checkpoint)
    return as_python(gradient, args)(*args)


@pytest.mark.parametrize(
    "program", PROGRAMS, ids=lambda p: f"{p[0].__name__}_{len(p[1][2]) if p[0] is kalman else p[1][2]}"
)
@pytest.mark.parametrize("checkpoint", [None, "sqrt", 2])
def test_both_modes_equal_differences(program, checkpoint):
    f, args, numbers = program
    directions = [rng.normal(size=args[i].shape) for i in numbers]
    used = copies(args)
    value, gradients = derived(f, used, numbers, checkpoint=checkpoint)
    slope = sum(np.sum(g * d) for g, d in zip(gradients, directions, strict=True))
    for mine, given in zip(used, args, strict=True):
        np.testing.assert_array_equal(mine, given)
    np.testing.assert_allclose(value, f.py_func(*copies(args)), rtol=1e-12)
    forward = derived(f, [*directions, *copies(args)], numbers, "jvp")
    np.testing.assert_allclose(forward, (value, slope), rtol=1e-10)

    def at(distance):
        shifted = copies(args)
        for i, d in zip(numbers, directions, strict=True):
            shifted[i] = shifted[i] + distance * d
        return f.py_func(*shifted)

    np.testing.assert_allclose(slope, (at(1e-6) - at(-1e-6)) / 2e-6, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("f", [momentum, nested, exchanges])
def test_second_derivatives_equal_differences(f):
    x, v = np.array([0.4, -0.3]), np.array([1.0, 0.5])
    gradient = gradient_of_dispatcher(f, (0,), "gradient", "test", False)
    run = as_python(gradient, [x, A, 3])
    expected = (run(x + 1e-5 * v, A, 3)[0] - run(x - 1e-5 * v, A, 3)[0]) / 2e-5
    _, (found,) = derived(gradient, [v, x, A, 3], (0,), "jvp")
    np.testing.assert_allclose(found, expected, rtol=1e-7)


@njit
def settled(x, A, n):
    for _ in range(n):
        x = np.tanh(A @ x)
    return x


def test_an_op_with_a_carried_array():
    op = jt.numba_op(settled, result=lambda x, A, n: x)
    point = jt.constant([0.4, -0.3], jt.float64)
    with jt.GradientTape() as tape:
        tape.watch(point)
        loss = jt.reduce_sum(op(point, A, 3) ** 2)
    x, sensitivity = point.numpy(), np.eye(2)
    for _ in range(3):
        x = np.tanh(A @ x)
        sensitivity = (1.0 - x[:, None] ** 2) * (A @ sensitivity)
    np.testing.assert_array_equal(point.numpy(), [0.4, -0.3])
    np.testing.assert_allclose(tape.gradient(loss, point).numpy(), 2.0 * x @ sensitivity, rtol=1e-12)


@njit
def writes_before_it_rebinds(u, n):
    for _ in range(n):
        u[0] = 2.0 * u[1]
        u = u * 1.5
    return np.sum(u)


@njit
def refers_to_an_argument(u, w, n):
    for _ in range(n):
        w[0] += u[0]
        u = w
    return np.sum(u)


@njit
def writes_another_name(u, n):
    v = u
    for _ in range(n):
        v[0] += 1.0
        u = u * 1.5
    return np.sum(u)


@njit
def writes_another_name_later(u, n):
    v = u
    for _ in range(n):
        u = u * 1.5
    v[0] = 3.0
    return np.sum(u)


@njit
def writes_after_the_loop(u, n):
    for _ in range(n):
        u = u * 1.5
    u[0] = 3.0
    return np.sum(u)


@njit
def reads_before_it_writes_the_argument(u, n):
    x = u
    total = 0.0
    for _ in range(n):
        x = x * 2.0
    for _ in range(3):
        total += x[0] * x[0]
        u[0] += 1.0
    return total


@pytest.mark.parametrize(
    ("f", "arrays", "part"),
    [
        (writes_before_it_rebinds, 1, "this may write the array from before it"),
        (refers_to_an_argument, 2, "`u` may be undefined or refer to another array"),
        (writes_another_name, 1, "the array from before is written after it"),
        (writes_another_name_later, 1, "is written after it. Copy the array before"),
        (
            reads_before_it_writes_the_argument,
            1,
            "rebinds the array x, and the array from before is written after it",
        ),
        (writes_after_the_loop, 1, "Write to a copy, as in `u = u.copy()`"),
    ],
)
def test_other_names_of_the_array_are_refused(f, arrays, part):
    with pytest.raises(jt.NoGradientError, match=re.escape(part)):
        jt.njit_grad(f)(*[np.ones(3) for _ in range(arrays)], 2)


@njit
def shrinks(u, n):
    for _ in range(n):
        u = u[1:] * 2.0
    return np.sum(u)


@njit
def keeps_the_first(u, n):
    for _ in range(n):
        u = u[:1] * 2.0
    return np.sum(u)


@pytest.mark.parametrize("f", [shrinks, keeps_the_first])
def test_a_shape_that_changes_is_an_error_of_the_call(f):
    args = [np.ones(3), 1]
    for kind in ("value_and_gradient", "jvp"):
        given = args if kind != "jvp" else [np.ones(3), *args]
        with pytest.raises(ValueError, match="the array u changes its shape in the loop"):
            derived(f, given, (0,), kind)
    assert derived(f, [np.ones(3), 0], (0,))[0] == 3.0
