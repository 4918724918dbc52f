"""Texts of kernels, structural numbers and symbols; index maps; loops over many arrays."""

import llvmlite.binding as llvm
import numpy as np
import pytest

import jittape as jt
from host_schedules import schedule
from jittape.compile.cache.emit_kernel import definition_of, emit_module
from jittape.compile.ir.index_maps import Access, Condition, Position, Quotient, identity, placed, viewed
from jittape.compile.ir.kernel import label_of
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.compile.kernels.loop.scalar_body import _places
from jittape.compile.llvm import target
from jittape.core.buffers import Buffer
from jittape.core.builder import literal
from jittape.core.forms import Index, Map
from jittape.core.interpret import interpret
from jittape.core.primitive import Primitive
from jittape.core.tuning import tuning
from jittape.primitives.broadcast import broadcast_to_op, iota_op, sum_op
from jittape.primitives.elementwise.arithmetic import add, multiply, negative, square
from jittape.primitives.elementwise.exponential import exp
from jittape.primitives.linalg.matmul import matmul_op
from jittape.primitives.reduce.cumulative import cumsum_op
from jittape.primitives.shape.views import Region, pad_op, slice_op, transpose_op
from jittape.runtime.executable import CompiledExecutable
from programs import program_of


def kernels_of(function, *shapes, dtype=np.float32):
    program = program_of(function, *[np.ones(shape, dtype) for shape in shapes])
    return [step.kernel for step in schedule(program).steps]


def kernel_of(function, *shapes, dtype=np.float32):
    (kernel,) = kernels_of(function, *shapes, dtype=dtype)
    return kernel


def flipped(x, axis=0):
    n = x.shape[axis]
    return slice_op.bind(x, region=Region((axis,), (n - 1,), (n,), (-1,)))


def test_listing_in_full():
    def value_and_square(x):
        y = square(x)
        return y, sum_op.bind(y, axes=(0,))

    kernel = kernel_of(value_and_square, (7,))
    assert kernel.listing == (
        f"kernel {kernel.name}(a0: float32, r0: float32, r1: float32; n0, p0, t0)\n"
        "  for i0 in n0 by t0:\n"
        "    %0 = load a0[i0]\n"
        "    %1 = square %0\n"
        "    r0[i0] = %1\n"
        "    acc0 = sum(acc0, %1)\n"
        "  r1[] = acc0"
    )


@pytest.mark.parametrize("shape", [(7,), (3, 4), (2, 3, 4), (5, 1, 6), (1, 1, 9)])
def test_contiguous_arrays_of_any_rank_are_one_loop(shape):
    kernel = kernel_of(lambda x, y: add(exp(x), y), shape, shape)
    assert kernel.loops == 1
    assert kernel.name == kernel_of(lambda x, y: add(exp(x), y), (100,), (100,)).name


def test_scalars_have_no_loop():
    assert kernel_of(lambda x: add(x, x), ()).loops == 0
    assert kernel_of(lambda x: add(x, x), (1, 1)).text == kernel_of(lambda x: add(x, x), ()).text


@pytest.mark.parametrize(
    ("axes", "loops"),
    [((0,), 2), ((1,), 3), ((2,), 2), ((0, 1), 2), ((0, 2), 3), ((1, 2), 2), ((0, 1, 2), 1)],
)
def test_reductions_limit_loop_merging(axes, loops):
    assert kernel_of(lambda x: sum_op.bind(x, axes=axes), (6, 7, 8)).loops == loops


@pytest.mark.parametrize(
    ("function", "first", "second"),
    [
        (lambda x: exp(x), [(4,)], [(1000, 3)]),
        (lambda x: sum_op.bind(x, axes=(0,)), [(5, 6)], [(33, 7)]),
        (lambda x: sum_op.bind(x, axes=(0,)), [(5, 3)], [(33, 3)]),
        (lambda x: transpose_op.bind(x, perm=(1, 0)), [(4, 6)], [(9, 9)]),
        (lambda x: flipped(x, 1), [(4, 6)], [(7, 20)]),
        (lambda x, y: add(x, y), [(4, 6), (6,)], [(9, 9), (9,)]),
        (lambda x: multiply(x, 1.0 / x.shape[0]), [(7,)], [(11,)]),
        (lambda x, y: matmul_op.bind(x, y), [(2, 3), (3, 4)], [(5, 5), (5, 5)]),
    ],
)
def test_all_shapes_share_a_kernel(function, first, second):
    names = [[kernel.name for kernel in kernels_of(function, *shapes)] for shapes in (first, second)]
    assert names[0] == names[1]


def test_short_loops_are_unrolled():
    text = kernel_of(lambda x: sum_op.bind(x, axes=(1,)), (50, 3)).text
    assert text.count("for ") == 1
    assert "load a0[i0*3 + 2]" in text
    text = kernel_of(lambda x: sum_op.bind(x, axes=(0,)), (50, 3)).text
    assert text.count("for ") == 1
    assert "r0[2] = acc2" in text
    assert kernel_of(lambda x: sum_op.bind(x, axes=(0,)), (50, 5)).loops == 2


def test_kernels_of_different_structure_have_different_names():
    functions = [
        lambda x: exp(x),
        lambda x: square(x),
        lambda x: multiply(x, 2.0),
        lambda x: multiply(x, 1.0),
        lambda x: multiply(x, 0.1),
        flipped,
        lambda x: slice_op.bind(x, region=Region((0,), (0,), (2,), (2,))),
        lambda x: slice_op.bind(x, region=Region((0,), (0,), (2,), (3,))),
        lambda x: sum_op.bind(x, axes=(0,)),
    ]
    names = {kernel_of(f, (6,), dtype=d).name for f in functions for d in (np.float32, np.float64)}
    assert len(names) == 2 * len(functions)


def test_constants_that_are_not_structural_share_a_kernel():
    assert (
        kernel_of(lambda x: multiply(x, 0.1), (3,)).name == kernel_of(lambda x: multiply(x, 0.3), (3,)).name
    )
    text = kernel_of(lambda x: multiply(x, float("inf")), (3,)).text
    assert "inf" in text


def test_minus_zero_and_zero_are_different_constants():
    plus, minus = (kernel_of(lambda x, z=z: add(x, literal(z, x.dtype)), ()) for z in (0.0, -0.0))
    assert plus.name != minus.name


def test_instructions_are_placed_in_the_loop_of_their_operands():
    kernel = kernel_of(lambda x, y: add(broadcast_to_op.bind(exp(x), shape=(3, 4)), y), (3, 1), (3, 4))
    assert isinstance(kernel, LoopKernel)
    lines = kernel.text.splitlines()
    assert [line for line in lines if "exp" in line] == ["    %1 = exp %0"]
    assert [line for line in lines if "add" in line] == ["      %3 = add %1, %2"]


def test_small_offsets_are_structural_and_large_ones_symbols():
    def moved(by):
        region = Region((0,), (by,), (20,), (1,))
        return kernel_of(lambda x: slice_op.bind(x, region=region), (40,))

    assert "load a0[i0 + 1]" in moved(1).text
    assert moved(1).name != moved(2).name
    assert moved(5).name == moved(9).name


def test_constant_offsets_and_dynamic_starts_are_run_time_integers():
    region = Region((0,), (None,), (3,), (1,))
    program = program_of(lambda x, i: slice_op.bind(x, i, region=region), np.ones((9, 2)), np.int64(1))
    text = schedule(program).steps[0].kernel.text
    assert "%0 = load a0[]" in text
    assert "load a1[%0*s0 + i0]" in text
    assert "load a0[i0*-1 + o0]" in kernel_of(flipped, (5,)).text


def test_a_padded_value_is_a_masked_load():
    region = Region((0,), (3,), (3,), (2,))
    kernel = kernel_of(lambda x: pad_op.bind(x, region=region, shape=(10,)), (3,))
    assert "(i0 + o0) / 2 exact < d0" in kernel.text
    assert "where %" in kernel.text


def test_iota_is_an_affine_value():
    program = program_of(lambda: iota_op.bind(shape=(3, 4), axis=1, dtype=np.dtype(np.float32)))
    assert "float32(i1)" in schedule(program).steps[0].kernel.text


def test_gemm_text_names_transposed_operands():
    def products(x, y):
        xt, yt = (transpose_op.bind(a, perm=(1, 0)) for a in (x, y))
        return matmul_op.bind(x, yt), matmul_op.bind(xt, y), matmul_op.bind(xt, yt)

    steps = kernels_of(products, (3, 3), (3, 3))
    assert [k.text.split()[-1] for k in steps] == ["nt", "tn", "tt"]


def test_primitives_of_one_name_get_numbers():
    def made():
        return Primitive("twin", abstract_eval=lambda x: x, impl=lambda x: x, lowering=Map(lambda m, x: x))

    first, second = made(), made()
    assert label_of(first) != label_of(second)
    assert label_of(first) == label_of(first)
    assert kernel_of(first.bind, (3,)).name != kernel_of(second.bind, (3,)).name


# ---- index maps ----------------------------------------------------------------------------------------------------


def test_two_flips_are_the_identity():
    index = (Index(0, -1, 4),)
    once = viewed(identity((5,)), index, (5,), (0,))
    assert once == Access((Position(0, -1, 4),))
    assert viewed(once, index, (5,), (0,)) == identity((5,))


def test_dimensions_of_extent_one_are_at_the_origin():
    assert viewed(identity((4, 3)), (Index(0), Index(1)), (4, 1), (0,)) == Access(
        (Position(0, 1), Position())
    )


def test_slicing_a_padded_value_cancels_the_condition():
    access = viewed(identity((3,)), (Index(0, 1, 2),), (8,), (0,))
    assert placed(access, (Index(0, 1, 2),), (3,), (0,), (3,)) == identity((3,))


def test_padding_with_a_step_divides_the_position():
    numerator = Position(0, 1, -1)
    access = placed(identity((8,)), (Index(0, 2, 1),), (3,), (0,), (8,))
    assert access == Access((Position(Quotient(numerator, 2), 1),), (Condition(numerator, 2, 3),))


# ---- loops over many arrays ------------------------------------------------------------------------------------------


def many(*arrays):
    """Read arrays forward, backward and at a distance; write, sum and accumulate along the loop."""
    n = arrays[0].shape[0]
    total = arrays[0]
    for i, x in enumerate(arrays[1:]):
        total = add(total, flipped(x) if i % 3 == 0 else square(x))
    window = slice_op.bind(total, region=Region((0,), (2,), (n - 4,), (1,)))
    return (
        total,
        sum_op.bind(total, axes=(0,)),
        cumsum_op.bind(exp(negative(square(arrays[1]))), axis=0),
        window,
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("length", [5, 1000, 70_001])
def test_results_of_a_loop_over_many_arrays(length, dtype, monkeypatch):
    arrays = [
        np.random.default_rng(i).normal(size=length).astype(dtype) for i in range(tuning.unrelated_min_places)
    ]
    program = program_of(many, *arrays)
    assert any(
        kernel is not None and len(_places(kernel)) >= tuning.unrelated_min_places
        for kernel in kernels_in(program)
    )
    wanted = interpret(program, arrays)
    monkeypatch.setattr(jt.config, "_cache", False)
    found = {}
    for limit in (tuning.unrelated_min_places, 10**6):
        with tuning.override(unrelated_min_places=limit):
            executable = CompiledExecutable(program, frozenset())
            found[limit] = [buffer.array.copy() for buffer in executable.run([Buffer(x) for x in arrays])]
    tolerance = 1e-4 if dtype is np.float32 else 1e-12
    for hidden, plain, value in zip(*found.values(), wanted, strict=True):
        np.testing.assert_array_equal(hidden, plain)
        np.testing.assert_allclose(hidden, value, rtol=tolerance, atol=tolerance)


def kernels_in(program):
    return [step.kernel for step in schedule(program).steps if isinstance(step.kernel, LoopKernel)]


def test_a_loop_over_many_arrays_is_vectorized():
    def summed(*arrays):
        total = arrays[0]
        for x in arrays[1:]:
            total = add(total, square(x))
        return total, sum_op.bind(total, axes=(0,))

    (kernel,) = kernels_in(program_of(summed, *[np.ones(100)] * tuning.unrelated_min_places))
    module = llvm.parse_assembly(target.module_text(emit_module([definition_of(kernel)])).text)
    assert "strip.invariant.group" in str(module)
    target.optimize(module)
    assert " x double> " in str(module)
