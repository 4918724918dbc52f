"""Attention layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

from jittape.core.argument_checks import BELOW_ONE, number
from jittape.core.dtypes import float_limits
from jittape.core.user_calls import as_int, shown
from jittape.errors import ShapeError
from jittape.keras.layers.layer import Layer
from jittape.keras.layers.noise import drop, generator_of
from jittape.keras.layers.weight_options import weight_options, with_options
from jittape.primitives.elementwise.arithmetic import add, multiply
from jittape.primitives.elementwise.comparison import less_equal, logical_and, where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.hyperbolic import tanh
from jittape.primitives.linalg.einsum import einsum
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.nn.activation import softmax
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.primitives.shape.creation import range as numbers
from jittape.primitives.shape.reshaping import expand_dims, reshape, transpose
from jittape.recording.variable import Variable

__all__ = ["AdditiveAttention", "Attention", "MultiHeadAttention"]


def _weights(scores: Any, mask: Any, causal: bool, has_zeros: bool = False) -> Any:
    """Return the softmax of `scores` of shape (..., queries, keys) over the keys that the masks leave.

    If the masks leave no key, all weights are equal, or 0 with `has_zeros`.
    """
    if causal:
        queries, keys = scores.shape[-2:]
        earlier = less_equal(expand_dims(numbers(keys), 0), expand_dims(numbers(queries), 1))
        mask = earlier if mask is None else logical_and(mask, earlier)
    if mask is not None:
        scores = where(mask, scores, float_limits(scores.dtype).min / 2)
    weights = softmax(scores, -1)
    return where(mask, weights, 0) if has_zeros and mask is not None else weights


class Attention(Layer):
    """Dot-product attention: means of the values, weighted by the similarity of queries and keys.

    The inputs are a list of queries of shape (batch, queries, size), values of shape (batch, keys, size) and, if they
    differ from the values, keys.

    Parameters
    ----------
    use_scale : bool, default False
        Whether the scores are multiplied by a trainable number.
    score_mode : str, default "dot"
        ``"concat"`` scores by ``sum(tanh(query + key))``, times a trainable number.
    dropout : float, default 0
        Fraction of the weights that is dropped in training.
    seed : int, optional
        Seed of the masks of dropout; see `Dropout`.

    Examples
    --------
    >>> queries, values = jt.ones([2, 3, 4]), jt.ones([2, 5, 4])
    >>> jt.keras.layers.Attention()([queries, values]).shape
    (2, 3, 4)
    """

    def __init__(
        self,
        use_scale: bool = False,
        score_mode: str = "dot",
        dropout: float = 0.0,
        seed: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        if score_mode not in ("dot", "concat"):
            raise ValueError(f"[Attention] score_mode must be 'dot' or 'concat', got {score_mode!r}")
        self.score_mode, self.seed_generator = score_mode, generator_of(seed)
        self.use_scale = bool(use_scale)
        self.dropout = number("Attention", "dropout", dropout, BELOW_ONE)
        self.scale: Variable | None = None
        self.concat_score_weight: Variable | None = None

    def build(self, input_shape: Any) -> None:
        """Create the scales."""
        if self.use_scale:
            self.scale = self.add_weight((), "ones", name="scale")
        if self.score_mode == "concat":
            self.concat_score_weight = self.add_weight((), "ones", name="concat_score_weight")

    def _require_list(self, inputs: Any) -> None:
        if not isinstance(inputs, (list, tuple)) or len(inputs) not in (2, 3):
            found = f"a list of {len(inputs)}" if isinstance(inputs, (list, tuple)) else shown(inputs)
            raise ValueError(
                f"layer {self.name!r} takes a list of queries, values and, optionally, keys, got {found}"
            )

    def _masks(self, mask: Any) -> list[Any]:
        """Return the masks of the queries and of the values."""
        if not isinstance(mask, (list, tuple)) or len(mask) not in (2, 3):
            raise ValueError(
                f"layer {self.name!r} takes as mask a list of the masks of queries and values, got {shown(mask)}"
            )
        return list(mask[:2])

    def _build(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._require_list(args[0] if args else kwargs.get("inputs"))
        super()._build(args, kwargs)

    def _scores(self, query: Any, key: Any) -> Any:
        """Return the similarity of each query and each key."""
        if self.concat_score_weight is None:
            scores = matmul(query, key, transpose_b=True)
            return scores if self.scale is None else multiply(scores, self.scale)
        sums = add(expand_dims(query, -2), expand_dims(key, -3))
        scaled = sums if self.scale is None else multiply(sums, self.scale)
        return multiply(self.concat_score_weight, reduce_sum(tanh(scaled), -1))

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Return the mask of the queries."""
        return None if previous_mask is None else previous_mask[0]

    def call(
        self,
        inputs: Any,
        mask: Any = None,
        training: bool | None = None,
        return_attention_scores: bool = False,
        use_causal_mask: bool = False,
    ) -> Any:
        """Return the means, and the weights if `return_attention_scores`.

        Parameters
        ----------
        inputs : list of two or three tensors
        mask : list of tensors of bool, optional
            For queries and values of shape (batch, length), True for those that count; an entry may be None.
        use_causal_mask : bool
            Whether query i sees only the keys up to i.
        """
        self._require_list(inputs)
        query, value, key = (*inputs, inputs[1])[:3]
        scores = self._scores(query, key)
        of_query, of_value = (None, None) if mask is None else self._masks(mask)
        seen = None if of_value is None else expand_dims(of_value, -2)
        weights = _weights(scores, seen, use_causal_mask)
        if training and self.dropout:
            weights = drop(self.seed_generator, weights, self.dropout)
        result = matmul(weights, value)
        if of_query is not None:
            result = where(expand_dims(of_query, -1), result, 0)
        return (result, weights) if return_attention_scores else result


class AdditiveAttention(Attention):
    """Means of the values, weighted by ``sum(scale * tanh(query + key))`` (Bahdanau et al. 2014).

    The inputs and the arguments of a call are those of `Attention`.

    Parameters
    ----------
    use_scale : bool, default True
        Whether the layer trains a scale for each feature.
    dropout : float, default 0
        Fraction of the weights that is dropped in training.
    **options : those of `Layer`, and `seed`

    Examples
    --------
    >>> queries, values = jt.ones([2, 3, 4]), jt.ones([2, 5, 4])
    >>> layer = jt.keras.layers.AdditiveAttention()
    >>> layer([queries, values]).shape, layer.scale.shape
    ((2, 3, 4), (4,))
    """

    def __init__(self, use_scale: bool = True, dropout: float = 0.0, **options: Any) -> None:
        super().__init__(use_scale, dropout=dropout, **options)

    def build(self, input_shape: Any) -> None:
        """Create the scale."""
        if not all(input_shape):
            raise ShapeError(
                f"layer {self.name!r} takes queries and values of shape (batch, length, features), got {input_shape}"
            )
        if self.use_scale:
            self.scale = self.add_weight((input_shape[0][-1],), "glorot_uniform", name="scale")

    def _scores(self, query: Any, key: Any) -> Any:
        sums = tanh(add(expand_dims(query, -2), expand_dims(key, -3)))
        return reduce_sum(sums if self.scale is None else multiply(sums, self.scale), -1)


@with_options(kernel="_kernel", bias="_bias")
class MultiHeadAttention(Layer):
    """Several attentions over projections of queries, keys and values (Vaswani et al. 2017).

    Parameters
    ----------
    num_heads : int
    key_dim : int
        Length of the projected queries and keys.
    value_dim : int, optional
        Length of the projected values; `key_dim` if not given.
    dropout : float, default 0
        Fraction of the weights that is dropped in training.
    use_bias : bool, default True
    output_shape : int, optional
        Length of the results; that of the queries if not given.
    attention_axes : int or sequence of int, optional
        Axes that are attended over; all but the first and the last if not given. Inputs with several such axes, or
        with other axes besides, take no masks.
    kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, kernel_constraint, bias_constraint
        Of all projections, as for `Dense`.
    seed : int, optional
        Seed of the masks of dropout; see `Dropout`.

    Raises
    ------
    ValueError
        If `num_heads`, `key_dim` or `value_dim` is not positive.

    Examples
    --------
    >>> layer = jt.keras.layers.MultiHeadAttention(num_heads=2, key_dim=3)
    >>> x = jt.ones([2, 5, 4])
    >>> layer(x, x, use_causal_mask=True).shape
    (2, 5, 4)
    """

    supports_masking = True

    def __init__(
        self,
        num_heads: int,
        key_dim: int,
        value_dim: int | None = None,
        dropout: float = 0.0,
        use_bias: bool = True,
        output_shape: int | None = None,
        attention_axes: int | Sequence[int] | None = None,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        seed: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.seed_generator = generator_of(seed)
        self.num_heads, self.key_dim = as_int("num_heads", num_heads), as_int("key_dim", key_dim)
        self.value_dim = self.key_dim if value_dim is None else as_int("value_dim", value_dim)
        if min(self.num_heads, self.key_dim, self.value_dim) < 1:
            raise ValueError(
                f"[MultiHeadAttention] num_heads, key_dim and value_dim must be positive, got {num_heads}, {key_dim} "
                f"and {value_dim}"
            )
        self.dropout = number("MultiHeadAttention", "dropout", dropout, BELOW_ONE)
        self.use_bias, self.output_size = bool(use_bias), output_shape
        self.attention_axes: tuple[int, ...] | None = None
        if attention_axes is not None:
            axes = attention_axes if isinstance(attention_axes, Sequence) else [attention_axes]
            self.attention_axes = tuple([as_int("attention_axes", axis) for axis in axes])
        self._kernel = weight_options(kernel_initializer, kernel_regularizer, kernel_constraint)
        self._bias = weight_options(bias_initializer, bias_regularizer, bias_constraint)
        self.projections: dict[str, tuple[Variable, Variable | None]] = {}

    def build(self, query_shape: Any, value_shape: Any = None, key_shape: Any = None) -> None:
        """Create the weights for queries, values and keys of these shapes; without `value_shape`, the call does it."""
        if value_shape is None or self.projections:
            return
        heads, size = self.num_heads, self.output_size or query_shape[-1]
        shapes = {
            "query": (query_shape[-1], heads, self.key_dim),
            "key": ((key_shape or value_shape)[-1], heads, self.key_dim),
            "value": (value_shape[-1], heads, self.value_dim),
            "output": (heads, self.value_dim, size),
        }
        for name, shape in shapes.items():
            part = "attention_output" if name == "output" else name
            kernel = self._kernel.add_to(self, shape, f"{part}/kernel")
            of_bias = shape[-1:] if name == "output" else shape[1:]
            bias = self._bias.add_to(self, of_bias, f"{part}/bias") if self.use_bias else None
            self.projections[name] = kernel, bias

    def _project(self, name: str, x: Any) -> Any:
        kernel, bias = self.projections[name]
        result = einsum("bthd,hdo->bto" if name == "output" else "btf,fhd->bthd", x, kernel)
        return result if bias is None else add(result, bias)

    def call(
        self,
        query: Any,
        value: Any,
        key: Any = None,
        query_mask: Any = None,
        value_mask: Any = None,
        key_mask: Any = None,
        attention_mask: Any = None,
        return_attention_scores: bool = False,
        training: bool | None = None,
        use_causal_mask: bool = False,
    ) -> Any:
        """Return the results for the queries, and the weights if `return_attention_scores`.

        Parameters
        ----------
        query : tensor of shape (batch, queries, features)
        value, key : tensors of shape (batch, keys, features)
            The keys are the values if they are not given.
        query_mask, value_mask, key_mask : tensors of bool of shape (batch, length), optional
            True for the steps that count. A query sees the keys that count; one that does not count sees none. As in
            Keras, its weights are 0 with `dropout` or `return_attention_scores`, else equal.
        attention_mask : tensor of bool that broadcasts to (batch, queries, keys), optional
            True where a query sees a key. With 4 dimensions, it broadcasts to (batch, heads, queries, keys).
        return_attention_scores : bool
            The weights have the shape (batch, heads, queries, keys).
        use_causal_mask : bool
            Whether query i sees only the keys up to i.
        """
        if value is None:
            raise TypeError(f"layer {self.name!r} needs a value; for self-attention, give the query twice")
        value = self._as_inputs(value)
        key = value if key is None else self._as_inputs(key)
        if not len(query.shape) == len(value.shape) == len(key.shape) >= 3:
            raise ShapeError(
                f"layer {self.name!r} takes queries, values and keys of shape (batch, length, features), got shapes "
                f"{query.shape}, {value.shape} and {key.shape}"
            )
        axes = self._axes_of(query)
        if axes != (1,) or len(query.shape) != 3:
            if use_causal_mask or not all(
                m is None for m in (query_mask, value_mask, key_mask, attention_mask)
            ):
                raise ShapeError(
                    f"layer {self.name!r} takes masks for inputs of shape (batch, length, features) only, got queries "
                    f"of shape {query.shape} and attention_axes {axes}: reshape the inputs"
                )
            return self._over(axes, query, value, key, return_attention_scores, training)
        masks = [None if query_mask is None else expand_dims(query_mask, (-3, -1))]
        masks += [None if m is None else expand_dims(m, (-3, -2)) for m in (value_mask, key_mask)]
        given = [cast(m, "bool") for m in (*masks, attention_mask) if m is not None]
        if attention_mask is not None and len(given[-1].shape) == 3:
            given[-1] = expand_dims(given[-1], -3)
        mask = reduce(logical_and, given) if given else None
        has_zeros = return_attention_scores or self.dropout > 0  # as in Keras
        result, weights = self._attended(query, value, key, mask, use_causal_mask, training, has_zeros)
        return (result, weights) if return_attention_scores else result

    def _attended(
        self,
        query: Any,
        value: Any,
        key: Any,
        mask: Any,
        is_causal: bool,
        training: bool | None,
        has_zeros: bool = False,
    ) -> tuple[Any, Any]:
        """Return the results and the weights for inputs of shape (batch, length, features); see `_weights`."""
        if not self.projections:
            self.build(query.shape, value.shape, key.shape)
        queries = multiply(self._project("query", query), 1.0 / math.sqrt(self.key_dim))
        scores = einsum("bqhd,bkhd->bhqk", queries, self._project("key", key))
        weights = _weights(scores, mask, is_causal, has_zeros)
        kept = drop(self.seed_generator, weights, self.dropout) if training and self.dropout else weights
        return self._project(
            "output", einsum("bhqk,bkhd->bqhd", kept, self._project("value", value))
        ), weights

    def _axes_of(self, query: Any) -> tuple[int, ...]:
        """Return the axes that are attended over, in order."""
        rank = len(query.shape)
        if self.attention_axes is None:
            return tuple(range(1, rank - 1))
        axes = tuple(sorted([axis % rank for axis in self.attention_axes if -rank <= axis < rank]))
        if len(set(axes)) != len(self.attention_axes) or not axes or not 0 < axes[0] <= axes[-1] < rank - 1:
            raise ShapeError(
                f"layer {self.name!r}: attention_axes must be different axes between the first and the last one of "
                f"queries of shape {query.shape}, got {self.attention_axes}"
            )
        return axes

    def _over(
        self,
        axes: tuple[int, ...],
        query: Any,
        value: Any,
        key: Any,
        with_scores: bool,
        training: bool | None,
    ) -> Any:
        """Return the result of `call` over these axes; the other axes are part of the batch."""
        others = [axis for axis in range(len(query.shape) - 1) if axis not in axes]
        batch = [query.shape[axis] for axis in others]
        for x in (value, key):
            if [x.shape[axis] for axis in others] != batch:
                raise ShapeError(
                    f"layer {self.name!r}: queries, values and keys must be equal along the axes {others}, which "
                    f"attention_axes {axes} leave out, got shapes {query.shape} and {x.shape}"
                )
        order = [*others, *axes, len(query.shape) - 1]

        def lengths(x: Any) -> list[Any]:
            return [x.shape[axis] for axis in axes]

        def as_rows(x: Any) -> Any:
            return reshape(transpose(x, order), [math.prod(batch), math.prod(lengths(x)), x.shape[-1]])

        found = self._attended(as_rows(query), as_rows(value), as_rows(key), None, False, training)
        result = reshape(found[0], [*batch, *lengths(query), found[0].shape[-1]])
        result = transpose(result, [order.index(axis) for axis in range(len(order))])
        if not with_scores:
            return result
        return result, reshape(found[1], [*batch, self.num_heads, *lengths(query), *lengths(key)])
