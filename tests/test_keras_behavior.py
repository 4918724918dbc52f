"""Programs written for Keras: builds of models, clones, errors and stored optimizers behave as in Keras."""

import numpy as np
import pytest

import jittape as jt

keras = jt.keras
layers = keras.layers


class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(3)
        self.calls = 0

    def call(self, x):
        self.calls += 1
        return self.dense(x)


def test_build_creates_the_weights_of_a_model_of_ones_own():
    model = Own()
    model.build((None, 4))
    assert [w.shape for w in model.get_weights()] == [(4, 3), (3,)]
    assert (model.built, model.calls) == (True, 1)
    other = Own()
    other(np.ones((2, 5), "float32"))
    assert (other.built, other.calls, other.dense.kernel.shape) == (True, 1, (5, 3))


def test_build_with_several_inputs():
    class Two(keras.Model):
        def __init__(self):
            super().__init__()
            self.first, self.second = layers.Dense(2), layers.Dense(2)

        def call(self, inputs):
            return self.first(inputs[0]) + self.second(inputs[1])

    model = Two()
    model.build([(None, 4), (None, 3)])
    assert [w.shape for w in model.get_weights()] == [(4, 2), (2,), (3, 2), (2,)]


@pytest.mark.parametrize(
    "make",
    [
        lambda: keras.Sequential().add(3),
        lambda: layers.Dense(3, activatoin="relu"),
        lambda: layers.Dot((1, 2, 3)),
        lambda: layers.Dot((1, "a")),
    ],
)
def test_wrong_arguments_raise_what_python_and_keras_raise(make):
    for error in (TypeError, ValueError):
        with pytest.raises(error):
            make()


def test_a_stored_optimizer_names_its_module():
    stored = jt.optimizers.serialize(jt.optimizers.SGD(0.5))
    assert list(stored) == ["module", "class_name", "config", "registered_name"]
    assert (stored["module"], stored["registered_name"]) == ("keras.optimizers", None)
    assert float(jt.optimizers.deserialize(stored).learning_rate) == 0.5


def test_clones_are_made_from_configs():
    class Scale(layers.Layer):
        def __init__(self, factor, **kwargs):
            super().__init__(**kwargs)
            self.factor, self.made = factor, []

        def call(self, x):
            return x * self.factor

    model = keras.Sequential([layers.Input((3,)), Scale(2.0), layers.Dense(2)])
    model.layers[0].made.append("of the first")
    model.layers[1].trainable = False
    clone = keras.models.clone_model(model)
    assert [layer.name for layer in clone.layers] == [layer.name for layer in model.layers]
    assert (clone.layers[0].factor, clone.layers[0].made) == (2.0, [])
    assert not clone.layers[1].trainable


@pytest.mark.parametrize(("k", "expected"), [(1, [0, 0, 1]), (2, [1, 1, 1]), (7, [1, 1, 1])])
def test_ties_are_among_the_greatest_predictions(k, expected):
    classes, predictions = np.array([[1, 0, 2]]), np.full((1, 3, 3), [0.3, 0.3, 0.4], "float32")
    metrics = jt.keras.metrics
    sparse = metrics.sparse_top_k_categorical_accuracy(classes, predictions, k=k)
    np.testing.assert_array_equal(sparse, [expected])
    of_rows = metrics.top_k_categorical_accuracy(jt.one_hot(classes, 3), predictions, k=k)
    np.testing.assert_array_equal(of_rows, [expected])


@pytest.mark.parametrize("mode", ["rows", "columns"])
def test_the_orthogonal_regularizer_averages_cosines(mode):
    penalty = jt.keras.regularizers.OrthogonalRegularizer(0.5, mode)
    matrix = {"rows": [[3.0, 4.0], [4.0, -0.75]], "columns": [[1.0, 3.0], [0.0, 4.0]]}[mode]
    first, second = np.array(matrix) if mode == "rows" else np.array(matrix).T
    cosine = abs(first @ second) / np.linalg.norm(first) / np.linalg.norm(second)
    assert float(penalty(matrix)) == pytest.approx(0.5 * cosine, rel=1e-6)
    again = jt.keras.regularizers.deserialize(jt.keras.regularizers.serialize(penalty))
    assert again.get_config() == {"factor": 0.5, "mode": mode}
    assert float(penalty(np.ones((1, 4)) if mode == "rows" else np.ones((4, 1)))) == 0.0
    with pytest.raises(ValueError, match=r"the weight must be a matrix, got the shape \(3,\)"):
        penalty(np.ones(3))


class Counting(layers.Layer):
    """A layer with a weight that each call changes."""

    def build(self, shape):
        self.count = self.add_weight(shape=(), initializer="zeros", trainable=False, name="count")
        self.kernel = self.add_weight(shape=(shape[-1], 1), name="kernel")

    def call(self, x):
        self.count.assign_add(1.0)
        return x @ self.kernel


class WithCounting(keras.Model):
    def __init__(self):
        super().__init__()
        self.inner = Counting()

    def call(self, x):
        return self.inner(x)


def test_the_construction_of_a_model_changes_no_weights():
    """As in Keras: 3 batches are 3 calls, also if `fit` builds the model."""
    x, y = np.ones((30, 4), "float32"), np.ones((30, 1), "float32")
    model = keras.Sequential([layers.Input((4,)), Counting()])
    output = Counting()(layers.Dense(3)(keras.Input((4,))))
    assert float(model.layers[0].count) == 0.0
    assert output.shape == (None, 1)
    model.compile("sgd", "mse", metrics=["accuracy"])
    model.fit(x, y, batch_size=10, verbose=0)
    assert float(model.layers[0].count) == 3.0
    own = WithCounting()
    own.compile("sgd", "mse", metrics=["accuracy"])
    own.fit(x, y, batch_size=10, verbose=0)
    assert float(own.inner.count) == 3.0
    own = WithCounting()
    own.build((None, 4))
    own(x)
    assert float(own.inner.count) == 1.0


def test_metrics_of_several_outputs_have_the_names_and_the_order_of_keras():
    inputs = keras.Input((4,))
    first = layers.Dense(1, name="reg", kernel_initializer="ones")(inputs)
    second = layers.Dense(3, "softmax", name="cls", kernel_initializer="ones")(inputs)
    model = keras.Model(inputs, {"reg": first, "cls": second})
    crossentropy = "sparse_categorical_crossentropy"
    model.compile(
        "sgd",
        {"cls": crossentropy, "reg": "mse"},
        metrics={"reg": ["mae"], "cls": ["accuracy"]},
        weighted_metrics={"cls": ["accuracy"]},
    )
    x, y = np.eye(4, dtype="float32"), {"reg": np.zeros((4, 1), "float32"), "cls": np.arange(4) % 3}
    values = model.evaluate(x, y, verbose=0)
    by_name = model.evaluate(x, y, verbose=0, return_dict=True)
    assert model.metrics_names == ["loss", "compile_metrics", "cls_loss", "reg_loss"]
    order = ["loss", "cls_loss", "reg_loss", "cls_accuracy", "cls_weighted_accuracy", "reg_mae"]
    assert values == [by_name[name] for name in order]


@pytest.mark.parametrize(
    ("shape", "weights", "truth"),
    [
        ((4,), (4,), 1.4916433), ((4, 1), (4,), 1.4916433), ((4, 1), (4, 1), 1.4916433), ((2, 2), (2, 2), 1.4916433),
        ((2, 2), (2,), 1.4433756), ((2, 2), None, 1.5612495),
    ],
)  # fmt: skip
def test_weights_of_the_elements_of_a_root_mean_squared_error(shape, weights, truth):
    """The truths are those of TensorFlow 2.21."""
    metric = keras.metrics.RootMeanSquaredError()
    for y_true in ([0.0, 1.0, 2.0, 3.0], [1.0, 0.0, -1.0, 2.0]):
        size = 0 if weights is None else np.prod(weights)
        sample_weight = np.arange(1.0, 1 + size, dtype="float32").reshape(weights) if size else None
        y_pred = np.float32([1.0, 3.0, 0.5, 2.0]).reshape(shape)
        metric.update_state(np.float32(y_true).reshape(shape), y_pred, sample_weight)
    np.testing.assert_allclose(metric.result().numpy(), truth, rtol=1e-6)


def test_metrics_of_one_name_are_numbered():
    model = keras.Sequential([layers.Input((2,)), layers.Dense(1, kernel_initializer="ones")])
    named = [keras.metrics.MeanAbsoluteError(name="m"), keras.metrics.MeanSquaredError(name="m")]
    model.compile(
        "sgd", "mse", metrics=named, weighted_metrics=["mae", keras.metrics.RootMeanSquaredError("mae")]
    )
    x, y = np.full((4, 2), 2.0, "float32"), np.zeros((4, 1), "float32")
    assert model.evaluate(x, y, verbose=0, return_dict=True) == {
        "loss": 16.0, "m": 4.0, "m_1": 16.0, "mae": 4.0, "weighted_mae": 4.0
    }  # fmt: skip
    assert model.evaluate(x, y, verbose=0) == [16.0, 4.0, 4.0, 4.0, 4.0, 16.0, 4.0]


def test_moments_of_a_normalization_have_the_shape_of_keras():
    x = np.random.default_rng(0).normal(size=(5, 2, 3)).astype("float32")
    shapes = {-1: (1, 1, 3), 1: (1, 2, 1), (1, 2): (1, 2, 3), None: (1, 1, 1)}
    for axis, shape in shapes.items():
        layer = layers.Normalization(axis=axis)
        layer.adapt(x)
        assert (layer.mean.shape, layer.variance.shape) == (shape, shape)
        names = ["mean", "variance", "count"]
        assert [w.name for w in layer.weights] == [w.name for w in layer.non_trainable_weights] == names
        clone = layers.Normalization.from_config(layer.get_config())
        np.testing.assert_array_equal(clone(x).numpy(), (x / np.float32(1.0)))
        clone.set_weights(layer.get_weights())
        np.testing.assert_array_equal(clone(x).numpy(), layer(x).numpy())
        with pytest.raises(ValueError, match="was built for moments of shape"):
            layer.adapt(np.ones((4, 4, 4, 4)))


def test_moments_of_a_normalization_are_stored(tmp_path):
    x = np.random.default_rng(0).normal(size=(5, 3)).astype("float32")
    norm = layers.Normalization()
    norm.adapt(x)
    model = keras.Sequential([norm, layers.Dense(2)])
    model(x)
    model.save_weights(tmp_path / "model.weights.h5")
    jt.train.Checkpoint(model=model).write(tmp_path / "state")
    for restore in (
        lambda other: other.load_weights(tmp_path / "model.weights.h5"),
        lambda other: jt.train.Checkpoint(model=other).read(tmp_path / "state"),
    ):
        other = keras.Sequential([layers.Normalization(), layers.Dense(2)])
        other(x)
        restore(other)
        np.testing.assert_array_equal(other(x).numpy(), model(x).numpy())


def test_the_variables_of_layers_are_lists():
    """As in Keras, where programs add to them and set elements of the gradients with respect to them."""
    layer, own = layers.Dense(2), jt.Variable(3.0)
    layer.build((None, 3))
    with jt.GradientTape() as tape:
        loss = jt.reduce_sum(own * layer(np.ones((1, 3), "float32")))
    gradients = tape.gradient(loss, layer.trainable_variables)
    gradients[0] = 2.0 * gradients[0]
    assert isinstance(layer.trainable_variables, list)
    np.testing.assert_array_equal(gradients[0], np.full((3, 2), 6.0))
    assert (layer.non_trainable_variables, len(layer.variables)) == ([], 2)


@pytest.mark.parametrize("dtype", ["uint8", "bool", "int64", "float64"])
def test_losses_of_ones_own_get_floats_of_the_rank_of_the_predictions(dtype):
    """As in Keras: labels of uint8 wrap in a difference, and a vector broadcasts against a column."""
    x = np.array([[1.0], [0.2], [0.5]], np.float32)
    y = np.array([0, 1, 1]).astype(dtype)
    seen = []

    def squared(y_true, y_pred):
        seen.append((y_true.shape[1:], y_true.dtype, y_pred.dtype))
        return jt.reduce_mean(jt.square(-y_true + y_pred))

    class Squared(keras.losses.Loss):
        def call(self, y_true, y_pred):
            return squared(y_true, y_pred)

    model = keras.Sequential([layers.Input((1,)), layers.Dense(1, use_bias=False, kernel_initializer="ones")])
    model.compile("sgd", squared)
    assert model.evaluate(x, y, verbose=0) == pytest.approx(np.mean((x[:, 0] - y) ** 2))
    assert Squared()(y[:, None], x).numpy() == pytest.approx(np.mean((x[:, 0] - y) ** 2))
    assert Squared()(y[:, None], x.astype("float16")).dtype == jt.float32
    assert Squared(dtype="float64")(y[:, None], x).dtype == jt.float64
    assert {(*shape, str(one), str(two)) for shape, one, two in seen[:-1]} == {(1, "float32", "float32")}


def test_complex_predictions_of_a_loss_of_ones_own_stay_complex():
    class Distance(keras.losses.Loss):
        def call(self, y_true, y_pred):
            return jt.abs(y_true - y_pred)

    assert Distance()(np.array([1.0]), np.array([1.0 + 2.0j])).numpy() == 2.0


def test_a_size_of_the_input_builds_the_model():
    model = keras.Sequential([layers.Dense(5, input_dim=4), layers.Dense(1)])
    assert [w.shape for w in model.weights] == [(4, 5), (5,), (5, 1), (1,)]
    assert keras.Sequential.from_config(model.get_config()).input_shape == (None, 4)
    embedding = layers.Embedding(9, 3, input_length=4)
    assert embedding([[1, 2]]).shape == (1, 2, 3)
    assert "input_length" not in embedding.get_config()


def test_spectral_normalization_divides_the_kernel_in_training():
    layer = layers.SpectralNormalization(layers.Conv2D(4, 3, use_bias=False), power_iterations=30)
    x = np.ones((1, 5, 5, 2), np.float32)
    before = layer(x).numpy()
    np.testing.assert_array_equal(layer(x).numpy(), before)  # inference changes nothing
    layer(x, training=True)
    largest = np.linalg.svd(layer.kernel.numpy().reshape(-1, 4), compute_uv=False)[0]
    assert largest == pytest.approx(1.0, abs=1e-3)
    assert [w.name for w in layer.weights] == ["kernel", "vector_u"]
    assert [id(w) for w in layer.trainable_weights] == [id(layer.layer.kernel)]
    again = layers.SpectralNormalization.from_config(layer.get_config())
    assert again.power_iterations == 30
    zero = layers.SpectralNormalization(layers.Dense(2, kernel_initializer="zeros"))
    np.testing.assert_array_equal(zero(x, training=True).numpy(), np.zeros((1, 5, 5, 2)))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: layers.SpectralNormalization(np.sin), TypeError, "layer must be a layer"),
        (
            lambda: layers.SpectralNormalization(layers.Dense(2), 0),
            ValueError,
            "power_iterations must be positive",
        ),
        (
            lambda: layers.SpectralNormalization(layers.Flatten())(np.ones((2, 3))),
            ValueError,
            "neither a kernel",
        ),
    ],
)
def test_spectral_normalization_needs_a_kernel(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("options", [{}, {"curve": "PR"}, {"num_thresholds": 20}])
def test_predictions_out_of_range_are_0_or_1_for_an_area(options):
    labels = np.array([0, 1, 0, 1, 1, 0])
    scores = np.array([3.0, 0.4, -2.0, 1.5, 7.0, 0.2], "float32")
    area = jt.keras.metrics.AUC(**options)
    expected = float(area(labels, np.clip(scores, 0, 1)))
    area.reset_state()
    assert float(area(labels, scores)) == expected
