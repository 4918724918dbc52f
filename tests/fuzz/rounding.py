"""How far rounding may carry the results of a program: what the interpreter gives when each op rounds carelessly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jittape.core.forms import Control, Reduce, runs_of
from jittape.core.interpret import run_control
from jittape.core.program import Program

SAMPLES = 8
UNITS = 8
"""Units in the last place by which an op may be off."""


def agrees(got: Any, expected: Any) -> bool:
    """Say whether results are equal but for some rounding."""
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return False
    if expected.dtype.kind not in "fc":
        return bool((got == expected).all())
    eps = np.finfo(expected.dtype).eps
    with np.errstate(all="ignore"):
        scale = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
        return np.allclose(got, expected, 1e3 * eps, 1e2 * eps * scale, equal_nan=True)


def agrees_up_to_rounding(
    got: Sequence[Any], expected: Sequence[Any], program: Program, inputs: Sequence[Any]
) -> bool:
    """Say whether results differ by no more than rounding may make of them in this very program.

    A result that careless rounding changes beyond recognition, as where a comparison goes the other way, agrees with
    anything.
    """
    if all(map(agrees, got, expected)):
        return True
    rng = np.random.default_rng(0)
    try:
        samples = [_shaken(program, inputs, rng) for _ in range(SAMPLES)]
    except IndexError:
        return True
    return all(
        _is_near(a, b, [sample[i] for sample in samples])
        for i, (a, b) in enumerate(zip(got, expected, strict=True))
    )


def _is_near(got: Any, expected: Any, samples: Sequence[Any]) -> bool:
    if agrees(got, expected):
        return True
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return False
    if expected.dtype.kind not in "fc":
        return bool(np.all((got == expected) | np.any([sample != expected for sample in samples], axis=0)))
    with np.errstate(all="ignore"):
        spread = np.max([np.abs(sample - expected) for sample in samples], axis=0)
        tolerance = 20 * (spread + spread.max())
        return bool(
            np.all((np.abs(got - expected) <= tolerance) | ~np.isfinite(tolerance) | (got == expected))
        )


def _shaken(program: Program, inputs: Sequence[Any], rng: np.random.Generator) -> list[Any]:
    """Evaluate a program with noise on the operands and the results of each op, and reductions in reverse order.

    The order decides whether a part of a product overflows, and so whether it is zero or nan.
    """

    def noisy(x: Any) -> Any:
        x = np.asarray(x)
        if x.dtype.kind not in "fc":
            return x
        return (x * (1 + UNITS * np.finfo(x.dtype).eps * rng.uniform(-1, 1, x.shape))).astype(x.dtype)

    values = dict(zip(program.inputs, inputs, strict=True))
    runs = runs_of(program.ops)
    with np.errstate(all="ignore"):
        for op in program.ops:
            run = runs.get(op.out, (op,))
            operands = [noisy(values[slot]) for slot in op.args]
            if isinstance(op.primitive.lowering, Control):
                made = run_control(program, run, operands) if op is run[0] else []
            else:
                if isinstance(op.primitive.lowering, Reduce):
                    operands = [np.flip(x, dict(op.params)["axes"]) for x in operands]
                made = [op.primitive.impl(*operands, **dict(op.params))]
            values.update({one.out: noisy(value) for one, value in zip(run, made, strict=False)})
    return [np.asarray(values[slot]) for slot in program.outputs]
