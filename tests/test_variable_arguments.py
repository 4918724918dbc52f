"""Variables as arguments of `jt.function`: one trace for all of a kind, and no confusion of one with another.

The values and counts of tracings marked "TensorFlow" were recorded from TensorFlow 2.21.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import jittape as jt

pytestmark = pytest.mark.usefixtures("mode")


def variables(*values: Any) -> list[jt.Variable]:
    return [jt.Variable(value) for value in values]


# ---- one trace for a kind --------------------------------------------------------------------------------------------


def test_another_variable_of_the_same_kind_is_no_new_trace() -> None:
    """TensorFlow: 4, 9, 16, 9, 16 in 1, 1, 2, 2, 2 tracings."""

    @jt.function
    def f(v: Any, w: Any) -> Any:
        v.assign_add(1.0)
        return v * w

    a, b, c = variables(1.0, 2.0, 3.0)
    found = [(float(f(v, w)), f.trace_count) for v, w in ((a, b), (b, c), (c, c), (a, a), (a, c))]
    assert found == [(4.0, 1), (9.0, 1), (16.0, 2), (9.0, 2), (16.0, 2)]
    assert [float(v) for v in (a, b, c)] == [4.0, 3.0, 4.0]


def test_another_kind_is_a_new_trace() -> None:
    f = jt.function(lambda v: v * 2)
    kinds = [
        jt.Variable(1.0),
        jt.Variable([1.0, 2.0]),
        jt.Variable(1.0, dtype=jt.float64),
        jt.Variable(1.0, trainable=False),
    ]
    for count, v in enumerate(kinds, 1):
        np.testing.assert_array_equal(f(v), v.numpy() * 2)
        assert f.trace_count == count
    assert [s.arguments for s in f.signatures()] == [
        (("v", "Variable float32[]"),),
        (("v", "Variable float32[2]"),),
        (("v", "Variable float64[]"),),
        (("v", "Variable float32[], not trainable"),),
    ]


def test_variables_in_structures() -> None:
    f = jt.function(lambda parts, x: (parts["w"] * x + parts["b"][0], parts["b"][0].assign_add(x)))
    for value in (1.0, 2.0, 3.0, 4.0):
        parts = {"w": jt.Variable(value), "b": variables(10.0 * value)}
        for _ in range(3):
            b = float(parts["b"][0])
            y, after = f(parts, 2.0)
            assert (float(y), float(after), float(parts["b"][0])) == (2 * value + b, b + 2.0, b + 2.0)
    assert f.trace_count == 1


@pytest.mark.parametrize("size", [3, 100_000])
def test_only_the_variable_that_is_passed_is_assigned(size: int) -> None:
    @jt.function
    def step(v: Any, w: Any, x: Any) -> Any:
        old = v + 0.0
        v.assign(w + x)
        return old

    many = variables(*np.arange(4.0)[:, None] * np.ones((4, size)))
    expected = [float(v[0]) for v in many]
    rng = random.Random(0)
    for _ in range(40):
        i, j = rng.sample(range(4), 2)
        x = float(rng.randrange(10))
        assert float(step(many[i], many[j], x)[0]) == expected[i]
        expected[i] = expected[j] + x
        assert [float(v[-1]) for v in many] == expected
    assert step.trace_count == 1


def test_a_pending_assignment_runs_first() -> None:
    f = jt.function(lambda v: v.assign_add(1.0))
    a, b = variables(0.0, 10.0)
    for _ in range(4):
        for v in (a, b):
            v.assign_add(v * 1.0)
            f(v)
    assert (float(a), float(b)) == (15.0, 175.0)


def test_random_numbers_and_user_functions() -> None:
    @jt.function
    def f(v: Any, x: Any) -> Any:
        return v + jt.numpy_function(np.sin, [x], jt.TensorSpec([], jt.float32)) + jt.random.uniform([]) * 0.0

    for value in (1.0, 2.0, 3.0, 2.0):
        assert float(f(jt.Variable(value), 0.5)) == pytest.approx(value + np.sin(0.5))
    assert f.trace_count == 1


# ---- gradients -------------------------------------------------------------------------------------------------------


def test_gradients_inside_with_respect_to_arguments() -> None:
    outer = jt.Variable(4.0)

    @jt.function
    def f(v: Any, x: Any) -> Any:
        with jt.GradientTape() as tape:
            y = v * x * outer * v
        return tape.gradient(y, [v, outer])

    for value in (2.0, 3.0, 5.0):
        dv, douter = f(jt.Variable(value), 1.0)
        assert (float(dv), float(douter)) == (2 * value * 4.0, value**2)
    assert f.trace_count == 1


def test_a_tape_around_a_call_watches_the_argument() -> None:
    f = jt.function(lambda v, x: v * v * x)
    for value in (1.0, 2.0, 3.0):
        v = jt.Variable(value)
        fixed = jt.Variable(value, trainable=False)
        with jt.GradientTape(persistent=True) as tape:
            y, z = f(v, 3.0), f(fixed, 3.0)
        assert float(tape.gradient(y, v)) == 6 * value
        assert tape.gradient(z, fixed, unconnected_gradients="zero") == 0.0
    assert f.trace_count == 2


def test_an_assignment_under_a_tape() -> None:
    f = jt.function(lambda v, x: v.assign_add(x) * x)
    a, b = variables(1.0, 2.0)
    for v in (a, b, a, b):
        before = float(v)
        with jt.GradientTape():
            y = f(v, 2.0)
        assert (float(y), float(v)) == (2 * (before + 2.0), before + 2.0)


# ---- one Variable in two roles ---------------------------------------------------------------------------------------


def test_a_variable_that_the_function_also_uses_itself() -> None:
    """TensorFlow gives the partial derivatives 4 and 4 for the last; here they are total, as without the decorator."""
    a, b, c = variables(4.0, 2.0, 3.0)

    def f(v: Any) -> Any:
        with jt.GradientTape() as tape:
            y = v * a
        return tape.gradient(y, [v, a])

    compiled = jt.function(f)
    for order in ((b, c, a), (a, b, a, c)):
        for v in order:
            assert [float(g) for g in compiled(v)] == [float(g) for g in f(v)]
    first = jt.function(f)
    for v in (a, b, a, c):
        assert [float(g) for g in first(v)] == [float(g) for g in f(v)]
    assert "also uses the Variable from outside" in compiled.explain()


def test_an_assignment_through_the_other_name() -> None:
    a, b = variables(1.0, 10.0)

    @jt.function
    def f(v: Any) -> Any:
        a.assign_add(1.0)
        return v * 1.0

    assert [float(f(v)) for v in (b, a, b, a, a)] == [10.0, 3.0, 10.0, 5.0, 6.0]


def test_a_gradient_with_respect_to_a_variable_that_is_not_read() -> None:
    a, b = variables(3.0, 5.0)

    @jt.function
    def f(v: Any) -> Any:
        with jt.GradientTape() as tape:
            y = v * v
        return tape.gradient(y, a, unconnected_gradients="zero")

    assert [float(f(v)) for v in (b, a, b, a)] == [0.0, 6.0, 0.0, 6.0]


@pytest.mark.filterwarnings("ignore::jittape.FunctionWarning")
def test_pairs_of_arguments_at_random() -> None:
    own = jt.Variable(7.0)

    def f(u: Any, v: Any, w: Any, x: Any) -> Any:
        u.assign_add(v)
        own.assign_sub(x)
        w.assign(u * v - own)
        return u + v * w - own

    compiled = jt.function(f)
    rng = random.Random(1)
    both = [[*variables(1.0, 2.0, 3.0), own], [*variables(1.0, 2.0, 3.0), None]]
    other = jt.Variable(7.0)
    both[1][3] = other

    def reference(u: Any, v: Any, w: Any, x: Any) -> Any:
        u.assign_add(v)
        other.assign_sub(x)
        w.assign(u * v - other)
        return u + v * w - other

    for _ in range(60):
        picked = [rng.randrange(4) for _ in range(3)]
        for group in both:
            for variable in group:
                variable.assign(variable * 0.01 + 1.0)
        found = compiled(*[both[0][i] for i in picked], 0.5)
        expected = reference(*[both[1][i] for i in picked], 0.5)
        assert float(found) == pytest.approx(float(expected), rel=1e-5)
        for one, two in zip(*both, strict=True):
            assert float(one) == pytest.approx(float(two), rel=1e-5)


# ---- functions that need the Variable itself -------------------------------------------------------------------------


def named_update(v: Any, x: Any) -> Any:
    return v * x if v.name.startswith("kernel") else v + x


def test_a_name_decides() -> None:
    f = jt.function(named_update)
    for _ in range(2):
        for name, expected in (("kernel", 6.0), ("bias", 5.0)):
            assert float(f(jt.Variable(3.0, name=name), 2.0)) == expected


def test_an_identity_decides() -> None:
    a, b = variables(3.0, 3.0)
    special = {id(a): 10.0}
    by_is = jt.function(lambda v: v * 10.0 if v is a else v * 1.0)
    by_id = jt.function(lambda v: v * special.get(id(v), 1.0))
    by_ref = jt.function(lambda v: v * (10.0 if v.ref() == a.ref() else 1.0))
    for f in (by_is, by_id, by_ref):
        assert [float(f(v)) for v in (b, a, b, a)] == [3.0, 30.0, 3.0, 30.0]


def test_a_constraint_is_the_variables_own() -> None:
    f = jt.function(lambda v: v.assign(v.constraint(v + 1.0)))
    one = jt.Variable(1.0, constraint=lambda x: x * 2.0)
    two = jt.Variable(1.0, constraint=lambda x: x * 3.0)
    assert [float(f(v)) for v in (one, two, one, two)] == [4.0, 6.0, 10.0, 21.0]


@pytest.mark.parametrize("built", [True, False])
def test_each_variable_has_its_own_state_in_an_optimizer(built: bool) -> None:
    def trained(decorate: Any) -> list[float]:
        many = variables(1.0, 2.0, 3.0)
        optimizer = jt.optimizers.SGD(0.1, momentum=0.9)
        if built:
            optimizer.build(many)

        def step(w: Any, rest: Any) -> None:
            with jt.GradientTape() as tape:
                loss = w * w
            optimizer.apply_gradients([(tape.gradient(loss, w), w)])

        step = decorate(step)
        if not built:
            optimizer.build(many)
        for i in (0, 1, 0, 2, 2, 1, 0):
            step(many[i], 1.0)
        return [float(v) for v in many]

    assert trained(jt.function) == pytest.approx(trained(lambda f: f), rel=1e-6)


def test_watched_variables_are_in_order_of_creation() -> None:
    a, b, c = variables(1.0, 2.0, 3.0)

    @jt.function
    def f(v: Any) -> Any:
        with jt.GradientTape() as tape:
            y = b * v * v
        return tape.gradient(y, tape.watched_variables())

    for v in (a, c, a, c):
        own, other = float(v) * 2.0 * float(b), float(v) ** 2
        expected = [own, other] if v is a else [other, own]
        assert [float(g) for g in f(v)] == expected


def test_state_by_identity_that_the_function_creates() -> None:
    state: dict[int, Any] = {}
    number = id

    @jt.function
    def f(v: Any) -> Any:
        if number(v) not in state:
            state[number(v)] = jt.Variable(0.0)
        state[number(v)].assign_add(v)
        return state[number(v)] * 1.0

    (a,) = variables(2.0)
    assert [float(f(a)) for _ in range(3)] == [2.0, 4.0, 6.0]


def test_a_placeholder_that_is_kept_is_an_error() -> None:
    kept = []
    f = jt.function(lambda v: kept.append(v) or v * 1.0)
    assert float(f(jt.Variable(2.0))) == 2.0
    for use in (lambda v: v * 2.0, lambda v: v.numpy(), lambda v: v.assign(1.0), float, lambda v: v.name):
        with pytest.raises(jt.LeakedTensorError, match="of the function .*<lambda>"):
            use(kept[0])


def test_a_user_error_is_the_users() -> None:
    f = jt.function(lambda v, x: jt.matmul(v, x))
    with pytest.raises(ValueError, match="matmul"):
        f(jt.Variable([[1.0]]), jt.constant([[1.0], [2.0]]))
    with pytest.raises(ValueError, match="variable 'named:0': Shape mismatch"):
        jt.function(lambda v: v.assign([1.0, 2.0]))(jt.Variable(1.0, name="named"))


def test_variables_that_are_looked_at() -> None:
    f = jt.function(lambda v: v * 2.0 if v > 0 else -v)
    a, b = variables(1.0, -3.0)
    with pytest.warns(jt.FunctionWarning, match="needed by bool"):
        assert float(f(a)) == 2.0
    assert [float(f(v)) for v in (b, a, b)] == [3.0, 2.0, 3.0]


# ---- pending assignments ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", ["tensor", "variable", "another shape"])
def test_a_pending_variable_of_an_earlier_call(other: str) -> None:
    """A call with something else does not wait for what the assignment will never give it."""
    total, x = variables(0.0, [1.0, 2.0])
    tensor = jt.constant([3.0, 4.0])
    given = {"tensor": tensor, "variable": jt.Variable(tensor), "another shape": jt.Variable([1.0, 2.0, 4.0])}

    @jt.function
    def f(v: Any) -> Any:
        total.assign_add(jt.reduce_sum(v))
        return v * 2.0

    for _ in range(6):
        for argument in (given[other], x):
            np.testing.assert_array_equal(f(argument), 2 * argument.numpy())
        x[:1].assign(tensor[1:])
    assert float(total) == 6 * 7.0 + 3.0 + 5 * 6.0
