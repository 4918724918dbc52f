"""Layers without weights that work element by element: activations with arguments, and sums of inputs and the like."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, ClassVar

from jittape.core.argument_checks import FINITE, NOT_NEGATIVE, number, optional_number
from jittape.core.dtypes import float_limits
from jittape.core.user_calls import as_int
from jittape.errors import ShapeError
from jittape.keras.activations import elu, relu
from jittape.keras.layers.layer import Layer
from jittape.keras.layers.weight_options import weight_options, with_options
from jittape.keras.regularizers import L1L2
from jittape.keras.tensor_masks import mask_of
from jittape.keras.true_and_predicted import as_tensor
from jittape.primitives.elementwise.arithmetic import add, multiply, negative, subtract
from jittape.primitives.elementwise.comparison import logical_or, where
from jittape.primitives.elementwise.piecewise import maximum, minimum
from jittape.primitives.nn.activation import leaky_relu, softmax
from jittape.primitives.shape.reshaping import reshape

__all__ = [
    "ELU", "ActivityRegularization", "Add", "Average", "LeakyReLU", "Maximum", "Minimum", "Multiply", "PReLU", "ReLU",
    "Softmax", "Subtract",
]  # fmt: skip


class LeakyReLU(Layer):
    """The inputs where they are positive, else `negative_slope` times the inputs.

    Parameters
    ----------
    negative_slope : float, default 0.3

    Examples
    --------
    >>> jt.keras.layers.LeakyReLU()([-1.0, 2.0]).numpy()
    array([-0.3,  2. ], dtype=float32)
    """

    supports_masking = True

    def __init__(self, negative_slope: float = 0.3, **options: Any) -> None:
        super().__init__(**options)
        self.negative_slope = number("LeakyReLU", "negative_slope", negative_slope, NOT_NEGATIVE)

    def call(self, inputs: Any) -> Any:
        """Return the activation of `inputs`."""
        return leaky_relu(inputs, self.negative_slope)


class ReLU(Layer):
    """The inputs above `threshold`, else ``negative_slope * (inputs - threshold)``; at most `max_value`.

    Parameters
    ----------
    max_value : float, optional
    negative_slope, threshold : float, default 0

    Raises
    ------
    ValueError
        If an argument is negative or not finite.

    Examples
    --------
    >>> jt.keras.layers.ReLU(max_value=3.0)([-1.0, 2.0, 5.0]).numpy()
    array([0., 2., 3.], dtype=float32)
    """

    supports_masking = True

    def __init__(
        self,
        max_value: float | None = None,
        negative_slope: float = 0.0,
        threshold: float = 0.0,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.max_value = optional_number("ReLU", "max_value", max_value, NOT_NEGATIVE)
        self.negative_slope = number("ReLU", "negative_slope", negative_slope, NOT_NEGATIVE)
        self.threshold = number("ReLU", "threshold", threshold, NOT_NEGATIVE)

    def call(self, inputs: Any) -> Any:
        """Return the activation of `inputs`."""
        return relu(inputs, self.negative_slope, self.max_value, self.threshold)


class ELU(Layer):
    """``inputs`` where they are positive, otherwise ``alpha * (exp(inputs) - 1)``.

    Parameters
    ----------
    alpha : float
    **options : those of `Layer`

    Examples
    --------
    >>> jt.keras.layers.ELU()([-1.0, 2.0]).numpy().round(3)
    array([-0.632,  2.   ], dtype=float32)
    """

    supports_masking = True

    def __init__(self, alpha: float = 1.0, **options: Any) -> None:
        super().__init__(**options)
        self.alpha = number("ELU", "alpha", alpha, FINITE)

    def call(self, inputs: Any) -> Any:
        """Return the activation of `inputs`."""
        return elu(inputs, self.alpha)


@with_options(alpha="_alpha")
class PReLU(Layer):
    """``inputs`` where they are positive, otherwise the inputs times a trained factor of each feature.

    Parameters
    ----------
    alpha_initializer : str or callable, default "Zeros"
    alpha_regularizer : str or callable, optional
    alpha_constraint : str or callable, optional
    shared_axes : sequence of int, optional
        Dimensions of the inputs that share factors.
    **options : those of `Layer`

    Examples
    --------
    >>> jt.keras.layers.PReLU(alpha_initializer="ones")([[-1.0, 2.0]]).numpy()
    array([[-1.,  2.]], dtype=float32)
    """

    supports_masking = True

    def __init__(
        self,
        alpha_initializer: Any = "zeros",
        alpha_regularizer: Any = None,
        alpha_constraint: Any = None,
        shared_axes: Sequence[int] | int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._alpha = weight_options(alpha_initializer, alpha_regularizer, alpha_constraint)
        given = () if shared_axes is None else shared_axes
        listing = given if isinstance(given, Sequence) else [given]
        self.shared_axes = tuple([as_int("shared_axes", axis) for axis in listing])
        self.alpha: Any = None

    def build(self, input_shape: Any) -> None:
        """Create the factors for inputs of this shape."""
        if not all(0 < axis < len(input_shape) for axis in self.shared_axes):
            raise ValueError(
                f"layer {self.name!r}: shared_axes must be from 1 to {len(input_shape) - 1}, got {self.shared_axes}"
            )
        shape = [1 if i in self.shared_axes else int(n) for i, n in enumerate(input_shape) if i]
        self.alpha = self._alpha.add_to(self, tuple(shape), "alpha")

    def call(self, inputs: Any) -> Any:
        """Return the activation of `inputs`."""
        return subtract(maximum(inputs, 0), multiply(self.alpha, maximum(negative(inputs), 0)))


class Softmax(Layer):
    """The softmax along an axis.

    Parameters
    ----------
    axis : int or sequence of int, default -1

    Examples
    --------
    >>> jt.keras.layers.Softmax()([0.0, 0.0]).numpy()
    array([0.5, 0.5], dtype=float32)
    """

    supports_masking = True

    def __init__(self, axis: int | Sequence[int] = -1, **options: Any) -> None:
        super().__init__(**options)
        self.axis = axis

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """Return the softmax of `inputs`; where `mask` is False, it is 0."""
        if mask is None:
            return softmax(inputs, self.axis)
        weights = softmax(where(mask, inputs, float_limits(inputs.dtype).min / 2), self.axis)
        return where(mask, weights, 0)  # also if the mask excludes the whole axis


class ActivityRegularization(Layer):
    """The inputs, with a penalty for them among the losses of the model, divided by the number of examples.

    Parameters
    ----------
    l1, l2 : float, default 0
        Factors of the sum of the absolute values and of the sum of the squares.
    **options : those of `Layer`

    Raises
    ------
    ValueError
        If a factor is negative or not finite.

    Examples
    --------
    >>> layer = jt.keras.layers.ActivityRegularization(l2=0.5)
    >>> layer([[2.0], [4.0]]).tolist(), [float(loss) for loss in layer.losses]
    ([[2.0], [4.0]], [5.0])
    """

    supports_masking = True

    def __init__(self, l1: float = 0.0, l2: float = 0.0, **options: Any) -> None:
        super().__init__(activity_regularizer=L1L2(l1, l2), **options)
        self.l1, self.l2 = l1, l2

    def call(self, inputs: Any) -> Any:
        """Return `inputs`."""
        return inputs

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor; see `Layer.get_config`."""
        config = super().get_config()
        config.pop("activity_regularizer", None)
        return config


class _Merge(Layer):
    """Base of layers that combine a list of inputs of shapes that broadcast."""

    combine: ClassVar[Any]

    def call(self, inputs: Any) -> Any:
        """Return the combination of all `inputs`."""
        if not isinstance(inputs, (list, tuple)) or len(inputs) < 2:
            raise ValueError(f"layer {self.name!r} takes a list of at least two inputs, got {inputs!r}")
        values = [as_tensor(x) for x in inputs]
        rank = self._rank(values)
        masks = [_mask_in_rank(x, rank) for x in values]
        values = [_in_rank(x, rank) for x in values]
        return self._combine(values, masks)

    def _combine(self, values: list[Any], masks: list[Any]) -> Any:
        """Return the combination of values of one rank; their masks, or None, have that rank."""
        return reduce(type(self).combine, values)

    def _rank(self, inputs: list[Any]) -> int:
        """Return the greatest rank of the inputs."""
        shapes = [tuple(x.shape) for x in inputs]
        if () in shapes or len({shape[0] for shape in shapes}) > 1:
            raise ShapeError(
                f"layer {self.name!r} takes inputs of one batch, got the shapes {' and '.join(map(str, shapes))}: use "
                "operators, such as +, to broadcast over the batch"
            )
        return max(map(len, shapes))

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Return where one of the masks is True; None if an input has no mask."""
        if previous_mask is None or any(mask is None for mask in previous_mask):
            return None
        return reduce(logical_or, previous_mask)


def _in_rank(x: Any, rank: int) -> Any:
    """Return `x` with `rank` dimensions, those of length 1 added after that of the batch."""
    shape = tuple(x.shape)
    return x if len(shape) == rank else reshape(x, (shape[0], *[1] * (rank - len(shape)), *shape[1:]))


def _mask_in_rank(x: Any, rank: int) -> Any:
    """Return the mask of `x` in the dimensions that ``_in_rank(x, rank)`` has; None without one."""
    mask = mask_of(x)
    if mask is None:
        return None
    return _in_rank(reshape(mask, (*mask.shape, *[1] * (x.ndim - mask.ndim))), rank)


class Add(_Merge):
    """Sum of inputs.

    Parameters
    ----------
    trainable, dtype, activity_regularizer, input_shape : those of `Layer`

    Examples
    --------
    >>> jt.keras.layers.Add()([jt.ones([2]), jt.ones([2])]).numpy()
    array([2., 2.], dtype=float32)
    """

    combine = staticmethod(add)


class Subtract(_Merge):
    """Difference of two inputs.

    Parameters
    ----------
    trainable, dtype, activity_regularizer, input_shape : those of `Layer`

    Examples
    --------
    >>> jt.keras.layers.Subtract()([jt.constant([[1.0, 4.0]]), jt.constant([[3.0, 2.0]])]).numpy()
    array([[-2.,  2.]], dtype=float32)
    """

    combine = staticmethod(subtract)

    def call(self, inputs: Any) -> Any:
        """Return the first of the `inputs` minus the second."""
        if not isinstance(inputs, (list, tuple)) or len(inputs) != 2:
            raise ValueError(f"layer {self.name!r} takes a list of two inputs, got {inputs!r}")
        return super().call(inputs)


class Multiply(_Merge):
    """Product of inputs; steps that the mask of an input excludes count as 1, and as 0 if all masks exclude them.

    Parameters
    ----------
    trainable, dtype, activity_regularizer, input_shape : those of `Layer`

    Examples
    --------
    >>> jt.keras.layers.Multiply()([jt.constant([[1.0, 4.0]]), jt.constant([[3.0, 2.0]])]).numpy()
    array([[3., 8.]], dtype=float32)
    """

    combine = staticmethod(multiply)

    def _combine(self, values: list[Any], masks: list[Any]) -> Any:
        counted = [x if mask is None else where(mask, x, 1) for x, mask in zip(values, masks, strict=True)]
        product = super()._combine(counted, masks)
        return (
            product if any(mask is None for mask in masks) else where(reduce(logical_or, masks), product, 0)
        )


class _Extremum(_Merge):
    """Base of layers that select one of the inputs, if their masks do not exclude it."""

    def _combine(self, values: list[Any], masks: list[Any]) -> Any:
        found, counts = values[0], masks[0]
        for x, mask in zip(values[1:], masks[1:], strict=True):
            other = x if mask is None else where(mask, x, found)
            found = found if counts is None else where(counts, found, other)
            counts = None if mask is None or counts is None else logical_or(counts, mask)
            found = type(self).combine(found, other)
        return found


class Maximum(_Extremum):
    """Elementwise maximum of inputs; steps that the mask of an input excludes do not count.

    Parameters
    ----------
    trainable, dtype, activity_regularizer, input_shape : those of `Layer`

    Examples
    --------
    >>> jt.keras.layers.Maximum()([jt.constant([[1.0, 4.0]]), jt.constant([[3.0, 2.0]])]).numpy()
    array([[3., 4.]], dtype=float32)
    """

    combine = staticmethod(maximum)


class Minimum(_Extremum):
    """Elementwise minimum of inputs; steps that the mask of an input excludes do not count.

    Parameters
    ----------
    trainable, dtype, activity_regularizer, input_shape : those of `Layer`

    Examples
    --------
    >>> jt.keras.layers.Minimum()([jt.constant([[1.0, 4.0]]), jt.constant([[3.0, 2.0]])]).numpy()
    array([[1., 2.]], dtype=float32)
    """

    combine = staticmethod(minimum)


class Average(_Merge):
    """Mean of inputs.

    Parameters
    ----------
    trainable, dtype, activity_regularizer, input_shape : those of `Layer`

    Examples
    --------
    >>> jt.keras.layers.Average()([jt.constant([[1.0, 4.0]]), jt.constant([[3.0, 2.0]])]).numpy()
    array([[2., 3.]], dtype=float32)
    """

    combine = staticmethod(add)

    def call(self, inputs: Any) -> Any:
        """Return the mean of the `inputs`."""
        return multiply(super().call(inputs), 1.0 / len(inputs))
