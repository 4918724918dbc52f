"""`Loss`: the reduction of the losses of a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from jittape.core.dtypes import as_dtype
from jittape.core.name_scopes import default_name
from jittape.core.symbolic.extents import applied
from jittape.errors import ShapeError
from jittape.foreign_names import ATTRIBUTES_LEFT_OUT, with_foreign_names
from jittape.keras.saving.serializable import Serializable
from jittape.keras.tensor_masks import MASKS, as_mask, mask_of
from jittape.keras.true_and_predicted import argument_as_tensor, floating_operands
from jittape.primitives.elementwise.arithmetic import multiply
from jittape.primitives.elementwise.comparison import logical_and, where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.division import divide, divide_no_nan
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.primitives.shape.reshaping import expand_dims, reshape, squeeze
from jittape.recording.tensor import Tensor
from jittape.recording.user_line import layer_calls

__all__ = ["FunctionLoss", "Loss", "reduce_losses", "reduce_masked"]

_REDUCTIONS = ("sum_over_batch_size", "sum", "mean", "mean_with_sample_weight", "none", None)


@with_foreign_names(ATTRIBUTES_LEFT_OUT["keras.losses.Loss"])
class Loss(Serializable):
    """Base class of losses: ``loss(y_true, y_pred)`` reduces what `call` returns for each example.

    Parameters
    ----------
    name : str, optional
        By default the name of the class.
    reduction : str or None
        ``"sum_over_batch_size"`` (the default) and ``"mean"`` divide the sum by the number of losses,
        ``"mean_with_sample_weight"`` by the sum of the weights; ``"sum"``; None or ``"none"`` returns all losses.
    dtype : dtype, optional
        Dtype of the result; that of the predictions if not given.

    Raises
    ------
    ValueError
        For another reduction.

    Examples
    --------
    >>> class Cubed(jt.keras.losses.Loss):
    ...     def call(self, y_true, y_pred):
    ...         return jt.reduce_mean(jt.abs(y_true - y_pred) ** 3, axis=-1)
    >>> Cubed()(jt.constant([[1.0], [2.0]]), jt.constant([[2.0], [4.0]])).numpy().item()
    4.5
    """

    _namespace = "keras.losses"
    _base_arguments = "name reduction"
    _left_out = "dtype"

    def __init__(
        self, name: str | None = None, reduction: str | None = "sum_over_batch_size", dtype: Any = None
    ) -> None:
        self.name = default_name(type(self)) if name is None else name
        if reduction not in _REDUCTIONS:
            raise ValueError(
                f"[{type(self).__name__}] reduction must be one of {', '.join(map(str, _REDUCTIONS))}, got "
                f"{reduction!r}"
            )
        self.reduction, self.dtype = reduction, dtype

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Return the loss of each example. Subclasses must define this method."""
        raise NotImplementedError(f"{type(self).__name__} must define call(y_true, y_pred)")

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Tensor:
        """Return the reduced losses, each times its weight if `sample_weight` is given.

        If `y_pred` is the result of layers that pass a mask on, only the losses where the mask is True count.

        Raises
        ------
        ValueError, DTypeError
            If shapes do not fit, a label is not a class, or the loss is not defined for the dtype.
        """
        op = type(self).__name__
        losses = self.call(
            *self._operands(
                argument_as_tensor(op, "y_true", y_true), argument_as_tensor(op, "y_pred", y_pred)
            )
        )
        if self.dtype is not None:
            losses = cast(losses, self.dtype)
        counted = self.counted(y_true, losses)
        return reduce_masked(op, losses, y_pred, sample_weight, self.reduction, counted)

    def _config_of(self, home: type) -> dict[str, Any]:
        config = super()._config_of(home)
        return config if self.dtype is None else config | {"dtype": as_dtype(self.dtype).name}

    def _operands(self, y_true: Any, y_pred: Any) -> tuple[Any, Any]:
        """Return what `call` gets."""
        return floating_operands(y_true, y_pred, self.dtype)

    def counted(self, y_true: Any, losses: Any) -> Any:
        """Return which of the `losses` count in a mean, as a tensor of bool of their shape; None for all."""
        return None


layer_calls.add(Loss.__call__.__code__)


def reduce_masked(
    op: str, losses: Any, y_pred: Any, sample_weight: Any, reduction: str | None, counted: Any = None
) -> Tensor:
    """Return the reduction of the losses where the mask of the predictions is True; see `reduce_losses`."""
    if MASKS and (mask := mask_of(y_pred)) is not None:
        mask = as_mask(op, mask, losses.shape)
        counted = mask if counted is None else logical_and(reshape(counted, losses.shape), mask)
        losses = where(mask, losses, 0)
    return reduce_losses(op, losses, sample_weight, reduction, counted)


def reduce_losses(
    op: str, losses: Any, sample_weight: Any, reduction: str | None, counted: Any = None
) -> Tensor:
    """Return the reduction of losses, each times its weight if there are weights."""
    weights: Any = None
    if sample_weight is not None:
        weights = cast(argument_as_tensor(op, "sample_weight", sample_weight), losses.dtype)
        if weights.ndim == losses.ndim + 1 and weights.shape[-1] == 1:
            if losses.ndim == 1:  # as in TensorFlow, losses that are not reduced get the dimension
                losses = expand_dims(losses, -1)
            else:
                weights = squeeze(weights, -1)
        while weights.ndim < losses.ndim:
            weights = expand_dims(weights, -1)
        _require_weights(op, weights, losses.shape)
        losses = multiply(losses, weights)
    if reduction in (None, "none") or not losses.ndim:
        result: Tensor = losses
        return result
    total = reduce_sum(losses)
    if reduction == "sum":
        return total
    if counted is not None:
        counted = reshape(cast(counted, losses.dtype), losses.shape)
        if weights is not None and reduction == "mean_with_sample_weight":
            counted = multiply(counted, weights)
        return divide_no_nan(total, reduce_sum(counted))
    if weights is not None and reduction == "mean_with_sample_weight":
        return divide_no_nan(total, reduce_sum(weights))
    return divide(total, applied(float, max(losses.size, 1)))


def _require_weights(op: str, weights: Any, shape: tuple[int, ...]) -> None:
    """Raise an error unless the weights broadcast to the losses."""
    extents = weights.shape
    if not shape:  # one loss for the batch, that each weight multiplies
        return
    if len(extents) != len(shape) or any(m not in (1, n) for m, n in zip(extents, shape, strict=True)):
        raise ShapeError(
            f"[{op}] sample_weight must have the shape of the losses, {tuple(shape)}, or broadcast to it, got shape "
            f"{tuple(extents)}"
        )


class FunctionLoss(Loss):
    """A loss that calls a function with fixed arguments."""

    function: ClassVar[Callable[..., Any]]

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
        **arguments: Any,
    ) -> None:
        super().__init__(type(self).function.__name__ if name is None else name, reduction, dtype)
        self._arguments = arguments

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Return the loss of each example."""
        return type(self).function(y_true, y_pred, **self._arguments)

    def _operands(self, y_true: Any, y_pred: Any) -> tuple[Any, Any]:
        return y_true, y_pred  # the functions of this package convert them
