"""Activations and losses: extreme arguments, labels of every kind, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.errors import DTypeError, ShapeError
from programs import derivative, gradient, gradients, program_of, value

nn = jt.nn
EXTREME = np.array([-1e4, -100.0, 0.0, 100.0, 1e4])


@pytest.mark.parametrize(
    "function",
    [
        nn.sigmoid,
        nn.softplus,
        nn.elu,
        nn.selu,
        nn.gelu,
        nn.silu,
        nn.softmax,
        nn.log_softmax,
        nn.softsign,
        nn.tanh,
    ],
)
def test_nothing_overflows(function: Any) -> None:
    assert np.isfinite(value(function, EXTREME)).all()
    assert np.isfinite(gradient(function, EXTREME)).all()
    assert np.isfinite(value(derivative(function, 2), EXTREME)).all()


@pytest.mark.parametrize("label", [0.0, 0.3, 1.0])
def test_sigmoid_cross_entropy_is_exact_at_both_ends(label: float) -> None:
    z = np.full(5, label)

    def loss(x: Any) -> Any:
        return nn.sigmoid_cross_entropy_with_logits(labels=z, logits=x)

    x = np.array([-800.0, -40.0, 0.0, 40.0, 800.0])
    expected = label * np.logaddexp(0, -x) + (1 - label) * np.logaddexp(0, x)
    logits = jt.Variable(x)
    with jt.GradientTape() as tape:
        y = loss(logits)
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-12)
    # At 0, where the formula has a condition, the gradient is that of the smooth function.
    np.testing.assert_allclose(
        tape.gradient(y, logits).numpy(), (1 + np.tanh(x / 2)) / 2 - z, rtol=1e-12, atol=1e-15
    )


def test_softmax_cross_entropy_has_its_well_known_gradient() -> None:
    rng = np.random.default_rng(3)
    x, labels = rng.standard_normal((4, 5)) * 50, np.eye(5)[[0, 1, 2, 4]]
    found = gradients(nn.softmax_cross_entropy_with_logits, labels, x)
    probabilities = value(nn.softmax, x)
    np.testing.assert_allclose(found[1], probabilities - labels, atol=1e-14)
    np.testing.assert_allclose(found[0], -value(nn.log_softmax, x), rtol=1e-12)


def test_a_class_of_probability_zero_may_have_logit_minus_infinity() -> None:
    labels, logits = np.array([[0.0, 1.0, 0.0]]), np.array([[-np.inf, 3.0, 3.0]])
    np.testing.assert_allclose(value(nn.softmax_cross_entropy_with_logits, labels, logits), [np.log(2)])
    (found,) = gradients(nn.softmax_cross_entropy_with_logits, labels, logits, wrt=[1])
    np.testing.assert_allclose(found, [[0, -0.5, 0.5]])


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
def test_sparse_and_dense_labels_agree(dtype: str) -> None:
    rng = np.random.default_rng(4)
    x, numbers = rng.standard_normal((2, 3, 5)), rng.integers(0, 5, (2, 3)).astype(dtype)
    dense = value(nn.softmax_cross_entropy_with_logits, np.eye(5)[numbers], x)
    np.testing.assert_allclose(
        value(nn.sparse_softmax_cross_entropy_with_logits, numbers, x), dense, rtol=1e-13
    )
    (found,) = gradients(nn.sparse_softmax_cross_entropy_with_logits, numbers, x, wrt=[1])
    np.testing.assert_allclose(found, value(nn.softmax, x) - np.eye(5)[numbers], atol=1e-15)


def test_integer_labels_take_the_dtype_of_the_logits() -> None:
    logits = np.zeros((2, 3), "float32")
    labels = np.array([[0, 1, 0], [1, 0, 0]])
    assert nn.softmax_cross_entropy_with_logits(labels, logits).dtype == np.float32
    assert nn.sigmoid_cross_entropy_with_logits(labels, logits).dtype == np.float32
    assert nn.weighted_cross_entropy_with_logits(labels, logits, 2.0).dtype == np.float32


@pytest.mark.parametrize("function", [nn.gelu, nn.elu, nn.selu, nn.silu, nn.leaky_relu, nn.l2_normalize])
def test_float32_stays_float32(function: Any) -> None:
    assert function(np.ones(3, "float32")).dtype == np.float32


def test_the_loss_of_complex_weights_is_refused() -> None:
    with pytest.raises(DTypeError, match="l2_loss.*complex128"):
        nn.l2_loss(np.ones(2, complex))


def test_swish_and_silu_are_one() -> None:
    assert nn.swish is nn.silu


def test_the_slopes_are_inputs_not_structure() -> None:
    program = program_of(lambda x, alpha: nn.leaky_relu(x, alpha), np.ones(3), np.array(0.1))
    assert len(program.inputs) == 2


def test_moments_give_mean_and_variance() -> None:
    x = np.arange(6.0).reshape(2, 3)
    mean, variance = nn.moments(x, axes=[0])
    np.testing.assert_allclose(mean.numpy(), x.mean(0))
    np.testing.assert_allclose(variance.numpy(), x.var(0))


def test_l2_normalize_of_zeros_is_zero() -> None:
    np.testing.assert_array_equal(value(nn.l2_normalize, np.zeros(3)), np.zeros(3))
    assert np.isfinite(gradient(nn.l2_normalize, np.zeros(3))).all()


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(DTypeError, match="labels must be integers"):
        nn.sparse_softmax_cross_entropy_with_logits(np.zeros(2), np.zeros((2, 3)))
    with pytest.raises(ShapeError, match=r"got labels \(3,\) and logits \(2, 3\)"):
        nn.sparse_softmax_cross_entropy_with_logits(np.zeros(3, int), np.zeros((2, 3)))
    with pytest.raises(ValueError, match="Both labels and logits must be provided"):
        nn.sigmoid_cross_entropy_with_logits(labels=[1.0])
    with pytest.raises(ShapeError, match="axis 3 is out of range"):
        nn.softmax(np.zeros((2, 3)), axis=3)
