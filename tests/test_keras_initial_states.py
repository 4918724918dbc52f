"""States before the first step of recurrent layers, and the layer that declares an input."""

import numpy as np
import pytest

import jittape as jt

layers = jt.keras.layers


class Counter(layers.Layer):
    """Adds up its inputs, from ones."""

    state_size = 3

    def call(self, inputs, states):
        total = states[0] + inputs
        return total, [total]

    def get_initial_state(self, batch_size=None):
        return jt.ones([batch_size, 3])


@pytest.mark.parametrize("make", [layers.SimpleRNN, layers.GRU, layers.LSTM])
def test_the_initial_state_of_a_layer_is_what_it_begins_with(make):
    x = np.random.default_rng(0).normal(size=(2, 5, 4))
    layer = make(3, dtype="float64")
    states = layer.get_initial_state(2)
    assert [(state.shape, state.dtype) for state in states] == [((2, 3), np.float64)] * len(states)
    np.testing.assert_array_equal(layer(x, initial_state=states), layer(x))
    np.testing.assert_array_equal(layer.cell.get_initial_state(2)[0], np.zeros((2, 3)))


@pytest.mark.parametrize("sequences", [False, True])
def test_a_layer_begins_with_the_state_of_an_own_cell(sequences):
    x = np.arange(24.0).reshape(2, 4, 3)
    expected = 1.0 + (np.cumsum(x, 1) if sequences else x.sum(1))
    np.testing.assert_array_equal(layers.RNN(Counter(), return_sequences=sequences)(x), expected)
    above = layers.RNN([Counter(), layers.GRUCell(2)])
    first, second = above.get_initial_state(2)
    np.testing.assert_array_equal(first, np.ones((2, 3)))
    np.testing.assert_array_equal(second, np.zeros((2, 2)))
    np.testing.assert_array_equal(above(x, initial_state=[first, second]), above(x))


def test_an_own_cell_must_give_states_of_its_sizes():
    cell = Counter()
    cell.state_size = 4
    with pytest.raises(ValueError, match=r"initial_state of shape \(2, 4\), got \(2, 3\)"):
        layers.RNN(cell)(np.ones((2, 5, 3)))


def test_an_input_layer_declares_the_shape():
    for options in ({"shape": (4,)}, {"input_shape": (4,)}, {"batch_input_shape": (None, 4)}):
        model = jt.keras.Sequential([layers.InputLayer(**options), layers.Dense(3)])
        assert (model.built, model.count_params()) == (True, 15)
    with pytest.raises(ValueError, match="either shape or batch_shape"):
        layers.InputLayer()


def test_examples_leave_no_states_behind():
    """A stateful layer begins with zeros after it has been called with an `Input`, and keeps its states there."""
    x = np.random.default_rng(1).normal(size=(2, 6, 3))
    plain = layers.SimpleRNN(4, bias_initializer="ones", dtype="float64")
    stateful = layers.SimpleRNN(4, bias_initializer="ones", stateful=True, dtype="float64")
    model = jt.keras.Sequential([layers.Input(batch_shape=(2, None, 3), dtype="float64"), stateful])
    plain(x)
    plain.set_weights(stateful.get_weights())
    model(x[:, :4])
    jt.keras.Sequential([layers.Input((None, 3)), stateful])
    np.testing.assert_allclose(model(x[:, 4:]), plain(x), rtol=1e-12)


def test_build_creates_the_weights_of_stacked_cells():
    layer = layers.RNN([layers.LSTMCell(2), layers.GRUCell(3)])
    layer.build((None, 5, 4))
    shapes = [(4, 8), (2, 8), (8,), (2, 9), (3, 9), (2, 9)]
    assert [tuple(weight.shape) for weight in layer.weights] == shapes
    before = layer.get_weights()
    layer(np.ones((2, 5, 4)))
    for old, new in zip(before, layer.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
