"""A plain step that meets a third length gets its nodes and its executable from a general path, or records them."""

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import jittape as jt
from host_schedules import schedule
from jittape.core.simplify import simplify
from jittape.recording.general.path_edges import edges_to, is_same_content
from jittape.recording.trace import current_trace
from jittape.recording.trie import Node, trie
from jittape.runtime.counters import counters
from jittape.runtime.general_executable import GeneralExecutable
from length_programs import decide_by_sizes, random_function
from test_general_trace import arguments, flatten, table_of

LENGTHS = [0, 1, 2, 3, 4, 5, 9, 16, 17, 31, 40, 41, 63, 64, 65, 79, 80, 100, 257, 1000, 1024, 1025, 3000]


@pytest.fixture(autouse=True)
def new_paths():
    trie.clear()
    yield
    trie.clear()


def values_of(results: list[Any]) -> list[np.ndarray[Any, Any]]:
    return [np.array(x) for x in results]


def ran(step: Callable[..., Any], *args: Any) -> tuple[list[np.ndarray[Any, Any]], Node]:
    """Return the results of a step, computed by one flush at its end, and the node where it ended."""
    results = flatten(step(*[jt.constant(a) for a in args]))
    node = current_trace().node
    return values_of(results), node


def compiled_anew(step: Callable[..., Any], *args: Any) -> tuple[list[np.ndarray[Any, Any]], Node]:
    """Return what `ran` does, from paths that only this length has, compiled for it."""
    trie.clear()
    ran(step, *args)
    found = ran(step, *args)
    assert found[1].derivation is None
    trie.clear()
    return found


def is_derived(node: Node) -> bool:
    return node.derivation is not None


@pytest.mark.parametrize("seed", range(12))
def test_random_steps_of_random_lengths(seed, monkeypatch):
    """A derived path has the nodes, the table and the bits of one that was recorded and scheduled anew."""
    decide_by_sizes(monkeypatch)
    step = random_function(seed)
    rng = random.Random(seed)
    lengths = [*rng.sample(LENGTHS[3:], 5), *rng.sample(LENGTHS[:6], 2)]
    found = [(n, *ran(step, *arguments(n, seed)), counters.last) for n in lengths]
    for n, results, node, executable in found:
        if not is_derived(node):
            continue
        edges = edges_to(node)
        expected, fresh = compiled_anew(step, *arguments(n, seed))
        for a, b in zip(results, expected, strict=True):
            np.testing.assert_array_equal(a, b, strict=True)
        wanted = edges_to(fresh)
        assert [key for key, _ in edges] == [key for key, _ in wanted]
        assert all(is_same_content(a, b) for (_, a), (_, b) in zip(edges, wanted, strict=True))
        compiled = executable.compiled
        if compiled is not None and compiled.is_cached:
            program = compiled.program
            assert table_of(compiled.schedule) == table_of(schedule(simplify(program), executable._donated))


def test_most_random_steps_are_general():
    """The property above is not empty."""
    count = 0
    for seed in range(8):
        trie.clear()
        step = random_function(seed)
        count += [is_derived(ran(step, *arguments(n))[1]) for n in (50, 60, 70)] == [False, False, True]
    assert count >= 7


def linear(x, y, w):
    with jt.GradientTape() as tape:
        loss = jt.reduce_mean(jt.square(x @ w - y))
    w.assign_sub(0.1 * tape.gradient(loss, w))
    return loss


def data(n: int) -> tuple[Any, Any]:
    x, v, *_ = arguments(n)
    return jt.constant(x), jt.constant(v[:, None])


def test_a_training_loop_compiles_for_all_lengths():
    """The same losses and weights as with a compilation for each length, and no kernel after the first lengths."""
    lengths = [7, 9, 30, 11, 3, 2, 1, 0, 64, 1025, 9, 30]

    def trained(step):
        w = jt.Variable(np.zeros((3, 1)))
        return [float(step(*data(n), w)) for n in lengths[:-4]], w.numpy()

    found = trained(linear)

    def separate(*args):
        trie.clear()
        return linear(*args)

    expected = trained(separate)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)


def test_a_thousand_lengths_need_three_kernels():
    w = jt.Variable(np.zeros((3, 1)))
    for n in (40, 60, 70, 80):
        float(linear(*data(n), w))
    before = sum(counters_of_kernels())
    for n in range(100, 1100):
        linear(*data(n), w)
    float(linear(*data(50), w))
    assert sum(counters_of_kernels()) - before <= 3


def counters_of_kernels() -> tuple[int, int]:
    return counters.kernels_compiled, counters.kernels_loaded


def test_a_family_is_given_up_if_no_step_follows_it():
    """A parameter that depends on the length in another way than in the samples takes the steps elsewhere."""
    sizes = iter([5, 6, 9, 7, 5, 8, 6, 9, 5, 7, 8, 9, 7, 6, 5])
    for n in range(20, 34):
        x = jt.constant(arguments(n)[0])
        size = next(sizes)
        found = jt.reduce_sum(jt.exp(x) * 2.0, 0)[None] + jt.zeros((size, 3), jt.float64)
        np.testing.assert_allclose(found.numpy()[0], (np.exp(x.numpy()) * 2.0).sum(0), rtol=1e-12)
        assert found.shape == (size, 3)


def test_two_branches_of_a_step_each_have_a_family():
    def step(n, logs):
        x = jt.constant(arguments(n)[0])
        total = jt.reduce_sum(jt.exp(x), 0)
        total = total * jt.reduce_mean(x) if logs else total
        np.array(total)
        return counters.last

    for n in (20, 21, 22, 23):
        step(n, False)
        step(n, True)
    for n in (30, 31):
        for logs in (False, True):
            executable = step(n, logs)
            assert (executable.ran_compiled, executable.visits) == (True, 1)


def test_small_and_equal_extents_have_paths_of_their_own():
    """0, 1, 2, and a batch as long as the rows, broadcast in other ways than the samples."""

    def step(n):
        x = jt.constant(arguments(n)[0])
        found = x * jt.reduce_sum(x, 1)[:, None] + jt.reduce_sum(x, 0)
        expected = x.numpy() * x.numpy().sum(1)[:, None] + x.numpy().sum(0)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12, atol=1e-300)

    for n in (40, 50, 60, 0, 1, 2, 3, 4, 60, 3, 1):
        step(n)


def test_random_numbers_differ_between_lengths_and_visits():
    def step(n):
        x = jt.constant(arguments(n)[0])
        return (x * 0.0 + jt.random.uniform((n, 3), dtype=jt.float64)).numpy()

    seen = [step(n) for n in (20, 21, 22, 23, 22, 22)]
    assert len({found[0, 0] for found in seen}) == len(seen)
    assert all(((found >= 0) & (found < 1)).all() for found in seen)


def test_a_flush_inside_the_tape_is_part_of_the_path():
    def step(n):
        x = jt.constant(arguments(n)[0])
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = jt.reduce_sum(jt.exp(x), 1)
            middle = y.numpy()
            loss = jt.reduce_sum(jt.square(y))
        gradient = tape.gradient(loss, x)
        np.testing.assert_allclose(middle, np.exp(x.numpy()).sum(1), rtol=1e-12)
        expected = 2 * middle[:, None] * np.exp(x.numpy())
        np.testing.assert_allclose(gradient.numpy(), expected, rtol=1e-12)
        return counters.last

    assert [step(n).ran_compiled for n in (20, 21, 22, 23)] == [False, False, True, True]


def test_an_error_in_a_derived_path_names_its_op():
    def step(n, index):
        x = jt.constant(arguments(n)[0])
        picked = jt.gather(x, jt.constant([0, index]))
        return jt.reduce_sum(picked).numpy()

    for n in (20, 21, 22, 23):
        np.testing.assert_allclose(step(n, n - 1), arguments(n)[0][[0, n - 1]].sum(), rtol=1e-12)
    with pytest.raises(IndexError, match="gather"):
        step(24, 24)
    np.testing.assert_allclose(step(24, 23), arguments(24)[0][[0, 23]].sum(), rtol=1e-12)


def test_explain_shows_the_kernels_of_a_derived_path():
    w = jt.Variable(np.zeros((3, 1)))
    for n in (20, 21, 22, 23):
        linear(*data(n), w)
    w.numpy()
    assert "last step: compiled" in str(jt.explain())
    assert {op.primitive.name for step in jt.explain().steps for op in step.ops} >= {"matmul", "subtract"}


def test_lengths_that_are_met_once_share_an_executable():
    w = jt.Variable(np.zeros((3, 1)))
    for n in (20, 21, 22, 23, 24):
        linear(*data(n), w)
    w.numpy()
    path = counters.last
    assert path.ran_compiled
    assert path._compiled is None
    for n in (25, 24, 26, 24):
        linear(*data(n), w)
    w.numpy()
    assert path._compiled is not None
    assert path.visits == 3


def test_explain_describes_a_length_that_was_met_once_after_another_one():
    def step(n):
        float(jt.reduce_sum(jt.tanh(jt.constant(arguments(n)[0])) * 2.0))
        return counters.last

    paths = [step(n) for n in (20, 21, 22, 23, 24)]
    assert [path.compiled.program.inputs == paths[-1].compiled.program.inputs for path in paths[2:]] == [
        True
    ] * 3
    shapes = [path.compiled.program.avals[0].shape[0] for path in paths[2:]]
    assert shapes == [22, 23, 24]


def test_lengths_in_a_profile_have_their_own_executables():
    """A length whose first run is profiled must not run with the numbers of another one after that."""

    def step(n):
        return float(jt.reduce_sum(jt.tanh(jt.constant(arguments(n)[0])) * 2.0))

    expected = {n: float(np.sum(np.tanh(arguments(n)[0]) * 2.0)) for n in range(20, 40)}
    for n in range(20, 25):
        step(n)
    with jt.profile():
        for n in range(25, 30):
            step(n)
    for n in (*range(25, 40), *range(39, 20, -1)):
        np.testing.assert_allclose(step(n), expected[n], rtol=1e-12)


def test_threads_meet_new_lengths_at_the_same_time():
    def step(n):
        return float(jt.reduce_sum(jt.tanh(jt.constant(np.full(n, 0.5))) * 2.0))

    for n in (20, 21, 22, 23):
        step(n)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(step, range(30, 230)))
    np.testing.assert_allclose(found, 2 * np.tanh(0.5) * np.arange(30, 230), rtol=1e-12)


def test_a_parameter_of_any_type_may_be_part_of_a_path():
    for n in (20, 21, 22, 23):
        x = jt.constant(arguments(n)[0])
        for shape in (None, [None, 3], jt.TensorShape([None, None])):
            found = jt.ensure_shape(x, shape) * 2.0
            np.testing.assert_array_equal(found.numpy(), 2.0 * x.numpy())


W = jt.Variable(np.linspace(-1.0, 1.0, 9).reshape(3, 3))
FILTERS = jt.Variable(np.linspace(-1.0, 1.0, 18).reshape(2, 3, 1, 3))
OPTIMIZER = jt.optimizers.Adam()


def fitted(loss_of: Callable[[Any], Any], variable: Any, n: int) -> Any:
    with jt.GradientTape() as tape:
        loss = loss_of(jt.constant(arguments(n)[0]))
    OPTIMIZER.apply_gradients([(tape.gradient(loss, variable), variable)])
    return loss.numpy()


STEPS: dict[str, Callable[[int], Any]] = {
    "dropout": lambda n: fitted(lambda x: jt.reduce_mean(jt.square(jt.nn.dropout(x, 0.5) @ W)), W, n),
    "softmax": lambda n: fitted(lambda x: jt.reduce_mean(jt.nn.log_softmax(x @ W)[:, 1]), W, n),
    "conv2d": lambda n: fitted(
        lambda x: jt.reduce_mean(jt.nn.conv2d(x[None, :, :, None], FILTERS, 1, "SAME") ** 2), FILTERS, n
    ),
    "attention": lambda n: fitted(lambda x: jt.reduce_sum(jt.nn.softmax(x @ jt.transpose(x @ W)) @ x), W, n),
    "slice": lambda n: jt.reduce_sum(jt.constant(arguments(100)[0])[:n] * 2.0).numpy(),
    "reshape": lambda n: jt.reduce_sum(jt.reshape(jt.constant(arguments(n)[0]), [n * 3])[1:]).numpy(),
    "two lengths": lambda n: jt.concat(
        [jt.constant(arguments(n)[0]), jt.constant(arguments(2 * n + 1)[0])], 0
    ).numpy(),
    "value_and_grad": lambda n: jt.value_and_grad(lambda x: jt.reduce_sum(x**3))(arguments(n)[0])[1].sum(),
    "numpy": lambda n: np.asarray(np.sum(np.exp(jt.constant(arguments(n)[0])), 0)),
}


@pytest.mark.parametrize("name", STEPS)
def test_typical_steps_are_general(name):
    """From the third length on, each step runs compiled at its first visit; the interpreter agrees."""
    step = STEPS[name]
    for n in (50, 51, 52, 53):
        state = jt.random.get_state()
        weights = [W.numpy(), FILTERS.numpy(), *[v.numpy() for v in OPTIMIZER.variables]]
        found = step(n)
        executable, ran_compiled = counters.last, counters.last.ran_compiled
        jt.random.set_state(state)
        for variable, value in zip([W, FILTERS, *OPTIMIZER.variables], weights, strict=False):
            variable.assign(value)
        jt.config.interpret = True
        try:
            expected = step(n)
        finally:
            jt.config.interpret = False
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert ran_compiled
    assert type(executable).__name__ == "GeneralPathExecutable"


STRIDED = {
    "every second row": lambda x: x[::2],
    "every third row, backwards": lambda x: x[-2:3:-3],
    "strides": lambda x: jt.nn.conv1d(x[None], jt.ones((3, 3, 2), "float64"), 3, "SAME"),
    "pooling": lambda x: jt.nn.max_pool1d(x[None], 2, 2, "VALID"),
    "a carry of the length": lambda x: jt.foldl(lambda c, w: jt.tanh(c * 0.5 + w), jt.stack([x, x * x]), x),
}


@pytest.mark.parametrize("name", STRIDED)
def test_lengths_of_slices_with_a_step_and_of_bodies_are_derived(name):
    def step(x, w):
        with jt.GradientTape() as tape:
            tape.watch(w)
            loss = jt.reduce_sum(STRIDED[name](x * w) ** 2.0)
        return loss, tape.gradient(loss, w)

    w = np.array([0.5, -1.0, 2.0])
    derived = 0
    for n in (40, 53, 61, 44, 87):
        x = np.random.default_rng(n).normal(size=(n, 3))
        found, node = ran(step, x, w)
        derived += is_derived(node)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(jt.config, "interpret", True)
            expected = values_of(flatten(step(jt.constant(x), jt.constant(w))))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    assert derived >= 2  # two samples may leave open how a length is rounded


@pytest.mark.parametrize(("limit", "interpreted"), [(1000, 0), (100_000, 1)])
def test_long_loops_of_a_length_without_a_derived_schedule_are_not_interpreted(
    override_tuning, monkeypatch, limit, interpreted
):
    """The kernels of other lengths serve it."""
    override_tuning(interpreted_loop_ops=limit)

    def step(length: int) -> int:
        x = jt.ones([length, 4, 32], jt.float64)
        with jt.GradientTape() as tape:
            tape.watch(x)
            last = jt.scan(lambda a, row: jt.tanh(a * 0.5 + row), x, jt.zeros([4, 32], jt.float64))[-1]
            loss = jt.reduce_sum(last)
        gradient = tape.gradient(loss, x)
        before = counters.interpreted_runs
        float(jt.reduce_sum(gradient))
        return counters.interpreted_runs - before

    for length in (101, 103, 107, 109):
        step(length)
    assert step(113) == 0
    monkeypatch.setattr(GeneralExecutable, "_known_at", lambda *call: None)
    assert step(128) == interpreted
