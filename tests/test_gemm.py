"""Matrix products as kernels: which views need no copy, which form a product takes, values against NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jittape as jt
from host_schedules import schedule
from jittape.compile.analysis.gemm_operands import (
    BatchLoop,
    Matrix,
    Product,
    block_sizes,
)
from jittape.compile.ir.gemm_kernel import Gemm
from jittape.compile.llvm import blas
from jittape.compile.llvm.blas import Blas, has_avx512, host_facts
from jittape.compile.schedule.steps import Schedule
from jittape.core.interpret import interpret
from jittape.core.program import Program
from jittape.core.simplify import simplify
from jittape.core.tuning import tuning
from jittape.primitives.broadcast import broadcast_to_op, reshape_op
from jittape.primitives.elementwise.arithmetic import add
from jittape.primitives.elementwise.exponential import exp
from jittape.primitives.elementwise.hyperbolic import tanh
from jittape.primitives.linalg.einsum import einsum
from jittape.primitives.linalg.matmul import matmul, matmul_op, tensordot
from jittape.primitives.shape.views import Region, slice_op, transpose_op
from programs import compiled, gradient_program, program_of

Array = np.ndarray[Any, Any]


def plan(function: Any, *shapes: tuple[int, ...], dtype: str = "float64") -> Schedule:
    return schedule(simplify(program_of(function, *[np.ones(shape, dtype) for shape in shapes])))


def steps(function: Any, *shapes: tuple[int, ...], dtype: str = "float64") -> list[str]:
    """For every step the form of a product, or "loop"."""
    kernels = [step.kernel for step in plan(function, *shapes, dtype=dtype).steps]
    return [k.form if isinstance(k, Gemm) else "loop" if k else "numpy" for k in kernels]


def sizes(function: Any, *shapes: tuple[int, ...]) -> dict[str, int]:
    """The symbols of the only step."""
    (step,) = plan(function, *shapes).steps
    assert isinstance(step.kernel, Gemm)
    return dict(zip(Gemm.SYMBOLS, step.sizes, strict=True))  # type: ignore[union-attr]


def transposed(x: Any, *perm: int) -> Any:
    return transpose_op.bind(x, perm=perm)


def sliced(x: Any, axis: int, start: int, count: int, step: int = 1) -> Any:
    return slice_op.bind(x, region=Region((axis,), (start,), (count,), (step,)))


def check_against_numpy(function: Any, *operands: Array) -> None:
    program = simplify(program_of(function, *operands))
    scale = 1e-3 if operands[0].dtype.itemsize // (1 + (operands[0].dtype.kind == "c")) == 4 else 1e-9
    for found, wanted in zip(compiled(program, operands), interpret(program, operands), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=scale, atol=scale)


def normal(*shape: int, dtype: str = "float64") -> Array:
    rng = np.random.default_rng(math.prod(shape) + len(shape))
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype.startswith("complex") else x).astype(dtype)


@pytest.fixture
def by_blas(override_tuning: Any) -> None:
    """The BLAS multiplies matrices of more than 8 rows or columns, on whatever machine."""
    override_tuning(tiled_gemm_multiplications=-1, tiny_gemm_multiplications=-1)


@pytest.fixture(params=[False, True])
def wide(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the schedule is for 32 registers of 64 bytes. LLVM compiles both for whatever machine."""
    monkeypatch.setattr(blas, "has_avx512", lambda: request.param)
    return bool(request.param)


# ---- views that need no copy -----------------------------------------------------------------------------------------

VIEWS = {
    "both transposed": (
        lambda x, y: matmul_op.bind(transposed(x, 1, 0), transposed(y, 1, 0)),
        ((30, 20), (40, 30)),
    ),
    "rows of a matrix": (lambda x, y: matmul_op.bind(sliced(x, 0, 5, 20), y), ((30, 20), (20, 40))),
    "every third row": (lambda x, y: matmul_op.bind(sliced(x, 0, 2, 9, 3), y), ((30, 20), (20, 40))),
    "columns of a matrix": (lambda x, y: matmul_op.bind(x, sliced(y, 1, 7, 20)), ((30, 20), (20, 40))),
    "columns, transposed": (
        lambda x, y: matmul_op.bind(transposed(sliced(x, 1, 3, 17), 1, 0), y),
        ((20, 30), (20, 40)),
    ),
    "some of a stack": (lambda x, y: matmul_op.bind(sliced(x, 0, 1, 2, 2), y), ((4, 20, 30), (2, 30, 20))),
    "one matrix for a stack": (
        lambda x, y: matmul_op.bind(broadcast_to_op.bind(x, shape=(5, 20, 30)), y),
        ((20, 30), (5, 30, 40)),
    ),
    "its transpose for a stack": (
        lambda x, y: matmul_op.bind(transposed(broadcast_to_op.bind(x, shape=(5, 30, 20)), 0, 2, 1), y),
        ((30, 20), (5, 30, 40)),
    ),
    "a matrix for each head": (matmul, ((6, 4, 20, 30), (4, 30, 40))),
    "a matrix for each member": (matmul, ((6, 4, 20, 30), (6, 1, 30, 40))),
    "heads": (
        lambda q, k: matmul_op.bind(transposed(q, 0, 2, 1, 3), transposed(k, 0, 2, 3, 1)),
        ((5, 20, 4, 16), (5, 30, 4, 16)),
    ),
    "attention scores": (
        lambda q, k: einsum("bthd,bshd->bhts", q, k),
        ((5, 20, 4, 16), (5, 30, 4, 16)),
    ),
    "a row": (lambda x, y: matmul_op.bind(sliced(x, 0, 3, 1), y), ((30, 20), (20, 40))),
    "a column": (lambda x, y: matmul_op.bind(x, sliced(y, 1, 3, 1)), ((30, 20), (20, 40))),
    "a column, transposed": (
        lambda x, y: matmul_op.bind(transposed(sliced(x, 1, 3, 1), 1, 0), y),
        ((20, 30), (20, 40)),
    ),
    "tensordot": (lambda x, y: tensordot(x, y, axes=([1], [1])), ((20, 30), (40, 30))),
}


@pytest.mark.usefixtures("packed")
@pytest.mark.parametrize("limit", [-1, 1 << 25])
@pytest.mark.parametrize("name", VIEWS)
def test_views_that_need_no_copy(name: str, limit: int, override_tuning: Any) -> None:
    override_tuning(tiled_gemm_multiplications=limit)
    function, shapes = VIEWS[name]
    is_copied = name in ("both transposed", "tensordot") and limit > 0 and has_avx512()
    assert len(plan(function, *shapes).steps) == 1 + is_copied
    check_against_numpy(function, *[normal(*shape) for shape in shapes])


COPIED = {
    "every second column": (lambda x, y: matmul_op.bind(sliced(x, 1, 0, 10, 2), y), ((30, 20), (10, 40))),
    "rows from the end": (
        lambda x, y: matmul_op.bind(sliced(x, 0, 29, 30, -1), y),
        ((30, 20), (20, 40)),
    ),
    "a row for all rows": (
        lambda x, y: matmul_op.bind(broadcast_to_op.bind(x, shape=(30, 20)), y),
        ((1, 20), (20, 40)),
    ),
    "three strides": (
        lambda x, y: matmul_op.bind(transposed(x, 2, 1, 0, 3, 4), y),
        ((2, 3, 4, 20, 30), (4, 3, 2, 30, 20)),
    ),
}


@pytest.mark.usefixtures("by_blas")
@pytest.mark.parametrize("name", COPIED)
def test_views_that_it_cannot_read_are_copied_first(name: str) -> None:
    function, shapes = COPIED[name]
    assert steps(function, *shapes) == ["loop", "matrix"]
    check_against_numpy(function, *[normal(*shape) for shape in shapes])


@pytest.mark.usefixtures("by_blas")
def test_a_part_of_what_need_not_be_stored_is_stored_alone() -> None:
    made = plan(lambda x, y: matmul_op.bind(sliced(exp(x), 0, 5, 3), y), (100, 20), (20, 40))
    assert [step.kernel.form if isinstance(step.kernel, Gemm) else "loop" for step in made.steps] == [
        "loop",
        "matrix",
    ]
    assert made.arena == 3 * 20 * 8 // 64 * 64 + 64


@pytest.mark.usefixtures("packed", "by_blas")
def test_no_transpose_is_left_in_the_gradient_of_a_network() -> None:
    def network(x: Any, u: Any, v: Any, w: Any) -> Any:
        for weights in (u, v, w):
            x = tanh(matmul_op.bind(x, weights))
        return x

    program = program_of(network, *[np.ones(s) for s in ((32, 64), (64, 40), (40, 30), (30, 10))])
    gradient = gradient_program(program, (1, 2, 3))
    whole = simplify(
        Program(gradient.inputs, gradient.ops, (*program.outputs, *gradient.outputs), gradient.avals)
    )
    for step in schedule(whole).steps:
        assert "transpose" not in [op.primitive.name for op in step.ops]


# ---- forms -----------------------------------------------------------------------------------------------------------


def test_products_with_vectors_have_a_form_of_their_own() -> None:
    assert steps(matmul, (50, 400), (400,)) == steps(matmul, (400,), (400, 500)) == ["vector"]


def product(m: int, n: int, k: int, flags: tuple[bool, bool] = (False, False)) -> Product:
    x, y = (Matrix(i, t, 1, 0) for i, t in enumerate(flags))
    return Product(x, y, m, n, k, (BatchLoop(1, 0, 0), BatchLoop(1, 0, 0)))


@pytest.fixture
def unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernels of OpenBLAS that need no packing, on whatever machine."""
    monkeypatch.setattr(Blas, "unpacked", True)


@pytest.fixture
def packed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Blas, "unpacked", False)


@pytest.mark.parametrize(
    "shape", [(32, 128, 784), (784, 128, 32), (20, 3000, 40), (128, 128, 128), (1, 1, 1)]
)
def test_skinny_products_are_cut_along_their_longest_extent(shape: tuple[int, int, int]) -> None:
    cut = block_sizes(product(*shape), True)
    assert block_sizes(product(*shape), False) == shape
    assert block_sizes(product(*shape, (False, True)), True) == shape
    if math.prod(shape) <= tuning.unpacked_gemm_multiplications or min(shape) > tuning.cut_gemm_extent:
        assert cut == shape
        return
    assert [a for a, b in zip(shape, cut, strict=True) if a != b] == [max(shape)]
    assert math.prod(cut) <= tuning.gemm_piece_multiplications


@pytest.mark.usefixtures("unpacked", "by_blas")
@pytest.mark.parametrize("shape", [(33, 1100, 40), (1100, 33, 40), (33, 40, 1100), (30, 60, 784)])
@pytest.mark.parametrize("flags", [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_values_of_products_in_pieces(
    shape: tuple[int, int, int], flags: tuple[bool, bool], dtype: str
) -> None:
    m, n, k = shape
    x = normal(*((k, m) if flags[0] else (m, k)), dtype=dtype)
    y = normal(*((n, k) if flags[1] else (k, n)), dtype=dtype)
    found = sizes(lambda a, b: matmul(a, b, *flags), x.shape, y.shape)
    assert (found["pm"], found["pn"], found["pk"]) == block_sizes(product(*shape, flags), True) != shape
    check_against_numpy(lambda a, b: matmul(a, b, *flags), x, y)


@pytest.mark.usefixtures("unpacked", "by_blas")
def test_a_transpose_is_written_out_where_that_is_cheaper() -> None:
    def once(x: Any, w: Any) -> Any:
        return matmul(x, w, transpose_b=True)

    def often(x: Any, w: Any) -> Any:
        for _ in range(8):
            x = tanh(matmul(x, w, transpose_b=True))
        return x

    assert steps(once, (64, 64), (64, 64)) == ["loop", "matrix"]
    assert steps(once, (16, 128), (32, 128)) == ["matrix"]
    assert steps(once, (256, 256), (256, 256)) == ["matrix"]
    assert steps(lambda x, w: matmul_op.bind(x, transposed(w, 0, 2, 1)), (5, 64, 64), (5, 64, 64)) == [
        "loop",
        "matrix",
    ]
    assert steps(often, (16, 64), (64, 64)) == ["loop", *["matrix", "loop"] * 8]
    check_against_numpy(often, normal(16, 64), normal(64, 64) / 8)


@pytest.mark.usefixtures("packed")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_transpose_is_written_out_for_loops(dtype: str, wide: bool) -> None:
    def product(x: Any, w: Any) -> Any:
        return matmul(x, w, transpose_b=True)

    def often(x: Any, w: Any) -> Any:
        for _ in range(4):
            x = tanh(matmul(x, w, transpose_b=True))
        return x

    copied = ["loop", "tiled"] if wide else ["matrix"]
    assert steps(product, (16, 128), (32, 128), dtype=dtype) == copied
    assert steps(lambda x, w: matmul(x, w, True, True), (128, 16), (32, 128), dtype=dtype) == copied
    assert steps(product, (5, 32, 64), (5, 32, 64), dtype=dtype) == copied
    assert steps(product, (15, 128), (32, 128), dtype=dtype) == ["matrix"]  # few rows
    assert steps(product, (16, 2000), (32, 2000), dtype=dtype) == ["matrix"]
    assert steps(often, (4, 40), (40, 40), dtype=dtype) == (
        ["loop", *["tiled", "loop"] * 4] if wide else ["matrix", "loop"] * 4
    )
    check_against_numpy(product, normal(5, 32, 64, dtype=dtype), normal(5, 33, 64, dtype=dtype))
    check_against_numpy(often, normal(4, 40, dtype=dtype), normal(40, 40, dtype=dtype) / 6)


@pytest.mark.usefixtures("packed", "by_blas")
def test_a_transpose_stays_a_flag_where_products_are_packed() -> None:
    assert steps(lambda x, w: matmul(x, w, transpose_b=True), (64, 64), (64, 64)) == ["matrix"]


# ---- values ----------------------------------------------------------------------------------------------------------


@st.composite
def products(draw: st.DrawFn) -> tuple[Any, list[Array]]:
    """A product of two views of every kind, and operands."""
    m, n, k = (draw(st.one_of(st.integers(0, 9), st.sampled_from([15, 16, 17, 40]))) for _ in range(3))
    lead = draw(st.lists(st.integers(0, 4), max_size=3))
    dtype = draw(st.sampled_from(["float32", "float64", "complex64", "complex128"]))
    views, operands = [], []
    for matrix in ((m, k), (k, n)):
        shape = (*lead, *matrix)
        perm = draw(st.permutations(range(len(shape)))) if draw(st.booleans()) else list(range(len(shape)))
        inverse = [perm.index(axis) for axis in range(len(perm))]
        stored = tuple([shape[axis] for axis in inverse])
        kept = [n if draw(st.integers(0, 3)) else 1 for n in stored]
        axis = draw(st.integers(0, len(shape) - 1))
        extra, step = draw(st.integers(0, 2)), draw(st.sampled_from([1, 1, 2, -1]))

        def view(
            x: Any,
            stored: Any = stored,
            perm: Any = tuple(perm),
            axis: int = axis,
            extra: int = extra,
            step: int = step,
        ) -> Any:
            count = (x.shape[axis] - extra + abs(step) - 1) // abs(step)
            x = sliced(x, axis, extra if step > 0 else x.shape[axis] - 1, count, step)
            if x.shape != stored:
                x = broadcast_to_op.bind(x, shape=stored)
            return transposed(x, *perm)

        kept[axis] = extra + abs(step) * kept[axis]
        views.append(view)
        operands.append(normal(*kept, dtype=dtype))
    return lambda x, y: matmul_op.bind(views[0](x), views[1](y)), operands


@pytest.mark.parametrize("limit", [-1, 1 << 25])
@settings(max_examples=150, deadline=None, derandomize=True)
@given(products())
def test_products_of_random_views(limit: int, drawn: tuple[Any, list[Array]]) -> None:
    with tuning.override(tiled_gemm_multiplications=limit, tiny_gemm_multiplications=limit):
        check_against_numpy(drawn[0], *drawn[1])


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize(
    "shape", [(20, 1, 30), (1, 20, 30), (1, 1, 30), (20, 1, 0), (0, 1, 20), (3, 1, 1), (4, 4, 4), (30, 20, 0)]
)
def test_what_stood_in_the_result_before_does_not_matter(dtype: str, shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    program = program_of(matmul, normal(m, k, dtype=dtype), normal(k, n, dtype=dtype))
    x, y = normal(m, k, dtype=dtype), normal(k, n, dtype=dtype)
    (found,) = compiled(program, [x, y], fill=np.nan)
    np.testing.assert_allclose(found, x @ y, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("flags", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tiny_products_of_every_size(dtype: str, flags: tuple[bool, bool]) -> None:
    for m, n, k in [(m, n, k) for m in (1, 3, 4, 7, 8) for n in (1, 5, 8) for k in (0, 1, 8)]:
        x = normal(3, *((k, m) if flags[0] else (m, k)), dtype=dtype)
        y = normal(3, *((n, k) if flags[1] else (k, n)), dtype=dtype)
        program = simplify(program_of(lambda a, b: matmul(a, b, *flags), x, y))
        assert [step.kernel.form for step in schedule(program).steps] == ["tiny"]  # type: ignore[union-attr]
        (found,) = compiled(program, [x, y], fill=np.nan)
        wanted = (np.swapaxes(x, 1, 2) if flags[0] else x) @ (np.swapaxes(y, 1, 2) if flags[1] else y)
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("flags", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.usefixtures("packed")
def test_tiled_products_of_every_size(dtype: str, flags: tuple[bool, bool], wide: bool) -> None:
    """Full and partial blocks of rows and panels of columns; without wide registers in blocks of four rows."""
    extents = [(m, n, 16) for m in (2, 4, 5, 8, 9, 12, 13, 23) for n in (2, 9, 16, 17, 24, 33, 47)]
    extents += [(9, 9, 0), (9, 17, 1), (0, 20, 16), (20, 0, 16)]
    if not flags[1]:
        extents += [(10, 10, 100), (20, 33, 77), (11, 9, 1024)]
    for m, n, k in extents:
        x = normal(3, *((k, m) if flags[0] else (m, k)), dtype=dtype)
        y = normal(3, *((n, k) if flags[1] else (k, n)), dtype=dtype)
        program = simplify(program_of(lambda a, b: matmul(a, b, *flags), x, y))
        if m * n and flags != (True, True):
            form = schedule(program).steps[-1].kernel.form  # type: ignore[union-attr]
            assert form == ("tiled" if wide else "tiny" if m * n * k <= 4096 else "matrix")
        (found,) = compiled(program, [x, y], fill=np.nan)
        wanted = (np.swapaxes(x, 1, 2) if flags[0] else x) @ (np.swapaxes(y, 1, 2) if flags[1] else y)
        tolerance = 1e-3 if dtype == "float32" else 1e-10
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.usefixtures("packed")
def test_bits_of_tiled_products_depend_on_the_summands_only(dtype: str, wide: bool) -> None:
    """Where loops multiply, rows and columns of a product are the products of these rows and columns, bit for bit."""
    x, y = normal(40, 30, dtype=dtype), normal(30, 50, dtype=dtype)
    if not wide:
        x, y = x[:12], y[:, :11]

    def product_of_parts(rows: slice, columns: slice) -> Array:
        operands = [np.ascontiguousarray(x[rows]), np.ascontiguousarray(y[:, columns])]
        (found,) = compiled(simplify(program_of(matmul, *operands)), operands)
        return found

    whole = product_of_parts(slice(None), slice(None))
    for rows in (slice(0, 9), slice(3, 10), slice(7, 40)):
        for columns in (slice(0, 10), slice(1, 50), slice(9, 33)):
            np.testing.assert_array_equal(product_of_parts(rows, columns), whole[rows, columns])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_of_open_lengths_have_the_bits_of_those_of_known_lengths(dtype: str) -> None:
    """One kernel chooses between loops and the BLAS: both have the bits that the sizes alone decide."""
    w = jt.Variable(np.zeros((16, 24), dtype))

    def step(x: Any, y: Any, rate: Any) -> Any:
        with jt.GradientTape() as tape:
            loss = jt.reduce_sum(x @ w * y)
        w.assign_sub(rate * tape.gradient(loss, w))
        return jt.transpose(x) @ y, x @ (jt.transpose(x) * 2.0)

    specs = [jt.TensorSpec([None, k], dtype) for k in (16, 24)]
    general = jt.function(step, input_signature=[*specs, jt.TensorSpec([], dtype)])
    rng = np.random.default_rng(0)
    for n in (211, 1023, 1024, 1025, 1500, 37, 9, 5):
        x, y = (rng.normal(size=(n, k)).astype(dtype) for k in (16, 24))
        for rate in (0.5, 0.0):
            found = []
            for call in (general, jt.function(step)):
                w.assign(np.ones((16, 24), dtype))
                for _ in range(2):
                    results = call(x, y, np.asarray(rate, dtype))
                found.append([r.numpy() for r in (*results, w)])
            for a, b in zip(*found, strict=True):
                np.testing.assert_array_equal(a, b)
            np.testing.assert_allclose(found[0][0], x.T @ y, rtol=1e-3, atol=1e-2)
    texts = [used.kernel.text for used in general.get_concrete_function(x, y, rate)._trace.compiled.kernels]
    form = "tiled or matrix" if host_facts().wide_registers else "tiny or matrix"
    assert any([form in text for text in texts])
    assert general.trace_count == 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dot_products_of_every_size(dtype: str) -> None:
    sizes = [(m, n, k) for m in (2, 5, 7, 10, 16) for n in (3, 6, 10) for k in (64, 107)]
    for m, n, k in sizes:
        x, y = normal(3, m, k, dtype=dtype), normal(3, n, k, dtype=dtype)
        program = simplify(program_of(lambda a, b: matmul(a, b, False, True), x, y))
        (step,) = schedule(program).steps
        assert step.kernel.form.startswith("dots")  # type: ignore[union-attr]
        (found,) = compiled(program, [x, y], fill=np.nan)
        np.testing.assert_allclose(found, x @ np.swapaxes(y, 1, 2), rtol=1e-3, atol=1e-4)


def test_dot_products_are_added_to_what_is_there() -> None:
    def total(a: Any, b: Any) -> Any:
        return add(matmul(a, b, False, True), matmul(exp(b), exp(a), False, True))

    shapes = (7, 100), (7, 100)
    assert accumulating(plan(total, *shapes)) == [False, True]
    check_against_numpy(total, normal(*shapes[0]), normal(*shapes[1]) + 1)


@pytest.mark.usefixtures("packed")
def test_small_products_are_kernels_without_the_blas(wide: bool) -> None:
    tiled = "tiled" if wide else "matrix"
    assert steps(matmul, (1000, 4, 4), (1000, 4, 4)) == steps(matmul, (8, 8), (8, 8)) == ["tiny"]
    assert steps(matmul, (16, 16), (16, 16)) == ["tiled" if wide else "tiny"]
    assert steps(matmul, (64, 17, 17), (64, 17, 17), dtype="float32") == [tiled]
    assert steps(matmul, (256, 784), (784, 128), dtype="float32") == [tiled]
    assert steps(matmul, (50, 1), (1, 83)) == [tiled]
    assert steps(matmul, (64, 64), (64, 2)) == steps(matmul, (2, 64), (64, 64)) == [tiled]
    assert steps(matmul, (16, 1025), (1025, 16)) == ["matrix"]  # many summands
    assert steps(matmul, (20, 1000), (1000, 600)) == ["matrix"]  # a large right operand
    assert steps(matmul, (20, 1000), (1000, 600), dtype="float32") == [tiled]
    assert steps(matmul, (9000, 64), (64, 64)) == ["matrix"]
    assert steps(matmul, (4, 4), (4, 4), dtype="complex64") == ["matrix"]
    assert steps(matmul, (20, 20), (20, 20), dtype="complex128") == ["matrix"]


@pytest.mark.usefixtures("unpacked")
def test_the_blas_for_avx512_keeps_products_of_few_rows_or_columns(wide: bool) -> None:
    tiled = "tiled" if wide else "matrix"
    assert steps(matmul, (64, 64), (64, 4)) == steps(matmul, (4, 64), (64, 64)) == ["matrix"]
    assert steps(matmul, (64, 64), (64, 9), dtype="float32") == ["matrix"]
    assert steps(matmul, (64, 64), (64, 5)) == steps(matmul, (5, 64), (64, 64)) == [tiled]
    assert steps(matmul, (64, 64), (64, 10), dtype="float32") == [tiled]


# ---- sums of products ------------------------------------------------------------------------------------------------


def accumulating(made: Schedule) -> list[bool]:
    return [step.kernel.accumulates for step in made.steps if isinstance(step.kernel, Gemm)]


@pytest.mark.parametrize("n", [30, 1, 4])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_a_sum_of_products_is_added_up_in_place(n: int, dtype: str) -> None:
    def total(*operands: Any) -> Any:
        result = matmul(operands[0], operands[1])
        for x, y in zip(operands[2::2], operands[3::2], strict=True):
            result = add(matmul(x, y), result) if x is operands[4] else add(result, matmul(x, y))
        return result

    m = min(n, 4) if n < 20 else 20
    shapes = [(m, 4 if n < 20 else 1100), (4 if n < 20 else 1100, n)] * 4
    made = plan(total, *shapes, dtype=dtype)
    assert accumulating(made) == [False, True, True, True]
    assert len(made.steps) == 4
    assert made.arena == 0
    operands = [normal(*shape, dtype=dtype) + np.dtype(dtype).type(i) for i, shape in enumerate(shapes)]
    check_against_numpy(total, *operands)


def test_products_that_are_needed_otherwise_are_left_alone() -> None:
    def shown(x: Any, y: Any) -> Any:
        first, second = matmul(x, y), matmul(y, x)
        return add(first, second), second

    def twice(x: Any, y: Any) -> Any:
        first = matmul(x, y)
        return add(first, first)

    def to_input(x: Any, y: Any) -> Any:
        return add(matmul(x, y), x)

    for function in (shown, twice, to_input):
        made = plan(function, (20, 20), (20, 20))
        assert not any(accumulating(made))
        check_against_numpy(function, normal(20, 20), normal(20, 20) + 1)


def test_sums_of_products_that_are_results_or_views_of_results() -> None:
    def results(x: Any, y: Any) -> Any:
        total = add(matmul(x, y), matmul(y, x))
        return total, reshape_op.bind(total, shape=(400,)), exp(total), add(total, matmul(total, y))

    assert accumulating(plan(results, (20, 20), (20, 20))) == [False, True, False]
    check_against_numpy(results, normal(20, 20) / 20, normal(20, 20) / 20 + 0.1)

    def view_only(x: Any, y: Any) -> Any:
        return reshape_op.bind(add(matmul(x, y), matmul(y, x)), shape=(400,))

    made = plan(view_only, (20, 20), (20, 20))
    assert accumulating(made) == [False, True]
    assert made.arena == 0
    check_against_numpy(view_only, normal(20, 20), normal(20, 20) + 1)


def test_the_gradient_of_a_weight_used_in_every_step_is_one_array() -> None:
    def recurrent(x: Any, w: Any) -> Any:
        for _ in range(10):
            x = tanh(matmul_op.bind(x, w))
        return x

    program = program_of(recurrent, np.ones((16, 32)), np.ones((32, 32)))
    gradient = simplify(gradient_program(program, (1,)))
    made = schedule(gradient)
    assert accumulating(made).count(True) == 9
    operands = [normal(16, 32), normal(32, 32) / 6, np.ones((16, 32))]
    for found, wanted in zip(compiled(gradient, operands), interpret(gradient, operands), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint32", "int64", "uint64"])
@pytest.mark.parametrize(
    ("x_shape", "y_shape"),
    [
        ((3, 4), (4, 5)),
        ((1, 4), (4, 1)),
        ((2, 3, 40), (2, 40, 7)),
        ((3, 0), (0, 5)),
        ((0, 3), (3, 5)),
        ((3, 3), (3, 3)),
    ],
)
def test_products_of_integers_are_loops_and_wrap_around(x_shape: Any, y_shape: Any, dtype: str) -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-100, 100, shape).astype(dtype) for shape in (x_shape, y_shape))
    loops = [] if x_shape[0] == 0 else ["loop"]  # a result without elements takes no step
    assert steps(lambda x, y: matmul_op.bind(x, y), x_shape, y_shape, dtype=dtype) == loops
    program = program_of(matmul_op.bind, x, y)
    (found,), (wanted,) = compiled(program, [x, y], fill=77), interpret(program, [x, y])
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("rows", "columns"), [(10, 10), (16, 14), (14, 40)])
def test_long_sums_of_short_products_are_added_once_on_any_number_of_threads(rows, columns):
    """A product of fewer rows and columns than a share of it has is one thread's, and not each thread's."""
    rng = np.random.default_rng(3)
    operands = [rng.normal(size=shape) for shape in ((rows, 30_000), (30_000, columns)) * 2]
    program = program_of(lambda a, b, c, d: add(matmul_op.bind(a, b), matmul_op.bind(c, d)), *operands)
    before = jt.config.threads
    try:
        for threads in (1, 2, 5):
            jt.config.threads = threads
            (got,) = compiled(program, operands)
            np.testing.assert_allclose(got, operands[0] @ operands[1] + operands[2] @ operands[3], rtol=1e-9)
    finally:
        jt.config.threads = before


def test_batches_without_elements_have_one_loop():
    """Strides of an array without elements do not join; the scheduler failed where three loops were left."""
    x, y = np.ones((2, 0, 3, 0, 4, 5)), np.ones((2, 0, 3, 0, 5, 6))
    for function in (jt.matmul, jt.function(lambda x, y: jt.matmul(x, y))):
        for _ in range(3):
            assert function(x, y).numpy().shape == (2, 0, 3, 0, 4, 6)
