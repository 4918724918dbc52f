"""Losses whose true values are numbers of classes: for noisy labels, and for embeddings."""

from __future__ import annotations

from typing import Any

from jittape.core.user_calls import as_float
from jittape.errors import ShapeError
from jittape.keras.loss_base import FunctionLoss
from jittape.keras.true_and_predicted import as_tensor, class_numbers
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.comparison import (
    equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    where,
)
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.hyperbolic import softplus
from jittape.primitives.elementwise.piecewise import maximum
from jittape.primitives.elementwise.powers import pow
from jittape.primitives.indexing.gather import gather
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.reduce.statistics import reduce_logsumexp
from jittape.primitives.shape.creation import eye
from jittape.primitives.shape.reshaping import reshape, squeeze, transpose
from jittape.recording.tensor import Tensor
from jittape.typing import TensorLike

__all__ = [
    "CategoricalGeneralizedCrossEntropy",
    "Circle",
    "categorical_generalized_cross_entropy",
    "circle",
]


def categorical_generalized_cross_entropy(y_true: TensorLike, y_pred: TensorLike, q: float = 0.5) -> Tensor:
    """Return ``(1 - p**q) / q`` for the probability p of the true class (Zhang and Sabuncu 2018).

    Parameters
    ----------
    y_true : tensor_like of int
        Number of the true class.
    y_pred : tensor_like
        Probabilities along the last dimension.
    q : float
        Between 0, the cross-entropy, and 1, the absolute error: wrong labels have less weight if it is greater.

    Raises
    ------
    ValueError
        If `q` is not between 0 and 1, or the shapes do not match.
    IndexError
        If a number is not that of a class.

    Examples
    --------
    >>> jt.keras.losses.categorical_generalized_cross_entropy([1], [[0.75, 0.25]]).numpy()
    array([1.], dtype=float32)
    """
    op = "categorical_generalized_cross_entropy"
    if not 0 < as_float("q", q) < 1:
        raise ValueError(f"[{op}] q must be between 0 and 1, got {q}")
    labels: Any = class_numbers(y_true)
    predicted: Any = as_tensor(y_pred)
    if labels.ndim == predicted.ndim and labels.shape[-1] == 1:
        labels = squeeze(labels, -1)
    if not predicted.ndim or labels.shape != predicted.shape[:-1]:
        raise ShapeError(
            f"[{op}] y_true must have the shape of y_pred without the classes, got {labels.shape} and {predicted.shape}"
        )
    labels = where(
        less(labels, 0), subtract(labels, predicted.shape[-1]), labels
    )  # out of range, not from the end
    p = gather(predicted, labels, axis=labels.ndim, batch_dims=labels.ndim)
    return divide(subtract(1.0, pow(p, q)), q)


class CategoricalGeneralizedCrossEntropy(FunctionLoss):
    """The reduced `categorical_generalized_cross_entropy`, with its arguments.

    Parameters
    ----------
    q : float
        From 0, the cross-entropy, to 1, the absolute error.
    reduction, name, dtype : those of `Loss`

    Examples
    --------
    >>> loss = jt.keras.losses.CategoricalGeneralizedCrossEntropy()
    >>> float(loss([1], [[0.5, 0.5]]).numpy().round(4))
    0.5857999920845032
    """

    function = staticmethod(categorical_generalized_cross_entropy)

    def __init__(
        self,
        q: float = 0.5,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(reduction, name, dtype, q=q)


def circle(
    y_true: TensorLike,
    y_pred: TensorLike,
    ref_labels: Any = None,
    ref_embeddings: Any = None,
    remove_diagonal: bool = True,
    gamma: float = 80.0,
    margin: float = 0.4,
) -> Tensor:
    """Return the circle loss of embeddings: those of one class should be near, others far (Sun et al. 2020).

    Parameters
    ----------
    y_true : tensor_like of int
        Classes, of shape (n,) or (n, 1).
    y_pred : tensor_like
        Embeddings of length 1, of shape (n, features).
    ref_labels, ref_embeddings : tensor_like, optional
        Classes and embeddings that each row is compared with; the rows themselves by default.
    remove_diagonal : bool
        Whether row i is not compared with reference i.
    gamma, margin : float
        Scale of the loss, and its relaxation.

    Raises
    ------
    ValueError
        If the embeddings are no matrix with a row for each class.

    Examples
    --------
    >>> loss = jt.keras.losses.circle([0, 0, 1], [[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    >>> loss.numpy().round(2)
    array([0. , 6.4, 0. ], dtype=float32)
    """
    gamma, margin = as_float("gamma", gamma), as_float("margin", margin)
    own: Any = as_tensor(y_pred)
    labels: Any = class_numbers(y_true)
    others: Any = own if ref_embeddings is None else cast(as_tensor(ref_embeddings), own.aval.dtype)
    other_labels: Any = labels if ref_labels is None else class_numbers(ref_labels)
    for rows, numbers in ((own, labels), (others, other_labels)):
        if rows.ndim != 2 or numbers.size != rows.shape[0]:
            raise ShapeError(
                f"[circle] embeddings must have the shape (n, features), and there must be n labels, got "
                f"{rows.shape} and {numbers.shape}"
            )
    distances = maximum(subtract(1.0, matmul(own, transpose(others))), 0.0)
    same = equal(reshape(labels, [-1, 1]), reshape(other_labels, [1, -1]))
    different = logical_not(same)
    if remove_diagonal:
        same = logical_and(same, logical_not(eye(labels.size, other_labels.size, dtype="bool")))
    near = multiply(multiply(-gamma, add(margin, distances)), subtract(margin, distances))
    weights = maximum(subtract(1.0 + margin, distances), 0.0)
    far = multiply(multiply(gamma, weights), subtract(1.0 - margin, distances))
    pulled = reduce_logsumexp(where(same, near, float("-inf")), 1)
    pushed = reduce_logsumexp(where(different, far, float("-inf")), 1)
    return softplus(add(pulled, pushed))


class Circle(FunctionLoss):
    """The reduced `circle`, with its arguments; a mean is that of the losses that are positive.

    Parameters
    ----------
    gamma, margin, remove_diagonal : those of `circle`
    reduction, name, dtype : those of `Loss`

    Examples
    --------
    >>> loss = jt.keras.losses.Circle()
    >>> x = jt.linalg.l2_normalize(jt.constant([[1.0, 0.1], [1.0, 0.2], [0.1, 1.0]]), axis=1)
    >>> loss([0, 0, 1], x).shape
    ()
    """

    function = staticmethod(circle)

    def __init__(
        self,
        gamma: float = 80.0,
        margin: float = 0.4,
        remove_diagonal: bool = True,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(reduction, name, dtype, gamma=gamma, margin=margin, remove_diagonal=remove_diagonal)

    def counted(self, y_true: Any, losses: Any) -> Any:
        """Return which losses are positive."""
        return logical_not(less_equal(losses, 0.0))  # nan counts
