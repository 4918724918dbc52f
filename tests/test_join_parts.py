"""Sums of separate parts of an array become concatenations, which one loop writes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jittape as jt
from host_schedules import schedule
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.compile.kernels.loop.vectorize import _has_masks, lanes_in, strided_loads, strided_stores
from jittape.compile.rewrite.bind_constants import bind_constants
from jittape.compile.rewrite.join_parts import join_parts
from jittape.compile.schedule.steps import KernelStep
from jittape.core.interpret import interpret
from jittape.core.program import Program
from jittape.core.simplify import simplify
from jittape.primitives.shape.views import concat_op

ROWS = 400
POINTS = np.random.default_rng(0).uniform(0.5, 1.5, size=(ROWS, 5))


def column(x: Any, i: int) -> Any:
    return jt.unstack(x, axis=1)[i]


def heavy(a: Any, b: Any) -> Any:
    return jt.tanh(jt.sin(a) * jt.exp(b)) + jt.math.log(b)


FUNCTIONS: dict[str, tuple[Any, int]] = {
    "all columns": (lambda x: heavy(*jt.unstack(x, axis=1)[:2]) + sum(jt.unstack(x, axis=1)[2:]) ** 2, 5),
    "gaps": (lambda x: heavy(column(x, 1), column(x, 3)), 5),
    "last columns": (lambda x: column(x, 3) * jt.sin(column(x, 4)), 3),
    "two columns wide": (lambda x: jt.sin(x[:, :2]) * jt.exp(x[:, 2:4]), 3),
    "wide parts": (lambda x: jt.split(x, [200, 200], 0)[0] * jt.split(x, [200, 200], 0)[1], 2),
    "wide parts of different sizes": (lambda x: jt.sin(x[:50]) * jt.reduce_sum(x[50:], 0), 2),
    "rows": (lambda x: heavy(*jt.unstack(jt.transpose(x), axis=0)[:2]), 3),
}


def gradient_of(f: Any, x: np.ndarray[Any, Any]) -> Program:
    """Return the program of the gradient of the sum of ``f(x)``."""
    concrete = jt.function(jt.grad(lambda x: jt.reduce_sum(f(x)))).get_concrete_function(x)
    trace: Any = concrete._trace
    return simplify(bind_constants(trace.program, trace.constants()))


def joined(program: Program) -> list[Any]:
    return [op for op in program.ops if op.primitive is concat_op]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_joined_program_has_the_same_values(name: str) -> None:
    f, operands = FUNCTIONS[name]
    program = gradient_of(f, POINTS)
    rewritten = join_parts(program)
    assert [len(op.args) for op in joined(rewritten)] == [operands]
    assert not joined(program)
    inputs = [POINTS, *[0] * (len(program.inputs) - 1)]  # starts of slices, which are not read
    for before, after in zip(interpret(program, inputs), interpret(rewritten, inputs), strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-13)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: jt.sin(x[1:]) * x[:-1], POINTS),  # overlapping
        (lambda x: column(x, 0) * jt.reduce_sum(x, 1), POINTS),  # one part is everything
        (lambda x: jt.unstack(x, axis=1)[0][:, None] * jt.unstack(x, axis=0)[0], POINTS),  # along two axes
        (lambda x: column(x, 1) * column(x[:, 1:], 1) + column(x[:, 2:], 0), POINTS),  # one part twice
    ],
)
def test_other_sums_stay(f: Any, x: np.ndarray[Any, Any]) -> None:
    program = gradient_of(f, x)
    assert not joined(join_parts(program))


def test_gates_are_computed_once() -> None:
    """The gradient by the stacked gates of an LSTM is one loop over a gate, without masks."""

    def cell(z: Any) -> Any:
        i, f, g, o = jt.split(z, 4, axis=1)
        return jt.sigmoid(o) * jt.tanh(jt.sigmoid(f) + jt.sigmoid(i) * jt.tanh(g))

    steps = schedule(gradient_of(cell, np.ones((16, 128)))).steps
    kernels = [step.kernel for step in steps if isinstance(step, KernelStep)]
    assert [str(kernel.listing).count(" where ") for kernel in kernels] == [0]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("rows", [300, 1003])
def test_gradient_by_columns_is_one_loop(rows: int, dtype: str) -> None:
    """One kernel reads and writes the columns in vectors, with a part of a vector at the end."""
    x = np.random.default_rng(1).uniform(0.5, 1.5, size=(rows, 5)).astype(dtype)

    def f(x: Any) -> Any:
        a, b, c, d, e = (x[:, i] for i in range(5))
        return jt.reduce_sum(heavy(a * c, b + d) * jt.sin(e))

    program = gradient_of(f, x)
    kernels = [step.kernel for step in schedule(program).steps if isinstance(step, KernelStep)]
    (kernel,) = [kernel for kernel in kernels if isinstance(kernel, LoopKernel)]
    assert len(strided_loads(kernel)) == len(strided_stores(kernel)) == 5
    if _has_masks():
        assert lanes_in(kernel) is not None
    by_rows = jt.grad(lambda columns: f(jt.transpose(columns)))(x.T.copy())
    found = jt.function(jt.grad(f))(x)
    rtol = {"float64": 1e-12, "float32": 1e-5, "float16": 1e-2}[dtype]
    np.testing.assert_allclose(np.asarray(found), by_rows.T, rtol=rtol, atol=rtol)


def test_a_sum_has_more_terms_than_python_has_frames() -> None:
    def f(x: Any, places: Any) -> Any:
        total = jt.gather(x, [3])
        for k in range(1200):
            total = total + x[k % 5 : k % 5 + 1] * jt.gather(x, places)
        return jt.reduce_sum(total)

    x, place = np.arange(1.0, 6.0), np.array([2])
    gradient = jt.function(jt.grad(f))(x, place)
    np.testing.assert_allclose(gradient.numpy(), [720, 720, 720 + 240 * 15, 721, 720], rtol=1e-13)
