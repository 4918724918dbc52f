"""Special functions of one variable inside transforms, and derivatives where their formulas change."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp

import jittape as jt
from jittape.errors import DTypeError
from special_references import scaled_i, scaled_k

#: name -> arguments inside of the domain, on both sides of each change of formula.
POINTS = {
    "erfinv": [-0.95, -0.3, 0.2, 0.86],
    "erfcinv": [1e-20, 0.1, 0.9, 1.95],
    "erfcx": [-2.0, 0.1, 3.0, 30.0],
    "ndtr": [-9.0, -0.6, 0.6, 2.0],
    "ndtri": [1e-20, 0.07, 0.5, 0.98],
    "log_ndtr": [-30.0, -0.8, 0.3, 5.0],
    "bessel_i0": [-13.0, 0.1, 2.0, 20.0],
    "bessel_i0e": [-13.0, 0.1, 2.0, 20.0],
    "bessel_i1": [-13.0, 0.1, 2.0, 20.0],
    "bessel_i1e": [-13.0, 0.1, 2.0, 20.0],
    "bessel_j0": [-7.0, 0.1, 2.0, 20.0],
    "bessel_j1": [-7.0, 0.1, 2.0, 20.0],
    "bessel_k0": [0.1, 0.9, 1.1, 20.0],
    "bessel_k0e": [0.1, 0.9, 1.1, 20.0],
    "bessel_k1": [0.1, 0.9, 1.1, 20.0],
    "bessel_k1e": [0.1, 0.9, 1.1, 20.0],
    "bessel_y0": [0.1, 0.9, 6.0, 20.0],
    "bessel_y1": [0.1, 0.9, 6.0, 20.0],
    "dawsn": [-12.0, 0.1, 3.0, 8.0],
    "expint": [-3.0, -0.5, 0.4, 15.0],
    "fresnel_cos": [-2.0, 0.1, 1.0, 5.0],
    "fresnel_sin": [-2.0, 0.1, 1.0, 5.0],
    "spence": [0.1, 0.95, 1.5, 4.0],
    "sinc": [-3.3, 0.0, 0.1, 1.7],
    "logcosh": [-30.0, 0.0, 0.1, 2.0],
}

CHANGES = {
    "erfcx": (10.0,),
    "dawsn": (10.0,),
    "bessel_i1": (1.0,),
    "bessel_i0e": (30.0,),
    "bessel_i1e": (1.0, 30.0),
    "bessel_k0e": (30.0,),
    "bessel_k1e": (30.0,),
    "bessel_j1": (1.0,),
    "spence": (0.875, 1.125),
    "sinc": (0.5,),
}
"""Arguments at which the formula of the derivative changes."""

functions = pytest.mark.parametrize("name", POINTS)


def derivatives(function, x):
    """Return the first three derivatives at each element."""
    x = jt.constant(np.asarray(x, np.float64))
    with jt.GradientTape() as outer:
        outer.watch(x)
        with jt.GradientTape() as middle:
            middle.watch(x)
            with jt.GradientTape() as inner:
                inner.watch(x)
                y = function(x)
            first = inner.gradient(y, x)
        second = middle.gradient(first, x)
    third = outer.gradient(second, x)
    return [derivative.numpy() for derivative in (first, second, third)]


@functions
def test_inside_a_function_and_a_map(name):
    function, x = getattr(jt.math, name), np.array(POINTS[name])
    eager = function(jt.constant(x)).numpy()
    compiled = jt.function(function)
    np.testing.assert_allclose(compiled(jt.constant(x)).numpy(), eager, rtol=2e-15, atol=1e-16)
    mapped = jt.vectorized_map(function, jt.constant(x.reshape(2, 2))).numpy()
    np.testing.assert_allclose(mapped, eager.reshape(2, 2), rtol=2e-15, atol=1e-16)


@functions
def test_forward_mode_is_reverse_mode(name):
    function, x = getattr(jt.math, name), jt.constant(np.array(POINTS[name]))
    with jt.autodiff.ForwardAccumulator(x, jt.ones_like(x)) as accumulator:
        y = function(x)
    np.testing.assert_allclose(accumulator.jvp(y).numpy(), derivatives(function, x)[0], rtol=1e-14)


@functions
def test_shapes_and_dtypes(name):
    function = getattr(jt.math, name)
    assert function(jt.constant(np.zeros((0, 3)))).shape == (0, 3)
    scalar = function(jt.constant(np.float32(POINTS[name][1])))
    assert scalar.shape == ()
    assert scalar.dtype == jt.float32
    assert function(jt.constant(np.array([1], np.int64))).dtype == jt.float64
    assert function(jt.constant(np.ones(2, np.float16))).dtype == jt.float16
    with pytest.raises(DTypeError, match=rf"\[{name}\] needs a real floating dtype"):
        function(jt.constant(np.ones(2, np.complex64)))


def test_errors_of_gammaln_have_its_name():
    with pytest.raises(DTypeError, match=r"\[gammaln\] needs a real floating dtype"):
        jt.math.gammaln(jt.constant(np.ones(2, np.complex64)))


@pytest.mark.parametrize("name", CHANGES)
def test_derivatives_near_a_change_of_formula(name):
    """The derivatives of the two sides agree: those of a series and those of a quotient or a difference."""
    for place in CHANGES[name]:
        below, above = (derivatives(getattr(jt.math, name), place * (1 + side)) for side in (-1e-13, 1e-13))
        for low, high, tolerance in zip(below, above, (1e-11, 1e-10, 1e-7), strict=True):
            np.testing.assert_allclose(low, high, rtol=tolerance)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bessel_i1", [0.5, 0.0, 0.75 / 2]),
        ("bessel_j1", [0.5, 0.0, -0.75 / 2]),
        ("bessel_i0", [0.0, 0.5, 0.0]),
        ("bessel_j0", [0.0, -0.5, 0.0]),
        ("sinc", [0.0, -(math.pi**2) / 3, 0.0]),
        ("dawsn", [1.0, 0.0, -4.0]),
        ("erfcx", [-2 / math.sqrt(math.pi), 2.0, -8 / math.sqrt(math.pi)]),
        ("logcosh", [0.0, 1.0, 0.0]),
        ("erfinv", [math.sqrt(math.pi) / 2, 0.0, math.pi**1.5 / 4]),
    ],
)
@pytest.mark.parametrize("x", [0.0, 1e-200])
def test_derivatives_at_zero(name, expected, x):
    for got, wanted in zip(derivatives(getattr(jt.math, name), x), expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-14, atol=1e-150)


@pytest.mark.parametrize("x", [50.0, 1e6, 1e17])
def test_far_slopes_of_scaled_bessel_functions_do_not_cancel(x):
    with mp.workprec(200):
        i, k = [[f(order, mp.mpf(x)) for order in (0, 1)] for f in (scaled_i, scaled_k)]
        slopes = {
            "bessel_i0e": i[1] - i[0],
            "bessel_i1e": i[0] - i[1] - i[1] / x,
            "bessel_k0e": k[0] - k[1],
            "bessel_k1e": k[1] - k[0] - k[1] / x,
        }
    tolerance = 1e-14 if x > 60 else 1e-11  # the reference has 110 bits up to 60
    for name, slope in slopes.items():
        found = derivatives(getattr(jt.math, name), x)[0]
        np.testing.assert_allclose(found, float(slope), rtol=tolerance)


def test_tails_of_the_normal_distribution():
    x = np.array([-1e5, -40.0, -30.0])
    first, second, _ = derivatives(jt.math.log_ndtr, x)
    with mp.workdps(60):
        slopes = [
            mp.sqrt(2 / mp.pi) / (mp.exp(v * v / 2) * mp.erfc(-v / mp.sqrt(2))) for v in map(mp.mpf, x[1:])
        ]
    np.testing.assert_allclose(first[1:], [float(s) for s in slopes], rtol=1e-14)
    np.testing.assert_allclose(second, 1 / x**2 - 1, rtol=1e-5)
    assert jt.math.ndtr(np.float64(-38.0)).numpy() > 0
    np.testing.assert_allclose(jt.math.ndtri(jt.math.ndtr(x[2:])).numpy(), x[2:], rtol=1e-14)


def test_the_phase_of_fresnel_derivatives_is_exact():
    x = np.array([12345.678, 1e9 + 0.5, 3e30])
    with mp.workprec(600):
        angles = [mp.pi / 2 * mp.mpf(float(v)) ** 2 for v in x]
        cosines, sines = [float(mp.cos(a)) for a in angles], [float(mp.sin(a)) for a in angles]
    np.testing.assert_allclose(derivatives(jt.math.fresnel_cos, x)[0], cosines, atol=1e-15)
    np.testing.assert_allclose(derivatives(jt.math.fresnel_sin, x)[0], sines, atol=1e-15)


def test_the_namespace_special_has_the_same_functions():
    for name in jt.math.special.__all__:
        assert getattr(jt.math.special, name) is getattr(jt.math, name)
