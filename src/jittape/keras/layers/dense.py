"""Layers of products: of inputs with a kernel, and of two inputs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import ascii_letters
from typing import Any

import numpy as np

from jittape.core.argument_checks import ArgumentError
from jittape.core.user_calls import as_int
from jittape.errors import ShapeError
from jittape.keras.activations import Activation, activation_of, linear
from jittape.keras.layers.layer import Layer
from jittape.keras.layers.weight_options import weight_options, with_options
from jittape.primitives.elementwise.arithmetic import add
from jittape.primitives.linalg.einsum import einsum
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.nn.activation import l2_normalize
from jittape.primitives.shape.reshaping import expand_dims
from jittape.recording.tensor import Tensor
from jittape.recording.variable import Variable

__all__ = ["Dense", "Dot", "EinsumDense"]


@with_options(kernel="_kernel", bias="_bias")
class Dense(Layer):
    """A densely connected layer, ``activation(x @ kernel + bias)``.

    Parameters
    ----------
    units : int
        Size of the last dimension of the result.
    activation : callable or str, optional
        Applied to the result; a function or a name such as ``"relu"`` or ``"tanh"``.
    use_bias : bool, default True
    kernel_initializer, bias_initializer : str or callable
        See `jt.keras.initializers`.
    kernel_regularizer, bias_regularizer, activity_regularizer : str or callable, optional
        See `jt.keras.regularizers`.
    kernel_constraint, bias_constraint : callable, optional
        Applied to the weight after each update.
    input_dim : int, optional
        Size of the last dimension of the input. If not given, the first call creates the Variables.
    **options
        `dtype`, `name`, `trainable`: see `Layer`.

    Raises
    ------
    ValueError
        If `units` is not positive, the activation is unknown, or the last dimension of the input changes.

    Examples
    --------
    >>> import jittape as jt
    >>> layer = jt.nn.Dense(3, activation="relu")
    >>> layer(jt.ones([2, 4])).shape
    (2, 3)
    """

    supports_masking = True

    takes_floats = True

    _left_out = "input_dim"

    def __init__(
        self,
        units: int,
        activation: Activation | str | None = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        input_dim: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, input_dim=input_dim, **options)
        self.units = as_int("units", units)
        if self.units < 1:
            raise ValueError(f"[Dense] units must be positive, got {units}")
        self.activation = activation_of("Dense", activation) or linear
        self.use_bias = use_bias
        self.kernel: Variable | None = None
        self.bias: Variable | None = None
        self._kernel = weight_options(kernel_initializer, kernel_regularizer, kernel_constraint)
        self._bias = weight_options(bias_initializer, bias_regularizer, bias_constraint)
        if input_dim is not None:
            self.build((input_dim,))

    def build(self, input_shape: Any) -> None:
        """Create the Variables for inputs of this shape."""
        if not input_shape:
            raise ValueError(f"layer {self.name!r} needs an input with at least one dimension")
        inputs = as_int("input_dim", input_shape[-1])
        if inputs < 0:
            raise ValueError(f"[Dense] input_dim must not be negative, got {inputs}")
        self.kernel = self._kernel.add_to(self, (inputs, self.units), "kernel")
        if self.use_bias:
            self.bias = self._bias.add_to(self, (self.units,), "bias")

    def call(self, inputs: Any) -> Tensor:
        """Return the layer's result for `inputs` of shape ``(..., input_dim)``."""
        assert self.kernel is not None
        shape = inputs.shape
        if not shape or shape[-1] != self.kernel.aval.shape[0]:
            raise ValueError(
                f"layer {self.name!r} takes inputs with last dimension {self.kernel.shape[0]}, got shape "
                f"{shape}"
            )
        product = matmul(inputs, self.kernel)
        result = product if self.bias is None else add(product, self.bias)
        return result if self.activation is linear else self.activation(result)


@with_options(kernel="_kernel", bias="_bias")
class EinsumDense(Layer):
    """A densely connected layer whose product is an `einsum`.

    Parameters
    ----------
    equation : str
        Labels of the inputs, of the kernel and of the result, as ``"abc,cd->abd"``; ``...`` stands for the first
        dimensions of inputs and result, or for their last ones.
    output_shape : int or sequence of int or None
        Shape of the result without the batch; None for extents that are those of the inputs.
    activation : callable or str, optional
    bias_axes : str, optional
        Labels of the dimensions of the bias; without them there is no bias.
    kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, kernel_constraint, bias_constraint
        As for `Dense`.
    **options : those of `Layer`

    Raises
    ------
    ValueError
        If the equation has another form, or does not fit the shapes.

    Examples
    --------
    >>> layer = jt.keras.layers.EinsumDense("...x,xy->...y", output_shape=4, bias_axes="y")
    >>> layer(jt.ones([2, 5, 3])).shape, layer.count_params()
    ((2, 5, 4), 16)
    """

    def __init__(
        self,
        equation: str,
        output_shape: Any,
        activation: Activation | str | None = None,
        bias_axes: str | None = None,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        form = (
            r"((?:\.\.\.)?[a-zA-Z]+|[a-zA-Z]{2,}\.\.\.),([a-zA-Z]+)->((?:\.\.\.)?[a-zA-Z]+|[a-zA-Z]+\.\.\.)"
        )
        parts = re.fullmatch(form, equation.replace(" ", ""))
        if parts is None or len({(p[0] == ".", p[-1] == ".") for p in parts.group(1, 3)}) > 1:
            raise ValueError(
                f"[EinsumDense] equation must have the form 'inputs,kernel->result', as 'abc,cd->abd', with ... at the "
                f"beginning or the end of inputs and result, got {equation!r}"
            )
        self.equation, self.bias_axes = equation, bias_axes
        self.output_extents = (output_shape,) if isinstance(output_shape, int) else tuple(output_shape)
        self.activation = activation_of("EinsumDense", activation) or linear
        self._labels = parts.groups()
        unknown = set(bias_axes or "") - set(self._labels[2])
        if unknown:
            raise ValueError(
                f"[EinsumDense] bias_axes {bias_axes!r} must be labels of the result of {equation!r}"
            )
        self.kernel: Variable | None = None
        self.bias: Variable | None = None
        self._kernel = weight_options(kernel_initializer, kernel_regularizer, kernel_constraint)
        self._bias = weight_options(bias_initializer, bias_regularizer, bias_constraint)

    def _value_of(self, name: str) -> Any:
        return self.output_extents if name == "output_shape" else super()._value_of(name)

    def build(self, input_shape: Any) -> None:
        """Create the Variables for inputs of this shape."""
        given, of_kernel, result = self._labels
        extents = self._along(given, tuple(input_shape))
        batch = () if result.startswith(".") else (extents.get(result[0]),)
        labels = result.strip(".")
        is_ambiguous = result.startswith(".") and len(self.output_extents) > len(labels)
        if is_ambiguous and not extents.keys() >= {*labels}:
            raise ShapeError(
                f"[EinsumDense] {self.equation!r}: output_shape {self.output_extents} must have one extent for each "
                f"of the labels {labels!r} after the ellipsis"
            )
        for label, n in self._along(result, (*batch, *self.output_extents)).items():
            if n is not None and extents.get(label) not in (None, n):
                raise ShapeError(
                    f"[EinsumDense] {self.equation!r}: {label} is {extents[label]} in the inputs of shape "
                    f"{tuple(input_shape)} and {n} in output_shape {self.output_extents}"
                )
            extents[label] = extents.get(label) if n is None else n
        missing = [label for label in of_kernel if extents.get(label) is None]
        if missing:
            raise ShapeError(
                f"[EinsumDense] {self.equation!r}: neither inputs nor output_shape tell {missing[0]}"
            )
        self.kernel = self._kernel.add_to(self, tuple([extents[label] for label in of_kernel]), "kernel")
        if self.bias_axes:
            axes = self.bias_axes
            labels = labels[min(map(labels.index, axes)) :]
            shape = [extents[label] if label in axes else 1 for label in labels]
            shape += [1] * (len(input_shape) - len(given.strip("."))) if result.endswith(".") else []
            self.bias = self._bias.add_to(self, tuple(shape), "bias")

    def _along(self, labels: str, shape: tuple[Any, ...]) -> dict[str, Any]:
        """Return the extents of labels; an ellipsis stands for the other dimensions."""
        own = labels.strip(".")
        if len(shape) < len(own) - labels.startswith(".") or (own == labels and len(shape) != len(own)):
            raise ShapeError(f"[EinsumDense] {self.equation!r}: {labels} does not fit the shape {shape}")
        if labels.startswith("."):
            return dict(zip(reversed(own), reversed(shape), strict=False))
        return dict(zip(own, shape, strict=False))

    def call(self, inputs: Any) -> Any:
        """Return the layer's result for `inputs`."""
        assert self.kernel is not None
        product = einsum(self.equation, inputs, self.kernel)
        result = product if self.bias is None else add(product, self.bias)
        return self.activation(result)


class Dot(Layer):
    """Sums of products of two inputs along an axis of each, for each example of the batch.

    Parameters
    ----------
    axes : int or pair of int
        The axis of each input, or of both.
    normalize : bool
        Divide the inputs by their norms along these axes first, so that the result of vectors is the cosine.
    **options : those of `Layer`

    Raises
    ------
    TypeError, ValueError
        If `axes` are no axes, or do not fit the inputs.

    Examples
    --------
    >>> jt.keras.layers.Dot(axes=1)([jt.constant([[1.0, 2.0]]), jt.constant([[3.0, 4.0]])]).numpy()
    array([[11.]], dtype=float32)
    """

    def __init__(self, axes: int | Sequence[int], normalize: bool = False, **options: Any) -> None:
        super().__init__(**options)
        if not isinstance(axes, int) and not (isinstance(axes, (list, tuple)) and len(axes) == 2):
            raise ArgumentError(f"[Dot] axes must be an int, or a list or tuple of two ints, got {axes!r}")
        if not isinstance(axes, int) and not all(isinstance(axis, (int, np.integer)) for axis in axes):
            raise ArgumentError(f"[Dot] axes must be ints, got {axes!r}")
        self.axes = axes if isinstance(axes, int) else tuple([as_int("axes", axis) for axis in axes])
        self.normalize = bool(normalize)

    def call(self, inputs: Any) -> Any:
        """Return the products of a list of two inputs."""
        if not isinstance(inputs, (list, tuple)) or len(inputs) != 2:
            raise ValueError(f"layer {self.name!r} takes a list of two inputs, got {inputs!r}")
        axes = (self.axes, self.axes) if isinstance(self.axes, int) else self.axes
        found = [axis + x.ndim if axis < 0 else axis for axis, x in zip(axes, inputs, strict=True)]
        if any(not 0 < axis < x.ndim for axis, x in zip(found, inputs, strict=True)):
            shapes = [tuple(x.shape) for x in inputs]
            raise ShapeError(
                f"layer {self.name!r}: axes {self.axes} do not fit inputs of shapes {shapes}; axis 0 is the batch"
            )
        if self.normalize:
            inputs = [l2_normalize(x, axis) for x, axis in zip(inputs, found, strict=True)]
        first, second = inputs
        one = ascii_letters[: first.ndim]
        other = list(one[0] + ascii_letters[26 : 25 + second.ndim])
        other[found[1]] = one[found[0]]
        rest = [label for label in (*one[1:], *other[1:]) if label != one[found[0]]]
        result = einsum(f"{one},{''.join(other)}->{one[0]}{''.join(rest)}", first, second)
        return result if rest else expand_dims(result, 1)
