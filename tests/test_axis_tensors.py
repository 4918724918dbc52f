"""Axes that are tensors or arrays, as TensorFlow accepts them."""

import numpy as np
import pytest

import jittape as jt

X = jt.constant(np.arange(6.0).reshape(2, 3), jt.float32)

FUNCTIONS = {
    "reduce_sum": (lambda a: jt.reduce_sum(X, a), 1),
    "reduce_max": (lambda a: jt.reduce_max(X, a), [0, 1]),
    "a list": (lambda a: jt.reduce_mean(X, [a]), 1),
    "concat": (lambda a: jt.concat([X, X], a), 0),
    "split": (lambda a: jt.concat(jt.split(X, 3, a), 0), 1),
    "stack": (lambda a: jt.stack([X, X], a), 2),
    "unstack": (lambda a: jt.unstack(X, axis=a)[1], 1),
    "argmax": (lambda a: jt.argmax(X, a), 0),
    "argsort": (lambda a: jt.argsort(-X, a), 1),
    "cumsum": (lambda a: jt.cumsum(X, a), 1),
    "expand_dims": (lambda a: jt.expand_dims(X, a), -1),
    "squeeze": (lambda a: jt.squeeze(X[None], a), 0),
    "transpose": (lambda a: jt.transpose(X, a), [1, 0]),
    "reverse": (lambda a: jt.reverse(X, a), [1]),
    "roll": (lambda a: jt.roll(X, a, a), 1),
    "repeat": (lambda a: jt.repeat(X, 2, a), 0),
    "gather": (lambda a: jt.gather(X, [0], axis=a), 1),
    "boolean_mask": (lambda a: jt.boolean_mask(X, [True, False, True], axis=a), 1),
    "one_hot": (lambda a: jt.one_hot([0, 1], 3, axis=a), 0),
    "softmax": (lambda a: jt.nn.softmax(X, a), 0),
    "cross entropy": (lambda a: jt.nn.softmax_cross_entropy_with_logits(X, X, a), 0),
    "moments": (lambda a: jt.nn.moments(X, a)[1], [0]),
    "norm": (lambda a: jt.linalg.norm(X, axis=a), 1),
    "crelu": (lambda a: jt.nn.crelu(X, a), 0),
}


@pytest.mark.parametrize("kind", [jt.constant, np.array], ids=["tensor", "array"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_axis_may_be_a_tensor(name, kind):
    function, axis = FUNCTIONS[name]
    np.testing.assert_array_equal(function(kind(axis)).numpy(), function(axis).numpy())


def test_axes_that_are_computed():
    with jt.GradientTape() as tape:
        tape.watch(X)
        total = jt.reduce_sum(jt.reduce_prod(X, axis=jt.rank(X) - 1))
    np.testing.assert_array_equal(tape.gradient(total, X).numpy(), [[2, 0, 0], [20, 15, 12]])
    f = jt.function(lambda x: jt.reduce_sum(x, axis=jt.range(1, jt.rank(x))))
    np.testing.assert_array_equal(f(jt.ones([2, 3, 4])).numpy(), [12, 12])
    assert "recorded" not in str(f.signatures()[0])


@pytest.mark.parametrize("axis", [jt.constant(1.0), jt.constant(True), jt.constant([0.0]), np.array(1.0)])
def test_other_tensors_are_no_axes(axis):
    with pytest.raises(TypeError, match=r"\[reduce_sum\] axis must be an int or a sequence of ints"):
        jt.reduce_sum(X, axis)
