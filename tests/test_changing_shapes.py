"""Variables whose declared shape leaves extents open: whoever uses one sees its current shape."""

import copy
import pickle
import random
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.errors import DTypeError

pytestmark = pytest.mark.filterwarnings("ignore::jittape.errors.FunctionWarning")


def rows(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([count, seed]).normal(size=(count, 3))


@pytest.mark.parametrize("seed", range(4))
def test_random_steps_see_the_current_shape(seed):
    """Values, gradients, functions, loops, branches and pending assignments, in any order and at any time."""
    rng = random.Random(seed)
    v = jt.Variable(rows(2), shape=[None, 3])
    weights = jt.constant(rows(4, 9))
    captured = jt.function(lambda x: x @ jt.transpose(v))
    measured = jt.function(lambda: jt.constant(1.0) * v.shape[0] + len(v) + v.size)
    argument = jt.function(lambda u: jt.reduce_sum(u * u, 1) * u.shape[0])
    halved = jt.function(lambda: v.assign(v * 0.5))
    folded = jt.function(lambda: jt.foldl(lambda s, row: s * 0.5 + row, v, jt.zeros([3], v.dtype)))
    chosen = jt.function(lambda: jt.cond(jt.reduce_sum(v) > 0, lambda: v * 2.0, lambda: -v))

    def gradient() -> Any:
        with jt.GradientTape() as tape:
            y = jt.reduce_sum(v * v) + jt.reduce_sum(captured(weights))
        return tape.gradient(y, v)

    state = rows(2)
    for step in range(60):
        action = rng.randrange(4)
        if action == 0:
            state = rows(rng.choice([0, 1, 2, 3, 5, 8]), step)
            v.assign(state)
        elif action == 1:
            v.assign(jt.concat([v * 1.0, jt.ones([1, 3], v.dtype)], 0)[-6:])
            state = np.concatenate([state, np.ones((1, 3))])[-6:]
        elif action == 2:
            v.assign_add(v * 0.5)
            state = state * 1.5
        else:
            halved()
            state = state * 0.5
        n = len(state)
        folds = np.zeros(3)
        for row in state:
            folds = folds * 0.5 + row
        checks = [
            (lambda: v, state),
            (lambda: jt.reduce_sum(jt.exp(v), 0), np.exp(state).sum(0)),
            (lambda: captured(weights), rows(4, 9) @ state.T),
            (measured, 5.0 * n),
            (lambda: argument(v), (state**2).sum(1) * n),
            (folded, folds),
            (chosen, state * 2 if state.sum() > 0 else -state),
            (gradient, 2 * state + rows(4, 9).sum(0)),
        ]
        for call, expected in rng.sample(checks, 5):
            np.testing.assert_allclose(jt.convert_to_tensor(call()).numpy(), expected, rtol=1e-12, atol=1e-12)
        assert v.shape == state.shape


def test_a_shape_is_one_trace_that_serves_it_again():
    v = jt.Variable(np.ones((2, 3)), shape=[None, 3])
    total = jt.function(lambda: jt.reduce_sum(v))
    for count in (2, 4, 2, 4, 2):
        v.assign(np.ones((count, 3)))
        assert float(total()) == float(total()) == 3 * count
    assert total.trace_count == 2
    assert "changed from shape (2, 3) to (4, 3)" in str(total.explain())


def test_any_rank():
    v = jt.Variable(1.0, shape=jt.TensorShape(None))
    double = jt.function(lambda: v * 2.0)
    for value in (3.0, [1.0, 2.0], [[1.0], [2.0]], 4.0):
        v.assign(value)
        np.testing.assert_array_equal(double(), 2 * np.array(value))


def test_what_does_not_fit_is_refused():
    v = jt.Variable(np.ones((2, 3)), shape=[None, 3], name="v")
    for wrong in (np.ones((2, 4)), np.ones(3), 1.0):
        with pytest.raises(ValueError, match=r"declared with shape \(None, 3\)"):
            v.assign(wrong)
    with pytest.raises(ValueError, match="Shape mismatch"):
        v.assign_add(np.ones((4, 2, 3)))
    with pytest.raises(ValueError, match="a Variable keeps its shape; return the value"):
        jt.cond(jt.reduce_sum(v) > 0.0, lambda: jt.reduce_sum(v.assign(jt.concat([v, v], 0))), lambda: 0.0)
    with pytest.raises(TypeError, match="same-kind"):
        v.assign(np.ones((5, 3), complex))
    np.testing.assert_array_equal(v, np.ones((2, 3)))


def test_a_concrete_function_is_for_one_shape():
    v = jt.Variable(np.ones((2, 3)), shape=[None, 3], name="v")
    concrete = jt.function(lambda: jt.reduce_sum(v)).get_concrete_function()
    v.assign(np.ones((4, 3)))
    with pytest.raises(DTypeError, match=r"for shape \(2, 3\) of the Variable 'v:0', which is now \(4, 3\)"):
        concrete()
    v.assign(np.ones((2, 3)))
    assert float(concrete()) == 6


@pytest.mark.parametrize("kind", ["Adam", "Muon", "Adafactor"])
def test_the_state_of_an_optimizer_is_for_one_shape(kind):
    """It would broadcast otherwise."""
    for before, after in ((1, 4), (4, 1)):
        v = jt.Variable(np.ones((before, 3)), shape=[None, 3])
        optimizer = getattr(jt.optimizers, kind)(0.1)
        for count in (before, before, after):
            v.assign(np.ones((count, 3)))
            if count == before:
                optimizer.apply_gradients([(v * 1.0, v)])
            else:
                with pytest.raises(ValueError, match="make a new optimizer"):
                    optimizer.apply_gradients([(v * 1.0, v)])
        np.testing.assert_array_equal(v, np.ones((after, 3)))


def test_copies_keep_what_is_declared():
    v = jt.Variable(np.ones((2, 3)), shape=[None, 3])
    for other in (copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        assert other.assign(np.ones((5, 3))).shape == (5, 3)
    assert v.shape == (2, 3)
