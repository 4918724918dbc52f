"""Every primitive against independent expressions, differences and the compiled kernels, by one table of rows."""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import jittape.primitives
import primitive_table
import primitive_table_bessel
import primitive_table_complex
import primitive_table_gamma
import primitive_table_lapack
import primitive_table_order
import primitive_table_random
import primitive_table_reduce
import primitive_table_segments
import primitive_table_shape
import primitive_table_signal
import primitive_table_solves
import primitive_table_spectra
import primitive_table_systems
from jittape.core.forms import Map
from jittape.core.interpret import interpret
from jittape.core.primitive import Primitive
from jittape.core.program import Program
from jittape.core.simplify import simplify
from jittape.primitives.elementwise import trigonometric
from jittape.primitives.elementwise.arithmetic import negative, zero_dominant_multiply
from primitive_table import Row
from programs import compiled, gradient_program, program_of

Array = np.ndarray[Any, Any]

ROWS: tuple[Row, ...] = (
    *primitive_table.ROWS,
    *primitive_table_reduce.ROWS,
    *primitive_table_shape.ROWS,
    *primitive_table_order.ROWS,
    *primitive_table_bessel.ROWS,
    *primitive_table_solves.ROWS,
    *primitive_table_systems.ROWS,
    *primitive_table_complex.ROWS,
    *primitive_table_signal.ROWS,
    *primitive_table_spectra.ROWS,
    *primitive_table_segments.ROWS,
    *primitive_table_random.ROWS,
    *primitive_table_gamma.ROWS,
    *primitive_table_lapack.ROWS,
)
DIFFERENTIABLE = [row for row in ROWS if row.wrt != ()]

ULPS = {"float64": 1, "float32": 2.0**29, "float16": 2.0**42}
"""How much coarser a dtype is than float64."""


def rng() -> np.random.Generator:
    return np.random.default_rng(20)


def cast(operands: tuple[Any, ...], dtype: str) -> tuple[Array, ...]:
    """Return floating operands in `dtype`, others unchanged."""
    arrays = [np.asarray(x) for x in operands]
    return tuple(x.astype(dtype) if x.dtype.kind == "f" else x for x in arrays)


def run(program: Program, operands: tuple[Array, ...]) -> list[Array]:
    return interpret(simplify(program), operands)


# ---- values ----------------------------------------------------------------------------------------------------------


def expected_value(row: Row, operands: tuple[Array, ...], dtype: str) -> Array:
    """Return the reference, computed in float64 and rounded."""
    assert row.reference is not None
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the mean of no elements
        wide = row.reference(*cast(operands, "float64"))
        wide = np.asarray(wide)
        is_float = wide.dtype.kind == "f" and any(x.dtype.kind == "f" for x in operands)
        return wide.astype(dtype) if is_float else wide


def assert_value(row: Row, operands: tuple[Any, ...], dtype: str) -> None:
    operands = cast(operands, dtype)
    (got,) = run(program_of(row.function, *operands), operands)[:1]
    expected = expected_value(row, operands, dtype)
    assert got.shape == expected.shape
    if not row.name.startswith("cast"):
        assert got.dtype == expected.dtype
    rtol = row.rtol * ULPS[dtype] * 4 if dtype != "float64" else row.rtol
    atol = {"float64": 1e-14, "float32": 1e-6, "float16": 4e-3}[dtype]
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=atol)


@pytest.mark.parametrize(
    ("row", "dtype"), [(row, dtype) for row in ROWS if row.reference for dtype in row.dtypes], ids=str
)
def test_value(row: Row, dtype: str) -> None:
    assert_value(row, row.sample(rng()), dtype)
    for operands in row.edges:
        assert_value(row, operands, dtype)


# ---- gradients -------------------------------------------------------------------------------------------------------


def sources(row: Row, operands: tuple[Array, ...]) -> tuple[int, ...]:
    if row.wrt is not None:
        return row.wrt
    return tuple(i for i, x in enumerate(operands) if x.dtype.kind == "f")


def assert_gradient(program: Program, operands: tuple[Array, ...], wrt: tuple[int, ...], order: int) -> None:
    """Compare the gradient of a weighted sum of the first output with differences, then the gradient of that."""
    generator = rng()
    (value,) = run(program, operands)[:1]
    weight = generator.standard_normal(value.shape)
    derived = gradient_program(program, wrt)
    found = run(derived, (*operands, weight))
    directions = [generator.standard_normal(operands[i].shape) for i in wrt]

    def along(step: float) -> float:
        moved = list(operands)
        for i, direction in zip(wrt, directions, strict=True):
            moved[i] = operands[i] + step * direction
        return float(np.sum(weight * run(program, tuple(moved))[0]))

    got = sum(float(np.sum(g * d)) for g, d in zip(found, directions, strict=True))
    scale = sum(float(np.sum(np.abs(g * d))) for g, d in zip(found, directions, strict=True))
    assert got == pytest.approx(difference(along), rel=1e-7, abs=1e-7 * (scale + 1))
    for i, g in zip(wrt, found, strict=True):
        assert (g.shape, g.dtype) == (operands[i].shape, operands[i].dtype)
    if order > 1:
        # One operand after the other: a gradient program has one target.
        for output in range(len(wrt)):
            target = replace(derived, outputs=(derived.outputs[output],))
            assert_gradient(target, (*operands, weight), (*wrt, len(operands)), order - 1)


def difference(function: Any, step: float = 1e-3) -> float:
    """Return the derivative at 0 by central differences of fourth order."""
    near = function(step) - function(-step)
    far = function(2 * step) - function(-2 * step)
    return (8 * near - far) / (12 * step)


@pytest.mark.parametrize("row", DIFFERENTIABLE, ids=str)
def test_gradient_against_differences(row: Row) -> None:
    operands = cast(row.sample(rng()), "float64")
    wrt = sources(row, operands)
    if wrt:
        assert_gradient(program_of(row.function, *operands), operands, wrt, row.order)


@pytest.mark.parametrize("row", [row for row in ROWS if row.analytic], ids=str)
def test_gradient_against_complex_step(row: Row) -> None:
    assert row.reference is not None
    operands = cast(row.sample(rng()), "float64")
    program = program_of(row.function, *operands)
    weight = rng().standard_normal(run(program, operands)[0].shape)
    found = run(gradient_program(program, sources(row, operands)), (*operands, weight))
    for i, g in enumerate(found):
        direction = rng().standard_normal(operands[i].shape)
        moved = [x + 0j for x in operands]
        moved[i] = moved[i] + 1e-200j * direction
        expected = np.sum(weight * row.reference(*moved).imag) / 1e-200
        assert np.sum(g * direction) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("row", "dtype"),
    [(row, dtype) for row in DIFFERENTIABLE for dtype in row.dtypes if dtype != "float64"],
    ids=str,
)
def test_gradient_has_the_dtype_of_its_operand(row: Row, dtype: str) -> None:
    operands = cast(row.sample(rng()), dtype)
    wrt = sources(row, operands)
    program = program_of(row.function, *operands)
    derived = gradient_program(program, wrt)
    assert [aval.dtype for aval in derived.output_avals()] == [operands[i].dtype for i in wrt]


wrong_sine = Primitive(
    "wrong_sine",
    abstract_eval=trigonometric.sin_op.abstract_eval,
    impl=np.sin,
    vjp=(lambda g, out, x: zero_dominant_multiply(g, negative(trigonometric.cos(x))),),
    lowering=Map(lambda m, x: m.sin(x)),
)


def test_the_comparison_with_differences_sees_a_wrong_rule() -> None:
    operands = (np.linspace(-1, 1, 5),)
    assert_gradient(program_of(trigonometric.sin, *operands), operands, (0,), 2)
    with pytest.raises(AssertionError):
        assert_gradient(program_of(wrong_sine, *operands), operands, (0,), 1)


def test_the_comparison_of_values_sees_a_wrong_value() -> None:
    row = next(row for row in ROWS if row.name == "sin")
    with pytest.raises(AssertionError):
        assert_value(replace(row, reference=np.cos), row.sample(rng()), "float64")


# ---- compiled --------------------------------------------------------------------------------------------------------


def value_and_gradient(row: Row, operands: tuple[Array, ...]) -> Program:
    """Return all outputs of the row's function, and the gradients of the first output."""
    program = program_of(row.function, *operands)
    wrt = sources(row, operands)
    if not wrt:
        return simplify(program)
    derived = gradient_program(program, wrt)
    return simplify(replace(derived, outputs=(*program.outputs, *derived.outputs)))


def assert_same(got: Array, expected: Array) -> None:
    """Require the same infinities and nans, and differences of a few units in the last place of the largest number."""
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    if got.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, expected)
        return
    finite = np.abs(expected[np.isfinite(expected)])
    resolution = 64 * np.finfo(got.dtype).eps
    np.testing.assert_allclose(
        got, expected, rtol=resolution, atol=resolution * min(1, finite.max(initial=0))
    )


def assert_compiled(row: Row, operands: tuple[Any, ...], dtype: str) -> None:
    operands = cast(operands, dtype)
    program = value_and_gradient(row, operands)
    if len(program.inputs) > len(operands):
        seed = program.avals[program.inputs[-1]]
        operands = (*operands, rng().standard_normal(seed.shape).astype(seed.dtype))
    expected = interpret(program, operands)
    for got, wanted in zip(compiled(program, operands), expected, strict=True):
        assert_same(got, wanted)


@pytest.mark.parametrize(("row", "dtype"), [(row, dtype) for row in ROWS for dtype in row.dtypes], ids=str)
def test_compiled_against_interpreted(row: Row, dtype: str) -> None:
    assert_compiled(row, row.sample(rng()), dtype)
    for operands in row.edges:
        assert_compiled(row, operands, dtype)


# ---- every primitive has a row ---------------------------------------------------------------------------------------


def registered() -> dict[str, Primitive]:
    """Return all primitives of the package by name."""
    found = {}
    for info in pkgutil.walk_packages(jittape.primitives.__path__, "jittape.primitives."):
        module = importlib.import_module(info.name)
        for value in vars(module).values():
            if isinstance(value, Primitive):
                found[value.name] = value
    return found


def test_names_of_primitives_are_unique() -> None:
    primitives = set()
    for info in pkgutil.walk_packages(jittape.primitives.__path__, "jittape.primitives."):
        module = importlib.import_module(info.name)
        primitives |= {value for value in vars(module).values() if isinstance(value, Primitive)}
    assert len(primitives) == len({p.name for p in primitives})


def test_every_primitive_has_a_row() -> None:
    used = set()
    for row in ROWS:
        operands = cast(row.sample(rng()), row.dtypes[0])
        used |= {op.primitive.name for op in program_of(row.function, *operands).ops}
    # Primitives whose gradient is a Python function are tested with custom gradients. Primitives that the compiler puts
    # in the place of others are tested with these.
    wanted = {
        name
        for name, primitive in registered().items()
        if not primitive.calls_back and primitive.gradient_stops != "it is made by the compiler"
    }
    assert wanted - used == set()
