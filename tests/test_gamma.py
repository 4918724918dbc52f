"""The gamma and beta families, and small elementwise functions: accuracy, batches, functions, wrong arguments."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp

import jittape as jt
from gamma_references import beta_samples, betainc_curvature, betaln
from gamma_references import betainc as betainc_reference
from gamma_references import betainc_slope as betainc_slope_reference
from host_schedules import schedule
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.core.interpret import interpret
from jittape.errors import DTypeError, ShapeError
from jittape.primitives.elementwise.arithmetic import multiply
from jittape.primitives.elementwise.incomplete_beta import betainc_op, betainc_slope_op
from jittape.vectormath import NumPyMath
from programs import compiled, program_of
from ulp_table import Compiled, ulp_error

RNG = np.random.default_rng(5)
A, X = RNG.uniform(0.4, 9.0, 6), RNG.uniform(0.4, 9.0, 6)
#: Functions of two positive numbers, differentiable in both.
BINARY = [jt.math.igamma, jt.math.igammac, jt.math.random_gamma_grad, jt.math.betaln]
BINARY += [lambda a, x: jt.math.zeta(a + 1.0, x)]
BINARY += [lambda a, x: jt.math.betainc(a, x, 0.3), lambda a, x: jt.math.betainc(a, 2.0, x / 10)]


def total(function):
    return lambda a, x: jt.reduce_sum(function(a, x) * jt.sin(jt.range(6, dtype=jt.float64)))


# ---- accuracy --------------------------------------------------------------------------------------------------------


def test_betaln_is_accurate_next_to_its_zeros():
    p = np.exp(RNG.uniform(-5, 7, 400))
    q = np.exp(RNG.uniform(-5, 7, 400))
    truth = np.array([float(betaln(mp.mpf(a), mp.mpf(b))) for a, b in zip(p, q, strict=True)])
    with np.errstate(all="ignore"):
        found = NumPyMath().betaln(p, q), Compiled(lambda m, x, y: m.betaln(x, y), [np.float64] * 2)(p, q)
    for values in found:
        assert (abs(values - truth) <= 12 * np.finfo(float).eps * np.maximum(abs(truth), 1)).all()


def test_betaln_of_small_numbers_is_accurate():
    """Differences of `lgamma` and the rounding of the sum of the arguments once cost up to 18 units."""
    p, q = (
        np.append(RNG.uniform(0.01, 8, 400), [5e-324, 1e-310]),
        np.append(RNG.uniform(0.01, 8, 400), [5e-324, 3]),
    )
    truth = np.array([float(betaln(mp.mpf(a), mp.mpf(b))) for a, b in zip(p, q, strict=True)])
    with np.errstate(all="ignore"):
        found = NumPyMath().betaln(p, q), Compiled(lambda m, x, y: m.betaln(x, y), [np.float64] * 2)(p, q)
    for values in found:
        assert (abs(values - truth) <= 4 * np.finfo(float).eps * np.maximum(abs(truth), 1)).all()


def test_igammac_keeps_its_digits_where_igamma_is_nearly_1():
    a = np.array([1e-12, 1e-5, 0.3, 5.0, 800.0])
    x = np.array([0.2, 1e-3, 30.0, 60.0, 1400.0])
    truth = [float(mp.gammainc(mp.mpf(p), mp.mpf(y), regularized=True)) for p, y in zip(a, x, strict=True)]
    np.testing.assert_allclose(jt.math.igammac(a, x).numpy(), truth, rtol=2e-15)


def test_derivatives_by_large_parameters_are_accurate():
    """The sum of two large terms nearly cancels there; mpmath computes with 100 digits."""
    a, x = np.array([30.0, 900.0]), np.array([31.0, 880.0])
    with jt.GradientTape() as tape:
        tape.watch(p := jt.constant(a))
        y = jt.math.igamma(p, x)
    with mp.workdps(100):
        truth = [
            float(mp.diff(lambda b, y=y: mp.gammainc(b, 0, y, regularized=True), mp.mpf(b)))
            for b, y in zip(a, x, strict=True)
        ]
    np.testing.assert_allclose(tape.gradient(y, p).numpy(), truth, rtol=1e-14)


def test_samples_that_underflow_have_a_derivative():
    """Density and distribution function are 0 there, their ratio is not."""
    found = jt.math.random_gamma_grad(np.array([300.0, 1e-3]), np.array([1e-20, 1e-300])).numpy()
    # Near 0, P is x**a / gamma(a + 1), and the derivative -(x / a) (log(x) - digamma(a + 1)).
    a, x = (mp.mpf(300), mp.mpf(1e-3)), (mp.mpf(1e-20), mp.mpf(1e-300))
    truth = [float(-(v / b) * (mp.log(v) - mp.digamma(b + 1))) for b, v in zip(a, x, strict=True)]
    np.testing.assert_allclose(found, truth, rtol=1e-14)


def test_reparameterization_gives_the_derivative_of_the_mean():
    """The mean of a gamma distribution is its shape, whose derivative is 1."""
    samples = np.random.default_rng(0).gamma(2.5, size=200_000)
    assert float(jt.reduce_mean(jt.math.random_gamma_grad(2.5, samples))) == pytest.approx(1.0, abs=5e-3)


def test_betainc_of_tiny_parameters_keeps_the_digits_of_its_complement():
    """Next to 1, it is 1 minus a power of the distance, which is nearly 1."""
    a, b = np.array([0.5, 1.0, 20.0, 3e-7]), np.array([3e-7, 1e-12, 1e-5, 1e-9])
    x = 1 - np.array([2.2e-16, 1e-9, 1e-5, 1e-3])
    found = jt.math.betainc(a, b, x).numpy()
    for value, *point in zip(found, a, b, x, strict=True):
        with mp.workprec(300):
            truth = mp.betainc(*map(mp.mpf, point[:2]), 0, mp.mpf(point[2]), regularized=True)
        assert ulp_error(value, truth, np.float64) <= 4, point
        assert ulp_error(value, betainc_reference(*map(mp.mpf, point)), np.float64) <= 4, point


def test_betainc_at_subnormal_numbers_keeps_its_digits():
    """The product of x and a + b has few digits there, or none."""
    x = np.array([5e-324, 3e-322, 1e-310, 2e-290, 1e-200])
    for a, b in [(0.5, 1.0), (0.01, 0.01), (1e-5, 0.01), (0.5, 1e-10), (1e-300, 1e-300), (2.0, 3.0)]:
        found = jt.math.betainc(np.float64(a), np.float64(b), x).numpy()
        with mp.workdps(40):
            constant = mp.log(mp.beta(a, b) * a) if a > 1e-100 else mp.log(2)
            wanted = [float(mp.exp(mp.mpf(a) * mp.log(mp.mpf(value)) - constant)) for value in x]
        np.testing.assert_allclose(found, wanted, rtol=1e-14, err_msg=f"a={a}, b={b}")


def test_densities_at_subnormal_numbers_are_finite():
    """Parameters divided by x overflow there, and are multiplied by powers of x that are almost zero."""
    x = np.array([5e-324, 3e-322, 1e-310, 2e-290, 1e-200])
    for a in (0.3, 0.5, 1.0):
        found = jt.grad(lambda x, a=a: jt.reduce_sum(jt.math.betainc(a, np.float64(2.0), x)))(x)
        np.testing.assert_allclose(found, a * (a + 1) * x ** (a - 1), rtol=1e-12)
        found = jt.grad(lambda x, a=a: jt.reduce_sum(jt.math.igamma(np.float64(a), x)))(x)
        np.testing.assert_allclose(found, x ** (a - 1) / math.gamma(a), rtol=1e-12)


def test_betainc_and_its_gradient_are_compiled():
    def slope(a, b, x):
        return multiply(betainc_op.bind(a, b, x), betainc_slope_op.bind(a, b, x, order_a=1, order_b=0))

    operands = A, X, A / 10
    program = program_of(slope, *operands)
    assert all(isinstance(step.kernel, LoopKernel) for step in schedule(program).steps)
    np.testing.assert_allclose(compiled(program, operands), interpret(program, operands), rtol=1e-14)


@pytest.mark.parametrize("in_a", [True, False])
@pytest.mark.parametrize("compile_it", [True, False])
def test_derivatives_of_betainc_by_its_parameters_are_accurate(in_a, compile_it):
    """From 1e-8 to 1e5, and to within 1e-12 of 0 and 1."""
    a, b, x = beta_samples(np.random.default_rng(3 + in_a), np.float64, 120)
    usable = (a > 1e-8) & (a < 1e5) & (b > 1e-8) & (b < 1e5) & (x > 1e-12) & (x < 1 - 1e-12)
    a, b, x = a[usable], b[usable], x[usable]

    def slopes(a, b, x):
        return jt.grad(lambda *p: jt.reduce_sum(jt.math.betainc(*p, x)), argnums=int(not in_a))(a, b)

    found = jt.function(slopes)(*map(jt.constant, (a, b, x))) if compile_it else slopes(a, b, x)
    errors = [
        ulp_error(float(value), betainc_slope_reference(*map(mp.mpf, point), in_a), np.float64)
        for value, *point in zip(np.asarray(found), a, b, x, strict=True)
    ]
    assert max(errors) <= 20
    assert np.median(errors) < 1


CURVATURE_POINTS = [
    *[(2.5, 3.5, 0.3), (0.5, 0.5, 0.9), (1774.6, 91070.4, 0.019107), (26441.5, 2480.1, 0.91425)],
    *[(5.4e-5, 0.698, 1.7e-4), (0.367, 1.25e-5, 0.0098), (0.0105, 1.4e-6, 0.5), (3.4e-6, 0.0075, 1 - 1e-6)],
    *[(843.4, 74.3, 0.9203), (4.6, 7.9, 1e-8), (4.6, 7.9, 1 - 1e-8), (1e-5, 2e4, 1e-3), (30.0, 0.8, 0.999)],
    (3464.8, 28330.0, 0.109),
]


@pytest.mark.parametrize("orders", [(2, 0), (1, 1), (0, 2)])
def test_second_derivatives_of_betainc_by_its_parameters_are_accurate(orders, mode):
    a, b, x = np.array(CURVATURE_POINTS).T
    first, second = (int(order < 1) for order in (orders[0], orders[0] - 1))

    def slope(a, b):
        return jt.grad(lambda *p: jt.reduce_sum(jt.math.betainc(*p, x)), argnums=first)(a, b)

    for _ in range(2 if mode == "compiled" else 1):
        found = np.asarray(jt.grad(lambda *p: jt.reduce_sum(slope(*p)), argnums=second)(a, b))
    truth = [float(betainc_curvature(*point, orders)) for point in CURVATURE_POINTS]
    np.testing.assert_allclose(found, truth, rtol=2e-13)


def test_derivatives_of_betainc_next_to_its_ends_are_finite():
    a, b = np.array([1e-25, 1e-29, 5e-28, 3.0, 1e4]), np.array([4e-21, 7e-9, 1.1, 1e-20, 1e-9])
    x = np.array([3e-22, 2e-19, 6e-28, 1 - 1e-16, 1 - 1e-16])
    found = jt.grad(lambda a, b: jt.reduce_sum(jt.math.betainc(a, b, x)), argnums=(0, 1))(a, b)
    for values, in_a in zip(found, (True, False), strict=True):
        for value, *point in zip(values, a, b, x, strict=True):
            truth = float(betainc_slope_reference(*map(mp.mpf, point), in_a))
            assert value == pytest.approx(truth, rel=1e-9), point


def test_zeta_of_negative_numbers():
    """The terms change sign: they are summed in closed form around 0."""
    s, q = np.array([2.0, 3.0, 4.0, 5.0]), np.array([-0.5, -7.3, -20.75, -3.1])
    truth = []
    for power, start in zip(s.astype(int), q, strict=True):
        steps = int(np.ceil(-start))
        head = mp.fsum((mp.mpf(start) + k) ** -int(power) for k in range(steps))
        truth.append(float(head + mp.zeta(int(power), mp.mpf(start) + steps)))
    np.testing.assert_allclose(jt.math.zeta(s, q).numpy(), truth, rtol=1e-13)
    # At the poles as in TensorFlow.
    found = jt.math.zeta(np.array([2.0, 3.0, 2.0, 1.5]), np.array([0.0, 0.0, -2.0, -2.5])).numpy()
    np.testing.assert_array_equal(found, [np.inf, np.nan, np.inf, np.nan])


def polygamma_reference(order, x):
    """Return the derivative of digamma from the Hurwitz zeta function, which mpmath computes with an absolute error."""
    with mp.workdps(1000):
        return (-1) ** (order + 1) * mp.factorial(order) * mp.zeta(order + 1, mp.mpf(float(x)))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_polygamma_whose_factors_are_no_normal_numbers(dtype):
    """The factorial of an order may overflow, and the sum that it multiplies may underflow."""
    orders = [1, 1, 3, 40, 40, 100, 170, 50, 170 if dtype == "float64" else 20]
    x = np.array([1e30, 1e9, 1e12, 10.0, 12.5, 50.0, 40.0, 16.0, 1.0])
    if dtype == "float64":
        x = np.array([1e200, 1e160, 1e90, 10.0, 1e7, 1e4, 40.0, 1e6, 1.0])
    x = x.astype(dtype)
    truth = np.array([float(polygamma_reference(n, v)) for n, v in zip(orders, x, strict=True)]).astype(dtype)
    assert np.isfinite(truth).all()
    assert (truth != 0).all()

    def each_order(x):
        return jt.stack([jt.math.polygamma(n, x[i]) for i, n in enumerate(orders)])

    in_tensor = np.array(orders, dtype)
    for f in (each_order, lambda x: jt.math.polygamma(in_tensor, x)):
        for found in (f(x).numpy(), *[jt.function(f)(x).numpy() for _ in range(2)]):
            assert found.dtype == dtype
            np.testing.assert_allclose(found, truth, rtol=6 * np.finfo(dtype).eps)
    assert np.isnan(jt.math.polygamma(np.array([171.0, 2.5, -1.0], dtype), x[:3])).all()


def test_polygamma_near_its_poles(mode):
    """Below 0 the distance to the pole above is exact; close to a pole the terms of the sum overflow."""
    x = np.array([1e-110, -1e-110, 1e-5, -1e-5, -2 - 1e-9])
    for order in (1, 2, 50, 100):
        with mp.workdps(400):
            truth = [float(mp.polygamma(order, mp.mpf(v))) for v in x.tolist()]
        for n in (order, np.full(5, float(order))):
            np.testing.assert_allclose(jt.math.polygamma(n, x).numpy(), truth, rtol=1e-13)


def test_polygamma_of_high_orders_below_0(mode):
    """Halfway between integers, the terms next to the point cancel for even orders."""
    x = np.array([-0.5, -1.5, -7.5, -0.75, -1.3, -7.7, -30.2, -0.05])
    for order in (2, 4, 7, 8, 9, 10, 20, 50, 100, 131, 160, 170):
        truth = [float(polygamma_below_0(order, v)) for v in x.tolist()]
        for n in (order, np.full(8, float(order))):
            np.testing.assert_allclose(jt.math.polygamma(n, x).numpy(), truth, rtol=1e-12, err_msg=str(order))


def polygamma_below_0(order, x):
    """Return the derivative of digamma, whose recurrence leads to a positive number."""
    with mp.workdps(400):
        x, steps = mp.mpf(x), int(np.ceil(-x))
        total = mp.fsum((x + k) ** -(order + 1) for k in range(steps)) + mp.zeta(order + 1, x + steps)
        return (-1) ** (order + 1) * mp.factorial(order) * total


def test_zeta_of_large_exponents(mode):
    """The coefficients of the last terms overflow, or the first term does."""
    s = np.array([2e3, 1e5, 1e15, 1e300])
    for q, truth in [(1.0, 1.0), (0.5, np.inf), (2.0, 0.0), (9.5, 0.0), (1e10, 0.0)]:
        value, slope = jt.value_and_grad(lambda x: jt.reduce_sum(jt.math.zeta(x, q)))(s)  # noqa: B023
        assert value == len(s) * truth
        np.testing.assert_array_equal(slope, truth if q < 1 else 0.0)


def test_zeta_of_large_arguments(mode):
    """The result is a normal number although ``q**-s`` is none."""
    s, q = np.array([2.0, 3.0, 1.5]), np.array([1e160, 1e120, 1e300])
    truth = [float(mp.mpf(b) ** (1 - mp.mpf(a)) / (mp.mpf(a) - 1)) for a, b in zip(s, q, strict=True)]
    np.testing.assert_allclose(jt.math.zeta(s, q).numpy(), truth, rtol=1e-15)


def test_no_gradient_flows_to_the_order_of_polygamma():
    with jt.GradientTape() as tape:
        tape.watch(order := jt.constant([1.0, 2.0]))
        y = jt.math.polygamma(order, 2.0)
    with pytest.warns(jt.UnconnectedGradientWarning, match="polygamma"):
        assert tape.gradient(y, order) is None


# ---- transforms ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
def test_forward_mode_and_jacobians_agree_with_reverse_mode(function, mode):
    f = total(function)
    gradients = jt.grad(f, argnums=(0, 1))(A, X)
    tangents = RNG.standard_normal((2, 6))
    _, along = jt.jvp(f, (A, X), tuple(tangents))
    wanted = sum(float(np.sum(np.asarray(g) * t)) for g, t in zip(gradients, tangents, strict=True))
    assert float(along) == pytest.approx(wanted, rel=1e-12)
    jacobian = np.asarray(jt.jacobian(lambda a: function(a, X))(A))
    with jt.GradientTape() as tape:
        tape.watch(a := jt.constant(A))
        y = function(a, X)
    np.testing.assert_allclose(jacobian, np.diag(tape.gradient(y, a).numpy()), rtol=1e-12)


@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
def test_third_derivatives(function):
    """Compare with differences of the second derivative."""

    def second(a, order=2):
        f = lambda b: jt.reduce_sum(function(b, X))  # noqa: E731
        for _ in range(order):
            f = (lambda g: lambda b: jt.reduce_sum(jt.grad(g)(b)))(f)
        return f(a)

    step = 1e-4
    differences = (float(second(A + step)) - float(second(A - step))) / (2 * step)
    assert float(second(A, 3)) == pytest.approx(differences, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("function", [*BINARY, jt.truncatemod, jt.math.nextafter], ids=lambda f: f.__name__)
def test_in_a_function_and_in_a_loop(function):
    body = jt.function(
        lambda a, x: jt.scan(lambda s, p: s + function(p, x), jt.constant(a), jt.constant(0.0 * x))
    )
    expected = np.cumsum([np.asarray(function(p, X)) for p in A], axis=0)
    columns = np.repeat(A[:, None], 6, axis=1)
    for _ in range(3):
        np.testing.assert_allclose(body(columns, X).numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("exclusive", "reverse"), [(False, False), (True, False), (False, True), (True, True)]
)
def test_cumulative_logsumexp_has_finite_gradients_for_large_numbers(exclusive, reverse):
    x = np.array([0.0, 800.0, -900.0, 805.0])
    with jt.GradientTape() as tape:
        tape.watch(v := jt.constant(x))
        y = jt.math.cumulative_logsumexp(v, exclusive=exclusive, reverse=reverse)
        loss = jt.reduce_sum(jt.where(jt.is_finite(y), y, 0.0))
    order = x[::-1] if reverse else x
    weights = np.zeros(4)
    for i in range(4 - exclusive):
        part = np.exp(order[: i + 1] - np.logaddexp.reduce(order[: i + 1]))
        weights[: i + 1] += part
    np.testing.assert_allclose(
        tape.gradient(loss, v).numpy(), weights[::-1] if reverse else weights, atol=1e-15
    )


def test_saturate_cast_passes_gradients_of_numbers_in_range_only():
    with jt.GradientTape() as tape:
        tape.watch(x := jt.constant(np.array([1.0, 1e300, -1e300])))
        y = jt.saturate_cast(x, jt.float32)
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), [1.0, 0.0, 0.0])


# ---- wrong arguments -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: jt.math.igamma([1.0, 2.0], [1.0, 2.0, 3.0]), ShapeError, r"\[igamma\].*\(2,\).*\(3,\)"),
        (lambda: jt.math.igammac(1j, 2.0), DTypeError, r"\[igammac\].*complex"),
        (lambda: jt.math.random_gamma_grad(1.0, 2j), DTypeError, r"\[random_gamma_grad\].*complex"),
        (lambda: jt.math.betaln([1.0], 2j), DTypeError, r"\[betaln\].*complex"),
        (lambda: jt.math.betainc(1.0, 2.0, 1j), DTypeError, r"\[betainc\].*complex"),
        (
            lambda: jt.math.betainc([1.0, 2.0], [1.0, 2.0, 3.0], 0.5),
            ShapeError,
            r"\[betainc\].*\(2,\).*\(3,\)",
        ),
        (lambda: jt.math.lbeta(2.0), ShapeError, r"\[lbeta\].*scalar"),
        (lambda: jt.math.multigammaln([1.0], 0), ValueError, r"\[multigammaln\] d.*got 0"),
        (lambda: jt.math.polygamma(171, 1.0), ValueError, r"\[polygamma\] a, the order.*171"),
        (lambda: jt.truncatediv(1j, 2.0), DTypeError, r"\[truncatediv\].*complex"),
        (lambda: jt.truncatemod(True, False), DTypeError, r"\[truncatemod\].*bool"),
        (lambda: jt.math.nextafter(np.float16(1), 2.0), DTypeError, r"\[nextafter\].*float16.*cast"),
        (lambda: jt.saturate_cast(True, jt.int32), DTypeError, r"\[saturate_cast\].*bool"),
        (lambda: jt.unravel_index([[1]], [2, 2]), ShapeError, r"\[unravel_index\] indices.*\(1, 1\)"),
        (lambda: jt.unravel_index([1], []), ShapeError, r"\[unravel_index\] dims"),
        (lambda: jt.unravel_index([1.0], [2]), DTypeError, r"\[unravel_index\] indices.*float32"),
        (lambda: jt.unravel_index([0, 4], [2, 2]).numpy(), ValueError, r"indices.*0 to 3.*indices\[1\] = 4"),
        (lambda: jt.unravel_index([0, -1], [2, 2]).numpy(), ValueError, r"indices\[1\] = -1"),
        (lambda: jt.math.in_top_k([0], [[1, 2]], 1), DTypeError, r"\[in_top_k\] predictions.*int32"),
        (lambda: jt.math.in_top_k([0, 1], [[1.0, 2.0]], 1), ShapeError, r"\[in_top_k\].*\(2,\).*\(1, 2\)"),
        (lambda: jt.math.cumulative_logsumexp([1j]), DTypeError, r"\[cumulative_logsumexp\].*complex"),
        (lambda: jt.math.cumulative_logsumexp([1.0], axis=1), ValueError, r"\[cumulative_logsumexp\].*axis"),
        (
            lambda: jt.clip_by_average_norm([1.0], [1.0, 2.0]),
            ShapeError,
            r"\[clip_by_average_norm\] clip_norm",
        ),
    ],
)
def test_message(call, error, message, mode):
    with pytest.raises(error, match=message):
        call()


def test_an_index_out_of_range_in_a_compiled_function_ends_the_run(mode):
    f = jt.function(lambda i: jt.unravel_index(i, [2, 2]) + 0)
    for _ in range(3):
        np.testing.assert_array_equal(f(np.array([1, 2])).numpy(), [[0, 1], [1, 0]])
    with pytest.raises(ValueError, match=r"indices\[1\] = 4"):
        f(np.array([1, 4])).numpy()
    np.testing.assert_array_equal(f(np.array([3, 0])).numpy(), [[1, 0], [1, 0]])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_errors_of_cumulative_logsumexp_do_not_grow(dtype, mode):
    generator = np.random.default_rng(3)
    for spread, shift in ((1.0, 0.0), (10.0, 0.0), (0.01, -7.0), (30.0, -100.0)):
        x = (spread * generator.normal(size=400) + shift).astype(dtype)
        total, wanted = mp.mpf(0), []
        for element in x:
            total += mp.exp(mp.mpf(float(element)))
            wanted.append(float(mp.log(total)))
        for _ in range(2):
            found = jt.math.cumulative_logsumexp(x).numpy().astype(np.float64)
        size = np.maximum(np.maximum(np.abs(wanted), 1), np.abs(np.maximum.accumulate(x)))
        unit = np.spacing(size.astype(dtype)).astype(np.float64)
        assert np.max(np.abs(found - wanted) / unit) < (3.0 if mode == "compiled" else 4.0)


LBETA_SAMPLES = (
    [[5e10, 0.086], [0.086, 5e10, 2.0, 1e-5], [3e7, 1.15, 40.0], [7e100, 1.0], [2.5, 1e308], [1e-310, 1e-310]]
    + [[3.0, 4.9], [1e-300, 5.0], [1e10, 1.0, 1e-10], [7.0] * 20, [1e15, 3.0], [1e200, 1e-3], [8.0, 8.0]]
    + [np.exp(np.random.default_rng(n).uniform(-8, 25, n)).tolist() for n in range(2, 20)]
)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_lbeta_is_within_two_units_of_the_larger_of_one_and_the_result(dtype, mode):
    for sample in LBETA_SAMPLES:
        with np.errstate(over="ignore", under="ignore"):
            x = np.array(sample, dtype)
        if not (np.all(np.isfinite(x)) and np.all(x > 0)):
            continue
        with mp.workprec(3000):
            numbers = [mp.mpf(float(a)) for a in x]
            wanted = sum(map(mp.loggamma, numbers)) - mp.loggamma(sum(numbers))
        unit = float(np.spacing(dtype(max(1.0, abs(float(wanted))))))
        for _ in range(2 if mode == "compiled" and x.size < 4 else 1):
            found = float(jt.math.lbeta(x))
            assert abs(found - float(wanted)) <= 2 * unit, (x, found)


@pytest.mark.parametrize(
    ("x", "y"), [(1e10, 1.0), (1e15, 3.0), (7e100, 1.0), (5.0, 1e-300), (1e-310, 1e-310)]
)
def test_derivatives_of_the_beta_function_do_not_cancel(x, y, mode):
    with mp.workprec(3000):
        a, b = mp.mpf(x), mp.mpf(y)
        first = [mp.digamma(t) - mp.digamma(a + b) for t in (a, b)]
        second = mp.polygamma(1, a) - mp.polygamma(1, a + b)
    functions = {
        "betaln": lambda v: jt.math.betaln(v[0], v[1]),
        "lbeta": jt.math.lbeta,
    }
    for function in functions.values():
        found = np.asarray(jt.grad(function)(np.array([x, y])))
        np.testing.assert_allclose(found, [float(t) for t in first], rtol=1e-14)
        if x > 1:
            found = np.asarray(jt.hessian(function)(np.array([x, y])))[0, 0]
            np.testing.assert_allclose(found, float(second), rtol=1e-14, atol=1e-300)
