"""Names, paths and orders that Keras 3 gives weights, layers, logs and results."""

import pickle

import numpy as np
import pytest

import jittape as jt

keras = jt.keras
layers = keras.layers

X = np.random.default_rng(0).normal(size=(12, 4)).astype("float32")
Y = np.random.default_rng(1).integers(0, 3, 12)


@pytest.fixture(autouse=True)
def first_numbers():
    keras.utils.clear_session()


def test_weights_have_a_name_and_a_path():
    model = keras.Sequential([layers.Dense(3, name="one"), layers.Dense(2)], "net")
    model(X)
    assert [w.name for w in model.weights] == ["kernel", "bias"] * 2
    assert [w.path for w in model.weights] == [
        "net/one/kernel", "net/one/bias", "net/dense/kernel", "net/dense/bias",
    ]  # fmt: skip
    known = keras.Sequential([layers.Input((4,)), layers.Dense(3, name="one")], "known")
    assert known.weights[0].path == "known/one/kernel"
    assert "known/one/kernel" in repr(known.weights[0])
    assert pickle.loads(pickle.dumps(known)).weights[0].path == "known/one/kernel"
    lstm = layers.LSTM(2), layers.LSTM(2)
    for layer in lstm:
        layer(np.ones((1, 2, 3), "float32"))
    assert lstm[1].weights[0].path == "lstm_1/lstm_cell/kernel"
    built = layers.GRU(2, name="g")
    built.build((None, 3, 2))
    assert built.weights[0].path == "g/gru_cell/kernel"
    both = layers.Bidirectional(layers.LSTM(2, name="one"), name="both")
    both(np.ones((1, 2, 3), "float32"))
    paths = ["both/one/lstm_cell/kernel", "both/backward_one/lstm_cell/kernel"]
    assert [w.path for w in both.weights[::3]] == paths
    attention = layers.MultiHeadAttention(2, 3, name="a")
    attention(np.ones((1, 2, 4), "float32"), np.ones((1, 2, 4), "float32"))
    assert [w.name for w in attention.weights] == ["kernel", "bias"] * 4
    parts = ["query", "key", "value", "attention_output"]
    assert [w.path for w in attention.weights[::2]] == [f"a/{part}/kernel" for part in parts]
    assert [v.path for v in keras.metrics.Mean(name="m").variables] == ["m/total", "m/count"]
    assert jt.Variable(1.0, name="x").path == "x"


def test_weights_without_a_name_are_numbered():
    class Linear(layers.Layer):
        def __init__(self):
            super().__init__()
            self.w, self.b = self.add_weight(shape=(2, 2)), self.add_weight(shape=(2,))

    layer = Linear()
    assert [w.name for w in layer.weights] == ["variable", "variable_1"]
    assert [w.path for w in layer.weights] == ["linear/variable", "linear/variable_1"]
    with pytest.raises(ValueError, match="'net/one/kernel'"):  # messages name the whole path
        inner = keras.Sequential([layers.Dense(3, name="one")], "net")
        inner(X)
        keras.optimizers.SGD().apply_gradients([(jt.ones([5]), inner.weights[0])])


def test_layers_of_a_graph_are_in_keras_s_order():
    a, b, c = (layers.Input((4,), name=name) for name in "abc")
    x = layers.Dense(4, name="x")(layers.Dense(4, name="before")(a))
    y = layers.Dense(4, name="y")(b)
    joined = layers.Concatenate(name="joined")([x, y, c])
    outputs = {"two": layers.Dense(1, name="two")(joined), "one": layers.Dense(1, name="one")(joined)}
    model = keras.Model([a, b, c], outputs)
    assert [layer.name for layer in model.layers] == [
        "a",
        "before",
        "b",
        "x",
        "y",
        "c",
        "joined",
        "one",
        "two",
    ]
    assert layers.Input((2,)).name == "input_layer"
    assert layers.Input((2,)).name == "input_layer_1"
    with pytest.raises(ValueError, match="layers must have different names, and 'same'"):
        keras.Sequential([layers.Dense(2, name="same"), layers.Dense(2, name="same")])


def compiled(model):
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return model


def test_logs_are_sorted_and_results_are_not():
    model = compiled(keras.Sequential([layers.Input((4,)), layers.Dense(3)]))
    seen = []
    callback = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(list(logs)))
    history = model.fit(X, Y, validation_data=(X, Y), verbose=0, callbacks=[callback])
    assert list(history.history) == seen[0] == ["accuracy", "loss", "val_accuracy", "val_loss"]
    by_name = model.evaluate(X, Y, verbose=0, return_dict=True)
    assert list(by_name) == ["accuracy", "loss"]
    assert model.evaluate(X, Y, verbose=0) == [by_name["loss"], by_name["accuracy"]]
    assert model.test_on_batch(X, Y) == pytest.approx([by_name["loss"], by_name["accuracy"]])

    class Own(keras.Model):
        def train_step(self, data):
            return {metric.name: metric.result() for metric in self.metrics}

    x = layers.Input((4,))
    own = compiled(Own(x, layers.Dense(3)(x)))
    own.train_on_batch(X, Y)
    assert list(own.fit(X, Y, verbose=0).history)[-1] == "loss"


def test_errors_are_those_of_keras():
    class Forgetful(layers.Layer):
        def __init__(self):
            self.units = 3

        def call(self, x):
            return x

    with pytest.raises(RuntimeError, match=r"Forgetful must call super\(\).__init__\(\)"):
        Forgetful()(jt.ones([2]))
    with pytest.raises(ValueError, match="must be compiled before evaluate"):
        keras.Sequential([layers.Dense(1)]).evaluate(X, Y)
