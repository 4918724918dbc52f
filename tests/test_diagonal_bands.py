"""Several diagonals at once: arguments, messages and compiled functions; values are in `numpy_table_spectra.py`."""

from __future__ import annotations

import numpy as np
import pytest

import jittape as jt

X = np.arange(12.0).reshape(3, 4)


def test_one_diagonal_is_given_as_a_number_or_as_a_pair():
    for k in (1, (1,), [1, 1], np.array([1, 1])):
        np.testing.assert_array_equal(jt.linalg.diag_part(X, k=k), [1.0, 6.0, 11.0])


def test_a_band_is_put_back_where_it_was_taken_from(mode):
    f = jt.function(lambda x, y: jt.linalg.set_diag(y, jt.linalg.diag_part(x, k=(-1, 2)), k=(-1, 2)))
    distance = np.arange(4) - np.arange(3)[:, None]
    expected = np.where((distance >= -1) & (distance <= 2), X, -1.0)
    for _ in range(3):
        np.testing.assert_array_equal(f(X, -np.ones((3, 4))), expected)


def test_each_element_of_a_band_has_its_own_gradient(mode):
    weights = np.random.default_rng(1).normal(size=(4, 3))
    f = jt.function(jt.grad(lambda x: jt.reduce_sum(jt.linalg.diag_part(x, k=(-1, 2)) * weights)))
    expected = jt.linalg.diag(weights, k=(-1, 2), num_rows=3, num_cols=4)
    for _ in range(3):
        np.testing.assert_array_equal(f(X), expected)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: jt.linalg.diag_part(X, k=(2, 1)),
            r"\[diag_part\] k must be an int or a pair \(lowest, highest\)",
        ),
        (lambda: jt.linalg.diag_part(X, k=(0, 1, 2)), r"\[diag_part\] k must be an int or a pair"),
        (lambda: jt.linalg.diag_part(X, k=(0, 4)), r"\[diag_part\] k must be .* less than 4 .* got 4"),
        (
            lambda: jt.linalg.diag_part(X[0], k=(0, 1)),
            r"\[diag_part\] needs at least 2 dimensions, got shape \(4,\)",
        ),
        (lambda: jt.linalg.diag_part(X, align="LEFT"), r"\[diag_part\] align must be one of .* got 'LEFT'"),
        (
            lambda: jt.linalg.set_diag(X, X, k=(-1, 1)),
            r"\[set_diag\] .* have the shape \(3, 3\), got \(3, 4\)",
        ),
        (lambda: jt.linalg.set_diag(X[0], X, k=(-1, 1)), r"\[set_diag\] needs at least 2 dimensions"),
        (
            lambda: jt.linalg.diag(X[0], k=(0, 1)),
            r"\[diag\] diagonal of shape \(4,\) has not enough dimensions",
        ),
        (
            lambda: jt.linalg.diag(X, k=(0, 1)),
            r"\[diag\] diagonal must have 2 rows for k=\(0, 1\), got shape \(3, 4\)",
        ),
        (lambda: jt.linalg.diag(X[0], num_rows=3), r"\[diag\] .* the least sizes are \(4, 4\)"),
        (
            lambda: jt.linalg.diag(X[0], num_rows=5, num_cols=5),
            r"\[diag\] the longest diagonal of 5 rows and 5 columns",
        ),
        (lambda: jt.linalg.band_part(X, jt.constant([1]), 0), r"\[band_part\] num_lower must be an integer"),
        (lambda: jt.linalg.band_part(X, 0, jt.constant(1.0)), r"\[band_part\] num_upper must be an integer"),
    ],
)
def test_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_numbers_of_diagonals_may_be_computed(mode):
    f = jt.function(lambda x, n: jt.linalg.band_part(x, n, n - 1))
    for n in (0, 1, 2, 1):
        lower, upper = np.tri(3, 4, -n - 1) == 1, np.tri(3, 4, n - 1) == 0 if n else False
        np.testing.assert_array_equal(f(X, jt.constant(n)), np.where(lower | upper, 0.0, X))
