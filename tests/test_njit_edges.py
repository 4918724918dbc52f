"""Gradients of uncommon ``@njit`` programs: arrays in Fortran order, powers of zero, chained comparisons."""

import math

import numba
import numpy as np
import pytest

import jittape as jt
from njit_as_python import check_both_modes, check_programs
from random_njit_edges import random_edges

MATRIX = np.random.default_rng(3).normal(size=(3, 4))


@numba.njit
def ravel_of_a_sum_is_a_copy(a, b):
    c = a.T + 1.0
    flat = c.ravel()
    flat *= 2.0
    order = np.exp(b.T) * c
    order.ravel()[1] = 5.0
    return np.sum(c * c * c) + np.sum(order * order) + np.sum(flat)


@numba.njit
def tripled(a):
    a.ravel()[2:5] *= 3.0
    return np.sum(a**3)


@numba.njit
def copies_in_order(a, b):
    kept, turned, rows = np.copy(a.T), a.T.copy(), np.ascontiguousarray(b.T)
    same, joined = np.zeros_like(a.T), np.concatenate((a.T, b.T))
    same += b.T
    chosen = np.where(a.T > 0.0, a.T, b.T * a.T)
    return tripled(kept) + tripled(turned) + tripled(rows) + tripled(same) + tripled(joined) + tripled(chosen)


@numba.njit
def views_of_transposes(a, b):
    rows = a.T.reshape(12)
    rows[3] *= 2.0
    b.T.ravel()[5] = a[1, 2] * rows[4]
    c = (a * b).T.reshape((2, 6))
    c[1] *= a[0, 1]
    return np.sum(a**3) + np.sum(b**3 * c[1, 2]) + np.sum(c * c)


@numba.njit
def array_of_a_branch(a, b):
    if a[0, 0] > 100.0:  # noqa: SIM108 - a branch that binds arrays
        c = a * 2.0
    else:
        c = a.T * b.T
    c.ravel()[1] = 7.0
    return np.sum(c**3)


@numba.njit
def array_of_a_loop(a, b):
    c = a.T
    for _ in range(2):
        c = c * b.T
        c.ravel()[1] = 7.0
    return np.sum(c**3)


SQUARE = np.random.default_rng(4).normal(size=(2, 3, 3))
LAYOUTS = {
    "sums": (ravel_of_a_sum_is_a_copy, [MATRIX, MATRIX[::-1] + 0.5]),
    "copies": (copies_in_order, [MATRIX, MATRIX[::-1] + 0.5]),
    "transposes": (views_of_transposes, [np.asfortranarray(MATRIX), np.asfortranarray(MATRIX[:, ::-1])]),
    "branch": (array_of_a_branch, [SQUARE[0], SQUARE[1]]),
    "loop": (array_of_a_loop, [SQUARE[0], SQUARE[1]]),
}


def copy_in_order(x):
    return x.copy(order="K")


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("compiled", [False, True])
def test_arrays_have_the_order_of_numbas_arrays(name, compiled):
    """The order decides whether a ravel is a copy."""
    function, arguments = LAYOUTS[name]
    run = {"run": lambda gradient, *a: gradient(*map(copy_in_order, a))} if compiled else {}
    check_both_modes(function, arguments, 0, primal=function, **run)


@numba.njit
def polynomial(x, c):
    total = 0.0
    for k in range(len(c)):
        total += c[k] * x[0] ** k + c[k] * math.pow(x[1], k) + 0.5 * np.power(x[2], k)
    return total + x[0] ** 0.0 * c[0] + x[1] ** float(len(c) - 3)


def test_the_power_zero_of_zero_has_the_derivative_zero():
    with np.errstate(divide="ignore"):  # Python computes 0.0 ** -1.0, which is multiplied by zero
        check_both_modes(polynomial, [np.array([0.0, 0.0, 0.0]), np.array([0.5, 2.0, 3.0])], 0)


@numba.njit
def chains(x, w):
    total = 0.0
    for i in range(len(x)):
        if -0.5 < x[i] <= w[i] * 2.0 < 1.5:
            total += x[i] * w[i]
        elif w[i] < x[i - 1] < w[i - 2] + x[0] or x[i] < -1.0:
            total -= x[i] ** 2
        total += x[i] * (0.0 < w[i] < abs(x[i - 1]))
    return total


def test_chained_comparisons_of_expressions():
    x = np.random.default_rng(0).normal(size=(2, 12))
    check_both_modes(chains, [x[0], x[1]], 0)


@numba.njit
def counted(x):
    x[0] += 1.0
    return x[0]


@numba.njit
def chain_with_a_call(x, w):
    if 10.0 < w[0] < counted(x) < 5.0:
        return w[0]
    if 0.0 < x[0] < counted(x) < 7.0:
        return x[0] * w[1]
    return x[1]


def test_a_later_part_of_a_chain_runs_only_if_the_earlier_ones_are_true():
    check_both_modes(chain_with_a_call, [np.array([0.5, 2.0]), np.array([0.3, 0.4])], 0)


@numba.njit
def sorts(x, w):
    total = 0.0
    for i in range(3):
        x.sort()
        total += x[i] * w[i]
        w[::2] -= x[1:4]
        w[1:].sort()
    return total + np.sum(x * w)


def test_sorts_in_place():
    x = np.random.default_rng(2).normal(size=(2, 5))
    check_both_modes(sorts, [x[0], x[1]], 0)


@numba.njit
def sums_of_shapes(x, w):
    return np.sum(x + w)


def test_sizes_that_broadcast_when_the_function_runs_raise_an_error_with_a_way_out():
    with pytest.raises(
        ValueError, match=r"test_njit_edges.py:\d+: `return np.sum\(x \+ w\)`: the sizes .* x\[:, None\]"
    ):
        jt.njit_grad(sums_of_shapes)(np.ones((3, 1)), np.ones((3, 4)))


@numba.njit
def fibonacci(x):
    pair = (x, x * x)
    for _ in range(3):
        a, b = pair
        pair = (b, a * b)
    return pair[0]


@numba.njit
def last_pair(x):
    pair = (x, x * x)
    for i in range(3):
        pair = (x * i, x)
    return pair[0]


@pytest.mark.parametrize(("function", "expected"), [(fibonacci, 5 * 0.5**4), (last_pair, 2.0)])
def test_a_loop_carries_a_tuple(function, expected):
    assert jt.njit_grad(function)(0.5) == pytest.approx(expected)


@numba.njit
def tries(x):
    try:
        return x[0]
    except Exception:
        return 0.0


@numba.njit
def squares(x):
    return np.sum(x * x)


@numba.njit
def sets_first(x):
    x[0] = 1.0
    return x[1]


def read_only(x):
    x.flags.writeable = False
    return x


@pytest.mark.parametrize(
    ("call", "error", "parts"),
    [
        (
            lambda: jt.njit_grad(tries)(np.ones(2)),
            jt.NoGradientError,
            ["`try:`", "statement Try", "Test the condition"],
        ),
        (
            lambda: jt.njit_grad(squares)(np.ones(2, np.float16)),
            jt.NoGradientError,
            ["squares", "argument x is array(float16", "np.float32"],
        ),
        (
            lambda: jt.njit_grad(squares)(jt.constant([1.0])),
            TypeError,
            ["argument x is a Tensor", "jt.numba_op"],
        ),
        (
            lambda: jt.njit_grad(squares)(np.ones(2, ">f8")),
            TypeError,
            ["argument x is a ndarray of >f8", "Pass floats"],
        ),
        (
            lambda: jt.njit_grad(squares)((1.0, 2.0)),
            TypeError,
            ["`def squares`", "argument x is UniTuple", "argnums"],
        ),
        (
            lambda: jt.njit_grad(squares)(None),
            TypeError,
            ["argument x is none", "only floats and arrays of floats"],
        ),
        (
            lambda: jt.njit_grad(squares)(),
            TypeError,
            ["njit_grad(squares): missing a required argument: 'x'"],
        ),
        (
            lambda: jt.njit_jvp(squares)(np.ones(2, int), np.ones(2)),
            TypeError,
            ["tangent_of_x is array(int64", "floats"],
        ),
        (
            lambda: jt.njit_grad(sets_first)(read_only(np.ones(2))),
            jt.NoGradientError,
            ["the array x is read-only", "write to a copy"],
        ),
    ],
)
def test_errors_name_the_argument_or_the_line(call, error, parts):
    with pytest.raises(error) as caught:
        call()
    assert [part for part in parts if part not in str(caught.value)] == []


def test_arrays_in_another_byte_order_are_named_after_a_call_with_native_arrays():
    gradient, tangent = jt.njit_grad(squares), jt.njit_jvp(squares)
    native = np.ones(2)
    other = native.astype(native.dtype.newbyteorder())
    gradient(native)
    tangent(native, native)
    for call in (lambda: gradient(other), lambda: gradient(x=other), lambda: tangent(native, other)):
        with pytest.raises(
            TypeError, match=f"argument x is a ndarray of {other.dtype}, which Numba does not know"
        ):
            call()
    with pytest.raises(TypeError, match=f"argument tangent_0_ is a ndarray of {other.dtype}"):
        tangent(other, native)
    np.testing.assert_array_equal(gradient(native), 2 * native)


@numba.njit
def inverse_in_a_branch(x, w):
    total = np.sum(x * w)
    a = np.eye(3) * 3.0 + np.outer(x, w) * 0.2
    if total > -50.0:
        b = np.linalg.inv(a)
        total += b[1, 0] * x[0]
        if x[0] < 10.0:
            total += np.sum(np.dot(b, x * x) ** 2)
    return total


def test_a_gradient_with_an_inverse_in_a_branch_has_gradients():
    x, w = np.random.default_rng(1).normal(size=(2, 3))
    slope = jt.njit_grad(inverse_in_a_branch)

    @numba.njit
    def along(x, w):
        return np.sum(slope(x, w) * w)

    check_both_modes(
        along, [x, w], 0, run=lambda gradient, *a: gradient(*map(copy_in_order, a)), primal=along
    )


def test_random_programs_with_uncommon_statements():
    assert check_programs(range(12), random_edges, may_refuse=True) > 0


@numba.njit
def new_arrays(x, n):
    numbers, flags = np.zeros(n, dtype=np.float32), np.zeros((n, 2), dtype=np.bool_)
    rows = np.empty((2, n))
    for i in range(n):
        numbers[i] += x * i
        flags[i, i % 2] = x > i
        rows[0, i] = x * numbers[i]
    return np.sum(rows[0]) + np.sum(numbers) + np.sum(flags)


@pytest.mark.parametrize("kind", [int, np.int8, np.uint16], ids=lambda kind: kind.__name__)
def test_new_arrays_have_the_sizes_and_errors_of_numpy(kind):
    gradient = jt.njit_value_and_grad(new_arrays)
    assert gradient(2.0, kind(4)) == (new_arrays(2.0, kind(4)), 30.0)
    if kind is int:
        for size, message in ((-1, "negative dimensions"), (2**62, "too big")):
            for function in (new_arrays, gradient):
                with pytest.raises(ValueError, match=message):
                    function(2.0, size)
