"""Configs of layers, losses, metrics and models: plain values from which the same objects can be made."""

import copy
import json
import pickle

import numpy as np
import pytest

import jittape as jt
from processes import run_python

keras = jt.keras
layers = keras.layers

X = np.random.default_rng(0).normal(size=(4, 6)).astype("float32")
SEQUENCES = np.random.default_rng(1).normal(size=(2, 5, 3)).astype("float32")
IMAGES = np.random.default_rng(2).normal(size=(2, 6, 6, 3)).astype("float32")
VOLUMES = np.random.default_rng(3).normal(size=(1, 4, 4, 4, 2)).astype("float32")

MADE = [
    (lambda: layers.Dense(3, "relu", kernel_regularizer="l2", bias_constraint="non_neg"), X),
    (lambda: layers.Dense(2, activity_regularizer=keras.regularizers.L1(0.5), use_bias=False), X),
    (lambda: layers.Activation("tanh"), X),
    (lambda: layers.BatchNormalization(momentum=0.5, moving_mean_initializer="ones"), X),
    (lambda: layers.LayerNormalization(epsilon=0.5), X),
    (lambda: layers.Dropout(0.25, seed=3), X),
    (lambda: layers.LeakyReLU(negative_slope=0.5), X),
    (lambda: layers.PReLU(alpha_initializer=keras.initializers.Constant(0.25)), X),
    (lambda: layers.Reshape((2, 3)), X),
    (lambda: layers.Rescaling(2.0, offset=1.0), X),
    (lambda: layers.Lambda(keras.activations.gelu), X),
    (lambda: layers.Embedding(10, 3, mask_zero=True), np.array([[1, 2], [3, 0]])),
    (lambda: layers.LSTM(4, return_sequences=True, unit_forget_bias=True, dropout=0.1), SEQUENCES),
    (lambda: layers.GRU(4, reset_after=False, go_backwards=True), SEQUENCES),
    (lambda: layers.SimpleRNN(4, activation="relu", recurrent_initializer="identity"), SEQUENCES),
    (lambda: layers.RNN([layers.LSTMCell(3), layers.GRUCell(2)]), SEQUENCES),
    (lambda: layers.Bidirectional(layers.GRU(2), merge_mode="sum"), SEQUENCES),
    (lambda: layers.TimeDistributed(layers.Dense(2)), SEQUENCES),
    (lambda: layers.Conv1D(2, 3, padding="causal", dilation_rate=2), SEQUENCES),
    (lambda: layers.Conv2D(2, (3, 2), strides=2, activation="relu"), IMAGES),
    (lambda: layers.Conv2DTranspose(2, 3, strides=2, padding="same"), IMAGES),
    (lambda: layers.DepthwiseConv2D(3, depth_multiplier=2, depthwise_initializer="ones"), IMAGES),
    (lambda: layers.SeparableConv2D(2, 3, pointwise_regularizer="l1"), IMAGES),
    (lambda: layers.Conv3D(2, 2), VOLUMES),
    (lambda: layers.MaxPooling2D((2, 3), strides=1), IMAGES),
    (lambda: layers.GlobalAveragePooling2D(keepdims=True), IMAGES),
    (lambda: layers.ZeroPadding2D(((1, 2), (0, 1))), IMAGES),
    (lambda: layers.ZeroPadding1D((1, 2)), SEQUENCES),
    (lambda: layers.Cropping1D(1), SEQUENCES),
    (lambda: layers.UpSampling2D((2, 1)), IMAGES),
    (lambda: layers.SpatialDropout2D(0.5), IMAGES),
    (lambda: layers.GroupNormalization(3), IMAGES),
]


def unbuilt(config):
    """Return a config without the shapes that layers were built for."""
    if isinstance(config, dict):
        return {name: unbuilt(value) for name, value in config.items() if name != "build_config"}
    return [unbuilt(part) for part in config] if isinstance(config, (list, tuple)) else config


@pytest.mark.parametrize(("make", "x"), MADE)
def test_a_layer_is_made_anew_from_its_config(make, x):
    layer = make()
    result = np.asarray(layer(x))
    stored = json.loads(json.dumps(layers.serialize(layer)))
    again = layers.deserialize(stored)
    assert type(again) is type(layer)
    assert again.name == layer.name
    assert unbuilt(again.get_config()) == unbuilt(layer.get_config())
    again(x)
    again.set_weights(layer.get_weights())
    np.testing.assert_array_equal(np.asarray(again(x)), result)
    again = type(layer).from_config(layer.get_config())
    assert unbuilt(again.get_config()) == unbuilt(stored["config"])


def test_values_are_those_of_keras():
    config = layers.Dense(3, jt.nn.relu, kernel_regularizer="l2", name="first").get_config()
    assert list(config) == [
        "name", "trainable", "dtype", "units", "activation", "use_bias", "kernel_initializer", "bias_initializer",
        "kernel_regularizer", "bias_regularizer", "kernel_constraint", "bias_constraint",
    ]  # fmt: skip
    assert config["activation"] == "relu"
    assert config["kernel_regularizer"] == {
        "module": "keras.regularizers", "class_name": "L2", "config": {"l2": 0.01}, "registered_name": None,
    }  # fmt: skip
    assert layers.LSTM(3).get_config()["units"] == 3
    assert layers.LSTM(3).get_config()["bias_initializer"]["class_name"] == "Zeros"
    assert "cell" not in layers.LSTM(3).get_config()
    frozen = layers.Dense(3)
    frozen.trainable = False
    assert layers.Dense.from_config(frozen.get_config()).trainable is False


@pytest.mark.parametrize(
    "make",
    [
        lambda: keras.losses.Huber(0.5, name="h"),
        lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum"),
        lambda: keras.losses.BinaryCrossentropy(label_smoothing=0.25),
        lambda: keras.metrics.AUC(num_thresholds=5, curve="PR"),
        lambda: keras.metrics.Mean(name="loss"),
        lambda: keras.metrics.SparseTopKCategoricalAccuracy(3),
        lambda: keras.metrics.Precision(thresholds=[0.25, 0.5], class_id=1),
        lambda: keras.metrics.MeanIoU(4, sparse_y_pred=False),
        lambda: keras.metrics.MeanMetricWrapper(keras.losses.mean_squared_error, name="m"),
        lambda: keras.initializers.VarianceScaling(2.0, "fan_avg", "uniform", seed=4),
        lambda: keras.initializers.Constant(2.5),
        lambda: keras.initializers.Constant(np.arange(3.0)),
        lambda: keras.regularizers.L1L2(0.25, 0.5),
        lambda: keras.constraints.MinMaxNorm(0.5, 1.5, rate=0.5),
        lambda: keras.optimizers.Adam(0.01, beta_1=0.5, clipnorm=1.0),
    ],
)
def test_other_objects_are_made_anew(make):
    first = make()
    stored = json.loads(json.dumps(keras.saving.serialize_keras_object(first)))
    again = keras.saving.deserialize_keras_object(stored)
    assert type(again) is type(first)
    assert json.dumps(keras.saving.serialize_keras_object(again)) == json.dumps(stored)


def test_functions_and_names():
    assert keras.activations.serialize(keras.activations.relu) == "relu"
    assert keras.activations.deserialize("relu") is keras.activations.relu
    stored = keras.losses.serialize(keras.losses.mean_squared_error)
    assert (stored["class_name"], stored["config"]) == ("function", "mean_squared_error")
    assert keras.losses.deserialize(stored) is keras.losses.mean_squared_error
    assert keras.initializers.get({"class_name": "HeNormal", "config": {"seed": 3}}).seed == 3
    assert keras.regularizers.deserialize(keras.regularizers.serialize(keras.regularizers.L1(0.5))).l1 == 0.5
    assert keras.metrics.deserialize(keras.metrics.serialize(keras.metrics.AUC(name="a"))).name == "a"
    with pytest.raises(TypeError, match="a lambda has no name"):
        keras.activations.serialize(lambda x: x)
    with pytest.raises(NotImplementedError, match="Lambda 'twice' has no config: its argument function"):
        layers.Lambda(lambda x: 2 * x, name="twice").get_config()


class Linear(layers.Layer):
    def __init__(self, units, scale=1.0, **kwargs):
        super().__init__(**kwargs)
        self.units, self.scale = layers.Dense(units), scale

    def call(self, inputs):
        return self.scale * self.units(inputs)


class WithOptions(layers.Layer):
    def __init__(self, units, activation=None, **kwargs):
        super().__init__(**kwargs)
        self.dense = layers.Dense(units)
        self.activation = keras.activations.get(activation)

    def call(self, inputs):
        return self.activation(self.dense(inputs))

    def get_config(self):
        config = super().get_config()
        config.update({"units": self.dense.units, "activation": keras.activations.serialize(self.activation)})
        return config


def test_a_layer_of_ones_own_has_the_plain_arguments_of_its_constructor():
    layer = Linear(3, scale=2.0, name="mine", trainable=False)
    assert layer.get_config() == {
        "units": 3, "scale": 2.0, "name": "mine", "trainable": False, "dtype": "float32",
    }  # fmt: skip
    again = Linear.from_config(layer.get_config())
    assert (again.scale, again.units.units, again.name) == (2.0, 3, "mine")
    assert pickle.loads(pickle.dumps(layer)).get_config() == layer.get_config()
    assert copy.deepcopy(layer).get_config() == layer.get_config()
    with pytest.raises(
        NotImplementedError, match=r"Linear was created by passing .*: scale\. Define get_config"
    ):
        Linear(3, scale=object()).get_config()

    class Wider(layers.Dense):
        def __init__(self, factor, units, **kwargs):
            super().__init__(factor * units, **kwargs)
            self.units = units

    config = Wider(2, 3, use_bias=False).get_config()
    assert (config["factor"], config["units"], config["use_bias"]) == (2, 3, False)
    assert Wider.from_config(config).use_bias is False

    class Fixed(layers.Dense):
        def __init__(self):
            super().__init__(5, name="fixed")

    assert Fixed.from_config(Fixed().get_config()).name == "fixed"


class Described(layers.Layer):
    def __init__(self, options, **others):
        super().__init__(**others)
        self.options = options

    def call(self, inputs):
        return inputs


def test_an_argument_called_options_is_an_argument():
    layer = Described({"a": 1}, name="described")
    assert layer.get_config() == {
        "options": {"a": 1},
        "name": "described",
        "trainable": True,
        "dtype": "float32",
    }
    assert Described.from_config(layer.get_config()).options == {"a": 1}


def test_schedules():
    schedule = keras.optimizers.schedules.ExponentialDecay(0.5, 10, 0.9)
    stored = keras.saving.serialize_keras_object(schedule)
    assert stored["module"] == "keras.optimizers.schedules"
    made = keras.saving.deserialize_keras_object(stored)
    assert made.get_config() == schedule.get_config()


def test_custom_objects():
    stored = layers.serialize(WithOptions(3, "relu"))
    assert stored["registered_name"] == "WithOptions"
    assert layers.deserialize(stored, {"WithOptions": WithOptions}).activation is keras.activations.relu
    stored["module"] = None  # as in a program that is run as a script
    with pytest.raises(TypeError, match=r"Could not locate class 'WithOptions'.*register_keras_serializable"):
        layers.deserialize(stored)
    with keras.utils.custom_object_scope({"WithOptions": WithOptions}):
        assert type(layers.deserialize(stored)) is WithOptions
    with pytest.raises(TypeError, match="Could not locate class"):
        layers.deserialize(stored)

    @keras.saving.register_keras_serializable(package="own")
    def third(x):
        return x / 3.0

    @keras.utils.register_keras_serializable("own", "halved")
    class Halved(layers.Layer):
        def call(self, inputs):
            return inputs / 2

    model = keras.Sequential([layers.Input((2,)), Halved(), layers.Dense(1, third)])
    text = model.to_json()
    assert '"own>halved"' in text
    again = keras.models.model_from_json(text)
    again.set_weights(model.get_weights())
    np.testing.assert_array_equal(again(X[:, :2]), model(X[:, :2]))
    assert keras.saving.get_registered_name(Halved) == "own>halved"
    assert keras.saving.get_registered_object("own>third") is third
    with pytest.raises(ValueError, match="must have a method get_config"):
        keras.saving.register_keras_serializable()(type("Plain", (), {}))
    with pytest.raises(TypeError, match="custom_objects must be a dict"):
        layers.deserialize(stored, [WithOptions])
    with pytest.raises(ValueError, match="runs no stored code"):
        keras.saving.deserialize_keras_object({"class_name": "__lambda__", "config": {"code": ""}})


def test_sequential_models():
    model = keras.Sequential(
        [layers.Input((6,)), layers.Dense(4, "relu"), layers.Dropout(0.5), layers.Dense(2)], "s"
    )
    config = model.get_config()
    assert list(config) == ["name", "trainable", "dtype", "layers", "build_input_shape"]
    assert [part["class_name"] for part in config["layers"]] == ["InputLayer", "Dense", "Dropout", "Dense"]
    assert (
        config["layers"][1]["build_config"] == {"input_shape": (None, 6)}
        or "build_config" in config["layers"][1]
    )
    again = keras.Sequential.from_config(config)
    again.set_weights(model.get_weights())
    np.testing.assert_array_equal(again(X), model(X))
    assert again.name == "s"
    assert [layer.name for layer in again.layers] == [layer.name for layer in model.layers]
    open_model = keras.Sequential([layers.Dense(2)])
    assert keras.Sequential.from_config(open_model.get_config()).built is False
    stored = json.loads(model.to_json())
    assert (stored["module"], stored["class_name"]) == ("keras", "Sequential")


def functional():
    a, b = layers.Input((6,), name="a"), layers.Input((3,), name="b")
    shared = layers.Dense(3, "relu", name="shared")
    x = shared(a) + b * 2.0
    y = 1.0 - shared(layers.Concatenate()([x, b]))
    rows = layers.Dropout(0.5)(y, training=False)[:, :2]
    return keras.Model([a, b], {"y": layers.Dense(1, name="y")(rows), "x": x}, name="two")


def test_functional_models():
    model = functional()
    inputs = [X, X[:, :3]]
    stored = json.loads(model.to_json())
    assert (stored["class_name"], stored["config"]["input_layers"]) == (
        "Functional",
        [["a", 0, 0], ["b", 0, 0]],
    )
    nodes = next(part for part in stored["config"]["layers"] if part["name"] == "shared")["inbound_nodes"]
    assert len(nodes) == 2
    for again in (keras.Model.from_config(model.get_config()), keras.models.model_from_json(model.to_json())):
        again.set_weights(model.get_weights())
        for name, value in model(inputs).items():
            np.testing.assert_array_equal(again(inputs)[name], value)
        assert unbuilt(again.get_config()) == unbuilt(model.get_config())
        assert again.name == "two"

    class Custom(keras.Model):
        def train_step(self, data):
            return {}

    x = layers.Input((2,))
    custom = Custom(x, layers.Dense(1)(x))
    assert type(Custom.from_config(custom.get_config())) is Custom
    x = layers.Input((2,))
    with pytest.raises(NotImplementedError, match="Lambda .* has no config"):
        keras.Model(x, layers.Lambda(lambda x: x)(x)).get_config()
    one, two = layers.Dense(1, name="same"), layers.Dense(1, name="same")
    with pytest.raises(ValueError, match="two layers have the name 'same'"):
        keras.Model(x, two(one(x))).get_config()


def test_models_of_ones_own():
    class Net(keras.Model):
        def __init__(self, units=3, **kwargs):
            super().__init__(**kwargs)
            self.dense = layers.Dense(units)

        def call(self, x):
            return self.dense(x)

    assert Net(4).get_config()["units"] == 4
    assert Net.from_config(Net().get_config()).dense.units == 3
    again = keras.models.model_from_json(Net(5).to_json(), custom_objects={"Net": Net})
    assert again.dense.units == 5


def test_json_of_keras_is_read():
    """As Keras 3.15 writes ``Sequential([Input((4,)), Dense(3, "relu")])``, and a functional sum."""
    policy = {
        "module": "keras",
        "class_name": "DTypePolicy",
        "config": {"name": "float64"},
        "registered_name": None,
    }
    glorot = {
        "module": "keras.initializers", "class_name": "GlorotUniform", "registered_name": None,
        "config": {"seed": None, "input_axes": None, "output_axes": None},
    }  # fmt: skip
    start = {
        "module": "keras.layers", "class_name": "InputLayer", "registered_name": None,
        "config": {
            "batch_shape": [None, 4], "dtype": "float32", "sparse": False, "ragged": False, "name": "i",
            "optional": False,
        },
    }  # fmt: skip
    dense = {
        "module": "keras.layers", "class_name": "Dense", "registered_name": None,
        "config": {
            "name": "d", "trainable": True, "dtype": policy, "units": 3, "activation": "relu", "use_bias": True,
            "kernel_initializer": glorot, "kernel_regularizer": None, "quantization_config": None,
        },
        "build_config": {"input_shape": [None, 4]},
    }  # fmt: skip
    stored = {
        "module": "keras", "class_name": "Sequential", "registered_name": None,
        "config": {
            "name": "s", "trainable": True, "dtype": policy, "layers": [start, dense],
            "build_input_shape": [None, 4],
        },
        "build_config": {"input_shape": [None, 4]}, "compile_config": {},
    }  # fmt: skip
    model = keras.models.model_from_json(json.dumps(stored))
    assert (model.layers[0].activation, model.count_params()) == (keras.activations.relu, 15)
    assert model.layers[0].dtype == np.float64

    def tensor(name):
        history = {"shape": [None, 4], "dtype": "float32", "keras_history": [name, 0, 0]}
        return {"class_name": "__keras_tensor__", "config": history}

    add = {
        "module": "keras.src.ops.numpy", "class_name": "Add", "config": {"name": "add"}, "registered_name": "Add",
        "name": "add", "inbound_nodes": [{"args": [tensor("i"), 1.0], "kwargs": {}}],
    }  # fmt: skip
    graph = {
        "name": "f", "trainable": True, "layers": [{**start, "name": "i", "inbound_nodes": []}, add],
        "input_layers": [["i", 0, 0]], "output_layers": [["add", 0, 0]],
    }  # fmt: skip
    module = "keras.src.models.functional"
    stored = {"module": module, "class_name": "Functional", "config": graph, "registered_name": "Functional"}
    np.testing.assert_array_equal(
        keras.models.model_from_json(json.dumps(stored))(jt.zeros([1, 4])), np.ones((1, 4))
    )
    add["class_name"] = "Sort"
    with pytest.raises(NotImplementedError, match="Keras's operation Sort"):
        keras.models.model_from_json(json.dumps(stored))


def test_defaults_are_those_of_keras():
    assert layers.Cropping2D().cropping == ((0, 0), (0, 0))
    assert keras.losses.Huber().name == "huber_loss"
    assert keras.metrics.MeanMetricWrapper(keras.losses.mean_squared_error).name == "mean_metric_wrapper"
    assert keras.metrics.get(keras.losses.mean_squared_error).name == "mean_squared_error"


def test_registration_decides_whether_a_class_is_one_of_the_user():
    """A class that is defined in a module of jittape, as those of its doctests are, can be registered."""

    class Halved(jt.keras.layers.Layer):
        def call(self, inputs):
            return inputs / 2

    Halved.__module__ = "jittape.examples"
    jt.keras.saving.register_keras_serializable("examples")(Halved)
    stored = jt.keras.layers.serialize(Halved())
    assert stored["registered_name"] == "examples>Halved"
    assert type(jt.keras.layers.deserialize(stored)) is Halved


@pytest.mark.parametrize("kind", ["constraints.NonNeg", "constraints.Constraint", "regularizers.Regularizer"])
def test_classes_without_arguments_refuse_some(kind):
    module, _, name = kind.partition(".")
    with pytest.raises(TypeError, match="takes 1 positional argument"):
        getattr(getattr(jt.keras, module), name)(5)


@pytest.mark.parametrize(
    ("first", "shown"),
    [
        (
            "deserialize_keras_object({'module': 'keras.layers', 'class_name': 'Dense', 'config': {'units': 3}})",
            "<Dense 'dense': 0 variables, 0 trainable numbers>",
        ),
        (
            "deserialize_keras_object({'module': 'keras.metrics', 'class_name': 'MeanSquaredError', 'config': {}})",
            "<MeanSquaredError 'mean_squared_error': 2 variables, 0 trainable numbers>",
        ),
        ("deserialize_keras_object({'class_name': 'function', 'config': 'relu'}).__name__", "relu"),
    ],
)
def test_a_config_may_be_the_first_that_a_process_uses_of_keras(first, shown):
    """The modules of `jt.keras` are imported when they are used; a config names any of them."""
    done = run_python("-c", f"import jittape as jt\nprint(jt.keras.saving.{first})")
    assert (done.stdout.strip(), done.stderr) == (shown, "")
