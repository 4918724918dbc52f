"""Arrays that branches in loops write to: they keep their memory, and so do their gradients."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import jittape as jt
from test_control_structure import loops
from writing_branches import by_jittape, by_python, program_of, run

GRID = np.random.default_rng(8).standard_normal((60, 5))
X = np.random.default_rng(2).standard_normal(12)
DIRECTION = np.random.default_rng(3).standard_normal(12)


@pytest.fixture(autouse=True)
def compiled_at_once() -> Iterator[None]:
    before = jt.config.interpret, jt.config.compile_after
    jt.config.compile_after = 0
    yield
    jt.config.interpret, jt.config.compile_after = before


def element(i: Any, u: Any) -> Any:
    def written() -> Any:
        v = copy.copy(u)
        v[i, 3] = jt.sin(v[i - 1, 3]) * v[i + 1, 2]
        return v

    return jt.cond(u[i, 1] > 0, written, lambda: u)


def rows(i: Any, u: Any) -> Any:
    def written() -> Any:
        v = copy.copy(u)
        v[i - 1 : i + 2] = jt.sin(v[i - 1 : i + 2]) * v[i, 1]
        return v

    return jt.cond(u[i, 1] > 0, lambda: u, written)


def both_branches_and_after(i: Any, u: Any) -> Any:
    u[i, 2] *= 1.5

    def two() -> Any:
        v = copy.copy(u)
        v[i, 3] = jt.sin(v[i - 1, 3])
        v[i, 4] = v[i, 3] * v[i + 1, 2]
        return v

    def one() -> Any:
        v = copy.copy(u)
        v[i - 1, 3] *= v[i, 2]
        return v

    u = jt.cond(u[i, 1] > 0, two, one)
    u[i, 0] = u[i, 1] * 2
    return u


def branch_in_branch(i: Any, u: Any) -> Any:
    return jt.switch_case(i % 3, [lambda: element(i, u), lambda: rows(i, u), lambda: u])


BODIES = [element, rows, both_branches_and_after, branch_in_branch]


def results(program: Callable[[Any], Any]) -> list[Any]:
    x = jt.constant(GRID)
    return [*jt.value_and_grad(lambda x: jt.reduce_sum(program(x) ** 2))(x)]


def plainly(body: Callable[..., Any]) -> list[Any]:
    """The same body in a Python loop on tensors, with Python's choice of a branch."""
    cond, switch_case = jt.cond, jt.switch_case
    jt.cond = lambda p, one, other: one() if p else other()
    jt.switch_case = lambda i, functions: functions[int(i)]()

    def program(x: Any) -> Any:
        u = x * 1
        for i in range(1, 9):
            u = body(i, copy.copy(u))
        return u

    try:
        return results(program)
    finally:
        jt.cond, jt.switch_case = cond, switch_case


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
@pytest.mark.parametrize("kind", ["fori_loop", "while_loop", "foldl"])
def test_no_array_is_copied_or_saved(body: Callable[..., Any], kind: str) -> None:
    programs = {
        "fori_loop": lambda x: jt.fori_loop(1, 9, body, x * 1),
        "while_loop": lambda x: jt.while_loop(
            lambda i, u: i < 9, lambda i, u: (i + 1, body(i, u)), (1, x * 1)
        )[1],
        "foldl": lambda x: jt.foldl(lambda u, i: body(i, copy.copy(u)), jt.constant(np.arange(1, 9)), x * 1),
    }
    for found, right in zip(results(programs[kind]), plainly(body), strict=True):
        np.testing.assert_allclose(found, right, 1e-11, 1e-12)
    if kind == "while_loop":
        return
    for step in loops():
        kept = [dict(op.params)["result_index"] for op in step.ops]
        avals = dict(step.ops[0].params)["body"].program.avals
        assert all(avals[slot].size <= 40 for kind, slot in kept if kind == "stack"), jt.explain()
        _assert_in_place(step.bodies[0])


def _assert_in_place(body: Any) -> None:
    """Assert that a body, and those of its branches, have no memory of their own for an array."""
    arrays = [aval for aval in body.results if aval.size > 40]
    assert [is_read for _, _, is_read in body.in_place] == [True] * len(arrays), jt.explain()
    assert body.arena < GRID.nbytes, jt.explain()
    for step in body.steps:
        for inner in step.bodies:
            _assert_in_place(inner)


def read_in_a_branch(x: Any) -> Any:
    def body(i: Any, s: Any) -> Any:
        return jt.cond(x[i, 1] > 0, lambda: s + x[i, 3] * x[i - 1, 2], lambda: s)

    return jt.fori_loop(1, 9, body, jt.constant(0.0, jt.float64))


def read_in_a_loop(x: Any) -> Any:
    def row(i: Any, s: Any) -> Any:
        return jt.fori_loop(1, 5, lambda j, s: s + jt.sin(x[i, j]) * x[i - 1, j], s)

    return jt.fori_loop(1, 9, row, jt.constant(0.0, jt.float64))


@pytest.mark.parametrize("program", [read_in_a_branch, read_in_a_loop], ids=lambda p: p.__name__)
def test_the_gradient_of_an_array_that_is_read_inside_is_one_array(program: Callable[[Any], Any]) -> None:
    x = jt.constant(GRID)
    jt.config.interpret = True
    right = jt.grad(program)(x).numpy()
    jt.config.interpret = False
    np.testing.assert_allclose(jt.grad(program)(x), right, 1e-12, 1e-13)
    _assert_in_place(loops()[-1].bodies[0])


def test_a_copy_of_a_tensor_from_outside_belongs_to_the_branch() -> None:
    def step(i: Any, u: Any) -> Any:
        def written() -> Any:
            v = copy.copy(u)
            v[i] = 7.0
            return v

        return jt.cond(u[i] > 0, written, lambda: u)

    found = jt.fori_loop(0, 3, step, jt.constant([1.0, -1.0, 2.0, 3.0]))
    assert found.tolist() == [7.0, -1.0, 7.0, 3.0]


def gradients(block: Any, control: Any, order: int) -> Callable[[Any], list[Any]]:
    def first(x: Any) -> Any:
        return jt.value_and_grad(lambda x: run(block, x, control))(x)

    def second(x: Any) -> list[Any]:
        return [*first(x), jt.grad(lambda x: jt.reduce_sum(first(x)[1] * DIRECTION))(x)]

    return first if order == 1 else second


@pytest.mark.filterwarnings("ignore::jittape.errors.RecompileWarning")
@pytest.mark.parametrize(("seed", "order"), [(5, 1), (8, 1), (13, 1), (21, 1), (1000, 2), (1024, 2)])
def test_random_programs(seed: int, order: int) -> None:
    block, x = program_of(seed, 4 - order), jt.constant(X)
    jt.config.interpret = True
    expected = [np.asarray(part) for part in gradients(block, by_python, order)(x)]
    scale = max(1.0, *[float(np.abs(part).max()) for part in expected])
    for interpret in (True, False):
        jt.config.interpret = interpret
        for found, right in zip(gradients(block, by_jittape, order)(x), expected, strict=True):
            np.testing.assert_allclose(found, right, 1e-8, 1e-9 * scale, err_msg=str(block))
