"""NumPy functions, masks and arrays of ints inside ``@njit`` functions: gradients against differences."""

import math

import numba
import numpy as np
import pytest

import jittape as jt
from njit_as_python import check_both_modes, interpreted

njit = numba.njit
rng = np.random.default_rng(11)


@njit
def reductions(a, x):
    rows, columns = a.sum(1), np.sum(a, axis=0)
    total = np.sum(rows**3) + np.prod(columns) + 0.3 * np.sum(np.sum(a * a, axis=-1) ** 2)
    total += np.var(x) * x.std() + np.ptp(x) * np.amax(a) * np.amin(x) + x.prod()
    total += np.median(x) * np.percentile(a, 30.0) + np.quantile(x, 0.4) + np.average(x, weights=x**2)
    total += np.sum(x) * np.count_nonzero(x > 0.1) + x[0] * np.any(a > 0.5) + x[1] * np.all(a > 0.5)
    return total + x[np.argmax(x)] ** 3 * x[x.argmin()] + np.trapezoid(x) * np.trapezoid(x, a[0, 0] * x)


@njit
def arrangements(a, x):
    b = np.transpose(a)
    total = np.sum(b[::-1] * np.swapaxes(a, 0, 1) ** 2) + np.sum(np.flip(a) * a) + np.sum(np.fliplr(a) * a)
    total += np.sum(np.concatenate((a, 2.0 * a**2), axis=1)[:, 2:] ** 2) + np.sum(np.hstack((x, x[:2])) ** 3)
    total += np.sum(np.stack((x, x**2), axis=1) ** 3) + np.sum(np.vstack((x, x**2))[:, 1:] ** 3)
    total += np.sum(np.column_stack((x, x**3)) ** 2) + np.sum(np.expand_dims(x, 1) * x**2 * x[:, None])
    total += np.sum(np.roll(x, 2) * x) + np.sum(np.repeat(x, 2) ** 3) + np.sum(np.append(x, a) ** 3)
    total += np.sum(np.ravel(b) * np.arange(12)) + np.sum(a.reshape(-1)[1:] * b.flatten()[:-1])
    part = np.flip(x)
    part[0] *= x[0]
    return total + np.sum(np.array([[x[0], 2.0], [x[1], x[2]]]) ** 3) * np.sum(np.asarray(x) ** 2) + x[-1]


@njit
def matrices(a, x):
    square = a[:, :3] @ a[:, :3].T + np.eye(3)
    weights = np.arange(9).reshape((3, 3)) * 0.1
    total = np.sum(np.outer(x, x**2) ** 2) + np.sum(np.kron(square, a) ** 2) + np.trace(square) ** 2
    total += np.sum(np.cross(x[:3], x[2:] ** 2) * x[1:4]) + np.sum(np.diag(square) ** 3)
    total += np.sum(np.diag(x, -1) ** 3) + np.sum(np.tril(square) * weights) ** 2
    total += np.sum(np.triu(square, 1) * weights) ** 2 + np.sum(np.cov(a) * weights) + np.linalg.norm(x)
    total += np.sum(np.corrcoef(a) * weights) + np.linalg.norm(square) + np.linalg.norm(x, 1)
    np.fill_diagonal(square, x[0])
    return total + np.sum(square**3 * weights) + np.sum(np.vander(x, 3) * x[:, None])


@njit
def sequences(a, x):
    table = np.linspace(-3.0, 3.0, 5)
    total = np.interp(x[0], table, x) ** 2 + np.sum(np.interp(x[1:], table, x**2) ** 2)
    total += np.sum(np.cumprod(x) ** 2) + np.sum(np.diff(x) ** 3) + np.sum(np.diff(a) ** 3)
    total += np.sum(np.clip(x, -0.4, 0.6) ** 2) + np.sum(np.sort(x) * np.arange(5)) + x[x.argsort()[1]] ** 3
    total += np.sum(np.convolve(x, a[0]) ** 2) + np.sum(np.convolve(x, a[0], "same") * x)
    total += np.sum(np.correlate(x, a[1, :3]) ** 2) + x[np.searchsorted(table, 0.4)] ** 2
    gaps = np.where(x > 0.0, x, np.nan)
    total += np.nansum(gaps**2) * np.nanmean(gaps) + np.nanmax(gaps) * np.nanmin(gaps) + np.nanvar(gaps)
    total += np.sum(np.arange(x[0], x[0] + 2.0, 0.5) ** 2) + np.sum(np.linspace(x[0], x[1], 1) ** 2)
    return total + np.sum(np.where(x > 0.0, 0.0, x).astype(np.float64) ** 2) + np.sum(np.full(3, x[1]) ** 2)


@njit
def functions(a, x):
    total = np.sum(np.cbrt(a) * np.logaddexp(a, x[0]) + np.fmax(a, x[1]) * np.deg2rad(a))
    for i in range(len(x)):
        total += math.gamma(x[i] + 2.5) * math.lgamma(x[i] - 2.2) + np.fmod(x[i], 0.72) * x[i]
        total += np.remainder(x[i], 0.6) ** 2 + np.float_power(abs(x[i]) + 0.5, x[0])
        quotient, rest = divmod(x[i], 0.47)
        total += quotient * x[i] + rest**2 + math.ldexp(x[i], i) * np.nextafter(x[i], 2.0)
    return total


@njit
def masks(a, x):
    a[0][a[0] < 0.2] = 0.1
    for _ in range(2):
        x[x > 0.3] = x[x > 0.3] ** 2 * 1.4
        x[np.abs(x) < 0.2] *= 1.5
        x[a[0, 0] * x > 0.02] += x[1] * x[0]
    rows = a[a[:, 1] > 0.0]
    return np.sum(rows**2) + np.sum(x[x < 0.5] ** 3) + np.sum(a * a)


@njit
def places(a, x):
    idx = np.array([0, 3, 1, -1])
    for _ in range(2):
        x[idx] = x[idx] ** 2 + 0.3 * x[2]
        x[idx[:2]] += a[0, :2]
        a[:, idx] = a[:, idx[::-1]] * 0.5
        a[np.array([0, 2])] *= x[:4]
    repeated = x[np.array([1, 1, 2])]
    x[np.array([4, 4])] = repeated[:2] * x[:2]
    return np.sum(repeated**3) + np.sum(x**2) + np.sum(a[1, idx] * a[0, 1])


@njit
def slices(a, x):
    x[1:] += x[:-1] * a[0, 0]
    x[::-1] *= x[2]
    x[1:-1] = x[2:] - x[:-2] * a[1, 1]
    a[:, ::2] = a[:, -1:-4:-2] * x[:3, None]
    a[1:, 1] -= a[:-1, 2] * a[..., 0][1:]
    a[...] += 0.5 * x[1]
    return np.sum(x**3) + np.sum(a**2 * x[None, :4])


@njit
def changing_places(a, x):
    total = 0.0
    for i in range(4):
        largest = np.argmax(x)
        for _ in range(np.searchsorted(np.array([0.1, 0.4, 0.9, 2.0]), x[largest])):
            x[largest] = 0.9 * x[largest] * math.cos(a[0, i])
            total += x[largest] ** 2
        x[i] += 0.3 * x[np.argmin(x)]
    return total + np.sum(x**3)


CASES = (reductions, arrangements, matrices, sequences, functions, masks, places, slices, changing_places)
A, X = rng.uniform(0.3, 1.0, (3, 4)) * rng.choice([-1, 1], (3, 4)), np.array([0.8, -0.7, 0.45, -0.31, 1.3])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("f", CASES)
def test_gradients_equal_differences_and_tangents(f):
    check_both_modes(f, (A, X), 11)


@njit
def some_of_each(a, x):
    total = np.sum(a.sum(axis=1) ** 2) + x[np.argmax(x)] * np.std(x) + np.interp(x[0], np.sort(x), x)
    a[a[:, 0] > 0.0] *= 2.0
    x[np.array([0, -1])] = np.concatenate((x[2:3], a[0, :1]))
    x[x > 0.5] = 0.5 * x[1]
    return total + np.sum(x**3) * math.lgamma(x[0] + 2.0) * np.any(x > 0.3) + np.sum(np.flip(x) * x[:, None])


def test_numba_compiles_the_gradient_and_leaves_what_the_function_leaves():
    mine, plain = (A.copy(), X.copy()), (A.copy(), X.copy())
    value, gradients = jt.njit_value_and_grad(some_of_each, argnums=(0, 1))(*mine)
    expected, expected_gradients = interpreted(
        jt.njit_value_and_grad(some_of_each, argnums=(0, 1)), A.copy(), X.copy()
    )
    np.testing.assert_allclose(value, some_of_each(*plain), rtol=1e-12)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    for one, other in zip((*mine, *gradients), (*plain, *expected_gradients), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@njit
def axis_of_argument(x, k):
    return np.sum(np.sum(x, axis=k))


@njit
def two_arrays(x, idx):
    return np.sum(x[idx, idx])


@njit
def mixed(x, idx):
    return np.sum(x[0, :, idx])


@njit
def rolls_matrix(x):
    return np.sum(np.tile(x, 2))


@pytest.mark.parametrize(
    ("f", "args", "parts"),
    [
        (axis_of_argument, (A, 0), ["the axis must be a literal int", "Write a loop"]),
        (two_arrays, (A, np.array([0, 1])), ["x[idx, idx]", "only one array can be an index"]),
        (mixed, (A[None], np.array([0, 1])), ["mixed with ints and slices", "Take the view first"]),
        (rolls_matrix, (A,), ["np.tile(x, 2)", "the derivative of tile is unknown"]),
    ],
)
def test_refusals_name_the_expression(f, args, parts):
    with pytest.raises(jt.NoGradientError) as caught:
        jt.njit_grad(f)(*args)
    for part in [*parts, "test_njit_numpy.py:"]:
        assert part in str(caught.value)


def test_an_error_inside_a_function_of_numpy_shows_the_users_line():
    @njit
    def misuses(x):
        return np.vdot(x, x)

    with pytest.raises(jt.NoGradientError, match=r"test_njit_numpy\.py.*np\.vdot\(x, x\)"):
        jt.njit_grad(misuses)(A)


@njit
def integral(a, x):
    return np.trapezoid(a[0], x) + np.interp(0.3, x, a[1])


@njit
def convolved(a, x):
    return np.sum(np.convolve(a[0], x)) + np.median(a)


def test_sizes_are_checked_as_numpy_does():
    value, _ = interpreted(jt.njit_value_and_grad(integral, argnums=(0, 1)), A[:, :3], np.arange(3.0))
    np.testing.assert_allclose(value, integral.py_func(A[:, :3], np.arange(3.0)))
    with pytest.raises(ValueError, match="x and y must have the same size"):
        interpreted(jt.njit_value_and_grad(integral, argnums=(0, 1)), A, np.arange(3.0))
    with pytest.raises(ValueError, match="must not be empty"):
        interpreted(jt.njit_value_and_grad(convolved, argnums=(0, 1)), A, X[:0])


@njit
def norms(a, x):
    total = (
        np.linalg.norm(x, 3) * np.linalg.norm(x, 2) + np.linalg.norm(x, -np.inf) ** 2 + np.linalg.norm(x, 0)
    )
    return (
        total
        + np.linalg.norm(a, 1) * np.linalg.norm(a, np.inf)
        + np.sum(np.diff(x, 2) ** 3) * np.linalg.norm(x, 0.5)
    )


def test_norms_second_differences_and_moved_matrices():
    check_both_modes(norms, (A, X), 11)
    np.testing.assert_allclose(jt.njit_value_and_grad(norms)(A, X)[0], norms(A, X))


@njit
def spectral(a):
    return np.linalg.norm(a, 3)


@njit
def column_averages(a):
    return np.sum(np.average(a, 0))


@njit
def ends_added(a):
    return np.sum(np.ediff1d(a, a))


@pytest.mark.parametrize("f", [spectral, column_averages, ends_added])
def test_forms_of_numpy_functions_without_a_derivative_are_refused(f):
    name = {spectral: "norm", column_averages: "average", ends_added: "ediff1d"}[f]
    with pytest.raises(jt.NoGradientError, match=rf"np\..*this form of {name} is not supported"):
        jt.njit_grad(f).inspect(A)
