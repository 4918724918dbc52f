"""Models as JSON: files that Keras 3 wrote, and what Keras 3 needs in the files of jittape."""

import json
from pathlib import Path

import numpy as np
import pytest

import jittape as jt

keras = jt.keras
layers = keras.layers

WRITTEN_BY_KERAS = json.loads((Path(__file__).parent / "keras_models.json").read_text())
"""Models of Keras 3.15, and their results for the inputs and weights below."""


def inputs_of(model):
    rng = np.random.RandomState(0)

    def array(symbol):
        shape = [2 if i == 0 else 4 if n is None else n for i, n in enumerate(symbol.shape)]
        if symbol.dtype.kind == "i":
            return rng.randint(0, 4, shape).astype("int32")
        return rng.randn(*shape).astype("float32")

    if getattr(model, "_input", 0) is None:
        return rng.randn(2, 4).astype("float32")
    return [array(x) for x in model.input] if isinstance(model.input, list) else array(model.input)


@pytest.mark.filterwarnings("ignore:.*mask")
@pytest.mark.parametrize("name", list(WRITTEN_BY_KERAS))
def test_models_written_by_keras_compute_the_same(name):
    stored = WRITTEN_BY_KERAS[name]
    for text in (
        json.dumps(stored["model"]),
        keras.models.model_from_json(json.dumps(stored["model"])).to_json(),
    ):
        model = keras.models.model_from_json(text)
        rng = np.random.RandomState(1)
        model.set_weights([np.abs(rng.randn(*w.shape)) * 0.5 for w in model.get_weights()])
        found = model(inputs_of(model))
        for one, expected in zip(
            found if isinstance(found, (list, tuple)) else [found], stored["results"], strict=True
        ):
            np.testing.assert_allclose(np.asarray(one), expected, rtol=1e-4, atol=1e-4)


def twice():
    x, inner_x = layers.Input((4,)), layers.Input((4,))
    inner = keras.Model(inner_x, layers.Dense(4)(inner_x), name="inner")
    first = inner(x)
    second = inner(first)
    return keras.Model(x, [first, inner(second), layers.ReLU()(second)])


def test_functional_models_are_written_as_keras_reads_them():
    found, keras_wrote = json.loads(twice().to_json()), WRITTEN_BY_KERAS["twice"]["model"]
    assert {k: found[k] for k in ("module", "class_name", "registered_name")} == {
        k: keras_wrote[k] for k in ("module", "class_name", "registered_name")
    }
    assert found["config"]["output_layers"][:2] == [["inner", 1, 0], ["inner", 3, 0]]
    assert found["config"]["output_layers"][:2] == keras_wrote["config"]["output_layers"][:2]


def test_configs_have_no_argument_that_keras_refuses():
    assert not {"dropout", "recurrent_dropout"} & set(layers.RNN(layers.GRUCell(2)).get_config())
    assert "trainable" not in layers.SpatialDropout2D(0.5).get_config()
    moments = layers.Normalization(mean=[1.0, 2.0], variance=[4.0, 9.0])
    assert (moments.get_config()["mean"], moments.get_config()["variance"]) == ([1.0, 2.0], [4.0, 9.0])
    again = layers.Normalization.from_config(moments.get_config())
    np.testing.assert_array_equal(np.asarray(again([[3.0, 5.0]])), [[1.0, 1.0]])


def test_a_sequential_without_input_keeps_the_shape_of_its_first_call():
    model = keras.Sequential([layers.Dense(3), layers.Dense(2)])
    model(np.ones((5, 4), "float32"))
    again = keras.models.model_from_json(model.to_json())
    assert [w.shape for w in again.get_weights()] == [(4, 3), (3,), (3, 2), (2,)]


def test_operations_of_keras():
    def stored(kind, **config):
        return {"module": "keras.src.ops.numpy", "class_name": kind, "config": {"name": kind} | config}

    def with_operation(kind, **config):
        made = json.loads(twice().to_json())
        tensor = {"shape": [None, 4], "dtype": "float32", "keras_history": ["in", 0, 0]}
        node = {"args": [{"class_name": "__keras_tensor__", "config": tensor}], "kwargs": {}}
        made["config"]["layers"] = [
            layers.serialize(layers.Input((4,), name="in")) | {"name": "in", "inbound_nodes": []},
            stored(kind, **config) | {"name": kind, "inbound_nodes": [node]},
        ]
        made["config"] |= {"input_layers": ["in", 0, 0], "output_layers": [kind, 0, 0]}
        return keras.models.model_from_json(json.dumps(made))

    x = np.array([[1.0, 2.0, 3.0, 4.0]], "float32")
    for kind, config, expected in [
        ("Exp", {}, np.exp(x)),
        ("Mean", {"axis": [-1], "keepdims": True}, [[2.5]]),
        ("ExpandDims", {"axis": -1}, x[..., None]),
        ("Clip", {"x_min": 2.0, "x_max": 3.0}, [[2.0, 2.0, 3.0, 3.0]]),
        ("Softmax", {"axis": -1}, np.exp(x) / np.exp(x).sum()),
    ]:
        np.testing.assert_allclose(np.asarray(with_operation(kind, **config)(x)), expected, rtol=1e-6)
    with pytest.raises(NotImplementedError, match="operation Erfinv.*layer of your own"):
        with_operation("Erfinv")
