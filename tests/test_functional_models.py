"""Models between symbolic tensors: values, shapes, training, open lengths, errors."""

import pickle
import re

import numpy as np
import pytest

import jittape as jt

keras = jt.keras
layers = keras.layers
rng = np.random.default_rng(0)


def numbers(*shape):
    return rng.normal(size=shape).astype("float32")


def wide_and_deep():
    inputs = keras.Input((4,), name="x")
    hidden = layers.Dense(5, "relu", name="hidden")(inputs)
    joined = layers.concatenate([inputs, layers.Dense(3, "tanh")(hidden)])
    return keras.Model(inputs=[inputs], outputs=[layers.Dense(1)(joined)], name="wide")


@pytest.mark.parametrize("decorated", [False, True])
def test_a_graph_computes_what_its_layers_compute(decorated):
    model = wide_and_deep()
    _, hidden, second, merge, last = model.layers
    x = numbers(6, 4)
    run = jt.function(model) if decorated else model
    for _ in range(3):
        np.testing.assert_allclose(run(x), last(merge([x, second(hidden(x))])), rtol=1e-4, atol=1e-6)
    assert (model.input_shape, model.output_shape, model.count_params()) == ((None, 4), (None, 1), 51)
    assert model.get_layer("hidden") is hidden
    features = keras.Model(model.input, hidden.output)
    np.testing.assert_allclose(features(x), hidden(x), rtol=1e-6)


def test_a_graph_is_trained_saved_and_pickled(tmp_path):
    model = wide_and_deep()
    model.compile(keras.optimizers.Adam(0.05), "mse")
    x = numbers(64, 4)
    losses = model.fit(x, x.sum(1, keepdims=True), epochs=15, verbose=0).history["loss"]
    assert losses[-1] < losses[0] / 5
    model.save_weights(tmp_path / "wide.npz")
    other = wide_and_deep()
    other.load_weights(tmp_path / "wide.npz")
    for copy in (other, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copy(x), model(x))


def test_lists_may_change_after_a_call():
    """The blocks of a DenseNet append to the list that they concatenate."""
    inputs = keras.Input((4,))
    parts = [inputs]
    for _ in range(3):
        parts.append(layers.Dense(2)(layers.Concatenate()(parts)))
    outputs = [parts[-1]]
    model = keras.Model(parts[:1], outputs)
    parts.clear()
    outputs.append(inputs)
    dense = [layer for layer in model.layers if isinstance(layer, layers.Dense)]
    assert [layer.kernel.shape[0] for layer in dense] == [4, 6, 8]
    x = numbers(3, 4)
    joined = x
    for layer in dense:
        last = joined @ layer.kernel.numpy() + layer.bias.numpy()
        joined = np.concatenate([joined, last], 1)
    np.testing.assert_allclose(model(x).numpy(), last, rtol=1e-5)


def test_operators_and_shared_layers():
    shared = layers.Dense(2, use_bias=False)
    a, b = keras.Input((3,), name="a"), keras.Input((3,), name="b")
    y = 1.0 - 2.0 * (shared(a) - shared(b)) ** 2 / 4.0
    model = keras.Model([a, b], {"whole": y, "part": -y[:, :1]})
    u, v = numbers(5, 3), numbers(5, 3)
    expected = 1.0 - 2.0 * ((u - v) @ shared.kernel.numpy()) ** 2 / 4.0
    for inputs in ([u, v], (u, v), {"b": v, "a": u}):
        found = model(inputs)
        np.testing.assert_allclose(found["whole"], expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found["part"], -expected[:, :1], rtol=1e-5, atol=1e-6)
    assert len(model.trainable_weights) == 1


@pytest.mark.parametrize("kind", [list, tuple, dict])
def test_fit_takes_several_inputs(kind):
    a, b = keras.Input((3,), name="a"), keras.Input((2,), name="b")
    model = keras.Model([a, b], layers.Dense(1)(layers.concatenate([a, b])))
    model.compile("sgd", "mse")
    x = [numbers(8, 3), numbers(8, 2)]
    given = dict(zip("ab", x, strict=True)) if kind is dict else kind(x)
    assert np.isfinite(model.fit(given, numbers(8, 1), verbose=0).history["loss"]).all()
    np.testing.assert_allclose(model.predict(given, verbose=0), model(x), rtol=1e-6, atol=1e-6)


def test_open_lengths():
    codes = keras.Input((None,))
    outputs, state = layers.GRU(4, return_sequences=True, return_state=True)(layers.Embedding(7, 3)(codes))
    model = keras.Model(codes, [outputs, state])
    assert model.output_shape == [(None, None, 4), (None, 4)]
    line = keras.Sequential([keras.Input((None,)), layers.Embedding(7, 3), layers.LSTM(4)])
    assert (line.input_shape, line.output_shape) == ((None, None), (None, 4))
    for length in (3, 8):
        x = rng.integers(7, size=(2, length))
        assert [part.shape for part in model(x)] == [(2, length, 4), (2, 4)]
        assert line(x).shape == (2, 4)


def test_a_subclass_with_its_own_step_and_a_model_as_a_layer():
    class Own(keras.Model):
        def train_step(self, data):
            x, y = data
            with jt.GradientTape() as tape:
                loss = jt.reduce_mean((self(x, training=True) - y) ** 2)
            variables = self.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
            return {"own": loss}

    inputs = keras.Input((4,))
    model = Own(inputs, wide_and_deep()(layers.Dropout(0.5)(inputs)))
    model.compile("sgd")
    assert list(model.fit(numbers(8, 4), numbers(8, 1), verbose=0).history) == ["own"]


def test_examples_change_no_moving_averages():
    norm = layers.BatchNormalization()
    keras.Model(x := keras.Input((3,)), norm(x, training=True))
    np.testing.assert_array_equal(norm.moving_variance, np.ones(3))


INPUT = keras.Input((4,), name="seen")


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: keras.Model(INPUT, 3),
            TypeError,
            "[Model] outputs must be a jt.keras.Input or the output of a layer",
        ),
        (lambda: keras.Model(np.ones(3), INPUT), TypeError, "[Model] inputs must be"),
        (lambda: keras.Model([], INPUT), TypeError, "[Model] inputs must be"),
        (lambda: keras.Model(inputs=INPUT), TypeError, "[Model] give both inputs and outputs"),
        (
            lambda: keras.Model(keras.Input((2,)), layers.Dense(1)(INPUT)),
            ValueError,
            "which is none of the inputs: add it to inputs",
        ),
        (lambda: jt.reduce_sum(layers.Dense(1)(INPUT)), RuntimeError, "jt.keras.layers.Lambda(function)"),
        (
            lambda: wide_and_deep()(np.ones((2, 3))),
            ValueError,
            "takes inputs of shape ('batch', 4), got shape (2, 3)",
        ),
        (
            lambda: keras.Model([INPUT, x := keras.Input((2,), name="b")], x)([np.ones((1, 4))]),
            ValueError,
            "takes 2 inputs, 'seen', 'b', got 1 of them",
        ),
        (lambda: layers.Conv2D(2, 3)(INPUT), ValueError, "takes inputs with 4 dimensions, got shape (1, 4)"),
        (
            lambda: layers.Dense(2).output,
            AttributeError,
            "before it is called with the output of a jt.keras.Input",
        ),
        (
            lambda: keras.Sequential([layers.Dense(2)]).inputs,
            AttributeError,
            "only a Model(inputs, outputs) and",
        ),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=re.escape(text)):
        call()


def test_several_outputs_refuse_what_does_not_fit():
    layers = jt.keras.layers
    x = jt.keras.Input((4,))
    dense = layers.Dense(1, name="d")
    model = jt.keras.Model(x, [dense(x), dense(2.0 * x), layers.Dense(3, name="e")(x)])
    rows = np.ones((2, 4), np.float32)
    y = [np.ones((2, 1)), np.ones((2, 1)), np.ones((2, 3))]
    for options, text in [
        ({"loss": ["mse"]}, "loss must have one entry for each of the outputs 'd', 'd_1', 'e', got 1"),
        ({"loss": {"d": "mse"}}, r"loss must have the names of the outputs, 'd', 'd_1', 'e', got \['d'\]"),
        (
            {"loss": "mse", "loss_weights": 2.0},
            "loss_weights of a model with the outputs .* must be a list or dict",
        ),
    ]:
        with pytest.raises(ValueError, match=text):
            model.compile("sgd", **options)
    model.compile("sgd", "mse")
    assert sorted(model.fit(rows, y, verbose=0).history) == ["d_1_loss", "d_loss", "e_loss", "loss"]
    for targets, options, text in [
        (y[:1], {}, "y must be a list with one entry for each of the outputs"),
        (dict(zip(["d", "d_1"], y, strict=False)), {}, "y has no 'e', which was compiled with a loss"),
        ([y[0], y[1], y[2][:1]], {}, "got 2 of x, 1 and 2 of y"),
        (y, {"class_weight": {0: 1.0}}, "class_weight needs one output"),
    ]:
        with pytest.raises(ValueError, match=text):
            model.fit(rows, targets, verbose=0, **options)
    single = jt.keras.Sequential([layers.Dense(1)])
    single.compile("sgd", "mse")
    with pytest.raises(ValueError, match="y must be one array, as the model has one output"):
        single.fit(np.ones((6, 4)), [np.ones(6), np.ones(6)], verbose=0)


def test_a_shape_refuses_what_is_no_integer_dtype_and_no_index():
    with pytest.raises(TypeError, match=r"\[shape\] out_type must be an integer dtype, got float32"):
        jt.shape([1.0], out_type=jt.float32)
    with pytest.raises(IndexError, match=r"\[getitem\] index 5 is out of bounds for axis 0 with size 1"):
        jt.shape([1.0])[5]


def test_the_length_of_the_batch_is_shown():
    x = keras.Input(batch_shape=(16, 3, 2))
    y = layers.Reshape((6,))(x)
    model = keras.Model(x, layers.Dense(2)(y) * 2.0)
    assert (x.shape, y.shape, model.output_shape) == ((16, 3, 2), (16, 6), (16, 2))
    assert keras.Input((3,), batch_size=4).shape == (4, 3)
    assert keras.models.clone_model(model).input_shape == (16, 3, 2)
    assert model(np.ones((5, 3, 2), "float32")).shape == (5, 2)  # as in TensorFlow


class Positions(layers.Layer):
    """Adds rows of a table of positions, which is looked up, or whose first rows are taken."""

    def __init__(self, rows, is_looked_up):
        super().__init__()
        self.table = layers.Embedding(rows, 3)
        self.is_looked_up = is_looked_up

    def call(self, inputs):
        steps = jt.shape(inputs)[1]
        if self.is_looked_up:
            return inputs + self.table(jt.range(steps))
        return inputs + self.table.embeddings[:steps]


@pytest.mark.parametrize("is_looked_up", [True, False])
@pytest.mark.parametrize("rows", [6, 50, 100])
def test_a_table_of_positions_may_be_shorter_than_the_examples_of_open_lengths(rows, is_looked_up):
    tokens = keras.Input((None,), dtype="int32")
    embedded = layers.Embedding(9, 3, mask_zero=True)(tokens)
    positions = Positions(rows, is_looked_up)
    placed = positions(embedded)
    joined = layers.Concatenate()([placed, embedded])  # its first input has only the shorter examples
    model = keras.Model(tokens, [placed, layers.LSTM(2)(joined)])
    assert [x.shape for x in (placed, joined, *model.outputs)] == [
        (None, None, 3), (None, None, 6), (None, None, 3), (None, 2),
    ]  # fmt: skip
    weights = model.get_weights()  # runs what is recorded
    for length in (3, 6):
        given = np.arange(1, length + 1)[None] % 9
        expected = weights[0][given] + positions.table.embeddings.numpy()[:length]
        np.testing.assert_allclose(model(given)[0].numpy(), expected, rtol=1e-6)
    if is_looked_up:
        with pytest.raises(ValueError, match="index"):
            model(np.ones((1, rows + 1), "int32"))[0].numpy()
    else:
        with pytest.raises(ValueError, match=r"do not broadcast"):
            model(np.ones((1, rows + 1), "int32"))


def test_the_error_of_the_longer_examples_is_raised_if_no_length_fits():
    with pytest.raises(ValueError, match=r"\(1, 64, 3\) and \(1, 5, 3\) do not broadcast"):
        layers.Lambda(lambda x: x + jt.zeros((1, 5, 3)))(keras.Input((None, 3)))


def test_shapes_that_a_layer_returns_are_read_by_the_next():
    x = keras.Input((None, 2))
    length = layers.Lambda(lambda x: jt.shape(x)[1:2])(x)
    ones = layers.Lambda(lambda n: jt.ones((1, int(n[0]))))(length)
    assert ones.shape == (None, None)


@pytest.mark.parametrize(("length", "calls"), [(5, 1), (None, 2)])
def test_a_layer_is_called_once_for_known_shapes_and_twice_for_open_ones(length, calls):
    shapes = []

    def double(x):
        shapes.append(tuple(x.shape))
        return x * 2.0

    between = layers.Dense(2)(keras.Input((length, 3)))
    layers.Lambda(double)(between)
    assert len(shapes) == calls
