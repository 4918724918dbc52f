"""Steps of optimizers as one recorded call: equal to steps op by op, and what makes them be recorded again."""

import copy
import pickle

import numpy as np
import pytest

import jittape as jt
from jittape.recording.trace import current_trace

OPTIMIZERS = {
    "SGD": lambda: jt.optimizers.SGD(0.1, momentum=0.5, weight_decay=0.1),
    "Adam": lambda: jt.optimizers.Adam(0.1, global_clipnorm=0.5, amsgrad=True),
    "Nadam": lambda: jt.optimizers.Nadam(0.1, use_ema=True, ema_overwrite_frequency=2),
    "Adafactor": lambda: jt.optimizers.Adafactor(0.1, gradient_accumulation_steps=2, use_ema=True),
    "Lamb": lambda: jt.optimizers.Lamb(
        jt.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5), loss_scale_factor=4.0
    ),
}


def new_variables(dtype="float64"):
    return [
        jt.Variable(np.linspace(-1.0, 1.0, 6).reshape(2, 3), dtype=dtype),
        jt.Variable([0.5, -0.5], dtype=dtype),
    ]


def make_step(optimizer, variables):
    with jt.GradientTape() as tape:
        loss = sum(
            jt.reduce_sum(jt.sin(v) * jt.cast([2.0, 3.0, 4.0][: v.shape[-1]], v.dtype)) for v in variables
        )
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))


def length_of_trace():
    node, count = current_trace().node, 0
    while node.parent is not None:
        node, count = node.parent, count + 1
    return count


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_a_recorded_step_is_the_step_op_by_op(make, dtype, monkeypatch):
    together, variables = make(), new_variables(dtype)
    for _ in range(5):
        make_step(together, variables)
    assert together._recorded is not None
    monkeypatch.setattr(jt.optimizers.Optimizer, "recorded_at_once", False)
    apart, others = make(), new_variables(dtype)
    for _ in range(5):
        make_step(apart, others)
    assert apart._recorded is None
    rtol = 1e-12 if dtype == "float64" else 1e-6
    for one, other in zip([*variables, *together.variables], [*others, *apart.variables], strict=True):
        np.testing.assert_allclose(
            one.numpy().astype(float), other.numpy().astype(float), rtol=rtol, atol=1e-7
        )


def test_a_step_is_one_call_for_any_number_of_variables():
    lengths = []
    for count in (1, 7):
        variables = [jt.Variable([1.0, 2.0]) for _ in range(count)]
        optimizer = jt.optimizers.Adam(0.1)
        for _ in range(3):
            with jt.GradientTape() as tape:
                loss = jt.add_n([jt.reduce_sum(v * v) for v in variables])
            gradients = tape.gradient(loss, variables)
            before = length_of_trace()
            optimizer.apply_gradients(zip(gradients, variables, strict=True))
            lengths.append(length_of_trace() - before)
    assert lengths == [1] * 6


def test_what_changes_between_steps_takes_effect():
    w = jt.Variable(0.0)
    optimizer = jt.optimizers.SGD(1.0)
    gradient = jt.constant(-1.0)

    def step():
        optimizer.apply_gradients([(gradient, w)])
        return float(w)

    assert [step(), step()] == [1.0, 2.0]
    optimizer.learning_rate = 0.5
    assert step() == 2.5
    optimizer.clipvalue = 0.5
    assert step() == 2.75
    w.constraint = lambda value: jt.minimum(value, 2.0)
    assert step() == 2.0
    w.constraint = None
    optimizer.learning_rate = lambda: 2.0
    assert step() == 3.0
    other = jt.Variable(0.0)
    optimizer.apply_gradients([(gradient, other), (gradient, w)])
    assert (float(other), float(w), int(optimizer.iterations)) == (1.0, 4.0, 7)
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        optimizer.apply_gradients([(jt.constant([1.0, 1.0]), other), (gradient, w)])
    with pytest.raises(ValueError, match="No gradients"):
        optimizer.apply_gradients([(None, other), (None, w)])
    assert (float(other), float(w), int(optimizer.iterations)) == (1.0, 4.0, 7)


def test_excluded_variables_and_settings_that_change_often():
    w = jt.Variable(1.0)
    optimizer = jt.optimizers.SGD(0.5, weight_decay=0.5)
    zero = jt.constant(0.0)
    optimizer.apply_gradients([(zero, w)])
    optimizer.exclude_from_weight_decay([w])
    optimizer.apply_gradients([(zero, w)])
    assert float(w) == 0.75
    optimizer.exclude_from_weight_decay([])
    expected = 0.75
    for i in range(20):
        optimizer.weight_decay = 0.01 * (i + 1)
        optimizer.apply_gradients([(zero, w)])
        expected *= 1.0 - 0.005 * (i + 1)
    np.testing.assert_allclose(float(w), expected, rtol=1e-6)
    assert optimizer._recorded is None


def test_copies_and_subclasses_make_steps_of_their_own():
    w = jt.Variable(0.0)
    optimizer = jt.optimizers.SGD(1.0, momentum=0.5)
    for _ in range(2):
        optimizer.apply_gradients([(jt.constant(-1.0), w)])
    again, both = pickle.loads(pickle.dumps((optimizer, w)))
    copied = copy.copy(optimizer)
    assert again._recorded is None
    assert copied._recorded is None
    again.apply_gradients([(jt.constant(-1.0), both)])
    assert (float(w), float(both)) == (2.5, 4.25)

    class Doubled(jt.optimizers.SGD):
        def update_step(self, gradient, variable, learning_rate):
            super().update_step(2.0 * gradient, variable, learning_rate)

    doubled, v = Doubled(1.0), jt.Variable(0.0)
    for _ in range(2):
        doubled.apply_gradients([(jt.constant(-1.0), v)])
    assert float(v) == 4.0
