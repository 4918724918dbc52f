"""Steps with one slow line each, marked with ``# slow``: a profile must name the line on its first screen."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import jittape as jt

_rng = np.random.default_rng(0)
ROWS = _rng.normal(size=(1000, 300)).astype(np.float32)
SHAPES = [(1000,), (2, 500), (500, 2), (4, 250), (2, 2, 250), (5, 200), (200, 5), (2, 2, 2, 125)]


def python_loop(w: Any, step: int) -> Any:
    total = sum(math.sqrt(i) for i in range(200_000))  # slow
    return jt.reduce_sum(jt.square(ROWS[:9, :5] @ w)) + 0.0 * total


def numpy_step(w: Any, step: int) -> Any:
    h = ROWS[:, :5] @ w
    order = jt.sort(jt.reshape(jt.tanh(x() * w[0, 0]), [-1]))  # slow
    return jt.reduce_sum(jt.square(h)) + order[0]


def changing_shape(w: Any, step: int) -> Any:
    part = jt.constant(ROWS[:, 0].reshape(SHAPES[step % len(SHAPES)]))
    h = jt.tanh(part * w[0, 0])  # slow
    return jt.reduce_sum(jt.square(h))


def look_inside_the_tape(w: Any, step: int) -> Any:
    h = jt.tanh(x() * w[0, 0])
    if float(jt.reduce_max(h)) > 1e9:  # slow
        raise ValueError
    return jt.reduce_mean(h)


def huge_constant(w: Any, step: int) -> Any:
    h = jt.reduce_mean(ROWS, axis=1)  # slow
    return jt.reduce_sum(h * w[0, 0])


def accidental_float64(w: Any, step: int) -> Any:
    h = x() * w[0, 0]
    h = jt.tanh(jt.cast(h, jt.float64) * np.full(300, 0.5))  # slow
    return jt.cast(jt.reduce_sum(h), jt.float32)


def gradient_of_a_column(w: Any, step: int) -> Any:
    h = table()[:, 3]  # slow
    return jt.reduce_sum(jt.square(h)) + w[0, 0]


def transposed_copy(w: Any, step: int) -> Any:
    h = jt.reshape(jt.transpose(x()), [2000, 150])  # slow
    return jt.reduce_sum(jt.square(jt.reduce_mean(jt.cumsum(h, axis=0), axis=0))) * w[0, 0]


def recompile_at_each_step(w: Any, step: int) -> Any:
    h = (ROWS[:9, :5] @ w) ** (step + 4)  # slow
    return jt.reduce_mean(h)


def nan_check(w: Any, step: int) -> Any:
    h = jt.tanh(x() * w[0, 0])
    h = jt.debugging.check_numerics(h, "h")  # slow
    return jt.reduce_mean(h)


_tensors: dict[str, Any] = {}


def x() -> Any:
    """A constant that is converted once."""
    return _tensors.setdefault("x", jt.constant(ROWS))


def table() -> Any:
    """A Variable that is made once."""
    return _tensors.setdefault("table", jt.Variable(ROWS))


PROGRAMS = {
    python_loop: "Python",
    numpy_step: "runs with NumPy: `argsort`",
    changing_shape: "new programs began here",
    look_inside_the_tape: "reads a value while a tape records",
    huge_constant: "arrays of NumPy into tensors",
    accidental_float64: "casts float32 to float64",
    gradient_of_a_column: "fills 1.2 MB with zeros for a part of 4 kB",
    transposed_copy: "a transposed copy of 1.2 MB",
    recompile_at_each_step: "exponent of `integer_power` changed from",
    nan_check: "runs with NumPy: `check_numerics`",
}
"""The programs, and a text that must stand at the line."""


def run(program: Any, steps: int) -> None:
    """Train with the program."""
    w = jt.Variable(np.full((5, 1), 0.1, np.float32))
    variables = [w, table()] if program is gradient_of_a_column else [w]
    for step in range(steps):
        with jt.GradientTape() as tape:
            loss = program(w, step)
        gradients = tape.gradient(loss, variables)
        for variable, gradient in zip(variables, gradients, strict=True):
            variable.assign_sub(1e-4 * gradient)
    float(loss)
