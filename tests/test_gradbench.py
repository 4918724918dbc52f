"""The evaluations of GradBench, smaller: against NumPy, differences, and other formulas for the same numbers."""

import math
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parent.parent / "asv_bench"))

from gradbench.descent import Particle, Saddle
from gradbench.estimation import Clusters, Hello, LeastSquares, LogSumExp, Mixture
from gradbench.libraries import LIBRARIES, Library
from gradbench.sequences import Determinant, Equation, Lstm
from gradbench.vision import BundleAdjustment, HandTracking

BY_NUMPY = Library()


def smaller(evaluation, **sizes):
    for name, value in sizes.items():
        assert hasattr(evaluation, name)
        setattr(evaluation, name, value)
    evaluation.data()
    return evaluation


def results(evaluation):
    side = evaluation.side("jittape")
    first = side.values(side.run())
    for one, other in zip(side.values(side.run()), first, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)
    return first


def derivative(function, x, h=1e-4):
    """Return the derivatives of an array by all elements of `x`, which come last, by differences of fourth order."""
    columns = []
    for index in np.ndindex(x.shape):
        at = {}
        for k in (-2, -1, 1, 2):
            moved = x.copy()
            moved[index] += k * h
            at[k] = np.asarray(function(moved))
        columns.append((8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * h))
    return np.stack(columns, axis=-1).reshape(columns[0].shape + x.shape)


BY_HAND = [
    (LogSumExp(), {"n": 9}),
    (LeastSquares(), {"n": 45, "m": 5}),
    (Clusters(), {"k": 3, "n": 40, "d": 2}),
    (Mixture(), {"d": 4, "k": 3, "n": 70, "gamma": 0.9, "m": 2}),
    (BundleAdjustment(), {"cameras": 3, "points": 5, "observations": 11}),
]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
@pytest.mark.parametrize(("evaluation", "sizes"), BY_HAND, ids=lambda x: getattr(x, "title", ""))
def test_derivatives_by_hand_are_the_same(evaluation, sizes):
    smaller(evaluation, **sizes)
    side = evaluation.hand()
    for one, other in zip(side.values(side.run()), results(evaluation), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


GRADIENTS = [
    (Hello(), {}, 1),
    (LogSumExp(), {"n": 9}, 1),
    (LeastSquares(), {"n": 8, "m": 5}, 1),
    (Mixture(), {"d": 4, "k": 3, "n": 6, "gamma": 0.9, "m": 2}, 4),
    (Lstm(), {"layers": 2, "steps": 5, "bits": 3}, 2),
    (Equation(), {"n": 6, "steps": 3}, 1),
    (Determinant(), {"n": 4}, 1),
]


@pytest.mark.parametrize(("evaluation", "sizes", "count"), GRADIENTS, ids=lambda x: getattr(x, "title", ""))
def test_gradients_are_differences(evaluation, sizes, count):
    smaller(evaluation, **sizes)
    value, *slopes = results(evaluation)
    objective, arguments = evaluation.objective(BY_NUMPY), evaluation.arguments
    np.testing.assert_allclose(value, objective(*arguments), rtol=1e-12)
    assert len(slopes) == count
    for i, slope in enumerate(slopes):
        expected = derivative(lambda x, i=i: objective(*arguments[:i], x, *arguments[i + 1 :]), arguments[i])
        np.testing.assert_allclose(slope, expected, rtol=1e-8, atol=1e-9)


def test_smooth_maximum_has_softmax_as_gradient():
    evaluation = smaller(LogSumExp(), n=50)
    (x,) = evaluation.arguments
    value, slope = results(evaluation)
    np.testing.assert_allclose(value, np.logaddexp.reduce(x), rtol=1e-14)
    np.testing.assert_allclose(slope, np.exp(x - np.logaddexp.reduce(x)), rtol=1e-12)


def test_least_squares_is_that_of_a_vandermonde_matrix():
    evaluation = smaller(LeastSquares(), n=20, m=6)
    x, points, _ = evaluation.arguments
    matrix = np.vander(points, 6, increasing=True)
    residuals = matrix @ x - np.sign(points)
    value, slope = results(evaluation)
    np.testing.assert_allclose(value, 0.5 * residuals @ residuals, rtol=1e-13)
    np.testing.assert_allclose(slope, matrix.T @ residuals, rtol=1e-11)


def test_mixture_is_the_density_of_scipy():
    from scipy.special import logsumexp
    from scipy.stats import multivariate_normal, wishart

    evaluation = smaller(Mixture(), d=3, k=2, n=5, gamma=0.8, m=2)
    alpha, means, q, low, x = evaluation.arguments
    value, *_ = results(evaluation)
    log_weights = alpha - logsumexp(alpha)
    terms, prior = [], 0.0
    for k in range(2):
        factor = np.diag(np.exp(q[k]))
        factor[1:, 0], factor[2, 1] = low[k, :2], low[k, 2]
        precision = factor.T @ factor
        density = multivariate_normal(means[k], np.linalg.inv(precision))
        terms.append(log_weights[k] + density.logpdf(x))
        prior += wishart(df=3 + 2 + 1, scale=np.eye(3) / 0.8**2).logpdf(precision)
    np.testing.assert_allclose(value, np.sum(logsumexp(terms, axis=0)) + prior, rtol=1e-10)


def test_determinant_and_cofactors():
    evaluation = smaller(Determinant(), n=5)
    (a,) = evaluation.arguments
    value, slope = results(evaluation)
    np.testing.assert_allclose(value, np.linalg.det(a), rtol=1e-11)
    np.testing.assert_allclose(slope, np.linalg.det(a) * np.linalg.inv(a).T, rtol=1e-10)


def test_equation_has_a_polynomial_as_solution():
    evaluation = smaller(Equation(), n=4, steps=3)
    (x,) = evaluation.arguments
    value, slope = results(evaluation)
    np.testing.assert_allclose(value, np.prod(x) * 2.0**4 / math.factorial(4), rtol=1e-13)
    np.testing.assert_allclose(slope, value / x, rtol=1e-12)


def test_newton_moves_centers_to_means():
    evaluation = smaller(Clusters(), k=3, n=40, d=2)
    centers, points = evaluation.arguments
    (direction,) = results(evaluation)
    nearest = np.argmin(((points[:, None] - centers) ** 2).sum(axis=2), axis=1)
    means = np.array([points[nearest == k].mean(axis=0) for k in range(3)])
    np.testing.assert_allclose(centers - direction, means, rtol=1e-12)


def test_blocks_of_bundle_adjustment():
    from scipy.spatial.transform import Rotation

    evaluation = smaller(BundleAdjustment(), cameras=3, points=4, observations=5)
    cameras, points, weights, features, pairs = evaluation.arguments
    blocks, errors_of_weights = results(evaluation)
    assert blocks.shape == (5, 2, 15)
    np.testing.assert_allclose(errors_of_weights, -2.0 * weights)
    for i, (camera, point) in enumerate(pairs):

        def errors(row, i=i):
            u, v, w = Rotation.from_rotvec(row[:3]).apply(row[11:14] - row[3:6])
            place = np.array([u / w, v / w])
            square = place @ place
            place = place * (1 + row[9] * square + row[10] * square**2)
            return row[14] * (row[6] * place + row[7:9] - features[i])

        row = np.concatenate([cameras[camera], points[point], weights[i : i + 1]])
        np.testing.assert_allclose(blocks[i], derivative(errors, row), rtol=1e-7, atol=1e-8)


def test_jacobian_of_hand_tracking():
    from scipy.spatial.transform import Rotation

    evaluation = smaller(HandTracking(), vertices=7, correspondences=4)
    theta, base, weights, measured, nearest = evaluation.arguments

    def errors(theta):
        angles = np.zeros((22, 3))
        for finger in range(5):
            bend, side, second, third = theta[6 + 4 * finger : 10 + 4 * finger]
            angles[2 + 4 * finger, :2] = bend, side
            angles[3 + 4 * finger, 0], angles[4 + 4 * finger, 0] = second, third
        absolute, skin = [], np.zeros((3, 7))
        for i, parent in enumerate(evaluation.parents):
            local = np.eye(4)
            local[:3, :3] = Rotation.from_euler("xyz", angles[i, [0, 2, 1]]).as_matrix()
            local = evaluation.relatives[i] @ local
            absolute.append(local if parent < 0 else absolute[parent] @ local)
            skin += weights[i] * (absolute[i] @ evaluation.inverses[i] @ base)[:3]
        moved = Rotation.from_rotvec(theta[:3]).as_matrix() @ skin + theta[3:6, None]
        return (measured - moved[:, nearest]).T.ravel()

    (jacobian,) = results(evaluation)
    np.testing.assert_allclose(
        errors(theta), evaluation.objective(BY_NUMPY)(*evaluation.arguments), rtol=1e-12
    )
    np.testing.assert_allclose(jacobian, derivative(errors, theta), rtol=1e-8, atol=1e-9)


def test_particle_reaches_the_origin():
    """The control is the one that GradBench expects."""
    evaluation = smaller(Particle())
    (control,) = results(evaluation)
    np.testing.assert_allclose(control, [0.2071918746486116], rtol=1e-9)
    program = LIBRARIES["jittape"]()
    assert float(program.compiled(evaluation.objective(program))(program.array(control))) < 1e-8


def test_descent_ends_at_the_saddle():
    """The points are those that GradBench expects."""
    x, y = results(smaller(Saddle()))
    np.testing.assert_allclose([*x, *y], np.full(4, 8.246324826140356e-06), rtol=1e-9)
