"""Factorizations and solves as kernels: operands in place, calls and unrolled loops, failures, tasks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from evaluator import Stopped, evaluated
from llvmlite import ir

import jittape as jt
from host_schedules import schedule
from jittape.compile.cache.emit_kernel import definition_of
from jittape.compile.ir.lapack import (
    FACTORIZATIONS,
    LAPACK_ROUTINES,
    SCHUR_FUNCTIONS,
    SOLVES,
    Lapack,
    lapack_kernel,
)
from jittape.compile.kernels.lapack import small_matrices
from jittape.compile.llvm.blas import ROUTINES, symbol
from jittape.compile.llvm.ir_helpers import KERNEL_TYPE
from jittape.compile.schedule.steps import Schedule
from jittape.core.forms import Call
from jittape.core.interpret import interpret
from jittape.core.primitive import Primitive
from jittape.core.program import Program
from jittape.core.simplify import simplify
from jittape.core.tuning import tuning
from jittape.errors import LinAlgError
from jittape.primitives.broadcast import broadcast
from jittape.primitives.elementwise.arithmetic import add, multiply
from jittape.primitives.indexing import row_order
from jittape.primitives.linalg.cholesky import cholesky_op
from jittape.primitives.linalg.cholesky_rules import cholesky_diagonal_op, cholesky_solve_op
from jittape.primitives.linalg.lu_factors import lu_factor_op, lu_solve_op
from jittape.primitives.linalg.triangular import triangular_solve_op
from jittape.primitives.shape.reshaping import matrix_transpose
from jittape.primitives.shape.views import sliced
from jittape.vectormath.numpy_math import NumPyMath
from programs import compiled, gradient_program, program_of

FLOATS = ("float32", "float64")
DTYPES = (*FLOATS, "complex64", "complex128")
SMALL = tuning.unrolled_lapack_order
ORDERS = (1, 3, SMALL, 20)


def normal(shape: tuple[int, ...], dtype: str = "float64", seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.normal(size=shape)
    return x.astype(dtype)


def positive(shape: tuple[int, ...], dtype: str = "float64") -> Any:
    x = normal(shape, dtype)
    return (x @ np.conj(np.swapaxes(x, -1, -2)) + shape[-1] * np.eye(shape[-1])).astype(dtype)


def regular(shape: tuple[int, ...], dtype: str = "float64", roll: int = 0) -> Any:
    """Well-conditioned matrices; with `roll` the pivots are not on the diagonal."""
    return np.roll(normal(shape, dtype) + (2 * shape[-1] * np.eye(shape[-1])).astype(dtype), roll, -2)


def scheduled(function: Any, *operands: Any) -> Schedule:
    return schedule(simplify(program_of(function, *operands)))


def lapack_kernels(made: Schedule) -> list[Lapack]:
    assert all(step.kernel is not None for step in made.steps)
    return [step.kernel for step in made.steps if isinstance(step.kernel, Lapack)]


def symbols_of(made: Schedule) -> list[dict[str, int]]:
    return [
        dict(zip(Lapack.SYMBOLS, step.sizes, strict=True))
        for step in made.steps
        if isinstance(step.kernel, Lapack)
    ]


def check(function: Any, *operands: Any) -> Program:
    """Compare compiled code, the evaluator of schedules and the interpreter."""
    program = simplify(program_of(function, *operands))
    expected = interpret(program, list(operands))
    tolerance = 2e-3 if np.finfo(operands[0].dtype).bits == 32 else 1e-9
    for found in (compiled(program, operands), evaluated(schedule(program), list(operands), seed=1)):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
    return program


def inner(x: Any, axes: int = 2) -> Any:
    """Return matrices without the first row, and without the first column unless `axes` is 1."""
    for axis in range(1, 1 + axes):
        x = sliced(x, axis, 1, x.shape[axis] - 1)
    return x


def solved(a: Any, b: Any, adjoint: bool) -> Any:
    return lu_solve_op.bind(a, lu_factor_op.bind(a), b, adjoint=adjoint)


# ---- values ----------------------------------------------------------------------------------------------------------


LEADS = ((), (37,), (2, 3))
# Each dtype meets each order, and each of both meets all leading shapes: a kernel serves all of these.
CASES = [
    (dtype, n, LEADS[(i + j) % 3]) for i, dtype in enumerate(DTYPES) for j, n in enumerate(ORDERS)
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "n", "lead"), CASES)
def test_factors_and_solutions_are_those_of_the_interpreter(
    dtype: str, n: int, lead: tuple[int, ...]
) -> None:
    a, spd = regular((*lead, n, n), dtype), positive((*lead, n, n), dtype)
    check(cholesky_op.bind, spd)
    rolled = regular((*lead, n, n), dtype, n // 2)
    check(lu_factor_op.bind, rolled)
    for columns, adjoint in itertools.product((1, 4), (False, True)):
        b = normal((*lead, n, columns), dtype, 1)
        check(lambda x, y, adjoint=adjoint: solved(x, y, adjoint), rolled, b)
        for lower in (False, True):
            params = {"lower": lower, "adjoint": adjoint}
            check(lambda x, y, params=params: triangular_solve_op.bind(x, y, **params), a, b)


@pytest.mark.parametrize("backwards", [False, True])
def test_orders_of_exchanges_are_those_of_the_interpreter(backwards: bool) -> None:
    n = 12
    targets = np.minimum(np.arange(n) + np.random.default_rng(2).integers(0, n, (3, n)), n - 1)
    program = simplify(program_of(lambda x: row_order.exchanged(x, backwards), targets))
    (expected,) = interpret(program, [targets])
    for (found,) in (compiled(program, (targets,)), evaluated(schedule(program), [targets], seed=1)):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.sort(expected), np.broadcast_to(np.arange(n), (3, n)))


@pytest.mark.parametrize("n", [3, 20])
@pytest.mark.parametrize("dtype", FLOATS)
def test_operands_are_read_through_views(dtype: str, n: int) -> None:
    a, b = regular((2, n, n), dtype), normal((2, n, 3), dtype, 1)
    spd = positive((2, n, n), dtype)
    check(lambda x: lu_factor_op.bind(matrix_transpose(x)), a)
    check(lambda x: (cholesky_op.bind(matrix_transpose(x)), x), spd)
    for lower, adjoint in itertools.product((False, True), (False, True)):
        params = {"lower": lower, "adjoint": adjoint}
        check(lambda x, y, p=params: triangular_solve_op.bind(matrix_transpose(x), y, **p), a, b)
        check(lambda x, y, p=params: triangular_solve_op.bind(broadcast(x, a.shape), y, **p), a[0], b)
        check(lambda x, y, p=params: triangular_solve_op.bind(inner(x), inner(y, 1), **p), a, b)


def test_views_become_flags_and_strides() -> None:
    a, b = regular((2, 20, 20)), normal((2, 20, 3))
    params = {"lower": True, "adjoint": False}
    (kernel,) = lapack_kernels(
        scheduled(lambda x, y: triangular_solve_op.bind(matrix_transpose(x), y, **params), a, b)
    )
    assert kernel.transposed
    made = scheduled(lambda x, y: triangular_solve_op.bind(broadcast(x, a.shape), y, **params), a[0], b)
    assert len(made.steps) == 1
    (symbols,) = symbols_of(made)
    assert (symbols["b1"], symbols["x1"]) == (2, 0)
    made = scheduled(lambda x, y: triangular_solve_op.bind(inner(x), y, **params), a, b[:, 1:])
    assert len(made.steps) == 1
    (symbols,) = symbols_of(made)
    assert (symbols["oa"], symbols["la"], symbols["n"], symbols["x1"]) == (21, 20, 19, 400)


def test_an_adjoint_solve_with_a_transposed_complex_matrix_copies_it() -> None:
    """No routine of the BLAS solves with the conjugate of a matrix."""
    a, b = regular((9, 9), "complex128"), normal((9, 3), "complex128")
    params = {"lower": True, "adjoint": True}
    program = check(lambda x, y: triangular_solve_op.bind(matrix_transpose(x), y, **params), a, b)
    kernels = [step.kernel for step in schedule(program).steps if isinstance(step.kernel, Lapack)]
    assert [kernel.transposed for kernel in kernels] == [False]


# ---- memory ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [3, 20])
def test_a_factor_takes_the_memory_of_an_operand_without_other_uses(n: int) -> None:
    x, b = positive((2, n, n)), normal((2, n, 2))
    solve = triangular_solve_op.bind

    def kernels(function: Any, *operands: Any) -> list[bool]:
        return [k.in_place for k in lapack_kernels(schedule(check(function, *operands)))]

    assert kernels(lambda x: cholesky_op.bind(multiply(2.0, x)), x) == [True]
    assert kernels(lambda x, b: solve(x, multiply(2.0, b), lower=True, adjoint=False), x, b) == [True]
    chain = lambda x, b: solve(  # noqa: E731
        x, solve(x, multiply(2.0, b), lower=True, adjoint=False), lower=True, adjoint=True
    )
    assert kernels(chain, x, b) == [True, True]
    assert kernels(cholesky_op.bind, x) == [False]  # an input

    def twice(x: Any) -> Any:
        y = multiply(2.0, x)
        return cholesky_op.bind(y), multiply(3.0, y)

    assert kernels(twice, x) == [False]

    def returned(x: Any) -> Any:
        y = multiply(2.0, x)
        return cholesky_op.bind(y), y

    assert kernels(returned, x) == [False]
    assert kernels(lambda x: solve(multiply(2.0, x), multiply(2.0, x), lower=True, adjoint=False), x) == [
        False
    ]


# ---- gradients of Cholesky factors -----------------------------------------------------------------------------------


@pytest.mark.parametrize("lead", [(), (3,)])
@pytest.mark.parametrize("n", [1, 9, 33])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("loops", [True, False])
def test_pullbacks_of_diagonals(
    dtype: str, n: int, lead: tuple[int, ...], loops: bool, override_tuning: Any
) -> None:
    override_tuning(pullback_loops_order=64 if loops else 0)
    factor, d = np.linalg.cholesky(positive((*lead, n, n), dtype)), normal((*lead, n), dtype, 1)
    for diagonal in (np.abs(d), -np.abs(d), d, np.zeros_like(d)):
        check(cholesky_diagonal_op.bind, factor, diagonal)


def solved_twice(factor: Any, y: Any) -> Any:
    forward = jt.linalg.triangular_solve(factor, y)
    return jt.reduce_sum(multiply(y, jt.linalg.triangular_solve(factor, forward, adjoint=True)))


def solved_half(factor: Any, y: Any) -> Any:
    return jt.reduce_sum(jt.square(jt.linalg.triangular_solve(factor, y)))


def solved_with_factor(factor: Any, y: Any) -> Any:
    return jt.reduce_sum(multiply(y, jt.linalg.cholesky_solve(factor, y)))


QUADRATIC_FORMS = (solved_with_factor, solved_twice, solved_half)
"""Functions for ``sum(y * (A^-1 y))`` with the factor of A."""


def likelihood(k: Any, y: Any, quadratic: Any = solved_with_factor) -> Any:
    factor = jt.linalg.cholesky(k)
    value = multiply(0.5, quadratic(factor, y))
    return add(value, jt.reduce_sum(jt.math.log(jt.linalg.diag_part(factor))))


def everything(k: Any, y: Any) -> Any:
    """Every form of a cotangent of a factor, with weights, and others."""
    factor, other = jt.linalg.cholesky(k), jt.linalg.cholesky(add(k, 1.0))
    values = (
        jt.sin(jt.linalg.cholesky_solve(factor, jt.sin(y))),
        jt.negative(jt.sin(jt.linalg.diag_part(factor))),
        multiply(-2.0, jt.sin(jt.linalg.cholesky_solve(other, y))),
        jt.sin(factor),
        jt.sin(jt.linalg.diag_part(jt.subtract(k, factor))),  # a negated diagonal
        multiply(jt.linalg.triangular_solve(factor, y), y),
    )
    total = jt.reduce_sum(values[0])
    for value in values[1:]:
        total = jt.subtract(total, jt.reduce_sum(value))
    return total


def routines_of_gradient(function: Any, k: Any, y: Any) -> list[str]:
    """Compare the gradient compiled with that of the interpreter and with differences; return its routines."""
    program = gradient_program(program_of(function, k, y), (0, 1))
    operands = [k, y, np.float64(1.0)]
    simplified = simplify(program)
    expected = interpret(program, operands)
    for found in (compiled(simplified, operands), evaluated(schedule(simplified), operands, seed=2)):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)
    direction = normal(k.shape, seed=3)
    direction = direction + np.swapaxes(direction, -1, -2)
    value = program_of(function, k, y)
    (above,), (below,) = (interpret(value, [k + step * direction, y]) for step in (1e-5, -1e-5))
    np.testing.assert_allclose(np.sum(expected[0] * direction), (above - below) / 2e-5, rtol=1e-5, atol=1e-6)
    return [kernel.routine for kernel in lapack_kernels(schedule(simplified))]


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("lead", [(), (2,)])
def test_the_gradient_of_a_likelihood_takes_the_routines_that_one_would_call(
    lead: tuple[int, ...], columns: int
) -> None:
    k, y = positive((*lead, 20, 20)), normal((*lead, 20, columns))
    for quadratic in QUADRATIC_FORMS:
        routines = routines_of_gradient(partial(likelihood, quadratic=quadratic), k, y)
        assert sorted(routines) == ["potrf", "potri", *["trsm"] * (len(routines) - 2)]
        assert routines.count("trsm") <= 4
    assert "potri" not in routines_of_gradient(likelihood, k[..., :4, :4] + np.eye(4), y[..., :4, :])


def test_a_form_that_is_not_symmetric_takes_the_general_pullback() -> None:
    """Each column has a weight of its own, or the second solution is with another right-hand side."""
    k, y = positive((12, 12)), normal((12, 2))

    def weighted(k: Any, y: Any) -> Any:
        z = jt.linalg.triangular_solve(jt.linalg.cholesky(k), y)
        return jt.reduce_sum(multiply(multiply(z, z), jt.cumsum(jt.ones_like(z), axis=1)))

    def different(k: Any, y: Any) -> Any:
        factor = jt.linalg.cholesky(k)
        z = jt.linalg.triangular_solve(factor, y)
        return jt.reduce_sum(jt.sin(jt.linalg.triangular_solve(factor, z, adjoint=True)))

    def of_another_factor(k: Any, y: Any) -> Any:
        factor, other = jt.linalg.cholesky(k), jt.linalg.cholesky(add(k, 1.0))
        z = jt.linalg.triangular_solve(factor, y)
        return jt.reduce_sum(multiply(z, jt.linalg.triangular_solve(other, z, adjoint=True)))

    for function in (weighted, different, of_another_factor):
        routines_of_gradient(function, k, y)


@pytest.mark.parametrize("n", [4, 20])
@pytest.mark.parametrize("lead", [(), (2,)])
def test_other_terms_share_one_pullback(lead: tuple[int, ...], n: int) -> None:
    k, y = positive((*lead, n, n)), normal((*lead, n, 2))
    routines_of_gradient(everything, k, y)


def test_solutions_for_multiples_of_right_hand_sides_are_shared() -> None:
    factor, b = np.linalg.cholesky(positive((12, 12))), normal((12, 2))

    def both(factor: Any, b: Any, scale: float) -> Any:
        solution = cholesky_solve_op.bind(factor, b)
        return solution, cholesky_solve_op.bind(factor, multiply(scale, b))

    for scale, solves in ((3.0, 2), (0.0, 4), (np.inf, 4)):
        program = simplify(program_of(lambda x, b, scale=scale: both(x, b, scale), factor, b))
        assert len(lapack_kernels(schedule(program))) == solves
    check(lambda x, b: both(x, b, 3.0), factor, b)


# ---- structure -------------------------------------------------------------------------------------------------------


def test_one_kernel_serves_all_shapes() -> None:
    shapes = [(20, 20), (30, 30), (4, 12, 12), (2, 3, 9, 9)]
    names = {
        kernel.name for s in shapes for kernel in lapack_kernels(scheduled(cholesky_op.bind, positive(s)))
    }
    assert len(names) == 1
    small = [(4, 4), (7, 4, 4), (90_000, 4, 4)]
    names = {
        kernel.name
        for s in small
        for kernel in lapack_kernels(scheduled(cholesky_op.bind, np.broadcast_to(np.eye(4), s)))
    }
    assert len(names) == 1


def test_a_log_likelihood_with_its_gradient_takes_the_calls_that_one_would_write_by_hand() -> None:
    @jt.function
    def value_and_gradient(k: jt.Tensor, y: jt.Tensor) -> Any:
        with jt.GradientTape() as tape:
            tape.watch(k)
            value = likelihood(k, y)
        return value, tape.gradient(value, k)

    k, y = positive((20, 20)), normal((20, 1))
    for _ in range(3):
        value, gradient = value_and_gradient(k, y)
    solution = np.linalg.solve(k, y)
    np.testing.assert_allclose(value, 0.5 * ((y.T @ solution).item() + np.linalg.slogdet(k)[1]))
    expected = 0.5 * (np.linalg.inv(k) - solution @ solution.T)
    np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-12)
    steps = jt.explain().steps
    assert not any("NumPy" in step.title for step in steps)
    kernels = [step.listing.splitlines()[1].strip().split(",")[0] for step in steps]
    called = [name for name in kernels if name in LAPACK_ROUTINES]
    assert sorted(called) == ["potrf", "potri", "trsm", "trsm"]


@pytest.mark.parametrize("routine", LAPACK_ROUTINES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_machine_code_has_names_and_no_addresses(dtype: str, routine: str) -> None:
    kernel = lapack_kernel(routine, np.dtype(dtype))
    function = ir.Function(ir.Module(), KERNEL_TYPE, "factor")
    definition_of(kernel).emit(function)
    letter = {"float32": "s", "float64": "d"}[dtype]
    named = {
        **{"getrs": "trsm", "potri": "lauum", "eigh": "syevd", "eigvalsh": "syevd", "eig": "geev"},
        **{"svd": "gesdd", "svdvals": "gesdd", "qr": "orgqr", "complement": "geqrf"},
        **{"expm": "gesv", "expm_derivative": "getrs", **dict.fromkeys(SCHUR_FUNCTIONS, "gees")},
    }
    called = ("d" if routine in SCHUR_FUNCTIONS else letter) + named.get(routine, routine)
    assert called in ROUTINES
    text = str(function.module)
    assert f'call void @"{symbol(called)}"' in text
    assert "inttoptr" not in text


def test_unrolled_kernels_call_nothing() -> None:
    for routine in (*FACTORIZATIONS, *SOLVES):
        kernel = lapack_kernel(routine, np.dtype("float64"), order=3)
        function = ir.Function(ir.Module(), KERNEL_TYPE, "factor")
        definition_of(kernel).emit(function)
        assert not any(symbol(name) in str(function.module) for name in ROUTINES)


def test_explain_counts_operations_once() -> None:
    a = positive((30, 30))
    for _ in range(2):
        jt.linalg.cholesky(a).numpy()
    steps = jt.explain().steps
    assert sum(step.operations for step in steps) == 30**3 // 3
    assert "potrf" in steps[0].listing
    assert "stop if any of a0" in steps[1].listing


# ---- tasks -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def thread_counts() -> Iterator[list[int]]:
    before = jt.config.threads
    yield [1, 2, 3]
    jt.config.threads = before


@pytest.mark.parametrize("shape", [(20_000, 3, 3), (61, 30, 30)])
def test_any_number_of_threads_gives_the_same_bits(shape: tuple[int, ...], thread_counts: list[int]) -> None:
    a, b = positive(shape), normal((*shape[:-1], 2))

    def solve(a: Any, b: Any) -> Any:
        factor = jt.linalg.cholesky(a)
        return jt.linalg.triangular_solve(factor, b), jt.linalg.solve(a, b)

    program = simplify(program_of(lambda a, b: (cholesky_op.bind(a), solved(a, b, False)), a, b))
    assert all(step.tasks > 1 for step in schedule(program).steps if isinstance(step.kernel, Lapack))
    found = []
    for threads in thread_counts:
        jt.config.threads = threads
        for _ in range(2):
            results = [x.numpy() for x in solve(a, b)]
        found.append([x.tobytes() for x in results])
    assert found[0] == found[1] == found[2]


# ---- failures --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 12])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (3000,)])
def test_a_failure_names_the_matrix_compiled_and_interpreted(n: int, shape: tuple[int, ...]) -> None:
    a = np.broadcast_to(np.eye(n), (*shape, n, n)).copy()
    index = tuple([extent - 1 for extent in shape])
    a[index][1, 1] = -1.0
    singular = np.broadcast_to(np.eye(n), a.shape).copy()
    singular[index] = 0.0
    b = np.ones((*shape, n, 2))
    for function in (lambda: jt.linalg.cholesky(a), lambda: jt.linalg.solve(singular, b)):
        messages = []
        for _ in range(3):
            with pytest.raises(LinAlgError) as found:
                function().numpy()
            messages.append(str(found.value))
        assert len(set(messages)) == 1
        if shape:
            assert f"Matrix {index[0] if len(index) == 1 else index} of the batch" in messages[0]
    with pytest.raises(Stopped):
        evaluated(scheduled(cholesky_op.bind, a), [a])


def test_a_failure_changes_no_variable_and_the_next_run_succeeds() -> None:
    @jt.function
    def step(v: jt.Variable, k: jt.Tensor) -> jt.Tensor:
        v.assign_add(jt.linalg.cholesky(k))
        return jt.reduce_sum(v)

    v = jt.Variable(np.zeros((10, 10)))
    good, bad = np.eye(10), -np.eye(10)
    for expected in (1, 2, 3):
        step(v, good)
        with pytest.raises(LinAlgError, match="not positive definite"):
            step(v, bad)
        np.testing.assert_array_equal(v.numpy(), expected * np.eye(10))


@pytest.mark.parametrize("n", [2, 10])
def test_factors_inside_a_loop(n: int) -> None:
    def body(carry: Any, x: Any) -> Any:
        factor = jt.linalg.cholesky(x + carry)
        return jt.matmul(factor, factor, transpose_b=True) * 0.5

    run = jt.function(lambda xs: jt.scan(body, xs, initializer=jt.zeros((n, n), jt.float64)))
    xs = positive((4, n, n))
    expected, carry = [], np.zeros((n, n))
    for x in xs:
        carry = 0.5 * (x + carry)
        expected.append(carry)
    for _ in range(3):
        np.testing.assert_allclose(run(xs), expected)
        bad = xs.copy()
        bad[2] = -50 * np.eye(n)
        with pytest.raises(LinAlgError, match="not positive definite"):
            run(bad)
    run(xs)
    assert all("NumPy" not in step.title for step in jt.explain().steps)


def test_a_failure_that_the_interpreter_does_not_see_is_an_error() -> None:
    """A matrix that is positive definite up to rounding may fail in LAPACK only."""
    lenient = Primitive(
        "lenient",
        abstract_eval=lambda x: x,
        impl=lambda x: x,
        lowering=Call("potrf", failure="[lenient] a matrix is not positive definite"),
    )
    a = -np.eye(3)
    program = simplify(program_of(lenient.bind, a))
    with pytest.raises(LinAlgError, match=r"\[lenient\] a matrix is not positive definite"):
        compiled(program, [a])


def test_numba_code_gets_values_and_errors() -> None:
    native = jt.njit_function(jt.linalg.cholesky, jt.TensorSpec((12, 12), jt.float64))
    small = jt.njit_function(jt.linalg.cholesky, jt.TensorSpec((5, 2, 2), jt.float64))
    a, stack = positive((12, 12)), positive((5, 2, 2))
    np.testing.assert_allclose(native(a), np.linalg.cholesky(a))
    np.testing.assert_allclose(small(stack), np.linalg.cholesky(stack))
    for function, x in ((native, -a), (small, -stack)):
        with pytest.raises(ValueError, match="a matrix is not positive definite"):
            function(x)


# ---- formulas of small matrices --------------------------------------------------------------------------------------


def rows_of(a: Any) -> list[list[Any]]:
    return [[a[..., i, j] for j in range(a.shape[-1])] for i in range(a.shape[-2])]


@pytest.mark.parametrize("n", range(1, SMALL + 1))
@pytest.mark.parametrize("dtype", FLOATS)
def test_small_formulas_with_numpy(dtype: str, n: int) -> None:
    m = NumPyMath()
    tolerance = 1e-3 if dtype == "float32" else 1e-11
    spd, a, b = positive((5, n, n), dtype), normal((5, n, n), dtype), normal((5, n), dtype, 1)
    factor, failed = small_matrices.cholesky(m, rows_of(spd))
    assert not failed.any()
    lower = np.linalg.cholesky(spd)
    for i, row in enumerate(factor):
        np.testing.assert_allclose(np.stack(row, -1), lower[:, i, : i + 1], rtol=tolerance, atol=tolerance)
    factors, pivots = small_matrices.lu(m, rows_of(a))
    for adjoint in (False, True):
        solve, failed = small_matrices.lu_solver(m, factors, pivots, adjoint)
        assert not failed.any()
        x = np.stack(solve([b[:, i] for i in range(n)]), -1)
        matrix = np.swapaxes(a, -1, -2) if adjoint else a
        np.testing.assert_allclose(
            (matrix @ x[..., None])[..., 0], b, rtol=100 * tolerance, atol=100 * tolerance
        )
