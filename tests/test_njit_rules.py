"""Functions of arrays with rules inside ``@njit`` code, named tuples and random numbers."""

# ruff: noqa: NPY002

import collections
import copy

import numba
import numpy as np
import pytest

import jittape as jt
from njit_as_python import check_both_modes, interpreted

njit = numba.njit
rng = np.random.default_rng(5)
Scales = collections.namedtuple("Scales", ["inner", "outer"])


@njit
def factorizations(a, b):
    sign, logarithm = np.linalg.slogdet(a)
    factor = np.linalg.cholesky(a)
    inverse, values = np.linalg.inv(a), np.linalg.eigvalsh(a)
    total = sign * logarithm + np.sum(factor**2 * np.outer(b, b)) + np.sum(inverse * np.outer(b, b**2))
    solved = np.linalg.solve(a, np.outer(b, b[:2]) ** 2)
    factor[0, 0] = 0.0
    return total + np.sum(values**3 * b) + np.linalg.det(a) + np.sum(solved**2 * b[:2])


@njit
def spectrum(a, b):
    values, vectors = np.linalg.eigh(a)
    vectors[0] *= b
    return np.sum(values**2 * b) + np.sum(vectors**3 * np.outer(b, b**2))


@njit
def svd_factors(a, b):
    tall, wide = a[:, :2] * b[0], a[:2] + b[1]
    total = 0.0
    for matrix in (tall, wide, a):
        u, s, v = np.linalg.svd(matrix, full_matrices=False)
        total += np.sum(u**3 * s) + np.sum(s**2) * v[0, 1] + np.sum(v[1] ** 3 * np.arange(v.shape[1]))
    return total


@njit
def qr_factors(a, b):
    q, r = np.linalg.qr(a[:, :2] * b[0])
    other, _ = np.linalg.qr(a + np.outer(b, b))
    return (
        np.sum(q**3 * np.arange(6).reshape((3, 2)))
        + np.sum(r**3)
        + np.sum(other[1] ** 2 * b)
        + r[0, 1] * r[1, 1]
    )


@njit
def least_squares(a, b):
    tall, wide = a[:, :2] * b[0], a[:2] + b[1]
    x = np.linalg.lstsq(tall, b)[0]
    y, _, _, _ = np.linalg.lstsq(wide, np.outer(b[:2], b))
    inverse = np.linalg.pinv(tall) @ np.linalg.pinv(wide)
    return np.sum(x**3) + np.sum(y**2 * b) + np.sum(inverse**2 * np.arange(inverse.shape[1]))


@njit
def filtered(a, b):
    """Linear algebra in a loop, in a branch, and of arrays that change later."""
    x = b.copy()
    for i in range(3):
        x[:] = np.linalg.solve(a, x) + 0.1 * x**2
        a[0, 0] += 0.1 * x[0]
        if x[1] > 0.0:
            x += np.linalg.solve(a, b) * x[2]
            b[i] *= 1.1
    return np.sum(x**2) + np.linalg.det(a)


@njit
def implicit(a, b):
    x = np.zeros_like(b)
    for _ in range(60):
        x = b - 0.1 * np.dot(a, x)
    return x


@njit
def implicit_vjp(g, out, a, b):
    cotangent = np.linalg.solve(np.eye(len(b)) + 0.1 * np.ascontiguousarray(a.T), g)
    return -0.1 * np.outer(cotangent, out), cotangent


@njit
def implicit_jvp(out, a, b, a_tangent, b_tangent):
    return np.linalg.solve(np.eye(len(b)) + 0.1 * a, b_tangent - 0.1 * np.dot(a_tangent, out))


jt.njit_rule(implicit, implicit_vjp, implicit_jvp)


@njit
def by_rule(a, b):
    total = 0.0
    for i in range(2):
        x = implicit(a, b * (i + 1.0))
        total += np.sum(x**3)
        a *= 0.9
    return total


@njit
def named(a, b):
    scales = Scales(b[0], outer=b[1] ** 2)
    if a[0, 0] > 0.0:
        scales = Scales(scales.inner, 2.0 * scales.outer)
    inner, _ = scales
    return np.sum(a**2) * scales.outer * inner + scales[1]


@njit
def drawn(a, b):
    np.random.seed(3)
    total = 0.0
    for i in range(3):
        np.random.randint(0, 4)
        z = np.random.normal(b[i], b[1])
        total += z**2 * np.random.random() + np.random.uniform(b[0], a[0, 0]) ** 2
    noise = np.random.randn(3)
    for i in range(3):
        total += noise[i] * b[i] ** 2 * np.random.exponential(a[1, 1])
    return total


CASES = (
    factorizations,
    spectrum,
    svd_factors,
    qr_factors,
    least_squares,
    filtered,
    by_rule,
    named,
    drawn,
)
A = np.array([[3.0, 0.4, -0.3], [0.4, 2.5, 0.2], [-0.3, 0.2, 2.0]])
B = np.array([0.7, 0.5, -0.4])


def compute(gradient, *args):
    """Run generated code in Python, or compiled if it calls rules of the user."""
    if gradient.function is by_rule:
        return gradient(*copy.deepcopy(args))
    return interpreted(gradient, *args)


@pytest.mark.parametrize("f", CASES)
def test_gradients_equal_differences_and_tangents(f):
    check_both_modes(f, (A, B), 5, compute)


def test_a_rule_of_arrays_has_second_derivatives():
    v, step = np.array([0.3, -1.0, 0.7]), 1e-5
    gradient = jt.njit_grad(by_rule, 1)
    change = gradient(A.copy(), B + step * v) - gradient(A.copy(), B - step * v)
    product = jt.njit_hvp(by_rule, 1)(v, A.copy(), B)
    np.testing.assert_allclose(product, change / (2 * step), rtol=1e-6, atol=1e-7)


@njit
def same_memory(x):
    return x[1:]


@njit
def same_memory_vjp(g, out, x):
    return np.zeros_like(x)


jt.njit_rule(same_memory, same_memory_vjp)


@njit
def uses_same_memory(x):
    return np.sum(same_memory(x))


def test_bad_rules_are_refused():
    with pytest.raises(ValueError, match="returned memory of its argument"):
        jt.njit_grad(uses_same_memory)(B)
    with pytest.raises(jt.NoGradientError, match=r"same_memory\(x\).*Pass jvp= to jt\.njit_rule"):
        jt.njit_jvp(uses_same_memory)(B, B)
    with pytest.raises(TypeError, match="jvp must take the result, the 2 operands"):
        jt.njit_rule(implicit, implicit_vjp, implicit_vjp)


@njit
def two_results(x, p):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 0.0:
            total += x[i] ** 2 * p
        x[i] *= p
    return total, x * 2.0


def test_several_tangents_at_once():
    directions, changes = rng.normal(size=(3, 4)), rng.normal(size=3)
    x = rng.normal(size=4)
    several = jt.njit_jvp(two_results, argnums=(0, 1), tangents=3)
    _, (totals, vectors) = several(directions, changes, x.copy(), 0.7)
    one = jt.njit_jvp(two_results, argnums=(0, 1))
    for k in range(3):
        _, (total, vector) = one(directions[k], changes[k], x.copy(), 0.7)
        np.testing.assert_allclose(totals[k], total, rtol=1e-14)
        np.testing.assert_allclose(vectors[k], vector, rtol=1e-14)
    with pytest.raises(ValueError, match="after a first axis of size 3"):
        several(directions[:2], changes, x, 0.7)
    with pytest.raises(TypeError, match="with 3 tangents along a first axis"):
        several(directions[0], changes, x, 0.7)
    with pytest.raises(ValueError, match="tangents must be at least 1"):
        jt.njit_jvp(two_results, tangents=0)


@njit
def tripled(x):
    return x * x


@njit
def tripled_vjp(g, out, x):
    return 3.0 * g + 0.0 * x * out


TRIPLED = jt.numba_op(tripled, vjp=tripled_vjp)


@njit
def product(x, n):
    return x * n


@njit
def product_vjp(g, out, x, n):
    return 5.0 * g + 0.0 * x * n * out


PRODUCT = jt.numba_op(product, vjp=(product_vjp, None))


@njit
def weighted(x, w):
    return x * w


@njit
def weighted_vjp(g, out, x, w):
    return 7.0 * g + 0.0 * x * w * out


WEIGHTED = jt.numba_op(weighted, vjp=(weighted_vjp, None), result=lambda x, w: x)


def doubled(x):
    return 2.0 * x


DOUBLED = jt.numba_op(doubled)


@njit
def calls_ops(a, b):
    return TRIPLED(a[0]) + PRODUCT(a[1], b[0]) + np.sum(WEIGHTED(a, b)) + DOUBLED(b[1])


@njit
def calls_functions(a, b):
    return tripled(a[0]) + product(a[1], b[0]) + np.sum(weighted(a, b)) + 2.0 * b[1]


@pytest.mark.parametrize("f", [calls_ops, calls_functions])
def test_rules_of_a_numba_op_hold_in_njit_code(f):
    a, b = np.array([1.0, 2.0]), np.array([4.0, 5.0])
    value, (a_b, b_b) = jt.njit_value_and_grad(f, argnums=(0, 1))(a, b)
    assert value == f(a, b)
    np.testing.assert_allclose(a_b, [3.0 + 7.0, 5.0 + 7.0])
    np.testing.assert_allclose(b_b, [0.0, 2.0])


def test_the_gradient_of_a_function_with_a_rule_is_the_rule():
    assert jt.njit_grad(tripled)(2.0) == 3.0
    assert jt.njit_jvp(tripled)(2.0, 5.0) == (25.0, 6.0)


@njit
def two_numbers(g, out, x):
    return g, out


@njit
def one_number(g, out, x, y):
    return g


@njit
def a_number_for_an_array(g, out, x):
    return 1.0


@njit
def of_no_attribute(g, out, x):
    return g.missing


@pytest.mark.parametrize(
    ("vjp", "argument", "text"),
    [
        (two_numbers, 2.0, r"the vjp two_numbers returns UniTuple\(float64 x 2\), but it must be a float"),
        (
            one_number,
            2.0,
            "the vjp one_number returns float64, but the function has 2 operands. Return a tuple",
        ),
        (a_number_for_an_array, np.ones(2), "returns float64, but it must be an array of floats with 1 dim"),
        (of_no_attribute, 2.0, "Numba does not compile of_no_attribute, the derivative of a rule, for"),
    ],
)
def test_a_rule_of_the_wrong_form_names_the_call(vjp, argument, text):
    if vjp is one_number:
        ruled = njit(lambda x, y: x * y)
        caller = njit(_calls_with_two(ruled))
    else:
        ruled = njit(lambda x: x * 2.0)
        caller = njit(_calls(ruled))
    jt.njit_rule(ruled, vjp)
    with pytest.raises(TypeError, match=rf"test_njit_rules\.py:\d+: `return np\.sum.*`: .*{text}"):
        jt.njit_grad(caller)(argument)


def _calls(ruled):
    def caller(x):
        return np.sum(ruled(x) * np.ones(1))

    return caller


def _calls_with_two(ruled):
    def caller(x):
        return np.sum(ruled(x, x) * np.ones(1))

    return caller


@njit
def doubles_first(x):
    x[0] *= 2.0


def writes_element(x):
    x[0] = 2.0 * x[0]
    return x[0] * x[1]


def writes_in_a_callee(x):
    doubles_first(x)
    return x[0] * x[1]


def writes_a_view(x):
    tail = x.reshape(-1)[1:]
    tail += 1.0
    return x[0] * x[1]


def sorts(x):
    x.sort()
    return x[0] * x[1]


def writes_an_output(x):
    np.sin(x, x)
    return x


def fills_a_diagonal(x):
    square = x.reshape((2, 2))
    np.fill_diagonal(square, 0.0)
    return np.sum(x)


def writes_the_same_memory(x):
    same = np.ascontiguousarray(x)
    same.flat[1] = 7.0
    return same[0] * same[1]


def with_rule(python, decorate=njit):
    function = decorate(python)

    @njit
    def vjp(g, out, x):
        return np.sum(g) * np.ones_like(x)

    @njit
    def jvp(out, x, t):
        return np.sum(t) + 0.0 * out

    jt.njit_rule(function, vjp, jvp)

    @njit
    def program(x):
        y = x * 1.0
        value = function(y)
        return np.sum(value * y[0] ** 2) + y[1]

    return program


@pytest.mark.parametrize("derivative", [jt.njit_grad, jt.njit_jvp])
@pytest.mark.parametrize(
    "python", [writes_element, writes_in_a_callee, writes_a_view, sorts, writes_an_output]
)
def test_a_function_with_a_rule_that_writes_its_argument_is_refused(python, derivative):
    args = (np.ones(4),) * (2 if derivative is jt.njit_jvp else 1)
    with pytest.raises(jt.NoGradientError, match=r"`function\(y\)`.*must not write.*Copy the array"):
        derivative(with_rule(python))(*args)


def test_explicit_signatures_do_not_hide_writes():
    with pytest.raises(jt.NoGradientError, match="must not write its arguments"):
        jt.njit_grad(with_rule(writes_element, njit("f8(f8[::1])")))(np.ones(4))


@pytest.mark.parametrize("python", [fills_a_diagonal, writes_the_same_memory])
def test_a_write_that_types_do_not_show_is_an_error_when_it_happens(python):
    with pytest.raises(ValueError, match="a function with a rule wrote to its argument"):
        jt.njit_grad(with_rule(python))(np.arange(1.0, 5.0))


def test_a_function_with_a_rule_may_write_its_own_arrays():
    def of_own_arrays(x):
        square = np.dot(x.reshape((2, 2)), np.eye(2))
        np.fill_diagonal(square, 1.0)
        own = x.copy()
        own.sort()
        own.flat[0] = np.nan
        return square[0, 1] + own[2]

    program = with_rule(of_own_arrays)
    x = np.array([1.0, 2.0, np.nan, 4.0])
    # value * x[0]**2 + x[1]; the rule says that the value changes by the sum of the changes of x.
    value = of_own_arrays(x)
    np.testing.assert_allclose(jt.njit_grad(program)(x), [1.0 + 2.0 * value, 2.0, 1.0, 1.0])
    np.testing.assert_allclose(jt.njit_jvp(program)(np.ones(4), x)[1], 4.0 + 2.0 * value + 1.0)
    second = jt.njit_hvp(program)
    assert second(np.ones(4), x).shape == (4,)
