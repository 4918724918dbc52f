"""Steps in tile loops: which steps are tiled, their values, and the same bits for any number of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import jittape as jt
from host_schedules import schedule
from jittape.compile.ir.gemm_kernel import Gemm
from jittape.compile.schedule.steps import KernelStep
from jittape.core.buffers import Buffer
from jittape.core.interpret import interpret
from jittape.core.program import Program
from jittape.core.simplify import simplify
from jittape.core.tuning import tuning
from jittape.primitives.broadcast import broadcast_back, broadcast_to_op, sum_op
from jittape.primitives.elementwise.arithmetic import add, multiply, square, subtract
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import exp
from jittape.primitives.elementwise.trigonometric import sin
from jittape.primitives.linalg.matmul import matmul_op
from jittape.primitives.reduce.cumulative import cumsum_op
from jittape.primitives.reduce.reductions import max_op
from jittape.primitives.shape.views import Region, concat_op, placed, slice_op, sliced, transpose_op
from jittape.runtime.executable import CompiledExecutable
from programs import program_of
from random_programs import random_program

Array = np.ndarray[Any, Any]


@pytest.fixture
def small_tiles(override_tuning: Callable[..., None]) -> None:
    """Tile all rows that can be tiled."""
    override_tuning(row_tile_cached_bytes=0, row_tile_step_bytes=0, row_tile_bytes=1500)
    override_tuning(row_tile_groups_limit=5, row_tile_min_groups=2)


@pytest.fixture(autouse=True)
def threads_restored() -> Iterator[None]:
    before = jt.config.threads
    yield
    jt.config.threads = before


def normal(*shape: int) -> Array:
    return np.random.default_rng(len(shape)).normal(size=shape)


def softmax(x: Any) -> Any:
    e = exp(subtract(x, broadcast_back(max_op.bind(x, axes=(1,)), x.shape, (1,))))
    return divide(e, broadcast_back(sum_op.bind(e, axes=(1,)), x.shape, (1,)))


def hessian_product(x: Any, w: Any, v: Any) -> Any:
    p = matmul_op.bind(x, w)
    q = multiply(exp(p), matmul_op.bind(x, v))
    return matmul_op.bind(transpose_op.bind(x, perm=(1, 0)), q)


def stacks(x: Any, y: Any) -> Any:
    white = matmul_op.bind(sin(x), y)
    share = sum_op.bind(square(white), axes=(2,))
    return matmul_op.bind(transpose_op.bind(white, perm=(0, 2, 1)), x), share


def rows_and_columns(x: Any) -> Any:
    e = exp(x)
    return sum_op.bind(multiply(e, broadcast_back(sum_op.bind(e, axes=(1,)), x.shape, (1,))), axes=(0,))


def beside_running(x: Any, w: Any, y: Any) -> Any:
    """The running sum comes first, has as many rows as the tile loop, and cannot be cut at rows."""
    total = cumsum_op.bind(y, axis=0)
    q = exp(matmul_op.bind(x, w))
    return total, matmul_op.bind(transpose_op.bind(x, perm=(1, 0)), q)


def running(x: Any) -> Any:
    total = cumsum_op.bind(sin(x), axis=1)
    return divide(total, broadcast_back(max_op.bind(total, axes=(1,)), x.shape, (1,)))


def side_by_side(x: Any) -> Any:
    both = concat_op.bind(sin(x), exp(x), axis=1)
    return subtract(both, broadcast_back(sum_op.bind(both, axes=(1,)), both.shape, (1,)))


def stacked_rows(x: Any) -> Any:
    """The rows of the tile loop are the columns of the result."""
    total = sum_op.bind(exp(x), axes=(1,))
    squares = sum_op.bind(square(divide(x, broadcast_back(total, x.shape, (1,)))), axes=(1,))
    return concat_op.bind(*[jt.reshape(y, (1, x.shape[0])) for y in (exp(total), sin(squares))], axis=0)


PROGRAMS: list[tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = [
    (softmax, ((97, 13),)),
    (hessian_product, ((1010, 7), (7, 1), (7, 1))),
    (stacks, ((11, 20, 6), (11, 6, 6))),
    (rows_and_columns, ((600, 9),)),
    (running, ((60, 11),)),
    (beside_running, ((1010, 7), (7, 1), (1010, 3))),
    (side_by_side, ((90, 5),)),
    (stacked_rows, ((96, 7),)),
]


def tiles_of(program: Program) -> list[list[KernelStep]]:
    found: dict[int, list[KernelStep]] = {}
    for step in schedule(program).steps:
        if isinstance(step, KernelStep) and step.tile is not None:
            found.setdefault(id(step.tile), []).append(step)
    return list(found.values())


def run_on(threads: int, executable: CompiledExecutable, arrays: list[Array]) -> list[Array]:
    jt.config.threads = threads
    return [buffer.array.copy() for buffer in executable.run([Buffer(a) for a in arrays])]


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize(("function", "shapes"), PROGRAMS)
def test_values_in_row_tiles_and_the_same_bits_on_two_threads(
    function: Callable[..., Any], shapes: tuple[tuple[int, ...], ...], override_tuning: Callable[..., None]
) -> None:
    override_tuning(threads_at_parallel_work=tuning.parallel_work_ns)
    arrays = [normal(*shape) for shape in shapes]
    program = program_of(function, *arrays)
    (members,) = tiles_of(program)
    assert len(members) >= 2
    assert members[0].tile is not None
    assert members[0].tile.blocks > members[0].tile.groups > 1
    executable = CompiledExecutable(program, frozenset())
    alone, together = (run_on(count, executable, arrays) for count in (1, 2))
    for value, other, wanted in zip(alone, together, interpret(program, arrays), strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-12, atol=1e-13)
        assert value.tobytes() == other.tobytes()


@pytest.mark.usefixtures("small_tiles")
def test_columns_of_a_result_are_written_in_the_tile() -> None:
    program = program_of(stacked_rows, normal(96, 7))
    (members,) = tiles_of(program)
    assert len(members) == len(schedule(program).steps)


@pytest.mark.usefixtures("small_tiles")
def test_random_programs_in_row_tiles() -> None:
    found = 0
    for seed in range(150):
        program, arrays = random_program(seed, 40)
        found += len(tiles_of(program))
        got = run_on(1, CompiledExecutable(program, frozenset()), arrays)
        plain = interpret(program, arrays)
        for a, b in zip(got, plain, strict=True):
            if b.dtype == np.float64:
                np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8)
    assert found > 2


def test_rows_of_a_softmax_are_in_the_cache_for_all_its_passes() -> None:
    program = program_of(softmax, np.ones((5000, 100)))
    (members,) = tiles_of(program)
    assert [step.kernel.text.count("exp ") for step in members] == [0, 1, 0]
    tile = members[0].tile
    assert tile is not None
    # Neither the exponentials nor what is reduced has memory for all rows.
    assert schedule(program).arena <= 2 * tuning.row_tile_memory_bytes


def logsumexp(x: Any) -> Any:
    return jt.reduce_logsumexp(x, 1)


def normalized_rows(x: Any) -> Any:
    mean = jt.reduce_mean(x, 1, keepdims=True)
    variance = jt.math.reduce_variance(x, 1, keepdims=True)
    return jt.multiply(jt.subtract(x, mean), jt.math.rsqrt(variance))


def cross_entropy(x: Any) -> Any:
    return jt.nn.softmax_cross_entropy_with_logits(labels=jt.exp(x), logits=x)


@pytest.mark.parametrize("function", [logsumexp, normalized_rows, cross_entropy])
def test_what_rows_are_used_for_is_one_pass_over_memory(function: Callable[..., Any]) -> None:
    program = simplify(program_of(function, np.ones((5000, 100))))
    steps = schedule(program).steps
    over_rows = [step for step in steps if isinstance(step, KernelStep) and step.kernel.loops > 1]
    assert len(over_rows) <= 3
    assert len({id(step.tile) for step in over_rows}) == 1
    assert over_rows[0].tile is not None
    x = normal(1000, 200)
    executable = CompiledExecutable(simplify(program_of(function, x)), frozenset())
    wanted = interpret(program_of(function, x), [x])
    np.testing.assert_allclose(run_on(2, executable, [x])[0], wanted[0], rtol=1e-10, atol=1e-12)


def test_three_products_with_the_same_data_are_one_pass() -> None:
    program = program_of(hessian_product, np.ones((20_000, 50)), np.ones((50, 1)), np.ones((50, 1)))
    (members,) = tiles_of(program)
    assert [isinstance(step.kernel, Gemm) for step in members] == [True, True, False, True]


def test_what_needs_all_rows_is_not_in_the_tile() -> None:
    def normalized(x: Any) -> Any:
        y = exp(x)
        top = broadcast_to_op.bind(max_op.bind(y, axes=(0,)), shape=x.shape)
        return add(divide(y, top), sin(y))

    program = program_of(normalized, np.ones((5000, 100)))
    for members in tiles_of(program):
        written = [s.storages[-1] for s in members if s.kernel.text.count("max")]
        assert all(set(written).isdisjoint(s.storages[:-1]) for s in members)
    executable = CompiledExecutable(program, frozenset())
    x = normal(5000, 100)
    np.testing.assert_allclose(
        run_on(2, executable, [x])[0], interpret(program, [x])[0], rtol=1e-12, atol=1e-13
    )


def test_small_arrays_are_in_the_cache_anyway() -> None:
    assert not tiles_of(program_of(softmax, np.ones((200, 100))))


@pytest.mark.usefixtures("small_tiles")
def test_rows_that_another_block_computes_are_not_read_in_the_tile() -> None:
    def mirrored(x: Any) -> Any:
        y = exp(x)
        transpose_layouts = slice_op.bind(y, region=Region((0,), (x.shape[0] - 1,), (x.shape[0],), (-1,)))
        return multiply(add(y, transpose_layouts), broadcast_back(sum_op.bind(y, axes=(1,)), x.shape, (1,)))

    def next_row(x: Any) -> Any:
        y = exp(x)
        shifted = placed(sliced(y, 0, 1, x.shape[0] - 1), (0, 0), x.shape)
        return multiply(add(y, shifted), broadcast_back(sum_op.bind(y, axes=(1,)), x.shape, (1,)))

    def row_before(x: Any) -> Any:
        y = exp(x)
        shifted = placed(sliced(y, 0, 0, x.shape[0] - 1), (1, 0), x.shape)
        return multiply(add(y, shifted), broadcast_back(sum_op.bind(y, axes=(1,)), x.shape, (1,)))

    x = normal(200, 13)
    for function in (mirrored, next_row, row_before):
        program = program_of(function, x)
        got = run_on(1, CompiledExecutable(program, frozenset()), [x])
        np.testing.assert_allclose(got[0], interpret(program, [x])[0], rtol=1e-12)


@pytest.mark.usefixtures("small_tiles")
def test_a_sum_over_all_rows_is_not_read_in_the_tile(override_tuning: Callable[..., None]) -> None:
    """Each row reads the sum of the column of its number, so the address is that of a value of the row itself."""
    override_tuning(row_tile_bytes=30_000)

    def scaled(x: Any) -> Any:
        y = exp(x)
        return multiply(y, broadcast_back(sum_op.bind(y, axes=(0,)), x.shape, (1,)))

    x = normal(100, 100)
    program = program_of(scaled, x)
    got = run_on(1, CompiledExecutable(program, frozenset()), [x])
    np.testing.assert_allclose(got[0], interpret(program, [x])[0], rtol=1e-12)


def image_gradients(stride: int, padding: str, dilation: int) -> Callable[..., Any]:
    """Return a convolution with its gradients, as a function of images, filters and the cotangent of the result."""

    def function(x: Any, w: Any) -> Any:
        with jt.GradientTape() as tape:
            tape.watch([x, w])
            y = jt.nn.conv2d(x, w, stride, padding, dilations=dilation)
            loss = jt.reduce_sum(jt.sin(y))
        return y, *tape.gradient(loss, [x, w])

    return function


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (1, 2), (3, 1)])
@pytest.mark.parametrize("batch", [5, 8, 13])
def test_products_of_all_pixels_of_an_image_run_image_by_image(
    stride: int, dilation: int, padding: str, batch: int, override_tuning: Callable[..., None]
) -> None:
    override_tuning(row_tile_gemm_rows=1, threads_at_parallel_work=tuning.parallel_work_ns)
    step = jt.function(image_gradients(stride, padding, dilation))
    x, w = normal(batch, 9, 7, 4), normal(3, 3, 4, 6, 1)[..., 0]
    jt.config.threads = 1
    alone = [value.numpy() for value in step(x, w)]
    (signature,) = step._traces.traces()
    tiled = [s for s in signature.compiled.schedule.steps if isinstance(s, KernelStep) and s.tile is not None]
    assert any(isinstance(s.kernel, Gemm) for s in tiled) or stride > 1  # few windows: nothing is read twice
    jt.config.threads = 2
    together = [value.numpy() for value in step(x, w)]
    wanted = interpret(signature.program, [x, w])
    for value, other, expected in zip(alone, together, wanted, strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-11)
        assert value.tobytes() == other.tobytes()


def test_the_gradient_of_images_is_one_pass_over_them() -> None:
    """The windows and their cotangents, nine times the image, are in memory for few images at a time."""

    def gradient(x: Any, w: Any) -> Any:
        with jt.GradientTape() as tape:
            tape.watch(x)
            loss = jt.reduce_sum(jt.square(jt.nn.conv2d(x, w, 1, "SAME")))
        return tape.gradient(loss, x)

    def steps_for(batch: int) -> list[KernelStep]:
        step = jt.function(gradient)
        step(normal(batch, 28, 28, 32).astype(np.float32), normal(3, 3, 32, 64).astype(np.float32))
        (signature,) = step._traces.traces()
        return [s for s in signature.compiled.schedule.steps if isinstance(s, KernelStep)]

    steps = steps_for(32)
    assert sum([isinstance(s.kernel, Gemm) for s in steps]) == 2
    assert len({id(s.tile) for s in steps}) == 1
    assert steps[0].tile is not None
    # All pixels of few images have work for more threads than there are images.
    assert all(s.tile is None for s in steps_for(4) if isinstance(s.kernel, Gemm))


def test_a_flat_view_of_images_is_not_cut_where_masks_leave_the_image() -> None:
    """The zeros around each image belong to it: an address beyond the image is only read where the mask is false."""
    step = jt.function(image_gradients(1, "SAME", 1))
    x, w = normal(6, 40, 40, 16), normal(3, 3, 16, 8, 1)[..., 0]
    got = [value.numpy() for value in step(x, w)]
    (signature,) = step._traces.traces()
    for value, expected in zip(got, interpret(signature.program, [x, w]), strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-10)
