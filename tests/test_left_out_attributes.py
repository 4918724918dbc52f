"""Every public attribute of the objects of TensorFlow 2.21 exists in jittape or is left out with advice."""

from __future__ import annotations

import inspect
import json
import re
from functools import reduce
from pathlib import Path

import numpy as np
import pytest

import jittape as jt
from jittape.foreign_names import ATTRIBUTES_LEFT_OUT

keras = jt.keras
HERE = Path(__file__).parent
NAMES = json.loads((HERE / "tensorflow_attributes.json").read_text(encoding="utf-8"))
"""Attributes by object, as ``dir`` lists them, with the parameters of methods; null for values."""

PAGE = HERE.parent / "docs" / "coming-from" / "tensorflow.rst"


class Line(jt.Module):
    def __init__(self):
        super().__init__()
        self.w = jt.Variable(1.0)


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(2)

    def call(self, x):
        return self.dense(x)


def objects(folder):
    """Return one object of each kind, by the path of its class."""
    function = jt.function(lambda x: x * 2)
    data = jt.data.Dataset.range(3)
    with jt.GradientTape() as tape:
        pass
    checkpoint = jt.train.Checkpoint(v=jt.Variable(1.0))
    return {
        "Tensor": jt.constant([1.0, 2.0]),
        "Variable": jt.Variable([1.0, 2.0]),
        "DType": jt.float32,
        "TensorShape": jt.TensorShape([2, 3]),
        "TensorSpec": jt.TensorSpec([2, 3], jt.float32),
        "Module": Line(),
        "keras.layers.Layer": keras.layers.Layer(),
        "keras.Model": Net(),
        "keras.Sequential": keras.Sequential([keras.Input([3]), keras.layers.Dense(2)]),
        "keras.metrics.Metric": keras.metrics.Accuracy(),
        "keras.optimizers.Optimizer": keras.optimizers.Adam(),
        "keras.losses.Loss": keras.losses.MeanSquaredError(),
        "keras.callbacks.Callback": keras.callbacks.Callback(),
        "keras.initializers.Initializer": keras.initializers.GlorotUniform(),
        "keras.regularizers.Regularizer": keras.regularizers.L2(0.1),
        "keras.optimizers.schedules.LearningRateSchedule": keras.optimizers.schedules.ExponentialDecay(
            0.1, 10, 0.9
        ),
        "GradientTape": tape,
        "function": function,
        "ConcreteFunction": function.get_concrete_function(jt.TensorSpec([2], jt.float32)),
        "data.Dataset": data,
        "data.Iterator": iter(data),
        "random.Generator": jt.random.Generator.from_seed(1),
        "train.Checkpoint": checkpoint,
        "train.CheckpointManager": jt.train.CheckpointManager(checkpoint, folder, max_to_keep=2),
        "TensorArray": jt.TensorArray(jt.float32, 2),
        "autodiff.ForwardAccumulator": jt.autodiff.ForwardAccumulator(jt.constant(1.0), jt.constant(1.0)),
    }


TABLES = {
    "keras.Model": ("keras.layers.Layer", "keras.Model"),
    "keras.Sequential": ("keras.layers.Layer", "keras.Model"),
}
"""Tables of classes that inherit one."""

OTHER_PARAMETERS = {
    "TensorSpec.is_compatible_with": {"spec_or_tensor"},  # ours takes arrays, too
    "TensorSpec.from_spec": {"spec"},
    "keras.Model.from_config": {"custom_objects"},
    "keras.Sequential.from_config": {"custom_objects"},
    "keras.optimizers.Optimizer.build": {"var_list"},  # Keras' own optimizers call it `variables`
    "keras.Sequential.call": {"mask"},  # tensors bring their masks
    "data.Dataset.counter": {"dtype"},
}
"""Parameters of TensorFlow that jittape's methods do not have."""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return objects(tmp_path_factory.mktemp("checkpoints"))


def left_out(path):
    """Return the attributes that an object does not have, with advice."""
    tables = [ATTRIBUTES_LEFT_OUT.get(one, {}) for one in TABLES.get(path, (path,))]
    rows = [(names.split(), advice) for table in tables for names, advice in table.items()]
    return {name: advice for names, advice in rows for name in names}


@pytest.mark.parametrize("path", NAMES)
def test_every_attribute_exists_or_is_explained(path, found):
    one = found[path]
    listed = set(dir(one))
    for name in NAMES[path].keys() - listed:
        with pytest.raises(AttributeError) as error:
            getattr(one, name)
        text = str(error.value)
        assert f"has no {name!r}" in text, text
        if not (path == "Tensor" and name == "cpu"):
            assert text.endswith(left_out(path)[name]), text
        assert not hasattr(one, name)


@pytest.mark.parametrize("path", NAMES)
def test_what_is_left_out_is_missing(path, found):
    own = {name for name in left_out(path) if name in dir(found[path])}
    assert own <= ({"metrics"} if path in TABLES else set())


@pytest.mark.parametrize("path", NAMES)
def test_methods_take_the_arguments_of_tensorflow(path, found):
    one = found[path]
    for name, wanted in NAMES[path].items():
        if wanted is None or name not in dir(one) or not callable(getattr(one, name)):
            continue
        parameters = inspect.signature(getattr(one, name)).parameters
        if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            continue
        missing = set(wanted.split()) - parameters.keys() - OTHER_PARAMETERS.get(f"{path}.{name}", set())
        assert not missing, f"{path}.{name}"


def test_what_is_named_instead_exists():
    for table in ATTRIBUTES_LEFT_OUT.values():
        for advice in table.values():
            for name in re.findall(r"\bjt\.([\w.]+\w)", advice):
                assert reduce(getattr, name.split("."), jt) is not None


def test_the_page_lists_attributes_that_are_left_out():
    rows = []
    for path, table in ATTRIBUTES_LEFT_OUT.items():
        for names, advice in table.items():
            shown = ", ".join([f"``{name}``" for name in names.split()])
            rows += [f"   * - ``{path}``", f"     - {shown}", f"     - {advice}"]
    text = PAGE.read_text(encoding="utf-8")
    pattern = r"^\.\. left out attributes: begin$(.*?)^\.\. left out attributes: end$"
    block = re.search(pattern, text, re.MULTILINE | re.DOTALL)[1]
    lines = block.replace("\n       ", " ").splitlines()
    assert [line for line in lines if line.startswith(("   * - ", "     - "))][3:] == rows


def test_attributes_of_ones_own_are_kept():
    class Pair(keras.layers.Layer):
        input_spec = "any"

        def __init__(self):
            super().__init__()
            self.output = keras.layers.Dense(1)

    pair = Pair()
    assert (pair.input_spec, pair.output.units) == ("any", 1)
    assert {"input_spec", "output"} <= set(dir(pair))
    assert "input_dtype" not in dir(pair)


# ---- attributes that exist -------------------------------------------------------------------------------------------


def test_layers_of_a_model_by_name():
    layers = [keras.layers.Dense(3, name="hidden"), keras.layers.Dense(2)]
    model = keras.Sequential([keras.Input(batch_shape=(None, 4)), *layers])
    assert model.get_layer("hidden") is layers[0]
    assert model.get_layer(index=1) is layers[1]
    with pytest.raises(ValueError, match="has no layer of the name 'x'; its layers are 'hidden', 'dense'"):
        model.get_layer("x")
    with pytest.raises(ValueError, match="has no layer at index 2"):
        model.get_layer(index=2)
    with pytest.raises(ValueError, match="either a name or an index"):
        model.get_layer()
    assert (model.input_shape, model.output_shape) == ((None, 4), (None, 2))
    assert model.pop() is layers[1]
    assert (model.output_shape, len(model.weights)) == ((None, 3), 2)


def test_settings_of_a_compiled_model():
    model = keras.Sequential([keras.layers.Dense(1)])
    assert not model.compiled
    model.compile("sgd", "mse", run_eagerly=True)
    assert (model.compiled, model.run_eagerly, model.metrics_names) == (True, True, ["loss"])
    model.run_eagerly = False
    assert not model.run_eagerly


def test_weights_are_not_overwritten(tmp_path):
    model = keras.Sequential([keras.Input([2]), keras.layers.Dense(1)])
    path = tmp_path / "weights.npz"
    model.save_weights(filepath=path)
    with pytest.raises(FileExistsError, match="exists; give another filepath, or overwrite=True"):
        model.save_weights(path, overwrite=False)
    with pytest.raises(ValueError, match="skip_mismatch must be False"):
        model.load_weights(path, skip_mismatch=True)
    model.load_weights(filepath=path)


def test_clones_by_a_function():
    model = keras.Sequential([keras.layers.Dense(2), keras.Sequential([keras.layers.Dense(3)])])
    wider = keras.models.clone_model(
        model, clone_function=lambda one: keras.layers.Dense(one.units + 1), recursive=True
    )
    assert [wider.layers[0].units, wider.layers[1].layers[0].units] == [3, 4]
    with pytest.raises(ValueError, match="does not support call_function"):
        keras.models.clone_model(model, call_function=lambda layer, x: layer(x))


def test_clones_have_the_inputs_and_calls_that_are_given():
    given = keras.Input((3,), name="given")
    model = keras.Model(first := keras.Input((3,)), keras.layers.Dense(2, name="dense")(first))
    seen = []

    def call(layer, *args, **kwargs):
        seen.append(layer.name)
        return layer(*args, **kwargs)

    clone = keras.models.clone_model(model, given, call_function=call)
    assert (clone.inputs, seen, len(clone.weights)) == ([given], ["dense"], 2)
    of_output = keras.models.clone_model(model, keras.layers.Dense(3)(given))
    assert (of_output.input_shape, len(of_output.weights)) == ((None, 3), 2)
    sequential = keras.models.clone_model(keras.Sequential([keras.layers.Dense(2)]), given)
    assert (sequential.inputs, len(sequential.weights)) == ([given], 2)
    with pytest.raises(ValueError, match="one part for each of the 1 inputs of model, got 2"):
        keras.models.clone_model(model, [given, first])
    with pytest.raises(TypeError, match=r"input_tensors must be a jt\.keras\.Input or the output"):
        keras.models.clone_model(model, np.ones((2, 3)))


def test_clones_of_a_class_of_ones_own_have_weights():
    class Own(keras.Model):
        def __init__(self, units, **options):
            super().__init__(**options)
            self.units, self.dense = units, keras.layers.Dense(units)

        def call(self, x):
            return self.dense(x)

        def get_config(self):
            return {"units": self.units}

    model = Own(3)
    model(np.ones((2, 5)))
    clone = keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    x = np.random.default_rng(0).normal(size=(4, 5))
    np.testing.assert_array_equal(clone(x), model(x))
    assert clone.dense is not model.dense
    with pytest.raises(ValueError, match="a model of Own does not support clone_function"):
        keras.models.clone_model(model, clone_function=lambda layer: layer)


def test_methods_of_callbacks_do_nothing():
    seen = []

    class Seen(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            super().on_epoch_end(epoch, logs)
            seen.append(epoch)

        def on_batch_end(self, batch, logs=None):
            seen.append("batch")

    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(np.ones((4, 2)), np.ones((4, 1)), verbose=0, callbacks=[Seen()])
    assert seen == ["batch", 0]
    assert not keras.callbacks.CallbackList([keras.callbacks.History()], model).has("on_train_batch_end")


def test_an_optimizer_written_for_keras():
    class Momentum(keras.optimizers.Optimizer):
        def build(self, variables):
            super().build(variables)
            self.first, self.second = self.add_optimizer_variables(variables, ["m", "n"], ["zeros", "ones"])

        def update_step(self, gradient, variable, learning_rate):
            m = self.first[self._get_variable_index(variable)]
            self.assign(m, m * 0.5 + gradient)
            self.assign_sub(variable, learning_rate * m)
            self.assign_add(self.second[0], m)

    w = jt.Variable([1.0, 2.0])
    optimizer = Momentum(0.1)
    for _ in range(2):
        optimizer.apply_gradients([([1.0, 2.0], w)])
    np.testing.assert_allclose(w.numpy(), [0.75, 1.5], rtol=1e-6)
    np.testing.assert_allclose(optimizer.second[0].numpy(), [3.5, 6.0], rtol=1e-6)
    with pytest.raises(ValueError, match="aggregation must be one of"):
        optimizer.add_variable((), 0.0, "float32", "count")
    with pytest.raises(ValueError, match="initializer must be a number"):
        optimizer.add_variable((), "halves")


def test_arguments_of_variables():
    assert float(jt.Variable(1.0, aggregation="mean", synchronization="auto", validate_shape=True)) == 1.0
    with pytest.raises(TypeError, match=r"no argument 'initializer': give initial_value"):
        keras.Variable(initializer="zeros", shape=[2])
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        jt.Variable(1.0, other=2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: keras.layers.Dense(2)(keras.layers.Dense(3)), "inputs must be tensors, got a Dense"),
        (lambda: keras.Model(1, 2), "inputs must be a jt.keras.Input"),
        (lambda: keras.Input(), "either shape or batch_shape"),
        (lambda: keras.Input([3], sparse=True), "sparse must be None or False"),
        (lambda: keras.Input(batch_shape=()), "batch_shape must be a list of ints"),
        (lambda: keras.layers.Layer().add_weight([1], overwrite_with_gradient=True), "must be False"),
        (lambda: keras.Sequential([]).pop(), "has no layers"),
        (lambda: keras.Sequential([]).build(), "needs an input_shape"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises((TypeError, ValueError, IndexError), match=message):
        call()
