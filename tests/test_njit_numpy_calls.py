"""NumPy functions inside ``@njit`` functions that select, order, split and insert: gradients against differences."""

# ruff: noqa: NPY002
import math

import numba
import numpy as np
import pytest

import jittape as jt
from njit_as_python import check_both_modes, interpreted
from random_njit import compiled_program

njit = numba.njit


@njit
def functions(a, x):
    total = np.sum(np.sinc(x) * x) + np.sinc(1e-3 * x[0]) + np.sum(np.divmod(x, 0.47)[1] ** 2)
    total += round(x[0] + 0.003, 2) * x[0] + np.sum(np.round(x + 0.02, 1) * x) + math.gcd(4, 6) * x[1]
    total += np.sum(np.isposinf(x) * x) + np.sum(np.angle(x) * x) + np.sum(np.isclose(x, x[0]) * x**2)
    holes = np.where(x > 0.5, np.inf, np.where(x > 0.0, np.nan, np.where(x > -0.5, -np.inf, x)))
    total += np.sum(np.nan_to_num(holes, nan=x[1], posinf=x[0] ** 2, neginf=x[1] * x[2]) * x)
    total += math.exp2(x[0]) + pow(abs(x[0]), x[1]) + np.real(x)[1] * x.conj()[2] + x[:1].item() ** 2
    return total + np.sum(np.unwrap(8.0 * x) ** 2) + np.nan_to_num(x[0]) + x.nbytes * x[3]


@njit
def selections(a, x):
    places = np.array([[0, 1], [1, 3]])
    total = (
        np.take(a, 5) ** 2
        + x.take(-1) ** 3
        + np.sum(np.take(x, places) ** 3)
        + np.sum(a.take((0, 1, 1)) ** 3)
    )
    total += np.sum(np.take(a, places[1], 1) ** 2) + np.sum(np.take(a, 1, axis=1) ** 2 * x[:3])
    total += np.sum(np.take_along_axis(a, np.array([[1, 1], [0, 2], [3, 3]]), 1) ** 3)
    total += np.sum(np.take_along_axis(a, np.array([[1, 1, 0, 2]]), 0) ** 3) + np.sum(
        np.extract(a > 0, a) ** 3
    )
    total += np.sum(x[np.nonzero(x > 0)[0]] ** 2) + np.sum(x[np.flatnonzero(x < 0)] ** 3) * len(
        np.argwhere(a > 0)
    )
    total += np.sum(np.select([x > 0.5, x > -0.5], [x**2, x**3], 2.0) * x) + x[np.nanargmax(x)] ** 2
    total += np.sum(np.trim_zeros(np.where(np.arange(5) > 1, x, 0.0)) ** 2) + np.sum(
        x[np.tril_indices(2)[0]] ** 2
    )
    return total + x.flat[1] ** 2 * a.flat[5] + np.sum(np.argmax(a, axis=1) * x[:3])


@njit
def written_through_flat(a, x):
    total, copy = 0.0, np.zeros_like(a)
    for i, value in enumerate(a.flat):
        total += value**3
        copy.flat[i] = value * x[i % 5]
    return total + np.sum(copy**2)


@njit
def insertions(a, x):
    two = np.array([0, 3])
    total = np.sum(np.delete(x, 1) ** 2) + np.sum(np.delete(a, -2) ** 3) + np.sum(np.delete(x, two) ** 3)
    total += np.sum(np.insert(x, 1, x[0] ** 2) ** 2 * np.arange(6)) + np.sum(np.insert(x, -1, x**2) ** 2)
    total += np.sum(np.insert(x, two, x[:2]) ** 2 * np.arange(7)) + np.sum(np.insert(x, two, x[0]) ** 3)
    total += np.sum(np.repeat(x, np.array([1, 0, 2, 1, 1])) ** 2) + np.sum(a.repeat(2) ** 3)
    total += (
        np.sum(np.resize(x, (3, 4)) ** 2 * a) + np.sum(np.diagflat(x, 1) ** 3) + np.sum(np.ediff1d(a) ** 3)
    )
    total += np.sum(np.append(x, x[1] ** 2) ** 3) + np.sum(np.append(a, (x[0], 2.0)) ** 2 * np.arange(14))
    total += np.sum(np.bincount(np.array([0, 1, 1, 4, 2]), weights=x) ** 2)
    return total + np.sum(np.bincount(np.array([0, 1, 1, 4, 2])) * x)


@njit
def arrangements(a, x):
    total = (
        np.sum(np.split(a, 3)[1] ** 2)
        + np.sum(np.split(a, 2, axis=1)[1] ** 3)
        + np.sum(np.split(x, [1, 3])[1] ** 2)
    )
    total += np.sum(np.array_split(x, 2)[0] ** 2) * np.sum(np.array_split(x, 2)[1] ** 3) + np.sum(
        np.hsplit(a, 2)[1] ** 3
    )
    total += np.sum(np.dsplit(np.dstack((a, a**2)), 2)[1] ** 2) + np.sum(np.rot90(a) ** 2 * np.arange(3))
    total += (
        np.sum(np.rot90(a, 2) * a)
        + np.sum(np.rot90(a, -1)[0] * x[:3])
        + np.sum(np.moveaxis(a, 0, 1)[1] * x[:3])
    )
    total += (
        np.sum(np.broadcast_to(x, (3, 5)) ** 2 * x) + np.sum(np.atleast_3d(x) ** 3) + np.sum(np.atleast_3d(a))
    )
    rows, columns = np.broadcast_arrays(x[:, None], x)[0], np.broadcast_arrays(x[:, None], x)[1]
    return total + np.sum(rows * columns**2) + np.sum(np.asfortranarray(a) ** 2 * a) + np.shape(a)[1] * x[0]


@njit
def orders(a, x):
    both, rows = np.append(x, a), a.copy()
    rows.sort()
    total = (
        np.sum(np.sort(a) ** 2 * np.arange(4)) + np.sum(rows[:, 1] ** 3) + np.sum(np.partition(x, 2)[:2] ** 2)
    )
    total += (
        np.sum(np.unique(both) ** 2 * np.arange(17))
        + np.sum(np.union1d(x, a) ** 2)
        + np.sum(x[np.isin(x, x[:2])])
    )
    total += (
        np.sum(np.intersect1d(both, a) ** 3)
        + np.sum(np.setdiff1d(both, a) ** 3)
        + np.sum(np.setxor1d(both, a) ** 3)
    )
    total += (
        np.nanmedian(np.where(x > -0.5, x, np.nan)) ** 2
        + np.nanquantile(x, 0.3) ** 2
        + np.nanpercentile(x, 20.0)
    )
    total += np.sum(np.percentile(x, np.array([10.0, 30.0])) ** 2) + np.max(np.array([1, 3, 2])) * x[0]
    return total + np.sum(np.histogram(x, 4)[1] ** 2) + np.sum(np.digitize(x, np.array([-0.5, 0.5])) * x**2)


@njit
def sums(a, x):
    total = (
        np.sum(np.cumsum(a) ** 2)
        + np.sum(np.cumsum(a, 0) ** 3)
        + np.sum(a.cumsum(axis=1) ** 3)
        + np.vdot(x, x**2)
    )
    total += (
        np.sum(np.cumprod(a) ** 2)
        + np.sum(np.nancumprod(a) ** 2)
        + np.sum(np.count_nonzero(a > 0, axis=0) * x[:4])
    )
    total += np.sum(np.geomspace(abs(x[0]) + 1.0, 10.0, 5) ** 2) + np.sum(
        np.geomspace(-2.0, -abs(x[0]) - 1.0, 4) ** 2
    )
    return (
        total
        + np.sum(np.logspace(x[0], x[1], 4) ** 2)
        + np.sum(np.hanning(5) * x)
        + np.sum(np.kaiser(5, 2.0) * x)
    )


@njit
def matrices(a, x):
    square = a[:, :3] @ a[:, :3].T + np.eye(3)
    tilted = square + 3.0 * np.diag(x[:3]) + np.array([[0.0, 0.1, 0.2], [0.0, 0.0, 0.1], [0.0, 0.0, 0.0]])
    values, vectors = np.linalg.eig(tilted)
    total = np.sum(values**2) + np.sum(vectors**4) + np.sum(vectors[0, 0] * vectors[:, 0] * values)
    total += np.sum(np.linalg.matrix_power(square, 3) ** 2) + np.sum(np.linalg.matrix_power(square, -2) ** 2)
    total += (
        np.linalg.cond(square)
        + np.linalg.cond(square, 1)
        + np.linalg.cond(square, -2)
        + np.linalg.norm(square, 2)
    )
    total += (
        np.linalg.norm(square, -1) + np.linalg.norm(square, -np.inf) + np.linalg.matrix_rank(square) * x[0]
    )
    return total + np.sum(np.linalg.eigvals(tilted) ** 3)


@njit
def given_outputs(a, x):
    filled, rows = np.empty(5), np.zeros((2, 5))
    np.add(a[0, 0], 2.0 * a[1, 1], filled)
    np.exp(a[0, 1], filled[:2])
    np.cos(filled[::2], rows[0, :3])
    result = np.subtract(rows, x * filled, rows)
    result[0, 1] *= a[2, 2]
    np.sin(filled[1:], filled[1:])
    return np.sum(rows**2) + np.sum(filled * x)


CASES = (
    functions, selections, written_through_flat, insertions, arrangements, orders, sums, matrices, given_outputs,
)  # fmt: skip
RNG = np.random.default_rng(11)
A, X = RNG.uniform(0.3, 1.0, (3, 4)) * RNG.choice([-1, 1], (3, 4)), np.array([0.8, -0.7, 0.45, -0.31, 1.3])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("f", CASES)
def test_gradients_equal_differences_and_tangents(f):
    check_both_modes(f, (A, X), 11)


@njit
def some_of_each(a, x):
    total = np.sum(np.sinc(x)) + np.sum(np.cumsum(a, 1) ** 2) + np.sum(np.unique(x) ** 3) * x.flat[2]
    total += np.sum(np.split(x, [2])[1] ** 2)
    return total + np.sum(np.insert(x, 2, x[0]) ** 2) + np.sum(np.nan_to_num(x) ** 2)


def test_numba_compiles_the_gradients():
    gradient = jt.njit_value_and_grad(some_of_each, argnums=(0, 1))
    value, gradients = gradient(A, X)
    np.testing.assert_allclose(value, some_of_each(A, X), rtol=1e-12)
    for one, other in zip(gradients, interpreted(gradient, A, X)[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)


@njit
def overlapping_outputs(a, x):
    np.add(x[1:], x[:-1], x[1:])
    np.multiply(x[::-1], a[0, 0], x)
    np.sin(x[:-1], x[1:])
    np.add(x[::-1] * 2.0, x, x)
    square = np.outer(x[:3], a[0, :3])
    np.multiply(square.T, 0.5, square)
    return np.sum(x * x * a[1, 1]) + np.sum(square * a[:, :3])


def test_outputs_that_overlap_with_operands_are_those_of_numba():
    check_both_modes(overlapping_outputs, (A, X), 11, primal=overlapping_outputs)


@njit
def laws(x):
    np.random.seed(3)
    return np.random.gumbel(x[0], x[1]) + np.random.lognormal(x[0], x[1]) + np.random.rayleigh(x[1])


@njit
def tails(x):
    np.random.seed(3)
    total = (
        np.random.weibull(x[0])
        + np.random.pareto(x[1])
        + np.random.power(x[0])
        + np.random.logistic(x[0], x[1])
    )
    return total + np.random.laplace(x[0], x[1]) + np.random.poisson(2.0) * x[0] + np.random.sample()


@pytest.mark.parametrize("f", [laws, tails])
def test_draws_for_fixed_underlying_numbers(f):
    x = np.array([1.3, 0.7])
    found = interpreted(jt.njit_grad(f), x)
    for place in (0, 1):
        step = 1e-6 * np.eye(2)[place]
        expected = (f.py_func(x + step) - f.py_func(x - step)) / 2e-6
        np.testing.assert_allclose(found[place], expected, rtol=1e-6)


@njit
def variances_of_vectors(a, x):
    first = np.cov(a[0])
    return (
        np.sum(np.cov(x)) * x[1]
        + first.item() * np.cov(a[:, 1] * x[0]).item()
        + np.sum(np.corrcoef(x)) * a[0, 0]
    )


def test_covariances_of_a_vector_are_numbers():
    check_both_modes(variances_of_vectors, (A, X), 7)
    np.testing.assert_allclose(
        jt.njit_value_and_grad(variances_of_vectors)(A, X)[0], variances_of_vectors(A, X)
    )


@njit
def passes_all_results_on(a, x):
    solution, residuals, rank, values = np.linalg.lstsq(a, x)
    return solution, residuals, rank, values


@njit
def reads_the_solution(a, x):
    solution, residuals, rank, values = passes_all_results_on(a, x)
    everything = (solution, residuals, rank, values)
    return np.sum(everything[0] * solution)


def test_results_of_lstsq_that_are_not_read_are_passed_on():
    check_both_modes(reads_the_solution, (A[:, :2], X[:3]), 3)


RESIDUALS = ["the residuals of lstsq cannot be read", "Use np.sum((b - a @ x) ** 2)"]
RANK = ["the rank of lstsq cannot be read", "Use np.linalg.matrix_rank(a)"]
VALUES = ["the singular values of lstsq cannot be read", "Use np.linalg.svd(a, False)[1]"]


@pytest.mark.parametrize(
    ("expression", "parts"),
    [
        ("np.sum(r)", RESIDUALS),
        ("r[0]", RESIDUALS),
        ("results[1][0]", RESIDUALS),
        ("np.linalg.lstsq(a, x)[-3].sum()", RESIDUALS),
        ("x[0] if k == 2 else x[1]", RANK),
        ("k * x[0]", RANK),
        ("s[0] / s[1]", VALUES),
        ("np.log(s).sum()", VALUES),
    ],
)
def test_other_results_of_lstsq_are_refused_by_their_names(expression, parts):
    text = (
        "import numba\nimport numpy as np\n\n@numba.njit\ndef program(a, x):\n    results = np.linalg.lstsq(a, x)\n"
        f"    y, r, k, s = results\n    return {expression}\n"
    )
    f, _ = compiled_program(text, f"<results of lstsq: {expression}>")
    with pytest.raises(jt.NoGradientError) as caught:
        jt.njit_grad(f).inspect(A, X)
    for part in parts:
        assert part in str(caught.value)


@njit
def without_dimensions(x):
    return np.sum(np.asarray(x[0]) * x)


@njit
def flat_of_a_transposed_matrix(x):
    return np.sum(np.ones((2, 3)).T.flat) * x[0]


@njit
def window_by_argument(x):
    return np.sum(np.kaiser(5, x[0]) * x)


@njit
def as_many_parts_as_the_argument_says(x, n):
    return np.sum(np.split(x, n)[0])


@njit
def size_of_a_number(x):
    return len(x[0]) * x[1]


@pytest.mark.parametrize(
    ("f", "others", "parts"),
    [
        (size_of_a_number, (), ["len(x[0])", "a number has no length"]),
        (without_dimensions, (), ["arrays without dimensions", "Use the number"]),
        (flat_of_a_transposed_matrix, (), ["flat is only supported for arrays in C order", "x.flatten()"]),
        (window_by_argument, (), ["np.kaiser", "by beta is unknown", "jt.njit_rule"]),
        (as_many_parts_as_the_argument_says, (1,), ["np.split", "must be a literal int"]),
    ],
)
def test_refusals_name_the_expression(f, others, parts):
    with pytest.raises(jt.NoGradientError) as caught:
        jt.njit_grad(f).inspect(X, *others)
    for part in [*parts, "test_njit_numpy_calls.py:"]:
        assert part in str(caught.value)


@njit
def roots(x):
    return np.sum(np.roots(x))


@njit
def chosen(x):
    return np.random.choice(x)


@njit
def over_elements(x):
    total = 0.0
    for value in np.nditer(x):
        total += value.item()
    return total


@njit
def as_bytes(x):
    return len(x.tobytes()) * x[0]


@pytest.mark.parametrize(
    ("f", "name"), [(roots, "roots"), (chosen, "choice"), (over_elements, "nditer"), (as_bytes, "tobytes")]
)
def test_functions_without_a_derivative_are_refused_when_the_gradient_is_made(f, name):
    with pytest.raises(
        jt.NoGradientError, match=rf"test_njit_numpy_calls\.py:\d+: `.*{name}.*{name}.*\. [A-Z]"
    ):
        jt.njit_grad(f)


@njit
def remainder(x):
    return math.fmod(x[0], x[1])


@njit
def inner_product(x):
    return np.inner(x, x)


@njit
def without_axes_of_size_one(x):
    return np.sum(np.squeeze(x))


@pytest.mark.parametrize(
    ("f", "way_out"),
    [(remainder, "Use np.fmod"), (inner_product, "Use np.dot"), (without_axes_of_size_one, "Use a reshape")],
)
def test_functions_that_numba_lacks_are_refused_with_those_that_it_has(f, way_out):
    with pytest.raises(jt.NoGradientError, match=way_out):
        jt.njit_grad(f)


def squeeze(x):
    return x


@njit
def calls_a_function_of_that_name(x):
    return np.sum(squeeze(x))


def test_ways_out_of_numpy_functions_are_not_those_of_other_functions():
    with pytest.raises(jt.NoGradientError, match=r"the derivative of squeeze is unknown\. Rewrite it"):
        jt.njit_grad(calls_a_function_of_that_name)(X)
