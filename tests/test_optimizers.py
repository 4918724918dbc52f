"""Optimizers against their published formulas, step by step in double precision; and what may go wrong."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import jittape as jt
from optimizer_formulas import CASES, started

RNG = np.random.default_rng(3)
START = [RNG.normal(size=(2, 3)), RNG.normal(size=4), np.float64(0.5)]
STEPS = [[RNG.normal(size=np.shape(w)) for w in START] for _ in range(6)]
RATES = [0.1, 0.1, 0.05, 0.2, 0.01, 0.1]


STEPLESS = tuple(
    getattr(jt.optimizers, name) for name in ("SGD", "RMSprop", "Adagrad", "Adadelta", "Ftrl", "Lion")
)
"""Those that do not go by the number of the step."""


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


@pytest.fixture(
    params=["sgd", "nesterov", "adam", "nadam", "rmsprop, centered, with momentum", "ftrl with penalties"]
)
def few(request):
    """A choice of them, for what is the business of the base class."""
    return CASES[request.param]


def references(formula):
    """A formula at work for each variable."""
    return [started(formula, w) for w in START]


# ---- the formulas ----------------------------------------------------------------------------------------------------


def test_formulas(case, mode):
    made, formula = case
    variables, running = [jt.Variable(w) for w in START], references(formula)
    optimizer = made(RATES[0])
    for gradients, rate in zip(STEPS, RATES, strict=True):
        optimizer.learning_rate = rate
        optimizer.apply_gradients(zip([jt.constant(g) for g in gradients], variables, strict=True))
        for variable, reference, gradient in zip(variables, running, gradients, strict=True):
            assert variable.dtype == jt.float64
            np.testing.assert_allclose(variable.numpy(), reference.send((gradient, rate)), rtol=1e-13)
    assert int(optimizer.iterations) == len(STEPS)


def test_gradients_of_a_tape(case, mode):
    """The whole loop, and no look inside it."""
    made, formula = case
    w = jt.Variable(START[1])
    optimizer, running, wanted = made(0.05), references(formula)[1], START[1]
    for _ in range(5):
        with jt.GradientTape() as tape:
            loss = jt.reduce_sum(w**3)
        optimizer.apply_gradients(zip(tape.gradient(loss, [w]), [w], strict=True))
        wanted = running.send((3 * wanted**2, 0.05))
    np.testing.assert_allclose(w.numpy(), wanted, rtol=1e-12)


def test_float32_averages_use_the_exact_complement_of_beta():
    w = jt.Variable(1.0)
    optimizer = jt.optimizers.Adam(0.1)
    optimizer.apply_gradients([(1.0, w)])
    first, second = optimizer.variables[2:]
    assert first.numpy() == np.float32(0.1)
    assert second.numpy() == np.float32(0.001)


def test_float16_keeps_its_averages_in_float32():
    """The square of 1e-4 is zero in float16, and dividing by its root plus epsilon a step of a thousand."""
    w = jt.Variable([1.0, 1.0], dtype="float16")
    optimizer = jt.optimizers.Adam(0.125)
    optimizer.apply_gradients([(jt.constant([1e-4, 0.0], jt.float16), w)])
    assert [v.dtype for v in optimizer.variables[2:]] == [jt.float32] * 2
    np.testing.assert_allclose(w.numpy(), [0.875, 1.0], rtol=1e-2)


def test_dtypes_are_mixed_in_one_optimizer(few, mode):
    made, formula = few
    dtypes = ["float64", "float32", "float16"]
    variables = [jt.Variable(w, dtype=dtype) for w, dtype in zip(START, dtypes, strict=True)]
    optimizer, running = made(0.01), references(formula)
    for gradients in STEPS:
        optimizer.apply_gradients(zip([jt.constant(g) for g in gradients], variables, strict=True))
        wanted = [one.send((g, 0.01)) for one, g in zip(running, gradients, strict=True)]
    assert [v.dtype.name for v in variables] == dtypes
    for variable, value, tolerance in zip(variables, wanted, [1e-13, 1e-6, 2e-2], strict=True):
        np.testing.assert_allclose(variable.numpy(), value, rtol=tolerance, atol=tolerance)


def test_formulas_in_a_function(case):
    """The whole step is one executable, traced once, the state made on the first call."""
    made, formula = case
    variables, optimizer = [jt.Variable(w) for w in START], made(0.1)

    @jt.function
    def step(gradients):
        optimizer.apply_gradients(zip(gradients, variables, strict=True))

    running = references(formula)
    for i, (gradients, rate) in enumerate(zip(STEPS, RATES, strict=True)):
        optimizer.learning_rate = rate
        before = jt.stats()
        step(gradients)
        after = jt.stats()
        assert after.compiled_runs == before.compiled_runs + 1
        assert i < 1 or (after.programs, after.paths_recorded) == (before.programs, before.paths_recorded)
        for variable, reference, gradient in zip(variables, running, gradients, strict=True):
            np.testing.assert_allclose(variable.numpy(), reference.send((gradient, rate)), rtol=1e-12)
    assert len(step.signatures()) == 1
    assert int(optimizer.iterations) == len(STEPS)


# ---- the learning rate -----------------------------------------------------------------------------------------------


def test_another_learning_rate_is_the_same_path(few):
    made, _ = few
    w, optimizer = jt.Variable(START[1]), made(0.1)

    def step(rate):
        optimizer.learning_rate = rate
        with jt.GradientTape() as tape:
            loss = jt.reduce_sum(jt.square(w))
        optimizer.apply_gradients(zip(tape.gradient(loss, [w]), [w], strict=True))
        return w.numpy()

    for _ in range(3):
        step(0.1)
    before = jt.stats()
    for i in range(5):
        step(0.1 / (i + 2))
    after = jt.stats()
    assert (after.paths_recorded, after.programs, after.trie_nodes) == (
        before.paths_recorded,
        before.programs,
        before.trie_nodes,
    )
    assert after.flushes == before.flushes + 5


@pytest.mark.parametrize("made", [jt.Variable, jt.constant, np.float32, np.array])
def test_kinds_of_learning_rates(made):
    w = jt.Variable([1.0, 2.0])
    for optimizer in (jt.optimizers.SGD(made(0.5)), jt.optimizers.SGD(made(0.5), momentum=0.9)):
        w.assign([1.0, 2.0])
        optimizer.apply_gradients([([1.0, 1.0], w)])
        assert w.tolist() == [0.5, 1.5]
        assert w.dtype == jt.float32


def test_a_learning_rate_in_a_variable_can_be_assigned():
    w, rate = jt.Variable(1.0), jt.Variable(0.5)
    optimizer = jt.optimizers.SGD(rate)
    optimizer.apply_gradients([(1.0, w)])
    rate.assign(0.25)
    optimizer.apply_gradients([(1.0, w)])
    assert float(w) == 0.25


# ---- what is given ---------------------------------------------------------------------------------------------------


def test_none_is_left_out_with_a_warning(few):
    made, _ = few
    a, b = jt.Variable(1.0, name="a"), jt.Variable(1.0, name="b")
    optimizer = made(0.1)
    with pytest.warns(UserWarning, match=r"Gradients do not exist for variables \['b:0'\]") as caught:
        optimizer.apply_gradients([(jt.constant(1.0), a), (None, b)])
    assert caught[0].filename == __file__
    assert float(a) < 1.0
    assert float(b) == 1.0


def test_no_gradient_at_all():
    a = jt.Variable(1.0, name="a")
    optimizer = jt.optimizers.SGD(0.1)
    for pairs in ([(None, a)], []):
        with pytest.raises(ValueError, match="No gradients provided for any variable"):
            optimizer.apply_gradients(pairs)
    assert int(optimizer.iterations) == 0


MISTAKES = [
    (
        np.ones(3, np.float32),
        ValueError,
        r"'b:0' has shape \(3,\), the variable \(2,\).*zip\(gradients, variables\)",
    ),
    (1.0, ValueError, r"has shape \(\)"),
    ([1j, 1j], TypeError, "complex"),
    ("text", TypeError, "Cannot convert"),
]


@pytest.mark.parametrize(("gradient", "error", "message"), MISTAKES)
def test_a_gradient_that_does_not_fit_leaves_everything_as_it_was(few, gradient, error, message):
    made, formula = few
    a, b = jt.Variable(START[1]), jt.Variable([1.0, 1.0], name="b")
    optimizer, running = made(0.1), references(formula)[1]
    with pytest.raises(error, match=message):
        optimizer.apply_gradients([(STEPS[0][1], a), (gradient, b)])
    assert int(optimizer.iterations) == 0
    np.testing.assert_array_equal(a.numpy(), START[1])
    for gradients in STEPS[:2]:
        optimizer.apply_gradients([(gradients[1], a)])
        np.testing.assert_allclose(a.numpy(), running.send((gradients[1], 0.1)), rtol=1e-13)


def test_pairs_the_wrong_way_round():
    w = jt.Variable(1.0)
    with pytest.raises(
        TypeError, match=r"as zip\(gradients, variables\) makes them, got Tensor as the latter"
    ):
        jt.optimizers.SGD(0.1).apply_gradients([(w, jt.constant(1.0))])


def test_integers_cannot_be_trained():
    n = jt.Variable([1, 2])
    with pytest.raises(TypeError, match="int32"):
        jt.optimizers.SGD(0.1).apply_gradients([(jt.constant([1, 1]), n)])


def test_variables_that_come_later(case):
    made, formula = case
    variables, running = [jt.Variable(w) for w in START[:2]], references(formula)
    optimizer = made(0.1)
    optimizer.apply_gradients([(STEPS[0][1], variables[1])])
    np.testing.assert_allclose(variables[1].numpy(), running[1].send((STEPS[0][1], 0.1)), rtol=1e-13)
    assert len(optimizer.variables) > 1
    optimizer.apply_gradients([(STEPS[1][i], variables[i]) for i in (0, 1)])
    at_once = made(0.1)
    at_once.build(variables)
    assert sorted(v.shape for v in optimizer.variables) == sorted(v.shape for v in at_once.variables)
    assert all(np.isfinite(v.numpy()).all() for v in (*variables, *optimizer.variables))
    if isinstance(optimizer, STEPLESS):
        np.testing.assert_allclose(variables[1].numpy(), running[1].send((STEPS[1][1], 0.1)), rtol=1e-13)
        np.testing.assert_allclose(variables[0].numpy(), running[0].send((STEPS[1][0], 0.1)), rtol=1e-13)


def test_constraints():
    w = jt.Variable([0.1, 1.0], constraint=lambda v: jt.maximum(v, 0.0))
    jt.optimizers.SGD(1.0).apply_gradients([([0.5, 0.5], w)])
    assert w.tolist() == [0.0, 0.5]


def test_a_subclass_needs_an_update():
    class Mine(jt.optimizers.Optimizer):
        pass

    with pytest.raises(NotImplementedError, match="Mine must define update_step"):
        Mine(0.1).apply_gradients([(1.0, jt.Variable(1.0))])


class Signs(jt.optimizers.Optimizer):
    """Counts the updates of each variable."""

    def build(self, variables):
        super().build(variables)
        self.counts = self.add_optimizer_variables(variables, "count")

    def update_step(self, gradient, variable, learning_rate):
        self.counts[self.position(variable)].assign_add(jt.ones(variable.shape))
        variable.assign_sub(learning_rate * jt.sign(gradient))


class KerasSigns(jt.optimizers.Optimizer):
    """The same as one would write it for Keras, where the state has no name."""

    def build(self, variables):
        if self.counts:
            return
        super().build(variables)
        for variable in variables:
            count = self.add_variable_from_reference(reference_variable=variable, name="count")
            self.counts.append(count)

    def __init__(self, learning_rate=0.1, **kwargs):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.counts = []

    def update_step(self, gradient, variable, learning_rate):
        count = self.counts[self._get_variable_index(variable)]
        count.assign_add(jt.ones(variable.shape))
        variable.assign_sub(learning_rate * jt.sign(gradient))


def test_an_optimizer_of_ones_own(mode):
    a, b = jt.Variable(1.0), jt.Variable([1.0, -1.0])
    optimizer = Signs(0.5)
    optimizer.apply_gradients([(3.0, a)])
    optimizer.apply_gradients([([-1.0, 2.0], b), (7.0, a)])
    assert (float(a), b.tolist()) == (0.0, [1.5, -1.5])
    assert [n.tolist() for n in optimizer.counts] == [2.0, [1.0, 1.0]]
    assert [v is w for v, w in zip(optimizer.variables[2:], optimizer.counts, strict=True)] == [True, True]


def test_an_optimizer_written_for_keras():
    a, b = jt.Variable(1.0), jt.Variable([1.0, -1.0])
    optimizer = KerasSigns(0.5, weight_decay=0.5)
    for _ in range(2):
        optimizer.apply_gradients([([-1.0, 2.0], b), (7.0, a)])
    assert (float(a), b.tolist()) == (-0.3125, [1.4375, -1.4375])
    assert [n.tolist() for n in optimizer.counts] == [[2.0, 2.0], 2.0]


def test_a_build_that_does_not_call_its_base():
    class Mine(Signs):
        def build(self, variables):
            self.counts = [jt.Variable(jt.zeros(v.shape)) for v in variables]

    w, optimizer = jt.Variable([1.0, 1.0]), Mine(0.25)
    for _ in range(3):
        optimizer.apply_gradients([([1.0, -1.0], w)])
    assert (w.tolist(), optimizer.counts[0].tolist()) == ([0.25, 1.75], [3.0, 3.0])


def test_the_learning_rate_comes_in_the_dtype_of_the_variable():
    seen = []

    class Watching(jt.optimizers.Optimizer):
        def update_step(self, gradient, variable, learning_rate):
            seen.append((gradient.dtype.name, learning_rate.dtype.name))

    dtypes = ("float64", "float32", "float16")
    Watching(0.5).apply_gradients([(1.0, jt.Variable(1.0, dtype=dtype)) for dtype in dtypes])
    assert seen == [("float64", "float64"), ("float32", "float32"), ("float32", "float32")]


# ---- state -----------------------------------------------------------------------------------------------------------


def test_state_is_in_variables():
    a, b = jt.Variable([1.0, 2.0], name="a"), jt.Variable(START[0], name="b")
    counts = []
    for optimizer in (jt.optimizers.SGD(), jt.optimizers.SGD(momentum=0.9), jt.optimizers.Adam()):
        optimizer.apply_gradients([([1.0, 1.0], a), (START[0], b)])
        assert all(isinstance(v, jt.Variable) and not v.trainable for v in optimizer.variables)
        iterations, rate, *state = optimizer.variables
        assert iterations is optimizer.iterations
        assert rate is optimizer.learning_rate
        assert {(v.shape, v.dtype) for v in state} <= {(a.shape, a.dtype), (b.shape, b.dtype)}
        counts.append(len(state))
    assert counts == [0, 2, 4]
    names = ["a_0_momentum", "a_0_velocity", "b_0_momentum", "b_0_velocity"]
    assert [v.name for v in state] == names


def test_build_by_hand_makes_the_state_once(few):
    made, formula = few
    variables, running = [jt.Variable(w) for w in START], references(formula)
    optimizer = made(0.1)
    optimizer.build(variables)
    optimizer.build(variables)
    state = optimizer.variables
    for gradients in STEPS[:3]:
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        wanted = [one.send((g, 0.1)) for one, g in zip(running, gradients, strict=True)]
    assert [v is w for v, w in zip(optimizer.variables, state, strict=True)] == [True] * len(state)
    for variable, value in zip(variables, wanted, strict=True):
        np.testing.assert_allclose(variable.numpy(), value, rtol=1e-12)


def test_state_is_not_watched(few):
    made, _ = few
    w, optimizer = jt.Variable(1.0), made(0.1)
    with jt.GradientTape() as tape:
        optimizer.apply_gradients([(w * w, w)])
    assert [v is w for v in tape.watched_variables()] == [True]


@pytest.mark.parametrize("copier", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])
def test_a_copy_goes_on_where_the_original_was(few, copier):
    made, formula = few
    variables, running = [jt.Variable(w) for w in START], references(formula)
    optimizer = made(0.1)
    optimizer.apply_gradients(zip(STEPS[0], variables, strict=True))
    copied_optimizer, copied = copier((optimizer, variables))
    for gradients in (STEPS[1], STEPS[2]):
        copied_optimizer.apply_gradients(zip(gradients, copied, strict=True))
    for i, reference in enumerate(running):
        for gradients in STEPS[:3]:
            wanted = reference.send((gradients[i], 0.1))
        np.testing.assert_allclose(copied[i].numpy(), wanted, rtol=1e-13)
    assert int(copied_optimizer.iterations) == 3
    assert int(optimizer.iterations) == 1


def test_two_optimizers_do_not_share_state():
    w = jt.Variable(1.0)
    one, other = jt.optimizers.Adam(0.1), jt.optimizers.Adam(0.1)
    one.apply_gradients([(1.0, w)])
    w.assign(1.0)
    other.apply_gradients([(1.0, w)])
    assert float(w) == pytest.approx(0.9, rel=1e-5)


class Interrupted(jt.optimizers.SGD):
    """An optimizer whose second state cannot be created at the first attempt."""

    attempts = 0

    def build(self, variables):
        super().build(variables)
        for number, variable in enumerate(variables):
            self.attempts += 1
            if number == 1 and self.attempts == 2:
                raise MemoryError("no state")
            self.add_variable_from_reference(variable, "scale", 1.0)

    def update_step(self, gradient, variable, learning_rate):
        variable.assign_sub(learning_rate * self.state_of(variable, "scale") * gradient)


def test_state_that_cannot_be_created_is_created_at_the_next_step():
    v, w = jt.Variable([1.0, 2.0]), jt.Variable(3.0)
    optimizer = Interrupted(1.0)
    pairs = [(jt.ones([2]), v), (jt.constant(1.0), w)]
    before = len(optimizer.variables)
    with pytest.raises(MemoryError, match="no state"):
        optimizer.apply_gradients(pairs)
    assert len(optimizer.variables) == before
    assert not optimizer.knows(v)
    assert int(optimizer.iterations) == 0
    optimizer.apply_gradients(pairs)
    assert v.numpy().tolist() == [0.0, 1.0]
    assert float(w) == 2.0


def test_state_is_created_inside_a_function_of_many_lengths():
    jt.random.set_seed(0)
    layer = jt.nn.Dense(4)
    optimizer = jt.optimizers.Adam(0.1)

    @jt.function(input_signature=[jt.TensorSpec([None, 3], jt.float32)])
    def step(x):
        with jt.GradientTape() as tape:
            loss = jt.reduce_mean(jt.square(layer(x)))
        optimizer.minimize(loss, layer.trainable_variables, tape=tape)
        return loss

    losses = [float(step(np.ones((n, 3), np.float32))) for n in (5, 8, 13)]
    assert losses[0] > losses[1] > losses[2]
