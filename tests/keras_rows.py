"""Layers compared with those of TensorFlow 2.21: results and gradients, recorded in `keras_values.json`.

``python tests/keras_rows.py`` runs the rows under TensorFlow and writes the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

VALUES = Path(__file__).with_name("keras_values.json")


class LayerRow(NamedTuple):
    """A layer and how it is called.

    Attributes
    ----------
    make : callable
        ``make(layers, **options)`` with ``tf.keras.layers`` or ``jt.keras.layers``.
    shapes : tuple of tuples
        Shapes of the inputs.
    call : mapping
        Further arguments of the call.
    integers : int
        If not 0, the inputs are integers below it.
    rtol : float
        Relative tolerance. TensorFlow's attention has a factor in single precision.
    """

    make: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    call: Mapping[str, Any] = MappingProxyType({})
    integers: int = 0
    rtol: float = 2e-10


SEQUENCES = ((2, 5, 3),)
IMAGES = ((2, 6, 5, 4),)
CAUSAL = {"use_causal_mask": True}
TRAINING = {"training": True}

STEPS = np.array([[True, True, False, True, False], [False, True, True, True, True]])
NO_KEYS = np.array([[True, True, False, True, False], [False] * 5])

ROWS: dict[str, LayerRow] = {
    "dense": LayerRow(lambda L, **o: L.Dense(4, "tanh", **o), ((3, 5),)),
    "dense of sequences": LayerRow(lambda L, **o: L.Dense(2, use_bias=False, **o), SEQUENCES),
    "conv1d": LayerRow(lambda L, **o: L.Conv1D(4, 3, 2, "same", activation="relu", **o), SEQUENCES),
    "conv1d, dilated": LayerRow(lambda L, **o: L.Conv1D(2, 2, dilation_rate=2, **o), SEQUENCES),
    "conv1d, causal": LayerRow(
        lambda L, **o: L.Conv1D(2, 3, padding="causal", dilation_rate=2, **o), SEQUENCES
    ),
    "conv1d transposed, padding": LayerRow(
        lambda L, **o: L.Conv1DTranspose(2, 3, 2, "same", output_padding=0, **o), SEQUENCES
    ),
    "conv2d transposed, padding": LayerRow(
        lambda L, **o: L.Conv2DTranspose(2, 3, 2, output_padding=1, **o), ((1, 3, 2, 2),)
    ),
    "conv2d": LayerRow(lambda L, **o: L.Conv2D(3, (3, 2), **o), IMAGES),
    "conv2d, same, strides": LayerRow(lambda L, **o: L.Conv2D(3, 3, (2, 1), "same", **o), IMAGES),
    "conv3d": LayerRow(lambda L, **o: L.Conv3D(2, 2, **o), ((1, 3, 4, 3, 2),)),
    "conv1d transposed": LayerRow(lambda L, **o: L.Conv1DTranspose(2, 3, 2, "same", **o), SEQUENCES),
    "conv2d transposed": LayerRow(lambda L, **o: L.Conv2DTranspose(3, 3, 2, **o), ((1, 3, 2, 2),)),
    "conv2d transposed, large strides": LayerRow(
        lambda L, **o: L.Conv2DTranspose(1, 2, 3, **o), ((1, 3, 2, 2),)
    ),
    "depthwise": LayerRow(
        lambda L, **o: L.DepthwiseConv2D(3, padding="same", depth_multiplier=2, **o), IMAGES
    ),
    "separable": LayerRow(lambda L, **o: L.SeparableConv2D(3, 2, depth_multiplier=2, **o), IMAGES),
    "depthwise 1d": LayerRow(
        lambda L, **o: L.DepthwiseConv1D(2, 2, "same", 2, activation="tanh", **o), SEQUENCES
    ),
    "separable 1d": LayerRow(
        lambda L, **o: L.SeparableConv1D(4, 2, dilation_rate=2, padding="same", **o), SEQUENCES
    ),
    "separable 1d, strides": LayerRow(
        lambda L, **o: L.SeparableConv1D(4, 3, 2, depth_multiplier=2, **o), SEQUENCES
    ),
    "max pooling 1d": LayerRow(lambda L, **o: L.MaxPooling1D(2, padding="same", **o), SEQUENCES),
    "max pooling": LayerRow(lambda L, **o: L.MaxPooling2D(2, **o), IMAGES),
    "max pooling, same": LayerRow(lambda L, **o: L.MaxPooling2D(3, 2, "same", **o), IMAGES),
    "average pooling, same": LayerRow(lambda L, **o: L.AveragePooling2D(3, 2, "same", **o), IMAGES),
    "average pooling 1d": LayerRow(lambda L, **o: L.AveragePooling1D(3, 1, **o), SEQUENCES),
    "global max": LayerRow(lambda L, **o: L.GlobalMaxPooling2D(**o), IMAGES),
    "global mean": LayerRow(lambda L, **o: L.GlobalAveragePooling2D(keepdims=True, **o), IMAGES),
    "flatten": LayerRow(lambda L, **o: L.Flatten(**o), IMAGES),
    "flatten, channels first": LayerRow(lambda L, **o: L.Flatten(data_format="channels_first", **o), IMAGES),
    "reshape": LayerRow(lambda L, **o: L.Reshape((3, -1), **o), SEQUENCES),
    "embedding": LayerRow(lambda L, **o: L.Embedding(7, 3, **o), ((2, 4),), integers=7),
    "batch normalization": LayerRow(lambda L, **o: L.BatchNormalization(**o), IMAGES),
    "batch normalization, training": LayerRow(lambda L, **o: L.BatchNormalization(**o), IMAGES, TRAINING),
    "batch normalization, axis": LayerRow(
        lambda L, **o: L.BatchNormalization(axis=1, momentum=0.5, scale=False, **o), SEQUENCES, TRAINING
    ),
    "batch normalization, mask": LayerRow(
        lambda L, **o: L.BatchNormalization(**o), SEQUENCES, TRAINING | {"mask": STEPS}, rtol=1e-6
    ),
    "softmax, mask": LayerRow(lambda L, **o: L.Softmax(**o), ((2, 5),), {"mask": STEPS}),
    "layer normalization": LayerRow(lambda L, **o: L.LayerNormalization(**o), SEQUENCES),
    "layer normalization, axes": LayerRow(lambda L, **o: L.LayerNormalization(axis=[1, 2], **o), SEQUENCES),
    "group normalization": LayerRow(lambda L, **o: L.GroupNormalization(2, **o), IMAGES),
    "rms normalization": LayerRow(lambda L, **o: L.RMSNormalization(**o), SEQUENCES),
    "unit normalization": LayerRow(lambda L, **o: L.UnitNormalization(axis=(1, 2), **o), SEQUENCES),
    "simple rnn": LayerRow(lambda L, **o: L.SimpleRNN(4, **o), SEQUENCES),
    "simple rnn, sequences": LayerRow(
        lambda L, **o: L.SimpleRNN(2, "relu", return_sequences=True, **o), SEQUENCES
    ),
    "lstm": LayerRow(lambda L, **o: L.LSTM(4, **o), SEQUENCES),
    "lstm, sequences": LayerRow(
        lambda L, **o: L.LSTM(4, return_sequences=True, use_bias=False, **o), SEQUENCES
    ),
    "lstm, backwards": LayerRow(
        lambda L, **o: L.LSTM(2, return_sequences=True, go_backwards=True, **o), SEQUENCES
    ),
    "gru": LayerRow(lambda L, **o: L.GRU(4, **o), SEQUENCES),
    "gru, reset before": LayerRow(
        lambda L, **o: L.GRU(4, reset_after=False, return_sequences=True, **o), SEQUENCES
    ),
    "gru without bias": LayerRow(lambda L, **o: L.GRU(3, use_bias=False, **o), SEQUENCES),
    "gru, mask, zeros": LayerRow(
        lambda L, **o: L.GRU(3, return_sequences=True, zero_output_for_mask=True, **o),
        SEQUENCES,
        {"mask": STEPS},
    ),
    "lstm, mask, last zeros": LayerRow(
        lambda L, **o: L.LSTM(3, zero_output_for_mask=True, go_backwards=True, **o),
        SEQUENCES,
        {"mask": STEPS},
    ),
    "attention, concat": LayerRow(
        lambda L, **o: L.Attention(True, score_mode="concat", **o), ((2, 3, 4), (2, 5, 4))
    ),
    "attention, additive": LayerRow(
        lambda L, **o: L.AdditiveAttention(**o), ((2, 3, 4), (2, 5, 4)), rtol=1e-6
    ),
    "attention": LayerRow(lambda L, **o: L.Attention(use_scale=True, **o), ((2, 3, 4), (2, 5, 4))),
    "attention, causal": LayerRow(lambda L, **o: L.Attention(**o), ((2, 4, 3), (2, 4, 3)), CAUSAL),
    "multi-head attention": LayerRow(
        lambda L, **o: L.MultiHeadAttention(2, 3, **o), ((2, 4, 5), (2, 6, 4)), rtol=1e-5
    ),
    "multi-head attention, causal": LayerRow(
        lambda L, **o: L.MultiHeadAttention(3, 2, value_dim=4, use_bias=False, **o),
        ((2, 4, 5), (2, 4, 5)),
        CAUSAL,
        rtol=1e-5,
    ),
    "multi-head attention of images": LayerRow(
        lambda L, **o: L.MultiHeadAttention(2, 3, **o), ((2, 2, 3, 5), (2, 4, 1, 5)), rtol=1e-5
    ),
    "multi-head attention along an axis": LayerRow(
        lambda L, **o: L.MultiHeadAttention(2, 3, attention_axes=(2,), **o),
        ((2, 2, 3, 5), (2, 2, 4, 5)),
        rtol=1e-5,
    ),
    "multi-head attention, mask": LayerRow(
        lambda L, **o: L.MultiHeadAttention(2, 3, **o),
        ((2, 4, 5), (2, 5, 4)),
        {"value_mask": STEPS, "key_mask": STEPS[:, ::-1].copy()},
        rtol=1e-5,
    ),
    "bilinear enlargement": LayerRow(
        lambda L, **o: L.UpSampling2D((2, 3), interpolation="bilinear", **o), IMAGES, rtol=2e-5
    ),
    "multi-head attention, no keys": LayerRow(
        lambda L, **o: L.MultiHeadAttention(2, 3, **o),
        ((2, 4, 5), (2, 5, 4)),
        {"value_mask": NO_KEYS},
        rtol=1e-5,
    ),
    "multi-head attention, no keys, dropout": LayerRow(
        lambda L, **o: L.MultiHeadAttention(2, 3, dropout=0.5, **o),
        ((2, 4, 5), (2, 5, 4)),
        {"value_mask": NO_KEYS},
        rtol=1e-5,
    ),
    "softmax, nothing counts": LayerRow(lambda L, **o: L.Softmax(**o), ((2, 5),), {"mask": NO_KEYS}),
}


def numbers(shape: tuple[int, ...], start: float) -> np.ndarray[Any, Any]:
    """Return numbers between -1 and 1, the same everywhere."""
    return np.sin(start + 1.7 * np.arange(np.prod(shape, dtype=int)) ** 1.1).reshape(shape)


def weights_for(shapes: list[tuple[int, ...]]) -> list[np.ndarray[Any, Any]]:
    """Return values of weights of these shapes, all positive for a variance."""
    return [numbers(shape, i + 0.5) * 0.4 + 0.5 for i, shape in enumerate(shapes)]


def results(tf: Any, row: LayerRow) -> dict[str, list[Any]]:
    """Return the result of a layer, its state after the call, and the gradients of the sum of the result's sines."""
    layer = row.make(tf.keras.layers, dtype="float64")
    if row.integers:
        inputs = [
            tf.constant((np.arange(np.prod(s)) * 3 % row.integers).reshape(s), "int64") for s in row.shapes
        ]
    else:
        inputs = [tf.Variable(numbers(s, 0.1 * i)) for i, s in enumerate(row.shapes)]
    values = [tf.convert_to_tensor(x) for x in inputs]
    several = type(layer).__name__ == "MultiHeadAttention"
    arguments = values if several else [values if len(values) > 1 else values[0]]
    call = {k: tf.constant(v) if isinstance(v, np.ndarray) else v for k, v in row.call.items()}
    layer(*arguments, **{k: v for k, v in call.items() if k != "training"})
    layer.set_weights(weights_for([tuple(w.shape) for w in layer.weights]))
    variables = layer.trainable_weights
    sources = list(variables) + ([] if row.integers else values)
    with tf.GradientTape() as tape:
        for x in [] if row.integers else values:
            tape.watch(x)
        result = layer(*arguments, **call)
        total = tf.reduce_sum(tf.sin(result) * tf.constant(numbers(tuple(result.shape), 2.0)))
    gradients = tape.gradient(total, sources)
    return {
        "result": [np.asarray(result)],
        "gradients": [np.asarray(tf.convert_to_tensor(g)) for g in gradients],
        "state": [np.asarray(w) for w in layer.non_trainable_weights],
    }


if __name__ == "__main__":
    import tensorflow

    recorded = {
        name: {
            kind: [[float(f"{x:.12g}") for x in array.ravel()] for array in arrays]
            for kind, arrays in results(tensorflow, row).items()
        }
        for name, row in ROWS.items()
    }
    VALUES.write_text(
        json.dumps({"tensorflow": tensorflow.__version__, "rows": recorded}) + "\n", encoding="utf-8"
    )
