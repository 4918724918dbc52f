"""Reductions and scans: ties, zeros among factors, empty and 0-d operands, axes, and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.errors import DTypeError, ShapeError
from programs import derivative, gradient, program_of, value

MATRIX = np.arange(6.0).reshape(2, 3)
REDUCTIONS = [
    jt.reduce_sum,
    jt.reduce_mean,
    jt.reduce_prod,
    jt.reduce_max,
    jt.reduce_min,
    jt.reduce_any,
    jt.reduce_all,
    jt.reduce_logsumexp,
    jt.math.reduce_variance,
    jt.math.reduce_std,
]


# ---- gradients at ties and zeros -------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [jt.reduce_max, jt.reduce_min])
def test_tied_elements_share_the_gradient(function: Callable[..., Any]) -> None:
    np.testing.assert_array_equal(gradient(function, np.array([2.0, 2.0])), [0.5, 0.5])
    x = np.array([[1.0, 3.0, 3.0], [5.0, 5.0, 5.0]])
    expected = [[0, 0.5, 0.5], [1 / 3] * 3] if function is jt.reduce_max else [[1, 0, 0], [1 / 3] * 3]
    np.testing.assert_allclose(gradient(lambda x: function(x, axis=1), x), expected)


def test_a_maximum_propagates_nan() -> None:
    assert np.isnan(gradient(jt.reduce_max, np.array([1.0, np.nan]))).all()


@pytest.mark.parametrize(
    ("x", "first", "second"),
    [
        ([0.0, 2.0, 3.0], [6, 0, 0], [5, 3, 2]),
        ([0.0, 0.0, 3.0], [0, 0, 0], [3, 3, 0]),
        ([0.0, 0.0, 0.0], [0, 0, 0], [0, 0, 0]),
        ([1.0, 2.0, 3.0], [6, 3, 2], [5, 4, 3]),
    ],
)
def test_gradient_of_a_product_with_zeros(x: list[float], first: list[float], second: list[float]) -> None:
    """Compare the second derivative with that of the sum of the first: row sums of the Hessian."""
    np.testing.assert_array_equal(gradient(jt.reduce_prod, np.array(x)), first)
    np.testing.assert_array_equal(value(derivative(jt.reduce_prod, 2), np.array(x)), second)


def test_third_derivative_of_a_product_with_zeros() -> None:
    np.testing.assert_array_equal(value(derivative(jt.reduce_prod, 3), np.zeros(3)), [2, 2, 2])


def test_gradient_of_a_cumulative_product_with_zeros() -> None:
    found = gradient(lambda x: jt.reduce_sum(jt.math.cumprod(x)), np.array([2.0, 0.0, 3.0, 0.0, 5.0]))
    np.testing.assert_array_equal(found, [1, 8, 0, 0, 0])


def test_the_gradient_of_a_norm_at_zero_is_nan() -> None:
    assert np.isnan(gradient(jt.norm, np.zeros(2))).all()


# ---- shapes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", REDUCTIONS)
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1), [1], (-1, 0), (), np.array([1]), np.int64(1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_shapes_are_those_of_numpy(function: Callable[..., Any], axis: Any, keepdims: bool) -> None:
    numpy_axis = tuple(axis) if isinstance(axis, (list, np.ndarray)) else axis
    expected = np.sum(MATRIX, axis=numpy_axis, keepdims=keepdims).shape
    assert function(MATRIX, axis, keepdims).shape == expected


def test_scalars_and_python_numbers_reduce_to_themselves() -> None:
    assert float(jt.reduce_sum(3.0)) == 3
    assert float(jt.reduce_mean(3)) == 3
    assert float(jt.reduce_max(3.0)) == 3
    assert bool(jt.reduce_any(True))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (jt.reduce_sum, 0),
        (jt.reduce_prod, 1),
        (jt.reduce_mean, np.nan),
        (jt.reduce_max, -np.inf),
        (jt.reduce_min, np.inf),
        (jt.reduce_any, False),
        (jt.reduce_all, True),
        (jt.reduce_logsumexp, -np.inf),
    ],
)
def test_reductions_of_empty_arrays(function: Callable[..., Any], expected: Any) -> None:
    np.testing.assert_array_equal(value(function, np.zeros((0, 3))), expected)
    np.testing.assert_array_equal(value(lambda x: function(x, 0), np.zeros((0, 3))), [expected] * 3)


@pytest.mark.parametrize("function", [jt.reduce_sum, jt.reduce_mean, jt.reduce_prod, jt.reduce_max])
def test_gradients_of_empty_arrays_are_empty(function: Callable[..., Any]) -> None:
    assert gradient(function, np.zeros((0, 3))).shape == (0, 3)


# ---- dtypes ----------------------------------------------------------------------------------------------------------


def test_sums_keep_the_dtype_and_count_bools() -> None:
    assert jt.reduce_sum(np.ones(3, "int32")).dtype == np.int32
    assert jt.reduce_sum(np.ones(3, "float16")).dtype == np.float16
    assert int(jt.reduce_sum(np.array([True, True, False]))) == 2
    assert jt.reduce_mean(np.array([1, 2])).dtype == np.float64


def test_output_type_of_argmax() -> None:
    assert jt.argmax(MATRIX).dtype == np.int64
    assert jt.argmax(MATRIX, output_type="int32").dtype == np.int32
    np.testing.assert_array_equal(jt.argmax(MATRIX).numpy(), [1, 1, 1])  # the first axis, as in TensorFlow


# ---- invalid arguments -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [*REDUCTIONS, jt.argmax, jt.argmin, jt.cumsum, jt.math.cumprod])
def test_an_invalid_axis_raises(function: Callable[..., Any]) -> None:
    with pytest.raises(ShapeError, match="axis 2 is out of range for 2 dimensions; use -2 to 1"):
        function(MATRIX, axis=2)
    with pytest.raises(TypeError, match="axis must be an int"):
        function(MATRIX, axis="rows")


def test_invalid_arguments_raise() -> None:
    with pytest.raises(ShapeError, match="names a dimension twice"):
        jt.reduce_sum(MATRIX, axis=(0, -2))
    with pytest.raises(ShapeError, match="has no elements"):
        jt.argmax(np.zeros((0, 3)))
    with pytest.raises(DTypeError, match="not defined for complex128"):
        jt.reduce_max(MATRIX + 1j)
    with pytest.raises(ValueError, match="ord of a vector must be"):
        jt.norm(MATRIX, ord="nuclear")
    with pytest.raises(ValueError, match="ord of a matrix"):
        jt.norm(MATRIX, ord=3, axis=[0, 1])


def test_logsumexp_of_large_and_infinite_numbers() -> None:
    assert value(jt.reduce_logsumexp, np.array([1e4, 1e4])) == pytest.approx(1e4 + np.log(2))
    assert value(jt.reduce_logsumexp, np.array([-np.inf, -np.inf])) == -np.inf
    assert value(jt.reduce_logsumexp, np.array([np.inf, 1.0])) == np.inf


def test_a_product_over_all_axes_is_one_reduction() -> None:
    names = [op.primitive.name for op in program_of(jt.reduce_prod, MATRIX).ops]
    assert names == ["reshape", "prod"]


def test_means_whose_sum_would_overflow():
    for _ in range(2):
        assert jt.reduce_mean(jt.constant(np.ones(100_000, np.float16))).numpy() == np.float16(1.0)
        assert jt.math.reduce_variance(jt.constant(np.ones(100_000, np.float16))).numpy() == np.float16(0.0)
        for dtype in (bool, np.int8, np.uint16):
            mean = jt.reduce_mean(jt.constant(np.ones(100_000, dtype))).numpy()
            assert (mean, mean.dtype) == (1.0, np.float64)
