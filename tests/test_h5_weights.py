"""Weights in HDF5 files in Keras's layout. The names are those in files that Keras 3.15 wrote."""

import sys

import numpy as np
import pytest

import jittape as jt
from jittape.keras.training.h5_weights import paths_in_keras

keras, layers = jt.keras, jt.keras.layers


class Subclass(keras.Model):
    def __init__(self):
        super().__init__()
        self.d1 = layers.Dense(3)
        self.blocks = [layers.Dense(2), layers.Dense(2)]
        self.mh = layers.MultiHeadAttention(1, 2)
        self.bi = layers.Bidirectional(layers.GRU(2))
        self.td = layers.TimeDistributed(layers.Dense(2))
        self.table = {"a": layers.Dense(2)}

    def call(self, x):
        x = self.d1(x)
        x = self.bi(self.table["a"](self.td(self.mh(x, x))))
        for block in self.blocks:
            x = block(x)
        return x


def a_subclass():
    model = Subclass()
    model(np.ones((1, 3, 2), "float32"))
    return model


def a_sequence():
    inner = keras.Sequential([layers.Dense(2), layers.Dense(2)])
    return keras.Sequential(
        [
            layers.Input((4,)),
            layers.Dense(3, name="a"),
            layers.BatchNormalization(),
            inner,
            layers.PReLU(),
            layers.Dense(1),
        ]
    )


def a_graph():
    x = keras.Input((5,))
    y = layers.LSTM(4)(layers.Embedding(10, 3)(x))
    return keras.Model(x, [layers.Dense(1)(y), layers.Dense(1)(y)])


OF_SUBCLASS = [
    "bi/backward_layer/cell/vars/0", "bi/backward_layer/cell/vars/1", "bi/backward_layer/cell/vars/2",
    "bi/forward_layer/cell/vars/0", "bi/forward_layer/cell/vars/1", "bi/forward_layer/cell/vars/2",
    "blocks/dense/vars/0", "blocks/dense/vars/1", "blocks/dense_1/vars/0", "blocks/dense_1/vars/1", "d1/vars/0",
    "d1/vars/1", "layers/dense_3/vars/0", "layers/dense_3/vars/1", "layers/multi_head_attention/key_dense/vars/0",
    "layers/multi_head_attention/key_dense/vars/1", "layers/multi_head_attention/output_dense/vars/0",
    "layers/multi_head_attention/output_dense/vars/1", "layers/multi_head_attention/query_dense/vars/0",
    "layers/multi_head_attention/query_dense/vars/1", "layers/multi_head_attention/value_dense/vars/0",
    "layers/multi_head_attention/value_dense/vars/1", "layers/time_distributed/layer/vars/0",
    "layers/time_distributed/layer/vars/1",
]  # fmt: skip
OF_SEQUENCE = [
    *[f"layers/batch_normalization/vars/{i}" for i in range(4)], "layers/dense/vars/0", "layers/dense/vars/1",
    "layers/dense_1/vars/0", "layers/dense_1/vars/1", "layers/p_re_lu/vars/0",
    "layers/sequential/layers/dense/vars/0", "layers/sequential/layers/dense/vars/1",
    "layers/sequential/layers/dense_1/vars/0", "layers/sequential/layers/dense_1/vars/1",
]  # fmt: skip
OF_GRAPH = [
    "layers/dense/vars/0", "layers/dense/vars/1", "layers/dense_1/vars/0", "layers/dense_1/vars/1",
    "layers/embedding/vars/0", *[f"layers/lstm/cell/vars/{i}" for i in range(3)],
]  # fmt: skip
MODELS = [(a_subclass, OF_SUBCLASS), (a_sequence, OF_SEQUENCE), (a_graph, OF_GRAPH)]


@pytest.mark.parametrize(("make", "names"), MODELS)
def test_names_are_those_of_keras(make, names):
    assert sorted(paths_in_keras(make())) == names


@pytest.mark.parametrize("make", [make for make, _ in MODELS])
def test_weights_come_back(make, tmp_path):
    one, other = make(), make()
    one.save_weights(tmp_path / "model.weights.h5")
    other.load_weights(tmp_path / "model.weights.h5")
    for a, b in zip(one.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_file_of_another_model_changes_nothing(tmp_path):
    path = tmp_path / "model.weights.h5"
    a_graph().save_weights(path)
    model = a_sequence()
    before = model.get_weights()
    with pytest.raises(jt.WeightsError, match="does not fit 'sequential.*nothing was loaded"):
        model.load_weights(path)
    path.write_bytes(b"text")
    with pytest.raises(jt.WeightsError, match="is no HDF5 file"):
        model.load_weights(path)
    for a, b in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_missing_package_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match="pip install h5py"):
        a_sequence().save_weights(tmp_path / "model.weights.h5")
