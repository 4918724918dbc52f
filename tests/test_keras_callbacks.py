"""`jt.keras.callbacks`, and the methods of a model for single batches."""

import numpy as np
import pytest

import jittape as jt

keras = jt.keras
callbacks = keras.callbacks
X = np.linspace(-1, 1, 24, dtype="float32").reshape(12, 2)
Y = X @ np.float32([[2.0], [-1.0]]) + 1


def line(rate=0.1):
    model = keras.Sequential([keras.layers.Dense(1, kernel_initializer="zeros")])
    model.compile(keras.optimizers.SGD(rate), "mse", metrics=["mae"])
    return model


def fit(*given, **options):
    """Fit a line, in whose epochs a callback replaces the losses by `values`."""
    model = options.pop("model", None) or line()
    return model.fit(X, Y, batch_size=6, verbose=0, callbacks=list(given), **{"epochs": 3, **options})


class Values(callbacks.Callback):
    """Replace the loss of the epochs."""

    def __init__(self, *values):
        self.values = values

    def on_epoch_end(self, epoch, logs=None):
        logs["loss"] = self.values[epoch]


def test_all_methods_are_called_in_order():
    seen = []
    names = [
        f"on_{part}_{at}"
        for part in ("epoch", "train", "train_batch", "test", "test_batch", "predict", "predict_batch")
        for at in ("begin", "end")
    ]

    def record(name):
        return lambda *args: seen.append((name[3:], *[a for a in args if isinstance(a, int)]))

    every = callbacks.LambdaCallback(**{name: record(name) for name in names})
    model = line()
    fit(every, model=model, epochs=1, validation_data=(X, Y))
    assert seen == [
        *[("train_begin",), ("epoch_begin", 0)],
        *[(f"train_batch_{at}", i) for i in range(2) for at in ("begin", "end")],
        *[("test_begin",), *[(f"test_batch_{at}", i) for i in range(2) for at in ("begin", "end")]],
        *[("test_end",), ("epoch_end", 0), ("train_end",)],
    ]
    seen.clear()
    model.predict(X, verbose=0, callbacks=[every])
    model.evaluate(X, Y, verbose=0, callbacks=every)
    assert [name for name, *_ in seen] == [
        *["predict_begin", "predict_batch_begin", "predict_batch_end", "predict_end"],
        *["test_begin", "test_batch_begin", "test_batch_end", "test_end"],
    ]


def test_a_callback_knows_its_model_and_gets_numbers():
    class Mine(callbacks.Callback):
        def on_batch_end(self, batch, logs=None):
            assert self.model is model
            assert self.params == {"epochs": 3, "steps": 2, "verbose": 0}
            assert {name: type(value) for name, value in logs.items()} == {"loss": float, "mae": float}

    model = line()
    history = fit(Mine(), model=model)
    assert model.history is history
    assert history.epoch == [0, 1, 2]


@pytest.mark.parametrize(
    ("options", "values", "epochs", "best"),
    [
        ({}, [3.0, 2.0, 2.0, 1.0], [0, 1, 2], 1),
        ({"patience": 2}, [3.0, 2.0, 2.5, 2.0, 1.0], [0, 1, 2, 3], 1),
        ({"patience": 2, "min_delta": 0.5}, [3.0, 2.8, 2.6, 2.4], [0, 1, 2], 0),
        ({"mode": "max", "patience": 1}, [1.0, 2.0, 1.0, 3.0], [0, 1, 2], 1),
        ({"baseline": 1.0, "patience": 2}, [4.0, 3.0, 2.0, 1.5, 1.4], [0, 1, 2, 3, 4], 4),
        ({"start_from_epoch": 2}, [1.0, 2.0, 3.0, 4.0], [0, 1, 2, 3], 2),
    ],
)
def test_early_stopping(options, values, epochs, best):
    """The epochs are those of TensorFlow 2.21."""
    weights = []

    class Weights(callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            weights.append(self.model.get_weights())

    stop = callbacks.EarlyStopping("loss", restore_best_weights=True, **options)
    model = line()
    history = fit(Values(*values), Weights(), stop, model=model, epochs=len(values))
    assert (history.epoch, stop.best_epoch) == (epochs, best)
    for mine, expected in zip(model.get_weights(), weights[best], strict=True):
        np.testing.assert_array_equal(mine, expected)


def test_the_direction_of_a_metric():
    model = keras.Sequential([keras.layers.Dense(2)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    stop = callbacks.EarlyStopping("accuracy", patience=5)
    model.fit(X, (Y[:, 0] > 0).astype(int), epochs=2, verbose=0, callbacks=[stop])
    assert stop.mode == "max"
    stop = callbacks.EarlyStopping("mae", patience=5)
    fit(stop)
    assert stop.mode == "min"
    with pytest.raises(ValueError, match="mode='auto' knows no direction of 'mine'"):
        fit(
            callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: logs.update(mine=1.0)),
            callbacks.EarlyStopping("mine"),
        )


def test_checkpoints(tmp_path):
    model = line()
    saved = callbacks.ModelCheckpoint(tmp_path / "{epoch:02d}.npz", "loss", save_best_only=True)
    fit(Values(3.0, 4.0, 2.0), saved, model=model)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["01.npz", "03.npz"]
    other = line()
    other(X)
    other.load_weights(tmp_path / "03.npz")
    np.testing.assert_array_equal(other.predict(X, verbose=0), model.predict(X, verbose=0))
    fit(callbacks.ModelCheckpoint(tmp_path / "batch.npz", save_freq=5))
    assert (tmp_path / "batch.npz").exists()
    with pytest.raises(KeyError, match="none of the values of an epoch: epoch, loss, mae"):
        fit(callbacks.ModelCheckpoint(tmp_path / "{val_loss}.npz"))


def test_learning_rates():
    history = fit(callbacks.LearningRateScheduler(lambda epoch: 0.5**epoch))
    assert history.history["learning_rate"] == [1.0, 0.5, 0.25]
    plateau = callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=1, cooldown=1, min_lr=0.03)
    history = fit(Values(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0), plateau, epochs=7)
    expected = [0.1, 0.1, 0.05, 0.03, 0.03, 0.03, 0.03]  # of TensorFlow 2.21
    np.testing.assert_allclose(history.history["learning_rate"], expected)
    model = line(keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5))
    with pytest.raises(TypeError, match=r"\[LearningRateScheduler\] at epoch 0: .* schedule"):
        fit(callbacks.LearningRateScheduler(lambda epoch, rate: rate), model=model)


def test_a_log_file(tmp_path):
    for append in (False, True):
        fit(callbacks.CSVLogger(tmp_path / "log.csv", append=append), epochs=2)
    lines = (tmp_path / "log.csv").read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[0] for line in lines] == ["epoch", "0", "1", "0", "1"]


def test_nan_ends_the_training_at_its_batch():
    y = Y.copy()
    y[7] = np.nan
    seen = []
    count = callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: seen.append(batch))
    assert fit(callbacks.TerminateOnNaN(), count, model=_on(y), shuffle=False, epochs=4).epoch == [0]
    assert seen == [0, 1]


def _on(y):
    """Return a model that is fitted to `y` instead of the given values."""
    model = line()
    inner = model.fit
    model.fit = lambda x, _, **options: inner(x, y, **options)
    return model


def test_single_batches():
    model, other = line(), line()
    for net in (model, other):
        net(X)
    first = model.train_on_batch(X, Y)
    assert first == pytest.approx([float(((Y) ** 2).mean()), float(np.abs(Y).mean())], rel=1e-5)
    other.fit(X, Y, batch_size=12, verbose=0)
    np.testing.assert_allclose(model.get_weights()[0], other.get_weights()[0], rtol=1e-6)
    for _ in range(2):  # the values are those of the batch, as in Keras
        assert model.test_on_batch(X, Y, return_dict=True) == pytest.approx(
            other.evaluate(X, Y, verbose=0, return_dict=True), rel=1e-5
        )
    np.testing.assert_array_equal(model.predict_on_batch(X), model.predict(X, verbose=0))
    with pytest.raises(ValueError, match="must be compiled before train_on_batch"):
        keras.Sequential([keras.layers.Dense(1)]).train_on_batch(X, Y)


@pytest.mark.parametrize("one_hot", [False, True])
def test_class_weights_are_sample_weights(one_hot):
    labels = (Y[:, 0] > 1).astype(int) + (Y[:, 0] > 2)
    loss = keras.losses.CategoricalCrossentropy if one_hot else keras.losses.SparseCategoricalCrossentropy
    y = np.eye(3, dtype="float32")[labels] if one_hot else labels
    found = []
    for options in (
        {"class_weight": {1: 3.0, 0: 0.5}},
        {"sample_weight": np.array([0.5, 3.0, 1.0])[labels]},
    ):
        model = keras.Sequential([keras.layers.Dense(3, kernel_initializer="ones")])
        model.compile("sgd", loss(from_logits=True))
        model.fit(X, y, verbose=0, shuffle=False, epochs=2, **options)
        found.append(model.get_weights()[0])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: fit(callbacks.EarlyStopping()), ValueError, "monitor='val_loss' is none of .* loss, mae"),
        (lambda: fit(callbacks.EarlyStopping), TypeError, r"write EarlyStopping\(\)"),
        (lambda: callbacks.EarlyStopping(mode="up"), ValueError, "mode must be"),
        (lambda: callbacks.ReduceLROnPlateau(factor=1.0), ValueError, "less than 1"),
        (
            lambda: callbacks.ModelCheckpoint("model.keras"),
            ValueError,
            r"\.npz, \.safetensors or \.weights\.h5",
        ),
        (lambda: callbacks.ModelCheckpoint("model.npz", save_freq=0), ValueError, "at least 1"),
        (lambda: callbacks.LambdaCallback(on_epoch=print), TypeError, "'on_epoch' is none of"),
        (lambda: callbacks.LambdaCallback(on_epoch_end=3), TypeError, "must be callable"),
        (lambda: callbacks.LearningRateScheduler(0.1), TypeError, "must be callable"),
        (
            lambda: fit(callbacks.LearningRateScheduler(lambda epoch: None)),
            TypeError,
            r"\[LearningRateScheduler\] at epoch 0",
        ),
        (lambda: fit(class_weight=[1.0]), TypeError, "dict of weights"),
        (lambda: fit(class_weight={-1: 1.0}), ValueError, "not be negative"),
        (lambda: fit(class_weight={1: 1.0}, sample_weight=np.ones(12)), ValueError, "got 3 parts"),
        (lambda: callbacks.TensorBoard(), AttributeError, "has no 'TensorBoard'"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_progress_bar_of_ones_own_loop_shows_the_means_of_keras(capsys):
    """TensorFlow 2.21 shows these numbers."""
    Progbar = keras.utils.Progbar

    def last_line():
        return capsys.readouterr().out.replace("\r", "\n").rstrip("\n").split("\n")[-1]

    bar = Progbar(4)
    for i in range(4):
        bar.update(i + 1, [("loss", float(i)), ("acc", jt.constant(0.5 * i))])
    assert last_line() == "4/4 loss: 3.0000 - acc: 1.5000"
    bar = Progbar(6, stateful_metrics=["lr"])
    for i in range(3):
        bar.add(2, [("loss", float(i)), ("lr", 1.0 / (i + 1))])
    assert last_line() == "6/6 loss: 2.0000 - lr: 0.3333"
    bar = Progbar(None, interval=0.0)
    for i in range(3):
        bar.update(i + 1, [("loss", 1e-5 * (i + 1))])
    assert last_line() == "3/? loss: 2.0000e-05"
    bar.update(3, finalize=True)
    assert last_line() == "3/? loss: 2.0000e-05"
    bar = Progbar(3)
    for current, values in ((0, [("a", 1.0)]), (1, [("a", 2.0)]), (3, [("b", 2.0)])):
        bar.update(current, values=values)
    assert last_line() == "3/3 a: 1.5000 - b: 2.0000"
    for verbose, lines in ((0, 0), (2, 1)):
        bar = Progbar(3, verbose=verbose)
        for i in range(3):
            bar.add(1, [("loss", float(i))])
        assert len(capsys.readouterr().out.splitlines()) == lines
    with pytest.raises(TypeError):
        Progbar(2.5)
