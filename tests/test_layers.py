"""`jt.keras.layers.Layer`, initializers, regularizers and activations."""

import copy
import pickle

import numpy as np
import pytest

import jittape as jt

keras = jt.keras


class Scale(keras.layers.Layer):
    def __init__(self, **options):
        super().__init__(**options)
        self.seen = []

    def build(self, input_shape):
        self.factor = self.add_weight(
            shape=(input_shape[-1],), initializer="ones", regularizer="l2", name="factor"
        )
        self.count = self.add_weight(initializer="zeros", trainable=False, name="count")

    def call(self, inputs, training=None):
        self.seen.append(training)
        self.add_loss(jt.reduce_sum(inputs))
        return self.factor * inputs


# ---- weights ---------------------------------------------------------------------------------------------------------


def test_the_first_call_builds_the_layer():
    layer = Scale(name="scale")
    assert not layer.built
    assert layer.weights == []
    y = layer(np.ones((2, 3)))
    assert layer.built
    assert y.dtype == jt.float32  # floats are cast to the dtype of the layer
    assert [(v.name, tuple(v.shape)) for v in layer.weights] == [
        ("factor", (3,)),
        ("count", ()),
    ]
    assert layer.count_params() == 4


def test_integers_are_not_cast():
    class Id(keras.layers.Layer):
        def call(self, x):
            return x

    assert Id()(np.arange(3)).dtype == jt.int64
    assert Id(dtype="float64")(jt.constant([1.0])).dtype == jt.float64


def test_a_layer_that_is_frozen():
    net = jt.nn.Sequential([Scale(), jt.nn.Dense(2), Scale()])
    net(jt.ones([1, 3]))
    assert len(net.trainable_variables) == 4
    net.layers[1].trainable = False
    assert len(net.trainable_variables) == 2
    assert len(net.non_trainable_variables) == 4
    assert [len(net.trainable_weights), len(net.non_trainable_weights), len(net.weights)] == [2, 4, 6]
    net.trainable = False
    assert net.trainable_variables == []
    net.trainable = True
    assert len(net.trainable_variables) == 4
    assert Scale(trainable=False).trainable is False


def test_weights_are_read_and_set():
    a, b = Scale(), Scale()
    a(jt.ones([1, 3]))
    b(jt.zeros([1, 3]))
    a.factor.assign([1.0, 2.0, 3.0])
    b.set_weights(a.get_weights())
    assert b.factor.tolist() == [1.0, 2.0, 3.0]
    for wrong in (a.get_weights()[:1], [np.ones(2), np.float32(0)]):
        with pytest.raises(ValueError, match=r"has weights of the shapes \[\(3,\), \(\)\], got"):
            b.set_weights(wrong)


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda layer: pickle.loads(pickle.dumps(layer))])
def test_copies_keep_their_penalties(copier):
    layer = jt.nn.Dense(2, kernel_regularizer="l2", kernel_initializer="ones")
    layer(jt.ones([1, 3]))
    copied = copier(layer)
    layer.kernel.assign(np.zeros((3, 2)))
    assert float(copied.losses[0]) == pytest.approx(0.06)
    assert float(layer.losses[0]) == 0.0


# ---- losses and training ---------------------------------------------------------------------------------------------


def test_losses_of_penalties_and_of_the_last_call():
    net = jt.nn.Sequential([Scale(), Scale()])
    for _ in range(2):
        net(jt.ones([1, 3]))
        assert [float(loss) for loss in net.losses] == pytest.approx([3.0, 3.0, 0.03, 0.03])


def test_gradients_flow_through_penalties():
    layer = jt.nn.Dense(1, use_bias=False, kernel_regularizer=keras.regularizers.L1L2(0.5, 0.25))
    layer.build((2,))
    layer.built = True
    layer.kernel.assign([[1.0], [-2.0]])
    with jt.GradientTape() as tape:
        loss = sum(layer.losses)
    assert float(loss) == pytest.approx(0.5 * 3 + 0.25 * 5)
    assert tape.gradient(loss, layer.kernel).tolist() == [[1.0], [-1.5]]


@pytest.mark.parametrize("examples", [1, 2, 5, 0])
def test_an_activity_penalty_is_a_mean_over_the_examples(examples):
    layer = jt.nn.Dense(1, activity_regularizer="l1", kernel_initializer="ones")
    layer(np.full((examples, 2), 1.5))
    assert [float(loss) for loss in layer.losses] == pytest.approx([0.03 if examples else 0.0])
    model = jt.keras.Sequential([jt.keras.Input((2,)), layer])
    model.compile("sgd", "mse")
    if examples:
        x = np.full((examples, 2), 1.5)
        assert model.evaluate(x, model(x), verbose=0) == pytest.approx(0.03)


def test_build_of_a_class_of_ones_own_sees_open_extents():
    seen = []

    class Noting(keras.layers.Layer):
        def build(self, input_shape):
            seen.append(input_shape)
            self.scale = self.add_weight(name="scale", shape=(input_shape[-1],))

        def call(self, inputs):
            return inputs * self.scale

    open_length, fixed_batch = keras.Input((None, 3)), keras.Input((3,), batch_size=7)
    made = keras.Model(open_length, Noting(name="noting")(open_length))
    Noting()(fixed_batch)
    keras.Sequential([keras.Input((3,)), Noting()])
    assert seen == [(None, None, 3), (7, 3), (None, 3)]
    assert made.weights[0].path == "noting/scale"


def test_an_activity_regularizer():
    layer = jt.nn.Dense(1, activity_regularizer="l1", kernel_initializer="ones")
    layer([[1.0, 2.0]])
    assert [float(loss) for loss in layer.losses] == pytest.approx([0.03])


class Switch(keras.layers.Layer):
    """A layer that calls one of two, and adds a loss to the other."""

    def __init__(self):
        super().__init__()
        self.first, self.second = Scale(), Scale()

    def call(self, x, first=True):
        called, other = (self.first, self.second) if first else (self.second, self.first)
        other.add_loss(jt.constant(10.0))
        return called(x)


def test_losses_are_those_of_the_last_call():
    layer = Switch()

    def added():
        return sorted(float(loss) for loss in layer.losses if float(loss) >= 1)

    layer(jt.ones([1, 2]))
    assert added() == [2, 10]
    layer(jt.ones([1, 3]) * 2, first=False)
    assert added() == [6, 10]
    layer.first.add_loss(jt.constant(20.0))
    layer.add_loss(jt.constant(30.0))
    assert added() == [6, 10, 20, 30]
    layer.first(jt.ones([1, 2]) * 2)
    assert added() == [4, 6, 30]
    layer(jt.ones([1, 2]))
    assert added() == [2, 10]
    copied = pickle.loads(pickle.dumps(layer))
    copied(jt.ones([1, 3]), first=False)
    assert sorted(float(loss) for loss in copied.losses if float(loss) >= 1) == [3, 10]


def test_layers_inherit_training():
    inner, outer = Scale(), Scale()

    class Both(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.inner, self.outer = inner, outer

        def call(self, x):
            return self.outer(self.inner(x), training=False)

    both = Both()
    both(jt.ones([1, 2]), training=True)
    both(jt.ones([1, 2]))
    assert inner.seen == [True, None]
    assert outer.seen == [False, False]


def test_a_failed_call_leaves_no_state():
    class Broken(keras.layers.Layer):
        def call(self, x, training=None):
            raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        Broken()(jt.ones([1]), training=True)
    layer = Scale()
    layer(jt.ones([1, 1]))
    assert layer.seen == [None]


def test_constraints_follow_an_update():
    layer = jt.nn.Dense(1, kernel_constraint=jt.nn.relu, kernel_initializer="ones", input_dim=2)
    jt.optimizers.SGD(1.0).apply_gradients([(np.array([[0.5], [3.0]], "float32"), layer.kernel)])
    assert layer.kernel.tolist() == [[0.5], [0.0]]


def test_a_layer_inside_a_function_is_traced_once():
    layer = Scale()
    layer(jt.ones([1, 3]))
    f = jt.function(lambda x: layer(x, training=True))
    for _ in range(3):
        assert f(jt.ones([2, 3])).tolist() == [[1.0] * 3] * 2
    assert len(f.signatures()) == 1


def test_a_layer_without_call():
    with pytest.raises(NotImplementedError, match=r"Layer must define call\(inputs\)"):
        keras.layers.Layer()(1.0)


# ---- initializers ----------------------------------------------------------------------------------------------------

SPREADS = {
    "glorot_uniform": (2 / 500, "uniform"),
    "glorot_normal": (2 / 500, "normal"),
    "he_uniform": (2 / 200, "uniform"),
    "he_normal": (2 / 200, "normal"),
    "lecun_uniform": (1 / 200, "uniform"),
    "lecun_normal": (1 / 200, "normal"),
    "random_normal": (0.05**2, "normal"),
    "random_uniform": (0.05**2 / 3, "uniform"),
}


@pytest.mark.parametrize("name", SPREADS)
def test_the_variance_of_random_weights(name):
    variance, kind = SPREADS[name]
    jt.random.set_seed(3)
    drawn = keras.initializers.get(name)((200, 300)).numpy()
    assert drawn.dtype == np.float32
    assert drawn.var() == pytest.approx(variance, rel=0.02)
    assert abs(drawn.mean()) < 5 * np.sqrt(variance / drawn.size)
    limit = np.sqrt(3 * variance)
    assert (np.abs(drawn).max() <= limit * 1.0001) == (kind == "uniform")


def test_windows_count_as_inputs():
    jt.random.set_seed(0)
    drawn = keras.initializers.HeNormal()((3, 3, 20, 50)).numpy()
    assert drawn.var() == pytest.approx(2 / 180, rel=0.05)


def test_orthogonal_and_identity():
    for shape in ((4, 7), (7, 4), (2, 3, 4)):
        matrix = keras.initializers.Orthogonal(2.0, seed=1)(shape, "float64").numpy().reshape(-1, shape[-1])
        small = matrix @ matrix.T if matrix.shape[0] < matrix.shape[1] else matrix.T @ matrix
        np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-12)
    assert keras.initializers.Identity(3.0)((2, 3)).tolist() == [[3.0, 0.0, 0.0], [0.0, 3.0, 0.0]]


def test_seeds_names_and_configs():
    a, b = keras.initializers.GlorotUniform(seed=5), keras.initializers.GlorotUniform(seed=5)
    np.testing.assert_allclose(a((3, 4)).numpy(), b((3, 4)).numpy(), rtol=1e-6)
    made = keras.initializers.RandomNormal.from_config(
        keras.initializers.RandomNormal(1.0, 0.5, 7).get_config()
    )
    assert (made.mean, made.stddev, made.seed) == (1.0, 0.5, 7)
    assert isinstance(keras.initializers.get("HeNormal"), keras.initializers.HeNormal)
    assert keras.initializers.get(keras.initializers.Ones)([2]).tolist() == [1.0, 1.0]
    assert keras.initializers.Constant([1.0, 2.0])((2,), "float64").tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: keras.initializers.get("glorot"), ValueError, "no initializer 'glorot'; there are zeros"),
        (lambda: keras.initializers.VarianceScaling(mode="in"), ValueError, "mode must be one of fan_in"),
        (lambda: keras.initializers.VarianceScaling(-1.0), ValueError, "scale"),
        (lambda: keras.initializers.Constant([1.0])((2,)), ValueError, r"shape \(1,\) cannot initialize"),
        (lambda: keras.initializers.Identity()((2,)), ValueError, "must be a matrix"),
        (lambda: keras.initializers.Orthogonal()((2,)), ValueError, "at least 2 dimensions"),
        (lambda: keras.regularizers.get("l3"), ValueError, "no regularizer 'l3'"),
        (lambda: keras.regularizers.L2(-1.0), ValueError, "l2"),
        (lambda: keras.activations.get("relux"), ValueError, "Unknown activation 'relux'"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_activations_by_name():
    for name in keras.activations.__all__:
        if name not in ("get", "serialize", "deserialize"):
            found = keras.activations.get(name)
            assert found is getattr(keras.activations, name), name
    assert keras.activations.get(None) is keras.activations.linear
