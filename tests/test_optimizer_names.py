"""Names of optimizers and of their state, those of Keras 3, and the names in files."""

import numpy as np
import pytest

import jittape as jt

KERAS_NAMES = {
    "SGD": "sgd", "RMSprop": "rm_sprop", "Adam": "adam", "AdamW": "adam_w", "Adagrad": "adagrad",
    "Adadelta": "adadelta", "Adamax": "adamax", "Nadam": "nadam", "Ftrl": "ftrl", "Lion": "lion",
    "Adafactor": "adafactor", "Lamb": "lamb", "Muon": "muon",
}  # fmt: skip

KERAS_STATE = [
    ("SGD", {}, []),
    ("SGD", {"momentum": 0.9}, ["w_0_momentum", "b_0_momentum"]),
    ("SGD", {"use_ema": True}, ["w_0_average", "b_0_average"]),
    ("RMSprop", {"centered": True, "momentum": 0.9}, [
        "w_0_velocity", "b_0_velocity", "w_0_momentum", "b_0_momentum", "w_0_average_gradient", "b_0_average_gradient",
    ]),
    ("Adam", {}, ["w_0_momentum", "w_0_velocity", "b_0_momentum", "b_0_velocity"]),
    ("Adam", {"amsgrad": True, "use_ema": True}, [
        "w_0_average", "b_0_average", "w_0_momentum", "w_0_velocity", "b_0_momentum", "b_0_velocity",
        "w_0_velocity_hat", "b_0_velocity_hat",
    ]),
    ("Adagrad", {}, ["w_0_accumulator", "b_0_accumulator"]),
    ("Adadelta", {}, [
        "w_0_accumulated_grad", "w_0_accumulated_delta_var", "b_0_accumulated_grad", "b_0_accumulated_delta_var",
    ]),
    ("Adamax", {}, ["w_0_momentum", "w_0_norm", "b_0_momentum", "b_0_norm"]),
    ("Ftrl", {}, ["w_0_accumulator", "w_0_linear", "b_0_accumulator", "b_0_linear"]),
    ("Lion", {}, ["w_0_momentum", "b_0_momentum"]),
    ("Lamb", {}, ["w_0_momentum", "w_0_velocity", "b_0_momentum", "b_0_velocity"]),
]  # fmt: skip
"""Names that TensorFlow 2.21 gives to the state of two Variables, after `iteration` and `learning_rate`."""

NAMES_IN_FILES = [
    ("Adam", {"amsgrad": True}, ["momentum", "velocity", "velocity_hat"] * 2),
    ("RMSprop", {"centered": True, "momentum": 0.5}, ["velocity", "momentum", "average_gradient"] * 2),
    ("Lamb", {}, ["momentum", "momentum", "velocity", "velocity"]),
    ("Nadam", {}, ["momentum_product", *["momentum", "velocity"] * 2]),
    ("Adam", {"gradient_accumulation_steps": 2, "use_ema": True}, [
        *["average", "gradient_accumulator"] * 2, *["momentum", "velocity"] * 2, "accumulated_steps",
    ]),
]  # fmt: skip
"""Names in the files of former versions, which numbered the state in the order of its creation."""


def _stepped(kind, options, *, steps=1):
    optimizer = getattr(jt.keras.optimizers, kind)(**options)
    w, b = jt.Variable([[1.0, 2.0], [3.0, 4.0]], name="w"), jt.Variable([1.0, 2.0], name="b")
    for _ in range(steps):
        optimizer.apply_gradients([(jt.ones((2, 2)), w), (jt.ones(2), b)])
    return optimizer, [w, b]


@pytest.mark.parametrize(("kind", "name"), KERAS_NAMES.items())
def test_names_are_those_of_keras(kind, name):
    jt.keras.utils.clear_session()
    make = getattr(jt.keras.optimizers, kind)
    assert [make().name, make().name, make(name="mine").name, make().name] == [
        name,
        f"{name}_1",
        "mine",
        f"{name}_2",
    ]
    assert make.from_config(make(name="mine").get_config()).name == "mine"


@pytest.mark.parametrize(("kind", "options", "names"), KERAS_STATE)
def test_state_is_named_and_ordered_as_in_keras(kind, options, names):
    optimizer, _ = _stepped(kind, options)
    wanted = ["iteration", "learning_rate", *names]
    assert [v.name for v in optimizer.variables] == wanted
    assert [v.path for v in optimizer.variables] == [f"{optimizer.name}/{name}" for name in wanted]


def test_state_of_weights_of_layers_has_their_paths():
    jt.keras.utils.clear_session()
    layers = jt.keras.layers
    model = jt.keras.Sequential([jt.keras.Input((3,)), layers.Dense(2, name="first"), layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(np.ones((4, 3)), np.ones((4, 1)), verbose=0)
    weights = [f"sequential_{w}" for w in ("first_kernel", "first_bias", "dense_kernel", "dense_bias")]
    names = [
        "iteration",
        "learning_rate",
        *[f"{w}_{kind}" for w in weights for kind in ("momentum", "velocity")],
    ]
    assert [v.path for v in model.optimizer.variables] == [f"adam/{name}" for name in names]


@pytest.mark.parametrize(("kind", "options", "names"), NAMES_IN_FILES)
def test_files_keep_the_names_of_former_versions(kind, options, names, tmp_path):
    saved, variables = _stepped(kind, options, steps=3)
    saved.save_weights(tmp_path / "state.npz")
    wanted = [f"{i}.{name}" for i, name in enumerate(["iterations", "learning_rate", *names])]
    assert list(np.load(tmp_path / "state.npz")) == wanted
    jt.train.Checkpoint(o=saved).write(tmp_path / "checkpoint")
    for way in ("file", "checkpoint", "checkpoint of a new optimizer"):
        other = getattr(jt.keras.optimizers, kind)(**options)
        if way == "file":
            other.load_weights(tmp_path / "state.npz", variables)
        elif way == "checkpoint":
            other.build(variables)
            jt.train.Checkpoint(o=other).read(tmp_path / "checkpoint").assert_consumed()
        else:
            status = jt.train.Checkpoint(o=other).read(tmp_path / "checkpoint")
            other.build(variables)
            status.assert_consumed()
        for one, two in zip(other.variables, saved.variables, strict=True):
            np.testing.assert_array_equal(one.numpy(), two.numpy())


def test_metrics_and_losses_are_numbered_where_keras_numbers_them():
    class Mine(jt.keras.metrics.Metric):
        pass

    class MyMean(jt.keras.metrics.Mean):
        pass

    class MyLoss(jt.keras.losses.Loss):
        pass

    metrics = jt.keras.metrics
    wanted = {
        metrics.AUC: "auc", metrics.Precision: "precision", metrics.Recall: "recall", Mine: "mine",
        metrics.TruePositives: "true_positives", metrics.BinaryIoU: "binary_io_u", MyLoss: "my_loss",
    }  # fmt: skip
    jt.keras.utils.clear_session()
    for kind, name in wanted.items():
        assert [kind().name, kind().name] == [name, f"{name}_1"]
    for kind, name in {metrics.Mean: "mean", MyMean: "mean", metrics.F1Score: "f1_score"}.items():
        assert [kind().name, kind().name] == [name, name]
    model = jt.keras.Sequential([jt.keras.Input((2,)), jt.keras.layers.Dense(1, "sigmoid")])
    jt.keras.utils.clear_session()
    model.compile("sgd", "mse", metrics=[metrics.AUC(), metrics.AUC(curve="PR")])
    history = model.fit(np.ones((4, 2)), np.array([[0.0], [1.0], [1.0], [0.0]]), verbose=0).history
    assert sorted(history) == ["auc", "auc_1", "loss"]
