"""Layers without weights: reshaping, activations, and the declaration of an input."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from jittape.core.argument_checks import listed
from jittape.core.name_scopes import default_name
from jittape.core.user_calls import as_int
from jittape.keras.activations import activation_of, linear
from jittape.keras.layers.data_formats import format_name, format_of
from jittape.keras.layers.layer import Layer
from jittape.keras.layers.symbolic_outputs import AttributeOfGraph, Symbolic, zeros_of
from jittape.keras.ops.symbolic_operators import (
    Operation as Operation,  # gives symbolic tensors their operators
)
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.reduce.reductions import reduce_any
from jittape.primitives.shape.creation import ones
from jittape.primitives.shape.joining import concat
from jittape.primitives.shape.reshaping import broadcast_to, expand_dims, hashable, reshape, transpose
from jittape.recording.tensor import Tensor

__all__ = [
    "Activation",
    "Concatenate",
    "Flatten",
    "Input",
    "InputLayer",
    "Permute",
    "RepeatVector",
    "Reshape",
]


class Input(Symbolic, Layer):
    """The shape of inputs: first in a `Sequential`, or a symbolic tensor for ``Model(inputs, outputs)``.

    A `Sequential` builds its layers at once. Layers that are called with an `Input` return symbolic tensors.

    Parameters
    ----------
    shape : sequence of int
        Without the batch dimension; None for an extent that is open.
    batch_size : int, optional
        Length of the batch, which shapes show. A call may have another one, as in TensorFlow.
    dtype : dtype, optional
        `jt.config.default_float` if not given.
    name : str, optional
    batch_shape : sequence of int or None, optional
        In place of `shape`: `batch_size`, and the shape.

    Raises
    ------
    ValueError
        If an extent of `shape` is negative, or neither or both of `shape` and `batch_shape` are given.

    Examples
    --------
    >>> layers = jt.keras.layers
    >>> net = jt.keras.Sequential([layers.Input([4]), layers.Dense(3)])
    >>> net.count_params()
    15
    """

    supports_masking = True

    def __init__(
        self,
        shape: Sequence[int] | None = None,
        batch_size: int | None = None,
        dtype: Any = None,
        name: str | None = None,
        batch_shape: Sequence[int | None] | None = None,
        **options: Any,
    ) -> None:
        for option in ("tensor", "sparse", "ragged", "optional"):
            if options.get(option) is None or options[option] is False:
                options.pop(option, None)
            else:
                raise ValueError(
                    f"[Input] {option} must be None or False, got {options[option]!r}: inputs are the arrays that a "
                    "model is called with"
                )
        super().__init__(dtype=dtype, name=default_name(InputLayer) if name is None else name, **options)
        if (shape is None) == (batch_shape is None):
            raise ValueError(
                f"[Input] give either shape or batch_shape, which begins with the length of the batch, got {shape!r} "
                f"and {batch_shape!r}"
            )
        if shape is None:
            if not isinstance(batch_shape, Sequence) or not batch_shape:
                raise ValueError(f"[Input] batch_shape must be a list of ints, got {batch_shape!r}")
            batch_size, *shape = batch_shape  # type: ignore[assignment]
        extents = hashable(shape)
        if not isinstance(extents, tuple) or not all(
            n is None or (isinstance(n, int) and n >= 0) for n in extents
        ):
            raise ValueError(f"[Input] shape must be a list of ints of at least 0, or None, got {shape!r}")
        self.extents = extents
        self.batch = None if batch_size is None else as_int("batch_size", batch_size)

    _name_in_configs = "InputLayer"

    def _config_of(self, home: type) -> dict[str, Any]:
        """Return the arguments that Keras has; one that jittape lacks is False."""
        shape, lacking = (self.batch, *self.extents), {"sparse": False, "ragged": False}
        return {
            "batch_shape": shape,
            "dtype": self.dtype.name,
            **lacking,
            "name": self.name,
            "optional": False,
        }

    def get_build_config(self) -> None:
        """Return None: there is nothing to build."""
        return

    @AttributeOfGraph
    def input(self) -> Any:
        """The symbolic input itself."""
        return self

    @AttributeOfGraph
    def output(self) -> Any:
        """The symbolic input itself."""
        return self

    def examples_of(self, pair: int) -> Any:
        """Return zeros of the shape of one input, with two lengths for open extents."""
        return zeros_of(self.extents, self.dtype, pair)

    def call(self, inputs: Any) -> Any:
        """Return `inputs` after a check of their shape."""
        found = tuple(inputs.shape[1:])
        if len(found) != len(self.extents) or any(
            m not in (None, n) for m, n in zip(self.extents, found, strict=True)
        ):
            raise ValueError(
                f"layer {self.name!r} takes inputs of shape {('batch', *self.extents)}, got shape {tuple(inputs.shape)}"
            )
        return inputs


class InputLayer(Input):
    """An `Input`, by the name and the older arguments that `Sequential` models use.

    Parameters
    ----------
    shape : sequence of int, optional
    batch_size : int, optional
    dtype : dtype, optional
    name : str, optional
    input_shape, batch_input_shape, input_dtype : optional
        Older names of `shape`, `batch_shape` and `dtype`.
    **options
        Other arguments of `Input`.

    Raises
    ------
    ValueError
        As `Input`.

    Examples
    --------
    >>> layers = jt.keras.layers
    >>> jt.keras.Sequential([layers.InputLayer(input_shape=(4,)), layers.Dense(3)]).count_params()
    15
    """

    def __init__(
        self,
        shape: Sequence[int] | None = None,
        batch_size: int | None = None,
        dtype: Any = None,
        name: str | None = None,
        *,
        input_shape: Sequence[int] | None = None,
        batch_input_shape: Sequence[int | None] | None = None,
        input_dtype: Any = None,
        **options: Any,
    ) -> None:
        if batch_input_shape is not None:
            options["batch_shape"] = batch_input_shape
        super().__init__(
            input_shape if shape is None else shape,
            batch_size,
            input_dtype if dtype is None else dtype,
            name,
            **options,
        )


class Flatten(Layer):
    """All dimensions after the first as one.

    Parameters
    ----------
    data_format : str, optional
        With ``"channels_first"``, the channels of inputs become the last dimension before.
    **options : those of `Layer`

    Examples
    --------
    >>> jt.keras.layers.Flatten()(jt.ones([2, 3, 4])).shape
    (2, 12)
    """

    def __init__(self, data_format: str | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.data_format = format_name(format_of("Flatten", data_format, 1))

    def call(self, inputs: Any) -> Tensor:
        """Return `inputs` with two dimensions."""
        if not inputs.shape:
            raise ValueError(f"layer {self.name!r} takes inputs with a batch dimension, got a scalar")
        if self.data_format == "channels_first" and len(inputs.shape) > 2:
            inputs = transpose(inputs, (0, *range(2, len(inputs.shape)), 1))
        return reshape(inputs, (inputs.shape[0], math.prod(inputs.shape[1:])))


class Reshape(Layer):
    """The dimensions after the first in another shape, of which one may be -1.

    Parameters
    ----------
    target_shape : tuple or list of int
        Shape without the dimension of the batch.
    **options : those of `Layer`

    Examples
    --------
    >>> jt.keras.layers.Reshape([2, -1])(jt.ones([5, 6])).shape
    (5, 2, 3)
    """

    def __init__(self, target_shape: Sequence[int], **options: Any) -> None:
        super().__init__(**options)
        if not isinstance(target_shape, (tuple, list)):
            raise TypeError(f"[Reshape] target_shape must be a tuple or list of ints, got {target_shape!r}")
        self.target_shape = tuple([as_int("target_shape", n) for n in target_shape])

    def call(self, inputs: Any) -> Tensor:
        """Return `inputs` in the shape ``(batch, *target_shape)``."""
        if not inputs.shape:
            raise ValueError(f"layer {self.name!r} takes inputs with a batch dimension, got a scalar")
        shape, size = list(self.target_shape), math.prod(inputs.shape[1:])
        given = math.prod([n for n in shape if n != -1])
        if shape.count(-1) == 1 and type(size) is int and given > 0 and size % given == 0:
            shape[shape.index(-1)] = size // given  # a batch without rows does not determine it
        return reshape(inputs, (inputs.shape[0], *shape))


class RepeatVector(Layer):
    """Vectors repeated along a new second dimension.

    Parameters
    ----------
    n : int
        Number of repetitions.
    **options : those of `Layer`

    Raises
    ------
    ValueError
        If `n` is not positive.

    Examples
    --------
    >>> jt.keras.layers.RepeatVector(3)([[1.0, 2.0]]).shape
    (1, 3, 2)
    """

    def __init__(self, n: int, **options: Any) -> None:
        super().__init__(**options)
        self.n = as_int("n", n)
        if self.n < 1:
            raise ValueError(f"[RepeatVector] n must be positive, got {n}")

    def call(self, inputs: Any) -> Tensor:
        """Return the repeated `inputs`."""
        if len(inputs.shape) != 2:
            raise ValueError(
                f"layer {self.name!r} takes inputs of shape (batch, features), got shape {tuple(inputs.shape)}"
            )
        batch, features = inputs.shape
        return broadcast_to(expand_dims(inputs, 1), [batch, self.n, features])


class Permute(Layer):
    """The dimensions of examples in another order.

    Parameters
    ----------
    dims : sequence of int
        Numbers of the dimensions, from 1; the batch is dimension 0 and stays.
    **options : those of `Layer`

    Raises
    ------
    ValueError
        If `dims` are not the numbers from 1.

    Examples
    --------
    >>> jt.keras.layers.Permute((2, 1))(jt.ones([4, 2, 3])).shape
    (4, 3, 2)
    """

    def __init__(self, dims: Sequence[int], **options: Any) -> None:
        super().__init__(**options)
        self.dims = tuple(as_int("dims", dim) for dim in listed("Permute", "dims", dims))
        if sorted(self.dims) != list(range(1, len(self.dims) + 1)):
            raise ValueError(
                f"[Permute] dims must contain each number from 1 to {len(self.dims)}, got {dims}"
            )

    def call(self, inputs: Any) -> Tensor:
        """Return `inputs` with the dimensions in this order."""
        if len(inputs.shape) != len(self.dims) + 1:
            raise ValueError(
                f"layer {self.name!r} takes inputs of {len(self.dims) + 1} dimensions, got shape {tuple(inputs.shape)}"
            )
        return transpose(inputs, (0, *self.dims))


class Activation(Layer):
    """A function of the inputs, such as ``"relu"``.

    Parameters
    ----------
    activation : str or callable
        Name of an activation, or a function.
    **options : those of `Layer`

    Examples
    --------
    >>> jt.keras.layers.Activation("relu")([-1.0, 1.0]).numpy()
    array([0., 1.], dtype=float32)
    """

    supports_masking = True

    def __init__(self, activation: Any, **options: Any) -> None:
        super().__init__(**options)
        self.activation = activation_of("Activation", activation) or linear

    def call(self, inputs: Any) -> Any:
        """Return the activation of `inputs`."""
        return self.activation(inputs)


class Concatenate(Layer):
    """Several inputs joined along a dimension.

    Parameters
    ----------
    axis : int
        The dimension along which the inputs are joined.
    **options : those of `Layer`

    Examples
    --------
    >>> jt.keras.layers.Concatenate()([jt.ones([2, 3]), jt.zeros([2, 1])]).shape
    (2, 4)
    """

    def __init__(self, axis: int = -1, **options: Any) -> None:
        super().__init__(**options)
        self.axis = axis

    def call(self, inputs: Any) -> Tensor:
        """Return the joined `inputs`."""
        return concat(inputs, self.axis)

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Return the joined masks; an input without a mask counts as a whole."""
        if previous_mask is None:
            return None
        whole = []
        for x, mask in zip(inputs, previous_mask, strict=True):
            if mask is not None and mask.ndim == x.ndim:
                whole.append(cast(mask, "bool"))
            else:
                of_step = ones(x.shape, "bool") if mask is None else cast(expand_dims(mask, -1), "bool")
                whole.append(broadcast_to(of_step, x.shape))
        return reduce_any(concat(whole, self.axis), -1)
