"""`Layer.compute_output_shape`, with the shapes that TensorFlow 2.21 gives."""

import numpy as np
import pytest

import jittape as jt

keras = jt.keras
layers = keras.layers


@pytest.mark.parametrize(
    ("layer", "given", "expected"),
    [
        (layers.Dense(3), (None, 4), (None, 3)),
        (layers.Conv2D(3, 2, strides=2, padding="same"), (None, 7, 7, 1), (None, 4, 4, 3)),
        (layers.Conv1D(2, 3), (None, None, 3), (None, None, 2)),
        (layers.Conv2DTranspose(2, 3, strides=2), (None, 4, 4, 1), (None, 9, 9, 2)),
        (layers.Flatten(), (None, 3, 4), (None, 12)),
        (layers.LSTM(3, return_sequences=True), (None, 5, 2), (None, 5, 3)),
        (layers.LSTM(3), (None, None, 2), (None, 3)),
        (layers.LSTM(3, return_state=True), (2, 4, 3), ((2, 3), (2, 3), (2, 3))),
        (layers.Embedding(5, 2), (None, 4), (None, 4, 2)),
        (layers.Embedding(5, 2), jt.TensorShape([2, None]), (2, None, 2)),
        (layers.Concatenate(), [(None, 2), (None, 3)], (None, 5)),
        (layers.Reshape((-1, 2)), (None, 4, 3), (None, 6, 2)),
        (layers.BatchNormalization(), (2, 3), (2, 3)),
        (layers.GlobalAveragePooling2D(), (None, 3, 4, 5), (None, 5)),
        (layers.Bidirectional(layers.GRU(2)), (None, 3, 4), (None, 4)),
        (layers.TimeDistributed(layers.Dense(2)), (None, 3, 4), (None, 3, 2)),
        (keras.Sequential([layers.Dense(4), layers.Dense(2)]), (None, 3), (None, 2)),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_shapes_of_results(layer, given, expected):
    was_built = layer.built
    for _ in range(2):
        assert layer.compute_output_shape(given) == expected
    assert layer.built == was_built


def test_a_layer_of_several_inputs_takes_several_shapes():
    assert layers.MultiHeadAttention(2, 3).compute_output_shape((None, 5, 4), (None, 7, 4)) == (None, 5, 4)


def make_own():
    class Own(layers.Layer):
        def __init__(self, units):
            super().__init__()
            self.units = units

        def build(self, input_shape):
            self.w = self.add_weight(shape=(input_shape[-1], self.units), name="w")

        def call(self, inputs):
            return inputs @ self.w

    return Own


def test_layers_of_the_user_need_no_method_for_it():
    class WithMethod(make_own()):
        def compute_output_shape(self, input_shape):
            return (*super().compute_output_shape(input_shape)[:-1], "units")

    layer = make_own()(3)
    assert layer.compute_output_shape((None, 4)) == (None, 3)
    assert (layer.built, layer.weights) == (False, [])
    assert WithMethod(3).compute_output_shape((None, 4)) == (None, "units")


def test_models_of_any_structure():
    a, b = keras.Input((5,)), keras.Input((3,))
    model = keras.Model({"a": a, "b": b}, {"y": layers.Concatenate()([a, b])})
    assert model.compute_output_shape({"a": (None, 5), "b": (None, 3)}) == {"y": (None, 8)}
    assert model.compute_output_shape({"a": (7, 5), "b": (7, 3)}) == {"y": (7, 8)}
    assert (model.input["a"], model.output["y"].shape) == (a, (None, 8))


def test_nothing_changes():
    jt.random.set_seed(3)
    first = layers.Dense(2)(np.ones((1, 3), "float32")).numpy()
    jt.random.set_seed(3)
    layer, moving = layers.Dense(2), layers.BatchNormalization()
    moving(np.array([[1.0], [3.0]]), training=True)
    mean, output = moving.moving_mean.numpy(), layers.Dense(2)
    layer.compute_output_shape((None, 3))
    moving.compute_output_shape((None, 1))
    output(keras.Input((3,)))
    jt.random.set_seed(3)
    layers.Dense(5).compute_output_shape((None, 3))
    np.testing.assert_array_equal(layer(np.ones((1, 3), "float32")).numpy(), first)
    np.testing.assert_array_equal(moving.moving_mean.numpy(), mean)
    output.compute_output_shape((None, 3))
    assert output.output.shape == (None, 2)


@pytest.mark.parametrize(
    ("layer", "shape", "error", "text"),
    [
        (layers.Conv2D(3, 3), (None, 4), ValueError, "takes inputs with 4 dimensions"),
        (
            layers.Dense(3),
            4,
            TypeError,
            r"\[compute_output_shape\] a shape must be a tuple of int and None, got 4",
        ),
        (layers.Dense(3), ("a", 4), TypeError, r"a shape must be a tuple of int and None, got 'a'"),
        (layers.Dense(3), (), ValueError, r"a shape must begin with the batch, got \(\)"),
    ],
)
def test_shapes_that_do_not_fit(layer, shape, error, text):
    with pytest.raises(error, match=text):
        layer.compute_output_shape(shape)
