"""Gradients of ``@njit`` code with tuples that loops carry, computed indices of tuples, and global arrays."""

import base64
import math
import re
from collections import namedtuple

import numba
import numpy as np
import pytest

import jittape as jt
from jittape.numba_ad import gradient_of_dispatcher
from jittape.numba_ad.generated_module import import_lines
from njit_as_python import as_python, copies

njit = numba.njit
rng = np.random.default_rng(11)
NODES, WEIGHTS = np.polynomial.legendre.leggauss(5)
STENCIL = np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0]])
COLUMNS = np.asfortranarray(rng.normal(size=(3, 4)))[:, ::2]
FACTORS = (0.5, 1.5, 2.5)
HALF = np.float32(0.1)
Particle = namedtuple("Particle", ["place", "speed", "steps"])


@njit
def moved(p, k):
    return Particle(p.place + 0.1 * p.speed, p.speed - 0.1 * k * np.sin(p.place), p.steps + 1)


@njit
def carries_a_named_tuple(x, k):
    p = Particle(x[0], x[1], 0)
    while p.steps < 7:
        p = moved(p, k)
    return p.place * p.speed + p.steps


@njit
def carries_nested_tuples(x, k):
    state = (x[0], (x[1], 2), None)
    for i in range(6):
        a, (b, n), _ = state
        if i % 2 == 0:
            state = (a + k * b, (b * 0.9 - a * a, n + 1), None)
        else:
            b += math.sin(a)
            state = (a * 0.5, (b, n), None)
    return state[0] * state[1][0] * state[1][1]


@njit
def carries_arrays_in_a_tuple(x, k):
    s = (x, np.zeros(len(x)))
    for _ in range(4):
        s = (s[0] + k * s[1], s[1] - 0.1 * np.sin(s[0]))
    return np.sum(s[0] ** 2) + np.sum(s[1])


@njit
def swaps_the_items_of_a_tuple(x, k):
    s = (x[0], x[1])
    for i in range(5):
        s = (s[1] * k, s[0] + i)
    return s[0] * s[1]


@njit
def swaps_arrays_in_a_tuple(x, k):
    s = (x * 1.0, x * k)
    for _ in range(3):
        s = (s[1], s[0] * s[1] + 0.1)
    return np.sum(s[0] - s[1])


@njit
def widens_an_item(x, k):
    s = (0, 1)
    for i in range(len(x)):
        s = (s[0] + x[i] * k, s[1] + 1)
    return s[0] ** 2 * s[1]


@njit
def binds_a_tuple_in_the_loop_only(x, k):
    for i in range(len(x)):
        best = (x[i] * k, x[i] ** 2)
        if x[i] > 0.3:
            break
    return best[0] + best[1]


@njit
def returns_a_tuple(x, k):
    found = (x[0], k)
    for i in range(1, len(x)):
        if x[i] > 10.0:
            return found
        found = (found[0] * x[i], found[1] + found[0])
    return found


@njit
def calls_one_that_returns_a_tuple(x, k):
    a, b = returns_a_tuple(x, k)
    return a * b


@njit
def carries_in_an_inner_loop(x, k):
    total = 0.0
    for i in range(len(x)):
        s = (1.0, x[i])
        for j in range(i + 1):
            s = (s[0] * s[1] + j, s[1] * k)
        total += s[0]
    return total


@njit
def reads_computed_places(x, k):
    links, s = (k, 2.0 * k, x[0] * k), 0.0
    for i in range(len(x)):
        s += FACTORS[i % 3] * x[i] ** 2 + FACTORS[-1 - i % 2]
    for j in range(3):
        for i in range(j, 3):
            s += links[i] ** 2 * x[j]
    return s


@njit
def runs_over_layers(x, k):
    weights, shifts = (x[0] * np.eye(2), np.ones((2, 2)) * k, np.eye(2)), (0.1, k, -0.2)
    h = x[:2]
    for layer in range(len(weights)):
        h = np.tanh(weights[layer] @ h + shifts[layer])
    for i, w in enumerate(weights):
        h = h + i * w[0]
    for w, shift in zip(weights, shifts):  # noqa: B905
        h = w @ h + shift
    return np.sum(h)


@njit
def reads_global_arrays(x, k):
    s = 0.0
    for i in range(NODES.size):
        s += WEIGHTS[i] * np.exp(-((k * NODES[i] + x[0]) ** 2))
    for row in STENCIL:
        for entry in row:
            s += entry * x[1] ** 2 * x[0]
    return s + np.sum((COLUMNS @ x[:2]) ** 2) + np.dot(NODES[:4], x) * HALF


@njit
def fills_by_comprehensions(x, k):
    y = np.array([v * v for v in x])
    z = np.array([[k * x[i] + j for j in range(1, 4)] for i in range(len(x))])
    v = np.array([a * k for a in (x[0], 2.0)])
    return np.sum(np.sin(y)) + np.sum(z**2) + v[0] * v[1]


@njit
def keeps_the_best_row(x, k):
    rows = np.outer(x, x + k)
    best = (0.0, rows[0])
    for i in range(len(x)):
        square = rows[i] @ rows[i]
        if square > best[0]:
            best = (square, rows[i])
    return best[0] * best[1][1]


@njit
def sum_of_four(a, b, c, d):
    return a * b + c * d


@njit
def unpacks_tuples(x, k):
    pair = (x[0] * k, x[1])
    more = (k, *pair, *pair[1:])
    return sum_of_four(*more) * max(*pair) + [*pair, 2.0][1]


FUNCTIONS = [
    unpacks_tuples, carries_a_named_tuple, carries_nested_tuples, carries_arrays_in_a_tuple, swaps_the_items_of_a_tuple,
    swaps_arrays_in_a_tuple, widens_an_item, binds_a_tuple_in_the_loop_only, calls_one_that_returns_a_tuple,
    carries_in_an_inner_loop, reads_computed_places, runs_over_layers, reads_global_arrays,
    fills_by_comprehensions, keeps_the_best_row,
]  # fmt: skip
X = np.array([0.4, -0.7, 0.9, 0.2])


def difference(function, x, k, direction, step=1e-3):
    def at(shift):
        return function(x + shift * direction[0], k + shift * direction[1])

    return (8 * (at(step) - at(-step)) - at(2 * step) + at(-2 * step)) / (12 * step)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.py_func.__name__)
def test_derivatives_are_those_by_differences(function):
    direction, arguments = (rng.normal(size=4), 0.7), (X, 1.3)
    expected = difference(function.py_func, *arguments, direction)

    def run(returned, *given):
        made = gradient_of_dispatcher(function, (0, 1), returned, "test", False)
        return as_python(made, given)(*copies(given))

    value, (x_b, k_b) = run("value_and_gradient", *arguments)
    np.testing.assert_allclose(value, function.py_func(*arguments), rtol=1e-12)
    np.testing.assert_allclose(x_b @ direction[0] + k_b * direction[1], expected, rtol=1e-8)
    np.testing.assert_allclose(run("jvp", *direction, *arguments)[1], expected, rtol=1e-8)
    hessian = jt.njit_hvp(function)
    product = as_python(hessian, (direction[0], *arguments))(direction[0], *copies(arguments))

    def slope(x, k):
        return run("value_and_gradient", x, k)[1][0]

    np.testing.assert_allclose(
        product, difference(slope, *arguments, (direction[0], 0.0)), rtol=1e-7, atol=1e-8
    )


@pytest.mark.parametrize("function", [carries_nested_tuples, runs_over_layers, reads_global_arrays])
def test_compiled_gradients_are_those_by_python(function):
    made = gradient_of_dispatcher(function, (0, 1), "value_and_gradient", "test", False)
    value, gradients = made(X.copy(), 1.3)
    expected, others = as_python(made, (X, 1.3))(X.copy(), 1.3)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    for one, other in zip(gradients, others, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)


@njit
def of_a_place(x, i):
    return x * FACTORS[i] + x


def test_a_place_outside_of_a_tuple_is_an_index_error():
    gradient = jt.njit_grad(of_a_place)
    assert [gradient(2.0, i) for i in (0, 2, -1, -3)] == [1.5, 3.5, 3.5, 1.5]
    for place in (3, -4):
        with pytest.raises(IndexError, match="of_a_place: tuple index out of range"):
            gradient(2.0, place)


@njit
def of_one_of_two_arrays(x, n):
    pair, s = (x, x * x), 0.0
    for i in range(n):
        s += pair[i % 2][0]
    return s


def test_a_tuple_of_arrays_at_a_computed_place_is_refused():
    message = (
        "`pair[i % 2]`: a tuple of arrays needs a constant index. Write `for item in items`, or use an array."
    )
    with pytest.raises(jt.NoGradientError, match=re.escape(message)):
        jt.njit_grad(of_one_of_two_arrays).inspect(np.ones(2), 3)


@njit
def grows_a_tuple(x, n):
    s = (x,)
    for _ in range(n):
        s = s + (x,)  # noqa: RUF005
    return s[0]


def test_a_tuple_of_other_items_is_refused():
    with pytest.raises(jt.NoGradientError, match=r"the items of the tuple s change their kinds in a loop"):
        jt.njit_grad(grows_a_tuple).inspect(1.0, 3)


TABLE = np.array([1.0, 2.0])


@njit
def of_a_table(x):
    return x[0] * TABLE[0] + x[1] * TABLE[1] * HALF


def test_a_global_array_is_a_constant_of_the_generated_code():
    gradient = jt.njit_grad(of_a_table)
    text = gradient.inspect(np.ones(2))
    (name,) = set(re.findall(r"TABLE_\w+", text))
    assert f"{name} = np.frombuffer(" in import_lines(text)
    assert base64.b64encode(TABLE.tobytes()).decode() in import_lines(text)
    assert gradient(np.ones(2)).tolist() == [1.0, 2.0 * HALF]


def test_float32_globals_keep_float32():
    @njit
    def scaled(x):
        s = np.float32(0.0)
        for i in range(len(x)):
            s += x[i] * HALF
        return s

    x = np.ones(3, np.float32)
    value, x_b = jt.njit_value_and_grad(scaled)(x)
    assert x_b.dtype == np.float32
    assert value == scaled(x)
    assert (x_b == HALF).all()


@njit
def with_defaults(x, p=3.0, n=2):
    s = 0.0
    for _ in range(n):
        s += np.sum(x**p)
    return s


def test_default_arguments_of_gradients():
    gradient, x = jt.njit_grad(with_defaults), np.ones(2)

    @njit
    def calls(x):
        return gradient(x), gradient(x, 2.0), gradient(x, n=5)

    assert [one.tolist() for one in calls(x)] == [[6.0, 6.0], [4.0, 4.0], [15.0, 15.0]]
    assert gradient.inspect(x) == gradient.inspect(x, 3.0, 2)
    assert gradient.kept_bytes(x) == gradient.kept_bytes(x, 3.0, 2)

    @njit
    def squared(x):
        return np.sum(gradient(x, n=1) ** 2)

    np.testing.assert_allclose(jt.njit_grad(squared)(x), [36.0, 36.0])


def test_default_arguments_of_ops():
    op, x = jt.numba_op(with_defaults), np.ones(2)
    assert float(op(x)) == 4.0
    assert float(op(x, n=3)) == 6.0
    with pytest.raises(TypeError, match="with_defaults takes x, p, n; it was called with 0 arguments"):
        op()
