"""Layers against TensorFlow's, recorded in `keras_values.json`; in functions; bad input."""

import json

import numpy as np
import pytest

import jittape as jt
from keras_rows import ROWS, VALUES, results

RECORDED = json.loads(VALUES.read_text(encoding="utf-8"))["rows"]
layers = jt.keras.layers


@pytest.mark.parametrize("name", ROWS)
def test_layers_agree_with_tensorflow(name):
    found, rtol = results(jt, ROWS[name]), ROWS[name].rtol
    for kind, arrays in RECORDED[name].items():
        assert len(found[kind]) == len(arrays), kind
        for mine, expected in zip(found[kind], arrays, strict=True):
            np.testing.assert_allclose(mine.ravel(), expected, rtol=rtol, atol=rtol / 10, err_msg=kind)


def test_every_row_is_recorded():
    assert RECORDED.keys() == ROWS.keys()


# ---- in functions and in training ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["conv2d, same, strides", "lstm", "gru", "multi-head attention", "layer normalization"]
)
def test_a_layer_in_a_function_is_one_program(name):
    row = ROWS[name]
    layer = row.make(layers, dtype="float64")
    several = isinstance(layer, layers.MultiHeadAttention)
    inputs = [np.random.default_rng(i).normal(size=shape) for i, shape in enumerate(row.shapes)]
    arguments = inputs if several else [inputs[0]]
    expected = layer(*arguments, **row.call)
    f = jt.function(lambda *x: layer(*x, **row.call))
    for _ in range(3):
        np.testing.assert_allclose(f(*arguments).numpy(), expected.numpy(), rtol=1e-12, atol=1e-12)
    assert len(f.signatures()) == 1


@pytest.mark.parametrize("cell_type", [layers.SimpleRNNCell, layers.LSTMCell, layers.GRUCell])
def test_dropout_of_a_cell(cell_type):
    """A layer takes the rates of its cell; a cell alone draws masks in training only."""
    cell = cell_type(4, dropout=0.5, recurrent_dropout=0.25, seed=3, dtype="float64")
    layer = layers.RNN(cell, return_sequences=True)
    x = np.ones((2, 5, 3))
    assert (layer.dropout, layer.recurrent_dropout) == (0.5, 0.25)
    plain = layer(x).numpy()
    np.testing.assert_allclose(layer(x, training=False).numpy(), plain, rtol=1e-12)
    assert not np.allclose(layer(x, training=True).numpy(), plain)
    states = [np.ones((2, 4))] * cell.states
    plain = cell(x[:, 0], states)[0].numpy()
    np.testing.assert_allclose(cell(x[:, 0], states, training=False)[0].numpy(), plain, rtol=1e-12)
    assert not np.allclose(cell(x[:, 0], states, training=True)[0].numpy(), plain)


def test_an_unknown_dimension_of_a_batch_without_rows():
    assert layers.Reshape([2, -1])(np.ones((0, 6))).shape == (0, 2, 3)
    assert layers.Reshape([-1])(np.ones((4, 0))).shape == (4, 0)
    f = jt.function(layers.Reshape([-1, 2]), input_signature=[jt.TensorSpec([None, None, 3])])
    assert [f(np.ones((b, n, 3), "f4")).shape for b, n in [(4, 2), (3, 6)]] == [(4, 3, 2), (3, 9, 2)]


def test_moving_averages_in_a_function():
    layer = layers.BatchNormalization(momentum=0.5, dtype="float64")
    x = np.random.default_rng(0).normal(2.0, 3.0, size=(50, 4))
    f = jt.function(lambda x: layer(x, training=True))
    for _ in range(40):
        f(x)
    np.testing.assert_allclose(layer.moving_mean.numpy(), x.mean(0), rtol=1e-10)
    np.testing.assert_allclose(layer.moving_variance.numpy(), x.var(0), rtol=1e-10)
    np.testing.assert_allclose(layer(x).numpy().mean(0), 0, atol=1e-3)
    layer.trainable = False
    before = layer.moving_mean.numpy()
    layer(x + 100, training=True)
    np.testing.assert_array_equal(layer.moving_mean.numpy(), before)


def test_states_of_recurrent_layers():
    x = np.random.default_rng(0).normal(size=(2, 6, 3))
    for make in (layers.LSTM, layers.GRU, layers.SimpleRNN):
        layer = make(4, return_sequences=True, return_state=True, dtype="float64")
        outputs, *states = layer(x)
        np.testing.assert_array_equal(outputs[:, -1].numpy(), states[0].numpy())
        _, *first = layer(x[:, :3])
        again, *last = layer(x[:, 3:], initial_state=first)
        np.testing.assert_allclose(again.numpy(), outputs[:, 3:].numpy(), rtol=1e-12)
        for a, b in zip(last, states, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)
        cell = layer.cell
        output, following = cell(x[:, 0], [np.zeros((2, 4))] * cell.states)
        np.testing.assert_allclose(output.numpy(), outputs[:, 0].numpy(), rtol=1e-12)
        assert len(following) == cell.states


def test_dropout_keeps_the_mean_and_shares_masks():
    x = np.ones((200, 10, 8))
    jt.random.set_seed(0)
    layer = layers.Dropout(0.25, noise_shape=(None, 1, None))
    kept = layer(x, training=True).numpy()
    assert kept.mean() == pytest.approx(1.0, abs=0.05)
    assert np.all(kept == kept[:, :1])
    np.testing.assert_array_equal(layer(x).numpy(), x)
    for rnn in (layers.GRU(3, dropout=0.5), layers.LSTM(3, recurrent_dropout=0.5)):
        assert not np.allclose(rnn(x, training=True).numpy(), rnn(x).numpy(), rtol=1e-3)
        np.testing.assert_allclose(rnn(x).numpy(), rnn(x, training=False).numpy(), rtol=1e-5)


def test_integers_are_cast_to_the_dtype_of_the_layer():
    pixels = np.arange(32, dtype=np.uint8).reshape(1, 4, 4, 2)
    for layer in (
        layers.Dense(2),
        layers.Conv2D(2, 3),
        layers.BatchNormalization(),
        layers.LayerNormalization(),
    ):
        result = layer(pixels)
        assert result.dtype == jt.float32
        np.testing.assert_array_equal(result.numpy(), layer(pixels.astype("float32")).numpy())


@pytest.mark.parametrize(
    "make",
    [
        lambda: layers.Dropout(0.5, seed=3),
        lambda: layers.GaussianNoise(1.0, seed=3),
        lambda: layers.GRU(3, dropout=0.5, kernel_initializer="ones", recurrent_initializer="ones", seed=3),
    ],
)
def test_a_seed_determines_a_sequence_of_masks(make):
    x = np.linspace(1.0, 2.0, 60).reshape(2, 5, 6)
    layer, again = make(), make()
    first, second = (layer(x, training=True).numpy() for _ in range(2))
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(again(x, training=True).numpy(), first)
    step = jt.function(lambda x: again(x, training=True))
    np.testing.assert_array_equal(step(x).numpy(), second)
    assert not np.array_equal(step(x).numpy(), second)
    assert [w.shape for w in layer.get_weights()] == [w.shape for w in layer.trainable_weights]


def test_weights_are_in_the_order_of_keras():
    class Net(jt.keras.Model):
        def __init__(self):
            super().__init__()
            self.second, self.first = layers.Dense(2), layers.Dense(3)
            self.norm = layers.BatchNormalization()

        def build(self, shape):
            self.frozen = self.add_weight((1,), trainable=False)
            self.scale = self.add_weight((5,))

        def call(self, x):
            return self.second(self.norm(self.first(x)))

    net = Net()
    net(np.ones((2, 4), np.float32))
    shapes = [tuple(w.shape) for w in net.weights]
    assert shapes == [(5,), (1,), (3, 2), (2,), (4, 3), (3,), (3,), (3,), (3,), (3,)]
    assert [w.shape for w in net.get_weights()] == shapes
    assert [tuple(w.shape) for w in net.trainable_weights] == [(5,), (3, 2), (2,), (4, 3), (3,), (3,), (3,)]
    assert [tuple(w.shape) for w in net.non_trainable_weights] == [(1,), (3,), (3,)]
    assert net.count_params() == 5 + 1 + 8 + 15 + 12


def test_stateful_layers_continue():
    x = np.random.default_rng(0).normal(size=(2, 6, 3))
    whole = layers.LSTM(4, return_sequences=True, dtype="float64")
    expected = whole(x).numpy()
    layer = layers.LSTM(4, return_sequences=True, stateful=True, dtype="float64")
    call = jt.function(lambda x: layer(x))
    call(x[:, :3])
    assert len(layer.variables) == 3  # the states are no weights, as in Keras
    layer.set_weights(whole.get_weights())
    layer.reset_states()
    np.testing.assert_allclose(call(x[:, :3]).numpy(), expected[:, :3], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(call(x[:, 3:]).numpy(), expected[:, 3:], rtol=1e-12, atol=1e-15)
    with pytest.raises(ValueError, match="keeps states of a batch of 2, got a batch of 1"):
        layer(x[:1])
    layer.reset_states()
    np.testing.assert_allclose(layer(x[:, :3]).numpy(), expected[:, :3], rtol=1e-12)


def test_masks_of_attention():
    q, v = (np.random.default_rng(i).normal(size=(2, n, 4)) for i, n in enumerate((3, 5)))
    seen = np.array([[True, True, False, True, False]] * 2)
    _, weights = layers.Attention(dtype="float64")([q, v], mask=[None, seen], return_attention_scores=True)
    assert np.all(weights.numpy()[:, :, ~seen[0]] == 0)
    np.testing.assert_allclose(weights.numpy().sum(-1), 1)
    layer = layers.MultiHeadAttention(2, 3, dtype="float64")
    result, weights = layer(q, v, attention_mask=np.repeat(seen[:, None], 3, 1), return_attention_scores=True)
    assert weights.shape == (2, 2, 3, 5)
    assert np.all(weights.numpy()[..., ~seen[0]] == 0)
    np.testing.assert_allclose(layer(q, v[:, seen[0]]).numpy(), result.numpy(), rtol=1e-12)


def test_attention_masks_of_each_head():
    q, v = (np.random.default_rng(i).normal(size=(2, n, 4)) for i, n in enumerate((3, 5)))
    layer = layers.MultiHeadAttention(2, 3, dtype="float64")
    seen = np.random.default_rng(2).random((2, 2, 3, 5)) < 0.6
    seen[..., 0] = True
    _, weights = layer(q, v, attention_mask=seen, return_attention_scores=True)
    assert np.all((weights.numpy() > 0) == seen)
    for mask in (seen[:, :1], seen[:1, :, :1], seen[0, 0], seen[0, 0, 0]):
        _, weights = layer(q, v, attention_mask=mask, return_attention_scores=True)
        assert np.all((weights.numpy() > 0) == np.broadcast_to(mask, (2, 2, 3, 5)))
    alive = np.array([[True, True, False, True, False]] * 2)
    _, weights = layer(
        q, v, attention_mask=seen, value_mask=alive, use_causal_mask=True, return_attention_scores=True
    )
    earlier = np.tril(np.ones((3, 5), bool))
    assert np.all((weights.numpy() > 0) == (seen & alive[:, None, None] & earlier))
    with pytest.raises(ValueError, match=r"\[MultiHeadAttention\] shapes \(2, 3, 3, 5\)"):
        layer(q, v, attention_mask=np.ones((2, 3, 3, 5), bool))


def test_an_input_builds_the_network_at_once():
    net = jt.keras.Sequential(
        [
            layers.Input((6, 6, 1)),
            layers.Conv2D(4, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
        ]
    )
    net.add(layers.Dense(3))
    assert [tuple(w.shape) for w in net.weights] == [(3, 3, 1, 4), (4,), (16, 3), (3,)]
    assert net(np.ones((2, 6, 6, 1))).shape == (2, 3)
    with pytest.raises(ValueError, match=r"takes inputs of shape \('batch', 6, 6, 1\)"):
        net(np.ones((2, 5, 6, 1)))


def test_a_convolutional_network_learns():
    jt.random.set_seed(0)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(64, 6, 6, 1)).astype("float32")
    y = (x[:, :3].sum((1, 2, 3)) > x[:, 3:].sum((1, 2, 3))).astype(int)
    net = jt.keras.Sequential(
        [
            layers.Conv2D(8, 3, activation="relu"),
            layers.BatchNormalization(),
            layers.Flatten(),
            layers.Dense(2),
        ]
    )
    optimizer = jt.keras.optimizers.Adam(0.01)

    @jt.function
    def step(x, y):
        with jt.GradientTape() as tape:
            losses = jt.nn.sparse_softmax_cross_entropy_with_logits(y, net(x, training=True))
            loss = jt.reduce_mean(losses)
        optimizer.apply_gradients(
            zip(tape.gradient(loss, net.trainable_weights), net.trainable_weights, strict=True)
        )
        return loss

    losses = [float(step(x, y)) for _ in range(60)]
    assert losses[-1] < 0.1 < losses[0]


# ---- bad input -------------------------------------------------------------------------------------------------------

IMAGE = np.ones((1, 4, 4, 2))


def later(layer, first, second):
    """Build a layer by its first call and call it with other inputs."""
    layer(first)
    return layer(second)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: layers.Conv2D(0, 3), ValueError, "filters must be positive"),
        (lambda: layers.Conv2D(3, 3, groups=2), ValueError, "multiple of groups"),
        (
            lambda: layers.Conv2D(4, 3, groups=4)(IMAGE),
            ValueError,
            "4 groups, which do not divide 2 channels",
        ),
        (lambda: layers.Conv2D(4, 3)(IMAGE[0]), ValueError, "takes inputs with 4 dimensions"),
        (lambda: layers.Conv2D(4, 3, data_format="NHWC"), ValueError, "channels_last or channels_first"),
        (lambda: layers.Conv2D(4, 5)(IMAGE), ValueError, "window of 5 elements"),
        (lambda: layers.Conv2DTranspose(2, 3, groups=2)(IMAGE), ValueError, "no groups"),
        (lambda: layers.SeparableConv2D(0, 3), ValueError, "filters must be positive"),
        (
            lambda: layers.DepthwiseConv2D(3, depth_multiplier=0),
            ValueError,
            "depth_multiplier must be positive",
        ),
        (lambda: layers.MaxPooling2D()(IMAGE[0]), ValueError, "takes inputs with 4 dimensions"),
        (lambda: layers.GlobalMaxPooling1D()(IMAGE), ValueError, "takes inputs with 3 dimensions"),
        (lambda: layers.Embedding(0, 2), ValueError, "must be positive"),
        (lambda: layers.Embedding(3, 2)([0.5]).numpy(), IndexError, "out of bounds"),
        (lambda: layers.Embedding(3, 2)([True]), TypeError, "takes integers"),
        (lambda: layers.Embedding(3, 2)([3]).numpy(), IndexError, "3"),
        (lambda: layers.Dropout(1.0), ValueError, "rate"),
        (lambda: layers.BatchNormalization(axis=4)(IMAGE), ValueError, "axis 4 does not exist"),
        (lambda: layers.GroupNormalization(3)(IMAGE), ValueError, "3 groups, which do not divide 2 channels"),
        (
            lambda: layers.LSTM(3, implementation=2),
            TypeError,
            "no argument 'implementation'; it has units",
        ),
        (lambda: layers.Dense(3, activaton="relu"), TypeError, "did you mean 'activation'"),
        (lambda: layers.Conv1D(2, 3, padding="casual"), ValueError, "'SAME', 'VALID' or a list of pairs"),
        (lambda: layers.Conv2DTranspose(2, 3, 2, output_padding=2), ValueError, "less than strides, got 2"),
        (
            lambda: layers.Conv2DTranspose(2, 3, 2, output_padding=-1),
            ValueError,
            "ints of at least 0, got -1",
        ),
        (lambda: layers.Attention(score_mode="cosine"), ValueError, "must be 'dot' or 'concat'"),
        (
            lambda: layers.BatchNormalization()(IMAGE, training=True, mask=np.ones((1, 4))),
            ValueError,
            r"a mask of shape \(1, 4, 4\), got \(1, 4\)",
        ),
        (lambda: layers.Dropout(0.5, noise_shape=(1,))(IMAGE, training=True), ValueError, "4 dimensions"),
        (lambda: layers.Conv2D(2, None), ValueError, "kernel_size must be ints of at least 1, got None"),
        (lambda: layers.MaxPooling2D(None), ValueError, "pool_size must be ints of at least 1, got None"),
        (lambda: layers.Dense(2)(None), ValueError, "layer .dense(_[0-9]+)?. was given None"),
        (lambda: layers.Dense(2, kernel_initializer="zeross"), ValueError, "no initializer 'zeross'"),
        (lambda: layers.Dense(2, bias_constraint=3), TypeError, "constraint must be a function"),
        (lambda: layers.Embedding(3, 2)([-1]).numpy(), IndexError, r"^\[Embedding\] ids .* got -1:"),
        (lambda: layers.Flatten(shape=3), TypeError, r"\[Flatten\] there is no argument 'shape'"),
        (lambda: layers.LSTM(0), ValueError, r"\[LSTMCell\] units must be positive"),
        (
            lambda: layers.GRUCell(2, dropout=1.5),
            ValueError,
            "GRUCell: `dropout` must be at least 0 and below 1, got 1.5",
        ),
        (
            lambda: layers.MultiHeadAttention(1, 2, attention_axes=(0,))(IMAGE, IMAGE),
            ValueError,
            r"attention_axes must be different axes between the first and the last",
        ),
        (
            lambda: layers.MultiHeadAttention(1, 2)(IMAGE, IMAGE, use_causal_mask=True),
            ValueError,
            r"takes masks for inputs of shape \(batch, length, features\) only",
        ),
        (lambda: layers.LSTM(2)(IMAGE), ValueError, r"inputs of shape \(batch, time, features\)"),
        (
            lambda: later(layers.LSTM(2), IMAGE[0], IMAGE),
            ValueError,
            r"inputs of shape \(batch, time, features\)",
        ),
        (
            lambda: later(layers.BatchNormalization(), IMAGE, IMAGE[..., :1]),
            ValueError,
            "extent 2 along axis -1",
        ),
        (
            lambda: layers.Dropout(0.5)(np.arange(3), training=True),
            TypeError,
            "floating-point inputs, got int64",
        ),
        (lambda: jt.keras.initializers.TruncatedNormal(stddev=-1.0), ValueError, "TruncatedNormal: `stddev`"),
        (lambda: layers.LSTM(2)(IMAGE[0, :, :0]), ValueError, "at least one step"),
        (
            lambda: layers.LSTM(2)(IMAGE[0], initial_state=[np.ones((4, 2))]),
            ValueError,
            "takes 2 states, got 1",
        ),
        (lambda: layers.RNN(layers.Dense(2)), TypeError, "cell must be"),
        (lambda: layers.Attention()(IMAGE[0]), ValueError, "list of queries, values"),
        (lambda: layers.MultiHeadAttention(0, 1), ValueError, "must be positive"),
        (
            lambda: layers.MultiHeadAttention(1, 1)(IMAGE[0, 0], IMAGE[0, 0]),
            ValueError,
            r"\(batch, length, features\)",
        ),
        (lambda: layers.Input((-1, 3)), ValueError, "list of ints"),
        (lambda: layers.Flatten()(1.0), ValueError, "batch dimension"),
        (lambda: layers.Reshape([1])(1.0), ValueError, "batch dimension"),
        (
            lambda: layers.Reshape(3),
            TypeError,
            r"\[Reshape\] target_shape must be a tuple or list of ints, got 3",
        ),
        (
            lambda: jt.keras.metrics.SparseCategoricalAccuracy().update_state(1, 1.0),
            ValueError,
            r"\[SparseCategoricalAccuracy\] y_pred must have a last dimension of classes, got a scalar",
        ),
        (lambda: layers.Activation("relux"), ValueError, "Unknown activation"),
        (
            lambda: jt.keras.activations.elu([1.0, 2.0], np.ones(2)),
            ValueError,
            r"\[elu\] alpha must be a number",
        ),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


# ---- building --------------------------------------------------------------------------------------------------------


def test_a_call_keeps_the_weights_of_a_layer_that_was_built():
    layer = layers.Dense(2)
    layer.build((None, 3))
    layer.set_weights([np.ones((3, 2)), np.array([0.5, -0.5])])
    np.testing.assert_array_equal(layer(np.ones((1, 3))).numpy(), [[3.5, 2.5]])

    class Scale(layers.Layer):
        def build(self, input_shape):
            self.factor = self.add_weight((input_shape[-1],), "ones")

        def call(self, inputs):
            return inputs * self.factor

    scale = Scale()
    scale.build((None, 2))
    scale.factor.assign([2.0, 3.0])
    np.testing.assert_array_equal(scale([[1.0, 1.0]]).numpy(), [[2.0, 3.0]])


def test_a_sequential_model_is_built_for_a_shape():
    net = jt.keras.Sequential([layers.Dense(4), layers.Dropout(0.5), layers.Dense(1)])
    net.build((None, 3))
    before = net.get_weights()
    assert net.count_params() == 3 * 4 + 4 + 4 + 1
    net(np.ones((2, 3)))
    for old, new in zip(before, net.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


def test_an_input_is_not_among_the_layers():
    net = jt.keras.Sequential([layers.Input((5,)), layers.Dense(2)])
    assert [type(layer).__name__ for layer in net.layers] == ["Dense"]
    with pytest.raises(ValueError, match="layer .input"):
        net(np.ones((2, 4)))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("make", [lambda: layers.GRU(4), lambda: layers.LSTM(4), lambda: layers.Dense(4)])
def test_a_layer_is_built_by_the_first_call_of_a_function(make):
    layer = make()
    f = jt.function(lambda x: jt.reduce_sum(layer(x)))
    x = np.random.default_rng(0).normal(size=(2, 3, 5)).astype(np.float32)
    found = [float(f(x)) for _ in range(3)]
    np.testing.assert_allclose(
        found, float(jt.reduce_sum(layer(x))), rtol=1e-5, atol=1e-6
    )  # it nearly cancels
    assert f.trace_count == 1


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (layers.LeakyReLU(0.2), [-0.4, -0.1, 0.0, 1.0, 7.0]),
        (layers.ReLU(), [0.0, 0.0, 0.0, 1.0, 7.0]),
        (layers.ReLU(max_value=6.0, negative_slope=0.1, threshold=1.0), [-0.3, -0.15, -0.1, 0.0, 6.0]),
        (layers.Softmax(), np.exp([-2.0, -0.5, 0.0, 1.0, 7.0]) / np.exp([-2.0, -0.5, 0.0, 1.0, 7.0]).sum()),
    ],
)
def test_activations_with_arguments(layer, expected):
    found = layer([-2.0, -0.5, 0.0, 1.0, 7.0])
    np.testing.assert_allclose(found.numpy(), np.float32(expected), rtol=1e-6, atol=1e-7)
    assert float(layers.ReLU()([-np.inf])[0]) == 0.0
    assert np.isnan(layers.ReLU()([np.nan]).numpy()[0])


def test_layers_that_combine_inputs():
    a, b, c = np.random.default_rng(0).normal(size=(3, 4, 2)).astype("float32")
    for layer, expected in [
        (layers.Add(), a + b + c),
        (layers.Multiply(), a * b * c),
        (layers.Average(), (a + b + c) / 3),
        (layers.Maximum(), np.maximum(np.maximum(a, b), c)),
        (layers.Minimum(), np.minimum(np.minimum(a, b), c)),
    ]:
        np.testing.assert_allclose(layer([a, b, c]).numpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(layers.Subtract()([a, b]).numpy(), a - b)
    with pytest.raises(ValueError, match="takes a list of at least two inputs"):
        layers.Add()(a)
    with pytest.raises(ValueError, match="takes a list of two inputs, got "):
        layers.Subtract()([a, b, c])
    with pytest.raises(ValueError, match="takes a list of two inputs, got <jt.Tensor"):
        layers.Subtract()(3.0)


def test_the_configuration_of_a_layer():
    class Linear(layers.Layer):
        def __init__(self, units=4, **options):
            super().__init__(**options)
            self.units = units

        def get_config(self):
            return {**super().get_config(), "units": self.units}

    config = Linear(7, name="first", trainable=False).get_config()
    assert config == {"name": "first", "trainable": False, "dtype": "float32", "units": 7}
    assert Linear.from_config(config).units == 7
    del Linear.get_config
    with pytest.raises(NotImplementedError, match=r"Linear was created by passing .* Define get_config"):
        Linear(np.ones(7)).get_config()


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("make", [layers.SimpleRNN, layers.LSTM, layers.GRU])
def test_recurrent_layers_skip_masked_steps(make, backwards):
    """A row with a mask gives the outputs of the sequence of its other steps, the last one repeated."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(3, 5, 4)).astype("float32")
    mask = np.array([[1, 1, 1, 0, 0], [0, 1, 1, 0, 1], [0, 0, 0, 0, 0]], bool)
    layer = make(2, return_sequences=True, return_state=True, go_backwards=backwards)
    found, *states = layer(x, mask=mask)
    for row, seen, output, *last in zip(x, mask, found.numpy(), *states, strict=True):
        expected = np.zeros((5, 2), "float32")
        if seen.any():
            alone, *of_alone = layer(row[seen][None])
            order = seen[::-1] if backwards else seen
            counts = np.cumsum(order)
            expected[counts > 0] = alone.numpy()[0][counts[counts > 0] - 1]
            for one, other in zip(last, of_alone, strict=True):
                np.testing.assert_allclose(one.numpy(), other.numpy()[0], rtol=1e-5)
        np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-7)
    layer.return_sequences = layer.return_state = False
    np.testing.assert_allclose(layer(x, mask=mask).numpy(), found.numpy()[:, -1], rtol=1e-6)
    with pytest.raises(ValueError, match=r"mask of shape \(3, 5\), got \(5, 3\)"):
        layer(x, mask=mask.T)


def test_the_first_layer_may_say_the_shape_of_the_inputs():
    """As in books for older versions of Keras."""
    model = jt.keras.Sequential([layers.Flatten(input_shape=[2, 3]), layers.Dense(4), layers.Dense(1)])
    assert model.count_params() == 6 * 4 + 4 + 4 + 1
    assert model(np.ones((5, 2, 3))).shape == (5, 1)


def test_the_cosine_of_short_vectors():
    cosine = jt.keras.losses.cosine_similarity([[3e-7, 0.0], [0.0, 0.0]], [[2e-7, 0.0], [1.0, 0.0]])
    np.testing.assert_allclose(cosine.numpy(), [-1.0, 0.0], rtol=1e-6)


@pytest.mark.parametrize("output_size", [None, 5, [2, 3]])
def test_the_output_of_an_own_cell_has_any_length(output_size):
    class Two(layers.Layer):
        state_size = (2, 3)

        def call(self, inputs, states):
            following = [states[0] + inputs[:, :2], states[1] + inputs[:, 2:]]
            return jt.concat(following, -1), following

    cell = Two()
    if output_size is not None:
        cell.output_size = output_size
    x = np.arange(60.0).reshape(3, 4, 5)
    layer = layers.RNN(cell, return_state=True, dtype="float64")
    for _ in range(2):
        result, *states = layer(x)
        np.testing.assert_array_equal(result, x.sum(1))
        np.testing.assert_array_equal(states[1], x.sum(1)[:, 2:])


def test_attributes_have_the_values_of_the_arguments():
    conv = layers.Conv2D(4, 3, padding="SAME", data_format="channels_first", kernel_regularizer="l2")
    assert (conv.padding, conv.data_format, conv.activation) == (
        "same",
        "channels_first",
        jt.keras.activations.linear,
    )
    assert (type(conv.kernel_regularizer).__name__, conv.bias_regularizer) == ("L2", None)
    assert (layers.MaxPooling1D(2).padding, layers.Flatten().data_format) == ("valid", "channels_last")
    assert layers.Conv1D(2, 3, padding="causal").padding == "causal"
    lstm = layers.LSTM(
        3, kernel_initializer="he_normal", unit_forget_bias=False, recurrent_constraint="non_neg"
    )
    assert type(lstm.kernel_initializer).__name__ == "HeNormal"
    assert (lstm.activation, lstm.unit_forget_bias, lstm.use_bias) == (jt.keras.activations.tanh, False, True)
    assert type(lstm.recurrent_constraint).__name__ == "NonNeg"
    assert (layers.GRU(3).reset_after, layers.SimpleRNN(2).use_bias) == (True, True)
    names = [
        (layers.Embedding(3, 2, "ones"), "embeddings_initializer", "Ones"),
        (layers.LayerNormalization(beta_initializer="ones"), "beta_initializer", "Ones"),
        (layers.SeparableConv1D(3, 2), "pointwise_initializer", "GlorotUniform"),
        (layers.DepthwiseConv1D(2, depthwise_initializer="zeros"), "depthwise_initializer", "Zeros"),
    ]
    for layer, name, kind in names:
        assert type(getattr(layer, name)).__name__ == kind
    assert jt.keras.Sequential([layers.Input((3,)), layers.Dense(2)]).built
    with pytest.raises(AttributeError, match="has no setter"):
        conv.kernel_regularizer = "l1"


def test_embedding_takes_whole_numbers_that_are_floats_as_keras_does():
    layer = layers.Embedding(5, 3)
    tokens = np.array([[0, 4], [2, 1]])
    expected = layer(tokens).numpy()
    call = jt.function(lambda x: layer(x))
    for dtype in ("float32", "float64"):
        for _ in range(2):
            np.testing.assert_array_equal(layer(tokens.astype(dtype)), expected)
            np.testing.assert_array_equal(call(tokens.astype(dtype)), expected)
    for wrong in (0.5, 5.0, np.nan):
        with pytest.raises(IndexError):
            call(np.array([[wrong, 0.0]], "float32")).numpy()
