"""Arguments of layers, cells, constraints and `compile`: Keras's order, and errors that name what is wrong."""

import numpy as np
import pytest

import jittape as jt

keras, layers = jt.keras, jt.keras.layers
IMAGE = np.ones((1, 4, 4, 2), "float32")
ROWS = np.ones((4, 3), "float32")


def network():
    return keras.Sequential([layers.Input((3,)), layers.Dense(1)])


def compiled():
    model = network()
    model.compile("sgd", "mse")
    return model


def twice(layer):
    layer(np.ones((2, 3, 4), "float32"))
    return layer(np.ones((2, 3, 5), "float32"))


def test_what_is_refused_changes_nothing():
    """Weights, the state of the optimizer and its iterations are as before a step that fails."""
    model = keras.Sequential([layers.Input((3,)), layers.Dense(3, "softmax")])
    model.compile(keras.optimizers.Adam(0.1), "sparse_categorical_crossentropy", metrics=["accuracy"])
    labels = np.array([0, 1, 2, 1])
    model.fit(ROWS, labels, verbose=0)
    before = [v.numpy() for v in (*model.variables, *model.optimizer.variables)]
    for x, y in (
        (ROWS, labels + 2),
        (ROWS, labels[:3]),
        (ROWS[:, :2], labels),
        (ROWS, None),
        (ROWS[:0], labels[:0]),
    ):
        with pytest.raises((ValueError, IndexError)):
            model.fit(x, y, verbose=0)
        after = [v.numpy() for v in (*model.variables, *model.optimizer.variables)]
        assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    model.fit(ROWS, labels, verbose=0)
    assert int(model.optimizer.iterations) == 2


def test_arguments_by_position():
    assert layers.BatchNormalization(-1, 0.9, 1e-3, False, False)(ROWS).shape == (4, 3)
    cell = layers.LSTMCell(4, "relu", "hard_sigmoid", False)
    assert (cell.activation, cell.use_bias) == (keras.activations.relu, False)
    assert cell.recurrent_activation is keras.activations.hard_sigmoid
    assert layers.DepthwiseConv2D(3, 1, "same", 2, "channels_last", 1, "relu", False)(IMAGE).shape == (
        1,
        4,
        4,
        4,
    )
    separable = layers.SeparableConv2D(5, 3, 1, "same", "channels_last", 1, 2, "relu")
    assert separable(IMAGE).shape == (1, 4, 4, 5)
    volume = layers.Conv3DTranspose(2, 2, 2, "valid", "channels_last", 1)
    assert volume(np.ones((1, 2, 2, 2, 1), "float32")).shape == (1, 5, 5, 5, 2)
    model = network()
    model.compile("sgd", "mse", [2.0], ["mae"])
    assert model.evaluate(ROWS, ROWS[:, :1], 2, 0, None, 1, None, True).keys() == {"loss", "mae"}


def test_the_factor_of_the_loss():
    values = []
    for factor in (None, 3.0):
        model = network()
        model.set_weights([np.full((3, 1), 0.5), np.zeros(1)])
        model.compile("sgd", "mse", loss_weights=factor)
        values.append(model.evaluate(ROWS, ROWS[:, :1], verbose=0))
    assert values[1] == pytest.approx(3 * values[0])


def test_some_batches():
    model = network()
    model.compile("sgd", "mse")
    assert model.predict(ROWS, 1, 0, steps=3).shape == (3, 1)
    with pytest.raises(ValueError, match=r"\[predict\] steps must be at least 1, got 0"):
        model.predict(ROWS, verbose=0, steps=0)
    with pytest.raises(ValueError, match=r"\[evaluate\] steps must be at least 1, got -1"):
        model.evaluate(ROWS, ROWS[:, :1], verbose=0, steps=-1)


def test_a_compile_that_fails_changes_nothing():
    model = network()
    model.compile("sgd", "mse", metrics=["mae"])
    before = model.optimizer, model.loss, model.metrics
    for options in (
        {"loss": "mse", "metrics": ["acuracy"]},
        {"loss": ["mse", "mae"]},
        {"loss": "mse", "loss_weights": "x"},
    ):
        with pytest.raises((ValueError, TypeError)):
            model.compile("adam", **options)
        assert (model.optimizer, model.loss) == before[:2]
        assert all(a is b for a, b in zip(model.metrics[1].metrics, before[2][1].metrics, strict=True))


def test_summary_by_a_function():
    lines = []
    network().summary(print_fn=lines.append, show_trainable=True)
    assert lines[-1] == "Parameters: 4, of which 4 are trained"


def test_steps_of_a_cell_of_ones_own():
    """Values of the loop that the cell describes, with and without a mask."""

    class Decay(layers.Layer):
        state_size = 2

        def call(self, inputs, states):
            following = 0.5 * states[0] + inputs
            return following * 10.0, [following]

    x = np.arange(6.0).reshape(1, 3, 2).astype("float32")
    mask = np.array([[True, False, True]])
    for given in (None, mask):
        state, outputs, output = np.zeros((1, 2)), [], np.zeros((1, 2))
        for step in range(3):
            if given is None or given[0, step]:
                state = 0.5 * state + x[:, step]
                output = state * 10
            outputs.append(output)
        found, last = layers.RNN(Decay(), return_sequences=True, return_state=True)(x, mask=given)
        np.testing.assert_allclose(found.numpy()[0], np.stack(outputs)[:, 0])
        np.testing.assert_allclose(last.numpy(), state)
        np.testing.assert_allclose(layers.RNN(Decay())(x, mask=given).numpy(), output)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: layers.SimpleRNNCell(2, recurrent_activation="relu"), TypeError, "the cell has no gates"),
        (
            lambda: layers.RNN(layers.Dense(2)),
            TypeError,
            r"\[RNN\] cell must be a SimpleRNNCell.* a list of cells",
        ),
        (lambda: layers.RNN([]), ValueError, r"\[StackedRNNCells\] cells must be a list of cells"),
        (
            lambda: layers.ZeroPadding2D((1, 2, 3)),
            ValueError,
            r"\[ZeroPadding2D\] padding must be an int, or",
        ),
        (
            lambda: layers.ZeroPadding2D(-1),
            ValueError,
            r"\[ZeroPadding2D\] padding must be .* at least 0, got -1",
        ),
        (lambda: layers.ZeroPadding2D(1)(ROWS), ValueError, "takes inputs with 4 dimensions"),
        (
            lambda: layers.Cropping2D(2)(IMAGE),
            ValueError,
            r"cropping .* leaves nothing of inputs of shape \(1, 4, 4, 2\)",
        ),
        (lambda: layers.UpSampling2D(0), ValueError, r"\[UpSampling2D\] size must be positive"),
        (
            lambda: layers.UpSampling2D(2, interpolation="bicubic"),
            ValueError,
            "interpolation must be 'nearest' or 'bilinear'",
        ),
        (lambda: layers.SpatialDropout2D(0.5)(ROWS), ValueError, "takes inputs with 4 dimensions"),
        (lambda: layers.GaussianDropout(1.0), ValueError, "GaussianDropout: `rate` must be"),
        (lambda: layers.Lambda(3), TypeError, r"\[Lambda\] function must be callable, got 3"),
        (
            lambda: layers.Normalization(axis=5)(ROWS),
            ValueError,
            r"axis \[5\] does not exist in inputs of 2 dimensions",
        ),
        (
            lambda: layers.Normalization(axis=1).build((None, None)),
            ValueError,
            r"along axis \[1\] must be known",
        ),
        (
            lambda: layers.Normalization(mean=1.0, variance=1.0).adapt(ROWS),
            ValueError,
            "a given mean and variance",
        ),
        (lambda: layers.Normalization(mean=1.0), ValueError, "both mean and variance"),
        (lambda: layers.Normalization().adapt(np.ones((0, 3))), ValueError, "adapt needs at least one row"),
        (
            lambda: keras.constraints.get("max"),
            ValueError,
            "there is no constraint 'max'; there are MaxNorm, max_norm",
        ),
        (
            lambda: layers.Dense(2, kernel_constraint=3),
            TypeError,
            "a constraint must be a function of the weight, got 3",
        ),
        (
            lambda: network().compile("sgd", ["mse", "mae"]),
            ValueError,
            "loss must be one loss, got 2: for a model of several",
        ),
        (lambda: network().compile("sgd", "mse", ["a", "b"]), ValueError, "metrics are the next argument"),
        (
            lambda: keras.metrics.FBetaScore("mean"),
            ValueError,
            r"\[FBetaScore\] average must be None, 'micro'",
        ),
        (
            lambda: keras.metrics.F1Score()([0, 1], [0.5, 0.5]),
            ValueError,
            r"equal shapes \(batch, classes\), got \(2,\)",
        ),
        (lambda: keras.metrics.F1Score().result(), RuntimeError, "call update_state before result"),
        (lambda: keras.metrics.R2Score("mean"), ValueError, r"\[R2Score\] class_aggregation must be"),
        (lambda: keras.metrics.R2Score()(ROWS, ROWS[:2]), ValueError, r"got \(4, 3\) and \(2, 3\)"),
        (
            lambda: keras.metrics.IoU(2, [2]),
            ValueError,
            r"\[IoU\] target_class_ids must be classes from 0 to below 2, got \[2\]",
        ),
        (
            lambda: keras.metrics.MeanIoU(2)([0, 1], [0, 1, 1]),
            ValueError,
            "equally many elements, got 2 and 3",
        ),
        (lambda: keras.metrics.PrecisionAtRecall(1.5), ValueError, "recall must be from 0 to 1, got 1.5"),
        (
            lambda: compiled().fit(ROWS, ROWS[:3, :1], verbose=0),
            ValueError,
            r"\[fit\] .* rows, got 4 of x, 3 of y",
        ),
        (
            lambda: compiled().evaluate(ROWS, ROWS[:, :1], sample_weight=np.ones(2), verbose=0),
            ValueError,
            r"\[evaluate\] all arrays must have the same number of rows, got 4 of x, 4 of y, 2 of sample_weight",
        ),
        (
            lambda: compiled().fit(ROWS, verbose=0),
            ValueError,
            r"compiled with a loss, which needs y: give y, or batches",
        ),
        (
            lambda: compiled().fit(jt.data.Dataset.from_tensor_slices(ROWS).batch(2), verbose=0),
            ValueError,
            "which needs y",
        ),
        (
            lambda: compiled().fit(ROWS, ROWS[:, :1], verbose=0, callbacks=[3]),
            TypeError,
            r"\[fit\] callbacks must be objects such as EarlyStopping\(\), got 3",
        ),
        (
            lambda: keras.metrics.Precision()([0, 1, 1], [0.1, 0.2]),
            ValueError,
            r"equal shapes, got \(3,\) and \(2,\)",
        ),
        (
            lambda: keras.metrics.AUC()([0, 1, 1], [0.1, 0.2]),
            ValueError,
            r"\[AUC\] y_true and y_pred must have equal",
        ),
        (
            lambda: layers.GRU(2)(np.ones((2, 3, 4)), initial_state=np.ones((3, 2))),
            ValueError,
            r"takes initial_state of shape \(2, 2\), got \(3, 2\)",
        ),
        (
            lambda: twice(layers.LSTM(2)),
            ValueError,
            r"takes sequences with 4 features, got shape \(2, 3, 5\)",
        ),
        (
            lambda: list(jt.data.Dataset.range(2).map(print)),
            TypeError,
            r"\[Dataset.map\] map_func must return a structure of tensors, got None from <built-in function print>",
        ),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_cells_have_the_sizes_and_states_of_keras():
    x = np.ones((2, 4), "float32")
    for kind, size in ((layers.GRUCell, 3), (layers.SimpleRNNCell, 3), (layers.LSTMCell, [3, 3])):
        cell = kind(3)
        assert (cell.state_size, cell.output_size) == (size, 3)
        states = cell.get_initial_state(batch_size=2)
        output, following = cell(x, states)
        assert (len(states), type(following)) == (len(following), list)
        if size == 3:  # one tensor in, one tensor out
            alone = cell(x, states[0])[1]
            np.testing.assert_array_equal(alone.numpy(), output.numpy())
        assert layers.RNN([cell, kind(2)])(np.ones((2, 5, 4), "float32")).shape == (2, 2)


def test_batches_are_packed_and_unpacked():
    unpack, pack = keras.utils.unpack_x_y_sample_weight, keras.utils.pack_x_y_sample_weight
    assert [unpack(data) for data in (1, (1,), (1, 2), [1, 2, 3])] == [
        (1, None, None), (1, None, None), (1, 2, None), (1, 2, 3),
    ]  # fmt: skip
    assert [pack(1), pack([1]), pack((1, 2)), pack(1, 2), pack(1, 2, 3), pack(1, None, 3)] == [
        1, ([1],), ((1, 2),), (1, 2), (1, 2, 3), 1,
    ]  # fmt: skip
    with pytest.raises(ValueError, match="got 4 parts"):
        unpack((1, 2, 3, 4))


def test_the_output_shape_of_einsum_dense_has_an_extent_for_each_label():
    with pytest.raises(
        ValueError, match=r"output_shape \(3, 4\) must have one extent for each of the labels 'd'"
    ):
        layers.EinsumDense("...c,cd->...d", (3, 4))(np.ones((1, 3, 2), "float32"))
    assert layers.EinsumDense("...c,cd->...d", (4,))(np.ones((1, 3, 2), "float32")).shape == (1, 3, 4)


def test_build_creates_the_weights_of_layers_within_layers():
    for layer, shapes, count in (
        (layers.TimeDistributed(layers.Dense(2)), [(None, 3, 4)], 2),
        (layers.TimeDistributed(keras.Sequential([layers.Conv1D(2, 2)])), [(None, 3, 5, 4)], 2),
        (layers.MultiHeadAttention(2, 3), [(None, 3, 4), (None, 5, 6)], 8),
        (layers.Bidirectional(layers.GRU(2)), [(None, 3, 4)], 6),
    ):
        layer.build(*shapes)
        assert (layer.built, len(layer.weights)) == (True, count)
        before = layer.get_weights()
        layer(*[np.ones((2, *shape[1:]), "float32") for shape in shapes])
        for old, new in zip(before, layer.get_weights(), strict=True):
            np.testing.assert_array_equal(old, new)
