"""The laws of `jt.random` against SciPy, their gradients, shapes and arguments. Seeds are fixed, so results repeat."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.stats as st

import jittape as jt

R = jt.random
COUNT = 40_000
LEAST_PROBABILITY = 1e-6
"""Least probability of a statistic as extreme as the one that a test finds."""


@pytest.fixture(autouse=True)
def seeded():
    R.set_seed(11)


def between(shape, *parameters):
    return R.stateless_parameterized_truncated_normal(shape, [5, 6], *parameters)


CONTINUOUS = {
    "normal": (lambda s, d: R.normal(s, 1.0, 2.0, dtype=d), st.norm(1, 2)),
    "truncated_normal": (lambda s, d: R.truncated_normal(s, 1.0, 2.0, dtype=d), st.truncnorm(-2, 2, 1, 2)),
    "uniform": (lambda s, d: R.uniform(s, -1.0, 3.0, dtype=d), st.uniform(-1, 4)),
    "exponential": (lambda s, d: R.exponential(s, 2.0, dtype=d), st.expon(scale=2)),
    "laplace": (lambda s, d: R.laplace(s, 1.0, 2.0, dtype=d), st.laplace(1, 2)),
    "gumbel": (lambda s, d: R.gumbel(s, 1.0, 2.0, dtype=d), st.gumbel_r(1, 2)),
    "gamma 0.1": (lambda s, d: R.gamma(s, 0.1, dtype=d), st.gamma(0.1)),
    "gamma 0.9": (lambda s, d: R.gamma(s, 0.9, 3.0, dtype=d), st.gamma(0.9, scale=1 / 3)),
    "gamma 1": (lambda s, d: R.gamma(s, 1.0, dtype=d), st.gamma(1)),
    "gamma 20": (lambda s, d: R.gamma(s, 20.0, dtype=d), st.gamma(20)),
    "beta": (lambda s, d: R.beta(s, 0.5, 2.5, dtype=d), st.beta(0.5, 2.5)),
    "beta 10": (lambda s, d: R.beta(s, 10.0, 3.0, dtype=d), st.beta(10, 3)),
    "dirichlet": (lambda s, d: R.dirichlet(s, [1.0, 0.5, 2.0], dtype=d)[..., 1], st.beta(0.5, 3)),
}
INTERVALS = {
    "middle": (-1.5, 4.0),
    "tail": (7.0, np.inf),
    "far tail": (-59.0, -55.0),
    "all": (-np.inf, np.inf),
}
CONTINUOUS |= {
    f"normal between, {name}": (
        lambda s, d, ends=ends: between(s, np.array([1.0], d), np.array([2.0], d), *ends),
        st.truncnorm((ends[0] - 1) / 2, (ends[1] - 1) / 2, 1, 2),
    )
    for name, ends in INTERVALS.items()
}
DISCRETE = {
    "poisson 0.3": (lambda s: R.poisson(s, 0.3), st.poisson(0.3)),
    "poisson 9.9": (lambda s: R.poisson(s, 9.9), st.poisson(9.9)),
    "poisson 10": (lambda s: R.poisson(s, 10.0), st.poisson(10)),
    "poisson 400": (lambda s: R.poisson(s, 400.0), st.poisson(400)),
    "poisson 1e8": (lambda s: R.poisson(s, 1e8, dtype="float64"), st.poisson(1e8)),
    "binomial 7": (lambda s: R.binomial(s, 7, 0.3), st.binom(7, 0.3)),
    "binomial 7 often": (lambda s: R.binomial(s, 7, 0.9), st.binom(7, 0.9)),
    "binomial 1e6 rare": (lambda s: R.binomial(s, 10**6, 3e-6), st.binom(10**6, 3e-6)),
    "binomial 40": (lambda s: R.binomial(s, 40, 0.5), st.binom(40, 0.5)),
    "binomial 500": (lambda s: R.binomial(s, 500, 0.97), st.binom(500, 0.97)),
    "bernoulli": (lambda s: R.bernoulli(s, 0.3), st.bernoulli(0.3)),
    "uniform": (lambda s: R.uniform(s, -3, 5, "int32"), st.randint(-3, 5)),
    "categorical": (
        lambda s: R.categorical(jt.math.log([[0.2, 0.5, 0.3]]), s[0])[0],
        st.rv_discrete(values=([0, 1, 2], [0.2, 0.5, 0.3])),
    ),
}


def chi_square_probability(draw, law):
    """Return the p-value of the counts in at most some forty classes, each expected at least five times."""
    low, high = int(law.ppf(1e-4)), int(law.ppf(1 - 1e-4))
    ends = np.arange(low, high + 1, max(1, (high - low) // 40))
    observed = np.histogram(draw, [-np.inf, *(ends + 0.5), np.inf])[0]
    expected = np.diff([0.0, *law.cdf(ends), 1.0]) * draw.size
    common = expected >= 5
    observed = np.append(observed[common], observed[~common].sum())
    expected = np.append(expected[common], expected[~common].sum())
    statistic = ((observed - expected) ** 2 / np.maximum(expected, 1e-3)).sum()
    return st.chi2.sf(statistic, len(expected) - 1)


@pytest.mark.parametrize("name", CONTINUOUS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_continuous_law(name, dtype, mode):
    draw, law = CONTINUOUS[name]
    found = draw([COUNT], dtype)
    assert found.dtype == dtype
    assert found.shape == (COUNT,)
    assert st.kstest(found.numpy().astype("float64"), law.cdf).pvalue > LEAST_PROBABILITY


@pytest.mark.parametrize("name", DISCRETE)
def test_a_discrete_law(name, mode):
    draw, law = DISCRETE[name]
    found = draw([COUNT]).numpy().astype("float64")
    np.testing.assert_array_equal(found, np.round(found))
    assert chi_square_probability(found, law) > LEAST_PROBABILITY


@pytest.mark.parametrize("wrong", [st.poisson(9.7), st.poisson(10.1)])
def test_the_test_of_a_discrete_law_can_fail(wrong):
    draw = R.poisson([COUNT], 9.9).numpy()
    assert chi_square_probability(draw, wrong) < LEAST_PROBABILITY


@pytest.mark.parametrize("size", [1e10, 1e12, 1e15])
def test_counts_of_large_means_have_the_right_mean_and_spread(size, mode):
    """The logarithms of the probabilities would lose all digits as differences of `lgamma`."""
    for draw, mean, variance in (
        (R.poisson([COUNT], size, dtype="float64"), size, size),
        (R.binomial([COUNT], size, 0.3, dtype="float64"), 0.3 * size, 0.21 * size),
    ):
        standardized = (draw.numpy() - mean) / np.sqrt(variance)
        assert st.kstest(standardized, st.norm.cdf).pvalue > LEAST_PROBABILITY


def test_python_numbers_are_parameters_in_full_precision():
    assert R.uniform([2], 0.1, 0.1, "float64").tolist() == [0.1, 0.1]
    assert R.normal([2], 0.1, 0.0, "float64").tolist() == [0.1, 0.1]
    assert R.multivariate_normal([], [0.1], scale_tril=[[0.0]], dtype="float64").tolist() == [0.1]
    assert R.bernoulli([1_000_000], 1e-12).numpy().sum() == 0
    unit = R.stateless_gamma([4], [1, 2], np.array(0.1), dtype="float64").tolist()
    assert R.stateless_gamma([4], [1, 2], 0.1, dtype="float64").tolist() == unit


def test_lists_of_tensors_are_parameters_with_gradients():
    v = jt.Variable(1.0)
    with jt.GradientTape() as tape:
        total = jt.reduce_sum(R.normal([2], [v, 3.0], [0.0, 2 * v]))
    assert tape.gradient(total, v).numpy() != 0


def test_tails_of_the_normal_law():
    """Counts of a million numbers beyond 3, 4 and 4.8; also the correlation of neighbors, which share no block."""
    draw = R.normal([1_000_000], dtype="float32").numpy().astype("float64")
    for limit in (3.0, 4.0, 4.8):
        expected = draw.size * 2 * st.norm.sf(limit)
        assert abs((np.abs(draw) > limit).sum() - expected) < 5 * np.sqrt(expected) + 1
    assert abs((draw[1:] * draw[:-1]).mean()) < 5e-3
    assert abs((draw**3).mean()) < 5 * np.sqrt(15 / draw.size)
    assert abs((draw**4).mean() - 3) < 5 * np.sqrt(96 / draw.size)


def test_multivariate_normal():
    mean, cov = np.array([1.0, -2.0, 0.5]), np.array([[2.0, 0.6, 0.0], [0.6, 1.0, -0.3], [0.0, -0.3, 0.5]])
    for draw in (
        R.multivariate_normal([COUNT], mean, cov, dtype="float64").numpy(),
        R.multivariate_normal([COUNT], mean, scale_tril=np.linalg.cholesky(cov), dtype="float64").numpy(),
    ):
        white = np.linalg.solve(np.linalg.cholesky(cov), (draw - mean).T)
        for row in (*white, (white[0] + white[1]) / np.sqrt(2), (white[1] - white[2]) / np.sqrt(2)):
            assert st.kstest(row, st.norm.cdf).pvalue > LEAST_PROBABILITY


def test_multivariate_normal_in_batches():
    means, factors = np.arange(6.0).reshape(2, 3), np.stack([np.eye(3), 2 * np.eye(3)])
    draw = R.multivariate_normal([4], means, scale_tril=factors, dtype="float64", seed=3).numpy()
    assert draw.shape == (4, 2, 3)
    unit = R.normal([4, 2, 3], dtype="float64", seed=3).numpy()
    np.testing.assert_allclose(draw, means + unit * np.array([1.0, 2.0])[:, None], rtol=1e-14)


# ---- shapes and dtypes -----------------------------------------------------------------------------------------------


def test_shapes_of_parameters():
    assert R.gamma([2], np.ones((3, 1)), np.ones(4)).shape == (2, 3, 4)
    assert R.gamma([], 2.0).shape == ()
    assert R.poisson([2], [1.0, 2.0, 30.0]).shape == (2, 3)
    assert R.dirichlet([2], np.ones((3, 4))).shape == (2, 3, 4)
    assert R.stateless_gamma([2, 3], [1, 2], [0.5, 1.0, 2.0]).shape == (2, 3)
    assert R.stateless_poisson([2, 3], [1, 2], [0.5, 1.0, 2.0]).shape == (2, 3)
    assert R.stateless_binomial([2, 3], [1, 2], 10, [0.5, 0.1, 0.2]).shape == (2, 3)
    assert R.categorical(np.zeros((2, 3)), 5).shape == (2, 5)
    assert R.categorical(np.zeros((2, 3)), 0).shape == (2, 0)
    for shape in ([0], [2, 0], []):
        assert R.gamma(shape, 0.5).shape == tuple(shape)
        assert R.poisson(shape, 0.5).shape == tuple(shape)
        assert R.laplace(shape).shape == tuple(shape)


def test_dtypes_of_counts():
    assert R.poisson([2], 1.0).dtype == jt.float32
    assert R.stateless_poisson([2], [1, 2], 1.0).dtype == jt.int32
    assert R.binomial([2], 3, 0.5).dtype == jt.int32
    assert R.binomial([2], 3, 0.5, dtype="float64").dtype == jt.float64
    assert R.bernoulli([2], dtype=bool).dtype == bool
    assert R.categorical(np.zeros((1, 2)), 3).dtype == jt.int64
    assert R.stateless_categorical(np.zeros((1, 2)), 3, [1, 2], "int32").dtype == jt.int32


@pytest.mark.parametrize("name", CONTINUOUS)
def test_half_precision(name, mode):
    draw, law = CONTINUOUS[name]
    found = draw([2000], "float16").numpy()
    assert found.dtype == np.float16
    assert np.isfinite(found).all()
    assert abs(np.median(found.astype("float64")) - law.median()) < 0.2 * law.std()


def test_edges_of_parameters():
    assert R.poisson([3], 0.0).tolist() == [0.0] * 3
    assert R.binomial([3], 5, 0.0).tolist() == [0] * 3
    assert R.binomial([3], 5, 1.0).tolist() == [5] * 3
    assert R.binomial([3], 0, 0.5).tolist() == [0] * 3
    assert R.bernoulli([3], [0.0, 1.0, 0.0]).tolist() == [0, 1, 0]
    assert np.isfinite(R.gamma([1000], 1e-3).numpy()).all()
    tiny = R.dirichlet([500], [1e-3, 1e-3, 1e-3]).numpy()
    np.testing.assert_allclose(tiny.sum(1), 1, rtol=1e-5)
    assert ((R.beta([500], 1e-3, 1e-3).numpy() >= 0) & (R.beta([500], 1e-3, 1e-3).numpy() <= 1)).all()
    assert set(R.categorical([[0.0, -np.inf, 0.0]], 200)[0].tolist()) == {0, 2}


@pytest.mark.parametrize("classes", [3, 500])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_draws_of_classes_have_their_probabilities(mode, classes, dtype):
    """Uniform numbers are compared with all cumulative probabilities of few classes, and are searched among many."""
    draws, rng = 40_000, np.random.default_rng(3)
    logits = rng.normal(size=(2, classes)).astype(dtype) + dtype(300)
    logits[0, [0, -1]], logits[1, 1] = -np.inf, 302
    found = R.stateless_categorical(logits, draws, [3, classes]).numpy()
    wanted = np.exp(logits - logits.max(axis=1, keepdims=True), dtype=np.float64)
    wanted /= wanted.sum(axis=1, keepdims=True)
    for row, probabilities in zip(found, wanted, strict=True):
        counts = np.bincount(row, minlength=classes)
        assert (counts[probabilities == 0] == 0).all()
        spread = np.sqrt(draws * probabilities * (1 - probabilities))
        assert (abs(counts - draws * probabilities) <= 5 * spread + 1).all()


@pytest.mark.parametrize("classes", [3, 500])
def test_many_draws_of_one_infinite_logit(mode, classes):
    logits = np.zeros((1, classes))
    logits[0, 2] = np.inf
    assert set(R.categorical(logits, 2000)[0].tolist()) == {2}
    logits[0, 0] = np.inf
    assert set(R.categorical(logits, 2000)[0].tolist()) == {0, 2}


@pytest.mark.parametrize("draws", [5, 2000])
def test_rows_of_logits_without_probabilities_give_minus_one(mode, draws):
    nan, inf = np.nan, np.inf
    logits = jt.constant([[0.0, nan, inf], [-inf, -inf, -inf], [nan, nan, nan], [-inf, 0.0, -inf]])
    found = R.categorical(logits, draws).numpy()
    assert (found == np.array([[-1], [-1], [-1], [1]])).all()


NOT_NEGATIVE_SCALES = {
    "normal": lambda s: R.normal([3], 1.0, s),
    "truncated_normal": lambda s: R.truncated_normal([3], 1.0, s),
    "laplace": lambda s: R.laplace([3], 1.0, s),
    "gumbel": lambda s: R.gumbel([3], 1.0, s),
    "exponential": lambda s: R.exponential([3], s),
    "gamma": lambda s: R.gamma([], 2.0, s),
}


@pytest.mark.parametrize("name", NOT_NEGATIVE_SCALES)
def test_negative_scales_in_tensors_give_nan(name, mode):
    found = NOT_NEGATIVE_SCALES[name](jt.constant([-1.0, np.nan, 2.0])).numpy()
    assert np.isnan(found).tolist() == [True, True, False]


def test_bounds_in_tensors_that_are_out_of_order_or_infinite_give_nan(mode):
    high = jt.constant([-1.0, np.nan, np.inf, 2.0, 0.0])
    assert np.isnan(R.uniform([5], 0.0, high).numpy()).tolist() == [True, True, True, False, False]


def test_counts_that_a_dtype_cannot_hold_become_minus_one(mode):
    found = R.poisson([], jt.constant([1e4, 3.0]), dtype="int8").numpy()
    assert found[0] == -1
    assert found[1] >= 0
    assert R.poisson([], jt.constant([1e30]), dtype="int64").numpy().tolist() == [-1]


INVALID_TENSORS = {
    "end below start": (
        lambda x: R.uniform([2], 5, x, "int32"),
        [9, 4],
        r"maxval must exceed minval, .* int32, got maxval\[1\] = 4",
    ),
    "end out of range": (lambda x: R.uniform([2], 0, x, "uint8"), [9, 257], r"uint8, got maxval\[1\] = 257"),
    "start out of range": (lambda x: R.uniform([2], x, 9, "uint64"), [1, -1], "uint64, got maxval"),
    "probability": (
        lambda x: R.bernoulli([2], x, bool),
        [0.5, 1.5],
        r"probs must be between 0 and 1, got probs\[1\] = 1.5",
    ),
}


@pytest.mark.parametrize("name", INVALID_TENSORS)
def test_results_without_nan_raise_an_error_at_run_time(name, mode):
    draw, values, text = INVALID_TENSORS[name]
    with pytest.raises(ValueError, match=text):
        draw(jt.constant(values)).numpy()
    assert draw(jt.constant([values[0], values[0]])).shape == (2,)


def test_invalid_tensors_give_nan_or_minus_one(mode):
    bad = jt.constant([-1.0, np.nan, 2.0])
    assert np.isnan(between([3], 0.0, bad).numpy()).tolist() == [True, True, False]
    assert np.isnan(between([3], 0.0, 1.0, bad, 0.5).numpy()).tolist() == [False, True, True]
    assert np.isnan(between([2], 0.0, 1.0, 40.0, 41.0).numpy()).all()  # beyond the range of float64
    assert np.isnan(R.gamma([], bad).numpy()).tolist() == [True, True, False]
    counts = R.poisson([], bad, dtype="int32").numpy()
    assert counts[:2].tolist() == [-1, -1]
    assert counts[2] >= 0
    assert np.isnan(R.poisson([], bad).numpy()).tolist() == [True, True, False]
    assert R.binomial([3], jt.constant([3.5, -1.0, 3.0]), 0.5).numpy()[:2].tolist() == [-1, -1]
    assert R.binomial([3], 3, jt.constant([1.5, np.nan, 0.5])).numpy()[:2].tolist() == [-1, -1]
    assert R.bernoulli([3], jt.constant([1.5, np.nan, 1.0])).tolist() == [-1, -1, 1]


@pytest.mark.parametrize(
    ("draw", "error", "text"),
    [
        (lambda: between([2], 0.0, 0.0), ValueError, r"truncated_normal\] stddevs must be positive, got 0.0"),
        (
            lambda: between([2], 0.0, 1.0, 2.0, 1.0),
            ValueError,
            "minvals must be less than maxvals, got 2.0 and 1",
        ),
        (lambda: between([2], np.ones(3)), ValueError, r"means of shape \(3,\) does not broadcast to \(2,\)"),
        (lambda: R.gamma([2], 0.0), ValueError, r"\[random.gamma\] alpha must be positive, got 0.0"),
        (lambda: R.gamma([2], [1.0, -1.0]), ValueError, r"alpha must be positive, got \[1.0, -1.0\]"),
        (lambda: R.gamma([2], 1.0, -1.0), ValueError, "beta must be positive"),
        (
            lambda: R.gamma([2], np.ones(2), np.ones(3)),
            ValueError,
            r"alpha of shape \(2,\) and beta of shape \(3,\) do",
        ),
        (lambda: R.gamma([2], 1.0, dtype="int32"), TypeError, "floating-point numbers, not int32"),
        (lambda: R.gamma([-2], 1.0), ValueError, "dimensions must not be negative"),
        (lambda: R.gamma([2], "a"), TypeError, "alpha must be a real number"),
        (
            lambda: R.stateless_gamma([2], [1, 2], np.ones(3)),
            ValueError,
            r"shape \(3,\) does not broadcast to \(2,\)",
        ),
        (lambda: R.stateless_gamma([2], [1.5, 2], 1.0), TypeError, "seed must have an integer dtype"),
        (lambda: R.poisson([2], -1.0), ValueError, "lam must be at least 0 and finite, got -1.0"),
        (lambda: R.poisson([2], np.nan), ValueError, "lam must be at least 0 and finite"),
        (
            lambda: R.poisson([2], 1e12, "int32"),
            ValueError,
            "lam must be at most 2147483647 for counts of dtype int32",
        ),
        (
            lambda: R.stateless_binomial([2], [1, 2], [3, 2**32], 0.5),
            ValueError,
            "counts must be at most 2147483647",
        ),
        (
            lambda: R.poisson([2], 1.0, dtype=bool),
            TypeError,
            "dtype must be an integer or floating dtype, got bool",
        ),
        (lambda: R.binomial([2], -1, 0.5), ValueError, "counts must be integers of at least 0"),
        (lambda: R.binomial([2], 1.5, 0.5), ValueError, "counts must be integers of at least 0"),
        (lambda: R.binomial([2], 3, 1.5), ValueError, "probs must be between 0 and 1, got 1.5"),
        (lambda: R.bernoulli([2], -0.5), ValueError, "probs must be between 0 and 1"),
        (lambda: R.beta([2], 0.0, 1.0), ValueError, "a must be positive"),
        (lambda: R.beta([2], 1.0, 0.0), ValueError, "b must be positive"),
        (
            lambda: R.dirichlet([2], 1.0),
            ValueError,
            r"alpha must have a last dimension of at least 1, got shape \(\)",
        ),
        (lambda: R.dirichlet([2], [1.0, 0.0]), ValueError, "alpha must be positive"),
        (lambda: R.exponential([2], -1.0), ValueError, "scale must not be negative, got -1.0"),
        (lambda: R.laplace([2], 0.0, [1.0, -1.0]), ValueError, "scale must not be negative"),
        (lambda: R.gumbel([2], 1j), TypeError, "loc must be a real number"),
        (
            lambda: R.categorical([0.0, 1.0], 3),
            ValueError,
            r"logits must have shape \(batch, classes\), got \(2,\)",
        ),
        (lambda: R.categorical([[]], 3), ValueError, r"logits must have shape \(batch, classes\)"),
        (lambda: R.categorical([[1, 2]], 3), TypeError, "logits must have a floating dtype, got int32"),
        (lambda: R.categorical([[1.0], [np.nan]], 1), ValueError, r"no nan, got logits\[1\] = array\(\[nan"),
        (
            lambda: R.categorical(np.zeros((1, 129)), 1, "int8"),
            TypeError,
            "int8 cannot hold the number of all 129",
        ),
        (lambda: R.categorical([[1.0, 2.0]], -1), ValueError, "num_samples must not be negative"),
        (lambda: R.categorical([[1.0, 2.0]], 1.5), TypeError, "num_samples"),
        (lambda: R.multivariate_normal([2], [0.0, 0.0]), ValueError, "give either cov or scale_tril"),
        (
            lambda: R.multivariate_normal([2], 0.0, [[1.0]]),
            ValueError,
            r"mean must have shape \(..., n\) and cov",
        ),
        (lambda: R.multivariate_normal([2], [0.0], np.eye(2)), ValueError, r"got \(1,\) and \(2, 2\)"),
        (
            lambda: R.multivariate_normal([2], np.zeros((3, 2)), np.ones((4, 2, 2))),
            ValueError,
            r"shapes \(3, 2\) of mean and \(4, 2, 2\) of cov do not broadcast",
        ),
    ],
)
def test_bad_arguments(draw, error, text):
    state = R.get_state()
    with pytest.raises(error, match=text):
        draw()
    np.testing.assert_array_equal(R.get_state(), state)


# ---- everywhere the same ---------------------------------------------------------------------------------------------

STATELESS = {
    "gamma": lambda seed: R.stateless_gamma([5], seed, [0.3, 0.9, 1.0, 3.0, 50.0], dtype="float64"),
    "poisson": lambda seed: R.stateless_poisson([4], seed, [0.5, 8.0, 20.0, 1e6], dtype="float64"),
    "binomial": lambda seed: R.stateless_binomial([4], seed, [3.0, 50.0, 100.0, 1e6], 0.3, "float64"),
    "categorical": lambda seed: R.stateless_categorical(np.zeros((2, 3)), 4, seed),
    "beta": lambda seed: R.stateless_beta([4], seed, 0.5, [0.3, 0.9, 3.0, 50.0], dtype="float64"),
    "dirichlet": lambda seed: R.stateless_dirichlet([2], seed, [0.3, 0.9, 3.0], dtype="float64"),
    "exponential": lambda seed: R.stateless_exponential([4], seed, 2.0, dtype="float64"),
    "multivariate_normal": lambda seed: R.stateless_multivariate_normal(
        [2], seed, [0.0, 1.0], [[2.0, 1.0], [1.0, 2.0]], dtype="float64"
    ),
}


@pytest.mark.parametrize("name", STATELESS)
def test_functions_loops_and_batches_draw_the_same(name):
    draw, seeds = STATELESS[name], R.split([1, 2], 30)
    expected = np.stack([draw(seed).numpy() for seed in seeds])
    start = jt.zeros(expected.shape[1:], expected.dtype)
    compiled = jt.function(lambda: jt.scan(lambda _, seed: draw(seed), seeds, start))
    for _ in range(2):
        np.testing.assert_allclose(compiled().numpy(), expected, rtol=1e-13)
    np.testing.assert_allclose(jt.vectorized_map(draw, seeds).numpy(), expected, rtol=1e-13)


def test_a_generator_draws_binomial_numbers():
    generator = R.Generator.from_seed(4)
    R.set_seed(4)
    assert generator.binomial([5], 10, 0.3).tolist() == R.binomial([5], 10, 0.3).tolist()


def test_functions_draw_anew_at_each_call():
    @jt.function
    def f(alpha, logits):
        return (
            R.gamma([3], alpha),
            R.beta([3], alpha, 2.0),
            R.dirichlet([1], [1.0, 1.0, 1.0]),
            R.poisson([3], alpha * 30),
            R.exponential([3], alpha),
            R.laplace([3], scale=alpha),
            R.gumbel([3], alpha),
            R.multivariate_normal([2], [0.0, 0.0], scale_tril=np.eye(2)),
            R.binomial([3], 1000, 0.5),
            R.categorical(logits, 30),
            R.bernoulli([64]),
        )

    results = [f(jt.constant(1.5), jt.zeros([1, 9])) for _ in range(3)]
    assert f.trace_count == 1
    for draws in zip(*results, strict=True):
        assert len({tuple(draw.numpy().ravel().tolist()) for draw in draws}) == 3


# ---- gradients -------------------------------------------------------------------------------------------------------

AFFINE = {
    "normal": (lambda a, b: R.normal([6], a, b, dtype="float64"), (0.3, 1.2)),
    "truncated_normal": (lambda a, b: R.truncated_normal([6], a, b, dtype="float64"), (0.3, 1.2)),
    "normal between, mean and scale": (lambda a, b: between([6], a, b, 0.2, 3.0), (0.3, 1.2)),
    "normal between, bounds": (lambda a, b: between([6], 0.0, 1.0, a, b), (0.3, 1.2)),
    "uniform": (lambda a, b: R.uniform([6], a, b, dtype="float64"), (0.3, 1.2)),
    "laplace": (lambda a, b: R.laplace([6], a, b, dtype="float64"), (0.3, 1.2)),
    "gumbel": (lambda a, b: R.gumbel([6], a, b, dtype="float64"), (0.3, 1.2)),
    "exponential": (lambda a, b: a + R.exponential([6], b, dtype="float64"), (0.3, 1.2)),
    "gamma rate": (lambda a, b: R.gamma([6], 2.0, a * b, dtype="float64"), (0.3, 1.2)),
    "multivariate_normal": (
        lambda a, b: R.multivariate_normal(
            [3], jt.stack([a, 0.0]), [[1.0, 0.5], [0.5, 2.0]] * b, dtype="float64"
        ),
        (0.3, jt.constant(1.2, "float64")),
    ),
}


@pytest.mark.parametrize("name", AFFINE)
def test_gradients_of_locations_and_scales(name, mode):
    draw, (a, b) = AFFINE[name]

    def run(a, b):
        R.set_seed(8)
        return draw(a, b)

    a, b = jt.Variable(a, dtype="float64"), jt.Variable(b, dtype="float64")
    for _ in range(2):
        with jt.GradientTape() as tape:
            total = jt.reduce_sum(run(a, b))
        gradients = tape.gradient(total, [a, b])
    for i, gradient in enumerate(gradients):
        step = np.eye(2)[i] * 1e-5
        pairs = [jt.constant([float(a), float(b)] + sign * step) for sign in (1, -1)]
        above, below = (float(jt.reduce_sum(run(pair[0], pair[1]))) for pair in pairs)
        assert float(gradient) == pytest.approx((above - below) / 2e-5, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize(
    ("draw", "reason"),
    [
        (lambda v: R.poisson([3], v), "counts are integers"),
        (lambda v: R.binomial([3], 5, v), "counts are integers"),
        (lambda v: R.bernoulli([3], v, dtype="float32"), "`less`"),
        (lambda v: R.categorical(jt.reshape(v, [1, 1]) * jt.ones([1, 3]), 4, dtype="float32"), "`equal`"),
        (lambda v: R.stateless_normal([4], jt.cast(jt.stack([v, v]), "int32")), "gives int32"),
    ],
)
def test_draws_without_gradients(draw, reason):
    v = jt.Variable(0.5)
    with jt.GradientTape() as tape:
        total = jt.reduce_sum(draw(v))
    with pytest.warns(jt.UnconnectedGradientWarning, match=reason):
        assert tape.gradient(total, v) is None


def slope_of_gamma(alpha, x):
    """Return the derivative of a gamma number with respect to its shape, at a constant distribution function."""
    with mpmath.workdps(40):
        return float(
            -mpmath.diff(lambda a: mpmath.gammainc(a, 0, x, regularized=True), alpha)
            / gamma_density(alpha, x)
        )


def gamma_density(alpha, x):
    return mpmath.exp((alpha - 1) * mpmath.log(x) - x - mpmath.loggamma(alpha))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_gradient_of_gamma_numbers_is_implicit(dtype, mode):
    alpha = jt.Variable(np.array([0.2, 0.9, 1.0, 3.0, 40.0]), dtype=dtype)
    for _ in range(2):
        with jt.GradientTape() as tape:
            draw = R.gamma([], alpha, 2.0, dtype=dtype, seed=5)
        gradient = tape.gradient(draw, alpha).numpy()
    expected = [
        slope_of_gamma(a, 2 * x) / 2
        for a, x in zip(alpha.numpy().tolist(), draw.numpy().tolist(), strict=True)
    ]
    np.testing.assert_allclose(gradient, expected, rtol=1e-10 if dtype == "float64" else 1e-4)


def test_gradients_of_means_of_gamma_beta_and_dirichlet_numbers():
    """The derivatives of the means alpha, a / (a + b) and alpha / sum(alpha), within five standard errors."""
    count = 40_000
    for draw, parameters, mean in [
        (lambda a, b: R.gamma([count], a, b, dtype="float64"), (2.5, 1.5), lambda a, b: a / b),
        (lambda a, b: R.beta([count], a, b, dtype="float64"), (0.4, 1.3), lambda a, b: a / (a + b)),
        (lambda a, b: R.beta([count], a, b, dtype="float64"), (1e-2, 2e-2), lambda a, b: a / (a + b)),
        (
            lambda a, b: R.dirichlet([count], jt.stack([a, b, 1.0]), dtype="float64")[:, 0],
            (0.7, 2.0),
            lambda a, b: a / (a + b + 1),
        ),
    ]:
        for i in range(2):
            tangent = [float(i == j) for j in range(2)]
            primals = [jt.constant(p, "float64") for p in parameters]
            with jt.autodiff.ForwardAccumulator(
                primals, [jt.constant(t, "float64") for t in tangent]
            ) as accumulator:
                numbers = draw(*primals)
            slopes = accumulator.jvp(numbers).numpy()
            step = 1e-6 * np.array(tangent) * parameters[i]
            expected = (mean(*(parameters + step)) - mean(*(parameters - step))) / (2e-6 * parameters[i])
            assert np.isfinite(slopes).all()
            assert abs(slopes.mean() - expected) < 5 * slopes.std() / np.sqrt(count)


def test_second_derivatives_of_gamma_numbers():
    """The mean of the square of a gamma number is alpha * (alpha + 1), whose second derivative is 2."""

    def second(alpha):
        with jt.GradientTape() as outer:
            outer.watch(alpha)
            with jt.GradientTape() as inner:
                inner.watch(alpha)
                total = jt.reduce_mean(R.gamma([20_000], alpha, dtype="float64", seed=2) ** 2)
            slope = inner.gradient(total, alpha)
        return outer.gradient(slope, alpha)

    assert float(second(jt.constant(2.0, "float64"))) == pytest.approx(2, abs=0.1)


def test_gradients_of_tiny_parameters_are_finite():
    alpha = jt.Variable([1e-3, 2e-3, 5e-4])
    with jt.GradientTape() as tape:
        loss = jt.reduce_sum(R.dirichlet([100], alpha, seed=1)[:, 0]) + jt.reduce_sum(
            R.beta([100], alpha[0], alpha[1])
        )
    assert np.isfinite(tape.gradient(loss, alpha).numpy()).all()
