"""Functions of TensorFlow for parts of networks, such as bias_add, batch_normalization and embedding_lookup."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jittape.core.forms import Decomposition
from jittape.core.primitive import Primitive, apply
from jittape.core.user_calls import as_flag
from jittape.errors import InvalidIndexError, ShapeError
from jittape.primitives.batched_params import alike
from jittape.primitives.broadcast import as_symbol, axis_key, promote, to_shape
from jittape.primitives.elementwise.arithmetic import add, multiply, negative, subtract
from jittape.primitives.elementwise.comparison import greater_equal, less, logical_and, where
from jittape.primitives.elementwise.exponential import exp, log, rsqrt
from jittape.primitives.indexing.gather import gather, index_operand, known_indices
from jittape.primitives.indexing.gather_ops import check_range
from jittape.primitives.nn.activation import relu
from jittape.primitives.nn.gradient_clipping import clip_by_norm
from jittape.primitives.record_parts import floating
from jittape.primitives.shape.joining import concat
from jittape.primitives.shape.reshaping import shape_of
from jittape.typing import Tensor, TensorLike

__all__ = ["batch_normalization", "bias_add", "crelu", "embedding_lookup", "log_poisson_loss"]


def _bias_add_body(value: Any, bias: Any, first: bool) -> Any:
    value, bias = promote(value, bias)
    axis = 1 if first else -1
    if len(value.shape) < 2 or bias.shape != (value.shape[axis],):
        raise ShapeError(
            f"[bias_add] bias must be a vector with an entry for each of the channels of value of shape {value.shape}, "
            f"got shape {bias.shape}"
        )
    return add(value, to_shape(bias, (*bias.shape, *(1,) * (len(value.shape) - 2))) if first else bias)


def bias_add(
    value: TensorLike, bias: TensorLike, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """Add a number to each channel of `value`.

    Parameters
    ----------
    value : tensor_like
        At least 2 dimensions.
    bias : tensor_like
        A vector with one element per channel.
    data_format : str, optional
        Channels are the second dimension if it begins with ``"NC"``, else the last one.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If the numbers of channels do not fit.

    Examples
    --------
    >>> jt.nn.bias_add([[1.0, 2.0], [3.0, 4.0]], [10.0, 20.0]).numpy()
    array([[11., 22.],
           [13., 24.]], dtype=float32)
    """
    if data_format is not None and not (isinstance(data_format, str) and data_format[:1] == "N"):
        raise ValueError(
            f"[bias_add] data_format must be of the form `N...C` or `NC...`, got {data_format!r}"
        )
    return apply(_bias_add_body, (value, bias), (data_format is not None and data_format.startswith("NC"),))


def _batch_normalization_body(x: Any, mean: Any, variance: Any, offset: Any, scale: Any, epsilon: Any) -> Any:
    factor = rsqrt(add(variance, epsilon))
    factor = factor if scale is None else multiply(factor, scale)
    shift = negative(multiply(mean, factor)) if offset is None else subtract(offset, multiply(mean, factor))
    return add(multiply(x, factor), shift)


def _with_offset(x: Any, mean: Any, variance: Any, epsilon: Any, offset: Any) -> Any:
    return _batch_normalization_body(x, mean, variance, offset, None, epsilon)


def _with_scale(x: Any, mean: Any, variance: Any, epsilon: Any, scale: Any) -> Any:
    return _batch_normalization_body(x, mean, variance, None, scale, epsilon)


def _with_neither(x: Any, mean: Any, variance: Any, epsilon: Any) -> Any:
    return _batch_normalization_body(x, mean, variance, None, None, epsilon)


def batch_normalization(
    x: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    offset: TensorLike | None,
    scale: TensorLike | None,
    variance_epsilon: TensorLike,
    name: str | None = None,
) -> Tensor:
    """Return ``(x - mean) / sqrt(variance + variance_epsilon) * scale + offset``; `scale` and `offset` may be None.

    Parameters
    ----------
    x : tensor_like
        Any shape.
    mean, variance : tensor_like
        They broadcast with `x`.
    offset, scale : tensor_like, optional
        They broadcast with `x`.
    variance_epsilon : float
        Small number added to the variance.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.nn.batch_normalization([1.0, 3.0], 2.0, 1.0, 10.0, 2.0, 0.0).numpy()
    array([ 8., 12.], dtype=float32)
    """
    operands = (x, mean, variance)
    if offset is None and scale is None:
        return apply(_with_neither, (*operands, variance_epsilon))
    if scale is None:
        return apply(_with_offset, (*operands, variance_epsilon, offset))
    if offset is None:
        return apply(_with_scale, (*operands, variance_epsilon, scale))
    return apply(_batch_normalization_body, (*operands, offset, scale, variance_epsilon))


def _check_rows(ids: np.ndarray[Any, Any], rows: int) -> None:
    """Raise for a number that is no row of a table."""
    check_range("embedding_lookup", ids, 0, rows)
    if ids.size and ids.min() < 0:
        raise InvalidIndexError(
            f"[embedding_lookup] ids must not be negative, got {ids.min()}: give padding a row of its own"
        )


def _rows_impl(ids: Any, *, rows: int) -> Any:
    _check_rows(ids, rows)
    return ids


def _out_of_range_if_negative(ids: Any, *, rows: int) -> Any:
    """Return the decomposition for compiled code: `gather` counts negative indices from the end, and finds these."""
    return where(less(ids, 0), subtract(ids, rows), ids) if ids.dtype.kind == "i" else ids


rows_op = Primitive(
    "row_number",
    abstract_eval=lambda ids, *, rows: ids,
    impl=_rows_impl,
    lowering=Decomposition(_out_of_range_if_negative),
    gradient_stops="a row number is an integer",
    batch=alike(),
)
"""Numbers of rows of a table, from 0; other numbers are an error."""


def _looked_up(params: Any, ids: Any) -> Any:
    params, ids = as_symbol(params), index_operand("embedding_lookup", as_symbol(ids))
    return gather(params, rows_op.bind(ids, rows=params.shape[0]) if params.shape else ids)


def embedding_lookup(
    params: TensorLike, ids: TensorLike, max_norm: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Return the rows of `params` with the numbers `ids`, scaled down to a norm of at most `max_norm` if it is given.

    Parameters
    ----------
    params : tensor_like of shape (rows, ...)
        The table.
    ids : tensor_like of int
        Numbers of rows, of any shape.
    max_norm : float, optional
        Greatest norm of a returned row.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `ids` is not an integer.
    AxisError
        If `params` is a scalar.
    InvalidIndexError
        If a number is out of range.

    Examples
    --------
    >>> jt.nn.embedding_lookup([[1.0, 2.0], [3.0, 4.0]], [1, 0, 1]).numpy()
    array([[3., 4.],
           [1., 2.],
           [3., 4.]], dtype=float32)
    """
    known = known_indices(ids)
    if known is None:
        rows = apply(_looked_up, (params, ids))
    else:
        shape = shape_of(params)
        if shape:
            _check_rows(known, shape[0])
        rows = gather(params, ids)
    if max_norm is None:
        return rows
    return clip_by_norm(rows, max_norm, axes=tuple(range(len(shape_of(ids)), len(rows.shape))))


def _crelu_body(x: Any, axis: int) -> Any:
    x = as_symbol(x)
    return concat([relu(x), relu(negative(x))], axis)


def crelu(features: TensorLike, axis: int = -1, name: str | None = None) -> Tensor:
    """Return `relu` of `features` and of their negative, concatenated along `axis`.

    Parameters
    ----------
    features : tensor_like
        Any shape.
    axis : int
        The dimension whose length doubles.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `features` is complex or bool.
    ShapeError
        If `features` is a scalar.

    Examples
    --------
    >>> jt.nn.crelu([-1.0, 2.0]).numpy()
    array([0., 2., 1., 0.], dtype=float32)
    """
    return apply(_crelu_body, (features,), (axis_key(axis),))


def _log_poisson_body(targets: Any, log_input: Any, full: bool) -> Any:
    targets, x = promote(targets, floating(log_input))
    if tuple(targets.shape) != tuple(x.shape):
        raise ShapeError(
            f"[log_poisson_loss] targets and log_input must have the same shape, got {tuple(targets.shape)} and "
            f"{tuple(x.shape)}: reshape or broadcast_to one of them"
        )
    loss = subtract(exp(x), multiply(x, targets))
    if not full:
        return loss
    between = logical_and(greater_equal(targets, 0), greater_equal(1, targets))
    stirling = add(
        subtract(multiply(targets, log(targets)), targets), multiply(0.5, log(multiply(math.tau, targets)))
    )
    return add(loss, where(between, 0, stirling))


def log_poisson_loss(
    targets: TensorLike, log_input: TensorLike, compute_full_loss: bool = False, name: str | None = None
) -> Tensor:
    """Return ``exp(log_input) - log_input * targets``, the negative log of a Poisson probability without its constant.

    Parameters
    ----------
    targets : tensor_like
        Counts.
    log_input : tensor_like
        Logarithms of the expected counts.
    compute_full_loss : bool
        Add Stirling's approximation of the constant for counts greater than 1.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If the shapes differ.

    Examples
    --------
    >>> jt.nn.log_poisson_loss([1.0, 3.0], [0.0, 0.0]).numpy()
    array([1., 1.], dtype=float32)
    """
    return apply(_log_poisson_body, (targets, log_input), (as_flag("compute_full_loss", compute_full_loss),))
