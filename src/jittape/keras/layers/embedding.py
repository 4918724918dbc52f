"""Layers that begin models of sequences: a vector for each integer, and a mask of the steps that count."""

from __future__ import annotations

from typing import Any

from jittape.core.dtypes import int32
from jittape.core.user_calls import as_int
from jittape.errors import DTypeError
from jittape.keras.layers.layer import Layer
from jittape.keras.layers.weight_options import weight_options, with_options
from jittape.keras.tensor_masks import set_mask
from jittape.primitives.elementwise.comparison import not_equal, where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.nn.layer_functions import embedding_lookup
from jittape.primitives.reduce.reductions import reduce_any
from jittape.primitives.shape.reshaping import squeeze
from jittape.recording.tensor import Tensor

__all__ = ["Embedding", "Masking"]


@with_options(embeddings="_embeddings")
class Embedding(Layer):
    """A trainable vector for each integer from 0 to below `input_dim`.

    Parameters
    ----------
    input_dim : int
        Number of vectors.
    output_dim : int
        Length of a vector.
    embeddings_initializer : str or callable, default "uniform"
    embeddings_regularizer : str or callable, optional
    embeddings_constraint : callable, optional
    mask_zero : bool
        Whether 0 pads sequences: the results get a mask, by which recurrent layers, pooling, losses and metrics skip
        these steps.
    input_length : int, optional
        Ignored, as in Keras 3: inputs have any length.

    Raises
    ------
    ValueError
        If a size is not positive.
    TypeError
        For inputs that are not numbers.
    IndexError
        For an integer that is out of range, and for a number that is not whole.

    Examples
    --------
    >>> jt.keras.layers.Embedding(10, 4)([[1, 2, 3]]).shape
    (1, 3, 4)
    """

    _left_out = "input_length"

    takes_integers = True  # also if the `Input` before the layer has the default dtype

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Any = "random_uniform",
        embeddings_regularizer: Any = None,
        embeddings_constraint: Any = None,
        mask_zero: bool = False,
        input_length: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.mask_zero = self.supports_masking = bool(mask_zero)
        self.input_dim, self.output_dim = as_int("input_dim", input_dim), as_int("output_dim", output_dim)
        if min(self.input_dim, self.output_dim) < 1:
            raise ValueError(
                f"[Embedding] input_dim and output_dim must be positive, got {input_dim} and {output_dim}"
            )
        initializer = "random_uniform" if embeddings_initializer == "uniform" else embeddings_initializer
        self._embeddings = weight_options(initializer, embeddings_regularizer, embeddings_constraint)
        self.embeddings = self._embeddings.add_to(self, (self.input_dim, self.output_dim), "embeddings")
        self.built = True

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Return which of the integers are not 0, with ``mask_zero=True``."""
        return not_equal(inputs, 0) if self.mask_zero else None

    def call(self, inputs: Any) -> Tensor:
        """Return the vectors of `inputs`, along a new last dimension."""
        if inputs.dtype.kind not in "iuf":
            raise DTypeError(f"layer {self.name!r} takes integers, got {inputs.dtype.name}; cast them")
        if inputs.dtype.kind == "f":
            whole = cast(inputs, int32)
            inputs = where(
                not_equal(cast(whole, inputs.dtype), inputs), self.input_dim, whole
            )  # raises an error
        return embedding_lookup(self.embeddings, inputs)


class Masking(Layer):
    """A mask of the steps of sequences in which all features are `mask_value`; their results are 0.

    Recurrent layers, pooling, losses and metrics skip these steps.

    Parameters
    ----------
    mask_value : float
        Value of the features of a step that does not count.
    **options : those of `Layer`

    Examples
    --------
    >>> layer = jt.keras.layers.Masking()
    >>> x = jt.constant([[[1.0, 2.0], [0.0, 0.0]]])
    >>> layer.compute_mask(x).numpy()
    array([[ True, False]])
    >>> jt.keras.layers.GRU(3, return_sequences=True)(layer(x)).shape
    (1, 2, 3)
    """

    supports_masking = True

    def __init__(self, mask_value: float = 0.0, **options: Any) -> None:
        super().__init__(**options)
        self.mask_value = mask_value
        self.built = True

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Return which steps count."""
        return reduce_any(not_equal(inputs, self.mask_value), -1)

    def call(self, inputs: Any) -> Any:
        """Return `inputs` with 0 in the steps that do not count."""
        counts = reduce_any(not_equal(inputs, self.mask_value), -1, keepdims=True)
        result = where(counts, inputs, 0)
        set_mask(result, squeeze(counts, -1))
        return result
