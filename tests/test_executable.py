"""Compiled programs against NumPy: values, memory that is handed out, errors, threads."""

import itertools
import threading

import numpy as np
import pytest

from jittape.compile.cache.kernel_cache import registry
from jittape.core.buffers import Buffer
from jittape.core.forms import Map
from jittape.core.interpret import interpret
from jittape.core.primitive import Primitive
from jittape.core.program import Program
from jittape.core.tuning import tuning
from jittape.errors import CompileError
from jittape.primitives.broadcast import broadcast_to_op, cast_op, reshape_op, sum_op
from jittape.primitives.elementwise.arithmetic import add, multiply, square, subtract
from jittape.primitives.elementwise.exponential import exp
from jittape.primitives.elementwise.trigonometric import sin
from jittape.primitives.identity import identity_op
from jittape.primitives.linalg.matmul import matmul_op
from jittape.primitives.reduce.reductions import all_op, any_op, max_op, min_op, prod_op
from jittape.primitives.shape.views import Region, pad_op, slice_op, transpose_op
from jittape.runtime.executable import CompiledExecutable
from programs import program_of
from random_programs import random_program

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES = ["float32", "float64", "bool", "float16", "complex64", "complex128", *INTEGERS]
REAL = [name for name in DTYPES if not name.startswith("complex")]


def run(program, arrays, scalars=frozenset()):
    executable = CompiledExecutable(program, frozenset(scalars))
    values = [a.item() if s in scalars else Buffer(a) for s, a in zip(program.inputs, arrays, strict=True)]
    return [buffer.array for buffer in executable.run(values)]


def compiled(function, *operands):
    """`function` compiled and run: its first result, checked for shape and dtype against the program."""
    arrays = [np.ascontiguousarray(x) if np.ndim(x) else np.asarray(x) for x in operands]
    program = program_of(function, *arrays)
    results = run(program, arrays)
    for slot, result in zip(program.outputs, results, strict=True):
        assert (result.shape, result.dtype) == program.avals[slot]
    return results[0]


def executable_of(function, *operands, scalars=frozenset()):
    return CompiledExecutable(program_of(function, *operands), frozenset(scalars))


def buffers(*arrays):
    return [Buffer(np.asarray(a)) for a in arrays]


def agree(found, wanted):
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    if wanted.dtype.kind not in "fc":
        np.testing.assert_array_equal(found, wanted)
        return
    tolerance = {2: 2e-2, 4: 2e-4, 8: 1e-9 if wanted.dtype.kind == "f" else 2e-4}.get(
        wanted.dtype.itemsize, 1e-9
    )
    with np.errstate(all="ignore"):
        scale = np.max(np.abs(np.where(np.isfinite(wanted), wanted, 0)), initial=1)
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * scale)


def loose(program):
    """Whether values lose precision on the way, so that casts to integers may differ."""
    return any(
        aval.dtype.kind in "ib" or aval.dtype.itemsize == 2 for aval in program.avals.values() if aval.ndim
    )


# ---- against the interpreter ---------------------------------------------------------------------------------------


def check_random(seed):
    program, arrays = random_program(seed)
    wanted = interpret(program, arrays)
    scalars = {s for s in program.inputs if program.avals[s].shape == () and (seed + s) % 2}
    found = run(program, arrays, scalars)
    for one, other in zip(found, wanted, strict=True):
        if loose(program):
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
        else:
            agree(one, other)


@pytest.mark.parametrize("block", range(8))
def test_random_programs(block):
    for seed in range(6 * block, 6 * block + 6):
        check_random(seed)


@pytest.mark.parametrize("limit", [1, 4])
def test_random_programs_cut_into_small_kernels(limit, override_tuning):
    override_tuning(split_cost_limit=limit, split_piece_cost=min(limit, tuning.split_piece_cost))
    for seed in range(100, 125):
        check_random(seed)


# ---- dtypes, shapes, reductions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype(name):
    x = np.array([[0, 1, 2], [3, 4, 5]]).astype(name)
    np.testing.assert_array_equal(compiled(lambda a: add(a, a), x), x + x)
    np.testing.assert_array_equal(compiled(lambda a: transpose_op.bind(a, perm=(1, 0)), x), x.T)
    np.testing.assert_array_equal(compiled(lambda a: sum_op.bind(a, axes=(0,)), x), x.sum(0, dtype=name))
    np.testing.assert_array_equal(compiled(lambda a: broadcast_to_op.bind(a, shape=(2, 2, 3)), x), [x, x])


@pytest.mark.parametrize("to", REAL)
@pytest.mark.parametrize("name", REAL)
def test_casts(name, to):
    x = np.array([0, 1, 2, 100]).astype(name)
    np.testing.assert_array_equal(compiled(lambda a: cast_op.bind(a, dtype=np.dtype(to)), x), x.astype(to))


@pytest.mark.parametrize("axes", [a for r in range(1, 4) for a in itertools.combinations(range(3), r)])
@pytest.mark.parametrize(
    "shape", [(3, 4, 5), (1, 4, 1), (2, 1030, 3), (3, 2, 2000), (0, 2, 3), (3, 0, 2), (2, 3, 0)]
)
def test_reductions_over_each_set_of_axes(shape, axes):
    x = np.random.default_rng(0).normal(size=shape)

    def several(a):
        return sum_op.bind(a, axes=axes), prod_op.bind(a, axes=axes), max_op.bind(a, axes=axes), square(a)

    for found, wanted in zip(
        run(program_of(several, x), [x]), interpret(program_of(several, x), [x]), strict=True
    ):
        agree(found, wanted)


def test_reductions_of_truth():
    x = np.array([[True, False, True], [True, True, True]])
    np.testing.assert_array_equal(compiled(lambda a: all_op.bind(a, axes=(1,)), x), [False, True])
    np.testing.assert_array_equal(compiled(lambda a: any_op.bind(a, axes=(0,)), ~x), [False, True, False])


@pytest.mark.parametrize("op", [max_op, min_op])
@pytest.mark.parametrize("at", [0, 50, 99])
def test_nan_wins_over_every_extremum(op, at):
    x = np.linspace(-1, 1, 100)
    x[at] = np.nan
    assert np.isnan(compiled(lambda a: op.bind(a, axes=(0,)), x))


@pytest.mark.parametrize(("m", "k", "n"), [(2, 3, 4), (0, 3, 4), (2, 0, 4), (2, 3, 0), (1, 1, 1)])
@pytest.mark.parametrize("batch", [(), (3,), (0,), (2, 3)])
def test_products(batch, m, k, n):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(*batch, m, k)), rng.normal(size=(*batch, k, n))
    swap = (*range(len(batch)), len(batch) + 1, len(batch))
    agree(compiled(matmul_op.bind, x, y), x @ y)
    xt, yt = np.swapaxes(x, -1, -2), np.swapaxes(y, -1, -2)
    agree(
        compiled(lambda a, b: matmul_op.bind(*[transpose_op.bind(z, perm=swap) for z in (a, b)]), xt, yt),
        x @ y,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128, np.int64])
def test_products_of_other_dtypes(dtype):
    x = np.arange(6).reshape(2, 3).astype(dtype)
    np.testing.assert_array_equal(
        compiled(lambda a: matmul_op.bind(a, transpose_op.bind(a, perm=(1, 0))), x), x @ x.T
    )


def test_a_dynamic_start_moves_without_compiling():
    region = Region((0,), (None,), (3,), (-2,))
    x = np.arange(20.0)
    executable = executable_of(lambda a, i: slice_op.bind(a, i, region=region), x, np.int64(0), scalars={1})
    for start in (19, 4, 10):
        (found,) = executable.run([*buffers(x), start])
        np.testing.assert_array_equal(found.array, x[start : (start - 6) if start > 6 else None : -2][:3])


@pytest.mark.parametrize("step", [1, -1, 2, -3])
@pytest.mark.parametrize("room", [0, 1, 4])
def test_placed_values_are_surrounded_by_zeros(step, room):
    x = np.full(100, 7.0)[:4]  # what lies behind it must not be read
    span = 3 * abs(step) + 1
    for offset in range(room + 1):
        region = Region((0,), (offset if step > 0 else offset + span - 1,), (4,), (step,))
        program = program_of(lambda a, r=region: add(pad_op.bind(a, region=r, shape=(span + room,)), 1.0), x)
        agree(run(program, [x])[0], interpret(program, [x])[0])


def test_placing_in_two_dimensions_with_a_dynamic_start():
    x = np.arange(6.0).reshape(2, 3)
    region = Region((0, 1), (None, 1), (2, 3), (1, 1))
    program = program_of(lambda a, i: pad_op.bind(square(a), i, region=region, shape=(5, 6)), x, np.int64(0))
    for start in range(4):
        agree(run(program, [x, np.int64(start)], {program.inputs[1]})[0], interpret(program, [x, start])[0])


# ---- accuracy ------------------------------------------------------------------------------------------------------


def test_a_long_float32_sum_is_accurate():
    x = np.full(10_000_000, 0.1, np.float32)
    found = compiled(lambda a: sum_op.bind(a, axes=(0,)), x)
    assert abs(found / np.sum(x, dtype=np.float64) - 1) < 1e-6


@pytest.mark.parametrize("shape", [(1_000_001,), (1000, 1001), (7, 143_000)])
def test_sums_are_as_accurate_as_numpys(shape):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32) + 1
    exact = np.sum(x, dtype=np.float64)
    found = compiled(lambda a: sum_op.bind(a, axes=tuple(range(len(shape)))), x)
    assert abs(found - exact) <= 2 * abs(np.sum(x) - exact) + 1e-6 * abs(exact)


def test_a_sum_that_cannot_be_merged_into_one_loop():
    x, y = np.random.default_rng(0).normal(size=(2, 600, 600))
    agree(
        compiled(lambda a, b: sum_op.bind(multiply(transpose_op.bind(a, perm=(1, 0)), b), axes=(0, 1)), x, y),
        np.sum(x.T * y),
    )


# ---- inputs and outputs --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DTYPES)
def test_scalars_of_every_dtype_are_passed_as_they_are(name):
    dtype = np.dtype(name)
    value = {"b": True, "c": 1 + 2j, "f": 1.5}.get(dtype.kind, 7)
    executable = executable_of(lambda x: add(x, x), dtype.type(0), scalars={0})
    (found,) = executable.run([value])
    assert found.array == dtype.type(value) + dtype.type(value)
    assert found.array.dtype == dtype


def test_a_scalar_beyond_the_range_rounds_or_wraps():
    (found,) = executable_of(lambda x: add(x, 1.0), np.float32(0), scalars={0}).run([1e300])
    assert found.array == np.inf
    (found,) = executable_of(lambda x: add(x, 1), np.uint8(0), scalars={0}).run([-1])
    assert found.array == 0
    (found,) = executable_of(lambda x: add(x, 1.0), np.float64(0), scalars={0}).run([3])
    assert found.array == 4.0


def test_outputs_may_repeat_and_may_be_inputs():
    program = program_of(lambda x, y: exp(x), np.ones(3), np.float64(2))
    x, y = program.inputs
    out = program.outputs[0]
    executable = CompiledExecutable(
        Program((x, y), program.ops, (out, x, out, y), program.avals), frozenset({y})
    )
    given = Buffer(np.ones(3))
    first, same, again, scalar = executable.run([given, 2.0])
    assert same is given
    assert first is again
    np.testing.assert_allclose(first.array, np.e)
    assert scalar.array == 2.0


def test_an_alias_of_an_input_does_not_share_its_memory():
    executable = executable_of(lambda x: reshape_op.bind(x, shape=(6,)), np.ones((2, 3)))
    given = Buffer(np.ones((2, 3)))
    (found,) = executable.run([given])
    assert not np.shares_memory(found.array, given.array)


def test_a_program_without_ops():
    executable = executable_of(lambda x: x, np.ones(3))
    given = Buffer(np.ones(3))
    assert executable.run([given]) == [given]
    assert executable.steps == executable.kernels == ()


# ---- memory that is handed out -------------------------------------------------------------------------------------


def test_memory_that_nobody_holds_is_used_again():
    executable = executable_of(exp, np.ones(5))
    given = buffers(np.ones(5))
    places = set()
    for _ in range(20):
        (held,) = executable.run(given)
        places.add(held.address)
    assert len(places) == 2


def test_memory_that_somebody_holds_is_left_alone():
    executable = executable_of(lambda x: add(x, 1.0), np.ones(3))
    held = [executable.run(buffers(np.full(3, float(i))))[0] for i in range(10)]
    for i, buffer in enumerate(held):
        np.testing.assert_array_equal(buffer.array, i + 1.0)


def test_memory_that_the_user_has_seen_is_never_used_again():
    executable = executable_of(lambda x: add(x, 1.0), np.ones(3))
    seen = [executable.run(buffers(np.full(3, float(i))))[0].view() for i in range(10)]
    for i, array in enumerate(seen):
        np.testing.assert_array_equal(array, i + 1.0)


def test_a_buffer_that_the_user_has_seen_goes_out_of_use():
    executable = executable_of(lambda x: add(x, 1.0), np.ones(3))
    for _ in range(10):
        (buffer,) = executable.run(buffers(np.ones(3)))
        assert not buffer.exposed
        buffer.view()
        del buffer


def test_an_array_held_without_its_buffer_is_left_alone():
    executable = executable_of(lambda x: add(x, 1.0), np.ones(3))
    derived = [executable.run(buffers(np.full(3, float(i))))[0].array[:2] for i in range(10)]
    for i, array in enumerate(derived):
        np.testing.assert_array_equal(array, i + 1.0)


def test_a_result_can_be_the_next_input():
    executable = executable_of(lambda x, y: (add(x, y), subtract(x, y)), np.ones(4), np.ones(4))
    x, y = buffers(np.ones(4), np.full(4, 2.0))
    a, b = x.array.copy(), y.array.copy()
    for _ in range(9):
        x, y = executable.run([x, y])
        a, b = a + b, a - b
    np.testing.assert_array_equal(x.array, a)
    np.testing.assert_array_equal(y.array, b)


# ---- sharing, errors, threads --------------------------------------------------------------------------------------


def test_another_shape_compiles_nothing():
    def step(x, w):
        h = sin(matmul_op.bind(x, w))
        return sum_op.bind(h, axes=(0, 1)), exp(h), sum_op.bind(h, axes=(0,))

    executable_of(step, np.ones((6, 30)), np.ones((30, 13)))
    before = registry.stats()
    executable = executable_of(step, np.ones((40, 7)), np.ones((7, 19)))
    after = registry.stats()
    assert after.compiled == before.compiled
    assert after.found > before.found
    assert all(kernel.found for kernel in executable.kernels)


def test_a_kernel_says_whether_it_was_found():
    def odd(x):
        return sin(sin(sin(add(x, 1.0))))

    assert [k.found for k in executable_of(odd, np.ones(3)).kernels] == [False]
    assert [k.found for k in executable_of(odd, np.ones((4, 4))).kernels] == [True]


def test_an_expression_that_fails_is_a_compile_error_with_the_listing():
    broken = Primitive(
        "broken", abstract_eval=lambda x: x, impl=np.sin, lowering=Map(lambda m, x: m.cast(x, np.int32))
    )
    program = program_of(broken.bind, np.ones(3))
    with pytest.raises(CompileError, match=r"broken gave int32(.|\n)*load a0"):
        CompiledExecutable(program, frozenset())
    with pytest.raises(CompileError):
        CompiledExecutable(program, frozenset())


def test_an_exception_in_a_numpy_step_leaves_the_executable_usable():
    moody = Primitive(
        "moody", abstract_eval=lambda x: x, impl=lambda x: 1 / (x[0] != 0) * x if x[0] else raising()
    )

    def raising():
        raise ZeroDivisionError("no")

    executable = executable_of(lambda x: exp(moody.bind(add(x, 0.0))), np.ones(2))
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            executable.run(buffers(np.zeros(2)))
        (found,) = executable.run(buffers(np.ones(2)))
        np.testing.assert_allclose(found.array, np.e)
    assert len(executable.free_workspaces) == 1


def test_a_numpy_step_that_returns_its_operand():
    same = Primitive("same", abstract_eval=lambda x: x, impl=lambda x: x)
    x = np.ones(3)
    (found,) = executable_of(lambda a: same.bind(a), x).run(given := buffers(x))
    assert found is not given[0]
    assert not np.shares_memory(found.array, x)
    np.testing.assert_allclose(compiled(lambda a: exp(identity_op.bind(same.bind(a))), x), np.exp(x))


def test_threads_share_an_executable():
    executable = executable_of(lambda x: sum_op.bind(sin(add(sin(x), 1.0)), axes=(0,)), np.ones(20_000))
    wrong = []

    def work(number):
        x = np.full(20_000, float(number))
        wanted = np.sum(np.sin(np.sin(x) + 1))
        for _ in range(200):
            (found,) = executable.run(buffers(x))
            if abs(found.array - wanted) > 1e-9 * abs(wanted):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_chain_of_ten_thousand_ops():
    def chain(x):
        for _ in range(5000):
            x = add(multiply(x, 0.999), 0.01)
        return x

    x = np.linspace(-1, 1, 50)
    program = program_of(chain, x)
    agree(run(program, [x])[0], interpret(program, [x])[0])
