"""`jittape.numpy.random`: NumPy's laws, arguments, shapes and dtypes; gradients; use inside `jt.function`."""

from __future__ import annotations

import inspect
import pickle

import mpmath
import numpy as np
import pytest
from scipy import stats

import jittape as jt
import jittape.numpy as jnp

LAWS = {
    "random": (),
    "uniform": (1, 3),
    "normal": (1, 2),
    "standard_normal": (),
    "lognormal": (0, 0.5),
    "standard_exponential": (),
    "exponential": (2,),
    "standard_gamma": (2.5,),
    "gamma": (2, 3),
    "beta": (2, 3),
    "chisquare": (5,),
    "noncentral_chisquare": (3, 2),
    "f": (4, 20),
    "noncentral_f": (4, 20, 1),
    "standard_t": (10,),
    "laplace": (1, 2),
    "gumbel": (1, 2),
    "logistic": (1, 2),
    "pareto": (8,),
    "power": (2,),
    "weibull": (2,),
    "rayleigh": (2,),
    "triangular": (0, 1, 4),
    "wald": (2, 3),
    "integers": (2, 9),
    "poisson": (3,),
    "binomial": (10, 0.3),
    "negative_binomial": (5, 0.4),
    "geometric": (0.3,),
    "hypergeometric": (7, 20, 9),
    "multivariate_hypergeometric": ([5, 3, 9], 8),
    "logseries": (0.7,),
    "zipf": (6,),
    "vonmises": (1, 3),
    "multivariate_normal": ([1, 2], [[2, 0.5], [0.5, 1]]),
    "dirichlet": ([1, 2, 3],),
    "multinomial": (10, [0.2, 0.3, 0.5]),
    "choice": (5,),
}
COUNT = 20_000


@pytest.mark.parametrize("law", LAWS)
def test_a_law_has_the_moments_the_shapes_and_the_dtype_of_numpy(law):
    ours, theirs = (getattr(module.random.default_rng(5), law) for module in (jnp, np))
    found, wanted = ours(*LAWS[law], size=COUNT), theirs(*LAWS[law], size=COUNT)
    assert (found.dtype, tuple(found.shape)) == (wanted.dtype, wanted.shape)
    deviation = wanted.std(axis=0)
    assert np.all(np.abs(found.numpy().mean(0) - wanted.mean(0)) < 6 * deviation * (2 / COUNT) ** 0.5)
    np.testing.assert_allclose(found.numpy().std(0), deviation, rtol=0.12)
    for size in (None, (2, 3)):
        assert tuple(ours(*LAWS[law], size=size).shape) == np.shape(theirs(*LAWS[law], size=size))


def test_cauchy_numbers_have_the_quartiles_of_their_law():
    draw = jnp.random.default_rng(2).standard_cauchy(COUNT).numpy()
    np.testing.assert_allclose(np.quantile(draw, [0.25, 0.5, 0.75]), [-1.0, 0.0, 1.0], atol=0.06)


SPECIAL_LAWS = {
    "hypergeometric": [(3, 2, 2), (5, 90, 9), (1000, 3000, 500)],
    "logseries": [(1e-12,), (0.69,), (0.71,), (0.9999999,)],
    "zipf": [(1.6,), (3,), (50,)],
    "vonmises": [(0, 0), (0, 1e-9), (0, 2), (0, 1e8)],
}
SCIPY_LAWS = {
    "hypergeometric": lambda good, bad, drawn: stats.hypergeom(good + bad, good, drawn),
    "logseries": stats.logser,
    "zipf": stats.zipf,
    "vonmises": lambda mu, kappa: stats.vonmises(max(kappa, 1e-300)),
}


@pytest.mark.parametrize(("law", "parameters"), [(law, p) for law in SPECIAL_LAWS for p in SPECIAL_LAWS[law]])
def test_a_law_has_the_distribution_function_of_scipy(law, parameters, mode):
    """Dvoretzky, Kiefer and Wolfowitz: a distance of more than 0.0198 has a probability of less than 1e-6."""
    draw = np.sort(getattr(jnp.random.default_rng(3), law)(*parameters, size=COUNT).numpy())
    known = SCIPY_LAWS[law](*parameters)
    if law == "vonmises":
        values = draw
        expected = known.cdf(values)
    else:  # SciPy's own sums for `cdf` take minutes
        values = np.arange(int(known.support()[0]), 2000)
        expected = np.cumsum(known.pmf(values))
    found = np.searchsorted(draw, values, "right") / COUNT
    assert np.abs(found - expected).max() < (np.log(2e6) / (2 * COUNT)) ** 0.5


@pytest.mark.parametrize("exponent", [1 + 1e-12, 1.0001])
def test_zipf_numbers_with_an_exponent_close_to_one_fill_int64(exponent):
    """They are drawn from the law below 2**63, whose logarithms are then almost uniform; NumPy's are not."""
    logs = np.log(jnp.random.default_rng(3).zipf(exponent, size=COUNT).numpy().astype(float))
    total = 63 * np.log(2) + np.euler_gamma
    for share in (0.3, 0.5, 0.9):
        assert abs(np.mean(logs < share * total - np.euler_gamma) - share) < 0.03


def test_hypergeometric_numbers_of_large_populations_are_almost_normal():
    good, drawn = 10**9 - 1, 10**9
    draw = jnp.random.default_rng(3).hypergeometric(good, good, drawn, size=COUNT).numpy()
    standardized = (draw - drawn / 2) / (drawn / (8 * good) * (2 * good - drawn)) ** 0.5
    assert stats.kstest(standardized, stats.norm.cdf).pvalue > 1e-6


def test_edges_of_special_laws():
    rng = jnp.random.default_rng(0)
    assert rng.hypergeometric([0, 5, 5, 5], [5, 0, 5, 5], [3, 3, 0, 10]).tolist() == [0, 3, 0, 5]
    assert rng.hypergeometric(0, 0, 0) == 0
    assert rng.zipf([1100.0, np.inf]).tolist() == [1, 1]
    assert rng.logseries(0.0) == 1
    assert rng.logseries(np.nextafter(1, 0)) >= 1
    assert abs(rng.vonmises(0, np.inf)) < 1e-140
    assert -np.pi <= rng.vonmises(100.0, 1.0) <= np.pi
    colors = rng.multivariate_hypergeometric([4, 0, 9], 5, size=200).numpy()
    assert (colors.sum(1) == 5).all()
    assert ((colors >= 0) & (colors <= [4, 0, 9])).all()
    assert rng.multivariate_hypergeometric([], 0, size=3).shape == (3, 0)
    assert rng.multivariate_hypergeometric([10**9, 2], 2, method="count").sum() == 2
    assert rng.hypergeometric(jnp.array([3, 3]), 1, jnp.array([9, 4])).tolist() == [-1, 3]
    assert rng.zipf(jnp.array([0.5, np.nan, 200.0])).tolist() == [-1, -1, 1]
    assert rng.logseries(jnp.array([-1.0, 1.0, np.nan, 0.0])).tolist() == [-1, -1, -1, 1]
    assert rng.geometric(jnp.array([0.0, 2.0, np.nan, 1.0])).tolist() == [-1, -1, -1, 1]
    assert np.isnan(rng.vonmises(0.0, jnp.array(-1.0)))


def concentration_slope(kappa, angle):
    """Return the derivative of an angle with respect to the concentration at a fixed cumulative probability."""
    with mpmath.workdps(30):
        mean = mpmath.besseli(1, kappa) / mpmath.besseli(0, kappa)
        ends = mpmath.linspace(0, angle, 5)
        total = mpmath.quad(
            lambda t: (mean - mpmath.cos(t)) * mpmath.exp(kappa * (mpmath.cos(t) - mpmath.cos(angle))), ends
        )
        return float(total)


@pytest.mark.parametrize("kappa", [0.0, 1.0, 199.0, 201.0, 1e6])
def test_gradients_flow_to_the_concentration(kappa):
    def draw(k):
        return jnp.random.default_rng(4).vonmises(0.0, k, size=3)

    slope = jt.grad(lambda k: draw(k).sum())(jnp.array(kappa))
    np.testing.assert_allclose(
        slope, sum(concentration_slope(kappa, x) for x in draw(kappa).tolist()), rtol=1e-10
    )


@pytest.mark.parametrize("law", sorted(LAWS))
def test_a_method_has_the_parameters_of_numpy(law):
    ours = inspect.signature(getattr(jnp.random.Generator, law))
    text = inspect.getdoc(getattr(np.random.Generator, law)).partition("\n\n")[0]
    names = [
        part.partition("=")[0].strip() for part in text[text.index("(") + 1 : text.rindex(")")].split(",")
    ]
    assert [n for n in ours.parameters if n != "self"][: len(names)] == [
        n for n in names if n not in ("", "*")
    ]


def test_parameters_broadcast():
    rng = jnp.random.default_rng(0)
    assert rng.normal([1.0, 2.0], [[1.0], [2.0], [3.0]]).shape == (3, 2)
    assert rng.poisson([1.0, 2.0], size=(4, 2)).shape == (4, 2)
    np.testing.assert_array_equal(rng.normal([1.0, 5.0], 0.0), [1.0, 5.0])
    assert rng.integers([1, 100], [2, 101]).tolist() == [1, 100]
    assert rng.integers(3, 3, endpoint=True) == 3
    assert rng.integers(2, size=5, dtype=bool).dtype == np.bool_
    assert rng.random(3, dtype=np.float32).dtype == np.float32


def test_choices_and_permutations():
    rng = jnp.random.default_rng(1)
    table = jnp.arange(12).reshape(3, 4)
    assert rng.choice(table, 5, axis=1).shape == (3, 5)
    assert sorted(rng.choice(5, 5, replace=False).tolist()) == [0, 1, 2, 3, 4]
    assert sorted(rng.choice(4, 2, replace=False, p=[0.5, 0, 0, 0.5]).tolist()) == [0, 3]
    shares = np.bincount(rng.choice(3, COUNT, p=[0.2, 0.3, 0.5]).numpy()) / COUNT
    np.testing.assert_allclose(shares, [0.2, 0.3, 0.5], atol=0.02)
    first = [int(rng.choice(3, 2, replace=False, p=[0.1, 0.2, 0.7])[0]) for _ in range(2000)]
    np.testing.assert_allclose(np.bincount(first) / 2000, [0.1, 0.2, 0.7], atol=0.05)
    assert sorted(rng.permutation(6).tolist()) == list(range(6))
    assert sorted(rng.permutation(table, axis=1)[0].tolist()) == [0, 1, 2, 3]
    lines = rng.permuted(table, axis=1).numpy()
    np.testing.assert_array_equal(np.sort(lines, axis=1), table.numpy())
    assert sorted(rng.permuted(table).numpy().ravel().tolist()) == list(range(12))
    t = jnp.arange(50)
    rng.shuffle(t)
    assert sorted(t.tolist()) == list(range(50)) != t.tolist()
    assert len(rng.bytes(7)) == 7


NUMBERS = {
    "uniform": (0.1, 0.3),
    "triangular": (0, 60_000, 120_000),
    "wald": (0.3, 0.7),
    "noncentral_f": (0.3, 0.7, 0.9),
    "standard_t": (0.3,),
    "gamma": (0.3, 0.1),
    "geometric": (1e-9,),
    "negative_binomial": (0.3, 0.2),
    "multivariate_normal": ([1, 2], [[2, 1], [1, 2]]),
}


@pytest.mark.parametrize("law", NUMBERS)
def test_python_numbers_have_the_precision_of_arrays(law):
    """Formulas of Python's numbers alone are float32 or int32, which triangular laws overflow."""
    arrays = [np.array(x, dtype=float) for x in NUMBERS[law]]
    found, expected = (getattr(jnp.random.default_rng(1), law)(*given, 9) for given in (NUMBERS[law], arrays))
    np.testing.assert_array_equal(found, expected)


def test_numpys_ways_of_saying_the_size_and_the_dtype():
    rng = jnp.random.default_rng(0)
    assert rng.normal(size=np.array([2, 3])).shape == (2, 3)
    assert rng.random(2, dtype=None).dtype == np.float64
    assert rng.spawn(0) == []
    assert rng.choice(0, size=0).shape == (0,)
    assert rng.standard_gamma([0.0, 0.0]).tolist() == [0.0, 0.0]
    assert rng.multinomial([[3], [4]], [[0.5, 0.5], [1.0, 0.0]]).sum(-1).tolist() == [[3, 3], [4, 4]]


@pytest.mark.parametrize("method", ["svd", "eigh", "cholesky"])
def test_normal_vectors_of_a_method_have_the_covariance(method):
    cov = np.array([[2.0, -0.5], [-0.5, 1.0]])
    draw = jnp.random.default_rng(0).multivariate_normal([0, 0], cov, COUNT, method=method).numpy()
    np.testing.assert_allclose(np.cov(draw.T), cov, atol=0.06)


def test_a_singular_covariance_gives_vectors_in_a_subspace():
    draw = jnp.random.default_rng(0).multivariate_normal([0, 0], [[1, 1], [1, 1]], 50).numpy()
    np.testing.assert_allclose(draw[:, 0], draw[:, 1], atol=1e-6)  # the root of a rounded 0
    with pytest.warns(RuntimeWarning, match="not symmetric positive-semidefinite"):
        jnp.random.default_rng(0).multivariate_normal([0, 0], [[1, 2], [2, 1]])


def test_a_seed_repeats_the_numbers():
    for seed in (7, [7, 8], 2**100):
        a, b = (jnp.random.default_rng(seed).random(4).tolist() for _ in range(2))
        assert a == b
    assert jnp.random.default_rng().random() != jnp.random.default_rng().random()
    rng = jnp.random.default_rng(3)
    assert jnp.random.default_rng(rng) is rng
    children = rng.spawn(2)
    assert children[0].random() != children[1].random()
    assert pickle.loads(pickle.dumps(children[0])).random() == children[0].random()
    jnp.random.seed(3)
    first = jnp.random.randn(2, 3), jnp.random.rand(), jnp.random.randint(10, size=3), jnp.random.choice(9)
    jnp.random.seed(3)
    again = jnp.random.randn(2, 3), jnp.random.rand(), jnp.random.randint(10, size=3), jnp.random.choice(9)
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    state = jnp.random.RandomState(4)
    draw = state.randn(3).tolist()
    state.seed(4)
    assert state.randn(3).tolist() == draw


def test_a_function_draws_other_numbers_in_each_call():
    rng = jnp.random.default_rng(0)

    @jt.function
    def draw(scale):
        return scale * rng.normal(size=3), jnp.random.uniform(size=2)

    results = [tuple(np.concatenate([a.numpy(), b.numpy()])) for a, b in (draw(2.0) for _ in range(4))]
    assert len(set(results)) == 4


@pytest.mark.parametrize(
    ("law", "parameters", "slope"),
    [
        ("normal", [1.0, 2.0], lambda x: [1.0, (x - 1.0) / 2.0]),
        ("exponential", [2.0], lambda x: [x / 2.0]),
        ("uniform", [1.0, 3.0], lambda x: [1.0 - (x - 1.0) / 2.0, (x - 1.0) / 2.0]),
        ("lognormal", [0.5, 1.0], lambda x: [x, x * (np.log(x) - 0.5)]),
        ("rayleigh", [2.0], lambda x: [x / 2.0]),
        ("weibull", [2.0], lambda x: [-x * np.log(x) / 2.0]),
    ],
)
def test_gradients_flow_to_parameters(law, parameters, slope):
    given = jnp.array(parameters)
    value, gradient = jt.value_and_grad(lambda p: getattr(jnp.random.default_rng(1), law)(*p))(given)
    np.testing.assert_allclose(gradient, slope(float(value)), rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda rng: rng.normal(0, -1), ValueError, r"\[random.normal\] scale must not be negative"),
        (lambda rng: rng.normal([1, 2], size=3), ValueError, "do not broadcast to size 3"),
        (lambda rng: rng.normal("a"), TypeError, "loc must be"),
        (lambda rng: rng.gamma(-1.0), ValueError, "shape must not be negative"),
        (lambda rng: rng.binomial(2.5, 0.5), ValueError, "n must be a whole number"),
        (lambda rng: rng.choice(3, 5, replace=False), ValueError, "cannot draw 5 of 3"),
        (lambda rng: rng.choice(2, p=[0.5, 0.6]), ValueError, "add up to 1"),
        (lambda rng: rng.choice(2, p=[1.0]), ValueError, r"p must have shape \(2,\)"),
        (lambda rng: rng.shuffle([1, 2]), TypeError, "use permutation"),
        (lambda rng: rng.random(3, out=np.ones(3)), TypeError, "out="),
        (lambda rng: rng.integers(3, dtype=float), TypeError, "integer dtype"),
        (lambda rng: jnp.random.default_rng(-1), TypeError, "seed must be an int of at least 0"),
        (lambda rng: jnp.random.default_rng(np.random.PCG64(1)), TypeError, "seed must be an int"),
        (lambda rng: jnp.random.Generator(1), TypeError, "use default_rng"),
        (lambda rng: rng.uniform(2, 1), ValueError, "low must not exceed high, got 2.0 and 1.0"),
        (lambda rng: rng.uniform(0, np.inf), OverflowError, "high - low must be finite"),
        (lambda rng: rng.triangular(0, 3, 2), ValueError, "mode must not exceed right"),
        (lambda rng: rng.triangular(2, 2, 2), ValueError, "left must be less than right"),
        (lambda rng: rng.geometric(0), ValueError, "p must be greater than 0"),
        (lambda rng: rng.negative_binomial(2, 0), ValueError, "p must be greater than 0"),
        (lambda rng: rng.negative_binomial(1e20, 0.5), ValueError, "must be at least 0 and less than 9.2e18"),
        (lambda rng: rng.poisson(1e20), ValueError, "lam must be at least 0 and less than 9.2e18"),
        (lambda rng: rng.multinomial(3, [0.6, 0.6, 0.1]), ValueError, "add up to at most 1"),
        (lambda rng: rng.multinomial(3, [1.5, 0.1]), ValueError, "pvals must be between 0 and 1"),
        (lambda rng: rng.multinomial(2**53, [0.2, 0.8]), ValueError, r"n must be less than 2\*\*53"),
        (lambda rng: rng.multinomial(np.inf, [0.2, 0.8]), ValueError, r"n must be less than 2\*\*53"),
        (
            lambda rng: rng.choice(None),
            TypeError,
            r"\[random.choice\] a must be an int or an array, got None",
        ),
        (lambda rng: rng.choice(2.5), TypeError, "a must be an int, got 2.5"),
        (lambda rng: rng.permutation(None), TypeError, "x must be an int or an array, got None"),
        (lambda rng: rng.multinomial(3, []), ValueError, "last dimension of at least 1"),
        (lambda rng: rng.random(3, dtype=np.float16), TypeError, "dtype must be float32 or float64"),
        (lambda rng: rng.random(True), TypeError, "size must be an int or a sequence of ints"),
        (lambda rng: rng.permuted(3), TypeError, "at least one dimension"),
        (lambda rng: rng.integers(5, size=2, dtype=bool), ValueError, "high must not exceed 2"),
        (lambda rng: rng.multivariate_normal([0], [[1]], method="qr"), ValueError, "svd, eigh, cholesky"),
        (lambda rng: rng.multivariate_normal([0], np.eye(2)), ValueError, r"got shapes \(1,\) and \(2, 2\)"),
        (
            lambda rng: rng.multivariate_normal([0, 0], [[1, 2], [2, 1]], check_valid="raise"),
            ValueError,
            "positive-semidefinite",
        ),
        (lambda rng: rng.zipf(1.0), ValueError, "a must be greater than 1"),
        (lambda rng: rng.logseries(1.0), ValueError, "p must be at least 0 and less than 1"),
        (lambda rng: rng.vonmises(0, -1), ValueError, "kappa must not be negative"),
        (
            lambda rng: rng.hypergeometric(1, 3, 5),
            ValueError,
            r"nsample must not exceed ngood \+ nbad, got 5 of 1 \+ 3",
        ),
        (lambda rng: rng.hypergeometric(10**9, 3, 5), ValueError, r"ngood must be less than 10\*\*9"),
        (lambda rng: rng.multivariate_hypergeometric([1, 2], 4), ValueError, "got 4 of 3"),
        (
            lambda rng: rng.multivariate_hypergeometric([1, -2], 4),
            ValueError,
            "colors must be a whole number",
        ),
        (lambda rng: rng.multivariate_hypergeometric([[1, 2]], 1), ValueError, "colors must be a vector"),
        (lambda rng: rng.multivariate_hypergeometric([1], -1), ValueError, "nsample must not be negative"),
        (
            lambda rng: rng.multivariate_hypergeometric([1], 1, method="x"),
            ValueError,
            "'count' or 'marginals'",
        ),
        (lambda rng: rng.multivariate_hypergeometric([10**9], 1), ValueError, "less than 10"),
        (lambda rng: jnp.random.random_integers, AttributeError, "random.randint"),
        (lambda rng: jnp.random.PCG64, AttributeError, r"default_rng\(seed\)"),
    ],
)
def test_bad_input(call, error, text):
    with pytest.raises(error, match=text):
        call(jnp.random.default_rng(0))
