"""Broadcasts in loops written as vectors: they are made once, before the loop."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from host_schedules import schedule
from jittape.compile.cache.emit_kernel import definition_of, emit_module
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.compile.kernels.loop import vectorize
from jittape.compile.kernels.loop.vectorize import cost_of_innermost
from jittape.compile.llvm import target
from jittape.compile.schedule.steps import KernelStep
from jittape.core.interpret import interpret
from jittape.core.tuning import tuning
from jittape.primitives.broadcast import broadcast_to_op
from jittape.primitives.elementwise.arithmetic import multiply, subtract, zero_dominant_multiply
from jittape.primitives.elementwise.exponential import exp, log1p
from jittape.primitives.elementwise.hyperbolic import tanh
from programs import compiled, program_of

Array = np.ndarray[Any, Any]


def scaled(x: Any, y: Any) -> Any:
    """Multiply rows with a number each, where that is not zero."""
    return subtract(zero_dominant_multiply(broadcast_to_op.bind(y, shape=x.shape), multiply(x, x)), x)


def heavy(x: Any, y: Any) -> Any:
    return exp(tanh(log1p(scaled(x, y))))


def operands(n: int) -> tuple[Array, Array]:
    return np.linspace(-1.0, 1.0, 3 * n).reshape(3, n), np.array([[2.0], [0.0], [-1.0]])


def whole_vector_loop(function: Any) -> tuple[LoopKernel, str]:
    """Return the kernel of `function` and the LLVM IR of the body of its loop over whole vectors."""
    steps = schedule(program_of(function, *operands(100))).steps
    (kernel,) = [s.kernel for s in steps if isinstance(s, KernelStep) and isinstance(s.kernel, LoopKernel)]
    text = target.module_text(emit_module([definition_of(kernel)])).text
    bodies = re.findall(r"^\S*for\.body\S*:\n(.*?)^\S*for\.end\S*:", text, re.DOTALL | re.MULTILINE)
    return kernel, bodies[0]


@pytest.mark.parametrize(("function", "light"), [(scaled, True), (heavy, False)], ids=["light", "heavy"])
def test_light_loops_find_broadcasts_made(
    function: Any, light: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectorize, "_has_masks", lambda: True)
    kernel, body = whole_vector_loop(function)
    assert (cost_of_innermost(kernel) <= tuning.hoisted_loop_cost) == light
    assert ("shufflevector" not in body) == light
    assert ("fcmp une" not in body) == light


@pytest.mark.parametrize("n", [0, 1, 7, 8, 31, 32, 33, 100, 1000])
@pytest.mark.parametrize("function", [scaled, heavy])
def test_results_do_not_change(function: Any, n: int) -> None:
    x, y = operands(n)
    program = program_of(function, x, y)
    (found,), (expected,) = compiled(program, [x, y]), interpret(program, [x, y])
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=0)
