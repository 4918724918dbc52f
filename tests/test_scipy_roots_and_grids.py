"""SciPy's functions for one method of a root, B-splines and interpolation on grids, beside SciPy."""

import numpy as np
import pytest
import scipy.interpolate
import scipy.optimize

import jittape as jt
from jittape.scipy import interpolate, optimize

RNG = np.random.default_rng(0)
BRACKETING = ["bisect", "brenth", "brentq", "ridder", "toms748"]


def slope(f, a, h=1e-5):
    return float(f(a + h) - f(a - h)) / (2 * h)


# ---- roots -----------------------------------------------------------------------------------------------------------


def cubic(x, a, b):
    return x**3 + a * x - b


@pytest.mark.parametrize("name", [*BRACKETING, "newton"])
def test_one_root(name):
    ends = (1.0,) if name == "newton" else (0.0, 5.0)
    for a, b in RNG.uniform(0.5, 4.0, (3, 2)):
        found = getattr(optimize, name)(cubic, *ends, args=(a, b))
        wanted = getattr(scipy.optimize, name)(cubic, *ends, args=(a, b))
        assert isinstance(found, jt.Tensor)
        assert found.shape == ()
        np.testing.assert_allclose(found, wanted, rtol=1e-9)
        gradients = jt.grad(lambda a, b: getattr(optimize, name)(cubic, *ends, args=(a, b)), (0, 1))(a, b)
        exact = -wanted / (3 * wanted**2 + a), 1 / (3 * wanted**2 + a)
        np.testing.assert_allclose(gradients, exact, rtol=1e-6)
    traced = jt.function(lambda a, b: getattr(optimize, name)(cubic, *ends, args=(a, b)))
    np.testing.assert_allclose(
        [traced(jt.constant(a), jt.constant(b)) for _ in range(3)], [wanted] * 3, rtol=1e-9
    )
    root, result = getattr(optimize, name)(cubic, *ends, args=(a, b), full_output=True)
    assert result.converged
    assert float(root) == float(result.root)


def basin(x, a, b):
    return (x - a) ** 2 + b * x**4


@pytest.mark.parametrize(
    "options",
    [{}, {"bracket": (0.0, 1.0)}, {"method": "golden"}, {"bounds": (-1.0, 2.0)}, {"bounds": (-1.0, 0.3)}],
)
def test_a_minimum_of_one_number(options):
    """Values are SciPy's; a bound that holds the minimum does not move."""

    def lowest(a, b):
        return optimize.minimize_scalar(basin, args=(a, b), **options).x

    a, b = 1.3, 0.7
    wanted = scipy.optimize.minimize_scalar(basin, args=(a, b), **options)
    found = optimize.minimize_scalar(basin, args=(a, b), **options)
    assert (found.success, found.nfev) == (wanted.success, wanted.nfev)
    np.testing.assert_allclose([found.x, found.fun], [wanted.x, wanted.fun], rtol=1e-9)
    curvature = 2 + 12 * b * wanted.x**2
    exact = (0.0, 0.0) if wanted.x < 0.5 else (2 / curvature, -4 * wanted.x**3 / curvature)
    traced = jt.function(lowest)
    for function in (lowest, traced, traced):
        np.testing.assert_allclose(function(a, b), wanted.x, rtol=1e-9)
        np.testing.assert_allclose(jt.grad(function, (0, 1))(a, b), exact, rtol=1e-6)
    second = jt.grad(jt.grad(lambda a: lowest(a, b)))(a)
    assert float(second) == pytest.approx(-24 * b * wanted.x * exact[0] ** 2 / curvature, rel=1e-6)


def test_minima_between_bounds_and_failures():
    found = optimize.fminbound(basin, -1.0, 2.0, args=(1.3, 0.7), full_output=True)
    wanted = scipy.optimize.fminbound(basin, -1.0, 2.0, args=(1.3, 0.7), full_output=True)
    np.testing.assert_allclose(np.array([float(x) for x in found]), wanted, rtol=1e-9)
    with pytest.raises(jt.NoGradientError, match=r"\[minimize_scalar\] the solver did not find a solution"):
        jt.grad(
            lambda a: (
                optimize.minimize_scalar(lambda x: jt.sin(x) * a, options={"maxiter": 1}, method="golden").x
            )
        )(1.0)


@pytest.mark.parametrize("name", BRACKETING)
def test_refusals_of_a_bracket(name):
    with pytest.raises(ValueError, match="different signs"):
        getattr(optimize, name)(lambda x: x**2 + 1.0, -1.0, 1.0)
    with pytest.raises(RuntimeError, match=rf"\[{name}\] no root found in . iterations.*pass disp=False"):
        getattr(optimize, name)(lambda x: x**3 - 1.7, -1.0, 9.0, maxiter=2)
    assert np.isfinite(float(getattr(optimize, name)(lambda x: x**3 - 1.7, -1.0, 9.0, maxiter=2, disp=False)))


def test_newton_and_its_variants():
    for options in ({"x1": 2.0}, {"fprime2": np.cos}, {"fprime": np.sin}):
        np.testing.assert_allclose(
            optimize.newton(lambda x: x**3 - 2.0, 1.0, **options), 2.0 ** (1 / 3), rtol=1e-8
        )
    with pytest.raises(ValueError, match=r"\[newton\] x0 must be a number; use optimize.fsolve"):
        optimize.newton(lambda x: x, np.ones(2))
    with pytest.raises(RuntimeError, match="newton"):
        optimize.newton(lambda x: x**2 + 1.0, 3.0, maxiter=5)


def system(x, a):
    return jt.stack([x[0] ** 2 + x[1] - a[0], x[0] - jt.sin(x[1]) * a[1]])


def test_fsolve():
    def of_numpy(x, a):
        return [x[0] ** 2 + x[1] - a[0], x[0] - np.sin(x[1]) * a[1]]

    for a in RNG.uniform(0.5, 1.5, (3, 2)):
        found = optimize.fsolve(system, [1.0, 1.0], (a,))
        wanted = scipy.optimize.fsolve(of_numpy, [1.0, 1.0], (a,))
        np.testing.assert_allclose(found, wanted, rtol=1e-7)
        jt.check_gradient(lambda a: optimize.fsolve(system, [1.0, 1.0], (a,)), a)
    x, info, flag, message = optimize.fsolve(system, [1.0, 1.0], (a,), full_output=True)
    expected = scipy.optimize.fsolve(of_numpy, [1.0, 1.0], (a,), full_output=True)
    np.testing.assert_allclose(x, wanted, rtol=1e-7)
    assert (flag, message) == expected[2:]
    assert set(info) <= {*expected[1], "njev"}
    with pytest.warns(RuntimeWarning, match=r"\[fsolve\]"):
        optimize.fsolve(lambda x: x**2 + 1.0, [1.0])


# ---- splines ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extrapolate", [True, False, "periodic"])
@pytest.mark.parametrize("k", [0, 1, 2, 3, 5])
def test_b_splines(k, extrapolate):
    t = np.sort(RNG.uniform(0.0, 3.0, 9 + k))
    t[3] = t[4] if k > 1 else t[3]
    c, x = RNG.normal(size=(8, 2)), np.array([[-0.5, 0.2, np.nan], [1.1, 2.0, 3.7]])
    ours, scipys = (m.BSpline(t, c, k, extrapolate) for m in (interpolate, scipy.interpolate))
    for nu in range(k + 2):
        np.testing.assert_allclose(ours(x, nu), scipys(x, nu), rtol=1e-7, atol=1e-7)
    assert ours(x).dtype == np.float64
    assert ours(x).shape == (2, 3, 2)


def test_gradients_of_b_splines():
    t, c, x = (
        np.array([0.0, 0.1, 0.3, 0.7, 1.1, 1.4, 2.0, 2.2]),
        RNG.normal(size=4),
        np.array([0.8, 0.95, 1.05]),
    )
    jt.check_gradient(lambda t, c, x: interpolate.BSpline(t, c, 3)(x), t, c, x)
    jt.check_gradient(lambda c, x: interpolate.BSpline(t, c, 3)(x, 1), c, x)
    rows = RNG.normal(size=(2, 4))
    np.testing.assert_allclose(
        interpolate.BSpline(t, rows, 3, axis=1)(x), scipy.interpolate.BSpline(t, rows, 3, axis=1)(x)
    )


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_interpolating_splines(k):
    x, y = np.sort(RNG.uniform(0.0, 3.0, 9)), RNG.normal(size=(2, 9))
    at = np.linspace(-0.2, 3.2, 11)
    ours, scipys = (m.make_interp_spline(x, y, k, axis=1) for m in (interpolate, scipy.interpolate))
    np.testing.assert_allclose(ours(at), scipys(at), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ours(at[3:8], 1), scipys(at[3:8], 1), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ours.t, scipys.t)
    np.testing.assert_allclose(
        ours.c, np.moveaxis(scipys.c, 0, 0) if scipys.c.shape == ours.c.shape else scipys.c.T
    )
    jt.check_gradient(lambda y: interpolate.make_interp_spline(x, y, k)(at[3:8]), y[0])


def test_refusals_of_splines():
    with pytest.raises(ValueError, match=r"\[BSpline\] t must be a vector of at least 8 knots for degree 3"):
        interpolate.BSpline(np.arange(7.0), np.ones(3), 3)
    with pytest.raises(ValueError, match=r"\[BSpline\] x must be in ascending order"):
        interpolate.BSpline([0.0, 2.0, 1.0, 3.0], np.ones(2), 1)
    with pytest.raises(ValueError, match=r"\[BSpline\] c must have at least 2 elements along axis 0"):
        interpolate.BSpline([0.0, 1.0, 2.0, 3.0], np.ones(1), 1)
    with pytest.raises(ValueError, match=r"more than k=3 points"):
        interpolate.make_interp_spline(np.arange(3.0), np.arange(3.0))


# ---- grids -----------------------------------------------------------------------------------------------------------

GRID = (np.array([0.0, 0.5, 2.0]), np.array([-1.0, 0.0, 1.0, 3.0]))
VALUES = RNG.normal(size=(3, 4, 2))


@pytest.mark.parametrize("fill", [np.nan, 7.0, None])
@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_regular_grids(method, fill):
    xi = RNG.uniform((-0.5, -1.5), (2.5, 3.5), (40, 2))
    xi[0, 1] = np.nan
    xi[1:4] = [[0.25, 0.5], [0.0, 3.0], [2.0, -1.0]]
    ours, scipys = (
        m.RegularGridInterpolator(GRID, VALUES, method, bounds_error=False, fill_value=fill)
        for m in (interpolate, scipy.interpolate)
    )
    np.testing.assert_allclose(ours(xi), scipys(xi), rtol=1e-12)
    np.testing.assert_allclose(ours(xi.reshape(4, 10, 2)), scipys(xi.reshape(4, 10, 2)), rtol=1e-12)
    np.testing.assert_allclose(ours((xi[:, 0], 0.5)), scipys((xi[:, 0], 0.5)), rtol=1e-12)
    np.testing.assert_allclose(ours(xi[5]), scipys(xi[5]), rtol=1e-12)
    np.testing.assert_allclose(jt.function(ours.__call__)(jt.constant(xi)), scipys(xi), rtol=1e-12)


def test_gradients_of_regular_grids():
    xi = RNG.uniform((0.1, -0.9), (0.4, 0.9), (5, 2))
    jt.check_gradient(lambda v, xi: interpolate.RegularGridInterpolator(GRID, v)(xi), VALUES, xi)
    jt.check_gradient(lambda g: interpolate.RegularGridInterpolator((g, GRID[1]), VALUES)(xi), GRID[0])
    single = interpolate.RegularGridInterpolator((GRID[1],), VALUES[0], bounds_error=False, fill_value=None)
    np.testing.assert_allclose(single([[0.5], [4.0]])[0], 0.5 * (VALUES[0, 1] + VALUES[0, 2]))


def test_refusals_of_regular_grids():
    f = interpolate.RegularGridInterpolator(GRID, VALUES)
    with pytest.raises(ValueError, match=r"\[RegularGridInterpolator\] a value \(3.0\) in xi is above"):
        f([[3.0, 0.0]]).numpy()
    traced = jt.function(lambda x: f(x))
    for _ in range(3):
        with pytest.raises(ValueError, match="in xi is above"):
            traced(jt.constant([[3.0, 0.0]])).numpy()
    with pytest.raises(ValueError, match="splines are in interpolate.CubicSpline"):
        interpolate.RegularGridInterpolator(GRID, VALUES, "cubic")
    with pytest.raises(ValueError, match="xi must have 2 coordinates in its last dimension"):
        f(np.ones(3))
    with pytest.raises(ValueError, match="points must be one vector of at least 2 numbers"):
        interpolate.RegularGridInterpolator(GRID[::-1], VALUES)
    with pytest.raises(ValueError, match="x must be strictly increasing"):
        interpolate.RegularGridInterpolator((GRID[0][::-1], GRID[1]), VALUES)
