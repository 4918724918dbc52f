"""Losses and metrics against TensorFlow's, recorded in `keras_loss_values.json`; `Model.fit` and its parts."""

import json
import warnings

import numpy as np
import pytest

import jittape as jt
from keras_loss_rows import LOSSES, METRICS, VALUES, loss_values, metric_values

RECORDED = json.loads(VALUES.read_text(encoding="utf-8"))
keras = jt.keras


def assert_recorded(found, recorded):
    assert len(found) == len(recorded)
    for mine, expected in zip(found, recorded, strict=True):
        np.testing.assert_allclose(np.ravel(mine), expected, rtol=3e-7, atol=1e-9)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_agree_with_tensorflow(name):
    assert_recorded(loss_values(jt, LOSSES[name]), RECORDED["losses"][name])


@pytest.mark.parametrize("name", METRICS)
def test_metrics_agree_with_tensorflow(name):
    assert_recorded(metric_values(jt, METRICS[name]), RECORDED["metrics"][name])


def test_every_row_is_recorded():
    assert RECORDED["losses"].keys() == LOSSES.keys()
    assert RECORDED["metrics"].keys() == METRICS.keys()


# ---- Model -----------------------------------------------------------------------------------------------------------


def blobs():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    centers = np.array([[0.0, 3.0], [3.0, -2.0], [-3.0, -2.0]])
    return (centers[y] + rng.normal(size=(300, 2))).astype("float32"), y


def network(outputs=3):
    jt.random.set_seed(1)
    return keras.Sequential([keras.layers.Dense(16, "relu"), keras.layers.Dense(outputs)])


def compiled(**options):
    model = network()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.05), loss, metrics=["accuracy"], **options)
    return model


@pytest.mark.parametrize(("freq", "evaluated"), [(1, 4), (2, 2), (3, 1), ([1, 2, 4], 3)])
def test_validation_of_some_batches_after_some_epochs(freq, evaluated):
    """`validation_data` has precedence over `validation_split`; the first batches are evaluated each time."""
    x, y = blobs()
    batches: list[int] = []

    class Counted(keras.callbacks.Callback):
        def on_test_batch_end(self, batch, logs=None):
            batches.append(batch)

    data = jt.data.Dataset.from_tensor_slices((x, y)).batch(10).repeat()
    history = compiled().fit(
        x, y, 100, epochs=4, verbose=0, callbacks=[Counted()], validation_split=0.9,
        validation_data=data, validation_steps=3, validation_freq=freq,
    ).history  # fmt: skip
    assert batches == [0, 1, 2] * evaluated
    assert len(history["val_loss"]) == evaluated
    assert len(history["loss"]) == 4


@pytest.mark.parametrize("eagerly", [False, True])
def test_fit_evaluate_predict(eagerly):
    x, y = blobs()
    model = compiled(run_eagerly=eagerly)
    history = model.fit(x, y, batch_size=50, epochs=5, verbose=0, validation_split=0.2)
    assert history.epoch == [0, 1, 2, 3, 4]
    assert sorted(history.history) == ["accuracy", "loss", "val_accuracy", "val_loss"]
    assert history.history["loss"][-1] < history.history["loss"][0]
    loss, accuracy = model.evaluate(x, y, verbose=0)
    assert accuracy > 0.95
    predicted = model.predict(x, verbose=0)
    assert predicted.shape == (300, 3)
    assert (predicted.argmax(1) == y).mean() == pytest.approx(accuracy)
    expected = keras.losses.SparseCategoricalCrossentropy(from_logits=True)(y, predicted)
    assert loss == pytest.approx(
        float(expected), rel=1e-5
    )  # batches of another size at the end count as they should
    assert model.evaluate(x, y, verbose=0, return_dict=True) == pytest.approx(
        {"loss": loss, "accuracy": accuracy}
    )


def test_a_step_of_fit_is_a_step_by_hand():
    x, y = blobs()
    model, other = compiled(), network()
    optimizer = keras.optimizers.Adam(0.05)
    for net in (model, other):
        net(x[:1])
    other.set_weights(model.get_weights())
    model.fit(x, y, batch_size=100, epochs=2, shuffle=False, verbose=0)
    for _ in range(2):
        for i in range(0, 300, 100):
            with jt.GradientTape() as tape:
                losses = jt.nn.sparse_softmax_cross_entropy_with_logits(y[i : i + 100], other(x[i : i + 100]))
                loss = jt.reduce_mean(losses)
            variables = other.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
    for a, b in zip(model.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_the_step_is_traced_once_for_each_size_of_a_batch():
    x, y = blobs()
    model = compiled()
    model.fit(x, y, batch_size=90, epochs=4, verbose=0)
    assert len(model._step("train_step").signatures()) == 2


def test_datasets_weights_and_losses_of_layers():
    x, y = blobs()
    weights = (y != 2).astype("float32")
    data = jt.data.Dataset.from_tensor_slices((x, y, weights)).shuffle(300, seed=0).batch(60)
    model = keras.Sequential([keras.layers.Dense(3, kernel_regularizer="l2")])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    history = model.fit(data.repeat(), epochs=2, steps_per_epoch=3, verbose=0)
    assert list(history.history) == ["loss"]
    value = model.evaluate(data, verbose=0)
    raw = keras.losses.sparse_categorical_crossentropy(y, model(x), from_logits=True).numpy()
    penalty = 0.01 * float((model.weights[0].numpy() ** 2).sum())
    assert value == pytest.approx((raw * weights).mean() + penalty, rel=1e-5)


@pytest.mark.parametrize(
    ("count", "steps", "epochs", "expected", "n_warnings"),
    [
        (4, 2, 3, [0, 1, 2, 3, 0, 1], 0),
        (10, 4, 4, [*range(10), 0, 1, 2, 3], 1),
        (3, 2, 4, [0, 1, 2, 0, 1, 2], 2),
    ],
)
def test_steps_per_epoch_continue_in_the_data(count, steps, epochs, expected, n_warnings):
    """The batches and warnings are those of TensorFlow 2.21."""
    seen = []

    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(1)

        def call(self, x):
            return self.dense(x)

        def train_step(self, data):
            seen.append(int(data[0][0, 0]))
            return {"loss": jt.constant(0.0)}

    model = Model()
    model.compile("sgd", "mse", run_eagerly=True)
    rows = (np.arange(count, dtype="float32")[:, None], np.ones((count, 1), "float32"))
    data = jt.data.Dataset.from_tensor_slices(rows).batch(1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(data, epochs=epochs, steps_per_epoch=steps, verbose=0)
    assert seen == expected
    assert len([w for w in caught if "the dataset ended after" in str(w.message)]) == n_warnings
    with pytest.raises(ValueError, match=r"\[fit\] steps_per_epoch must be at least 1, got 0"):
        model.fit(data, steps_per_epoch=0)


def test_the_accuracy_fits_the_labels():
    x = np.ones((4, 2), "float32")
    for outputs, y, kind in (
        (1, np.ones((4, 1)), keras.metrics.BinaryAccuracy),
        (3, np.eye(4)[:, :3], keras.metrics.CategoricalAccuracy),
        (3, np.zeros(4, int), keras.metrics.SparseCategoricalAccuracy),
    ):
        model = network(outputs)
        model.compile("sgd", lambda a, b: jt.reduce_mean(b, -1), metrics=["accuracy"])
        model.fit(x, y, verbose=0)
        assert [type(m) for m in model.metrics[1].metrics] == [kind]
        assert "accuracy" in model.evaluate(x, y, verbose=0, return_dict=True)


def test_a_model_with_its_own_step(capsys):
    class Mine(keras.Model):
        def __init__(self):
            super().__init__()
            self.w = jt.Variable(0.0)

        def call(self, x):
            return self.w * x

        def train_step(self, data):
            x, y = data
            with jt.GradientTape() as tape:
                loss = jt.reduce_mean((self(x) - y) ** 2)
            self.optimizer.apply_gradients([(tape.gradient(loss, self.w), self.w)])
            return {"mine": loss}

    model = Mine()
    model.compile(keras.optimizers.SGD(0.5))
    x = np.linspace(-1, 1, 20, dtype="float32")
    history = model.fit(x, 2 * x, batch_size=20, epochs=30)
    assert float(model.w) == pytest.approx(2.0, abs=1e-3)
    assert len(history.history["mine"]) == 30
    printed = capsys.readouterr().out
    assert f"Epoch 30/30 1/1 mine: {history.history['mine'][-1]:.4e}" in printed.replace("\r", "\n")


def test_a_clone_has_weights_of_its_own():
    layers = keras.layers
    model = keras.Sequential(
        [layers.Input((3,)), keras.Sequential([layers.Dense(4, "relu")]), layers.Dense(2)]
    )
    clone = keras.models.clone_model(model)
    assert [w.shape for w in clone.weights] == [w.shape for w in model.weights]
    assert not {id(w) for w in clone.weights} & {id(w) for w in model.weights}
    assert not np.array_equal(clone.weights[0], model.weights[0])
    clone.set_weights(model.get_weights())
    x = np.ones((2, 3), "float32")
    np.testing.assert_array_equal(clone(x), model(x))


def test_callbacks_end_the_training():
    class Stop:
        model = None

        def on_epoch_end(self, epoch, logs):
            self.model.stop_training = epoch == 1

    x, y = blobs()
    assert compiled().fit(x, y, epochs=5, verbose=0, callbacks=[Stop()]).epoch == [0, 1]


def test_weights_go_through_files(tmp_path):
    x, y = blobs()
    model, other = compiled(), compiled()
    model.fit(x, y, verbose=0)
    other.fit(x[:32], y[:32], verbose=0)
    model.save_weights(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz") as file:
        assert list(file) == ["layers.0.kernel", "layers.0.bias", "layers.1.kernel", "layers.1.bias"]
    other.load_weights(tmp_path / "model.npz")
    np.testing.assert_array_equal(other.predict(x, verbose=0), model.predict(x, verbose=0))


def test_summary(capsys):
    model = network()
    model(np.ones((1, 2), "float32"))
    model.layers[0].trainable = False
    model.summary()
    assert "Parameters: 99, of which 51 are trained" in capsys.readouterr().out


def test_metrics_in_a_function_and_after_a_reset():
    metric = keras.metrics.Mean()
    step = jt.function(lambda x: metric.update_state(x))
    for i in range(4):
        step(np.float32(i))
    assert float(metric.result()) == 1.5
    metric.reset_state()
    assert float(metric.result()) == 0.0
    assert metric.trainable_variables == ()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: network().fit(*blobs()), ValueError, r"must be compiled before fit"),
        (lambda: compiled().fit(np.ones((0, 2)), np.ones(0, int)), ValueError, "no batches"),
        (
            lambda: compiled().fit(np.ones((3, 2)), np.ones(4)),
            ValueError,
            r"same number of rows, got 3 of x, 4 of y",
        ),
        (lambda: compiled().fit(*blobs(), validation_split=1.5), ValueError, "between 0 and 1"),
        (
            lambda: compiled().fit(jt.data.Dataset.range(3), validation_split=0.5),
            ValueError,
            "needs arrays; give a dataset as validation_data",
        ),
        (lambda: compiled().fit(*blobs(), validation_steps=1), ValueError, "needs validation_data"),
        (
            lambda: compiled().fit(*blobs(), validation_data=blobs(), validation_freq=0),
            ValueError,
            "validation_freq must be at least 1, got 0",
        ),
        (lambda: compiled().fit(jt.data.Dataset.range(3), [1]), ValueError, "y must not be given"),
        (lambda: network().compile("adamm"), ValueError, "no optimizer 'adamm'"),
        (lambda: network().compile("adam", "msee"), ValueError, "no loss 'msee'"),
        (lambda: network().compile("adam", "mse", metrics=["acuracy"]), ValueError, "no metric 'acuracy'"),
        (lambda: keras.Model(inputs=1, outputs=2), TypeError, "must be a jt.keras.Input"),
        (lambda: keras.losses.Huber(reduction="average"), ValueError, "reduction must be one of"),
        (
            lambda: keras.losses.mean_squared_error([[1.0]], [[[1.0, 2.0]]]),
            ValueError,
            "equal numbers of dimensions",
        ),
        (lambda: keras.losses.Loss()([1.0], [1.0]), NotImplementedError, "call"),
        (
            lambda: keras.losses.CategoricalGeneralizedCrossEntropy()([3], [[0.5, 0.5]]).numpy(),
            IndexError,
            "index 3 is out of bounds",
        ),
        (
            lambda: keras.losses.CategoricalGeneralizedCrossEntropy()([-1], [[0.5, 0.5]]).numpy(),
            IndexError,
            "index -3 is out of bounds",
        ),
        (
            lambda: keras.losses.SparseCategoricalCrossentropy()([0.0, np.nan], [[0.5, 0.5]] * 2).numpy(),
            IndexError,
            r"the label at index \(1,\), no whole number, is not a class",
        ),
        (
            lambda: keras.losses.categorical_crossentropy([[0.0, 1.0]], [[0.5, 0.5]], axis=2),
            ValueError,
            r"\[categorical_crossentropy\] axis 2",
        ),
        (
            lambda: keras.metrics.CategoricalAccuracy()(np.ones((2, 4)), np.ones((2, 3))),
            ValueError,
            r"equal shapes, got \(2, 4\) and \(2, 3\)",
        ),
        (
            lambda: keras.optimizers.Adam(lr=0.1),
            TypeError,
            "Adam: unexpected keyword argument 'lr'; use learning_rate",
        ),
        (
            lambda: compiled().fit(np.ones((2, 2)), np.ones(2), epochs="a"),
            TypeError,
            r"\[fit\] epochs must be an int, got 'a'",
        ),
        (
            lambda: keras.metrics.Precision(top_k=3)([[1, 0]], [[0.5, 0.5]]),
            ValueError,
            "number of classes, 2, got 3",
        ),
        (
            lambda: keras.metrics.Recall(class_id=2)([[1, 0]], [[0.5, 0.5]]),
            ValueError,
            "class_id 2 must be less",
        ),
        (lambda: keras.metrics.AUC(thresholds=[2.0]), ValueError, "between 0 and 1"),
        (
            lambda: keras.metrics.AUC(multi_label=True)([0, 1], [0.2, 0.8]),
            ValueError,
            r"shape \(batch, labels\)",
        ),
        (
            lambda: keras.losses.categorical_generalized_cross_entropy([0], [[1.0]], 2.0),
            ValueError,
            "0 and 1",
        ),
        (lambda: keras.losses.circle([0, 1], [[1.0, 0.0]]), ValueError, r"\(1, 2\) and \(2,\)"),
        (lambda: keras.metrics.AUC(1), ValueError, "at least 2"),
        (lambda: keras.metrics.AUC(curve="X"), ValueError, "'ROC' or 'PR'"),
        (
            lambda: keras.metrics.SparseCategoricalAccuracy()([1, 2], np.ones((3, 4))),
            ValueError,
            "without the classes",
        ),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_model_without_trainable_variables_is_fitted():
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.layers[0].trainable = False
    history = model.fit(np.ones((4, 2)), np.ones((4, 1)), epochs=2, verbose=0)
    assert history.history["loss"][0] == history.history["loss"][1]


def test_only_weighted_metrics_take_the_weights_of_rows():
    """As in Keras, and in the order of `compile`."""
    x = np.arange(6, dtype="float32").reshape(6, 1)
    y = np.array([[0.0], [1.0], [1.0], [0.0], [1.0], [1.0]], "float32")
    weights = np.array([1.0, 0.0, 2.0, 0.5, 3.0, 0.0], "float32")
    model = jt.keras.Sequential([jt.keras.layers.Dense(1, kernel_initializer="ones")])
    model.compile("sgd", "mse", metrics=["accuracy", "mae"], weighted_metrics=["mae", "mse"])
    found = model.evaluate(x, y, sample_weight=weights, batch_size=4, verbose=0, return_dict=True)
    errors = np.abs(x - y)[:, 0]
    expected = {
        "loss": np.average(
            [np.mean((weights * errors**2)[:4]), np.mean((weights * errors**2)[4:])], weights=[4, 2]
        ),
        "accuracy": np.mean((x > 0.5) == (y == 1.0)),
        "mae": np.mean(errors),
        "weighted_mae": np.average(errors, weights=weights),
        "mse": np.average(errors**2, weights=weights),
    }
    assert list(found) == sorted(expected)
    np.testing.assert_allclose([found[name] for name in expected], list(expected.values()), rtol=1e-6)
    history = model.fit(x, y, class_weight={1: 5.0}, batch_size=6, verbose=0).history
    np.testing.assert_allclose(history["mae"], [np.mean(errors)], rtol=1e-6)
    np.testing.assert_allclose(
        history["weighted_mae"], [np.average(errors, weights=1.0 + 4.0 * y[:, 0])], rtol=1e-6
    )


@pytest.mark.parametrize("method", ["fit", "evaluate"])
def test_weights_of_rows_need_true_values(method):
    model = jt.keras.Sequential([jt.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    before = [w.copy() for w in model.get_weights()]
    with pytest.raises(ValueError, match=rf"\[{method}\] sample_weight needs y"):
        getattr(model, method)(np.ones((4, 2)), sample_weight=np.ones(4), verbose=0)
    assert len(model.get_weights()) == len(before)


def test_a_generator_that_ends_early_ends_the_epoch():
    model = jt.keras.Sequential([jt.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    batches = ((np.ones((2, 3)), np.ones((2, 1))) for _ in range(3))
    with pytest.warns(UserWarning, match="ended after 3 of 5 steps"):
        model.fit(batches, steps_per_epoch=5, verbose=0)
    assert int(model.optimizer.iterations) == 3
    with pytest.raises(ValueError, match="no batches"):
        model.evaluate(batches, verbose=0)


def test_layers_are_those_of_all_containers_each_once():
    class Model(jt.keras.Model):
        def __init__(self):
            super().__init__()
            self.first = jt.keras.layers.Dense(1, name="first")
            self.by_name = {"b": jt.keras.layers.Dense(1, name="b"), "a": jt.keras.layers.Dense(1, name="a")}
            self.nested = [[jt.keras.layers.Dense(1, name="n")], self.first]

    assert [layer.name for layer in Model().layers] == ["first", "b", "a", "n"]


OVERRIDES = {
    "positional": lambda self, x, y, y_pred, sample_weight: jt.reduce_mean((y - y_pred) ** 2),
    "keywords": lambda self, x=None, y=None, y_pred=None, **others: (
        jt.reduce_mean((y - y_pred) ** 2) + 0.0 * float(others["training"])
    ),
    "training": lambda self, x=None, y=None, y_pred=None, sample_weight=None, training=None: jt.reduce_mean(
        (y - y_pred) ** 2
    ),
    "another option": lambda self, x=None, y=None, y_pred=None, sample_weight=None, allow_empty=False: (
        jt.reduce_mean((y - y_pred) ** 2) + float(allow_empty)
    ),
}


@pytest.mark.parametrize("compute_loss", OVERRIDES.values(), ids=OVERRIDES)
def test_a_loss_of_ones_own_may_take_fewer_arguments(compute_loss):
    model = type("Model", (jt.keras.Sequential,), {"compute_loss": compute_loss})([jt.keras.layers.Dense(1)])
    model.compile("sgd")
    x, y = np.ones((4, 2), np.float32), np.ones((4, 1), np.float32)
    model.fit(x, y, verbose=0)
    expected = float(np.mean((y - model(x).numpy()) ** 2))
    np.testing.assert_allclose(model.evaluate(x, y, verbose=0), expected, rtol=1e-6)


def test_metrics_of_several_values_are_arrays(capsys):
    layer = jt.keras.layers.Dense(2, "sigmoid", kernel_initializer="ones")
    model = jt.keras.Sequential([jt.keras.Input((2,)), layer])
    thresholds = jt.keras.metrics.TruePositives(thresholds=[0.5, 0.9], name="true_positives")
    model.compile("sgd", "mse", metrics=[jt.keras.metrics.F1Score(threshold=0.5), thresholds])
    x, y = np.ones((4, 2)), np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    history = model.fit(x, y, verbose=2).history
    assert "f1_score: 0.7619" in capsys.readouterr().out
    np.testing.assert_allclose(history["f1_score"], [[2 / 3, 6 / 7]], rtol=1e-6)
    assert history["true_positives"][0].tolist() == [5.0, 0.0]
    np.testing.assert_allclose(model.evaluate(x, y, verbose=0)[1], [2 / 3, 6 / 7], rtol=1e-6)


def test_callbacks_know_the_epochs_and_steps_of_each_method():
    seen = []

    class Params(jt.keras.callbacks.Callback):
        def on_test_begin(self, logs=None):
            seen.append(self.params)

        def on_predict_begin(self, logs=None):
            seen.append(self.params)

    model = jt.keras.Sequential([jt.keras.Input((3,)), jt.keras.layers.Dense(2)])
    model.compile("sgd", "mse")
    x, y = np.ones((10, 3)), np.ones((10, 2))
    model.evaluate(x, y, callbacks=[Params()], verbose=0, batch_size=5)
    model.predict(x, callbacks=[Params()], verbose=0, batch_size=3)
    odd = jt.data.Dataset.from_tensor_slices((x, y)).batch(4).filter(lambda a, b: True)
    model.evaluate(odd, callbacks=[Params()], verbose=0)
    assert seen == [{"verbose": 0, "epochs": 1, "steps": steps} for steps in (2, 4, None)]


def test_arguments_of_compile_as_plain_values():
    model = jt.keras.Sequential([jt.keras.Input((3,)), jt.keras.layers.Dense(2)])
    assert model.get_compile_config() is None
    adam = jt.keras.optimizers.Adam(0.5, name="mine")
    mean = jt.keras.metrics.MeanSquaredError()
    model.compile(adam, jt.keras.losses.Huber(delta=0.5), metrics=["mae", mean], loss_weights=[2.0])
    config = json.loads(json.dumps(model.get_compile_config()))
    other = jt.keras.models.clone_model(model)
    other.compile_from_config(config)
    other.set_weights(model.get_weights())
    x, y = np.ones((10, 3)), np.zeros((10, 2))
    assert other.evaluate(x, y, verbose=0) == model.evaluate(x, y, verbose=0)
    assert (other.optimizer.name, len(other.optimizer.variables)) == ("mine", 6)
    assert len(model.variables) == len(model.metrics) == 2


def test_a_class_that_defines_compile_is_not_compiled_from_a_config():
    class Mine(jt.keras.Sequential):
        def compile(self):
            super().compile("sgd", "mse")

    model = Mine([jt.keras.Input((3,)), jt.keras.layers.Dense(2)])
    model.compile()
    with pytest.warns(UserWarning, match="Mine defines compile"):
        model.compile_from_config(model.get_compile_config())


def test_fit_ends_with_the_averages_of_the_weights() -> None:
    x, y = np.ones((4, 1), np.float32), np.zeros((4, 1), np.float32)
    net = jt.keras.Sequential([jt.keras.layers.Input((1,)), jt.keras.layers.Dense(1, use_bias=False)])
    net.set_weights([np.array([[1.0]])])
    net.compile(jt.keras.optimizers.SGD(0.25, use_ema=True, ema_momentum=0.5), "mse")
    net.fit(x, y, epochs=3, verbose=0)
    # the weights are halved by each step: 0.5, 0.25, 0.125; the average begins with the first one
    np.testing.assert_allclose(net.get_weights()[0], [[(0.375 + 0.125) / 2]], rtol=1e-6)
    assert np.allclose(net.predict(x, verbose=0), 0.25)


def test_metrics_may_be_a_list_for_the_one_output() -> None:
    x, y = np.ones((4, 1), np.float32), np.zeros((4, 1), np.float32)
    net = jt.keras.Sequential([jt.keras.layers.Input((1,)), jt.keras.layers.Dense(1)])
    net.compile("sgd", "mse", metrics=[["mae", "mse"]], weighted_metrics=[["mape"]])
    assert list(net.evaluate(x, y, verbose=0, return_dict=True)) == ["loss", "mae", "mape", "mse"]


def test_validation_data_in_a_list_and_small_losses(capsys):
    x, y = np.ones((8, 2), np.float32), np.ones((8, 1), np.float32)
    model = keras.Sequential([keras.layers.Dense(1)])
    model.build((None, 2))
    model.set_weights([np.zeros((2, 1)), np.array([1.002])])
    model.compile(keras.optimizers.SGD(0.0), "mse")
    for held_out in ([x, y], (x, y), [x, y, np.ones(8)]):
        history = model.fit(x, y, validation_data=held_out, verbose=2).history
        np.testing.assert_allclose(history["val_loss"], 4e-6, rtol=1e-4)
    assert "e-06 - val_loss: " in capsys.readouterr().out
    for wrong in ([], [x, y, y, y]):
        with pytest.raises(ValueError, match=r"validation_data must be a Dataset, \(x, y\)"):
            model.fit(x, y, validation_data=wrong, verbose=0)
