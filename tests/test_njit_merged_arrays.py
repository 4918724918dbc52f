"""Gradients of `@njit` code that binds the name of an array in a branch, as in ``if c: x = a else: x = b``."""

import re

import numba
import numpy as np
import pytest

import jittape as jt
from jittape.numba_ad import gradient_of_dispatcher
from njit_as_python import as_python, copies

njit = numba.njit
rng = np.random.default_rng(7)
X, Y = rng.random(4) + 0.2, rng.random(4) + 0.3


@njit
def one_of_two(a, b, c):
    x = b
    if c > 0:
        x = a
    return np.sum(x * x) + np.sum(a)


@njit
def both_sides(a, b, c):
    if c > 1:
        x = a
        y = np.sum(a)
    else:
        x = b
        y = 2.0
    return np.sum(x * x) * y


@njit
def new_in_each_branch(a, b, c):
    if c == 0:
        w = np.ones(4)
    elif c == 1:
        w = np.empty(2 * 2)
        for i in range(4):
            w[i] = a[i] ** 2
    else:
        w = a * b
    total = 0.0
    for i in range(4):
        w[i] *= a[i]
        total += w[i] * b[0]
    return total + w[0] * w[1]


@njit
def conditional_expressions(a, b, c):
    x = a * 2.0 if c > 1 else b[::-1]
    total = np.sum(x * a) + np.dot(a if c > 2 else x, b)
    low, high = (a[0], a[1:]) if a[0] < b[0] else (b[1], b[:-1] * a[2])
    new = a + 1.0 if c > 0 else np.zeros(4) * total
    new[0] *= total
    for i in range(c):
        row = a if i % 2 == 0 else (new if i > 1 else new * x)
        total += row[i % 4] * high[0] * low
        new[i % 4] *= np.tanh(total)
    return total + np.sum(new) + np.sum((a if total > 1.0 else new) ** 2)


@njit
def views_of_two(a, b, c):
    if c > 1:
        x, y = a[1:], b[::-1][:2]
    else:
        x, y = b[:-1], a[c % 3 :][:2] * 2.0
    total, m = np.sum(x * x) * y[0] * y[1], np.outer(a, b)
    for i in range(5):
        row = m[i, 1:3] if i < 4 else b[2:]
        column = m.T[1:3, c % 4] if i > 2 else m[1, :2]
        total += row[0] * column[1] + total * row[1] * column[0]
    return total


@njit
def early_return(a, b, c):
    if c > 2:
        return np.sum(a * b)
    x = a
    if c > 1:
        x = np.exp(b)
    total = x.sum()
    if c > 0:
        x = x / total
    return x[0] * x[1] + total


@njit
def defined_in_one_branch(a, b, c):
    if c > 0:
        x = a * b
    total = np.sum(b)
    if c > 0:
        total += np.sum(x * x)
    return total


@njit
def doubled(a, c):
    if c:
        return a * 2.0
    return a


@njit
def result_of_a_callee(a, b, c):
    total = 0.0
    for i in range(c):
        h = doubled(a, i % 2 == 0)
        total += np.sum(h * h * b) * i
    return total


@njit
def in_a_loop(a, b, c):
    u = a
    for k in range(c):
        if k % 2 == 1:
            u = u * 1.5 + b[0]
    return np.sum(u * u)


@njit
def best_so_far(a, b, c):
    y = a.copy()
    best, least = y.copy(), 10.0
    for k in range(c):
        y = y - 0.2 * y * np.sin(y) * b
        value = np.sum(y**2)
        if value < least and k != 1:
            least = value
            best = y.copy()
        y[0] += 0.01
    return np.sum(best**3) + least


@njit
def line_search(a, b, c):
    x = a
    value = np.sum(x**4 - x * b)
    for _ in range(c):
        slope = 4.0 * x**3 - b
        t = 1.0
        while t > 1e-3:
            trial = x - t * slope
            new = np.sum(trial**4 - trial * b)
            if new < value - 0.1 * t * np.sum(slope * slope):
                x = trial
                value = new
                break
            t *= 0.5
    return value + np.sum(x)


@njit
def particles(a, b, c):
    n = len(a)
    x, w = np.zeros(n), np.full(n, 1.0 / n)
    total = 0.0
    for t in range(c):
        for i in range(n):
            x[i] = 0.9 * x[i] + a[i] * b[t % n]
        scale = 0.0
        for i in range(n):
            w[i] *= np.exp(-((b[0] - x[i]) ** 2))
            scale += w[i]
        total += np.log(scale)
        w /= scale
        if t % 2 == 1:
            new = np.empty(n)
            for i in range(n):
                new[i] = x[(i * 3 + 1) % n] * w[i]
            x = new
            w[:] = 1.0 / n
    return total


PROGRAMS = [
    one_of_two,
    both_sides,
    new_in_each_branch,
    conditional_expressions,
    views_of_two,
    early_return,
    defined_in_one_branch,
    result_of_a_callee,
    in_a_loop,
    best_so_far,
    line_search,
    particles,
]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("c", [0, 1, 2, 5])
def test_both_modes_equal_differences(f, c):
    directions = [np.cos(np.arange(4.0)), np.sin(np.arange(4.0))]

    def run(kind, args):
        return as_python(gradient_of_dispatcher(f, (0, 1), kind, "test", False), args)(*args)

    value, gradients = run("value_and_gradient", copies([X, Y, c]))
    slope = sum(np.sum(g * d) for g, d in zip(gradients, directions, strict=True))
    np.testing.assert_allclose(run("jvp", [*directions, *copies([X, Y]), c]), (value, slope), rtol=1e-10)
    ends = [f.py_func(X + h * directions[0], Y + h * directions[1], c) for h in (1e-6, -1e-6)]
    np.testing.assert_allclose(value, f.py_func(X.copy(), Y.copy(), c), rtol=1e-12)
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / 2e-6, rtol=1e-6, atol=1e-8)


def test_compiled_code_is_the_same():
    for f in (new_in_each_branch, particles):
        expected = as_python(gradient_of_dispatcher(f, (0, 1), "gradient", "test", False), [X, Y, 2])(X, Y, 2)
        for found, right in zip(jt.njit_grad(f, argnums=(0, 1))(X, Y, 2), expected, strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-12)


@njit
def written_under_the_old_name(a, c):
    y = np.zeros(3)
    x = a
    if c > 0:
        x = y
    y[0] = a[0] * 5.0
    return np.sum(x * x)


@njit
def two_names(a, c):
    if c > 0:
        y = np.zeros(3)
        x = y
    else:
        y = np.ones(3)
        x = y
    y[0] = a[0] * 5.0
    return np.sum(x * x)


@njit
def written_in_a_later_loop(a, c):
    x = np.ones(3)
    if c > 0:
        x = a
    total = 0.0
    for _ in range(3):
        total += x[0] * x[0]
        a[0] += 1.0
    return total


@njit
def written_in_the_next_iteration(a, c):
    x = np.zeros(3)
    total = 0.0
    for _ in range(3):
        a[0] += 1.0
        total += x[0]
        if c > 0:
            x = a
    return total


@njit
def remembered(a, c):
    x = a.copy()
    before = x.copy()
    total = 0.0
    for i in range(4):
        before = x
        if i > 1:
            x = x * 0.5
        x[0] += a[1]
        total += before[0] * x[1]
    return total


@njit
def a_view_remembers(a, c):
    x = a.copy()
    tail = x[1:]
    for i in range(3):
        if i > c:
            x = x * 0.5
        x[1] += 1.0
    return np.sum(tail) + np.sum(x)


@pytest.mark.parametrize(
    "f",
    [
        written_under_the_old_name,
        two_names,
        written_in_a_later_loop,
        written_in_the_next_iteration,
        remembered,
        a_view_remembers,
    ],
    ids=lambda f: f.__name__,
)
def test_an_array_with_two_names_is_not_written(f):
    with pytest.raises(jt.NoGradientError, match=re.escape(".copy()") + "|refer to another array"):
        jt.njit_grad(f)(np.ones(3), 1)


@njit
def other_shape(a, c):
    x = a[1:] * 3.0
    if c > 0:
        x = a * 2.0
    return np.sum(x * x)


def test_another_shape_is_an_error_of_the_call():
    gradient = as_python(
        gradient_of_dispatcher(other_shape, (0,), "gradient", "test", False), [np.ones(3), 1]
    )
    np.testing.assert_allclose(gradient(np.ones(3), 1)[0], 8.0)
    with pytest.raises(ValueError, match="the array x has another shape on another path"):
        gradient(np.ones(3), 0)


@njit
def writes_what_it_chose(a, c):
    b = a if c > 1 else a[::-1]
    b[0] = 2.0
    return np.sum(a * b)


@njit
def may_choose_none(a, c):
    b = a if c > 1 else None
    return 0.0 if b is None else np.sum(b)


@pytest.mark.parametrize(
    ("f", "part"),
    [(writes_what_it_chose, ".copy()"), (may_choose_none, "different kinds. Use an if statement")],
)
def test_refused_conditional_expressions(f, part):
    with pytest.raises(jt.NoGradientError, match=re.escape(part)):
        jt.njit_grad(f)(np.ones(3), 1)
