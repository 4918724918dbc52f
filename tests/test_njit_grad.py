"""Gradients of ``@njit`` functions against differences, their errors, and where they can be called."""

import copy
import math
import threading
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest
from numba.core.compiler_lock import global_compiler_lock

import jittape as jt
from jittape.numba_ad import gradient_of_dispatcher, njit_callable
from random_njit import directional_difference, random_arguments, random_program

njit = numba.njit
rng = np.random.default_rng(7)


@njit
def seidel(a, tsteps):
    for _ in range(tsteps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = (
                    a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1] + a[i, j - 1] + a[i, j]
                    + a[i, j + 1] + a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
                ) / 9.0  # fmt: skip
    return np.sum(a * a)


@njit
def predators(p, steps):
    x, y, h = 1.0, 0.5, 0.01
    for _ in range(steps):
        k = p[0] * x - p[1] * x * y
        m = p[2] * x * y - p[3] * y
        x2, y2 = x + 0.5 * h * k, y + 0.5 * h * m
        x += h * (p[0] * x2 - p[1] * x2 * y2)
        y += h * (p[2] * x2 * y2 - p[3] * y2)
    return x * x + y


@njit
def jumps(x, n):
    s = 0.0
    for _ in range(n):
        for j in range(len(x)):
            if x[j] < 0:
                continue
            if s > 3 and x[j] > 1:
                break
            s += math.sin(x[j]) * s + x[j] ** 2
            if s > 50:
                return s * x[0]
    return s


@njit
def first_pair(v, level):
    for i in range(len(v)):
        for j in range(i):
            if v[i] * v[j] > level:
                return v[i] * v[j], i
    return level, 0


@njit
def from_pair(v, level):
    product, place = first_pair(v, level)
    return product * product * v[place]


@njit
def newton(x, tolerance):
    y = x
    while abs(y * y - x) > tolerance:
        y = 0.5 * (y + x / y)
    return y


@njit
def rates(u, out, c):
    for i in range(1, len(u) - 1):
        out[i] = c * (u[i - 1] - 2 * u[i] + u[i + 1]) + u[i] * u[i]
    out[0] = 0.0
    out[-1] = 0.0


@njit
def heun(u, steps, h):
    u = u.copy()
    k1, k2, middle = np.zeros_like(u), np.zeros_like(u), np.empty_like(u)
    for _ in range(steps):
        rates(u, k1, 0.3)
        for i in range(len(u)):
            middle[i] = u[i] + h * k1[i]
        rates(middle, k2, 0.3)
        for i in range(len(u)):
            u[i] += 0.5 * h * (k1[i] + k2[i])
    return np.sum(u * u)


@njit
def whole(a, b):
    c = np.exp(a) * b + 1.0
    c[1:-1] = c[2:] - 2 * c[1:-1] + c[:-2]
    d = c
    d += a * 2
    row = c[1:]
    row *= 3.0
    m = np.where(c > 0, c, -0.5 * c)
    return np.sum(m) + np.dot(a, c) + c.max() + m.mean()


@njit
def matrices(A, B, x):
    C = A @ B
    y = C.T @ x
    z = np.cumsum(y)
    w = A[0] * 2.0
    A[1, :] = w * x
    s = 0.0
    for row in A:
        s += np.sum(row**3)
    for i, v in enumerate(z):
        s += i * math.sqrt(abs(v) + 1)
    return s + z.reshape(3, 1)[1, 0]


@njit
def branch_step(x, y, p):
    if x > y:
        return x * y * p[0], y
    return x + y * p[1], math.sin(x)


@njit
def tuples(x, p):
    y = 1.5
    for _ in range(4):
        x, y = branch_step(x, y, p)
    pair = (x, y)
    return pair[0] * pair[1] if x > 0 else max(x, y, 0.3) ** 2.5


@njit
def backward_loops(x):
    for i in range(len(x) - 1, 0, -1):
        x[i - 1] = x[i - 1] * x[i] + x[i]
    for i in range(0, len(x), 2):
        x[i] /= 1 + x[i] ** 2
    s = 0
    while True:
        s += x[0] * x[1]
        if s > 3 or x[0] < 10:
            break
    return s


@njit
def last_seen(x):
    total = 0.0
    for i in range(len(x)):
        if i % 2 == 0:
            kept = x[i] ** 2
        total += kept * x[i]
    return total + kept


@njit
def local_arrays(x, n):
    total = 0.0
    for k in range(n):
        work = np.empty(len(x))
        for i in range(len(x)):
            work[i] = x[i] * (k + 1) + total * 0.1
        if total > 0.5:
            half = work[1:] * 2.0
            for i in range(len(half)):
                total += math.sin(half[i])
        work *= work
        total += np.sum(work)
    return total


@njit
def doubled_first(x, c):
    x[0] *= 2.0 * c
    return x[0] + x[1]


@njit
def updates_by_a_call_that_writes(x):
    x[0] += doubled_first(x, x[2])
    x[1] *= doubled_first(x, x[0])
    x[int(abs(doubled_first(x, 0.5))) % 2] -= doubled_first(x, x[1])
    return np.sum(x * x)


@njit
def operands_that_decide(x):
    one = (x[0] - x[0]) or x[1] * x[0]
    other = x[1] and x[2] * x[1]
    count = 0
    for i in range(len(x)):
        count += (i - 2 or 7) * (i and 3)
    return (one or x[2]) * other + (x[0] > 100.0 or x[1]) * count


MATRIX, VECTOR = rng.normal(size=(5, 6)), rng.normal(size=6)
SQUARE = rng.normal(size=(2, 3, 3))


@njit
def sum_of_sums(x):
    s, t = 0.0, 0.0
    for i in range(len(x)):
        s += x[i]
        t += s * x[i - 1]
    return t


@njit
def sum_before_the_update(x):
    s, t = 0.0, 1.0
    for i in range(len(x)):
        s -= t * x[i - 1]
        t += x[i]
    return s + t


@njit
def sum_of_sums_in_nested_loops(x):
    s, t = 0.0, 0.0
    for i in range(len(x)):
        for j in range(i):
            s += x[j]
        if x[i] > 0.0:
            for j in range(2):
                t -= s * x[j]
    return t


@numba.njit
def ends_of_loops(x, level):
    s = x[0]
    for i in range(2, len(x)):
        for j in range(2, i):
            if i % j == 0:
                s += x[j] * x[i]
                break
        else:
            if x[i] > level:
                continue
            s += x[i] ** 3
        s *= x[1]
    else:
        s *= x[0]
    while s > level:
        s *= x[2]
        if s < 0.0:
            break
    else:
        return s * s
    return -s


@numba.njit
def pairs_of_different_lengths(x):
    s = 0.0
    for a, b, c in zip(x, x[1:], x[:3]):  # noqa: B905 - Numba has no strict=
        s += a * b * b * c
    return s


CASES = {
    "else of a loop": (ends_of_loops, (np.array([0.3, 0.7, 0.4, 0.6, 0.5, 0.9]), 0.1), 0),
    "else of a loop, skipped": (ends_of_loops, (np.array([0.3, 0.7, -0.4, 0.6, 0.5, 0.9]), 0.01), 0),
    "zip ends with the shortest": (pairs_of_different_lengths, (VECTOR,), 0),
    "sum of sums": (sum_of_sums, (VECTOR,), 0),
    "sum before the update": (sum_before_the_update, (VECTOR,), 0),
    "sum of sums in nested loops": (sum_of_sums_in_nested_loops, (VECTOR,), 0),
    "seidel": (seidel, (MATRIX, 3), 0),
    "predators": (predators, (np.array([1.0, 0.8, 0.6, 1.2]), 50), 0),
    "jumps": (jumps, (np.array([0.3, -1.0, 1.2, 0.8]), 3), 0),
    "early return of a tuple": (from_pair, (np.array([0.9, 0.2, 2.8, 2.5]), 2.0), 0),
    "early return of a tuple, none found": (from_pair, (np.array([0.9, 0.2, 2.8, 2.5]), 9.0), 1),
    "early return": (jumps, (np.array([0.9, 2.2, 2.8, 2.5]), 9), 0),
    "newton": (newton, (3.0, 1e-9), 0),
    "heun": (heun, (VECTOR, 3, 0.1), 0),
    "heun, a number": (heun, (VECTOR, 3, 0.1), 2),
    "whole arrays": (whole, (VECTOR, rng.normal(size=6)), 0),
    "matrices 0": (matrices, (SQUARE[0], SQUARE[1], rng.normal(size=3)), 0),
    "matrices 1": (matrices, (SQUARE[0], SQUARE[1], rng.normal(size=3)), 1),
    "tuples": (tuples, (0.7, (0.3, 0.8)), 0),
    "backward loops": (backward_loops, (VECTOR,), 0),
    "last seen": (last_seen, (VECTOR,), 0),
    "local arrays": (local_arrays, (VECTOR, 3), 0),
    "operands that decide": (operands_that_decide, (np.array([0.3, 0.7, 0.4]),), 0),
    "updates by a call that writes": (updates_by_a_call_that_writes, (np.array([0.3, 0.7, 0.4]),), 0),
    "no iterations": (predators, (np.array([1.0, 0.8, 0.6, 1.2]), 0), 0),
    "two elements": (backward_loops, (np.array([1.5, 2.0]),), 0),
    "columns in reverse order": (heun, (MATRIX[:, ::-1][2], 2, 0.1), 0),
}


def difference(f, args, number, step=1e-6):
    """The central differences of `f` with respect to one argument."""

    def value(change):
        shifted = copy.deepcopy(args)
        return f(*shifted[:number], shifted[number] + change, *shifted[number + 1 :])

    if not isinstance(args[number], np.ndarray):
        return (value(step) - value(-step)) / (2 * step)
    result = np.zeros(args[number].shape)
    for index in np.ndindex(result.shape):
        unit = np.zeros(result.shape)
        unit[index] = step
        result[index] = (value(unit) - value(-unit)) / (2 * step)
    return result


@pytest.mark.parametrize("name", CASES)
def test_a_gradient_equals_differences(name):
    f, args, number = CASES[name]
    mine, plain = copy.deepcopy(args), copy.deepcopy(args)
    value, gradient = jt.njit_value_and_grad(f, argnums=number)(*mine)
    np.testing.assert_allclose(value, f(*plain), rtol=1e-12)
    for one, other in zip(mine, plain, strict=True):
        np.testing.assert_array_equal(one, other, "the arguments are not those that the function leaves")
    np.testing.assert_allclose(gradient, difference(f, args, number), rtol=2e-6, atol=2e-6)


@njit
def update_by_view(x):
    x[1:] *= x[:-1]
    row = x[:]
    row += x[::-1]
    return np.sum(x * x)


@njit
def update_matrix_by_row(a):
    a += a[0]
    a -= a.T
    a[1:] /= a[:-1] + 7.0
    return np.sum(a * a)


@njit
def update_ints_by_view(x, count):
    count[1:] += count[:-1]
    return np.sum(x**count)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (update_by_view, (VECTOR,)),
        (update_matrix_by_row, (rng.normal(size=(4, 4)),)),
        (update_ints_by_view, (np.array([0.5, 2.0, 3.0]), np.array([1, 1, 1]))),
    ],
)
def test_an_update_by_a_view_of_the_same_array_reads_new_elements_as_numba_does(f, args):
    mine, plain = copy.deepcopy(args), copy.deepcopy(args)
    value, gradient = jt.njit_value_and_grad(f)(*mine)
    np.testing.assert_allclose(value, f(*plain), rtol=1e-12)
    np.testing.assert_allclose(mine[0], plain[0], rtol=1e-12)
    np.testing.assert_allclose(gradient, difference(f, args, 0), rtol=1e-5, atol=1e-5)


def test_a_tuple_of_one_argument_gives_a_tuple():
    (gradient,) = jt.njit_grad(product_of, argnums=(1,))(3.0, 4.0)
    assert gradient == 3.0
    assert jt.njit_grad(product_of, argnums=1)(3.0, 4.0) == 3.0


@njit
def product_of(x, y):
    return x * y


@njit
def folded_return(x):
    k = 1
    for i in range(2):
        for j in range(2):
            if k % 2 == 0:
                return x[i] * x[j]
    return 3.0 * x[0]


def test_a_return_that_cannot_be_reached():
    np.testing.assert_array_equal(jt.njit_grad(folded_return)(np.ones(2)), [3.0, 0.0])


@pytest.mark.parametrize("seed", range(3))
def test_a_random_program(seed):
    """Numba compiles these; the tests of `fuzz` run the generated code of many more as Python."""
    f, text = random_program(seed)
    args = random_arguments(seed)
    mine, plain = copy.deepcopy(args), copy.deepcopy(args)
    value, gradients = jt.njit_value_and_grad(f, argnums=(0, 1, 2))(*mine)
    np.testing.assert_allclose(value, f(*plain), rtol=1e-10, err_msg=text)
    np.testing.assert_allclose(mine[:2], plain[:2], rtol=1e-10, err_msg=text)
    numbers = np.random.default_rng(seed)
    directions = [numbers.normal(size=5), numbers.normal(size=5), numbers.normal(), None]
    expected, smooth = directional_difference(lambda *a: f(*copy.deepcopy(a)), args, directions, 1e-5)
    if smooth:
        found = sum(np.sum(g * d) for g, d in zip(gradients, directions, strict=False))
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4, err_msg=text)


def test_float32_arguments_have_float32_gradients():
    x = VECTOR.astype(np.float32)
    gradient = jt.njit_grad(last_seen)(x)
    assert gradient.dtype == np.float32
    np.testing.assert_allclose(gradient, jt.njit_grad(last_seen)(VECTOR), rtol=1e-4)
    assert isinstance(jt.njit_grad(newton)(np.float32(3.0), 1e-3), float)


def test_nothing_is_recorded_for_linear_loops():
    code = jt.njit_grad(seidel).inspect(MATRIX, 2)
    assert "floats" not in code
    assert "ints" not in code


def test_code_without_arguments_is_that_of_the_last_types():
    @numba.njit
    def square(x):
        return x * x

    gradient, tangent = jt.njit_grad(square), jt.njit_jvp(square)
    for function in (gradient, tangent):
        with pytest.raises(TypeError, match=r"inspect: .* call the gradient first"):
            function.inspect()
    square(2.0)
    assert gradient.inspect() == gradient.inspect(2.0)
    gradient(np.float32(2.0))
    assert gradient.inspect() == gradient.inspect(np.float32(2.0))
    tangent(1.0, 2.0)
    assert tangent.inspect() == tangent.inspect(1.0, 2.0)


def test_two_numbers_per_step_are_recorded_for_two_states():
    gradient = jt.njit_grad(predators)
    code = gradient.inspect(np.ones(4), 2)
    assert code.count("# kept:") == 2
    assert gradient.kept_bytes(np.ones(4), 100) == 100 * 2 * 8
    assert "ints" not in code


def test_njit_code_calls_a_gradient():
    global_gradient = jt.njit_grad(heun)

    @njit(nogil=True)
    def descend(gradient, u, steps):
        for _ in range(steps):
            u = u - 0.1 * gradient(u, 2, 0.1)
        return u

    @njit
    def descend_by_closure(u, steps):
        for _ in range(steps):
            u = u - 0.1 * global_gradient(u, 2, 0.1)
        return u

    expected = VECTOR
    for _ in range(3):
        expected = expected - 0.1 * global_gradient(expected, 2, 0.1)
    np.testing.assert_allclose(descend(global_gradient, VECTOR, 3), expected, rtol=1e-12)
    np.testing.assert_allclose(descend_by_closure(VECTOR, 3), expected, rtol=1e-12)


def test_keywords_and_closures():
    def gradient(factor):
        @njit
        def scaled(x, power=2):
            return factor * x**power

        return jt.njit_grad(scaled)

    one, other = gradient(2.0), gradient(3.0)
    assert one(3.0) == 12.0
    assert other(x=3.0) == 18.0
    assert other(3.0, 3) == 81.0


@njit
def iterate(x):
    y = 1.0
    for _ in range(50):
        y -= (y - x / (y * y)) / 3.0
    return y


@njit
def iterate_vjp(g, out, x):
    return g * out / (3.0 * x)


@njit
def by_rule(x):
    return 2.0 * iterate(x)


def test_a_rule_replaces_the_source():
    jt.njit_rule(iterate, iterate_vjp)
    gradient = jt.njit_grad(by_rule)
    assert "for" not in gradient.inspect(8.0)
    np.testing.assert_allclose(gradient(8.0), 1 / 6)
    with pytest.raises(TypeError, match="the cotangent, the result and the 1 operands"):
        jt.njit_rule(iterate, iterate)


def test_overlapping_arguments_are_refused():
    memory = np.ones(8)

    @njit
    def shifted(a, b):
        a[0] = b[1] * 2.0
        return np.sum(a)

    @njit
    def read_only(a, b):
        return np.sum(a * b)

    with pytest.raises(ValueError, match=r"arguments a and b of shifted overlap in memory"):
        jt.njit_grad(shifted)(memory[:6], memory[2:])
    assert jt.njit_grad(shifted)(memory[:4], memory[4:])[0] == 0.0
    np.testing.assert_array_equal(jt.njit_grad(read_only)(memory, memory), memory)


def test_arguments_in_one_buffer_are_refused_only_if_they_share_elements():
    @njit
    def written(a, b):
        for i in range(len(a)):
            a[i] = a[i] * b[i] + 0.5
        return np.sum(a * b)

    gradient = jt.njit_grad(written, (0, 1))
    choose = np.random.default_rng(0)
    refused = {False: 0, True: 0}
    for _ in range(200):
        memory = choose.normal(size=24)
        count = choose.integers(1, 5)
        steps = choose.choice([1, 2, 3, -1, -2], size=2)
        starts = [choose.integers(0, 24 - (count - 1) * abs(step)) for step in steps]
        a, b = (
            memory[at : at + (count - 1) * abs(step) + 1][:: abs(step)][:: np.sign(step)]
            for at, step in zip(starts, steps, strict=True)
        )
        expected = b * b, a * b + (a * b + 0.5)
        try:
            np.testing.assert_allclose(gradient(a, b), expected)
            assert not np.shares_memory(a, b)
        except ValueError:
            refused[np.shares_memory(a, b)] += 1
    assert refused[True] > 0
    assert refused[False] < 20
    rows = np.ones((3, 2))
    np.testing.assert_array_equal(gradient(rows[:, 0], rows[:, 1])[0], 1.0)


def refused(f, *args, argnums=0):
    """The message of the error that a gradient raises."""
    with pytest.raises(jt.NoGradientError) as caught:
        jt.njit_grad(f, argnums)(*args)
    return str(caught.value)


@njit
def swaps(u):
    v = u.copy()
    for _ in range(3):
        v[0] = u[1] * u[0]
        u, v = v, u
    return u[0]


@njit
def uses_a_list(x):
    items = [x]
    items.append(x * x)
    return items[1]


@njit
def spectrum_of(x):
    return np.abs(np.roots(x)).sum()


@njit
def recurses(x, n):
    if n == 0:
        return x
    return x * recurses(x, n - 1)


@njit
def returns_an_array(x):
    return x * 2.0


@njit
def indexes_by_array(x, which):
    return np.sum(x[which, which])


@njit
def comprehends(x):
    return sum([v * v for v in x])


@njit
def defines(x):
    total = 0.0
    for k in range(1):

        def double(v):
            return v * 2.0

        total += double(x[k])
    return total


@njit
def visits(x):
    total = 0.0
    for v in np.nditer(x):
        total += v.item()
    return total


@njit
def counts(x):
    return len(x)


@njit
def orthogonal(x):
    return np.sum(np.linalg.qr(x)[0])


def test_a_wide_matrix_has_no_derivative_of_qr():
    line = orthogonal.py_func.__code__.co_firstlineno + 2
    with pytest.raises(ValueError, match=rf"test_njit_grad.py:{line}: .*at least as many rows as columns"):
        jt.njit_grad(orthogonal)(np.ones((2, 3)))


@pytest.mark.parametrize(
    ("f", "args", "parts"),
    [
        (swaps, (np.ones(3),), ["`v`", "refer to another array", "u[:] = v"]),
        (uses_a_list, (2.0,), ["the method append is not supported", "items.append(x * x)"]),
        (spectrum_of, (np.ones(3),), ["np.roots(x)", "roots", "jt.njit_rule"]),
        (recurses, (2.0, 3), ["recursion", "Write a loop"]),
        (returns_an_array, (np.ones(3),), ["the result must be a float"]),
        (
            indexes_by_array,
            (np.ones((3, 3)), np.array([0, 1])),
            ["x[which, which]", "only one array can be an index"],
        ),
        (comprehends, (np.ones(3),), ["ListComp", "Fill an array in a loop"]),
        (defines, (np.ones(3),), ["def double(v):", "Define the function outside, with @numba.njit"]),
        (visits, (np.ones(3),), ["np.nditer(x)", "Use np.ndindex, or a loop over range"]),
        (counts, (np.ones(3),), ["def counts", "returns int64", "the result must be a float"]),
    ],
)
def test_unsupported_code_is_refused_with_its_line(f, args, parts):
    message = refused(f, *args)
    for part in [*parts, "njit_grad: ", "test_njit_grad.py:"]:
        assert part in message


def test_wrong_arguments():
    with pytest.raises(TypeError, match="only floats and arrays of floats have gradients"):
        jt.njit_grad(predators, 1)(np.ones(4), 2)
    with pytest.raises(TypeError, match=r"numba\.njit is needed"):
        jt.njit_grad(lambda x: x)
    with pytest.raises(ValueError, match="requires argument 2"):
        jt.njit_grad(predators, 2)
    with pytest.raises(ValueError, match="each once"):
        jt.njit_grad(predators, (0, -2))
    with pytest.raises(TypeError, match="takes no specs"):
        jt.njit_value_and_grad(predators, jt.TensorSpec([4], jt.float64))


def test_effects_happen_once(capfd):
    @njit
    def prints(x):
        for i in range(3):
            print("step", i)
            x *= x
        if x < 0:
            raise ValueError("negative")
        return x

    np.testing.assert_allclose(jt.njit_grad(prints)(1.1), 8 * 1.1**7)
    assert capfd.readouterr().out == "step 0\nstep 1\nstep 2\n"


def test_a_vector_of_cotangents_for_an_array_result():
    vjp = gradient_of_dispatcher(returns_an_array, 0, "vjp", "njit_grad", False)
    np.testing.assert_array_equal(vjp(np.array([1.0, 5.0]), np.ones(2)), [2.0, 10.0])


def test_threads_derive_a_gradient_once(monkeypatch):
    derive, calls = njit_callable.gradient_dispatcher, []
    entered, waiting = threading.Event(), threading.Event()

    def counted(*args):
        calls.append(args)
        entered.set()
        waiting.wait(10)
        return derive(*args)

    monkeypatch.setattr(njit_callable, "gradient_dispatcher", counted)
    gradient = jt.njit_grad(product_of)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(gradient, 3.0, 4.0)
        assert entered.wait(10)
        second = pool.submit(gradient, 3.0, 4.0)
        threading.Timer(0.2, waiting.set).start()
        assert first.result() == second.result() == 4.0
    assert len(calls) == 1


@pytest.mark.parametrize("step", ["check_derivable", "gradient_dispatcher"])
def test_gradients_are_derived_under_the_lock_of_numbas_compiler(monkeypatch, step):
    """Numba's types are not made for several threads: it raises ``generator already executing``."""
    original, locked = getattr(njit_callable, step), []

    def noted(*args):
        locked.append(global_compiler_lock.is_locked())
        return original(*args)

    monkeypatch.setattr(njit_callable, step, noted)
    assert jt.njit_grad(product_of)(3.0, 4.0) == 4.0
    assert locked == [True]


@njit
def counts_last(x, n):
    count = 0
    if n > 3:
        x[0] *= x[1]
    else:
        while count < n:
            count += 1
            if x[count - 1] < 0.0:
                break
    return x[0] * x[0] * count


def test_the_adjoint_of_a_branch_may_be_an_empty_loop():
    np.testing.assert_allclose(jt.njit_grad(counts_last)(np.array([1.5, 3.0]), 2), [6.0, 0.0])


@njit
def larger(x, y):
    return max(x, y)


@njit
def named_like_a_builtin(x, max, add_into):
    return larger(x, 0.5) * max + add_into


def test_a_parameter_may_have_the_name_of_a_function_that_the_code_calls():
    assert jt.njit_grad(named_like_a_builtin, (0, 1, 2))(2.0, 3.0, 1.0) == (3.0, 2.0, 1.0)


def with_square(square):
    def decorate(f):
        f.square = square
        return f

    return decorate


@with_square(njit(lambda x: x * x))
def cube(x):
    return x**3


def test_a_lambda_is_not_taken_for_the_function_that_it_decorates():
    assert "only functions written with `def` have gradients" in refused(cube.square, 3.0)
