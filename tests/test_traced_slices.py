"""Slices in the bodies of loops and branches, at starts that are known at run time only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt

DATA = np.random.default_rng(5).standard_normal(12)
GRID = np.random.default_rng(6).standard_normal((7, 9))


def zero() -> Any:
    return jt.constant(0.0, jt.float64)


def smoothed(x: Any, loop: Any) -> Any:
    def body(i: Any, s: Any) -> Any:
        part = x[i - 1 : i + 2]
        return s + jt.reduce_prod(part) * jt.sin(x[i])

    return loop(1, 11, body, zero())


def relaxed(x: Any, loop: Any) -> Any:
    def body(i: Any, u: Any) -> Any:
        u[i - 1 : i + 2] = u[i - 1 : i + 2] * jt.sin(u[i]) + 0.5
        return u

    return loop(1, 11, body, x + 0)


def strided(x: Any, loop: Any) -> Any:
    def body(i: Any, u: Any) -> Any:
        u[2 * i : 2 * i + 6 : 2] += u[i : i + 3] * u[2 * i + 1 : 2 * i + 6 : 2]
        return u

    return loop(0, 4, body, x * 1)


def sliced_at(x: Any, loop: Any) -> Any:
    return loop(0, 9, lambda i, s: s * jt.reduce_sum(jt.slice(x, [i], [4]) ** 2) / 3 + 1, zero() + 1)


def blocks(x: Any, loop: Any) -> Any:
    def column(i: Any) -> Callable[..., Any]:
        def body(j: Any, u: Any) -> Any:
            u[i - 1 : i + 2, j] = u[i - 1 : i + 2, j] * 0.9 + jt.reduce_mean(u[i, j - 1 : j + 2])
            u[i - 1 : i + 1, j - 1 : j + 1] *= jt.cos(u[i, j])
            return u

        return body

    return loop(1, 6, lambda i, u: loop(1, 8, column(i), u), x + 0)


def parts_of_rows(x: Any, loop: Any) -> Any:
    def body(k: Any, u: Any) -> Any:
        u[k, 1:4] = u[k, 1:4] * jt.sin(u[k - 4, 5:8]) + 0.5
        u[-2:, k - 3] += u[0, 3:5] * u[k, k, None]
        u[k, ::-2] *= 0.9
        return u

    return loop(1, 6, body, x * 1)


def chosen(x: Any, loop: Any) -> Any:
    def body(i: Any, s: Any) -> Any:
        return s + jt.cond(
            x[i] > 0, lambda: jt.reduce_sum(x[i : i + 3] ** 2), lambda: jt.reduce_prod(x[i + 1 : i + 3])
        )

    return loop(0, 9, body, zero())


def halving(x: Any, loop: Any) -> Any:
    def body(k: Any, s: Any) -> tuple[Any, Any]:
        return k // 2, s + jt.reduce_sum(jt.sin(x[k : k + 2]) * x[k + 1 : k + 3])

    return jt.while_loop(lambda k, s: k > 0, body, (jt.constant(9), zero()))[1]


def plain_loop(first: int, last: int, body: Callable[..., Any], value: Any) -> Any:
    for i in range(first, last):
        value = body(i, value)
    return value


PROGRAMS = [
    (smoothed, DATA),
    (relaxed, DATA),
    (strided, DATA),
    (sliced_at, DATA),
    (blocks, GRID),
    (parts_of_rows, GRID),
    (chosen, DATA),
    (halving, DATA),
]


def gradient_of(program: Callable[..., Any], value: Any, loop: Any) -> Any:
    x = jt.constant(value)
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = program(x, loop)
        target = jt.reduce_sum(jt.sin(y))
    return y.numpy(), tape.gradient(target, x).numpy()


@pytest.mark.parametrize(("program", "value"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_the_loop_equals_the_same_loop_in_python(program: Callable[..., Any], value: Any) -> None:
    expected = gradient_of(program, value, plain_loop)
    for _ in range(3):  # interpreted, then compiled
        for found, right in zip(gradient_of(program, value, jt.fori_loop), expected, strict=True):
            np.testing.assert_allclose(found, right, 1e-12, 1e-13)


@pytest.mark.parametrize(("program", "value"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_derivatives_of_all_modes_agree(program: Callable[..., Any], value: Any) -> None:
    function = jt.function(lambda x: jt.reduce_sum(jt.sin(program(x, jt.fori_loop))))
    jt.check_gradient(function, value)
    tangent = np.cos(np.arange(value.size)).reshape(value.shape)
    with jt.GradientTape() as tape:
        x = jt.constant(value)
        tape.watch(x)
        y = function(x)
    slope = float(np.sum(tape.gradient(y, x).numpy() * tangent))
    _, forward = jt.jvp(function, (value,), (tangent,))
    assert float(forward) == pytest.approx(slope, rel=1e-10)


def test_second_derivatives_and_jacobians() -> None:
    def energy(x: Any) -> Any:
        return jt.reduce_sum(relaxed(x, jt.fori_loop) ** 3)

    def in_python(x: Any) -> Any:
        return jt.reduce_sum(relaxed(x, plain_loop) ** 3)

    x = jt.constant(DATA[:12])
    np.testing.assert_allclose(jt.hessian(energy)(x), jt.hessian(in_python)(x), 1e-9, 1e-9)
    jacobian = jt.jacobian(lambda x: relaxed(x, jt.fori_loop))(x)
    np.testing.assert_allclose(jacobian, jt.jacobian(lambda x: relaxed(x, plain_loop))(x), 1e-10, 1e-12)


def test_rows_of_a_batch_may_start_apart() -> None:
    starts = np.array([0, 3, 9, 5])

    def one(start: Any) -> Any:
        return jt.fori_loop(0, 2, lambda k, s: s + jt.reduce_sum(x[start : start + 3] * k), zero())

    x = jt.constant(DATA)
    for _ in range(2):
        found = jt.vectorized_map(one, jt.constant(starts))
        np.testing.assert_allclose(found, [DATA[s : s + 3].sum() for s in starts], 1e-12)


@pytest.mark.parametrize(("first", "last"), [(0, 5), (5, 12)], ids=["before", "behind"])
def test_a_slice_beyond_the_array_is_an_error(first: int, last: int) -> None:
    x = jt.constant(DATA)
    for _ in range(3):
        with pytest.raises(
            IndexError, match=r"\[getitem\] a slice of 3 elements .* must be from 0 to 9 here"
        ):
            jt.fori_loop(first, last, lambda i, s: s + jt.reduce_sum(x[i - 1 : i + 2]), zero()).numpy()


def test_a_part_of_a_row_beyond_the_array_is_an_error() -> None:
    x = jt.constant(GRID)
    for sign in (1, -1):
        for _ in range(2):
            with pytest.raises(IndexError, match=r"\[getitem\] a slice of 1 elements .* beyond axis 0"):
                jt.fori_loop(
                    0, 9, lambda i, s, sign=sign: s + jt.reduce_sum(x[sign * i, 1:4]), zero()
                ).numpy()


def test_a_slice_of_unknown_length_is_an_error() -> None:
    x = jt.constant(DATA)
    for key in (
        lambda i: slice(i, None),
        lambda i: slice(None, i),
        lambda i: slice(i, 2 * i),
        lambda i: slice(i, i - 2),
        lambda i: slice(i + 2, i, -1),
        lambda i: slice(0, i),
    ):
        with pytest.raises(IndexError, match=r"must be known: write its bounds as x\[i \+ a : i \+ b\]"):
            jt.fori_loop(0, 3, lambda i, s, key=key: s + jt.reduce_sum(x[key(i)]), zero())


def test_an_empty_slice_and_a_slice_of_all() -> None:
    x = jt.constant(DATA)
    assert float(jt.fori_loop(0, 3, lambda i, s: s + jt.reduce_sum(x[i:i]) + 1, zero())) == 3
    whole = jt.fori_loop(0, 1, lambda i, s: s + jt.reduce_sum(x[i : i + 12]), zero())
    assert float(whole) == pytest.approx(DATA.sum())
    with pytest.raises(IndexError, match="13 elements"):
        jt.fori_loop(0, 1, lambda i, s: s + jt.reduce_sum(x[i : i + 13]), zero())


def test_the_length_may_be_an_argument_of_the_function() -> None:
    @jt.function
    def moving(x: Any, width: int) -> Any:
        return jt.fori_loop(0, 6, lambda i, s: s + jt.reduce_max(x[i : i + width]), zero())

    for width in (2, 3, 3, 2):
        expected = sum(DATA[i : i + width].max() for i in range(6))
        assert float(moving(DATA, width)) == pytest.approx(expected)


def test_arrays_of_any_length() -> None:
    @jt.function(input_signature=[jt.TensorSpec([None], jt.float64)])
    def smooth(x: Any) -> Any:
        return jt.fori_loop(1, 5, lambda i, s: s + jt.reduce_prod(x[i - 1 : i + 2]), zero())

    for n in (7, 12, 9):
        expected = sum(np.prod(DATA[i - 1 : i + 2]) for i in range(1, 5))
        assert float(smooth(DATA[:n])) == pytest.approx(expected)
    with pytest.raises(IndexError):
        smooth(DATA[:5]).numpy()


def test_slice_at_tensors_outside_of_loops() -> None:
    x = jt.constant(GRID)
    start = jt.constant([2, 3])
    np.testing.assert_array_equal(jt.slice(x, start, [3, 2]), GRID[2:5, 3:5])
    np.testing.assert_array_equal(jt.slice(x, [start[0], 1], [3, -1]), GRID[2:5, 1:])
    with pytest.raises(IndexError, match=r"\[slice\] a slice of 6 elements at 2 reaches beyond axis 0"):
        jt.slice(x, start, [6, 2]).numpy()
    for size in ([2, -1], jt.constant([2, -1])):
        np.testing.assert_array_equal(jt.slice(x, start, size), GRID[2:4, 3:])
    with pytest.raises(ValueError, match=r"\[slice\] begin .* reach beyond axis 1"):
        jt.slice(x, start, [2, -2])
    with pytest.raises(TypeError, match=r"must be an integer scalar"):
        jt.slice(x, [jt.constant(1.0), 0], [1, 1])
