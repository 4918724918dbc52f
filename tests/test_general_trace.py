"""A function that is traced once serves arrays of other lengths, with the numbers of a trace of their own."""

import random
import warnings
from typing import Any

import numpy as np
import optree
import pytest

import jittape as jt
from host_schedules import schedule
from jittape.core.simplify import simplify
from length_programs import decide_by_sizes, random_function

LENGTHS = [0, 1, 2, 3, 4, 5, 9, 16, 17, 31, 40, 41, 63, 64, 65, 79, 80, 100, 257, 1000, 1024, 1025, 3000]
SPEC = jt.TensorSpec([None, 3], jt.float64)


def arguments(n: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), rng.normal(size=n), rng.normal(size=3), rng.normal(size=(3, 3))


def flatten(result: Any) -> list[Any]:
    leaves: list[Any] = optree.tree_leaves(result, none_is_leaf=True)
    return leaves


def trace_of(function: Any, *args: Any) -> Any:
    return function.get_concrete_function(*args)._trace


def assert_equal_programs(derived: Any, fresh: Any) -> None:
    """Both have the same ops, avals and results, by plain numbers."""
    assert [op[:4] for op in derived.program.ops] == [op[:4] for op in fresh.program.ops]
    assert derived.program.avals == fresh.program.avals
    assert derived.program.outputs == fresh.program.outputs
    assert derived.avals == fresh.avals
    numbers = [n for aval in derived.program.avals.values() for n in aval.shape]
    assert all(type(n) is int for n in numbers)


def table_of(found: Any) -> list[Any]:
    steps = [(s.kernel.name, s.storages, s.sizes, s.tasks, s.work, s.tile) for s in found.steps]
    memory = (found.outputs, found.results, found.offsets, found.lengths, found.arena, found.in_place)
    return [steps, memory, {kernel.name for kernel in found.spare}]


@pytest.mark.parametrize("seed", range(14))
def test_random_functions_of_random_lengths(seed, monkeypatch):
    """A derived trace has the program, the tables and the bits of one that was traced and scheduled anew."""
    decide_by_sizes(monkeypatch)
    python = random_function(seed)
    general = jt.function(python)
    rng = random.Random(seed)
    lengths = rng.sample(LENGTHS[3:], 5) + rng.sample(LENGTHS[:6], 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in lengths:
            args = arguments(n, seed)
            found = general(*args)
            fresh = jt.function(python)
            expected = fresh(*args)
            for a, b in zip(flatten(found), flatten(expected), strict=True):
                np.testing.assert_array_equal(a.numpy(), b.numpy(), strict=True)
            derived = trace_of(general, *args)
            if n != 1:  # a trace for all lengths broadcasts one element to one
                assert_equal_programs(derived, trace_of(fresh, *args))
            compiled = derived.compiled
            if not compiled.is_cached:
                continue
            bound = compiled.program
            assert table_of(compiled.schedule) == table_of(schedule(simplify(bound), derived.donated()))


@pytest.mark.parametrize("seed", range(10))
def test_random_functions_of_small_lengths(seed):
    """Lengths that equal numbers of the function give the bits, or the error, of a trace of their own."""
    python = random_function(100 + seed)
    general = jt.function(python)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in (50, 60, 3, 2, 1, 0, 4):
            args = arguments(n, seed)
            try:
                expected = jt.function(python)(*args)
            except Exception as error:
                with pytest.raises(type(error)):
                    general(*args)
                continue
            for a, b in zip(flatten(general(*args)), flatten(expected), strict=True):
                np.testing.assert_array_equal(a.numpy(), b.numpy(), strict=True)


def test_most_random_functions_are_general():
    """The property above is not empty: the third length of most functions runs no Python."""
    count = 0
    for seed in range(8):
        f = jt.function(random_function(seed))
        for n in (50, 60, 70):
            f(*arguments(n))
        count += f.trace_count == 2
    assert count >= 7


def test_an_open_signature_is_traced_once():
    seen = []

    @jt.function(input_signature=[SPEC, jt.TensorSpec([None], jt.float64)])
    def loss(x, y):
        seen.append(x.shape)
        return jt.reduce_mean(jt.square(jt.reduce_sum(x, 1) - y))

    for n in (1, 50, 7, 100, 20_000, 3, 2, 64, 50):
        x, y, *_ = arguments(n)
        np.testing.assert_allclose(loss(x, y).numpy(), np.mean((x.sum(1) - y) ** 2), rtol=1e-12)
    assert np.isnan(loss(np.zeros((0, 3)), np.zeros(0)).numpy())
    assert loss.trace_count == len(seen) == 1
    assert "x: float64[?,3], y: float64[?]" in loss.explain()
    assert "compiled, for other extents in place of ? too" in loss.explain()


def test_other_functions_are_general_from_the_second_length_on():
    f = jt.function(lambda x: jt.reduce_sum(x * 2.0, 0))
    for n in (10, 20, 30, 40):
        x = arguments(n)[0]
        np.testing.assert_allclose(f(x).numpy(), (x * 2.0).sum(0), rtol=1e-12)
    assert f.trace_count == 2


def test_a_training_step_updates_its_variables():
    def fitted(step_of):
        w = jt.Variable(np.zeros((3, 1)))

        def step(x, y):
            with jt.GradientTape() as tape:
                loss = jt.reduce_mean(jt.square(x @ w - y))
            w.assign_sub(0.1 * tape.gradient(loss, w))
            return loss

        run = step_of(step)
        losses = []
        for n in (30, 31, 32, 100, 33, 30):
            x, v, *_ = arguments(n)
            losses.append(float(run(x, v[:, None])))
        return losses, w.numpy()

    found, plain = fitted(jt.function), fitted(lambda step: lambda x, y: step(jt.constant(x), jt.constant(y)))
    np.testing.assert_allclose(found[0], plain[0], rtol=1e-12)
    np.testing.assert_allclose(found[1], plain[1], rtol=1e-12)


@pytest.mark.parametrize(
    "python",
    [
        lambda x: x * len(x),
        lambda x: x * float(x.shape[0]),
        lambda x: x * {10: 2.0, 20: 3.0}.get(x.shape[0], 5.0),
        lambda x: x * (2.0 if x.shape[0] in {20, 30} else 5.0),
        lambda x: x * (2.0 if x.shape in {(20, 3), (30, 3)} else 5.0),
        lambda x: x * sum(range(x.shape[0])),
        lambda x: x * np.sqrt(x.shape[0]),
        lambda x: x * float(str(x.shape[0])),
        lambda x: x + np.arange(x.shape[0])[:, None],
        lambda x: x * (2.0 if x.shape[0] > 25 else 5.0),
        lambda x: x * (1.0 if x.shape[0] % 20 else 3.0),
        lambda x: (x, x.shape[0], x.shape, {"rows": x.shape[0]}),
        lambda x: (x, np.array(x.shape)),
        lambda x: x * max(x.shape) / min(x.shape),
        lambda x: x - jt.cast(x.shape[0], jt.float64),
        lambda x: x * (x.shape[0] ** 2 - 3 * x.shape[0] // 2) + (5 - x.shape[0]),
        lambda x: jt.reshape(x, (x.shape[0] * 3,)),
        lambda x: sum(jt.unstack(x)),
        lambda x: jt.stack([row * 2.0 for row in x]),
    ],
)
def test_python_code_may_use_the_extents(python):
    """Whatever Python code does with an extent, another length gets its own result."""
    f = jt.function(python)
    for n in (10, 20, 30, 40, 21):
        x = arguments(n)[0]
        found, expected = f(x), jt.function(python)(x)
        for a, b in zip(flatten(found), flatten(expected), strict=True):
            assert type(a) is type(b)
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-12)


def test_extents_that_are_kept_are_plain_numbers():
    kept = []

    @jt.function
    def f(x):
        kept.append(x.shape[0])
        return x * 2.0

    for n in (10, 20, 30):
        f(arguments(n)[0])
    assert kept == [10, 20]
    assert {10: "a", 20: "b"}[kept[1]] == "b"
    assert kept[1] + 1 == 21
    assert list(range(kept[1])) == list(range(20))


def test_numbers_and_extents_vary_together():
    f = jt.function(lambda x, rate, k: x * rate + k * x.shape[0])
    for n, rate, k in ((10, 0.5, 2), (20, 0.25, 3), (30, 2.0, 4), (40, 1.0, 5)):
        x = arguments(n)[0]
        np.testing.assert_allclose(f(x, rate, k).numpy(), x * rate + k * n, rtol=1e-12)


def test_a_batch_of_as_many_rows_as_numbers():
    """Extents that are equal by accident (5 and 3, then 3 and 3) get a trace of their own."""
    f = jt.function(lambda x: (jt.transpose(x) @ x, x @ jt.transpose(x), x * jt.reduce_sum(x, 0)))
    for n in (5, 3, 4, 3, 6, 1, 0):
        x = arguments(n)[0]
        for a, b in zip(f(x), (x.T @ x, x @ x.T, x * x.sum(0)), strict=True):
            np.testing.assert_allclose(a.numpy(), b, atol=1e-12)


def test_two_extents():
    f = jt.function(lambda x, y: jt.reduce_sum(x, 0) @ jt.transpose(y))
    for n, m in ((5, 7), (6, 8), (9, 10), (10, 9), (11, 11), (4, 4), (12, 5)):
        x, y = arguments(n)[0], arguments(m, 1)[0]
        np.testing.assert_allclose(f(x, y).numpy(), x.sum(0) @ y.T, rtol=1e-12)
    g = jt.function(lambda x, y: x + y)
    for n, m in ((5, 5), (6, 6), (7, 7), (1, 7), (7, 1)):
        x, y = arguments(n)[0], arguments(m, 1)[0]
        np.testing.assert_array_equal(g(x, y).numpy(), x + y)
    with pytest.raises(jt.errors.ShapeError, match="do not broadcast"):
        g(np.zeros((7, 3)), np.zeros((8, 3)))


def test_an_error_names_the_shapes_of_the_call():
    f = jt.function(lambda x: x + np.ones((7, 3)))
    f(np.zeros((7, 3)))
    with pytest.raises(jt.errors.ShapeError, match=r"\(8, 3\)"):
        f(np.zeros((8, 3)))
    f(np.zeros((1, 3)))


def test_random_numbers_and_loops_get_ordinary_traces():
    f = jt.function(lambda x: x + jt.random.normal(x.shape, dtype=jt.float64))
    g = jt.function(lambda x: jt.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2.0), (0, x))[1])
    for n in (10, 20, 30):
        x = arguments(n)[0]
        assert f(x).shape == (n, 3)
        np.testing.assert_array_equal(g(x).numpy(), x * 8.0)


def test_few_kernels_serve_a_thousand_lengths():
    f = jt.function(lambda x: jt.reduce_sum(jt.exp(x) * x, 1), input_signature=[SPEC])
    x = np.ones((2000, 3))
    f(x[:100])
    jt.reset_stats()
    for n in range(100, 1100, 20):
        np.testing.assert_allclose(f(x[:n]).numpy(), 3 * np.e, rtol=1e-12)
    assert jt.stats().kernels <= 3
    assert f.trace_count == 1


def test_traces_of_lengths_are_bounded():
    before = jt.config.max_signatures
    jt.config.max_signatures = 8
    try:
        f = jt.function(lambda x: x * 2.0)
        for n in range(10, 60):
            f(np.ones((n, 3)))
        assert len(f._families._derived) <= 8
        assert f.trace_count == 2
    finally:
        jt.config.max_signatures = before


def test_under_a_tape():
    f = jt.function(lambda x: jt.reduce_sum(x * x, 1))
    for n in (10, 20, 30, 40):
        x = jt.constant(arguments(n)[0])
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = jt.reduce_sum(f(x))
        np.testing.assert_allclose(tape.gradient(y, x).numpy(), 2 * x.numpy(), rtol=1e-12)
    assert f.trace_count == 2


def test_a_concrete_function_of_an_open_signature_takes_every_length():
    seen = []

    @jt.function
    def step(x, y=None, factor=2):
        seen.append(x.shape)
        return {"sums": jt.reduce_sum(x, 1) * factor, "square": jt.transpose(x) @ x}

    concrete = step.get_concrete_function(SPEC)
    for n in (5, 10, 100, 1000):
        x = arguments(n)[0]
        found = concrete(x)
        np.testing.assert_allclose(found["sums"].numpy(), 2.0 * x.sum(1), rtol=1e-12)
        np.testing.assert_allclose(found["square"].numpy(), x.T @ x, rtol=1e-12)
    assert len(seen) == 1
    for n in (0, 1, 2, 3):
        x = arguments(n)[0]
        np.testing.assert_allclose(concrete(x)["sums"].numpy(), 2.0 * x.sum(1), rtol=1e-12)
    assert concrete.structured_outputs == {
        "sums": jt.TensorSpec([None], jt.float64),
        "square": jt.TensorSpec([3, 3], jt.float64),
    }
    assert "TensorSpec(shape=(None, 3), dtype=float64" in concrete.pretty_printed_signature()
    assert concrete.inputs == [SPEC]


@pytest.mark.parametrize("bad", [np.ones((3, 4)), np.ones((3, 3), np.float32), np.ones(3)], ids=str)
def test_a_concrete_function_of_an_open_signature_refuses_other_arguments(bad):
    concrete = jt.function(lambda x: x * 2.0).get_concrete_function(SPEC)
    with pytest.raises(TypeError, match=r"is for \(x: float64\[\?,3\]\), got"):
        concrete(bad)


def test_open_extents_of_several_arguments_are_equal_or_not():
    vector = jt.TensorSpec([None], jt.float64)
    x, v, *_ = arguments(7)
    rows = jt.function(lambda x, v: jt.reduce_sum(x, 1) - v).get_concrete_function(SPEC, vector)
    np.testing.assert_allclose(rows(x, v).numpy(), x.sum(1) - v)
    joined = jt.function(lambda u, v: jt.concat([u, v], 0)).get_concrete_function(vector, vector)
    assert joined(v, arguments(5)[1]).shape == (12,)
    assert joined.outputs == [vector]
    product = jt.function(lambda x: x @ x)
    with pytest.raises(ValueError, match="do not fit"):
        product.get_concrete_function(SPEC)


@pytest.mark.parametrize("convert", [np.asarray, jt.constant])
@pytest.mark.parametrize("form", ["signature", "function", "plain"])
def test_extents_that_were_equal_at_first_may_differ_later(form, convert):
    def python(x, y):
        return jt.reduce_sum(x) + 10.0 * jt.reduce_sum(y)

    spec = jt.TensorSpec([None, 2], jt.float64)
    options: dict[str, Any] = {"input_signature": [spec, spec]} if form == "signature" else {}
    function = python if form == "plain" else jt.function(python, **options)
    equal = [(n, n) for n in (30, 50, 70)]
    for pairs in (equal, [(206, 30), (30, 206), (206, 50), (50, 70), (70, 206), (206, 206)], equal):
        for pair in pairs:
            x, y = (convert(np.ones((n, 2))) for n in pair)
            assert function(x, y).numpy() == 2 * pair[0] + 20 * pair[1], pair


def test_random_numbers_are_those_of_a_trace_for_the_length():
    def noisy(x):
        return x + jt.random.normal(x.shape, dtype=jt.float64) * jt.random.uniform((), dtype=jt.float64)

    def drawn(step_of):
        jt.random.set_seed(7)
        found = [step_of(n)(arguments(n)[0]).numpy() for n in (20, 30, 40, 50, 40)]
        return found, jt.random.get_state()

    general = jt.function(noisy)
    found, state = drawn(lambda n: general)
    expected, expected_state = drawn(lambda n: jt.function(noisy))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b, strict=True)
    np.testing.assert_array_equal(state, expected_state)
    assert general.trace_count == 2


def test_variables_may_be_arguments():
    @jt.function
    def step(w, x, factor):
        with jt.GradientTape() as tape:
            loss = jt.reduce_sum(jt.square(jt.linalg.matvec(x, w))) * factor
        w.assign_sub(0.01 * tape.gradient(loss, w))
        return loss

    u, v = jt.Variable(np.ones(3)), jt.Variable(np.ones(3))
    for n in (20, 30, 40, 50):
        x = arguments(n)[0]
        for w, factor in ((u, 1.0), (v, 2.0)):
            before = w.numpy()
            found = step(w, x, factor)
            np.testing.assert_allclose(found.numpy(), factor * np.sum((x @ before) ** 2), rtol=1e-12)
            expected = before - 0.02 * factor * x.T @ (x @ before)
            np.testing.assert_allclose(w.numpy(), expected, rtol=1e-10)
    assert step.trace_count == 2


def test_a_variable_whose_identity_matters_is_an_argument():
    u, v = jt.Variable(np.ones(3), name="u"), jt.Variable(np.ones(3), name="v")
    named = jt.function(lambda w, x: jt.reduce_sum(x * w) * (1.0 if w is u else 2.0))
    for n in (20, 30):
        x = arguments(n)[0]
        np.testing.assert_allclose(named(u, x).numpy(), x.sum(), rtol=1e-12)
        np.testing.assert_allclose(named(v, x).numpy(), 2.0 * x.sum(), rtol=1e-12)


def test_lengths_near_a_threshold_share_a_schedule(monkeypatch):
    """Decisions about speed do not need a schedule of their own, unless results must not depend on other lengths."""
    from jittape.core.tuning import tuning
    from jittape.runtime import general_schedule

    passes: list[Any] = []
    original = general_schedule.schedule

    def counted(*args: Any, **options: Any) -> Any:
        passes.append(args)
        return original(*args, **options)

    monkeypatch.setattr(general_schedule, "schedule", counted)

    def step(x):
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = jt.reduce_sum(jt.nn.softmax(x @ jt.transpose(x)) @ x)
        return y, tape.gradient(y, x)

    counts = {}
    for slack in (1.0, tuning.length_slack):
        passes.clear()
        with tuning.override(length_slack=slack):
            general = jt.function(step, input_signature=[SPEC])
            for n in (150, 155, 160, 165, 170, 175, 180, 185, 190, 205, 210):
                x = arguments(n)[0]
                (y, g), (own_y, own_g) = general(x), step(jt.constant(x))
                np.testing.assert_allclose(y.numpy(), own_y.numpy(), rtol=1e-12)
                np.testing.assert_allclose(g.numpy(), own_g.numpy(), rtol=1e-9, atol=1e-12)
        counts[slack] = len(passes)
    assert counts[tuning.length_slack] < counts[1.0]


@pytest.mark.parametrize("form", ["function", "plain"])
def test_first_runs_of_lengths_are_provisional(form, monkeypatch):
    """A length that is met once needs no schedule of its own for speed, one that is met again gets the right one."""
    from jittape.runtime import general_executable, general_schedule

    passes: list[Any] = []
    original = general_schedule.schedule

    def counted(*args: Any, **options: Any) -> Any:
        passes.append(args)
        return original(*args, **options)

    monkeypatch.setattr(general_schedule, "schedule", counted)
    monkeypatch.setattr(
        general_executable, "_PROVISIONAL_SHARE", 1e9
    )  # else slow machines run the passes earlier

    def step(x):
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = jt.reduce_sum(jt.nn.softmax(x @ jt.transpose(x)) @ x)
        return y, tape.gradient(y, x)

    function = jt.function(step, input_signature=[SPEC])
    call = function if form == "function" else lambda x: step(jt.constant(x))
    rng = np.random.default_rng(0)

    def check(n):
        x = rng.normal(size=(n, 3))
        y, g = call(x)
        scores = x @ x.T
        weights = np.exp(scores - scores.max(1, keepdims=True))
        weights /= weights.sum(1, keepdims=True)
        np.testing.assert_allclose(y.numpy(), (weights @ x).sum(), rtol=1e-12)
        return g.numpy()

    lengths = [150, 333, 190, 400, 231, 160, 303, 350, 217, 421]
    for n in lengths:
        check(n)
    once = len(passes)
    assert once <= 4
    for n in lengths:
        x = rng.normal(size=(n, 3))
        first, second, third = [call(x)[1].numpy() for _ in range(3)]
        np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(second, third)
    assert len(passes) > once


def test_a_concrete_function_of_unknown_rank():
    power = jt.function(lambda a, b: a**b).get_concrete_function(a=jt.TensorSpec(None, jt.float32), b=2)
    assert float(power(jt.constant(10.0))) == 100.0
    assert power(jt.constant([[1.0, 3.0]])).numpy().tolist() == [[1.0, 9.0]]
    with pytest.raises(TypeError):
        power(jt.constant(10.0), b=3)
    with pytest.raises(TypeError):
        power(jt.constant(10))


# ---- functions that need values --------------------------------------------------------------------------------------


def next_of(n: Any) -> Any:
    return n // 2 if jt.reduce_all(n % 2 == 0) else 3 * n + 1


@pytest.mark.parametrize(
    ("signature", "signatures", "runs"), [([jt.TensorSpec([None], jt.int64)], 1, 2), (None, 2, 3)]
)
def test_a_function_that_needs_values_is_traced_for_no_other_length(signature, signatures, runs):
    function = jt.function(next_of, input_signature=signature)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", jt.FunctionWarning)
        for length in (5, 7, 12, 1, 2, 3, 30):
            for numbers in (np.arange(length), 2 * np.arange(length)):
                np.testing.assert_array_equal(function(numbers), next_of(numbers))
    assert len(caught) == len(function.signatures()) == signatures
    assert function.trace_count == runs
    assert "n: int64[?]" in function.explain()


def test_a_length_that_needs_no_values_keeps_its_trace():
    @jt.function
    def function(x: Any) -> Any:
        return x if x.shape[0] > 20 or jt.reduce_sum(x) > 0.0 else -x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jt.FunctionWarning)
        for length in (30, 31, 32, 5, 6, 7, 40):
            x = np.linspace(-3.0, 1.0, length)
            np.testing.assert_array_equal(function(x), x if length > 20 else -x)
    assert [one.recorded == "" for one in function.signatures()] == [True, True, False, False, False]
