"""Wrong datasets, inputs of layers and arguments of `fit`: the error names the method, what was found and a way out."""

import re

import numpy as np
import pytest

import jittape as jt

keras = jt.keras
layers = keras.layers
Data = jt.data.Dataset
PAIRS = Data.from_tensor_slices((np.ones((4, 2), "float32"), np.ones((4, 1), "float32")))


mse = keras.losses.MeanSquaredError()


def numbers():
    return Data.range(4)


def line():
    model = keras.Sequential([layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


def made(*elements):
    return Data.from_generator(lambda: iter(elements))


DATASETS = {
    "map returns text": (
        lambda: numbers().map(lambda i: "x"),
        TypeError,
        "[Dataset.map] Cannot convert 'x' to a tensor",
    ),
    "a predicate of two values": (
        lambda: numbers().filter(lambda i: jt.constant([True, False])),
        ValueError,
        "[Dataset.filter] predicate must return one bool, got an array of shape (2,): reduce it",
    ),
    "no datasets": (lambda: Data.zip(()), ValueError, "[Dataset.zip] at least one dataset is needed"),
    "padding of another dtype": (
        lambda: made([1], [1, 2]).padded_batch(2, padding_values=2.5),
        TypeError,
        "[Dataset.padded_batch] Cannot convert 2.5 to a tensor of dtype int32",
    ),
    "a state alone": (
        lambda: numbers().scan(np.int64(0), lambda state, i: state),
        TypeError,
        "[Dataset.scan] scan_func must return a pair of a state and an element",
    ),
    "a generator of a number": (
        lambda: Data.from_generator(lambda: 3),
        TypeError,
        "[Dataset.from_generator] generator must return something to iterate over, got 3: use yield",
    ),
    "a generator of another dtype": (
        lambda: Data.from_generator(lambda: iter([1.5]), output_signature=jt.TensorSpec([], jt.int32)),
        TypeError,
        "[Dataset.from_generator] Cannot convert 1.5 to a tensor of dtype int32",
    ),
    "a generator of another structure": (
        lambda: Data.from_generator(lambda: iter([(1, 2)]), output_signature=jt.TensorSpec([], jt.int32)),
        ValueError,
        "[Dataset.from_generator] an element must have the structure *, got (1, 2)",
    ),
    "a batch of two structures": (
        lambda: made(1, (2, 3)).batch(2),
        ValueError,
        "[Dataset.batch] elements must have one structure, got (*, *) and *",
    ),
    "a transformation to a number": (
        lambda: numbers().apply(lambda data: 3),
        TypeError,
        "[Dataset.apply] transformation_func must return a Dataset, got 3",
    ),
    "keys that are no integers": (
        lambda: numbers().group_by_window(lambda i: i / 2, lambda key, data: data.batch(2), window_size=2),
        TypeError,
        "[Dataset.group_by_window] key_func must return an integer, got ",
    ),
    "arrays of windows": (
        lambda: numbers().window(2).as_numpy_iterator(),
        TypeError,
        "[Dataset.as_numpy_iterator] elements must be tensors, and those of window() are datasets: use flat_map",
    ),
    "nothing in a dict": (
        lambda: Data.from_tensor_slices({"a": None}),
        ValueError,
        "[Dataset.from_tensor_slices] tensors must contain at least one array, got {'a': None}",
    ),
}


@pytest.mark.parametrize("name", DATASETS)
def test_wrong_datasets(name):
    call, error, text = DATASETS[name]
    with pytest.raises(error, match=f"^{re.escape(text)}"):
        list(call())


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: line().fit(PAIRS.batch(2), batch_size=2),
            "[fit] batch_size must not be given with a dataset",
        ),
        (
            lambda: line().fit(PAIRS.batch(2), sample_weight=np.ones(4)),
            "[fit] sample_weight must not be given",
        ),
        (lambda: line().evaluate(PAIRS.batch(2), batch_size=2), "[evaluate] batch_size must not be given"),
        (lambda: line().predict(None), "[predict] x must be arrays or a dataset of batches, got None"),
        (lambda: line().fit(None), "[fit] x must be arrays or a dataset of batches, got None"),
    ],
)
def test_wrong_arguments_of_training(call, text):
    with pytest.raises(ValueError, match=f"^{re.escape(text)}"):
        call()


def test_validation_by_a_dataset_beside_arrays():
    x, y = np.ones((4, 2), "float32"), np.ones((4, 1), "float32")
    history = line().fit(x, y, batch_size=2, validation_data=PAIRS.batch(2), verbose=0)
    assert set(history.history) == {"loss", "val_loss"}


@pytest.mark.parametrize(
    ("layer", "shape", "text"),
    [
        (lambda: layers.Conv2D(2, 3), (6, 6, 3), "takes inputs with 4 dimensions, got shape (6, 6, 3); x[None] adds"),
        (lambda: layers.MaxPooling1D(), (5, 3), "takes inputs with 3 dimensions, got shape (5, 3); x[None] adds"),
        (lambda: layers.Conv1D(2, 3), (3,), "takes inputs with 3 dimensions, got shape (3,)"),
    ],
)  # fmt: skip
def test_inputs_without_a_batch_or_channels(layer, shape, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        layer()(jt.ones(shape))


def test_moments_of_an_empty_batch():
    layer = layers.BatchNormalization()
    with pytest.raises(jt.ShapeError, match="has no moments of an empty batch of shape .*: leave it out"):
        layer(jt.zeros([0, 3]), training=True)
    assert layer.moving_mean.tolist() == [0.0, 0.0, 0.0]
    assert layer(jt.zeros([0, 3])).shape == (0, 3)

    step = jt.function(lambda x: layer(x, training=True), input_signature=[jt.TensorSpec([None, 3])])
    for n in (3, 5, 8, 13):
        step(jt.ones([n, 3]))
    assert step.trace_count == 1


@pytest.mark.parametrize("dtype", ["int32", "complex64"])
def test_noise_of_what_is_no_float(dtype):
    with pytest.raises(jt.DTypeError, match=rf"\[GaussianNoise\] takes floating-point inputs, got {dtype}"):
        layers.GaussianNoise(0.5)(jt.ones([2], dtype), training=True)
    if dtype == "complex64":
        with pytest.raises(jt.DTypeError, match="takes real inputs in training, got complex64"):
            layers.BatchNormalization()(jt.ones([2, 2], dtype), training=True)


@pytest.mark.parametrize("clip", ["clip_by_norm", "clip_by_average_norm", "clip_by_global_norm"])
def test_a_negative_norm_would_reverse_gradients(clip):
    with pytest.raises(ValueError, match=rf"^\[{clip}\] clip_norm must not be negative, got -1"):
        getattr(jt, clip)([jt.ones([2])], -1.0)


def test_padding_of_none():
    with pytest.raises(
        TypeError, match=r"^\[conv2d\] padding must be 'SAME', 'VALID' or a list of pairs, got None"
    ):
        jt.nn.conv2d(jt.ones([1, 3, 3, 1]), jt.ones([1, 1, 1, 1]), 1, None)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: keras.losses.Huber(delta=-1.0), "Huber: `delta` must be greater than 0"),
        (lambda: mse(None, np.ones((2, 3))), "[MeanSquaredError] y_true: Cannot convert None"),
        (lambda: mse(np.ones((2, 3)), "a"), "[MeanSquaredError] y_pred: Cannot convert 'a'"),
        (
            lambda: mse(np.ones((2, 3)), np.ones((2, 3)), [1.0, 2.0, 3.0]),
            "[MeanSquaredError] sample_weight must have the shape of the losses, (2,), or broadcast",
        ),
        (
            lambda: layers.AdditiveAttention()(np.ones((2, 3, 4))),
            "takes a list of queries, values and, optionally, keys, got <jt.Tensor",
        ),
        (lambda: layers.Attention()([np.ones((2, 3, 4))]), "optionally, keys, got a list of 1"),
    ],
)
def test_wrong_arguments_of_losses_and_attention(call, text):
    with pytest.raises((TypeError, ValueError), match=re.escape(text)):
        call()


def test_weights_of_a_loss_of_the_whole_batch():
    class Whole(keras.losses.Loss):
        def call(self, y_true, y_pred):
            return jt.reduce_mean(y_true - y_pred)

    np.testing.assert_allclose(Whole()(np.ones(3), np.zeros(3), [1.0, 2.0, 3.0]), 2.0)


@pytest.mark.parametrize("ignored", [None, -1])
@pytest.mark.parametrize("label", [1.5, np.nan])
def test_labels_that_are_no_whole_numbers_are_refused(label, ignored):
    """The class to ignore may be -1, so they are not taken for that number."""
    loss = jt.keras.losses.SparseCategoricalCrossentropy(ignore_class=ignored)
    with pytest.raises(IndexError, match=r"the label at index \(0,\), no whole number, is not a class"):
        loss(np.array([label]), np.array([[0.2, 0.3, 0.5]], np.float32)).numpy()
