"""What networks are made of, under jittape's names: see `numpy_rows`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

import jittape as jt
from numpy_protocol_samples import CUBE, INTS, E, S, V, X
from numpy_rows import NO_ORDER, Row
from numpy_samples import edges, given, numbers, together, unary
from numpy_table import checked, of_floats, unlike


def rectified(limit: int | None = None) -> Callable[..., Any]:
    """`x` between 0 and a limit."""
    return lambda x: np.maximum(x, 0) if limit is None else np.minimum(np.maximum(x, 0), limit)


def soft(function: Callable[..., Any]) -> Callable[..., Any]:
    """A softmax, computed in double."""

    def reference(x: Any, axis: Any = -1) -> Any:
        checked(x.dtype.kind != "c" and x.ndim, x)
        return of_floats(lambda v: function(v, tuple(axis) if isinstance(axis, list) else axis))(x)

    return reference


def labelled(function: Callable[..., Any]) -> Callable[..., Any]:
    """A loss of labels and logits of one shape."""

    def loss(z: Any, x: Any, *more: Any) -> Any:
        checked(np.shape(z) == np.shape(x), z)
        return function(z, x, *more)

    return unlike("TensorFlow wants equal shapes", loss)


def cross_entropy(labels: Any, logits: Any, axis: int = -1) -> Any:
    """Of distributions over classes."""
    return -np.sum(np.where(labels == 0, 0, labels * scipy.special.log_softmax(logits, axis)), axis)


def sparse(labels: Any, logits: Any) -> Any:
    """Of class numbers."""
    checked(labels.dtype.kind in "iu" and labels.shape == logits.shape[:-1], labels)
    checked(labels.min(initial=0) >= 0, labels)
    return -np.take_along_axis(scipy.special.log_softmax(logits, -1), labels[..., None].astype(int), -1)[
        ..., 0
    ]


def weighted(z: Any, x: Any, w: Any) -> Any:
    """Of probabilities, those of the positive weighted."""
    return (1 - z) * x + (1 + (w - 1) * z) * np.logaddexp(0, -x)


def added(x: Any, bias: Any, data_format: Any = None) -> Any:
    """A number for each channel."""
    axis = 1 if data_format == "NCHW" else -1
    checked(x.ndim > 1 and bias.shape == (x.shape[axis],), x)
    return x + (np.expand_dims(bias, tuple(range(1, x.ndim - 1))) if axis == 1 else bias)


def normalized(x: Any, axis: Any = None, epsilon: Any = 1e-12) -> Any:
    """Divided by the root of the sum of squares."""
    return x / np.sqrt(
        np.maximum(
            np.sum(np.abs(x) ** 2, tuple(axis) if isinstance(axis, list) else axis, keepdims=True), epsilon
        )
    ).astype(x.real.dtype)


LOGITS, LABELS = numbers("float64", (2, 3), 5), np.array([[1.0, 0, 0], [0.25, 0.25, 0.5]])
LOSSES = given(
    (LABELS, LOGITS),
    (LABELS, LOGITS[:1]),
    (LABELS.astype("float32"), LOGITS.astype("float32")),
    (np.zeros((0, 3)), np.zeros((0, 3))),
)
AXES_OF_SOFTMAX = together(
    unary("biuf"), given(*[(a, {"axis": ax}) for a in (X, CUBE, V) for ax in (0, -1, 2, [0, 1], True)])
)

ROWS: list[Row] = [
    Row("jt.nn.relu", jt.nn.relu, rectified(), unary(), (NO_ORDER,), signed_zeros=False),
    Row("jt.nn.relu6", jt.nn.relu6, rectified(6), unary(), (NO_ORDER,), signed_zeros=False),
    Row(
        "jt.nn.leaky_relu",
        jt.nn.leaky_relu,
        lambda x, alpha=0.2: np.where(x > 0, x, alpha * x).astype(np.result_type(x, alpha)),
        given((X,), (numbers("float32"),), (edges("float64"),), (X, 0.5)),
        signed_zeros=False,
    ),
    Row("jt.nn.softmax", jt.nn.softmax, soft(scipy.special.softmax), AXES_OF_SOFTMAX, rtol=64),
    Row(
        "jt.nn.log_softmax",
        jt.nn.log_softmax,
        soft(scipy.special.log_softmax),
        AXES_OF_SOFTMAX,
        rtol=64,
        signed_zeros=False,
    ),
    Row(
        "jt.nn.l2_normalize",
        jt.nn.l2_normalize,
        normalized,
        given((X,), (X, 0), (X, [0, 1]), (X, 2), (np.zeros(3),), (numbers("float32"), 1)),
        rtol=16,
    ),
    Row(
        "jt.nn.l2_loss",
        jt.nn.l2_loss,
        lambda x: (np.sum(x * x) / 2).astype(x.dtype),
        given(X, V, S, E, numbers("float32")),
    ),
    Row(
        "jt.nn.softmax_cross_entropy_with_logits",
        jt.nn.softmax_cross_entropy_with_logits,
        labelled(cross_entropy),
        LOSSES,
        rtol=64,
        signed_zeros=False,
    ),
    Row(
        "jt.nn.sigmoid_cross_entropy_with_logits",
        jt.nn.sigmoid_cross_entropy_with_logits,
        labelled(lambda z, x: np.maximum(x, 0) - x * z + np.log1p(np.exp(-abs(x)))),
        LOSSES,
        rtol=64,
    ),
    Row(
        "jt.nn.weighted_cross_entropy_with_logits",
        jt.nn.weighted_cross_entropy_with_logits,
        labelled(weighted),
        given((LABELS, LOGITS, 2.0), (LABELS, LOGITS[:1], 2.0)),
        rtol=64,
    ),
    Row(
        "jt.nn.sparse_softmax_cross_entropy_with_logits",
        jt.nn.sparse_softmax_cross_entropy_with_logits,
        sparse,
        given(
            (np.array([0, 2]), LOGITS),
            (np.array([0, 2], "uint8"), LOGITS),
            (np.array([0, 2, 1]), LOGITS),
            (np.array([0.0, 1]), LOGITS),
        ),
        rtol=64,
    ),
    Row(
        "jt.nn.log_poisson_loss",
        jt.nn.log_poisson_loss,
        labelled(lambda t, x: np.exp(x) - x * t),
        given((X, X), (X, X[:1])),
        rtol=16,
    ),
    Row(
        "jt.nn.bias_add",
        jt.nn.bias_add,
        added,
        given((X, V[:3]), (CUBE, V[:4]), (CUBE, V[:3], "NCHW"), (X, V), (V, V), (X, X), (INTS, V[:3])),
    ),
    Row(
        "jt.nn.batch_normalization",
        jt.nn.batch_normalization,
        lambda x, m, v, o, s, e: (x - m) / np.sqrt(v + e) * s + o,
        given((X, V[:3], V[:3] ** 2, S, S, 1e-3), (X, V, V, S, S, 1e-3)),
        rtol=256,
    ),
    Row(
        "jt.nn.crelu",
        jt.nn.crelu,
        lambda x, axis=-1: np.concatenate([np.maximum(x, 0), np.maximum(-x, 0)], axis),
        given((X,), (X, 0), (V,), (S,), (X, 2), (numbers("float32"),)),
        signed_zeros=False,
    ),
    Row(
        "jt.nn.embedding_lookup",
        jt.nn.embedding_lookup,
        lambda p, i: checked(i.dtype.kind in "iu", p[i]),
        given((X, np.array([1, 0, 1])), (CUBE, np.array([[0]])), (X, np.array([5])), (X, np.array([0.0]))),
    ),
]
