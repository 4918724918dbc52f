"""Carried arrays of which an iteration changes a few elements: they keep their buffer if the old value is not read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import jittape as jt
from test_control_structure import loops
from test_traced_slices import DATA, GRID, gradient_of, plain_loop, zero

COPY = "%0 = load a0[i0]\n        r0[i0] = %0\n"
"""Part of the text of a kernel that copies an array."""
LONG = np.sin(np.arange(240.0))


def gauss_seidel(x: Any, loop: Any) -> Any:
    def row(i: Any, u: Any) -> Any:
        def cell(j: Any, u: Any) -> Any:
            u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + jt.sin(u[i, j + 1]))
            return u

        return loop(1, 8, cell, u)

    return loop(1, 6, row, x + 0)


def old_value_is_read(x: Any, loop: Any) -> Any:
    def body(i: Any, state: Any) -> Any:
        u, total = state
        old = u * 1
        u[i] = u[i - 1] * u[i]
        return u, total + old[i] * u[i] + jt.reduce_sum(old * u)

    u, total = loop(1, 12, body, (x + 0, zero()))
    return u * total


def carries_swap(x: Any, loop: Any) -> Any:
    def body(i: Any, state: Any) -> Any:
        a, b = state
        a[i] = b[i - 1] * 2 + a[i]
        return b, a

    a, b = loop(1, 12, body, (x + 0, x * 2))
    return a * b


def two_writes(x: Any, loop: Any) -> Any:
    def body(i: Any, u: Any) -> Any:
        u[i] = u[i - 1] * u[i]
        u[i - 1] = jt.cos(u[i]) + u[i - 1]
        u[(i * 5) % 12] += u[i] * u[i - 1]
        return u

    return loop(1, 12, body, x + 0)


def rows_of_a_matrix(x: Any, loop: Any) -> Any:
    def body(i: Any, u: Any) -> Any:
        u[i] = u[i] * u[i - 1] + jt.reverse(u[i + 1], [0])
        return u

    return loop(1, 6, body, x + 0)


def same_element_twice(x: Any, loop: Any) -> Any:
    def body(i: Any, s: Any) -> Any:
        j = (i * i) % 12
        return s + x[i] * x[j] * x[11 - i] + x[i] ** 2

    return loop(0, 12, body, zero())


def gathered_and_scattered(x: Any, loop: Any) -> Any:
    places = jt.constant([[0, 3, 3], [1, 2, 11], [5, 5, 5]])

    def body(i: Any, u: Any) -> Any:
        u[places[i % 3]] = u[places[(i + 1) % 3]] * 1.5 + u[i]
        return u

    return loop(0, 9, body, x + 0)


def inner_loop_reads_the_first_value(x: Any, loop: Any) -> Any:
    def outer(i: Any, u: Any) -> Any:
        def inner(j: Any, v: Any) -> Any:
            v[j] = v[j - 1] * u[j + 1] + v[i]
            return v

        return loop(1, 9, inner, u)

    return loop(1, 4, outer, x + 0)


def old_value_is_read_after_the_inner_loop(x: Any, loop: Any) -> Any:
    def outer(i: Any, state: Any) -> Any:
        u, total = state
        first = u * 1

        def inner(j: Any, v: Any) -> Any:
            v[j] = v[j - 1] * v[j]
            return v

        u = loop(1, i + 1, inner, u)
        u[i] = jt.sin(u[i])
        return u, total + first[i] * u[i] + jt.reduce_sum(first * u)

    u, total = loop(1, 6, outer, (x + 0, zero()))
    return u * total


def rows(u: Any, loop: Any) -> Any:
    def row(i: Any, u: Any) -> Any:
        def cell(j: Any, u: Any) -> Any:
            u[i, j] = jt.sin(u[i - 1, j] * u[i, j - 1]) + u[i, j]
            return u

        u = loop(1, 8, cell, u)
        u[i, 0] = u[i, 3] * u[i, 4]
        u[i, 1] = u[i, 0] + u[i, 1]
        return u

    return loop(1, 6, row, u)


def three_loops(x: Any, loop: Any) -> Any:
    return loop(0, 2, lambda k, u: rows(u, loop), x + 0)


PROGRAMS = [
    (gauss_seidel, GRID),
    (old_value_is_read, DATA),
    (carries_swap, DATA),
    (two_writes, DATA),
    (rows_of_a_matrix, GRID),
    (same_element_twice, DATA),
    (gathered_and_scattered, DATA),
    (inner_loop_reads_the_first_value, DATA),
    (old_value_is_read_after_the_inner_loop, DATA),
    (three_loops, GRID),
]


@pytest.mark.parametrize(("program", "value"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_the_loop_equals_the_same_loop_in_python(program: Callable[..., Any], value: Any) -> None:
    expected = gradient_of(program, value, plain_loop)
    for _ in range(3):  # interpreted, then compiled
        for found, right in zip(gradient_of(program, value, jt.fori_loop), expected, strict=True):
            np.testing.assert_allclose(found, right, 1e-11, 1e-12)


def test_the_body_copies_nothing_and_the_first_value_stays() -> None:
    x = jt.constant(GRID)
    function = jt.function(lambda x: jt.fori_loop(1, 6, lambda i, u: _changed(u, i), x))
    for _ in range(3):
        function(x).numpy()
    assert "u0[" in str(jt.explain())
    assert COPY not in str(jt.explain())
    np.testing.assert_array_equal(x, GRID)


def _changed(u: Any, i: Any) -> Any:
    u[i, 2] = u[i - 1, 2] + u[i, 3]
    return u


def slice_of_itself(i: Any, u: Any) -> Any:
    u[i - 1 : i + 2] = jt.sin(u[i - 1 : i + 2]) * u[i]
    return u


def slice_added(i: Any, u: Any) -> Any:
    u[i : i + 3] += u[i + 2 : i + 5] * u[i]
    return u


def slice_with_a_step(i: Any, u: Any) -> Any:
    u[2 * i : 2 * i + 6 : 2] *= u[i : i + 3]
    return u


def slice_summed(i: Any, u: Any) -> Any:
    u[i] = jt.reduce_prod(u[i : i + 3], 0) + u[i + 7]
    return u


def gathered(i: Any, u: Any) -> Any:
    u[i] = jt.reduce_prod(u[jt.stack([i + 1, 2 * i, i + 1])], 0)
    return u


def written_twice(i: Any, u: Any) -> Any:
    u[i] = u[i - 1] * u[i]
    u[i + 1] = jt.sin(u[i]) + u[i - 1]
    return u


def swapped(i: Any, u: Any) -> Any:
    other = (i * 7) % 20
    old = u[i]
    u[i] = u[other] * 1.5
    u[other] = old * u[i]
    return u


def read_between_slices(i: Any, u: Any) -> Any:
    u[i : i + 3] *= u[i - 1 : i + 2]
    u[i + 1 : i + 3] += u[i : i + 2] * u[i + 4]
    u[i - 1] = jt.reduce_sum(u[i : i + 3], 0)
    return u


BODIES = [
    slice_of_itself,
    slice_added,
    slice_with_a_step,
    slice_summed,
    gathered,
    written_twice,
    swapped,
    read_between_slices,
]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
@pytest.mark.parametrize("shape", [(240,), (60, 4), (120, 2)], ids=str)
def test_parts_cost_as_much_as_the_parts(body: Callable[..., Any], shape: tuple[int, ...]) -> None:
    """The loop and its gradient copy no array and keep, of each iteration, only the parts that it reads."""

    def program(x: Any, loop: Any) -> Any:
        return loop(1, 20, body, x * 1)

    value = LONG.reshape(shape)
    expected = gradient_of(program, value, plain_loop)
    for _ in range(3):
        for found, right in zip(gradient_of(program, value, jt.fori_loop), expected, strict=True):
            np.testing.assert_allclose(found, right, 1e-11, 1e-12)
    forward, backward = loops()
    for step in (forward, backward):
        (body_schedule,) = step.bodies
        assert len(body_schedule.in_place) == 1, jt.explain()
        assert body_schedule.arena < LONG.nbytes // 2
    kept = [op for op in forward.ops if dict(op.params)["result_index"][0] == "stack"]
    rows = [dict(op.params)["body"].program.avals[dict(op.params)["result_index"][1]] for op in kept]
    assert sum(row.size for row in rows) <= 16 * LONG.size // shape[0]


def test_the_checks_of_a_body_are_one_step() -> None:
    x = jt.constant(GRID)
    for _ in range(3):
        gauss_seidel(x, jt.fori_loop).numpy()
    (outer,) = loops()
    (inner,) = [step for step in outer.bodies[0].steps if step.bodies]
    checks = [step for step in inner.bodies[0].steps if step.kernel.effectful]
    assert len(checks) == 1

    def reading(i: Any, u: Any, shift: int) -> Any:
        u[i] = u[i - 1] + u[i + shift]
        return u

    for shift, last in [(1, 11), (2, 10), (-12, 12)]:
        expected = plain_loop(1, last, partial(reading, shift=shift), DATA.copy())
        for _ in range(3):
            found = jt.fori_loop(1, last, partial(reading, shift=shift), jt.constant(DATA))
            np.testing.assert_allclose(found, expected)
    for shift, last in [(1, 12), (2, 11), (-14, 12)]:
        for _ in range(3):
            found = jt.fori_loop(1, last, partial(reading, shift=shift), jt.constant(DATA))
            with pytest.raises(IndexError, match=r"index -?1\d is out of bounds for axis 0 with size 12"):
                found.numpy()


def test_nested_loops_share_one_buffer() -> None:
    function = jt.function(lambda x: jt.fori_loop(0, 3, lambda k, u: rows(u, jt.fori_loop), x))
    for _ in range(3):
        function(jt.constant(GRID)).numpy()
    (step,) = loops()
    depth = 0
    while step.bodies:
        (body,) = step.bodies
        assert [is_read for _, _, is_read in body.in_place] == [True]
        assert body.arena < 4096
        step, depth = next((inner for inner in body.steps if inner.bodies), body.steps[0]), depth + 1
    assert depth == 3


def test_inner_loops_of_unknown_length() -> None:
    def outer(i: Any, u: Any) -> tuple[Any, Any]:
        def inner(j: Any, u: Any) -> tuple[Any, Any]:
            u[j] = u[j - 1] * 2
            return j + 1, u

        return i + 1, jt.while_loop(lambda j, u: j < i, inner, (1, u))[1]

    expected = DATA.copy()
    for i in range(6):
        for j in range(1, i):
            expected[j] = expected[j - 1] * 2
    for _ in range(3):
        x = jt.constant(DATA)
        found = jt.while_loop(lambda i, u: i < 6, outer, (0, x))[1]
        np.testing.assert_allclose(found, expected)
        np.testing.assert_array_equal(x, DATA)


def test_an_index_error_in_an_inner_loop_changes_no_argument() -> None:
    @jt.function
    def sweep(x: Any, last: Any) -> Any:
        def cell(j: Any, u: Any) -> Any:
            u[j] = u[j - 1] + 1
            return u

        return jt.fori_loop(0, 3, lambda i, u: jt.fori_loop(1, last, cell, u), x)

    x, v = jt.constant(DATA), jt.Variable(DATA)
    for _ in range(3):
        v.assign(sweep(x, jt.constant(12)))
    before = v.numpy().copy()
    with pytest.raises(IndexError):
        v.assign(sweep(v, jt.constant(13)))
        v.numpy()
    np.testing.assert_array_equal(v, before)
    np.testing.assert_array_equal(x, DATA)


def test_no_iterations_and_loops_of_unknown_length() -> None:
    def body(i: Any, u: Any) -> tuple[Any, Any]:
        u[i] = u[i - 1] + 1
        return i + 1, u

    for end in (1, 4, 1, 7):
        _, u = jt.while_loop(lambda i, u, end=end: i < end, body, (1, jt.constant(DATA)))
        expected = DATA.copy()
        for i in range(1, end):
            expected[i] = expected[i - 1] + 1
        np.testing.assert_allclose(u, expected)


def test_every_state_of_a_scan() -> None:
    def step(u: Any, i: Any) -> Any:
        u[i] = u[i - 1] * 2
        return u

    expected = [DATA.copy()]
    for i in range(1, 5):
        expected.append(expected[-1].copy())
        expected[-1][i] = expected[-1][i - 1] * 2
    for _ in range(2):
        states = jt.scan(step, jt.constant([1, 2, 3, 4]), jt.constant(DATA))
        np.testing.assert_allclose(states, expected[1:])


def test_a_variable_keeps_its_value_if_an_index_is_wrong() -> None:
    v = jt.Variable(DATA)

    @jt.function
    def update(i: Any) -> Any:
        v[i].assign(v[i] * 2 + 1)

    for i in (1, 2, 3):
        update(jt.constant(i))
    before = v.numpy().copy()
    with pytest.raises(IndexError):
        update(jt.constant(12))
        v.numpy()
    np.testing.assert_array_equal(v.numpy(), before)
    held = v.read_value()
    update(jt.constant(4))
    np.testing.assert_array_equal(held, before)
    assert v.numpy()[4] == before[4] * 2 + 1
