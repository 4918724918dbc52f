"""Two names for one array inside an ``@njit`` function: each is tracked, or the function is refused."""

import numba
import numpy as np
import pytest

import jittape as jt
from njit_as_python import check_programs
from random_njit import compiled_program

HELPERS = """
import collections
import numba
import numpy as np

Pair = collections.namedtuple("Pair", "u v")

@numba.njit
def same(u, v):
    return u

@numba.njit
def one_of(u, v, p):
    if p > 0.2:
        return v
    return u

@numba.njit
def tail(u):
    v = u[1:]
    return v[:-1]

@numba.njit
def both(u, v):
    return v, u

@numba.njit
def two_written(u, v):
    u[1] = u[1] * v[2] + 0.1
    v[1] = v[1] * u[1] - 0.2 * u[2]

"""
BINDINGS = {
    "name": "y = x",
    "slice": "y = x[1:]",
    "reversed": "y = x[::-1]",
    "whole slice": "y = x[:]",
    "reshape": "y = x.reshape(3, 2)[1]; y = y.reshape(2)",
    "ravel": "y = x.ravel()",
    "row": "m = x.reshape(2, 3); y = m[1]",
    "column of transpose": "m = x.reshape(2, 3).T; y = m[:, 1]",
    "flat of matrix": "m = x.reshape(2, 3); m[0, 1] = m[1, 1] * p; y = m.reshape(6)",
    "swap": "y = w; x, y = y, x",
    "branch": "y = w\nif p > 0.1:\n    y = x",
    "both sides": "if p > 0.1:\n    y = x\nelse:\n    y = w",
    "conditional": "y = x if p > 0.1 else w",
    "loop": "y = w\nfor k in range(n):\n    y[1] = 0.5 * x[2]\n    y = x",
    "swapping loop": "y = w\nfor k in range(n):\n    y[1] += 0.5 * x[2]\n    x, y = y, x",
    "while": "y = w\nk = 0\nwhile k < n:\n    k += 1\n    x[1] = 0.3 * y[2]\n    y = x if k % 2 == 0 else w",
    "callee": "y = same(x, w)",
    "callee with branch": "y = one_of(w, x, p)",
    "callee with view": "y = tail(x)",
    "callee with tuple": "y, z = both(w, x)\ny[0] = z[1] * p",
    "tuple": "t = (w, x); y = t[1]",
    "named tuple": "t = Pair(u=x, v=w); y = t.u",
    "tuple of views": "t = (x[1:], x[:-1]); y = t[0]; t[1][2] = 0.4 * y[0]",
    "two views": "y = x[1:4]; z = x[2:]; z[0] = z[1] * y[2]",
    "asarray": "y = np.asarray(x)",
    "ascontiguousarray": "y = np.ascontiguousarray(x)",
    "column": "m = x.reshape(2, 3).T; y = np.ascontiguousarray(m[:, 1])",
    "every element": "y = np.asfortranarray(x[::1])",
    "every second element": "y = np.asfortranarray(x[::2])",
    "copy": "y = x.copy()",
    "atleast": "y = np.atleast_1d(x)",
}
USES = {
    "reads": "s += y[1] * x[2] + np.sum(y * y) * p",
    "elements": "y[1] = y[1] * x[2] + 0.3 * x[1]\nx[2] = x[2] * y[0] - 0.2 * y[1]",
    "whole arrays": "x[:2] = y[:2] * 0.7 + x[1:3]\ny[:2] = y[:2] * x[:2]",
    "callee": "two_written(x[:3], w)\ny[1] = x[1] * y[0]",
}


def program(binding, use):
    """Return a function that binds `y` to memory of `x`, or perhaps of `w`, and writes by several names."""
    lines = ["@numba.njit", "def program(x, w, p, n):", "    s = 0.0"]
    for line in "\n".join([BINDINGS[binding], USES[use]]).splitlines():
        lines.append(f"    {line}")
    lines.append("    return s + np.sum(x * x) + 0.3 * w[1] * w[2] + y[1] * x[1] + 0.5 * y[0] ** 2")
    return compiled_program(HELPERS + "\n".join(lines) + "\n", f"<two names {binding} {use}>")


def arguments(seed: int):
    x, w = np.random.default_rng(seed).normal(size=(2, 6))
    return x, w, 0.35, seed % 4


@pytest.mark.parametrize("binding", BINDINGS)
def test_two_names_are_tracked_or_refused(binding):
    for seed, use in enumerate(USES, 2):
        check_programs([seed], lambda _, use=use: program(binding, use), arguments, may_refuse=True)


@numba.njit
def broadcast_before(x):
    y = np.broadcast_to(x, (2, 3))
    x[2] = y[1, 0] * y[0, 1]
    return np.sum(x * y)


@numba.njit
def broadcast_both_before(x):
    rows, columns = np.broadcast_arrays(x[:, None], x)
    x[2] = rows[1, 0] * columns[0, 1]
    return np.sum(rows * columns)


@numba.njit
def broadcast_before_loop(x):
    y, total = np.broadcast_to(x, (2, 3)), 0.0
    for _ in range(3):
        total += y[0, 2] * y[1, 1]
        x[2] = x[1] * total
    return total


@pytest.mark.parametrize("function", [broadcast_before, broadcast_both_before, broadcast_before_loop])
def test_a_view_of_broadcasting_is_not_read_after_a_write(function):
    with pytest.raises(jt.NoGradientError, match="broadcasting makes a view"):
        jt.njit_grad(function)(np.array([1.0, 2.0, 3.0]))


def test_copies_and_expressions_of_broadcast_arrays():
    @numba.njit
    def function(x):
        y, z = np.copy(np.broadcast_to(x, (2, 3))), np.broadcast_to(x, (2, 3)) * 1.0
        w, total = np.broadcast_to(x, (2, 3)).copy(), np.sum(np.broadcast_to(x, (3, 3)) ** 2)
        x[2] = y[1, 0] * w[0, 1]
        y[0, 1], z[1, 1], w[1, 2] = x[2], x[1], x[2]
        return np.sum(x * y * z * w) + total

    x, v = np.array([1.0, 2.0, 3.0]), np.array([0.3, -0.5, 0.7])
    gradient = jt.njit_grad(function)(x.copy())
    assert jt.njit_jvp(function)(v, x.copy())[1] == pytest.approx(gradient @ v)
    steps = [function(x + h * v) for h in (1e-6, -1e-6)]
    assert (steps[0] - steps[1]) / 2e-6 == pytest.approx(gradient @ v, rel=1e-6)


def test_the_conjugate_is_a_new_array():
    @numba.njit
    def function(x):
        y, z, w = np.conjugate(x), np.conj(x[1]), x.conj()
        x[0] = y[1] * y[2] * z
        return np.sum(y * x) + w[0]

    x = np.array([2.0, 3.0, 5.0])
    # x[0] x[1] x[1] x[2] + x[1] x[1] + x[2] x[2] + x[0]
    np.testing.assert_allclose(jt.njit_grad(function)(x), [46.0, 66.0, 28.0])
