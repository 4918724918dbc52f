"""`jittape.numpy.vectorize`: values, dtypes, shapes and errors of NumPy's, and gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest

import jittape as jt
import jittape.numpy as jnp

GRID = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
COLUMN = np.array([[2.0], [-3.0]])
INTS = np.array([3, 1, 0])


def bigger(a, b=0.5):
    """Return the greater number."""
    return a * a if a > b else b * 3


def two(a):
    return a * 2, a > 0


def signed(a):
    return 1 if a > 0 else -1.5


CALLS = {
    "one operand": (bigger, {}, (GRID,), {}),
    "broadcast": (bigger, {}, (GRID, COLUMN), {}),
    "keyword": (bigger, {}, (GRID,), {"b": COLUMN}),
    "number": (bigger, {}, (2.0, 3.0), {}),
    "list": (bigger, {}, ([1.0, 2.0], 0), {}),
    "float32": (bigger, {}, (GRID.astype(np.float32),), {}),
    "complex64": (lambda z: z * 2, {}, (GRID.astype(np.complex64),), {}),
    "ints": (lambda n: math.factorial(n), {}, (INTS,), {}),
    "bools": (lambda b: not b, {}, (GRID > 0,), {}),
    "two results": (two, {}, (GRID,), {}),
    "two types": (two, {"otypes": "fd"}, (GRID,), {}),
    "type of the first": (signed, {}, (np.array([1.0, -1.0]),), {}),
    "type": (signed, {"otypes": [float]}, (np.array([1.0, -1.0]),), {}),
    "type of tensors": (bigger, {"otypes": [np.int32]}, (GRID,), {}),
    "nothing": (bigger, {"otypes": "d"}, (np.zeros((0, 2)),), {}),
    "excluded": (lambda a, w: a * sum(w), {"excluded": [1]}, (GRID, [1.0, 2.0]), {}),
    "excluded by name": (lambda a, w: a * w[0], {"excluded": {"w"}}, (GRID,), {"w": [4.0]}),
    "cache": (bigger, {"cache": True}, (GRID,), {}),
    "signature": (lambda a, b: a @ b, {"signature": "(n),(n)->()"}, (GRID, GRID[0]), {}),
    "new dimension": (lambda a: a[:2] * 2, {"signature": "(n)->(m)"}, (GRID,), {}),
    "no loop": (lambda a: a * 2, {"signature": "(n)->(n)"}, (GRID[0],), {}),
    "broadcast loops": (lambda a, b: (a * b, a), {"signature": "(n),()->(n),(n)"}, (GRID, COLUMN), {}),
    "signature with type": (lambda a: a * 2, {"signature": "(n)->(n)", "otypes": "f"}, (GRID,), {}),
    "nothing in a signature": (lambda a: a, {"signature": "(n)->(n)", "otypes": "d"}, (np.zeros((0, 2)),), {}),
}  # fmt: skip


def compare(found, wanted):
    if isinstance(wanted, tuple):
        assert isinstance(found, tuple)
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            compare(one, other)
        return
    assert isinstance(found, jt.Tensor)
    assert (found.dtype, tuple(found.shape)) == (wanted.dtype, wanted.shape)
    np.testing.assert_allclose(found.numpy(), wanted)


@pytest.mark.parametrize("name", CALLS)
def test_values_dtypes_and_shapes_are_those_of_numpy(name, mode):
    function, options, args, kwargs = CALLS[name]
    wanted = np.vectorize(function, **options)(*args, **kwargs)
    mine = jnp.vectorize(function, **options)

    def tensors(value):
        return jt.constant(value) if isinstance(value, np.ndarray) else value

    for _ in range(3):
        compare(mine(*args, **kwargs), wanted)
        compare(mine(*map(tensors, args), **{k: tensors(v) for k, v in kwargs.items()}), wanted)


BAD = {
    "type": (bigger, {"otypes": "?!"}, (GRID,), {}),
    "types": (bigger, {"otypes": 3}, (GRID,), {}),
    "signature": (bigger, {"signature": "(n->()"}, (GRID,), {}),
    "number of arguments": (bigger, {"signature": "(),()->()"}, (GRID,), {}),
    "sizes": (lambda a, b: a, {"signature": "(n),(n)->(n)"}, (GRID, COLUMN), {}),
    "dimensions": (lambda a: a, {"signature": "(n,m)->()"}, (GRID[0],), {}),
    "results": (lambda a: (a, a), {"signature": "()->()"}, (GRID,), {}),
    "shapes": (bigger, {}, (GRID, np.ones(2)), {}),
    "nothing": (bigger, {}, (np.zeros(0),), {}),
    "nothing in a signature": (bigger, {"signature": "()->()"}, (np.zeros(0),), {}),
    "a sequence": (lambda a: [a, a], {}, (GRID,), {}),
    "a keyword that is missing": (bigger, {}, (GRID,), {"c": 1}),
    "complex for float": (lambda a: a * 1j if a < 0 else a, {}, (GRID,), {}),
}


@pytest.mark.parametrize("name", BAD)
def test_errors_are_those_of_numpy(name):
    function, options, args, kwargs = BAD[name]
    with pytest.raises((TypeError, ValueError)) as wanted:
        np.vectorize(function, **options)(*args, **kwargs)
    for given in (args, [jt.constant(a) for a in args]):
        with pytest.raises(wanted.type):
            jnp.vectorize(function, **options)(*given, **kwargs)


def test_calls_with_another_number_of_results_are_refused():
    """NumPy leaves elements of the result undefined."""
    for function in (lambda a: (a, a) if a > 0.3 else a, lambda a: a if a > 0.3 else (a, a)):
        with pytest.raises(ValueError, match="wrong number of outputs from pyfunc"):
            jnp.vectorize(function)(GRID)


@pytest.mark.parametrize("otypes", ["O", "S", [object], [str]])
def test_results_that_are_no_numbers_are_refused(otypes):
    with pytest.raises(TypeError, match=r"\[vectorize\] otypes"):
        jnp.vectorize(bigger, otypes=otypes)
    with pytest.raises(TypeError, match=r"\[vectorize\] bigger must return numbers, got 'text'"):
        _named(lambda a: "text")(GRID)
    with pytest.raises(TypeError, match=r"\[vectorize\] bigger must return numbers, got None"):
        _named(lambda a: None)(GRID)


def _named(function):
    function.__name__ = "bigger"
    return jnp.vectorize(function)


@pytest.mark.parametrize("signature", [None, "(),()->()"])
def test_gradients_flow_through_the_branch_that_is_taken(signature, mode):
    vectorized = jnp.vectorize(bigger, signature=signature)
    for _ in range(3):
        a, b = jt.constant(GRID), jt.constant(COLUMN)
        with jt.GradientTape() as tape:
            tape.watch([a, b])
            y = vectorized(a, b)
        da, db = tape.gradient(y, [a, b])
        taken = GRID > COLUMN
        np.testing.assert_allclose(da.numpy(), np.where(taken, 2 * GRID, 0.0))
        np.testing.assert_allclose(db.numpy(), np.where(taken, 0.0, 3.0).sum(axis=1, keepdims=True))


def test_gradients_of_narrow_floats_lists_and_matrices():
    x = jt.constant(GRID[0].astype(np.float32))
    g = jt.grad(lambda x: jnp.sum(jnp.vectorize(bigger)(x, 0.0)))(x)
    assert g.dtype == np.float32
    np.testing.assert_allclose(g.numpy(), [1.0, 0.0, 4.0])
    g = jt.grad(lambda x: jnp.sum(jnp.vectorize(lambda a: a**3)([x[0], 2.0, x[2]])))(jnp.asarray(GRID[0]))
    np.testing.assert_allclose(g.numpy(), [3 * 0.25, 0.0, 12.0])
    solve = jnp.vectorize(jnp.linalg.solve, signature="(n,n),(n)->(n)")
    a, b = np.eye(2) * [[[2.0]], [[4.0]]], np.array([1.0, 2.0])
    g = jt.grad(lambda b: jnp.sum(solve(a, b)))(jt.constant(b))
    np.testing.assert_allclose(g.numpy(), [0.75, 0.75])


def test_a_function_traces_the_loop():
    shifted = jnp.vectorize(lambda a, n: a * 2 + n)
    traced = jt.function(lambda x, n: shifted(x, n))
    x = jt.constant(GRID)
    for scale in (1.0, 2.0):
        np.testing.assert_allclose(traced(x * scale, jt.constant(INTS)).numpy(), GRID * scale * 2 + INTS)


def test_decorators_names_and_docstrings_are_those_of_numpy():
    def make(module):
        @module.vectorize(otypes=[float], doc="Text.")
        def inner(a):
            """Other text."""
            return a

        @module.vectorize
        def other(a):
            """Other text."""
            return a

        return inner, other

    for one, theirs in zip(make(jnp), make(np), strict=True):
        assert (one.__name__, one.__doc__) == (theirs.__name__, theirs.__doc__)
        assert one([1, 2]).tolist() == theirs([1, 2]).tolist()
    with pytest.raises(TypeError, match="keyword"):
        jnp.vectorize([float])
    calls = []
    jnp.vectorize(lambda a: calls.append(a) or a)([1.0, 2.0])
    assert calls == [1.0, 2.0]
    assert jnp.vectorize(lambda: 5)() == 5
    assert "pyfunc" in repr(jnp.vectorize.__doc__)


def test_numpys_own_class_names_the_one_that_records():
    x = jt.constant(GRID)
    with jt.GradientTape() as tape:
        tape.watch(x)
        with pytest.warns(jt.TapeExitWarning, match=r"jittape\.numpy\.vectorize records"):
            np.vectorize(bigger)(x)
