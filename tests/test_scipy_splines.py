"""Splines with conditions at the ends, their derivatives and integrals, and functions beside them: as in SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.interpolate
import scipy.special

import jittape as jt
from jittape.scipy import interpolate, special

X = np.array([0.0, 1.0, 2.5, 3.0, 4.2, 6.0])
Y = np.array([1.0, -1.0, 2.0, 0.5, 3.0, 1.0])
ROWS = np.arange(12.0).reshape(6, 2) ** 1.5
AT = np.array([-0.5, 0.0, 0.3, 2.5, 3.7, 6.0, 6.5])
ENDS = [
    None, "not-a-knot", "natural", "clamped", "periodic", "abc", ("natural", None), ("natural", "clamped"),
    ([(1, 0.5)], [(2, 0.0)]), ([(1, 0.5), (2, 0.0)], None), ([(1, 0.5), (2, 0.3)], [(1, 0.0), (2, 1.0)]),
    ([(1, 0.0)],), (None, [(1, 2.0)]), 3,
]  # fmt: skip
KNOTS = [0.0, 0, 0, 0, 1, 2, 3, 3, 3, 3]
COEFFICIENTS = np.array([1.0, 2, 0, 1, 3, 1])


def check_as_scipy(call: Any, rtol: float = 1e-9) -> None:
    """Check that a call gives SciPy's values, or raises an error of the type that SciPy raises."""
    try:
        wanted = call(scipy.interpolate)
    except (ValueError, TypeError, NotImplementedError) as error:
        with pytest.raises((type(error), ValueError)):
            call(interpolate)
        return
    found = call(interpolate)
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=1e-9)
    assert np.shape(found) == np.shape(wanted)


@pytest.mark.parametrize("ends", ENDS, ids=repr)
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_ends_of_interpolating_splines(ends: Any, k: int):
    check_as_scipy(lambda m: m.make_interp_spline(X, Y, k, bc_type=ends)(AT))
    check_as_scipy(lambda m: m.make_interp_spline(X, Y, k, bc_type=ends).t)
    check_as_scipy(lambda m: m.make_interp_spline(X, Y, k, bc_type=ends).c)


def test_ends_of_splines_through_rows():
    for ends in ("natural", ([(1, [0.5, 1.0])], [(2, [0.0, 1.0])]), ([(1, 0.5)], [(2, 0.0)])):
        check_as_scipy(lambda m, ends=ends: m.make_interp_spline(X, ROWS, 3, bc_type=ends)(AT))
    check_as_scipy(lambda m: m.make_interp_spline(X, ROWS.T, 3, bc_type="clamped", axis=1)(AT))
    check_as_scipy(lambda m: m.CubicSpline(X, ROWS, bc_type=((1, 0.5), (2, 0.0)))(AT))
    check_as_scipy(lambda m: m.CubicSpline(X, ROWS, bc_type=((1, [0.5, 1.0]), "natural"))(AT))


@pytest.mark.parametrize("inner", [[2.5, 3.0], [1.0, 3.0], [2.5], [1.0, 2.0, 3.0], [2.0, 3.0, 4.2]], ids=repr)
@pytest.mark.parametrize("ends", [None, ([(1, 0.0)], None), ([(2, 0.0)], [(1, 1.0)])], ids=repr)
def test_splines_with_given_knots(inner: Any, ends: Any):
    knots = np.array([0.0] * 4 + inner + [6.0] * 4)
    check_as_scipy(lambda m: m.make_interp_spline(X, Y, 3, knots, ends)(AT))


@pytest.mark.parametrize("ends", ["natural", "periodic", ([(1, 0.5)], [(2, 0.0)])], ids=repr)
def test_gradients_of_ends(ends: Any):
    def through(x: Any, y: Any) -> Any:
        y = jt.concat([y, y[:1]], 0) if ends == "periodic" else y
        return interpolate.make_interp_spline(x, y, 3, bc_type=ends)(AT[2:5])

    jt.check_gradient(through, X, Y[:-1] if ends == "periodic" else Y)
    if ends != "periodic":
        jt.check_gradient(
            lambda y, s: interpolate.make_interp_spline(X, y, 3, bc_type=([(1, s)], [(2, 0.0)]))(AT), Y, 0.5
        )


def test_gradients_of_given_knots():
    def through(inner: Any, y: Any) -> Any:
        knots = jt.concat([np.zeros(4), inner, np.full(4, 6.0)], 0)
        return interpolate.make_interp_spline(X, y, 3, knots)(AT[2:5])

    jt.check_gradient(through, np.array([2.2, 3.1]), Y)


@pytest.mark.parametrize("extrapolate", [True, False, "periodic"])
def test_derivatives_and_integrals_of_splines(extrapolate: Any):
    for order in (-2, -1, 0, 1, 2, 3, 4):
        for name in ("derivative", "antiderivative"):

            def derived(m: Any, name: str = name, order: int = order) -> Any:
                return getattr(m.BSpline(KNOTS, COEFFICIENTS, 3, extrapolate), name)(order)

            check_as_scipy(lambda m, derived=derived: derived(m)(AT))
            check_as_scipy(lambda m, derived=derived: derived(m).t)
    for limits in ((0.5, 2.0), (2.0, 0.5), (-1.0, 5.0), (-4.5, 9.2), (0.5, 0.5)):
        for own in (None, False):
            check_as_scipy(
                lambda m, limits=limits, own=own: m.BSpline(
                    np.array(KNOTS), COEFFICIENTS, 3, extrapolate
                ).integrate(*limits, own)
            )
    jt.check_gradient(lambda c, a: interpolate.BSpline(KNOTS, c, 3).integrate(a, 2.0), COEFFICIENTS, 0.5)


def test_splines_with_given_slopes():
    for case in ((Y, Y**2, 0), (ROWS, ROWS, 0), (ROWS.T, ROWS.T, 1), (ROWS, Y, 0), (Y, ROWS, 0)):
        for extrapolate in (None, False, "periodic"):
            arguments = (X, *case, extrapolate)
            for order in (0, 1):
                check_as_scipy(lambda m, given=arguments, nu=order: m.CubicHermiteSpline(*given)(AT, nu))
    jt.check_gradient(lambda x, y, s: interpolate.CubicHermiteSpline(x, y, s)(AT[4:5]), X, Y, Y**2)


def test_pchip_interpolate():
    for order in (0, 1, 2):
        check_as_scipy(lambda m, order=order: m.pchip_interpolate(X, Y, AT, order))
    check_as_scipy(lambda m: np.stack([np.asarray(d) for d in m.pchip_interpolate(X, Y, AT, [0, 1])]))


GRID = (np.array([0.0, 1.0, 2.0, 4.0]), np.array([0.0, 1.5, 3.0]))
VALUES = np.sin(np.arange(12.0)).reshape(4, 3)
POINTS = [
    (0.5, 0.2), [0.5, 0.2], np.array([[0.5, 0.2], [3.0, 2.9]]), (0.5, np.array([0.2, 0.3])), (9.0, 0.2),
]  # fmt: skip


@pytest.mark.parametrize("at", POINTS, ids=repr)
@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_points_on_grids(at: Any, method: str):
    for values in (VALUES, np.stack([VALUES, VALUES**2], -1)):
        for options in ({}, {"bounds_error": False}, {"bounds_error": False, "fill_value": None}):

            def once(m: Any, values: Any = values, options: Any = options) -> Any:
                return np.asarray(m.interpn(GRID, values, at, method, **options))

            def twice(m: Any, values: Any = values, options: Any = options) -> Any:
                return np.asarray(m.RegularGridInterpolator(GRID, values, method, **options)(at))

            check_as_scipy(once)
            check_as_scipy(twice)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "complex64", "complex128"])
def test_lambertw_is_computed_in_double_precision(dtype: str):
    z = np.array([1, 2], dtype)
    for found in (special.lambertw(jt.constant(z)), scipy.special.lambertw(jt.constant(z))):
        assert found.dtype == np.complex128
        np.testing.assert_allclose(found, scipy.special.lambertw(z), rtol=1e-14)


# ---- solutions of piecewise polynomials ------------------------------------------------------------------------------


def test_solutions_of_splines_are_scipys_and_differentiable() -> None:
    x, y = np.array([0.0, 1.0, 2.5, 3.0, 4.0]), np.array([1.0, -1.0, 0.5, -2.0, 3.0])
    reference = scipy.interpolate.CubicSpline(x, y)

    def wanted(c: Any, x: Any, level: Any) -> Any:
        return np.sum(scipy.interpolate.PPoly(c, x).solve(level) ** 2)

    ours = interpolate.CubicSpline(x, y)
    np.testing.assert_allclose(ours.solve(0.3).numpy(), reference.solve(0.3), rtol=1e-12)
    np.testing.assert_allclose(ours.roots().numpy(), reference.roots(), rtol=1e-12)
    np.testing.assert_allclose(ours.derivative().roots().numpy(), reference.derivative().roots(), rtol=1e-12)
    arguments = [reference.c, x, np.float64(0.3)]
    gradients = jt.grad(
        lambda c, x, y: jt.reduce_sum(interpolate.PPoly(c, x).solve(y) ** 2), argnums=(0, 1, 2)
    )(*arguments)
    rng = np.random.default_rng(0)
    for i, gradient in enumerate(gradients):
        move = np.zeros_like(arguments[i]) + 1e-6 * rng.normal(size=np.shape(arguments[i]))
        ends = [wanted(*arguments[:i], arguments[i] + s * move, *arguments[i + 1 :]) for s in (1, -1)]
        np.testing.assert_allclose(np.sum(gradient * move), (ends[0] - ends[1]) / 2, rtol=1e-6)
    curve = jt.grad(jt.grad(lambda y: jt.reduce_sum(ours.solve(y) ** 2)))(np.float64(0.3))
    ends = [wanted(reference.c, x, 0.3 + h) for h in (1e-3, 0.0, -1e-3)]
    np.testing.assert_allclose(curve, (ends[0] - 2 * ends[1] + ends[2]) / 1e-6, rtol=1e-4)


def test_solutions_at_jumps_are_knots() -> None:
    c, x = np.array([[1.0, 1.0], [-3.0, 2.0]]), jt.Variable(np.array([0.0, 1.0, 2.0]))
    with jt.GradientTape() as tape:
        roots = interpolate.PPoly(c, x).roots(extrapolate=False)
    np.testing.assert_array_equal(roots, scipy.interpolate.PPoly(c, x.numpy()).roots(extrapolate=False))
    np.testing.assert_array_equal(tape.jacobian(roots, x), [[0.0, 1.0, 0.0]])
    assert interpolate.PPoly(c, x).roots(discontinuity=False, extrapolate=False).shape == (0,)
    with pytest.raises(ValueError, match=r"\[PPoly.solve\] a piece equals 0.0 everywhere"):
        interpolate.PPoly(np.zeros((2, 2)), x).roots()
    with pytest.raises(ValueError, match="one real result each and one number y"):
        interpolate.PPoly(np.zeros((2, 2, 3)), x).roots()
