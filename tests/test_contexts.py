"""Rows of the tables of primitives as a user meets them: in functions, maps, loops, Jacobians and second derivatives.

The test takes every fortieth row. ``python tests/test_contexts.py`` takes all, in some minutes, and prints those that
fail.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt
from test_primitives import ROWS, cast, sources

Array = np.ndarray[Any, Any]
STRIDE = 40
NOT_FOR_TENSORS = ("recompute",)
"""Rows whose functions take handles only."""


class Case:
    """A row at one sample: its first output, a weighted sum of it and directions of the operands."""

    def __init__(self, row: Any, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.row, self.operands = row, cast(row.sample(rng), "float64")
        self.stacks = [np.stack([x, x, x]) for x in self.operands]
        self.value = np.asarray(self.output(*map(jt.constant, self.operands)))
        self.wrt = sources(row, self.operands) if self.value.dtype.kind == "f" else ()
        self.weight = rng.normal(size=self.value.shape)
        self.directions = [rng.normal(size=self.operands[i].shape) for i in self.wrt]

    def output(self, *operands: Any) -> Any:
        result = self.row.function(*operands)
        while isinstance(result, tuple | list):
            result = result[0]
        return result

    def loss(self, *operands: Any) -> Any:
        return jt.reduce_sum(self.output(*operands) * self.weight)

    def scanned(self, *stacks: Any) -> Any:
        start = jt.zeros(self.value.shape, self.value.dtype)
        return jt.scan(lambda _, row: self.output(*row), tuple(stacks), initializer=start)

    def with_moved(self, values: Any) -> list[Any]:
        operands: list[Any] = list(self.operands)
        for i, value in zip(self.wrt, values, strict=True):
            operands[i] = value
        return operands


def close(found: Any, expected: Any) -> None:
    size = np.max(np.abs(expected[np.isfinite(expected)]), initial=0.0) if expected.dtype.kind in "fc" else 0
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-8, atol=1e-8 * (size + 1e-3))


def check_values(case: Case) -> None:
    close(jt.function(case.output)(*case.operands), case.value)
    close(np.asarray(jt.vmap(case.output)(*case.stacks))[2], case.value)
    close(np.asarray(jt.function(case.scanned)(*case.stacks))[1], case.value)


def check_derivatives(case: Case) -> None:
    """Compare the gradient by the tape with those in other contexts, and with forward mode."""
    options = {"argnums": case.wrt, "unconnected_gradients": "zero"}

    def gradients(function: Callable[..., Any]) -> Callable[..., Any]:
        return jt.grad(function, **options)

    tensors = [jt.constant(x) for x in case.operands]
    with jt.GradientTape() as tape:
        for i in case.wrt:
            tape.watch(tensors[i])
        loss = case.loss(*tensors)
    found = tape.gradient(loss, [tensors[i] for i in case.wrt], unconnected_gradients="zero")
    expected = [np.asarray(g) for g in found]
    slope = sum(float(np.sum(g * d)) for g, d in zip(expected, case.directions, strict=True))

    def repeated(*operands: Any) -> Any:
        start = jt.constant(0.0, jt.float64)
        return jt.fori_loop(0, 2, lambda i, total: total + case.loss(*operands), start)

    in_function = jt.function(gradients(case.loss))(*case.operands)
    in_loop = jt.function(gradients(repeated))(*case.operands)
    in_map = jt.vmap(gradients(case.loss))(*case.stacks)
    in_scan = gradients(lambda *stacks: jt.reduce_sum(case.scanned(*stacks) * case.weight))(*case.stacks)
    jacobians = jt.jacobian(case.output, **options)(*case.operands)
    for k, g in enumerate(expected):
        close(in_function[k], g)
        close(in_loop[k], 2 * g)
        close(np.asarray(in_map[k])[1], g)
        close(np.asarray(in_scan[k])[1], g)
        rows = np.asarray(jacobians[k]).reshape(case.weight.size, g.size)
        close((case.weight.reshape(-1) @ rows).reshape(g.shape), g)
    primals = [case.operands[i] for i in case.wrt]
    tangent = jt.jvp(
        lambda *values: case.loss(*case.with_moved(values)),
        primals,
        case.directions,
        unconnected_gradients="zero",
    )[1]
    close(tangent, np.asarray(slope))


def check_second_order(case: Case) -> None:
    """Compare forward over reverse mode with reverse over reverse mode, in one direction."""
    options = {"argnums": tuple(range(len(case.wrt))), "unconnected_gradients": "zero"}

    def slope(*values: Any) -> Any:
        found = jt.grad(lambda *moved: case.loss(*case.with_moved(moved)), **options)(*values)
        return sum(jt.reduce_sum(g * d) for g, d in zip(found, case.directions, strict=True))

    primals = [case.operands[i] for i in case.wrt]
    forward = jt.jvp(slope, primals, case.directions, unconnected_gradients="zero")[1]
    found = jt.grad(slope, **options)(*primals)
    reverse = sum(float(np.sum(np.asarray(g) * d)) for g, d in zip(found, case.directions, strict=True))
    np.testing.assert_allclose(float(forward), reverse, rtol=1e-8, atol=1e-8)


def check(row: Any, seed: int = 1) -> None:
    case = Case(row, seed)
    check_values(case)
    if case.wrt:
        check_derivatives(case)
        if row.order > 1:
            check_second_order(case)


@pytest.mark.parametrize("row", ROWS[::STRIDE], ids=str)
def test_the_same_numbers_in_every_context(row: Any) -> None:
    check(row)


if __name__ == "__main__":
    for number, each in enumerate(ROWS):
        if each.name not in NOT_FOR_TENSORS:
            try:
                check(each, number)
            except Exception as error:
                print(each.name, type(error).__name__, str(error)[:500])
