"""Masking: steps of sequences that do not count, found by their values."""

from __future__ import annotations

from typing import Any

from jittape.keras.layers.layer import Layer
from jittape.keras.tensor_masks import set_mask
from jittape.primitives.elementwise.comparison import not_equal, where
from jittape.primitives.reduce.reductions import reduce_any
from jittape.primitives.shape.reshaping import squeeze

__all__ = ["Masking"]


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
