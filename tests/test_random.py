"""`jt.random`: distributions, dtypes, seeds."""

from __future__ import annotations

import numpy as np
import pytest

import jittape as jt

DRAWS = [jt.random.normal, jt.random.truncated_normal, jt.random.uniform]


@pytest.fixture(autouse=True)
def seeded():
    jt.random.set_seed(11)


def test_a_seed_makes_a_run_repeatable():
    def run():
        jt.random.set_seed(5)
        draws = [draw([3]).tolist() for draw in DRAWS]
        return [
            *draws,
            jt.random.uniform([3], 0, 100, "int32").tolist(),
            jt.random.shuffle(np.arange(20)).tolist(),
        ]

    assert run() == run()
    assert jt.random.normal([3]).tolist() != jt.random.normal([3]).tolist()


@pytest.mark.parametrize("way", [lambda step: step, jt.function], ids=["recorded", "function"])
def test_a_second_fit_gives_the_same_bits(way, monkeypatch):
    """If every step is compiled: the interpreter, which else runs the first one, rounds in another way."""
    monkeypatch.setattr(jt.config, "_compile_after", 0)
    w = jt.Variable(np.zeros((40, 3)))

    @way
    def step():
        x = jt.random.normal([200, 40], dtype="float64")
        with jt.GradientTape() as tape:
            loss = jt.reduce_mean(jt.nn.log_softmax(jt.tanh(x @ w))[:, 0])
        w.assign_sub(0.1 * tape.gradient(loss, w))

    def fit():
        jt.random.set_seed(3)
        w.assign(np.linspace(-1, 1, 120).reshape(40, 3))
        for _ in range(5):
            step()
        return w.numpy().tobytes()

    assert fit() == fit()


@pytest.mark.parametrize("draw", DRAWS)
def test_a_seed_of_ones_own(draw):
    jt.random.set_seed(1)
    first = draw([4]).tolist()
    jt.random.set_seed(1)
    assert draw([4], seed=3).tolist() == draw([4], seed=3).tolist()
    assert draw([4]).tolist() == first


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("shape", [(), [], [2, 3], (0,), 4, np.int64(4), jt.constant([2, 3]), np.array([2])])
def test_shapes(draw, shape):
    wanted = tuple(np.atleast_1d(np.asarray(shape, int)).tolist())
    assert draw(shape).shape == wanted


@pytest.mark.parametrize("draw", DRAWS)
def test_dtypes(draw):
    assert draw([2]).dtype == jt.float32
    for dtype in ("float16", jt.float64):
        assert draw([2], dtype=dtype).dtype == dtype
    jt.config.default_float = "float64"
    try:
        assert draw([2]).dtype == jt.float64
    finally:
        jt.config.default_float = "float32"


@pytest.mark.parametrize("draw", [jt.random.normal, jt.random.truncated_normal])
def test_only_floats_are_normal(draw):
    with pytest.raises(TypeError, match="floating-point numbers, not int32"):
        draw([2], dtype="int32")


def test_normal():
    draw = jt.random.normal([200, 100], mean=3.0, stddev=2.0, dtype="float64").numpy()
    assert draw.mean() == pytest.approx(3.0, abs=0.06)
    assert draw.std() == pytest.approx(2.0, rel=0.02)
    assert (np.abs(draw - 3.0) > 4.0).mean() == pytest.approx(0.0455, rel=0.15)
    means = jt.random.normal([1000, 2], mean=[0.0, 100.0], stddev=jt.constant([1.0, 0.0])).numpy()
    assert (means[:, 1] == 100.0).all()
    assert (means[:, 0] != 100.0).all()


def test_truncated_normal():
    draw = jt.random.truncated_normal([200, 100], mean=3.0, stddev=2.0, dtype="float64").numpy()
    assert np.abs(draw - 3.0).max() <= 4.0
    assert draw.mean() == pytest.approx(3.0, abs=0.06)
    assert draw.std() == pytest.approx(2.0 * 0.8796, rel=0.02)  # the truncated distribution's own


def test_uniform():
    draw = jt.random.uniform([200, 100], -1.0, 3.0, "float64").numpy()
    assert draw.min() >= -1.0
    assert draw.max() < 3.0
    assert draw.mean() == pytest.approx(1.0, abs=0.05)
    assert draw.std() == pytest.approx(4 / np.sqrt(12), rel=0.02)
    unit = jt.random.uniform([1000]).numpy()
    assert 0.0 <= unit.min() < 0.1
    assert 0.9 < unit.max() < 1.0


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_uniform_never_reaches_its_upper_end(dtype):
    """In half precision one draw in 4096 would be rounded up to 1."""
    draw = jt.random.uniform([100_000], dtype=dtype).numpy()
    assert draw.max() < 1.0
    assert (jt.random.uniform([10_000], -2.0, -1.0, dtype).numpy() < -1.0).all()
    assert jt.random.uniform([3], 2.0, 2.0).tolist() == [2.0, 2.0, 2.0]


def test_uniform_integers():
    dice = jt.random.uniform([6000], 1, 7, "int32")
    assert dice.dtype == jt.int32
    counts = np.bincount(dice.numpy())
    assert len(counts) == 7
    assert counts[0] == 0
    assert (np.abs(counts[1:] - 1000) < 200).all()
    assert jt.random.uniform([5], maxval=3, dtype="uint8").dtype == jt.uint8
    with pytest.raises(ValueError, match="Must specify maxval for integer dtype int64"):
        jt.random.uniform([2], dtype="int64")


def test_uniform_bounds_may_be_arrays():
    draw = jt.random.uniform([1000, 2], [0.0, 10.0], [1.0, 20.0]).numpy()
    assert (draw.min(0) >= [0.0, 10.0]).all()
    assert (draw.max(0) < [1.0, 20.0]).all()


def test_shuffle():
    rows = np.arange(20.0).reshape(10, 2)
    shuffled = jt.random.shuffle(rows)
    assert isinstance(shuffled, jt.Tensor)
    assert sorted(shuffled.tolist()) == rows.tolist()
    assert shuffled.tolist() != rows.tolist()
    assert rows[0].tolist() == [0.0, 1.0]
    assert jt.random.shuffle(jt.constant([1, 2, 3])).dtype == jt.int32
    with pytest.raises(ValueError, match="0-d"):
        jt.random.shuffle(jt.constant(1.0))


def test_shuffled_orders_are_equally_likely_and_do_not_depend_on_threads(monkeypatch):
    rows = jt.constant(np.arange(4))
    shuffled = jt.function(lambda key: jt.random.stateless_shuffle(rows, [7, key]))
    counts: dict[tuple[int, ...], int] = {}
    for key in range(2400):
        order = tuple(shuffled(key).tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 24
    assert sum([(count - 100) ** 2 / 100 for count in counts.values()]) < 50  # chi-square, p = 0.001
    long = np.arange(300_000)
    found = []
    for threads in (1, 2):
        monkeypatch.setattr(jt.config, "threads", threads)
        compiled = jt.function(lambda: jt.random.stateless_shuffle(long, [3, 4]))
        found += [compiled().numpy() for _ in range(3)]
        found.append(jt.random.stateless_shuffle(long, [3, 4]).numpy())
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)
    np.testing.assert_array_equal(np.sort(found[0]), long)


@pytest.mark.parametrize(
    "draw", [lambda: jt.random.uniform([3], 0, 9, "uint8"), lambda: jt.random.normal([3])]
)
def test_a_state_that_was_kept(draw, tmp_path):
    jt.random.uniform([1], 0, 9, "uint8")  # half a word is left over
    state = jt.random.get_state()
    np.savez(tmp_path / "state.npz", random=state)
    expected = [draw().tolist() for _ in range(4)]
    for kept in (state, np.load(tmp_path / "state.npz")["random"], jt.Variable(state), jt.constant(state)):
        jt.random.set_state(kept)
        assert [draw().tolist() for _ in range(4)] == expected


@pytest.mark.parametrize(
    "state", [7, np.zeros(6), np.zeros(5, np.uint64), np.zeros((1, 3), np.uint64)], ids=str
)
def test_what_is_no_state(state):
    before = jt.random.get_state()
    with pytest.raises(ValueError, match=r"\[random.set_state\] state must be the array of 3 uint64"):
        jt.random.set_state(state)
    np.testing.assert_array_equal(jt.random.get_state(), before)


def test_a_training_goes_on_from_a_checkpoint(tmp_path):
    def make():
        net = jt.nn.Sequential([jt.nn.Dense(4, "tanh", input_dim=3), jt.nn.Dense(1, input_dim=4)])
        return net, jt.optimizers.Adam(0.1)

    def train(net, optimizer):
        for _ in range(3):
            x = jt.random.normal([8, 3])
            with jt.GradientTape() as tape:
                loss = jt.reduce_mean(jt.square(net(x) - jt.reduce_sum(x, 1, keepdims=True)))
            gradients = tape.gradient(loss, net.trainable_variables)
            optimizer.apply_gradients(zip(gradients, net.trainable_variables, strict=True))
        return [v.numpy().tolist() for v in net.trainable_variables]

    net, optimizer = make()
    train(net, optimizer)
    net.save_weights(tmp_path / "net.npz")
    optimizer.save_weights(tmp_path / "optimizer.npz")
    np.save(tmp_path / "random.npy", jt.random.get_state())
    expected = train(net, optimizer)
    net, optimizer = make()
    net.load_weights(tmp_path / "net.npz")
    optimizer.load_weights(tmp_path / "optimizer.npz", net.trainable_variables)
    jt.random.set_state(np.load(tmp_path / "random.npy"))
    for ours, theirs in zip(train(net, optimizer), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_the_first_fit_is_the_second_bit_for_bit_where_nothing_is_interpreted(monkeypatch):
    monkeypatch.setattr(jt.config, "compile_after", 0)

    def fit(dtype, make):
        jt.random.set_seed(3)
        w, b, optimizer = jt.Variable(np.full((5, 2), 0.3, dtype)), jt.Variable(np.zeros(2, dtype)), make()
        data = np.linspace(-2, 3, 320).reshape(64, 5).astype(dtype)
        found = []
        for begin in range(0, 64, 24):  # the last batch is shorter
            x = jt.constant(data[begin : begin + 24])
            with jt.GradientTape() as tape:
                z = jt.tanh(x @ w + b) + 0.1 * jt.random.normal([x.shape[0], 2], dtype=dtype)
                loss = jt.reduce_mean(jt.square(z)) + jt.reduce_sum(jt.exp(-w))
            optimizer.apply_gradients(zip(tape.gradient(loss, [w, b]), [w, b], strict=True))
            found += [loss.numpy(), w.numpy(), b.numpy()]
        return [(value.dtype, value.tobytes()) for value in found]

    for dtype in (np.float32, np.float64):
        for make in (jt.optimizers.SGD, jt.optimizers.Adam):
            assert fit(dtype, make) == fit(dtype, make) == fit(dtype, make)


def test_draws_are_constants():
    with jt.GradientTape() as tape:
        x = jt.random.normal([3])
        tape.watch(x)
        y = jt.reduce_sum(x * jt.random.uniform([3]))
    assert tape.gradient(y, x).shape == (3,)


def test_draws_differ_from_step_to_step(mode):
    v, seen = jt.Variable([0.0]), set()
    for _ in range(6):
        v.assign(jt.random.normal([1]) * 1.0)
        seen.add(float(v))
    assert len(seen) == 6


_GENERATOR = jt.random.Generator.from_seed(3)
_DROPOUT = jt.keras.layers.Dropout(0.5, dtype="float64")
RECOMPUTED = {
    "numbers": lambda x: jt.random.normal([3], dtype="float64") * x,
    "two draws": lambda x: (
        jt.random.normal([3], dtype="float64") * jt.random.uniform([3], dtype="float64") * x
    ),
    "generator": lambda x: _GENERATOR.normal([3], dtype="float64") * x,
    "dropout": lambda x: jt.nn.dropout(x, 0.5),
    "layer": lambda x: _DROPOUT(x, training=True),
    "function": jt.function(lambda x: jt.random.normal([3], dtype="float64") * x),
    "function of a generator": jt.function(lambda x: _GENERATOR.normal([3], dtype="float64") * x),
    "nested": jt.recompute_grad(lambda x: jt.random.normal([3], dtype="float64") * x),
    "nested between draws": lambda x: (
        jt.random.normal([], dtype="float64")
        * RECOMPUTED["nested"](x)
        * jt.random.normal([3], dtype="float64")
    ),
    "map_fn": lambda x: jt.map_fn(lambda row: jt.random.normal([], dtype="float64") * row, x),
    "map_fn of nested": lambda x: jt.map_fn(lambda row: RECOMPUTED["numbers"](row), jt.stack([x, x]))[1],
    "look": lambda x: jt.random.normal([3], dtype="float64") * float(jt.random.normal([])) * x,
}


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        (kind, way)
        for kind in RECOMPUTED
        for way in ("recorded", "function", "scan")
        if kind != "look" or way == "recorded"  # traced functions and bodies have no values
    ],
)
def test_recompute_grad_draws_the_same_numbers_again(kind: str, way: str, mode: str) -> None:
    """The functions are linear, so the gradient times the argument is the value."""
    f = jt.recompute_grad(RECOMPUTED[kind])

    def scanned(x):
        return jt.scan(lambda carry, row: f(carry), jt.zeros([3, 3], "float64"), initializer=x)[-1]

    call = {"recorded": f, "function": jt.function(f), "scan": scanned}[way]
    x = jt.constant([1.0, 2.0, 3.0], dtype="float64")
    for _ in range(3):
        with jt.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = call(x)
        for _ in range(2):
            np.testing.assert_allclose(tape.gradient(y, x) * x, y, rtol=1e-12)


def test_a_gradient_that_recomputes_leaves_the_generators_where_they_are() -> None:
    own = jt.random.Generator.from_seed(3)
    f = jt.recompute_grad(lambda x: x * own.normal([2]) * jt.random.normal([2]))
    states = []
    for differentiate in (False, True):
        jt.random.set_seed(5)
        own.reset_from_seed(3)
        x = jt.constant([1.0, 2.0])
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        if differentiate:
            tape.gradient(y, x)
        states.append([*own.state.tolist(), *jt.random.get_state().tolist()])
    assert states[0] == states[1]


def test_second_derivatives_through_recomputed_draws() -> None:
    f = jt.recompute_grad(lambda x: x**3 * jt.random.normal([3], dtype="float64"))
    x = jt.constant([1.0, 2.0, 3.0], dtype="float64")
    for _ in range(3):
        with jt.GradientTape() as outer:
            outer.watch(x)
            with jt.GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            first = inner.gradient(y, x)
        np.testing.assert_allclose(outer.gradient(first, x) * x * x, 6 * y, rtol=1e-12)


def test_a_recomputed_function_updates_statistics_once():
    layer = jt.keras.layers.BatchNormalization(momentum=0.5)
    layer.build((None, 2))
    call = jt.recompute_grad(jt.function(lambda x: layer(x, training=True)))
    x = jt.constant([[1.0, 3.0], [3.0, 5.0]])
    for k in range(1, 4):
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = call(x)
        assert tape.gradient(y, x) is not None
        np.testing.assert_allclose(layer.moving_mean.numpy(), np.array([2.0, 4.0]) * (1 - 0.5**k))
