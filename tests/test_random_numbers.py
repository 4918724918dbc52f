"""Counter-based random numbers: Philox, seeds, and the same bits everywhere."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import jittape as jt
from jittape.vectormath.philox import Coordinates, philox
from primitive_table_random import halves, philox_words

R = jt.random
SEED = [3, 4]
DRAWS = {
    "normal": lambda shape, dtype="float64": R.stateless_normal(shape, SEED, dtype=dtype),
    "truncated_normal": lambda shape, dtype="float64": R.stateless_truncated_normal(shape, SEED, dtype=dtype),
    "uniform": lambda shape, dtype="float64": R.stateless_uniform(shape, SEED, dtype=dtype),
}
KNOWN = [
    ((0,) * 4, (0,) * 2, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
"""Counter, key and words of the known-answer tests of Random123 (``kat_vectors``, ``philox4x32 10``)."""


@pytest.fixture(autouse=True)
def seeded():
    R.set_seed(11)


def draws_of(name, shape, dtype="float64"):
    return np.asarray(DRAWS[name](shape, dtype))


# ---- the generator ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_philox_gives_the_known_answers(counter, key, words):
    pairs = [np.array([a | b << 32], np.uint64) for a, b in (counter[:2], counter[2:], key)]
    low, high = philox(Coordinates(*pairs))
    assert [int(low[0]) & 0xFFFFFFFF, int(low[0]) >> 32, int(high[0]) & 0xFFFFFFFF, int(high[0]) >> 32] == [
        *words
    ]
    assert philox_words(counter, key) == words


def test_an_element_is_a_function_of_seed_and_position():
    found = np.asarray(R.stateless_uniform([5], [7, -2], minval=None, dtype="uint64"))
    assert found.tolist() == [halves(i, 2**64 - 2, 7)[0] for i in range(5)]
    unit = np.asarray(R.stateless_uniform([5], [7, -2], dtype="float64"))
    assert unit.tolist() == [(int(word) >> 11) * 2.0**-53 for word in found]


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_interpreted_compiled_and_threaded_draws_have_the_same_bits(name, dtype, monkeypatch):
    shape = (300, 500)
    interpreted = draws_of(name, shape, dtype)
    compiled = jt.function(lambda: DRAWS[name](shape, dtype))
    for threads in (1, 2):
        monkeypatch.setattr(jt.config, "threads", threads)
        for _ in range(2):
            np.testing.assert_array_equal(compiled().numpy(), interpreted)
    np.testing.assert_array_equal(draws_of(name, (150_000,), dtype)[:7], interpreted.ravel()[:7])


SCALED = {
    "normal": lambda dtype: R.normal([300], 0.1, 0.7, dtype, seed=1),
    "truncated_normal": lambda dtype: R.truncated_normal([300], 0.1, 0.7, dtype, seed=1),
    "uniform": lambda dtype: R.uniform([300], -0.3, 0.7, dtype, seed=1),
    "laplace": lambda dtype: R.laplace([300], 0.1, 0.7, dtype, seed=1),
    "exponential": lambda dtype: R.exponential([300], 0.7, dtype, seed=1),
}


@pytest.mark.parametrize("name", SCALED)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_scaled_draws_have_the_same_bits_too(name, dtype, monkeypatch):
    """Otherwise the initial weights of the first fit would not be those of the second."""
    monkeypatch.setattr(jt.config, "interpret", True)
    interpreted = SCALED[name](dtype).numpy()
    monkeypatch.setattr(jt.config, "interpret", False)
    for _ in range(3):
        np.testing.assert_array_equal(SCALED[name](dtype).numpy(), interpreted)


@pytest.mark.parametrize("name", DRAWS)
def test_draws_in_float32_are_close_to_those_in_float64(name):
    single, double = draws_of(name, (50, 40), "float32"), draws_of(name, (50, 40), "float64")
    np.testing.assert_allclose(single, double, rtol=1e-3, atol=1e-3)
    assert single.dtype == np.float32


@pytest.mark.parametrize("name", DRAWS)
def test_draws_in_a_loop(name):
    seeds = R.split(SEED, 6)
    draw = getattr(R, f"stateless_{name}")

    def loop():
        return jt.scan(lambda _, seed: draw([4], seed, dtype="float64"), seeds, jt.zeros([4], "float64"))

    expected = np.stack([np.asarray(draw([4], seed, dtype="float64")) for seed in seeds])
    compiled = jt.function(loop)
    for _ in range(3):
        np.testing.assert_array_equal(loop().numpy(), expected)
        np.testing.assert_array_equal(compiled().numpy(), expected)


def test_draws_in_a_while_loop_with_a_seed_that_is_a_loop_variable():
    def body(i, seed, total):
        return i + 1, R.fold_in(seed, i), total + R.stateless_uniform([], seed, dtype="float64")

    def run():
        return jt.while_loop(
            lambda i, *_: i < 5, body, [0, jt.constant([1, 2], "int64"), jt.constant(0.0, "float64")]
        )[2]

    seed, total = jt.constant([1, 2], "int64"), 0.0
    for i in range(5):
        total += float(R.stateless_uniform([], seed, dtype="float64"))
        seed = R.fold_in(seed, i)
    compiled = jt.function(run)
    for _ in range(3):
        assert float(run()) == float(compiled()) == pytest.approx(total, rel=1e-15)


def test_draws_on_a_batch_of_seeds():
    seeds = R.split([1, 2], 4)
    rows = jt.vectorized_map(lambda seed: R.stateless_normal([3], seed, dtype="float64"), seeds)
    np.testing.assert_array_equal(
        rows.numpy(), [R.stateless_normal([3], seed, dtype="float64").numpy() for seed in seeds]
    )


def test_draws_in_numba():
    def draw(seed):
        return R.stateless_normal([3], seed, dtype="float64") + R.stateless_truncated_normal(
            [3], seed, dtype="float64"
        )

    native = jt.njit_function(draw, jt.TensorSpec([2], jt.int64))

    @numba.njit
    def run(seed):
        return native(seed)

    for seed in (np.array([5, 6]), np.array([-7, 2])):
        np.testing.assert_array_equal(run(seed), draw(seed).numpy())


# ---- seeds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
def test_split_and_fold_in_keep_the_dtype_and_differ(dtype):
    seed = np.array([1, 2], dtype)
    seeds = R.split(seed, 100)
    assert seeds.shape == (100, 2)
    assert seeds.dtype == dtype
    folded = [R.fold_in(seed, i).tolist() for i in range(100)]
    everything = {tuple(row) for row in [*seeds.tolist(), *folded, seed.tolist()]}
    assert len(everything) == 201
    assert R.split(seed, 3).tolist() == seeds.tolist()[:3]


def test_derived_seeds_are_not_the_numbers_of_the_seed():
    seed = [1, 2]
    drawn = np.asarray(R.stateless_uniform([8], seed, minval=None, dtype="int64")).tolist()
    assert not {*drawn} & {*np.asarray(R.split(np.array(seed), 8)).ravel().tolist()}


@pytest.mark.parametrize(
    ("seed", "error", "text"),
    [
        ([1], ValueError, r"\[random.stateless_normal\] seed must have shape \(2,\), got \(1,\)"),
        (3, ValueError, r"seed must have shape \(2,\), got \(\)"),
        ([[1, 2]], ValueError, r"seed must have shape \(2,\), got \(1, 2\)"),
        ([1.0, 2.0], TypeError, "seed must have an integer dtype, got float64"),
        ([True, False], TypeError, "seed must have an integer dtype, got bool"),
        ([1, 2**70], TypeError, "seed must be two integers of at most 64 bits"),
    ],
)
def test_bad_seeds(seed, error, text):
    with pytest.raises(error, match=text):
        R.stateless_normal([2], seed)


@pytest.mark.parametrize("seed", [-1, 1.5, "a", None])
def test_what_is_no_seed_of_the_process(seed):
    with pytest.raises(TypeError, match=r"\[set_seed\] seed must be an int of at least 0, got"):
        R.set_seed(seed)
    with pytest.raises(ValueError, match=r"\[set_seed\] seed must be less than 2\*\*128"):
        R.set_seed(2**128)


def test_other_bad_arguments():
    with pytest.raises(ValueError, match="num must be at least 1"):
        R.split([1, 2], 0)
    with pytest.raises(TypeError, match="data must be an integer"):
        R.fold_in([1, 2], 1.5)
    with pytest.raises(ValueError, match=r"data must be a scalar, got shape \(2,\)"):
        R.fold_in([1, 2], [1, 2])
    with pytest.raises(ValueError, match="alg must be 'philox' or 'auto_select', got 'threefry'"):
        R.stateless_normal([2], [1, 2], alg="threefry")
    with pytest.raises(ValueError, match="stddev must not be negative, got -1"):
        R.normal([2], stddev=-1)
    with pytest.raises(ValueError, match=r"stddev must not be negative, got \[1, -1\]"):
        R.normal([2], stddev=[1, -1])
    with pytest.raises(ValueError, match=r"mean of shape \(3,\) does not broadcast to \(2,\)"):
        R.normal([2], mean=jt.zeros([3]))
    with pytest.raises(TypeError, match="mean must be real, got complex64"):
        R.normal([2], mean=jt.constant(1j, "complex64"))
    with pytest.raises(ValueError, match="of an earlier version"):
        R.set_state(np.zeros(6, np.uint64))


def test_rejected_arguments_leave_the_generator_alone():
    before = R.get_state()
    for wrong in (lambda: R.normal([-1]), lambda: R.normal([2], stddev=-1), lambda: R.uniform([2], 3, 1)):
        with pytest.raises(ValueError, match="must not"):
            wrong()
    np.testing.assert_array_equal(R.get_state(), before)


# ---- integers --------------------------------------------------------------------------------------------------------


def test_uniform_integers_scale_128_bits():
    low, high, count = -5, 2**40, 300
    found = np.asarray(R.stateless_uniform([count], SEED, low, high, "int64")).tolist()
    blocks = [halves(i, SEED[1], SEED[0]) for i in range(count)]
    assert found == [low + ((h << 64 | word) * (high - low) >> 128) for word, h in blocks]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_uniform_integers_of_the_whole_range(dtype):
    limits = np.iinfo(dtype)
    draw = np.asarray(R.stateless_uniform([2000], SEED, int(limits.min), int(limits.max) + 1, dtype))
    assert draw.dtype == dtype
    assert draw.min() < limits.min + (int(limits.max) - limits.min) / 50
    assert draw.max() > limits.max - (int(limits.max) - limits.min) / 50
    full = np.asarray(R.stateless_uniform([2000], SEED, None, None, dtype))
    assert full.dtype == dtype
    assert full.max() > limits.max - (int(limits.max) - limits.min) / 50


def test_uniform_integers_between_tensors():
    f = jt.function(lambda low, high: R.uniform([1000], low, high, "int32"))
    for low, high in ((3, 5), (-4, 2)):
        found = f(jt.constant(low), jt.constant(high)).numpy()
        assert {*found.tolist()} == {*range(low, high)}


# ---- Generator -------------------------------------------------------------------------------------------------------


def several(generator):
    return [
        generator.normal([3], dtype="float64"),
        generator.uniform([2], dtype="float64"),
        generator.truncated_normal([], dtype="float64"),
        generator.uniform_full_int([2]),
    ]


def test_a_generator_draws_what_the_functions_draw():
    R.set_seed(5)
    generator = R.Generator.from_seed(5)
    assert generator.normal([4]).tolist() == R.normal([4]).tolist()
    assert generator.uniform([3]).tolist() == R.uniform([3]).tolist()
    assert generator.truncated_normal([3]).tolist() == R.truncated_normal([3]).tolist()
    np.testing.assert_array_equal(generator.state.numpy().astype(np.uint64), R.get_state())


def test_a_generator_in_functions_and_loops():
    generator = R.Generator.from_seed(1)
    eager = [[x.tolist() for x in several(generator)] for _ in range(4)]
    last = generator.state.numpy()
    generator.reset_from_seed(1)
    compiled = jt.function(lambda: several(generator))
    assert [[x.tolist() for x in compiled()] for _ in range(4)] == eager
    np.testing.assert_array_equal(generator.state.numpy(), last)

    def loop():
        return jt.scan(
            lambda _, x: generator.normal([2], dtype="float64"), jt.zeros([4]), jt.zeros([2], "float64")
        )

    expected = []
    for way in (loop, jt.function(loop)):
        generator.reset_from_seed(2)
        if not expected:
            expected = [generator.normal([2], dtype="float64").tolist() for _ in range(12)]
            generator.reset_from_seed(2)
        assert np.concatenate([way().numpy() for _ in range(3)]).tolist() == expected
        np.testing.assert_array_equal(generator.state.numpy(), [24, 0, 2])


def test_a_generator_in_nested_loops():
    generator = R.Generator.from_seed(3)
    expected = [generator.uniform([]).numpy() for _ in range(6)]
    generator.reset_from_seed(3)

    @jt.function
    def nested():
        def outer(_, x):
            return jt.scan(lambda _, y: generator.uniform([]), jt.zeros([3]), 0.0)

        return jt.scan(outer, jt.zeros([2]), jt.zeros([3]))

    np.testing.assert_array_equal(nested().numpy().ravel(), expected)


def test_a_module_saves_its_generator(tmp_path):
    class Noisy(jt.Module):
        def __init__(self):
            super().__init__()
            self.generator = R.Generator.from_seed(1)

    noisy, other = Noisy(), Noisy()
    assert noisy.submodules == (noisy.generator,)
    assert noisy.trainable_variables == ()
    noisy.generator.normal([3])
    noisy.save_weights(tmp_path / "noisy.npz")
    other.load_weights(tmp_path / "noisy.npz")
    assert other.generator.normal([3]).tolist() == noisy.generator.normal([3]).tolist()


def test_generators_from_other_states():
    generator = R.Generator.from_key_counter(7, [5, 6])
    assert generator.state.numpy().tolist() == [5, 6, 7]
    assert int(generator.key) == 7
    assert generator.algorithm == 1
    copies = [R.Generator(copy_from=generator), R.Generator.from_state(generator.state.numpy())]
    assert len({tuple(g.normal([2]).tolist()) for g in [generator, *copies]}) == 1
    generator.reset_from_key_counter(1, [2, 3])
    assert generator.state.numpy().tolist() == [2, 3, 1]
    generator.reset([4, 5, 6])
    assert generator.skip(10).numpy().tolist() == [4, 5, 6]
    assert generator.state.numpy().tolist() == [14, 5, 6]
    random = [R.Generator.from_non_deterministic_state().state.numpy().tolist() for _ in range(2)]
    assert random[0] != random[1]


def test_generators_share_a_variable():
    state = jt.Variable(np.array([5, 0, 7]))
    first, second = R.Generator.from_state(state), R.Generator(state=state)
    assert first.state is second.state is state
    drawn = {tuple(g.normal([2]).tolist()) for g in (first, second, first)}
    assert len(drawn) == 3
    assert state.numpy()[0] > 5


def test_split_generators_are_independent():
    generator = R.Generator.from_seed(1)
    parts = [*generator.split(3), *generator.split(2), generator]
    assert len({tuple(part.normal([2]).tolist()) for part in parts}) == 6
    seeds = generator.make_seeds(4)
    assert seeds.shape == (2, 4)
    assert seeds.dtype == jt.int64
    assert R.stateless_normal([2], seeds[:, 0]).shape == (2,)


def test_the_global_generator():
    before = R.get_global_generator()
    assert R.get_global_generator() is before
    mine = R.Generator.from_seed(3)
    R.set_global_generator(mine)
    try:
        assert R.get_global_generator() is mine
        with pytest.raises(TypeError, match=r"must be a jt.random.Generator, got 3"):
            R.set_global_generator(3)
    finally:
        R.set_global_generator(before)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: R.Generator(), ValueError, "give either copy_from or state"),
        (lambda: R.Generator(state=[1, 2]), ValueError, r"state must have shape \(3,\), got \(2,\)"),
        (lambda: R.Generator(state=[1.0, 2.0, 3.0]), TypeError, "state must be integers, got float64"),
        (lambda: R.Generator(state=[1, 2, 3], alg="threefry"), ValueError, "alg must be 'philox'"),
        (lambda: R.Generator.from_seed(-1), TypeError, "seed must be an int of at least 0, got -1"),
        (lambda: R.Generator.from_key_counter(1.5, [1, 2]), ValueError, "key must be an integer"),
        (lambda: R.Generator.from_seed(1).split(0), ValueError, "count must be at least 1, got 0"),
        (lambda: R.Generator.from_seed(1).skip(-1), ValueError, "delta must not be negative, got -1"),
    ],
)
def test_bad_generators(make, error, text):
    with pytest.raises(error, match=text):
        make()
