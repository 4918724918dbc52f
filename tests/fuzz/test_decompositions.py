"""Eigenvalues, singular values and QR factors as kernels: layouts, scratch memory, nan, failures, tasks, loops."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from evaluator import evaluated

import jittape as jt
from host_schedules import schedule
from jittape.compile.analysis.lapack_operands import LapackCall
from jittape.compile.analysis.lapack_scratch import scratch_lengths
from jittape.compile.ir.lapack import DECOMPOSITIONS, EXPONENTIALS, SCHUR_FUNCTIONS, Lapack
from jittape.compile.llvm.blas import blas
from jittape.compile.schedule.steps import KernelStep, Schedule
from jittape.core.dtypes import info_of
from jittape.core.interpret import interpret
from jittape.core.program import Program
from jittape.core.simplify import simplify
from jittape.core.tuning import tuning
from jittape.primitives.broadcast import broadcast
from jittape.primitives.linalg.qr import qr_op
from jittape.primitives.shape.reshaping import matrix_transpose
from jittape.primitives.shape.views import sliced
from jittape.primitives.spectra.eig import eig_op
from jittape.primitives.spectra.eigh import eigh_op, eigvalsh_op
from jittape.primitives.spectra.matrix_functions import (
    expm_derivative_op,
    expm_op,
    logm_derivative_op,
    logm_op,
    sqrtm_derivative_op,
    sqrtm_op,
)
from jittape.primitives.spectra.svd import complement_op, svd_op, svdvals_op
from processes import run_python
from programs import compiled, program_of

Array = np.ndarray[Any, Any]
DTYPES = ("float32", "float64", "complex64", "complex128")
SHAPES = ((3, 3), (1, 1), (4, 2), (2, 4), (40, 40), (70, 33), (33, 70), (5, 3, 3), (2, 3, 7, 4))
EMPTY = ((0, 0), (0, 3), (3, 0), (0, 2, 2), (2, 0, 3))
OPS: dict[str, Callable[[Any], Any]] = {
    "eigh": lambda x: eigh_op.bind(x, lower=True),
    "eigh upper": lambda x: eigh_op.bind(x, lower=False),
    "eigvalsh": lambda x: eigvalsh_op.bind(x, lower=True),
    "eigvalsh upper": lambda x: eigvalsh_op.bind(x, lower=False),
    "eig": eig_op.bind,
    "svd": svd_op.bind,
    "svdvals": svdvals_op.bind,
    "qr": lambda x: qr_op.bind(x, full=False),
    "qr full": lambda x: qr_op.bind(x, full=True),
    "complement": complement_op.bind,
    "expm": expm_op.bind,
    "expm_derivative": lambda x: expm_derivative_op.bind(x, x),
    "sqrtm": sqrtm_op.bind,
    "sqrtm_derivative": lambda x: sqrtm_derivative_op.bind(x, x),
    "logm": logm_op.bind,
    "logm_derivative": lambda x: logm_derivative_op.bind(x, x),
}
SQUARE = ("eig", "expm", "sqrtm", "logm")
"""Beginnings of the names of ops whose operands are square matrices."""
each_op = pytest.mark.parametrize("name", OPS)


def normal(shape: tuple[int, ...], dtype: str = "float64", seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.normal(size=shape)
    return x.astype(dtype)


def fits(name: str, shape: tuple[int, ...]) -> bool:
    rows, columns = shape[-2:]
    return rows == columns if name.startswith(SQUARE) else rows >= columns or name != "complement"


def adjoint(x: Array) -> Array:
    return np.conj(np.swapaxes(x, -1, -2))


def facts(name: str, x: Array, out: Array) -> list[tuple[Array, Any]]:
    """Return pairs of arrays that are equal for the right result, whatever the signs of its vectors."""
    m, n = x.shape[-2:]
    if name in ("eigh", "eigh upper"):
        values, v = out[..., :1, :], np.swapaxes(out[..., 1:, :], -1, -2)
        lower = np.tril(x, -1) if name == "eigh" else adjoint(np.triu(x, 1))
        hermitian = lower + adjoint(lower) + np.eye(n) * x.real
        return [((v * values) @ adjoint(v), hermitian), (adjoint(v) @ v, np.eye(n)), (values.imag, 0)]
    if name == "eig":
        values, v = out[..., :1, :], np.swapaxes(out[..., 1:, :], -1, -2)
        trace = np.trace(x, axis1=-2, axis2=-1)
        return [(x @ v, v * values), (np.linalg.norm(v, axis=-2), 1), (values[..., 0, :].sum(-1), trace)]
    if name == "svd":
        u, s, vh = np.swapaxes(out[..., :m], -1, -2), out[..., m], out[..., m + 1 :]
        one = np.eye(min(m, n))
        return [((u * s[..., None, :]) @ vh, x), (adjoint(u) @ u, one), (vh @ adjoint(vh), one)]
    if name.startswith("qr"):
        q, r = np.swapaxes(out[..., :m], -1, -2), out[..., m:]
        return [(q @ r, x), (adjoint(q) @ q, np.eye(q.shape[-1])), (np.tril(r, -1), 0)]
    if name == "complement":
        return [(adjoint(out) @ out, np.eye(m - n)), (adjoint(out) @ x, 0)]
    return []


def check(name: str, x: Array, function: Callable[[Any], Any] | None = None, view: Any = None) -> Program:
    """Compare compiled code and the evaluator of schedules with the interpreter and with the definition."""
    program = simplify(program_of(function or OPS[name], x))
    (expected,) = interpret(program, [x])
    single = np.finfo(x.dtype).bits == 32
    tolerance = 1e-3 if single else 1e-10
    for found in (compiled(program, [x])[0], evaluated(schedule(program), [x], seed=1)[0]):
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        for one, other in facts(name, x if view is None else view(x), found):
            np.testing.assert_allclose(one, np.broadcast_to(other, one.shape), rtol=tolerance, atol=tolerance)
        # Rounding errors change signs of vectors in single precision, and of vectors of general matrices.
        if name != "eig" and not (single and name.split()[0] in ("eigh", "svd")):
            np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    return program


def kernels_of(made: Schedule) -> list[Lapack]:
    assert all(step.kernel is not None for step in made.steps)
    return [step.kernel for step in made.steps if isinstance(step.kernel, Lapack)]


def symbols_of(made: Schedule) -> dict[str, int]:
    (sizes,) = [step.sizes for step in made.steps if isinstance(step.kernel, Lapack)]
    return dict(zip(Lapack.SYMBOLS, sizes, strict=True))


# ---- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@each_op
def test_compiled_results_are_those_of_the_interpreter(name: str, dtype: str) -> None:
    for shape in (*SHAPES, *EMPTY):
        if fits(name, shape):
            check(name, normal(shape, dtype))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", [name for name in OPS if not name.endswith("_derivative")])
def test_matrices_are_read_through_views(name: str, dtype: str) -> None:
    x = normal((2, 5, 6, 6), dtype)

    def transposed(x: Any) -> Any:
        return OPS[name](matrix_transpose(x))

    program = check(name, x, transposed, lambda x: np.swapaxes(x, -1, -2))
    made = schedule(program)
    assert [kernel.transposed for kernel in kernels_of(made)] == [True]
    assert (symbols_of(made)["b0"], symbols_of(made)["b1"]) == (1, 10)
    check(name, x, lambda x: OPS[name](inner(x)), lambda x: x[..., 1:, 1:])
    repeated = check(
        name,
        x[:1, 0],
        lambda x: OPS[name](broadcast(x, (3, 6, 6))),
        lambda x: np.broadcast_to(x, (3, 6, 6)),
    )
    assert symbols_of(schedule(repeated))["x1"] == 0


def inner(x: Any) -> Any:
    """Return matrices without the first row and column."""
    for axis in (len(x.shape) - 2, len(x.shape) - 1):
        x = sliced(x, axis, 1, x.shape[axis] - 1)
    return x


@each_op
def test_one_kernel_serves_all_shapes(name: str) -> None:
    shapes = [(20, 20), (4, 4), (7, 12, 12), (2, 3, 9, 9)]
    programs = [simplify(program_of(OPS[name], normal(shape))) for shape in shapes]
    assert len({kernel.name for program in programs for kernel in kernels_of(schedule(program))}) == 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", [name for name in OPS if not name.startswith("qr")])
def test_a_matrix_with_nan_or_inf_gives_nan_and_leaves_the_others(name: str, bad: float, dtype: str) -> None:
    x = normal((3, 4, 4 if name.startswith(SQUARE) else 2), dtype)
    program = simplify(program_of(OPS[name], x))
    (plain,) = compiled(program, [x])
    x[1, 0, 1] = bad * 1j if np.iscomplexobj(x) else bad  # above the diagonal
    (found,), (expected,) = compiled(program, [x]), interpret(program, [x])
    np.testing.assert_array_equal(found[[0, 2]], plain[[0, 2]])
    assert np.isnan(found[1].real).all()
    np.testing.assert_array_equal(found[1].imag, expected[1].imag)


def test_qr_of_nan_has_nan() -> None:
    x = normal((4, 3))
    x[2, 1] = np.nan
    (found,) = compiled(simplify(program_of(OPS["qr"], x)), [x])
    assert np.isnan(found).any()


# ---- scratch memory --------------------------------------------------------------------------------------------------

ROUTINES = {
    "eigh": ("syevd", "heevd"),
    "eigvalsh": ("syevd", "heevd"),
    "eig": ("geev", "geev"),
    "svd": ("gesdd", "gesdd"),
    "svdvals": ("gesdd", "gesdd"),
    "qr": ("orgqr", "ungqr"),
    "complement": ("orgqr", "ungqr"),
}


def preferred(name: str, dtype: str, m: int, n: int, k: int) -> tuple[int, int, int]:
    """Return the lengths of the work arrays that LAPACK prefers, from its own answer."""
    is_complex = np.dtype(dtype).kind == "c"
    letter = info_of(np.dtype(dtype)).blas
    routine = getattr(blas().library, f"scipy_{letter}{ROUTINES[name][is_complex]}_")
    work, integers = np.zeros(4, dtype), np.zeros(4, np.int32)
    reals = np.zeros(4, info_of(np.dtype(dtype)).real)
    places = [x.ctypes.data_as(ctypes.c_void_p) for x in (work, reals, integers)]
    element, real, integer = places
    info, unknown = ctypes.byref(ctypes.c_int(0)), number(-1)
    job = ctypes.c_char_p(b"V" if name == "eigh" else b"N")
    if name == "eig":
        order, vectors, values = number(max(1, n)), ctypes.c_char_p(b"V"), [real] * (1 if is_complex else 2)
        arguments = [
            job,
            vectors,
            number(n),
            element,
            order,
            *values,
            element,
            order,
            element,
            order,
            element,
        ]
        more = (real,) if is_complex else ()
        routine(*arguments, unknown, *more, info, ctypes.c_long(1), ctypes.c_long(1))
        return int(work[0].real), 0, 0
    if name.startswith("eig"):
        lower, order = ctypes.c_char_p(b"L"), number(max(1, n))
        more = (real, unknown) if is_complex else ()
        arguments = [job, lower, number(n), element, order, real, element, unknown, *more, integer, unknown]
        routine(*arguments, info, ctypes.c_long(1), ctypes.c_long(1))
        return int(work[0].real), int(reals[0]) if is_complex else 0, int(integers[0])
    if name.startswith("svd"):
        job = ctypes.c_char_p(b"S" if name == "svd" else b"N")
        rows, least = number(max(1, m)), number(max(1, k))
        arguments = [job, number(m), number(n), element, rows, real, element, rows, element, least]
        routine(
            *arguments, element, unknown, *((real,) if is_complex else ()), integer, info, ctypes.c_long(1)
        )
        return int(work[0].real), 0, 0
    columns = number(k if name == "qr" else m)
    rows, reflectors = number(max(1, m)), number(min(m, n))
    routine(number(m), columns, reflectors, element, rows, element, element, unknown, info)
    generated = int(work[0].real)
    factor = getattr(blas().library, f"scipy_{letter}geqrf_")
    factor(number(m), number(n), element, rows, element, element, unknown, info)
    return max(generated, int(work[0].real)), 0, 0


def number(value: int) -> Any:
    return ctypes.byref(ctypes.c_int(value))


@pytest.mark.skipif(blas().library is None, reason="asks jittape's own copy of OpenBLAS")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "name", [name for name in DECOMPOSITIONS if name not in (*EXPONENTIALS, *SCHUR_FUNCTIONS)]
)
def test_scratch_memory_is_what_lapack_prefers(name: str, dtype: str) -> None:
    extents = (0, 1, 2, 3, 31, 32, 33, 40, 64, 65, 100, 300, 1000)
    for m in extents:
        for n in extents:
            if not fits(name, (m, n)):
                continue
            for k in {min(m, n), m} if name == "qr" else {m - n if name == "complement" else min(m, n)}:
                lengths = scratch_lengths(call_of(name, m, n, k), np.dtype(dtype))
                matrices = {
                    "eigh": 0,
                    "eigvalsh": n * n,
                    "eig": n * n if np.dtype(dtype).kind == "c" else 2 * n * n,
                    "svd": m * n + k * n,
                    "svdvals": m * n,
                    "qr": m * max(n, k) + min(m, n),
                    "complement": m * m + min(m, n),
                }[name]
                has_values = name in ("eigh", "eig", "svd", "svdvals") or np.dtype(dtype).kind == "c"
                values = min(m, n) if has_values else 0
                kept = matrices, values, 0
                for length, own, wanted in zip(lengths, kept, preferred(name, dtype, m, n, k), strict=False):
                    assert length - own >= wanted, (m, n, k, lengths)


def call_of(name: str, m: int, n: int, k: int) -> LapackCall:
    return LapackCall(name, None, None, m, n, k, ())  # type: ignore[arg-type]


def test_many_tasks_do_not_take_scratch_memory_each() -> None:
    made = schedule(simplify(program_of(svd_op.bind, np.broadcast_to(np.eye(30), (2000, 30, 30)))))
    (step,) = [step for step in made.steps if isinstance(step, KernelStep) and step.tasks > 1]
    assert step.tasks <= tuning.max_decomposition_tasks
    assert made.arena < 2000 * 30 * 61 * 8


# ---- tasks -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def thread_counts() -> Iterator[list[int]]:
    before = jt.config.threads
    yield [1, 2, 3]
    jt.config.threads = before


@each_op
def test_any_number_of_threads_gives_the_same_bits(name: str, thread_counts: list[int]) -> None:
    shape = (301, 24, 24) if name.startswith(SQUARE) else (301, 24, 20)
    x = jt.constant(normal(shape))
    functions = {
        "eigh": lambda x: jt.linalg.eigh(x)[1],
        "eigh upper": lambda x: np.linalg.eigh(x, "U")[1],
        "eigvalsh upper": lambda x: np.linalg.eigvalsh(x, "U"),
        "eig": lambda x: jt.linalg.eig(x)[1],
        "svd": lambda x: jt.linalg.svd(x)[2],
        "qr": lambda x: jt.linalg.qr(x).r,
        "qr full": lambda x: jt.linalg.qr(x, full_matrices=True).q,
        "complement": lambda x: jt.linalg.svd(x, full_matrices=True)[1],
    }
    if name.endswith("_derivative"):
        of_matrix = getattr(jt.linalg, name.removesuffix("_derivative"))
        functions[name] = jt.grad(lambda x: jt.reduce_sum(of_matrix(x)))
    function = functions.get(name) or getattr(jt.linalg, name)
    found = []
    for threads in thread_counts:
        jt.config.threads = threads
        for _ in range(2):
            result = function(x).numpy()
        found.append(result.tobytes())
    assert any(step.tasks > 1 for step in jt.explain().steps)
    assert found[0] == found[1] == found[2]


# ---- failures --------------------------------------------------------------------------------------------------------

FAILING = """
import ctypes
import numpy as np
import jittape as jt
from jittape.compile.llvm.blas import blas, symbol
from jittape.compile.llvm.symbols import define

def fail(*arguments):
    ctypes.cast(arguments[ARGUMENT], ctypes.POINTER(ctypes.c_int))[0] = 1

blas()
kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * COUNT)
callback = kind(fail)
define(symbol("ROUTINE"), ctypes.cast(callback, ctypes.c_void_p).value)
x = jt.Variable(np.eye(3))
function = jt.function(lambda x: x.assign_add(jt.ones_like(x) * jt.abs(jt.reduce_sum(jt.linalg.NAME(x)[0]))))
for _ in range(2):
    try:
        function(x)
    except jt.LinAlgError as error:
        print(error)
assert (x.numpy() == np.eye(3)).all(), x.numpy()
native = jt.njit_function(jt.linalg.NAME, jt.TensorSpec((3, 3), jt.float64))
try:
    native(np.eye(3))
except ValueError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("name", "routine", "count"),
    [
        *[("eigvalsh", "dsyevd", 13), ("eigvals", "dgeev", 16), ("svd", "dgesdd", 15)],
        *[("sqrtm", "dgees", 17), ("logm", "dgees", 17)],
    ],
    ids=["eigvalsh", "eigvals", "svd", "sqrtm", "logm"],
)
def test_an_error_code_of_lapack_ends_the_run(name: str, routine: str, count: int, tmp_path: Any) -> None:
    """LAPACK converges for every matrix that one tries: the symbol is replaced by a routine that does not."""
    argument = count - (2 if name == "svd" else 3)
    text = FAILING.replace("ROUTINE", routine).replace("NAME", name)
    text = text.replace("COUNT", str(count)).replace("ARGUMENT", str(argument))
    done = run_python("-c", text, JITTAPE_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    for line in lines:
        assert f"[{name.replace('vals', '')}] a matrix does not converge in LAPACK" in line


# ---- loops and functions ---------------------------------------------------------------------------------------------


def subspace(matrix: Any, start: Any, steps: int) -> Any:
    """Return the dominant values of a matrix by orthogonal iteration."""

    def body(q: Any, _: Any) -> Any:
        return jt.linalg.qr(jt.matmul(matrix, q)).q

    q = jt.scan(body, jt.zeros((steps, 1), jt.float64), initializer=start)[-1]
    return jt.linalg.diag_part(jt.matmul(q, jt.matmul(matrix, q), transpose_a=True))


def test_a_loop_with_a_decomposition_is_compiled_with_its_gradient() -> None:
    q = np.linalg.qr(normal((6, 6)))[0]
    matrix = (q * 2.0 ** np.arange(6)) @ q.T
    start = normal((6, 2), seed=1)
    run = jt.function(jt.value_and_grad(lambda a: jt.reduce_sum(subspace(a, start, 60))))
    for _ in range(3):
        total, gradient = run(matrix)
        np.testing.assert_allclose(total, 48.0, rtol=1e-12)
        np.testing.assert_allclose(gradient, q[:, -2:] @ q[:, -2:].T, atol=1e-9)
    assert not any("NumPy" in step.title for step in jt.explain().steps)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_carried_matrices_are_decomposed_in_every_round(dtype: str) -> None:
    x = normal((5, 4, 4), dtype)

    def body(carry: Any, x: Any) -> Any:
        s, u, v = jt.linalg.svd(carry + x)
        values, vectors = jt.linalg.eigh(x)
        scale = jt.cast(jt.reduce_sum(s) + values[0] + jt.linalg.eigvalsh(x)[1], carry.dtype)
        rotated = jt.matmul(u, v, adjoint_b=True) + jt.matmul(vectors, vectors, adjoint_b=True)
        return rotated * scale + jt.linalg.qr(x, full_matrices=True).r

    run = jt.function(lambda xs: jt.scan(body, xs, initializer=jt.zeros((4, 4), dtype)))
    carry, expected = np.zeros((4, 4), dtype), []
    for matrix in x:
        u, s, vh = np.linalg.svd(carry + matrix)
        w = np.linalg.eigvalsh(matrix)
        carry = (u @ vh + np.eye(4)) * (s.sum() + w[0] + w[1]) + np.linalg.qr(matrix)[1]
        expected.append(carry)
    for _ in range(3):
        np.testing.assert_allclose(run(x), expected, rtol=1e-9, atol=1e-9)
    assert not any("NumPy" in step.title for step in jt.explain().steps)
