"""Complex numbers in compiled loops: one kernel, with NumPy's results at all edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt
from host_schedules import schedule
from jittape.compile.analysis.cost import has_formula
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.compile.kernels.loop import vectorize
from jittape.core.interpret import interpret
from jittape.core.simplify import simplify
from jittape.primitives.elementwise import arithmetic as ar
from jittape.primitives.elementwise import bits as bi
from jittape.primitives.elementwise import comparison as cm
from jittape.primitives.elementwise import complex_numbers as cx
from jittape.primitives.elementwise import division as dv
from jittape.primitives.elementwise import exponential as ex
from jittape.primitives.elementwise import hyperbolic as hy
from jittape.primitives.elementwise import piecewise as pw
from jittape.primitives.elementwise import powers as po
from jittape.primitives.elementwise import trigonometric as tr
from jittape.primitives.reduce.cumulative import cumsum
from jittape.primitives.reduce.reductions import reduce_mean, reduce_prod, reduce_sum
from jittape.primitives.shape.views import flipped, sliced
from programs import compiled, program_of

Array = np.ndarray[Any, Any]
DTYPES = ("complex128", "complex64")
PARTS = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -3.0, 1e-30, -1e20, 700.0, 90.0]


def edges(dtype: str) -> Array:
    """Return all pairs of the `PARTS`."""
    found = np.empty((len(PARTS), len(PARTS)), dtype)
    found.real, found.imag = np.meshgrid(PARTS, PARTS)
    return found.ravel()


def random(dtype: str, n: int = 1001) -> Array:
    """Return numbers of many sizes; `n` does not divide into whole vectors."""
    generator = np.random.default_rng(0)
    real, imaginary = generator.standard_normal((2, n)) * np.exp(3 * generator.standard_normal((2, n)))
    return (real + 1j * imaginary).astype(dtype)


def both(function: Callable[..., Any], *operands: Array) -> tuple[Array, Array]:
    """Return the compiled result, from loop kernels alone, and the interpreted one."""
    program = simplify(program_of(function, *operands))
    assert all(isinstance(step.kernel, LoopKernel) for step in schedule(program).steps)
    with np.errstate(all="ignore"):
        (expected,) = interpret(program, operands)
        (got,) = compiled(program, operands)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    return got, expected


def assert_near(got: Array, expected: Array) -> None:
    """Require the same infinities and nans in both parts, and otherwise 8 units in the last place of the modulus."""
    if got.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, expected)
        return
    with np.errstate(all="ignore"):
        size = np.where(np.isfinite(np.abs(expected)), np.abs(expected), 0)
    for got_part, part in ((got.real, expected.real), (got.imag, expected.imag)):
        finite = np.isfinite(part)
        np.testing.assert_array_equal(got_part[~finite], part[~finite])
        limits = np.finfo(got_part.dtype)
        allowed = 8 * limits.eps * np.maximum(size, np.abs(part)) + limits.tiny
        assert (np.abs(got_part[finite] - part[finite]) <= allowed[finite]).all()


UNARY: dict[str, Callable[[Any], Any]] = {
    "exp": ex.exp,
    "log": ex.log,
    "sqrt": ex.sqrt,
    "sin": tr.sin,
    "cos": tr.cos,
    "tan": tr.tan,
    "sinh": hy.sinh,
    "cosh": hy.cosh,
    "tanh": hy.tanh,
    "abs": pw.absolute,
    "sign": pw.sign,
    "reciprocal": dv.reciprocal,
    "angle": cx.angle,
    "conj": cx.conj,
    "real": cx.real,
    "imag": cx.imag,
    "square": ar.square,
    "negative": ar.negative,
    "is_nan": bi.is_nan,
    "is_inf": bi.is_inf,
    "is_finite": bi.is_finite,
    "to bool": lambda z: cx.cast(z, bool),
    "to int32": lambda z: cx.cast(z, "int32"),
    "to float64": lambda z: cx.cast(z, "float64"),
    "to float16": lambda z: cx.cast(z, "float16"),
    "to complex64": lambda z: cx.cast(ar.negative(z), "complex64"),
    "to complex128": lambda z: cx.cast(ar.negative(z), "complex128"),
    "from parts": lambda z: cx.complex(cx.imag(z), cx.real(z)),
    "from real": lambda z: cx.cast(cx.imag(z), z.dtype),
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": ar.add,
    "subtract": ar.subtract,
    "multiply": ar.multiply,
    "divide": dv.divide,
    "divide_no_nan": dv.divide_no_nan,
    "zero_dominant_multiply": ar.zero_dominant_multiply,
    "equal": cm.equal,
    "not_equal": cm.not_equal,
    "logical_and": cm.logical_and,
    "where": lambda x, y: cm.where(cm.equal(x, y), x, ar.multiply(y, 2.0)),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_functions(name: str, dtype: str) -> None:
    with np.errstate(over="ignore"):
        for z in (edges(dtype), random(dtype), random(dtype, 5).reshape(5), random(dtype, 1).reshape(())):
            assert_near(*both(UNARY[name], z))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("exponent", [-3, -1, 0, 1, 3, 5, 16])
def test_powers(exponent: int, dtype: str) -> None:
    """Products that overflow depend on fused multiply-adds, so finite parts are moderate."""
    with np.errstate(over="ignore"):
        for z in (edges(dtype), random(dtype)):
            sizes = np.abs(z.real), np.abs(z.imag)
            moderate = np.all([~(size > 50) | np.isinf(size) for size in sizes], 0)
            assert_near(*both(lambda z: po.pow(z, exponent), z[moderate]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_operands(name: str, dtype: str) -> None:
    with np.errstate(over="ignore"):
        x, y = (a.ravel() for a in np.meshgrid(edges(dtype), edges(dtype)))
    assert_near(*both(BINARY[name], x, y))
    x = random(dtype)
    assert_near(*both(BINARY[name], x, x[::-1].copy()))


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_logarithm_near_the_unit_circle(dtype: str) -> None:
    angle = np.linspace(0, 6, 999)
    z = (np.exp(1j * angle) * (1 + np.linspace(-1e-6, 1e-6, 999))).astype(dtype)
    got, expected = both(ex.log, z)
    assert_near(got, expected)
    wide = z.astype(np.clongdouble)
    exact = 0.5 * np.log1p((np.abs(wide.real) - 1) * (np.abs(wide.real) + 1) + wide.imag**2)
    np.testing.assert_allclose(got.real, exact.astype(float), rtol=1e-6, atol=3e-16)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 700), (700, 3), (2, 5000), (2500, 2), (7,)])
def test_reductions(dtype: str, shape: tuple[int, ...]) -> None:
    z = random(dtype, int(np.prod(shape))).reshape(shape)
    for axis in (None, *range(len(shape))):
        for function in (reduce_sum, reduce_mean):
            got, expected = both(lambda z, f=function, a=axis: f(z, a), z)
            scale = np.sum(np.abs(z), axis=axis).max()
            np.testing.assert_allclose(got, expected, atol=50 * np.finfo(dtype).eps * scale)
    unit = (z / np.abs(z)).astype(dtype)
    got, expected = both(lambda z: reduce_prod(z, 0), unit)
    np.testing.assert_allclose(got, expected, rtol=3000 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
def test_moved_and_masked_elements(dtype: str) -> None:
    z = random(dtype, 60).reshape(5, 12)
    for function in (
        lambda z: flipped(ar.multiply(z, 2.0), (1,)),
        lambda z: jt.pad(ar.multiply(z, 1j), [[1, 2], [0, 3]]),
        lambda z: jt.transpose(ar.add(z, 1.0)),
        lambda z: ar.subtract(sliced(z, 1, 1, 11), sliced(z, 1, 0, 11)),
        lambda z: jt.concat([ar.multiply(z, 3.0), z], 1),
        lambda z: ar.multiply(z, jt.broadcast_to(sliced(z, 0, 0, 1), (5, 12))),
    ):
        assert_near(*both(function, z))
    got, expected = both(lambda z: cumsum(z, 1), z)
    np.testing.assert_allclose(got, expected, rtol=100 * np.finfo(dtype).eps)


def test_a_chain_and_its_gradient_are_one_kernel() -> None:
    z, w = np.exp(1j * np.arange(500.0)), np.exp(2j * np.arange(500.0))

    def loss(z: Any) -> Any:
        return jt.reduce_sum(jt.abs(jt.exp(z * 0.01) * w - z / (w + 2.0)))

    for _ in range(2):
        gradient = jt.grad(loss)(z)
    (only,) = jt.explain().steps
    assert only.title.startswith("kernel ")
    step = 1e-4 * np.exp(0.3j)
    moved = np.array([float(loss(z + s * step * (np.arange(500) == 7))) for s in (1, -1)])
    np.testing.assert_allclose(
        (moved[0] - moved[1]) / 2e-4, np.real(np.conj(gradient[7]) * np.exp(0.3j)), rtol=1e-6
    )


def test_arrays_that_are_aligned_for_their_parts_only() -> None:
    """The 16 bytes of a complex128 may begin at any multiple of 8."""
    memory = np.zeros(2 * 100 + 1)
    for start in (0, 1):
        z = memory[start : start + 200].view(np.complex128)
        z[:] = random("complex128", 100)
        doubled = jt.function(lambda z: z * 2.0)
        for _ in range(3):
            np.testing.assert_array_equal(doubled(z).numpy(), z * 2)


def test_loops_carry_complex_numbers() -> None:
    c = np.array([0.1 + 0.2j, -0.5 + 0.3j])

    @jt.function
    def orbit(c: Any) -> Any:
        return jt.fori_loop(0, 5, lambda i, z: z * z + c, c)

    expected = c
    for _ in range(5):
        expected = expected * expected + c
    for _ in range(3):
        np.testing.assert_allclose(orbit(c).numpy(), expected, rtol=1e-14)


def test_a_loop_is_written_as_vectors() -> None:
    """Where the processor has masks, nothing about complex numbers keeps a loop from being vectors."""
    (step,) = schedule(simplify(program_of(lambda z: ar.multiply(ex.exp(z), z), random("complex64")))).steps
    assert isinstance(step.kernel, LoopKernel)
    assert vectorize.obstacle_to_lanes(step.kernel) in (None, "the processor cannot mask vectors")


def test_functions_without_a_formula_stay_with_numpy() -> None:
    complex128 = np.dtype(complex)
    assert has_formula(ex.exp_op, (), (complex128, complex128))
    assert not has_formula(tr.atan_op, (), (complex128, complex128))
    assert has_formula(tr.atan_op, (), (np.dtype(float), np.dtype(float)))
