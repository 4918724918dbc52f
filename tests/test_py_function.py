"""`py_function`: a Python function as an op."""

from __future__ import annotations

import numpy as np
import pytest

import jittape as jt

pytestmark = pytest.mark.usefixtures("mode")


def log_huber(x, m):
    if jt.abs(x) <= m:
        return x**2
    return m**2 * (1 - 2 * jt.math.log(m) + jt.math.log(x**2))


def test_py_function_is_differentiable_to_any_order():
    for value, (first, second) in ((1.5, (3.0, 2.0)), (4.0, (2.0, -0.5)), (1.5, (3.0, 2.0))):
        x, m = jt.constant(value), jt.constant(2.0)
        with jt.GradientTape() as outer:
            outer.watch(x)
            with jt.GradientTape() as inner:
                inner.watch(x)
                y = jt.py_function(func=log_huber, inp=[x, m], Tout=jt.float32)
            dy = inner.gradient(y, x)
        assert float(dy) == pytest.approx(first)
        assert float(outer.gradient(dy, x)) == pytest.approx(second)


def test_py_function_results():
    t = jt.constant([1.0, 2.0])
    assert jt.py_function(lambda a: a + 1, [t], jt.float64).dtype == jt.float64
    assert [r.dtype for r in jt.py_function(lambda a: (a, 2), [t], [jt.float32, jt.int64])] == [
        jt.float32,
        jt.int64,
    ]
    assert jt.py_function(lambda a: a, [t], [jt.float32])[0].tolist() == [1.0, 2.0]
    assert jt.py_function(lambda: None, [], []) == []
    assert jt.py_function(lambda: None, [], None) is None
    assert float(jt.py_function(lambda: 0.1, [], jt.float64)) == 0.1
    assert jt.py_function(lambda a: a.numpy() * 2, [t], jt.float32).tolist() == [2.0, 4.0]


def test_py_function_is_given_tensors():
    v = jt.Variable(1.0)
    seen = jt.py_function(
        lambda *xs: [isinstance(x, jt.Tensor) for x in xs], [v, 2.0, np.ones(2), [1]], "bool"
    )
    assert seen.tolist() == [True] * 4


def test_py_function_mistakes():
    with pytest.raises(ValueError, match="returned 1 results, Tout names 2"):
        jt.py_function(lambda: 1.0, [], [jt.float32, jt.float32])
    with pytest.raises(TypeError, match="a result is float32, which does not cast to Tout int32"):
        jt.py_function(lambda: 1.5, [], jt.int32)
