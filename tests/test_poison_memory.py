"""Memory that holds no value yet is nan where `config.poison_memory` is set."""

import math

import numpy as np
import pytest

import jittape as jt
from jittape.compile.ir.instructions import Compute
from jittape.compile.lower.split_nest import split
from jittape.compile.schedule import lower_steps, pipeline
from jittape.primitives.elementwise.exponential import exp_op
from jittape.runtime.workspace import POISON


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_the_pattern_is_nan_for_every_float(dtype):
    assert np.isnan(np.frombuffer(bytes([POISON] * 16), dtype)).all()


def unwritten(monkeypatch):
    """Schedules do not write exponentials; the shapes of such programs should be those of no other test."""

    def without_exponentials(nest, temporary):
        made = [nest.instructions[store.value] for store in nest.stores]
        nest.stores[:] = [
            store
            for store, value in zip(nest.stores, made, strict=True)
            if not isinstance(value, Compute) or value.primitive is not exp_op
        ]
        return split(nest, temporary)

    monkeypatch.setattr(lower_steps, "split", without_exponentials)
    monkeypatch.setattr(pipeline, "check_schedule", lambda schedule, *_: schedule)


@pytest.mark.parametrize("decorated", [False, True], ids=["tape", "function"])
@pytest.mark.parametrize("n", [31, 317], ids=["small", "large"])
def test_a_result_that_is_never_written_is_nan(monkeypatch, decorated, n):
    unwritten(monkeypatch)

    def function(x):
        return jt.exp(x), jt.reduce_sum(jt.matmul(jt.exp(x) + 1, x))

    called = jt.function(function) if decorated else function
    x = jt.constant(np.ones((n + decorated, n + decorated)))
    found = [[y.numpy() for y in called(x)] for _ in range(4)]
    for y, total in found[2:]:
        assert np.isnan(y).all()
        assert math.isfinite(total)


@pytest.mark.parametrize("decorated", [False, True], ids=["tape", "function"])
@pytest.mark.parametrize("n", [33, 601], ids=["kept", "pooled"])
def test_a_temporary_that_is_never_written_is_nan_in_every_run(monkeypatch, decorated, n):
    unwritten(monkeypatch)

    def function(x):
        return jt.reduce_max(jt.matmul(jt.exp(x), x))

    called = jt.function(function) if decorated else function
    x = jt.constant(np.ones((n, n)))
    found = [float(called(x)) for _ in range(4)]
    assert all(map(math.isnan, found[2:]))


def test_it_is_off_by_default_and_must_be_a_truth_value():
    assert jt.config.poison_memory
    assert not type(jt.config)().poison_memory
    with pytest.raises(TypeError, match=r"config\.poison_memory must be True or False, got 1"):
        jt.config.poison_memory = 1


@pytest.mark.parametrize("rows", [4, 400])
def test_what_is_updated_in_place_keeps_its_value(rows):
    v = jt.Variable(np.ones((rows, rows)))
    g = jt.constant(np.ones((rows, rows)))
    for _ in range(5):
        v.assign_sub(0.5 * jt.matmul(g, g))
        v.assign_add(v * 2)
    expected = 1.0
    for _ in range(5):
        expected = 3 * (expected - 0.5 * rows)
    np.testing.assert_allclose(v.numpy(), expected)
