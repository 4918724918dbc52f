"""Jacobians of few diagonals: only these are computed, and it is the same as computing everything."""

from __future__ import annotations

import numpy as np
import pytest

import jittape as jt
from jittape.compile.ir.instructions import Compute
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.compile.rewrite.affine_maps import AffineMap
from jittape.compile.rewrite.diagonal_op import DiagonalScatter, diagonal_scatter_op
from jittape.compile.rewrite.diagonals import scatter_diagonals
from jittape.core.interpret import interpret
from jittape.core.program import Op, Program, check
from jittape.primitives.broadcast import broadcast, sum_over
from jittape.primitives.elementwise.arithmetic import (
    add,
    multiply,
    negative,
    zero_dominant_multiply,
    zero_dominant_multiply_op,
)
from jittape.primitives.shape.creation import eye
from jittape.primitives.shape.reshaping import reshape, transpose
from jittape.primitives.shape.views import Region, concat_op, pad_op, slice_op
from programs import aval_of, compiled, program_of

N = 24


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def laid(program: Program) -> list[Op]:
    return [op for op in program.ops if op.primitive is diagonal_scatter_op]


# ---- whole Jacobians -------------------------------------------------------------------------------------------------

SPARSE = {
    "elementwise": lambda x: jt.tanh(x),
    "neighbors": lambda x: x[1:] * x[:-1],
    "stencil": lambda x: x[2:] - 2 * x[1:-1] ** 2 + jt.exp(x[:-2]),
    "flipped": lambda x: x[::-1] * x,
    "flipped part": lambda x: jt.reverse(x[2:], [0]) * x[:-2],
    "rolled": lambda x: jt.roll(x, 3, 0) * x,
    "padded": lambda x: jt.pad(x * x, [[2, 3]]),
    "where": lambda x: jt.where(x > 0, x * x, jt.exp(x)),
    "every second": lambda x: x[::2] ** 2,
    "every second, backwards": lambda x: x[::-2] ** 2 * jt.sin(x[1::2]),
    "matrix": lambda x: jt.transpose(jt.reshape(x**2, (4, 6))),
    "three dimensions": lambda x: jt.transpose(jt.reshape(x**2, (2, 3, 4)), [2, 0, 1])[1:, :, ::-1],
    "flipped matrix": lambda x: jt.reshape(x, (2, 3, 4)) * jt.reshape(x, (2, 3, 4))[::-1],
    "ones": lambda x: jt.reshape(x**2, (1, N, 1)),
    "joined": lambda x: jt.concat([x[5:] ** 2, x[:9] * 2.0, x], 0),
    "stacked": lambda x: jt.stack([x, x * x, jt.zeros_like(x)], 0),
    "rows summed": lambda x: jt.reduce_sum(jt.reshape(x**3, (6, 4)), 1),
    "rows multiplied": lambda x: jt.reduce_prod(jt.reshape(x, (12, 2)), 1),
    "outer product": lambda x: x[:, None] * x[None, :],
    "broadcast": lambda x: jt.broadcast_to(x[:6], (4, 6)) * jt.reshape(x, (4, 6)),
    "single in between": lambda x: jt.cast(jt.cast(x, "float32") ** 2, x.dtype),
    "diagonal matrix": lambda x: jt.linalg.diag(x * x),
    "quotient": lambda x: 1.0 / x,
    "zero times infinity": lambda x: jt.where(x > 0, jt.math.log(jt.sqrt(x)), 0.0),
    "before a product": lambda x: jt.linalg.matvec(rng(1).normal(size=(12, 12)), x[:12] * x[12:]),
}
FULL = {
    "running sum": lambda x: jt.cumsum(x * x),
    "softmax": lambda x: jt.nn.softmax(x),
    "softmax of rows": lambda x: jt.nn.softmax(jt.reshape(x, (4, 6))),
    "centered": lambda x: x - jt.reduce_mean(x),
    "unit length": lambda x: x / jt.sqrt(jt.reduce_sum(x * x)),
    "distances": lambda x: jt.reduce_sum((x[:, None] - x[None, :]) ** 2, 1),
    "gathered": lambda x: jt.gather(x, [1, 1, 3]) * 2.0,
}


def numbers(dtype: str, special: bool) -> np.ndarray:
    x = rng().normal(size=N)
    if special:
        x[[0, 5, 7, 20]] = [0.0, np.inf, np.nan, -np.inf]
    return x.astype(dtype)


def both_ways(derivative, x):
    """By compiled code and by NumPy; and whether diagonals were laid."""
    function = jt.function(derivative)
    got = np.asarray(function(x))
    executable = function.get_concrete_function(x)._trace.compiled
    before, jt.config.interpret = jt.config.interpret, True
    try:
        wanted = np.asarray(derivative(x))
    finally:
        jt.config.interpret = before
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    return got, wanted, bool(laid(executable.schedule.program))


def assert_close(got: np.ndarray, wanted: np.ndarray) -> None:
    tolerance = {4: 3e-4, 8: 1e-11}[got.dtype.itemsize]
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("special", [False, True], ids=["", "special"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("name", SPARSE)
def test_jacobians_of_few_diagonals(name: str, mode: str, dtype: str, special: bool) -> None:
    got, wanted, is_laid = both_ways(jt.jacobian(SPARSE[name], mode=mode), numbers(dtype, special))
    assert_close(got, wanted)
    assert is_laid or (name, mode) == ("before a product", "reverse")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("special", [False, True], ids=["", "special"])
@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("name", FULL)
def test_jacobians_that_are_full(name: str, mode: str, special: bool) -> None:
    got, wanted, _ = both_ways(jt.jacobian(FULL[name], mode=mode), numbers("float64", special))
    assert_close(got, wanted)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("special", [False, True], ids=["", "special"])
@pytest.mark.parametrize("name", [*SPARSE, *FULL])
def test_hessians(name: str, special: bool) -> None:
    f = {**SPARSE, **FULL}[name]
    got, wanted, _ = both_ways(jt.hessian(lambda x: jt.reduce_sum(jt.sin(f(x)))), numbers("float64", special))
    assert_close(got, wanted)


def test_rosenbrock_has_three_diagonals_and_two_kernels() -> None:
    def rosenbrock(x):
        return jt.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    function, x, i = jt.function(jt.hessian(rosenbrock)), rng().normal(size=100), np.arange(99)
    wanted = np.zeros((100, 100))
    wanted[i, i] = 1200 * x[:-1] ** 2 - 400 * x[1:] + 2
    wanted[i + 1, i + 1] += 200
    wanted[i, i + 1] = wanted[i + 1, i] = -400 * x[:-1]
    np.testing.assert_allclose(function(x), wanted, rtol=1e-12)
    executable = function.get_concrete_function(x)._trace.compiled
    kernels = [step.kernel for step in executable.steps]
    assert [type(kernel) for kernel in kernels] == [LoopKernel, DiagonalScatter]
    assert kernels[0].depth == 1


def test_a_dense_part_is_added_as_before() -> None:
    w = rng(2).normal(size=(N, N))

    def f(x):
        return jt.reduce_sum(jt.exp(x)) + jt.reduce_sum(x * jt.linalg.matvec(w, x))

    x = numbers("float64", False)
    got, wanted, _ = both_ways(jt.hessian(f), x)
    assert_close(got, wanted)
    assert_close(got, w + w.T + np.diag(np.exp(x)))


def test_zeros_off_the_diagonal_are_zeros_whatever_they_meet() -> None:
    x = np.linspace(-1.0, 1.0, N)
    x[3] = 0.0
    jacobian = jt.function(jt.jacobian(lambda x: 1.0 / x))(x)
    wanted = np.zeros((N, N))
    with np.errstate(divide="ignore"):
        np.fill_diagonal(wanted, -1.0 / x**2)
    np.testing.assert_allclose(jacobian, wanted, rtol=1e-14, atol=0)


def test_jacobian_on_a_tape_and_third_derivatives() -> None:
    x = numbers("float64", False)

    @jt.function
    def third(x):
        return jt.jacobian(jt.jacobian(jt.jacobian(jt.sin)))(x)

    wanted = np.zeros((N,) * 4)
    wanted[(np.arange(N),) * 4] = -np.cos(x)
    np.testing.assert_allclose(third(x), wanted, rtol=1e-12)
    for _ in range(3):
        with jt.GradientTape() as outer:
            v = jt.constant(x)
            outer.watch(v)
            with jt.GradientTape() as tape:
                tape.watch(v)
                y = jt.tanh(v)
            jacobian = tape.jacobian(y, v)
            total = jt.reduce_sum(jacobian * jacobian)
        t = np.tanh(x)
        np.testing.assert_allclose(jacobian.numpy(), np.diag(1 - t**2), rtol=1e-12)
        np.testing.assert_allclose(outer.gradient(total, v).numpy(), -4 * t * (1 - t**2) ** 2, rtol=1e-11)


def test_terms_that_cancel_leave_zeros_for_an_infinite_derivative() -> None:
    """Terms on one diagonal are joined before the product; where diagonals cross, all is computed as a whole."""
    n = N + 1
    x = rng().normal(size=n)
    x[[3, 12]] = np.inf, np.nan
    back = Region((1,), (n - 1,), (n,), (-1,))
    rest = Region((1,), (1,), (N,), (1,))

    def joined(x):
        unit = eye(n, dtype=np.dtype("float64"))
        other = pad_op.bind(slice_op.bind(unit, region=rest), region=rest, shape=(n, n))
        return zero_dominant_multiply_op.bind(add(unit, negative(other)), broadcast(x, (n, n)))

    def crossing(x):
        unit = eye(n, dtype=np.dtype("float64"))
        return zero_dominant_multiply_op.bind(
            add(unit, negative(slice_op.bind(unit, region=back))), broadcast(x, (n, n))
        )

    for function, is_laid in ((joined, True), (crossing, False)):
        program = program_of(function, x)
        (wanted,) = interpret(program, [x])
        assert wanted[12, 12] == 0
        for got in (*interpret(scatter_diagonals(program), [x]), *compiled(program, [x])):
            np.testing.assert_array_equal(got, wanted)
        assert bool(laid(scatter_diagonals(program))) is is_laid


def test_a_diagonal_is_selected_where_it_meets_a_full_array() -> None:
    function = jt.function(jt.jacobian(jt.nn.softmax))
    x = numbers("float64", False)
    p = np.exp(x) / np.exp(x).sum()
    np.testing.assert_allclose(function(x), np.diag(p) - np.outer(p, p), rtol=1e-12, atol=1e-15)
    executable = function.get_concrete_function(x)._trace.compiled
    full = [step.kernel for step in executable.steps if step.kernel.depth == 2]
    assert len(full) == 1
    assert [i.primitive.name for i in full[0].instructions if isinstance(i, Compute)].count("where") == 1


def test_in_numba_code() -> None:
    x = rng().normal(size=40)
    native = jt.njit_function(jt.jacobian(lambda x: x[1:] * x[:-1]), jt.TensorSpec((40,), "float64"))
    wanted = np.zeros((39, 40))
    wanted[np.arange(39), np.arange(39)], wanted[np.arange(39), np.arange(1, 40)] = x[1:], x[:-1]
    np.testing.assert_allclose(native(x), wanted, rtol=1e-14)


def test_in_a_loop() -> None:
    jacobian = jt.jacobian(lambda x: x * x)

    @jt.function
    def looped(x):
        return jt.scan(lambda total, row: total + jacobian(row), x, jt.zeros((12, 12), "float64"))

    x = rng().normal(size=(3, 12))
    wanted = np.cumsum([np.diag(2 * row) for row in x], 0)
    np.testing.assert_allclose(looped(x), wanted, rtol=1e-12)


# ---- the rewriting by itself ----------------------------------------------------------------------------------------


KINDS = ["slice", "place", "reshape", "transpose", "chain", "sum", "add", "broadcast", "join"]


def random_walk(seed: int):
    """A function of `x` that takes a unit matrix through random ops that keep zeros zeros."""
    random = rng(seed)
    choose = lambda *options: options[int(random.integers(len(options)))]  # noqa: E731

    def part(n):
        step = choose(1, 1, -1, 2, -2, 3)
        size = int(random.integers(1, (n - 1) // abs(step) + 2))
        span = (size - 1) * abs(step)
        start = int(random.integers(0, n - span))
        return (start if step > 0 else start + span), size, step

    def factors(n):
        found = [d for d in range(2, n) if n % d == 0]
        return choose(*found) if found else 1

    def walked(x):
        s = eye(N, dtype=np.dtype("float64"))
        for _ in range(int(random.integers(3, 9))):
            kind, shape = (
                choose(*KINDS),
                s.shape,
            )
            axis = int(random.integers(len(shape))) if shape else 0
            if kind == "slice" and shape:
                start, size, step = part(shape[axis])
                s = slice_op.bind(s, region=Region((axis,), (start,), (size,), (step,)))
            elif kind == "place" and shape and s.aval.size < 2000:
                step = choose(1, -1, 2)
                span = (shape[axis] - 1) * abs(step)
                before, after = (int(n) for n in random.integers(0, 3, 2))
                wider = (*shape[:axis], before + span + 1 + after, *shape[axis + 1 :])
                start = before if step > 0 else before + span
                region = Region((axis,), (start,), (shape[axis],), (step,))
                s = pad_op.bind(s, region=region, shape=wider)
            elif kind == "reshape" and shape and choose(True, False):
                s = reshape(s, choose((-1,), (1, *shape), (*shape, 1), (shape[0], -1), (-1, shape[-1])))
            elif kind == "reshape" and shape:
                d = factors(shape[axis])
                s = reshape(s, (*shape[:axis], d, shape[axis] // d, *shape[axis + 1 :]))
            elif kind == "transpose":
                s = transpose(s, list(random.permutation(len(shape))))
            elif kind == "chain":
                other = broadcast(sum_over(x, (0,)), shape)
                if shape and shape[-1] <= N:
                    line = slice_op.bind(x, region=Region((0,), (0,), (shape[-1],), (1,)))
                    other = broadcast(line, shape)
                s = zero_dominant_multiply_op.bind(s, other)
            elif kind == "sum" and len(shape) > 1 and choose(True, False, False):
                s = sum_over(s, (axis,))
            elif kind == "add" and shape:
                transpose_layouts = slice_op.bind(
                    s, region=Region((axis,), (shape[axis] - 1,), (shape[axis],), (-1,))
                )
                s = add(negative(s), multiply(transpose_layouts, 2.0))
            elif kind == "broadcast" and len(shape) < 4 and s.aval.size < 2000:
                s = broadcast(s, (int(random.integers(1, 4)), *shape))
            elif kind == "join" and shape and s.aval.size < 2000:
                s = (
                    concat_op.bind(s, zero_dominant_multiply(s, s), negative(s), axis=axis)
                    if choose(0, 1, 1) == 0
                    else (concat_op.bind(s, negative(s), axis=axis))
                )
        return s

    return walked


@pytest.mark.parametrize("seed", range(300))
def test_random_walks(seed: int) -> None:
    x = rng(seed).normal(size=N)
    program = program_of(random_walk(seed), x)
    written = check(scatter_diagonals(program))
    (wanted,) = interpret(program, [x])
    (got,) = interpret(written, [x])
    np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)
    if laid(written) and seed % 5 == 0:
        (got,) = compiled(program, [x])
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)


def test_random_walks_find_diagonals() -> None:
    found = [bool(laid(scatter_diagonals(program_of(random_walk(seed), np.ones(N))))) for seed in range(300)]
    assert sum(found) > 100


# ---- the op and its kernel ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_operands_are_added_where_their_maps_say(dtype: str) -> None:
    random = rng(3)
    operands = [random.normal(size=n).astype(dtype) for n in (5, (3, 4), (2, 3, 2), ())]
    maps = (
        (AffineMap(4, ((0, -1),)), AffineMap(0, ((0, 2),)), AffineMap(1)),
        (AffineMap(1, ((0, 1),)), AffineMap(0, ((0, 1), (1, 2))), AffineMap(0, ((0, 1),))),
        (AffineMap(0, ((0, 2),)), AffineMap(2, ((1, 3),)), AffineMap(0, ((1, 1),))),
        (AffineMap(4), AffineMap(8), AffineMap(2)),
    )
    wanted = np.zeros((5, 9, 3), dtype)
    for i in range(5):
        wanted[4 - i, 2 * i, 1] += operands[0][i]
    for i, j in np.ndindex(3, 4):
        wanted[1 + i, i + 2 * j, i] += operands[1][i, j]
    for i, j, k in np.ndindex(2, 3, 2):
        wanted[2 * i, 2 + 3 * j, j] += operands[2][i, j, k]
    wanted[4, 8, 2] += operands[3]
    program = program_of(
        lambda *xs: diagonal_scatter_op.bind(*xs, shape=(5, 9, 3), maps=maps, result_index=0), *operands
    )
    assert program.output_avals()[0] == aval_of(wanted)
    np.testing.assert_allclose(interpret(program, operands)[0], wanted, rtol=1e-6)
    np.testing.assert_allclose(compiled(program, operands)[0], wanted, rtol=1e-6)
