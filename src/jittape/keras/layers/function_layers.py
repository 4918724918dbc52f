"""Layers without trained weights: functions, and inputs brought to a scale."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from jittape.core.argument_checks import numbers
from jittape.core.dtypes import int64
from jittape.core.user_calls import as_int
from jittape.data import Dataset
from jittape.errors import ShapeError
from jittape.keras.layers.layer import Layer
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import sqrt
from jittape.primitives.elementwise.piecewise import maximum
from jittape.primitives.shape.reshaping import reshape
from jittape.recording.convert import constant
from jittape.recording.operators import Operators
from jittape.recording.variable import Variable

__all__ = ["Identity", "Lambda", "Normalization", "Rescaling"]


class Identity(Layer):
    """The inputs as they are.

    Parameters
    ----------
    **options : those of `Layer`

    Examples
    --------
    >>> jt.keras.layers.Identity()([1.0, 2.0]).numpy()
    array([1., 2.], dtype=float32)
    """

    supports_masking = True

    def call(self, inputs: Any) -> Any:
        """Return `inputs`."""
        return inputs


class Lambda(Layer):
    """A function as a layer. Variables that the function uses are no weights of the layer.

    Parameters
    ----------
    function : callable
        ``function(inputs, **arguments)``; it may also take `mask` and `training`.
    output_shape : optional
        Accepted for compatibility with TensorFlow: the function tells the shape.
    mask : callable or tensor, optional
        The mask of the result, or a function ``mask(inputs, mask)`` of it.
    arguments : dict, optional
        Further arguments of the function.
    **options : those of `Layer`

    Raises
    ------
    TypeError
        If `function` is not callable.

    Examples
    --------
    >>> jt.keras.layers.Lambda(lambda x: x**2)([1.0, 3.0]).numpy()
    array([1., 9.], dtype=float32)
    """

    def __init__(
        self,
        function: Callable[..., Any],
        output_shape: Any = None,
        mask: Any = None,
        arguments: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        if not callable(function):
            raise TypeError(f"[Lambda] function must be callable, got {function!r}")
        self.function, self.mask, self.arguments = function, mask, dict(arguments or {})
        self.supports_masking = mask is not None

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Return the mask that the layer was given."""
        return self.mask(inputs, previous_mask) if callable(self.mask) else self.mask

    def call(self, inputs: Any, mask: Any = None, training: bool | None = None) -> Any:
        """Return the result of the function, which gets `mask` and `training` if it has such parameters."""
        given = {"mask": mask, "training": training}
        own = {name: value for name, value in given.items() if name in _parameters(self.function)}
        return self.function(inputs, **(own | self.arguments))


def _parameters(function: Callable[..., Any]) -> Collection[str]:
    """Return the names of the parameters of a function; none if Python does not know them."""
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return ()


class Rescaling(Layer):
    """``scale * inputs + offset``, such as pixels from 0 to 255 brought to the range from 0 to 1.

    Parameters
    ----------
    scale, offset : float or array
    **options : those of `Layer`

    Examples
    --------
    >>> jt.keras.layers.Rescaling(1 / 255)([0.0, 255.0]).numpy()
    array([0., 1.], dtype=float32)
    """

    supports_masking = takes_floats = True

    def __init__(self, scale: Any, offset: Any = 0.0, **options: Any) -> None:
        super().__init__(**options)
        self.scale, self.offset = scale, offset

    def call(self, inputs: Any) -> Any:
        """Return the inputs in the other scale."""
        return add(multiply(inputs, constant(self.scale, inputs.dtype)), constant(self.offset, inputs.dtype))


class Normalization(Layer):
    """Inputs shifted and scaled to the mean 0 and the variance 1, by moments that `adapt` computes.

    The moments are weights that are not trained: 0 and 1 before `adapt`.

    Parameters
    ----------
    axis : int, sequence of int or None
        Dimensions with moments of their own; None for one mean and one variance.
    mean, variance : float or array, optional
        The moments, which are no weights then; `adapt` is not needed.
    invert : bool
        Whether normalized inputs are brought back to the moments.
    **options : those of `Layer`

    Raises
    ------
    ValueError
        If only one of `mean` and `variance` is given.

    Examples
    --------
    >>> layer = jt.keras.layers.Normalization()
    >>> layer.adapt(np.array([[1.0, 10.0], [3.0, 30.0]]))
    >>> layer([[3.0, 10.0]]).numpy()
    array([[ 1., -1.]], dtype=float32)
    >>> [w.name for w in layer.weights]
    ['mean', 'variance', 'count']
    """

    supports_masking = takes_floats = True

    def __init__(
        self, axis: Any = -1, mean: Any = None, variance: Any = None, invert: bool = False, **options: Any
    ) -> None:
        super().__init__(**options)
        if (mean is None) != (variance is None):
            raise ValueError("[Normalization] give both mean and variance, or neither of them")
        self.axis = axis if axis is None or isinstance(axis, Sequence) else (axis,)
        self.invert = bool(invert)
        given = {"mean": mean, "variance": variance}
        self._fixed = {
            name: numbers("Normalization", name, x, self.dtype) for name, x in given.items() if x is not None
        }
        self.adapt_mean: Variable | None = None
        self.adapt_variance: Variable | None = None
        self.count: Variable | None = None
        self._shape: tuple[int, ...] = ()

    def _config_of(self, home: type) -> dict[str, Any]:
        lists = {name: x.tolist() for name, x in self._fixed.items()}  # Keras takes no arrays
        return super()._config_of(home) | {"mean": None, "variance": None} | lists

    @property
    def mean(self) -> Any:
        """The mean, with the dimensions of the inputs; None before the layer is built."""
        return self._moments("mean", self.adapt_mean)

    @property
    def variance(self) -> Any:
        """The variance, with the dimensions of the inputs; None before the layer is built."""
        return self._moments("variance", self.adapt_variance)

    def _moments(self, name: str, weight: Variable | None) -> Any:
        return self._fixed.get(name) if weight is None else reshape(weight, self._shape)

    def build(self, input_shape: Any) -> None:
        """Create the weights for inputs of this shape, unless the moments are given."""
        if self._fixed:
            return
        self._shape = self._shape_of_moments(input_shape)
        extents = [self._shape[axis] for axis in self._kept(len(input_shape))]
        self.adapt_mean = self.add_weight(extents, "zeros", trainable=False, name="mean")
        self.adapt_variance = self.add_weight(extents, "ones", trainable=False, name="variance")
        self.count = self.add_weight((), "zeros", dtype=int64, trainable=False, name="count")

    def adapt(self, data: Any) -> None:
        """Compute the moments of an array, or of the batches of a dataset.

        Raises
        ------
        ValueError
            If there are no rows, if they do not fit the layer, or if the moments are given.
        """
        if self._fixed:
            raise ValueError(f"layer {self.name!r} has a given mean and variance, which adapt would replace")
        batches = [np.asarray(batch) for batch in data] if isinstance(data, Dataset) else [np.asarray(data)]
        if not batches or not sum(map(len, batches)):
            raise ValueError(f"[Normalization] adapt needs at least one row, got {data!r}")
        rows = np.concatenate(batches).astype(np.float64)
        if not self.built:
            self.build((None, *rows.shape[1:]))
        expected = self._shape_of_moments(rows.shape)
        if expected != self._shape:
            raise ValueError(
                f"layer {self.name!r} was built for moments of shape {self._shape}, but adapt got data of shape "
                f"{rows.shape}"
            )
        assert self.adapt_mean is not None
        assert self.adapt_variance is not None
        kept = self._kept(rows.ndim)
        others = tuple([i for i in range(rows.ndim) if i not in kept])
        self.adapt_mean.assign(rows.mean(others).astype(self.dtype))
        self.adapt_variance.assign(rows.var(others).astype(self.dtype))

    def call(self, inputs: Any) -> Any:
        """Return the normalized `inputs`."""
        shape = self._shape_of_moments(inputs.shape)
        mean, variance = [self._fitting(moments, shape) for moments in (self.mean, self.variance)]
        deviation = maximum(sqrt(variance), 1e-7)
        if self.invert:
            return add(mean, multiply(inputs, deviation))
        return divide(subtract(inputs, mean), deviation)

    def _kept(self, ndim: int) -> list[int]:
        """Return the dimensions with moments of their own, in order."""
        axes = sorted([as_int("axis", axis) for axis in self.axis or ()])
        if not all([-ndim <= axis < ndim for axis in axes]):
            raise ShapeError(
                f"layer {self.name!r}: axis {axes} does not exist in inputs of {ndim} dimensions"
            )
        return sorted([axis % ndim for axis in axes])

    def _shape_of_moments(self, shape: Any) -> tuple[int, ...]:
        """Return the shape in which moments broadcast to inputs of `shape`."""
        kept = self._kept(len(shape))
        if any([shape[axis] is None for axis in kept]):
            raise ShapeError(
                f"layer {self.name!r}: the extents along axis {kept} must be known, got inputs of shape {tuple(shape)}"
            )
        return tuple([n if i in kept else 1 for i, n in enumerate(shape)])

    def _fitting(self, moments: Any, shape: tuple[int, ...]) -> Any:
        """Return moments, or given ones of another shape, in the `shape` that broadcasts to the inputs."""
        found = moments
        if moments.ndim and moments.ndim != len(shape) and moments.size == math.prod(shape):
            found = moments.reshape(shape)
        if found.ndim and found.shape != shape:
            raise ShapeError(
                f"layer {self.name!r} has moments of shape {tuple(moments.shape)}, which do not fit inputs whose "
                f"moments have the shape {shape}"
            )
        return found if isinstance(found, Operators) else constant(found)
