"""Masks that layers pass on; the programs `masked_sequences` compare their values with TensorFlow's."""

import gc
import warnings

import numpy as np
import pytest

import jittape as jt
from jittape.keras.tensor_masks import MASKS, mask_of, set_mask

keras, layers = jt.keras, jt.keras.layers
WORDS = np.array([[1, 2, 3, 0], [4, 0, 0, 0]])


def test_a_mask_lives_as_long_as_its_tensor():
    gc.collect()
    x = jt.constant([1.0, 2.0])
    set_mask(x, jt.constant([True, False]))
    assert MASKS
    assert mask_of(x).numpy().tolist() == [True, False]
    set_mask(x, None)
    assert mask_of(x) is None
    set_mask(x, jt.constant([True, True]))
    del x
    gc.collect()
    assert not MASKS


def test_a_mask_is_that_of_the_padding():
    embedding = layers.Embedding(5, 2, mask_zero=True)
    assert mask_of(embedding(WORDS) * 1.0) is None
    assert mask_of(embedding(WORDS)).numpy().tolist() == (WORDS != 0).tolist()
    assert embedding.compute_mask(WORDS).numpy().tolist() == (WORDS != 0).tolist()
    plain = layers.Embedding(5, 2)
    assert (mask_of(plain(WORDS)), plain.compute_mask(WORDS), plain.supports_masking) == (None, None, False)


@pytest.mark.parametrize("kind", [layers.LSTM, layers.GRU, layers.SimpleRNN])
@pytest.mark.parametrize("decorated", [False, True])
def test_padding_changes_nothing(kind, decorated):
    """A row with padding gives what the row alone gives, forward and backward."""
    embedding, layer = layers.Embedding(5, 3, mask_zero=True), kind(4)
    head = layers.Dense(1)

    def loss_and_gradients(words):
        with jt.GradientTape() as tape:
            loss = jt.reduce_sum(head(layer(embedding(words))))
        return loss, *tape.gradient(loss, [embedding.embeddings, *layer.trainable_variables])

    for words in (WORDS, WORDS[:1, :3]):
        loss_and_gradients(words)
    f = jt.function(loss_and_gradients) if decorated else loss_and_gradients
    for _ in range(3):
        whole = f(WORDS)
        alone = [a + b for a, b in zip(f(WORDS[:1, :3]), f(WORDS[1:, :1]), strict=True)]
        for mine, expected in zip(whole, alone, strict=True):
            np.testing.assert_allclose(mine.numpy(), expected.numpy(), rtol=2e-5, atol=1e-6)


def test_a_mask_that_the_caller_gives_goes_on():
    x = np.ones((2, 4, 3), "float32")
    outputs = layers.GRU(2, return_sequences=True)(x, mask=WORDS != 0)
    assert mask_of(outputs).numpy().tolist() == (WORDS != 0).tolist()
    assert mask_of(layers.GRU(2)(x, mask=WORDS != 0)) is None
    first, state = layers.GRU(2, return_sequences=True, return_state=True)(x, mask=WORDS != 0)
    assert mask_of(first) is not None
    assert mask_of(state) is None


def test_a_layer_that_loses_a_mask_says_so():
    vectors = layers.Embedding(5, 2, mask_zero=True)(WORDS)
    with pytest.warns(UserWarning, match=r"\[Flatten\] .* does not pass masks on"):
        layers.Flatten()(vectors)

    class Inner(layers.Layer):
        def __init__(self):
            super().__init__()
            self.inner = layers.Dense(2)

        def call(self, inputs):
            return self.inner(inputs)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mask_of(Inner()(vectors)) is not None
        assert mask_of(layers.GlobalAveragePooling1D()(vectors)) is None


def test_inputs_of_another_dtype_keep_their_mask():
    vectors = layers.Embedding(5, 2, mask_zero=True)(WORDS)
    assert mask_of(layers.Dense(2, dtype="float64")(vectors)) is not None


def test_numbers_in_the_padding_do_not_count():
    """Not a number in a step that does not count affects no loss, metric or gradient."""
    y, y_pred = np.ones((2, 4)), jt.Variable(np.where(WORDS, 0.5, np.nan)[:, :, None])
    metric = keras.metrics.MeanSquaredError(dtype="float64")
    with jt.GradientTape() as tape:
        predicted = y_pred * 1.0
        set_mask(predicted, jt.constant(WORDS != 0))
        loss = keras.losses.MeanSquaredError()(y[:, :, None], predicted)
        metric.update_state(y[:, :, None], predicted)
    assert float(loss) == 0.25
    assert float(metric.result()) == 0.25
    gradient = tape.gradient(loss, y_pred).numpy()[:, :, 0]
    np.testing.assert_allclose(gradient, np.where(WORDS, -0.25, 0.0))


def test_weights_of_rows_and_masks():
    y, y_pred = np.zeros((2, 4, 1)), jt.constant(WORDS[:, :, None].astype("float64"))
    set_mask(y_pred, jt.constant(WORDS != 0))
    loss = keras.losses.MeanSquaredError()(y, y_pred, sample_weight=[1.0, 0.5])
    assert float(loss) == pytest.approx((1 + 4 + 9 + 8) / 4)
    metric = keras.metrics.MeanSquaredError(dtype="float64")
    metric.update_state(y, y_pred, sample_weight=[1.0, 0.5])
    assert float(metric.result()) == pytest.approx((14 / 4 + 8 / 4) / (3 / 4 + 0.5 / 4))


def test_masks_that_do_not_fit():
    y_pred = jt.ones([2, 4, 3])
    set_mask(y_pred, jt.constant([[True, False, True]]))
    message = (
        r"the mask of y_pred must have the first dimensions of the values, got a mask of shape \(1, 3\) for"
    )
    with pytest.raises(
        jt.errors.ShapeError, match=rf"\[MeanSquaredError\] {message} values of shape \(2, 4\)"
    ):
        keras.losses.MeanSquaredError()(np.ones((2, 4, 3)), y_pred)
    with pytest.raises(jt.errors.ShapeError, match=rf"\[MeanAbsoluteError\] {message}"):
        keras.metrics.MeanAbsoluteError().update_state(np.ones((2, 4, 3)), y_pred)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: layers.Bidirectional(layers.Dense(2)),
            TypeError,
            r"\[Bidirectional\] layer must be a recurrent",
        ),
        (lambda: layers.Bidirectional(layers.GRU(2), "max"), ValueError, "merge_mode must be one of"),
        (
            lambda: layers.Bidirectional(layers.GRU(2), backward_layer=layers.GRU(2)),
            ValueError,
            "go_backwards=True",
        ),
        (
            lambda: layers.Bidirectional(
                layers.GRU(2), backward_layer=layers.GRU(2, go_backwards=True, return_sequences=True)
            ),
            ValueError,
            "must have the same return_sequences",
        ),
        (lambda: layers.TimeDistributed(np.sin), TypeError, r"\[TimeDistributed\] layer must be a layer"),
        (
            lambda: layers.TimeDistributed(layers.Dense(2))(np.ones((2, 3))),
            ValueError,
            r"takes inputs of shape \(batch, time, ...\), got shape \(2, 3\)",
        ),
        (lambda: layers.RepeatVector(0), ValueError, "n must be positive"),
        (
            lambda: layers.RepeatVector(2)(np.ones((2, 3, 4))),
            ValueError,
            r"takes inputs of shape \(batch, feat",
        ),
        (lambda: layers.Permute((1, 3)), ValueError, "dims must contain each number from 1 to 2"),
        (lambda: layers.Permute((2, 1))(np.ones((2, 3))), ValueError, "takes inputs of 3 dimensions"),
        (
            lambda: keras.utils.pad_sequences([[1]], padding="left"),
            ValueError,
            "padding must be 'pre' or 'post'",
        ),
        (lambda: keras.utils.pad_sequences([1, 2]), ValueError, "must be a list of lists"),
        (lambda: keras.utils.pad_sequences([[[1]], [[1, 2]]]), ValueError, "must have one shape"),
        (
            lambda: keras.utils.timeseries_dataset_from_array(np.ones(3), None, 4),
            ValueError,
            "data has 3 elements from start_index to end_index, fewer than a window of 4",
        ),
        (
            lambda: keras.utils.timeseries_dataset_from_array(np.ones(3), None, 2, sampling_rate=0),
            ValueError,
            "sampling_rate must be positive, got 0",
        ),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_both_directions_have_weights_and_dropout_of_their_own():
    layer = layers.Bidirectional(layers.LSTM(3, dropout=0.5))
    layer(np.ones((2, 4, 5)), training=True)
    kernels = [one.cell.kernel.numpy() for one in (layer.forward_layer, layer.backward_layer)]
    assert not np.allclose(*kernels)
    assert len(layer.trainable_variables) == 6


def test_a_layer_at_each_step_keeps_its_moving_averages():
    layer = layers.TimeDistributed(layers.BatchNormalization(momentum=0.5))
    x = np.random.default_rng(0).normal(size=(6, 3, 2)).astype("float32")
    single = layers.BatchNormalization(momentum=0.5)
    rows = [single(x[:, step], training=True).numpy() for step in range(3)]
    np.testing.assert_allclose(layer(x, training=True).numpy(), np.stack(rows, 1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(layer.layer.moving_mean.numpy(), single.moving_mean.numpy(), rtol=1e-5)


@pytest.mark.parametrize(
    ("weights", "mean", "total"),
    [  # of TensorFlow 2.21
        (None, 6.5, 13.0),
        (0.5, 5.5, 2.75),
        ([[0.5, 2.0, 1.0], [1.0, 3.0, 4.0]], 7.722222, 11.583333),
        ([[0.5], [2.0]], 7.5, 7.5),
    ],
)
def test_the_mask_of_weighted_values_is_part_of_the_weights(weights, mean, total):
    class Masked(layers.Layer):
        def compute_mask(self, inputs, previous_mask=None):
            return jt.constant([[True, False, True], [False, True, False]])

        def call(self, inputs):
            return inputs * 1.0

    metric = jt.keras.metrics.Mean()
    metric.update_state(
        Masked()(np.arange(1.0, 13.0, dtype="float32").reshape(2, 3, 2)), sample_weight=weights
    )
    found = float(metric.result()), float(metric.total)
    np.testing.assert_allclose(found, (mean, total), rtol=1e-5)


MERGES = {"Multiply": np.multiply, "Maximum": np.maximum, "Minimum": np.minimum}


@pytest.mark.parametrize("kind", MERGES)
@pytest.mark.parametrize(
    "masked", [(True, True), (True, False), (False, True), (True, False, True), (True,) * 3]
)
@pytest.mark.parametrize("compiled", [False, True])
def test_products_and_extrema_do_not_count_masked_steps(kind, masked, compiled):
    rng = np.random.default_rng(0)
    arrays = rng.normal(size=(len(masked), 2, 5, 3)).astype("float32")
    counts = rng.random((len(masked), 2, 5)) < 0.6
    counts |= ~np.array(masked)[:, None, None]
    x = [np.where(count[..., None], array, 0) for array, count in zip(arrays, counts, strict=True)]

    def merged(x):
        return getattr(layers, kind)()(
            [layers.Masking()(a) if m else a for a, m in zip(x, masked, strict=True)]
        )

    found = (jt.function(merged) if compiled else merged)([jt.constant(a) for a in x]).numpy()
    for row, step in np.ndindex(2, 5):
        counted = [a[row, step] for a, count in zip(arrays, counts, strict=True) if count[row, step]]
        expected = MERGES[kind].reduce(counted) if counted else np.zeros(3)
        np.testing.assert_allclose(found[row, step], expected, rtol=1e-6)


class Block(layers.Layer):
    def __init__(self):
        super().__init__()
        self.moments = layers.BatchNormalization()

    def call(self, x, training=None):
        return self.moments(x)


class BlockModel(jt.keras.Model):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def call(self, x, training=None):
        return self.block(x)


def functional(layer, shape):
    x = jt.keras.Input(shape)
    return jt.keras.Model(x, layer(x))


@pytest.mark.parametrize(
    "make",
    [Block, BlockModel, lambda: functional(Block(), (2,)), lambda: jt.keras.Sequential([Block()])],
)
def test_layers_inside_inherit_training_by_position(make):
    x = np.arange(6, dtype="float32").reshape(3, 2)
    layer = make()
    by_position = layer(x, True).numpy()
    np.testing.assert_array_equal(by_position, layer(x, training=True).numpy())
    assert abs(by_position.mean()) < 1e-6
    np.testing.assert_array_equal(layer(x, False).numpy(), layer(x).numpy())


def test_models_take_a_mask():
    x = jt.constant(np.random.default_rng(0).normal(size=(2, 4, 3)), "float32")
    mask = jt.constant([[True, False, True, True], [True, True, False, False]])
    layer = layers.GRU(2)
    expected = layer(x, mask=mask).numpy()
    for model in (functional(layer, (4, 3)), jt.keras.Sequential([layer])):
        np.testing.assert_allclose(model(x, mask=mask).numpy(), expected, rtol=1e-6)
        assert np.abs(model(x).numpy() - expected).max() > 1e-3  # `x` itself gets no mask


def test_a_function_as_a_layer_gets_mask_and_training():
    x = layers.Masking()(jt.constant([[[1.0], [0.0], [2.0]]]))
    number = lambda x, mask=None: jt.reduce_sum(jt.cast(mask, "float32"))  # noqa: E731
    count = layers.Lambda(number, mask=lambda x, mask: None)
    assert float(count(x)) == 2.0
    mode = layers.Lambda(lambda x, training=None: x * (2.0 if training else 1.0))
    assert float(mode(jt.ones([1]), training=True)[0]) == 2.0
    assert float(mode(jt.ones([1]))[0]) == 1.0
