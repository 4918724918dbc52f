"""``asarray(x, dtype)``, ``float64(x)`` and ``x.sort()`` on known paths take current values and dtypes in each call."""

from __future__ import annotations

import numpy as np
import pytest

import jittape as jt
import jittape.numpy as jnp

STEPS = 130
"""Machine code records steps that are repeated more than a hundred times."""
SPECIAL = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, -1.5])


def same(found, wanted):
    """Check values bit by bit, so that signs of zero count."""
    assert isinstance(found, jt.Tensor)
    assert (found.dtype, tuple(found.shape)) == (wanted.dtype, wanted.shape)
    assert found.numpy().tobytes() == wanted.tobytes()


def values(step):
    return np.roll(SPECIAL, step) + (step % 7) * np.array([0.0, -0.0, 1.0, 0.0, 0.0, 2.0])


@pytest.mark.parametrize("make", [jnp.asarray, jnp.array], ids=["asarray", "array"])
@pytest.mark.parametrize("dtype", [float, "float32", np.float16, jnp.float64, np.dtype("c16"), jt.float32])
def test_tensors_and_arrays_are_converted_in_each_step(make, dtype):
    for step in range(STEPS):
        a = values(step)
        x = jt.constant(a)
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = make(x, dtype=dtype)
            z = make(x * 1.0, dtype)
            target = jt.reduce_sum(jt.math.real(y)) + jt.reduce_sum(jt.math.real(z))
        assert (y is x) == (make is jnp.asarray and np.dtype(dtype) == np.float64)
        same(y, a.astype(dtype))
        same(z, a.astype(dtype))
        same(make(a, dtype=dtype), a.astype(dtype))
        assert tape.gradient(target, x).tolist() == [2.0] * 6


def test_astype_converts_in_each_step():
    for step in range(STEPS):
        a = values(step)
        for dtype in (np.float32, "float64", jnp.complex64):
            x, v = jt.constant(a), jt.Variable(a)
            with jt.GradientTape() as tape:
                tape.watch(x)
                y = jnp.astype(x, dtype)
                target = jt.reduce_sum(jt.math.real(y))
            same(y, a.astype(dtype))
            same(jnp.astype(v, dtype, copy=False), a.astype(dtype))
            same(jnp.astype(a, dtype), a.astype(dtype))
            assert tape.gradient(target, x).tolist() == [1.0] * 6
            x[0] = 5.0
            same(y, a.astype(dtype))
    with pytest.raises(TypeError, match="must be a tensor or an array"):
        jnp.astype([1.0], float)


def test_one_line_converts_operands_of_many_dtypes_shapes_and_kinds():
    made = [
        np.array([1.5, -2.0]),
        np.array([1.5, -2.0], np.float32),
        np.array([[1, 2]]),
        np.array(3, np.uint8),
        np.zeros((0, 2)),
        np.array([True]),
        np.array([1.5, 2.5]).astype(">f8"),
        np.arange(6.0).reshape(2, 3).T,
    ]
    for step in range(STEPS):
        for a in made:
            for dtype in (np.float64, np.float32, np.int64, "float64"):
                given = (
                    a,
                    jt.constant(a.astype(a.dtype.newbyteorder("="))),
                    jt.Variable(a) if a.dtype.kind == "f" else a,
                )
                wanted = np.array(a, dtype, order="C")
                for value in given:
                    same(jnp.array(value, dtype=dtype), wanted)
                    same(jnp.asarray(value, dtype), wanted)
        if step % 20 == 0:
            with pytest.raises(TypeError):
                jnp.asarray(jt.constant([1.0]), dtype="text")


def test_copies_are_independent_and_the_same_tensor_is_not():
    for _ in range(STEPS):
        x = jt.constant([3.0, 1.0], dtype="float64") * 1.0
        copied, shared = jnp.array(x, dtype=jnp.float64), jnp.asarray(x, dtype=jnp.float64)
        x[0] = 7.0
        assert (copied.tolist(), shared.tolist()) == ([3.0, 1.0], [7.0, 1.0])
        a = np.array([1.0, 2.0])
        made = jnp.array(a, dtype=np.float64), jnp.asarray(a, dtype=float)
        a[0] = 9.0
        assert [m.tolist() for m in made] == [[1.0, 2.0]] * 2


def test_dtypes_convert_numbers_tensors_and_lists():
    for step in range(STEPS):
        for number in (0.0, -0.0, float("nan"), 1.5 * (step % 80), step % 80, True):
            for name in ("float64", "float32", "int64", "int32", "int8", "complex128"):
                if name[0] == "i" and number != number:
                    continue
                same(getattr(jnp, name)(number), np.asarray(np.dtype(name).type(number)))
        x = jt.constant(values(step))
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = jt.reduce_sum(jnp.float32(x * 2.0)) + jt.cast(jt.reduce_sum(jnp.float64(x)), "float32")
        assert tape.gradient(y, x).tolist() == [3.0] * 6
        same(jnp.float32([1.5, step]), np.array([1.5, step], np.float32))
        assert jnp.float64() == 0.0
    with pytest.raises(TypeError, match=r"\[float64\]"):
        jnp.float64("text")
    with pytest.raises(OverflowError):
        jnp.int8(300)


def test_settings_of_dtypes_do_not_leak():
    for name in ("float32", "float64", "float32"):
        jt.config.default_float = name
        try:
            for _ in range(STEPS):
                assert jnp.asarray(jt.constant([1.0]), dtype=float).dtype == np.float64
                assert jnp.float64(1.0).dtype == np.float64
                assert jt.constant([1.0]).dtype == name
        finally:
            jt.config.default_float = "float32"


@pytest.mark.parametrize("axis", [(), (0,), (-1,), (1,)])
def test_tensors_are_sorted_in_place_in_each_step(axis):
    for step in range(STEPS):
        a = np.roll(np.array([[3.0, -0.0, np.nan], [0.0, 2.0, -1.0]]), step)
        for made in (jt.constant(a), jt.constant(a) * 1.0, jt.Variable(a)):
            held, before = made, made * 1.0
            with jt.GradientTape() as tape:
                tape.watch(before)
                w = before * 2.0
                other = w
                w.sort(*axis)
                target = jt.reduce_sum(w * np.arange(6.0).reshape(2, 3))
            made.sort(*axis)
            wanted = a.copy()
            wanted.sort(*axis)
            assert other is w
            assert held is made
            np.testing.assert_array_equal(made.numpy(), wanted)
            np.testing.assert_array_equal(w.numpy(), wanted * 2)
            np.testing.assert_array_equal(before.numpy(), a)
            order = np.argsort(a, axis=axis[0] if axis else -1, kind="stable")
            slopes = np.empty((2, 3))
            np.put_along_axis(slopes, order, 2 * np.arange(6.0).reshape(2, 3), axis[0] if axis else -1)
            np.testing.assert_array_equal(tape.gradient(target, before).numpy(), slopes)


def test_sorts_that_nobody_could_see_are_refused_in_each_step():
    x = jt.constant([[3.0, 1.0], [2.0, 0.0]])
    for _ in range(STEPS):
        with pytest.raises(TypeError, match="the write would be lost"):
            x[0].sort()
        with pytest.raises(TypeError, match="the write would be lost"):
            x.T.sort(0)
        for row in x:
            with pytest.raises(TypeError, match="iteration"):
                row.sort()
        y = x * 1.0
        with pytest.raises(TypeError, match="axis as an int"):
            y.sort(None)
        with pytest.raises(ValueError, match="axis"):
            y.sort(5)
        with pytest.raises(TypeError):
            y.sort(0, 1, 2, 3, 4)
        y.sort(axis=0, kind="stable")
        part = [y[0]]
        part[0].sort()
        assert (y.tolist(), part[0].tolist()) == ([[2.0, 0.0], [3.0, 1.0]], [0.0, 2.0])
    assert x.tolist() == [[3.0, 1.0], [2.0, 0.0]]


def test_functions_sort_what_they_made():
    @jt.function
    def f(x):
        y = x * 2.0
        y.sort()
        return y, jnp.asarray(x, dtype=jnp.float32), jnp.float64(x)

    for step in range(5):
        a = np.array([3.0, 1.0, 2.0]) + step
        y, single, double = f(jt.constant(a))
        same(y, np.sort(a * 2))
        same(single, a.astype(np.float32))
        same(double, a)
