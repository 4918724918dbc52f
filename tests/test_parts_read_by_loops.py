"""Loops that read rows of a part of an array: the part is not copied before the loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.runtime.counters import counters

STEPS, ROWS, BLOCKS = 5, 600, 3
Z = np.random.default_rng(0).normal(size=(STEPS + 2, 2, BLOCKS, ROWS))

PARTS: dict[str, Callable[[Any, Any], Any]] = {
    "rows": lambda z, i: z[1 : STEPS + 1, :, 0],
    "columns": lambda z, i: z[:STEPS, :, 1, 100:],
    "an index": lambda z, i: z[:, :, i],
    "an index from the end": lambda z, i: z[:, :, i - BLOCKS],
    "two indices": lambda z, i: jt.reshape(z, [STEPS + 2, 2, BLOCKS, 2, ROWS // 2])[:, :, i, i],
    "a part of a part": lambda z, i: z[1:, :, 1:][:, :, i],
    "the first axis": lambda z, i: jt.transpose(z, [2, 0, 1, 3])[i],
    "a start": lambda z, i: jt.slice(z, jt.stack([i, 0, 0, 0]), [STEPS, 2, 1, ROWS])[:, :, 0],
    "a start along the rows": lambda z, i: jt.slice(
        z[:, :, 0], jt.stack([0, 0, i]), [STEPS, 2, ROWS - BLOCKS]
    ),
}


def in_a_for(p: Any, part: Any) -> Any:
    def step(k: Any, x: Any) -> Any:
        return jt.sin(x) + p * part[k, 0] * part[k, -1]

    return jt.fori_loop(0, STEPS, step, jt.zeros([part.shape[-1]], "float64"))


def in_a_while(p: Any, part: Any) -> Any:
    def step(k: Any, x: Any) -> Any:
        return k + 1, jt.sin(x) + p * part[k, 0] * part[k, -1]

    start = jt.constant(0), jt.zeros([part.shape[-1]], "float64")
    return jt.while_loop(lambda k, x: k < STEPS, step, start, maximum_iterations=STEPS)[1]


def in_a_scan(p: Any, part: Any) -> Any:
    def step(x: Any, k: Any) -> Any:
        return jt.sin(x) + p * part[k, 0] * part[k, -1]

    return jt.scan(step, jt.range(STEPS), jt.zeros([part.shape[-1]], "float64"))[-1]


def written_out(p: Any, part: Any) -> Any:
    x: Any = 0.0
    for k in range(STEPS):
        x = jt.sin(x) + p * part[k, 0] * part[k, -1]
    return x


LOOPS = {"for": in_a_for, "while": in_a_while, "scan": in_a_scan}


@pytest.mark.parametrize("interpret", [False, True])
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("name", PARTS)
def test_values_and_gradients(monkeypatch: pytest.MonkeyPatch, name: str, loop: str, interpret: bool) -> None:
    monkeypatch.setattr(jt.config, "interpret", interpret)
    monkeypatch.setattr(jt.config, "compile_after", 0)
    p, z, i = jt.constant(0.7, dtype="float64"), jt.constant(Z), jt.constant(1)

    def total(p: Any, z: Any, i: Any, steps: Callable[[Any, Any], Any]) -> Any:
        return jt.reduce_sum(steps(p, PARTS[name](z, i)) ** 2)

    derivatives = jt.function(jt.value_and_grad(total, argnums=(0, 1)))
    found, expected = derivatives(p, z, i, LOOPS[loop]), derivatives(p, z, i, written_out)
    np.testing.assert_allclose(found[0].numpy(), expected[0].numpy(), rtol=1e-12)
    for one, other in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-10, atol=1e-12)


def bytes_before_the_loop(f: Callable[..., Any], *args: Any) -> int:
    """Return the bytes that steps write, without those of the result."""
    jt.function(f)(*args).numpy()
    return sum(step.bytes_written for step in jt.explain().steps) - 2 * 8 * ROWS


@pytest.mark.parametrize("name", PARTS)
def test_no_part_is_copied(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(jt.config, "compile_after", 0)
    p, z, i = jt.constant(0.7, dtype="float64"), jt.constant(Z), jt.constant(1)
    moved = bytes_before_the_loop(lambda p, z, i: in_a_for(p, PARTS[name](z, i)), p, z, i)
    assert moved < 1000, jt.explain()


def test_parts_of_computed_arrays_and_short_rows_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy computes no more than the part, and rows that are far apart are adjacent in it."""
    monkeypatch.setattr(jt.config, "compile_after", 0)
    p, z, i = jt.constant(0.7, dtype="float64"), jt.constant(Z), jt.constant(1)
    part = Z[:, :, 0].nbytes
    moved = bytes_before_the_loop(lambda p, z, i: in_a_for(p, (2.0 * z)[:, :, i]), p, z, i)
    assert 0.9 * part < moved < 1.1 * part
    short = jt.constant(np.ascontiguousarray(Z[..., :20]))
    jt.function(lambda p, z, i: in_a_for(p, z[:, :, i]))(p, short, i).numpy()
    assert sum(step.bytes_written for step in jt.explain().steps) > Z[:, :, 0, :20].nbytes


def test_gradients_of_blocks_copy_no_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jt.config, "compile_after", 0)

    def by_blocks(p: Any, z: Any) -> Any:
        def add(i: Any, found: Any) -> Any:
            return found + jt.grad(lambda p: jt.reduce_sum(in_a_for(p, z[:, :, i])))(p)

        return jt.fori_loop(0, BLOCKS, add, 0.0 * p)

    p, z = jt.constant(0.7, dtype="float64"), jt.constant(np.concatenate([Z, Z], -1))
    found = jt.function(by_blocks)(p, z).numpy()
    steps = [step for step in counters.last.compiled.schedule.steps if getattr(step, "bodies", ())]
    body = max([body for step in steps for body in step.bodies], key=lambda body: body.arena)
    # It keeps the carry of each step; a block has 14 rows of numbers.
    assert body.arena < z[:, :, 0].numpy().nbytes, jt.explain()
    whole = jt.grad(lambda p: jt.reduce_sum(sum(in_a_for(p, z[:, :, i]) for i in range(BLOCKS))))(p)
    np.testing.assert_allclose(found, whole.numpy(), rtol=1e-12)


def test_a_part_of_a_carried_array_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop reads the part of before the change, also where its start is made of the changed array."""
    monkeypatch.setattr(jt.config, "compile_after", 0)

    def f(u: Any) -> Any:
        def body(i: Any, state: Any) -> Any:
            u, total = state
            part = u[i]
            u = jt.tensor_scatter_nd_update(u, jt.reshape(i, [1, 1]), (jt.cumsum(u[i], 0) * 0.5)[None])
            x = jt.fori_loop(0, 2, lambda k, x: jt.sin(x) + part[k, 0], u[i, 0, 0] + 2.0 * u[i, 1, 2])
            return u, total + jt.reduce_sum(x)

        return jt.fori_loop(0, STEPS, body, (u, jt.constant(0.0, dtype="float64")))

    u = jt.constant(Z)
    found = [part.numpy() for part in jt.function(f)(u)]
    monkeypatch.setattr(jt.config, "interpret", True)
    for one, other in zip(found, f(u), strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-12)
