"""Programs of a numerical course give under `jittape.numpy` what they give under NumPy, and have gradients."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import jittape as jt
import jittape.numpy as jnp
from numpy_programs import PROGRAMS
from test_classic_programs import compare


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the time of compiling 40 programs."""
    monkeypatch.setattr(jt.config, "interpret", True)


def parameter_of(program: Callable[..., Any]) -> float | None:
    parameters = inspect.signature(program).parameters
    return parameters["p"].default if "p" in parameters else None


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_it_gives_under_numpy(name: str):
    program = PROGRAMS[name]
    compare(program(jnp), program(np))


@pytest.mark.parametrize("name", [name for name in PROGRAMS if parameter_of(PROGRAMS[name]) is not None])
def test_a_program_with_a_parameter_has_its_gradient(name: str):
    program, now = PROGRAMS[name], parameter_of(PROGRAMS[name])
    assert now is not None
    p = jnp.array(now)
    with jt.GradientTape() as tape:
        tape.watch(p)
        value = program(jnp, p)[0]
    gradient = float(tape.gradient(value, p))
    results = partial(program, np)
    step = 1e-5 * now
    slope = (results(now + step)[0] - results(now - step)[0]) / (2 * step)
    assert float(value) == pytest.approx(float(results(now)[0]), rel=1e-9)
    assert gradient == pytest.approx(float(slope), rel=1e-5, abs=1e-8)
    assert abs(gradient) > 1e-6


def test_arrays_of_tensors_have_the_dtypes_of_numpy():
    dtypes = ("bool", "int8", "uint64", "int64", "float32", "float64", "complex64")
    values = [np.ones((), dtype) for dtype in dtypes] + [2, 2.5, True, 1j, 2**60, -1]
    for one in values:
        for other in values:
            if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
                both = [jt.constant(v) if isinstance(v, np.ndarray) else v for v in (one, other)]
                for made in (jnp.array, jnp.asarray):
                    compare(made(both), np.array([one, other]))
                    compare(made((both, both)), np.array([[one, other]] * 2))
