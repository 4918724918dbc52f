"""Interpolation, distances, image coordinates and convolutions of `jittape.scipy` against SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.interpolate
import scipy.ndimage
import scipy.signal
from scipy.spatial import distance as scipy_distance

import jittape as jt
from jittape.scipy import interpolate, ndimage, signal
from jittape.scipy.spatial import distance
from jittape.scipy.spatial.distance_metrics import PARAMETERS

# ---- interpolation ---------------------------------------------------------------------------------------------------

SPLINES: list[tuple[str, dict[str, Any]]] = [
    ("CubicSpline", {}),
    ("CubicSpline", {"bc_type": "natural"}),
    ("CubicSpline", {"bc_type": ("clamped", "not-a-knot")}),
    ("CubicSpline", {"bc_type": ("natural", "clamped"), "extrapolate": False}),
    ("PchipInterpolator", {}),
    ("Akima1DInterpolator", {}),
    ("Akima1DInterpolator", {"method": "makima", "extrapolate": True}),
]


@pytest.mark.parametrize(("name", "options"), SPLINES)
@pytest.mark.parametrize("n", [2, 3, 9])
def test_piecewise_cubics(name: str, options: dict[str, Any], n: int) -> None:
    """Values and derivatives of all orders, inside and outside, also with equal and with turning data."""
    rng = np.random.default_rng(n)
    x, y = np.cumsum(rng.uniform(0.5, 1.5, n)), rng.normal(size=(2, n, 3))
    points = rng.uniform(x[0] - 1, x[-1] + 1, (2, 5))
    for values in (y, np.round(y)):
        ours = getattr(interpolate, name)(x, values, axis=1, **options)
        reference = getattr(scipy.interpolate, name)(x, values, axis=1, **options)
        for nu in range(4):
            np.testing.assert_allclose(ours(points, nu).numpy(), reference(points, nu), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(ours(x).numpy(), values, atol=1e-12)
        np.testing.assert_allclose(ours.c.numpy(), reference.c[-4:], rtol=1e-9, atol=1e-9)
        for change in ("derivative", "antiderivative"):
            for nu in (1, 2, 4):
                one, other = (getattr(f, change)(nu)(points) for f in (ours, reference))
                np.testing.assert_allclose(one.numpy(), other, rtol=1e-8, atol=1e-8)
        a, b = x[0] + 0.1, x[-1] - 0.2
        np.testing.assert_allclose(
            ours.integrate(a, b).numpy(), reference.integrate(a, b), rtol=1e-9, atol=1e-9
        )


def test_piecewise_polynomials() -> None:
    rng = np.random.default_rng(0)
    x, c = np.array([0.0, 1.0, 1.5, 3.0]), rng.normal(size=(3, 3, 2))
    points = np.array([-0.5, 0.2, 1.0, 2.9, 4.0])
    for extrapolate in (True, False):
        ours, reference = (m.PPoly(c, x, extrapolate) for m in (interpolate, scipy.interpolate))
        np.testing.assert_allclose(ours(points).numpy(), reference(points))
        np.testing.assert_allclose(ours(points, 2).numpy(), reference(points, 2))
        np.testing.assert_allclose(ours.integrate(3.0, 0.2).numpy(), reference.integrate(3.0, 0.2))
    jt.check_gradient(
        lambda c, x, t: jt.reduce_sum(interpolate.PPoly(c, x).antiderivative()(t) ** 2), c, x, points + 0.05
    )
    with pytest.raises(jt.ShapeError, match=r"\[PPoly\] c must have shape"):
        interpolate.PPoly(c, x[:-1])
    with pytest.raises(AttributeError, match="interp1d has no coefficients"):
        interpolate.interp1d(x, x).derivative()


def test_gradients_of_integrals() -> None:
    x, y = np.array([0.0, 1.1, 1.9, 3.2]), np.array([0.3, 1.2, 0.5, -0.9])

    def total(x: Any, y: Any, a: Any) -> Any:
        spline = interpolate.CubicSpline(x, y)
        return spline.integrate(a, 2.5) + jt.reduce_sum(spline.derivative()(jt.stack([a, 2.0 * a])))

    jt.check_gradient(total, x, y, np.array(0.4))


@pytest.mark.parametrize(("name", "options"), SPLINES)
def test_gradients_of_interpolants(name: str, options: dict[str, Any]) -> None:
    """In the knots, the values and the points."""
    x = np.array([0.0, 1.1, 1.9, 3.2, 4.0, 5.3])
    y = np.array([0.3, 1.2, 0.5, -0.9, -1.5, -0.2])
    points, weights = np.array([0.4, 1.5, 2.2, 3.9, 4.4]), np.arange(1.0, 6.0)

    def total(x: Any, y: Any, points: Any) -> Any:
        return jt.reduce_sum(getattr(interpolate, name)(x, y, **options)(points) * weights)

    jt.check_gradient(total, x, y, points)
    compiled = jt.grad(jt.function(total), argnums=(0, 1, 2))(x, y, points)
    for one, other in zip(compiled, jt.grad(total, argnums=(0, 1, 2))(x, y, points), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_ends_with_given_derivatives() -> None:
    x, y = np.linspace(0, 2, 6), np.sin(np.linspace(0, 2, 6))
    ends = ((1, 0.3), (2, -0.7))
    points = np.linspace(-0.5, 2.5, 11)
    found = interpolate.CubicSpline(x, y, bc_type=ends)(points)
    np.testing.assert_allclose(
        found.numpy(), scipy.interpolate.CubicSpline(x, y, bc_type=ends)(points), rtol=1e-12
    )


@pytest.mark.parametrize("fill", [np.nan, "extrapolate", (1.0, 2.0), 7.0])
def test_linear_interpolation(fill: Any) -> None:
    rng = np.random.default_rng(1)
    x, y, points = np.cumsum(rng.uniform(0.5, 1.5, 6)), rng.normal(size=(2, 6)), rng.uniform(-1, 8, 30)
    points[:6] = x
    wanted = scipy.interpolate.interp1d(x, y, bounds_error=False, fill_value=fill)(points)
    found = interpolate.interp1d(x, y, bounds_error=False, fill_value=fill)(points)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12)
    jt.check_gradient(
        lambda x, y: jt.reduce_sum(interpolate.interp1d(x, y, fill_value="extrapolate")(points[6:])), x, y
    )


def test_interpolation_refuses() -> None:
    with pytest.raises(jt.ShapeError, match=r"\[CubicSpline\] y must have 3 elements along axis 0"):
        interpolate.CubicSpline([0.0, 1.0, 2.0], [1.0, 2.0])
    with pytest.raises(jt.ShapeError, match=r"\[PchipInterpolator\] x must be a vector of at least 2"):
        interpolate.PchipInterpolator([0.0], [1.0])
    with pytest.raises(ValueError, match=r"bc_type must be one of .*'periodic'"):
        interpolate.CubicSpline([0.0, 1.0], [1.0, 2.0], bc_type=("periodic", "natural"))
    with pytest.raises(
        ValueError, match=r"first and last y must be equal for bc_type='periodic', got 1.0 and 2.0"
    ):
        interpolate.CubicSpline([0.0, 1.0], [1.0, 2.0], bc_type="periodic")
    unknown = 2.0 * jt.constant([1.0, 2.0])
    assert np.isnan(interpolate.CubicSpline([0.0, 1.0], unknown, bc_type="periodic")(0.5))
    with pytest.raises(ValueError, match="method must be 'akima' or 'makima'"):
        interpolate.Akima1DInterpolator([0.0, 1.0], [1.0, 2.0], method="other")
    with pytest.raises(ValueError, match="nu must not be negative"):
        interpolate.CubicSpline([0.0, 1.0], [1.0, 2.0])(0.5, -1)
    with pytest.raises(ValueError, match=r"\[PPoly\] extrapolate must be a bool or 'periodic', got 'no'"):
        interpolate.PPoly([[1.0]], [0.0, 1.0], extrapolate="no")


@pytest.mark.parametrize("name", ["CubicSpline", "PchipInterpolator", "Akima1DInterpolator"])
def test_knots_must_ascend(name: str) -> None:
    """Known knots raise an error as in SciPy, and unknown ones give nan."""
    for x in ([0.0, 2.0, 1.0], [0.0, 1.0, 1.0]):
        with pytest.raises(ValueError, match=rf"\[{name}\] x must be strictly increasing"):
            getattr(interpolate, name)(x, [1.0, 2.0, 3.0])
        unknown = jt.function(lambda x, name=name: getattr(interpolate, name)(x, [1.0, 2.0, 3.0])(0.5))
        assert np.isnan(unknown(np.array(x)).numpy())
    assert np.isfinite(unknown(np.array([0.0, 1.0, 2.0])).numpy())
    with pytest.raises(ValueError, match=r"\[PPoly\] x must be in ascending order"):
        interpolate.PPoly([[1.0, 2.0]], [2.0, 1.0, 0.0])


def test_linear_interpolation_sorts_its_knots() -> None:
    x, y, points = np.array([2.0, 0.0, 1.0]), np.array([5.0, 1.0, 2.0]), np.array([0.3, 1.5])
    wanted = scipy.interpolate.interp1d(x, y)(points)
    np.testing.assert_allclose(interpolate.interp1d(x, y)(points), wanted)
    compiled = jt.function(lambda x, y: interpolate.interp1d(x, y)(points))
    np.testing.assert_allclose(compiled(x, y), wanted)
    jt.check_gradient(lambda x, y: jt.reduce_sum(interpolate.interp1d(x, y)(points)), x, y)


@pytest.mark.parametrize("name", ["CubicSpline", "PchipInterpolator", "Akima1DInterpolator", "PPoly"])
def test_periodic_extrapolation(name: str) -> None:
    rng = np.random.default_rng(4)
    x, y = np.cumsum(rng.uniform(0.5, 1.5, 6)), rng.normal(size=6)
    data = (rng.normal(size=(3, 5)), x) if name == "PPoly" else (x, y)
    points = np.array([-9.0, x[0], 1.7, x[-1], 12.3, np.nan])
    ours, reference = (
        getattr(m, name)(*data, extrapolate="periodic") for m in (interpolate, scipy.interpolate)
    )
    np.testing.assert_allclose(ours(points), reference(points), rtol=1e-10)
    np.testing.assert_allclose(ours(points, 1), reference(points, 1), rtol=1e-10)
    for limits in ((-9.0, 12.3), (12.3, -9.0), (1.7, 1.9), (x[0], x[-1])):
        np.testing.assert_allclose(ours.integrate(*limits), reference.integrate(*limits), rtol=1e-9)
    once = getattr(interpolate, name)(*data)
    np.testing.assert_allclose(once(points, extrapolate="periodic"), reference(points), rtol=1e-10)


@pytest.mark.parametrize("n", [2, 3, 4, 9])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_periodic_splines(n: int, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(n)
    x, y = np.cumsum(rng.uniform(0.5, 1.5, n)), rng.normal(size=(n, *shape))
    y[-1] = y[0]
    points = rng.uniform(-9.0, 9.0, (4, 5))
    ours, reference = (m.CubicSpline(x, y, bc_type="periodic") for m in (interpolate, scipy.interpolate))
    for nu in range(4):
        np.testing.assert_allclose(ours(points, nu), reference(points, nu), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ours.integrate(-2.0, 7.0), reference.integrate(-2.0, 7.0), rtol=1e-9)

    def total(x: Any, y: Any) -> Any:
        spline = interpolate.CubicSpline(x, jt.concat([y, y[:1]], 0), bc_type="periodic")
        return jt.reduce_sum(jt.square(spline(x[0] + (x[-1] - x[0]) * np.linspace(0.1, 0.93, 6))))

    if n > 2:
        jt.check_gradient(total, jt.constant(x), jt.constant(y[:-1]))


def test_derivatives_of_order_four_and_points_that_are_nan() -> None:
    x, points = np.arange(5.0), np.array([-1.0, 1.5, 7.0, np.nan])
    for m in (4, 5):
        spline = [p.CubicSpline(x, x**3)(points, m) for p in (interpolate, scipy.interpolate)]
        np.testing.assert_array_equal(spline[0], spline[1])
    constants = [p.PPoly([[1.0, 2.0, 3.0, 4.0]], x)(points) for p in (interpolate, scipy.interpolate)]
    np.testing.assert_array_equal(*constants)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_akima_splines_have_no_scale(scale: float) -> None:
    y = np.array([1.0, -1.0, 2.0, 3.0, 5.0, -4.0, 1.0, 0.0])
    at = np.linspace(0.0, 7.0, 29)
    found = interpolate.Akima1DInterpolator(np.arange(8.0), scale * y)(at).numpy() / scale
    np.testing.assert_allclose(
        found, scipy.interpolate.Akima1DInterpolator(np.arange(8.0), y)(at), atol=1e-12
    )


# ---- distances -------------------------------------------------------------------------------------------------------

A, B = np.random.default_rng(5).uniform(0.5, 3.0, (4, 3)), np.random.default_rng(6).uniform(0.5, 3.0, (5, 3))
SPREAD = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, 0.2], [0.1, 0.2, 0.8]])
METRICS: list[tuple[str, dict[str, Any]]] = [
    *[
        (m, {})
        for m in ("braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "euclidean")
    ],
    ("sqeuclidean", {}),
    ("jensenshannon", {}),
    ("minkowski", {"p": 3.0}),
    ("mahalanobis", {"VI": SPREAD}),
    ("seuclidean", {"V": np.array([0.5, 1.0, 2.0])}),
]


@pytest.mark.parametrize(("metric", "options"), METRICS)
def test_distances(metric: str, options: dict[str, Any]) -> None:
    found = distance.cdist(A, B, metric, **options)
    np.testing.assert_allclose(found.numpy(), scipy_distance.cdist(A, B, metric, **options), rtol=1e-12)
    pairs = distance.pdist(A, metric, **options)
    np.testing.assert_allclose(pairs.numpy(), scipy_distance.pdist(A, metric, **options), rtol=1e-12)
    weights = np.cos(np.arange(20.0)).reshape(4, 5)
    names = list(options)

    def total(a: Any, b: Any, *values: Any) -> Any:
        return jt.reduce_sum(weights * distance.cdist(a, b, metric, **dict(zip(names, values, strict=True))))

    jt.check_gradient(total, A, B, *[np.asarray(v) for v in options.values()])


@pytest.mark.parametrize(
    "metric", ["euclidean", "minkowski", "cityblock", "chebyshev", "sqeuclidean", "canberra"]
)
def test_gradients_at_distance_zero_are_finite(metric: str) -> None:
    gradient = jt.grad(lambda a: jt.reduce_sum(distance.cdist(a, A, metric)))(A)
    assert np.isfinite(gradient).all()
    assert (jt.grad(lambda a: distance.cdist(a, A[:1], metric)[0, 0])(A[:1]) == 0).all()


@pytest.mark.parametrize(
    ("metric", "options"), [(m, o) for m, o in METRICS if m != "jensenshannon"], ids=lambda v: str(v)[:12]
)
def test_distances_from_nan_are_nan(metric: str, options: dict[str, Any]) -> None:
    a = np.where(np.arange(12).reshape(4, 3) == 4, np.nan, A)
    found = distance.cdist(a, B, metric, **options).numpy()
    assert np.isnan(found[1]).all()
    assert np.isfinite(found[[0, 2, 3]]).all()
    assert np.isnan(distance.pdist(a, metric, **options).numpy()).sum() == 3


def test_distances_of_order_infinity_and_of_complex_numbers() -> None:
    wanted = scipy_distance.cdist(A, B, "minkowski", p=np.inf)
    np.testing.assert_array_equal(distance.cdist(A, B, "minkowski", p=np.inf), wanted)
    with pytest.raises(jt.DTypeError, match=r"\[cdist\] complex numbers are not supported"):
        distance.cdist(A + 1j, B)


@pytest.mark.parametrize("metric", ["hamming", "jaccard"])
def test_distances_that_count(metric: str) -> None:
    a, b = np.array([[0.0, 1, 2, 0], [0, 0, 0, 0]]), np.array([[0.0, 1, 3, 1], [0, 0, 0, 0], [1, 1, 2, 0]])
    np.testing.assert_array_equal(distance.cdist(a, b, metric), scipy_distance.cdist(a, b, metric))
    np.testing.assert_array_equal(distance.pdist(b, metric), scipy_distance.pdist(b, metric))


def test_square_form() -> None:
    pairs = distance.pdist(A)
    matrix = distance.squareform(pairs)
    np.testing.assert_array_equal(matrix, scipy_distance.squareform(pairs.numpy()))
    np.testing.assert_array_equal(distance.squareform(matrix), pairs)
    assert distance.squareform(np.zeros(0)).shape == (1, 1)
    with pytest.raises(jt.ShapeError, match=r"\[squareform\] X must be a square matrix"):
        distance.squareform(np.ones(4))
    for wrong in (np.arange(9.0).reshape(3, 3), np.eye(3)):
        with pytest.raises(
            ValueError, match=r"\[squareform\] X must be symmetric with zeros on its diagonal"
        ):
            distance.squareform(wrong)
    assert distance.squareform(np.arange(3)).dtype == np.int64


WEIGHTED = {name: parameters for name, parameters in PARAMETERS.items() if "w" in parameters}
TRUTH = ["dice", "hamming", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule"]


@pytest.mark.parametrize("metric", WEIGHTED)
def test_distances_with_weights(metric: str) -> None:
    a, b = (np.round(x) != 0 if metric in TRUTH else x for x in (A, B))
    for w in ([0.5, 0.3, 2.0], [2, 0, 1]):
        found = distance.cdist(a, b, metric, w=w).numpy()
        np.testing.assert_allclose(found, scipy_distance.cdist(a, b, metric, w=w), rtol=1e-12, atol=1e-14)
        pairs = distance.pdist(a, metric, w=w).numpy()
        np.testing.assert_allclose(pairs, scipy_distance.pdist(a, metric, w=w), rtol=1e-12, atol=1e-14)
    if metric not in TRUTH:
        w = np.array([0.5, 0.3, 2.0])
        jt.check_gradient(lambda w: jt.reduce_sum(distance.cdist(A, B, metric, w=w) ** 2), w)


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis", "cos", "Euclid", "js", "mah"])
def test_estimated_parameters_and_short_names_of_metrics(metric: str) -> None:
    found = distance.cdist(A, B, metric).numpy()
    np.testing.assert_allclose(found, scipy_distance.cdist(A, B, metric), rtol=1e-9)
    np.testing.assert_allclose(distance.pdist(B, metric).numpy(), scipy_distance.pdist(B, metric), rtol=1e-9)


def test_distances_of_a_function() -> None:
    def f(u: Any, v: Any) -> Any:
        return (u * v).sum()

    np.testing.assert_allclose(distance.cdist(A, B, f).numpy(), scipy_distance.cdist(A, B, f), rtol=1e-14)
    np.testing.assert_allclose(distance.pdist(A, f).numpy(), scipy_distance.pdist(A, f), rtol=1e-14)


def test_distances_refuse() -> None:
    with pytest.raises(ValueError, match=r"\[cdist\] metric must be one of .*'ruler'"):
        distance.cdist(A, B, "ruler")
    with pytest.raises(
        ValueError, match=r"\[pdist\] the covariance matrix of 2 vectors of 3 elements is singular"
    ):
        distance.pdist(A[:2], "mahalanobis")
    with pytest.raises(ValueError, match=r"\[cdist\] w must not be negative, got a minimum of -1"):
        distance.cdist(A, B, w=-np.ones(3))
    with pytest.raises(jt.ShapeError, match=r"\[cdist\] w must have one weight for each of the 3 columns"):
        distance.cdist(A, B, w=np.ones(2))
    with pytest.raises(ValueError, match=r"\[cdist\] p must be greater than 0"):
        distance.cdist(A, B, "minkowski", p=-1)
    with pytest.raises(TypeError, match="the metric euclidean has no parameter 'p'"):
        distance.cdist(A, B, p=3)
    with pytest.raises(jt.ShapeError, match="the same number of columns"):
        distance.cdist(A, B[:, :2])


# ---- images ----------------------------------------------------------------------------------------------------------


MODES = ["constant", "grid-constant", "grid-mirror", "grid-wrap", "mirror", "nearest", "reflect"]


@pytest.mark.parametrize("mode", MODES)
def test_the_nearest_element_of_a_point_in_the_middle(mode: str) -> None:
    points = np.arange(-9.5, 12.0, 0.5)[None]
    for n in (1, 2, 5):
        found = ndimage.map_coordinates(np.arange(1.0, n + 1.0), points, order=0, mode=mode, cval=-1.0)
        wanted = scipy.ndimage.map_coordinates(np.arange(1.0, n + 1.0), points, order=0, mode=mode, cval=-1.0)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("order", [0, 1, 2, 3, 5])
def test_map_coordinates(mode: str, order: int) -> None:
    rng = np.random.default_rng(2)
    for shape in ((5,), (4, 6), (3, 2, 4))[: 3 if order < 2 else 2]:
        image = rng.normal(size=shape)
        points = np.stack([rng.uniform(-2.4 * n, 2.4 * n, (6, 7)) for n in shape])
        points[:, 0] = rng.uniform(0, 1, (len(shape), 7))
        points[:, 1] = np.floor(points[:, 1])
        wanted = scipy.ndimage.map_coordinates(image, points, order=order, mode=mode, cval=0.3)
        found = ndimage.map_coordinates(image, points, None, order, mode, 0.3)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-9, atol=1e-9)
    smooth = np.array([[0.3, 1.4, 2.6, -0.7, 3.8], [0.7, 4.4, 3.2, 1.3, 5.6]])
    image = rng.normal(size=(4, 6))
    if order in (1, 3):
        jt.check_gradient(
            lambda i, c: jt.reduce_sum(ndimage.map_coordinates(i, c, order=order, mode=mode)), image, smooth
        )
    elif order == 0:
        jt.check_gradient(
            lambda i: jt.reduce_sum(ndimage.map_coordinates(i, smooth, order=0, mode=mode)), image
        )


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float32"])
def test_map_coordinates_keeps_the_dtype(dtype: str) -> None:
    rng = np.random.default_rng(4)
    image, points = (
        (rng.normal(size=(4, 6)) * 40).astype("int8").astype(dtype),
        rng.uniform(-3.0, 9.0, (2, 20)),
    )
    for mode in ("wrap", "nearest", "grid-constant", "constant"):
        for order, output in ((1, None), (3, None), (2, "float32"), (3, "int16")):
            wanted = scipy.ndimage.map_coordinates(image, points, output, order, mode, 2.0)
            found = ndimage.map_coordinates(image, points, output, order, mode, 2.0)
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-4)
    smooth = np.array([[0.3, 1.4, 2.6, -0.7], [0.7, 4.4, 3.2, 1.3]])
    values = rng.normal(size=(4, 6))
    jt.check_gradient(lambda i, c: jt.reduce_sum(ndimage.map_coordinates(i, c, mode="wrap")), values, smooth)


def test_map_coordinates_has_scipys_defaults_and_complex_numbers() -> None:
    rng = np.random.default_rng(3)
    image, points = rng.normal(size=(4, 6)), rng.uniform(-0.5, 4.0, (2, 9))
    for array, options in (
        (image, {}),
        (image + 1j * image**2, {"cval": 1 - 2j}),
        (image, {"cval": 1j}),
        (image, {"prefilter": False}),
    ):
        wanted = scipy.ndimage.map_coordinates(array.astype(complex), points, **options)
        found = ndimage.map_coordinates(array, points, **options)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-10, atol=1e-12)


def test_map_coordinates_refuses() -> None:
    with pytest.raises(ValueError, match=r"\[map_coordinates\] order must be an int from 0 to 5, got 6"):
        ndimage.map_coordinates(np.ones(3), np.ones((1, 2)), order=6)
    with pytest.raises(TypeError, match=r"\[map_coordinates\] leave out output"):
        ndimage.map_coordinates(np.ones(3), np.ones((1, 2)), np.zeros(2))
    with pytest.raises(ValueError, match="mode must be one of"):
        ndimage.map_coordinates(np.ones(3), np.ones((1, 2)), mode="edge")
    with pytest.raises(TypeError, match="bools have no values between elements"):
        ndimage.map_coordinates(np.ones(3, bool), np.ones((1, 2)))
    with pytest.raises(jt.ShapeError, match="number of dimensions of input, 1"):
        ndimage.map_coordinates(np.ones(3), np.ones((2, 2)))


# ---- convolutions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_convolutions(mode: str, dtype: str) -> None:
    rng = np.random.default_rng(4)
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    for first, second in (((7,), (3,)), ((3,), (7,)), ((1,), (1,)), ((5, 6), (2, 3)), ((4, 3, 5), (2, 2, 2))):
        a, b = (rng.normal(size=s) + 1j * rng.normal(size=s) for s in (first, second))
        a, b = (x.astype(dtype) if dtype == "complex128" else x.real.astype(dtype) for x in (a, b))
        for name in ("convolve", "fftconvolve", "correlate"):
            found, wanted = getattr(signal, name)(a, b, mode), getattr(scipy.signal, name)(a, b, mode)
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(found.numpy(), wanted, rtol=tolerance, atol=tolerance)
    if dtype == "float64":
        a, b = rng.normal(size=(5, 4)), rng.normal(size=(2, 3))
        for name in ("convolve", "correlate"):
            jt.check_gradient(lambda a, b, n=name: jt.reduce_sum(getattr(signal, n)(a, b, mode) ** 2), a, b)


def test_convolutions_refuse() -> None:
    with pytest.raises(ValueError, match=r"\[convolve\] for mode 'valid' one array"):
        signal.convolve(np.ones((3, 1)), np.ones((1, 3)), "valid")
    with pytest.raises(ValueError, match=r"\[correlate\] mode must be one of"):
        signal.correlate([1.0], [1.0], "half")
    with pytest.raises(jt.ShapeError, match="the same number of dimensions"):
        signal.convolve(np.ones((3, 1)), np.ones(3))
    with pytest.raises(jt.ShapeError, match="an array is empty"):
        signal.convolve([], [1.0])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: interpolate.CubicSpline(1j * x, x),
        lambda x: interpolate.PchipInterpolator(x, 1j * x),
        lambda x: interpolate.PchipInterpolator(x, x)(0.5 + 1j),
        lambda x: interpolate.PPoly(x.reshape(1, -1), np.arange(5.0))(0.5j),
    ],
)
def test_interpolation_does_not_drop_imaginary_parts(call):
    with pytest.raises(jt.DTypeError, match=r"^\[(CubicSpline|PchipInterpolator|PPoly)\] complex numbers"):
        call(np.arange(4.0))


@pytest.mark.parametrize(
    "end", ["not-a-knot", "natural", "clamped", "periodic", ((1, [2j, 1]), (2, [1.0, 0]))]
)
def test_complex_splines_and_lines(end: Any) -> None:
    x, points = np.array([0.0, 0.5, 1.5, 2.0, 3.0]), np.array([[-0.5, 0.0, 0.7], [1.5, 2.9, 3.5]])
    y = np.exp(1j * x)[:, None] * np.array([1.0, 2.0 - 1j])
    y[-1] = y[0]
    found, wanted = (lib.CubicSpline(x, y, bc_type=end) for lib in (interpolate, scipy.interpolate))
    np.testing.assert_allclose(found(points).numpy(), wanted(points), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(found.c.numpy(), wanted.c, rtol=1e-12, atol=1e-13)
    for ours, theirs in (
        (found.derivative(), wanted.derivative()),
        (found.antiderivative(), wanted.antiderivative()),
    ):
        np.testing.assert_allclose(ours(points).numpy(), theirs(points), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(found.integrate(0.2, 2.5).numpy(), wanted.integrate(0.2, 2.5), rtol=1e-12)
    line, expected = (lib.interp1d(x, y, axis=0) for lib in (interpolate, scipy.interpolate))
    np.testing.assert_allclose(line(points[1, :2]).numpy(), expected(points[1, :2]), rtol=1e-12)

    def length(x: Any, y: Any, at: Any) -> Any:
        value = interpolate.CubicSpline(x, y, bc_type="natural")(at)
        return jt.reduce_sum(jt.math.real(value * jt.math.conj(value)))

    jt.check_gradient(length, x, y, points)


def test_arguments_of_scipy_in_its_order() -> None:
    """`interp1d` and convolutions take all arguments of SciPy; those that would change results are refused."""
    x, y, points = [0.0, 1.0, 3.0], [1.0, 2.0, 0.0], [-1.0, 0.0, 0.5, 3.0, 4.0]
    for more in (
        ("linear", -1, True, False, 5.0),
        ("linear", -1, True, False, (1.0, 2.0)),
        (1, -1, True, False),
    ):
        found, wanted = (m.interp1d(x, y, *more)(points) for m in (interpolate, scipy.interpolate))
        np.testing.assert_array_equal(found.numpy(), wanted)
    np.testing.assert_allclose(
        signal.convolve(x, y, "same", "direct"), scipy.signal.convolve(x, y, "same"), atol=1e-12
    )
    with pytest.raises(ValueError, match="method must be one of auto, direct, fft"):
        signal.correlate(x, y, method="fast")


def test_jensenshannon_of_vectors_that_are_no_laws() -> None:
    x = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 0.0], [2.0, -1.0, 1.0], [-1.0, -1.0, -2.0]])
    with np.errstate(all="ignore"):
        wanted = scipy.spatial.distance.cdist(x, x, "jensenshannon")
    np.testing.assert_allclose(distance.cdist(x, x, "jensenshannon").numpy(), wanted, atol=1e-8)


# ---- distances of two vectors ----------------------------------------------------------------------------------------

ONE, OTHER, WEIGHTS = (
    np.array([1.0, 0.3, 2.0, 0.5]),
    np.array([0.4, 3.0, 1.1, 0.7]),
    np.array([1.0, 2.0, 0.5, 1.5]),
)
BOOLS = (np.array([True, False, True, False]), np.array([True, True, False, False]))
OF_BOOLS = ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule")
OF_FLOATS = (
    "braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "euclidean", "hamming", "sqeuclidean",
)  # fmt: skip
OF_TWO: dict[str, list[dict[str, Any]]] = {
    **{name: [{}, {"w": WEIGHTS}] for name in (*OF_FLOATS, *OF_BOOLS)},
    "minkowski": [{}, {"p": 3}, {"p": 1.5, "w": WEIGHTS}],
    "mahalanobis": [{"VI": np.diag(WEIGHTS) + 0.1}],
    "seuclidean": [{"V": WEIGHTS}],
    "jensenshannon": [{}, {"base": 2.0}],
}


@pytest.mark.parametrize("name", OF_TWO)
def test_distances_of_two_vectors_are_scipys(name: str) -> None:
    theirs, ours = getattr(scipy_distance, name), getattr(distance, name)
    for options in OF_TWO[name]:
        pair = BOOLS if name in OF_BOOLS else (ONE, OTHER)
        found = ours(*pair, **options)
        assert (found.shape, found.dtype) == ((), "float64")
        np.testing.assert_allclose(found, theirs(*pair, **options), rtol=1e-12)
        if name not in (*OF_BOOLS, "hamming"):
            jt.check_gradient(lambda u, v, o=options: ours(u, v, **o), *map(jt.constant, pair))
    for pair in ((np.ones((2, 2)), np.ones(2)), (np.ones(2), np.ones(3))):
        with pytest.raises(ValueError, match=rf"^\[{name}\]"):
            ours(*pair, **OF_TWO[name][0])
