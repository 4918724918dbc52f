"""What fuses, what is stored, and that no program makes the compiler do work without bound."""

import random
from dataclasses import astuple

import numpy as np
import pytest

from host_schedules import schedule
from jittape.compile.fuse.partition import Partition
from jittape.compile.ir.gemm_kernel import Gemm
from jittape.compile.ir.instructions import BoundsMask, Load
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.compile.llvm.blas import host_facts
from jittape.compile.schedule.memory_planning import Arena
from jittape.compile.schedule.steps import KernelStep, NumpyStep
from jittape.core.forms import Alias
from jittape.core.interpret import interpret
from jittape.core.primitive import Primitive
from jittape.core.program import Program, dead_code_removed
from jittape.core.simplify import simplify
from jittape.core.tuning import tuning
from jittape.primitives.broadcast import broadcast_back, broadcast_to_op, cast_op, reshape_op, sum_op
from jittape.primitives.elementwise.arithmetic import add, multiply, negative, square, subtract
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import exp, exp_op
from jittape.primitives.elementwise.hyperbolic import tanh
from jittape.primitives.elementwise.trigonometric import atan, sin, sin_op
from jittape.primitives.linalg.matmul import matmul_op
from jittape.primitives.reduce.cumulative import cumsum_op
from jittape.primitives.reduce.extremum_indices import argmax_op
from jittape.primitives.reduce.reductions import max_op
from jittape.primitives.shape.views import (
    Region,
    concat_op,
    dynamic_update_slice_op,
    pad_op,
    slice_op,
    transpose_op,
)
from programs import compiled, gradient_program, program_of
from random_programs import random_program

N = np.ones(1000, np.float32)
SCALAR = np.float32(1)


def steps_of(function, *operands):
    return schedule(program_of(function, *operands)).steps


def loops_of(function, *operands):
    return [step.kernel.loops for step in steps_of(function, *operands)]


def total(x):
    return sum_op.bind(x, axes=tuple(range(len(x.shape))))


def reverse(x):
    return slice_op.bind(x, region=Region((0,), (x.shape[0] - 1,), x.shape, (-1,)))


def with_gradient(function, *operands):
    """One program for the value of `function` and its gradient with respect to all operands."""
    program = program_of(function, *operands)
    gradient = gradient_program(program, range(len(operands)))
    outputs = (program.outputs[0], *gradient.outputs)
    return simplify(Program(gradient.inputs, gradient.ops, outputs, gradient.avals))


# ---- what fuses ----------------------------------------------------------------------------------------------------


def test_value_and_gradient_of_a_sum_are_one_loop():
    program = with_gradient(lambda x: total(multiply(tanh(x), exp(x))), N)
    (step,) = schedule(program).steps
    assert step.kernel.loops == 1
    assert step.kernel.text.count("tanh") == step.kernel.text.count("exp") == 1


def test_a_regression_step_is_one_loop_and_one_scalar_kernel():
    def step(m, b, x, y):
        residual = subtract(add(multiply(m, x), b), y)
        loss = divide(total(square(residual)), 100.0)
        scaled = multiply(residual, 0.02)
        dm, db = total(multiply(scaled, x)), total(scaled)
        return loss, subtract(m, multiply(0.05, dm)), subtract(b, multiply(0.05, db))

    assert loops_of(step, SCALAR, SCALAR, N, N) == [1, 0]


def test_softmax_is_three_passes_and_one_exponential():
    def softmax(x):
        top = broadcast_back(max_op.bind(x, axes=(1,)), x.shape, (1,))
        e = exp(subtract(x, top))
        return divide(e, broadcast_back(sum_op.bind(e, axes=(1,)), x.shape, (1,)))

    steps = steps_of(softmax, np.ones((5, 7), np.float32))
    assert [step.kernel.text.count("exp ") for step in steps] == [0, 1, 0]


def test_several_results_and_reductions_share_a_nest():
    def several(x):
        y = sin(x)
        return y, sum_op.bind(y, axes=(0,)), max_op.bind(y, axes=(1,)), total(x)

    (step,) = steps_of(several, np.ones((6, 5)))
    assert step.kernel.loops == 2
    assert step.kernel.text.count("sin") == 1


def test_a_result_waits_for_the_nest_that_reads_it():
    """The averages of an optimizer and the update that goes by them, though its step size must be computed first."""

    def update(w, g, mean, mean_square, rate):
        mean = add(multiply(mean, 0.9), multiply(g, 0.1))
        mean_square = add(multiply(mean_square, 0.99), multiply(square(g), 0.01))
        rate = tanh(sin(rate))
        return subtract(w, multiply(divide(mean, add(mean_square, 1.0)), rate)), mean, mean_square, rate

    steps = steps_of(update, N, N, N, N, SCALAR)
    assert [step.kernel.loops for step in steps] == [0, 1]
    assert steps[1].kernel.text.count(" load ") == 5


def test_what_a_library_call_reads_does_not_wait():
    def step(x, weight):
        hidden = tanh(x)
        product = matmul_op.bind(hidden, weight)
        return hidden, multiply(hidden, total(product)), product

    steps = steps_of(step, np.ones((5, 5)), np.ones((5, 5)))
    first = next(i for i, s in enumerate(steps) if "tanh" in s.kernel.text)
    assert isinstance(steps[first + 1].kernel, Gemm)
    assert sum(s.kernel.text.count("tanh") for s in steps) == 1


def test_a_sum_over_three_coordinates_is_an_expression_and_one_nest_does_all():
    def forces(x, y):
        d = subtract(broadcast_to_op.bind(x, shape=(9, 8, 3)), broadcast_to_op.bind(y, shape=(9, 8, 3)))
        return total(exp(sum_op.bind(square(d), axes=(2,))))

    program = with_gradient(forces, np.ones((9, 1, 3)), np.ones((8, 3)))
    first, *rest = [step.kernel for step in schedule(program).steps]
    assert first.loops == 2
    assert first.text.count("exp ") == 1
    assert all(kernel.loops <= 1 for kernel in rest)


def test_a_value_used_in_two_halves_is_not_stored():
    def halves(x):
        e = exp(x)
        parts = [slice_op.bind(e, region=Region((0,), (i,), (500,), (1,))) for i in (0, 500)]
        return multiply(*parts)

    (step,) = steps_of(halves, N)
    assert step.kernel.text.count("exp ") == 2


def unrolled(steps):
    """A loop of so many steps, all of which use the same number, with its gradient."""

    def function(x, scale):
        level = x
        for _ in range(steps):
            level = multiply(level, exp(multiply(broadcast_to_op.bind(scale, shape=x.shape), x)))
        return total(level)

    return with_gradient(function, N.astype(float), np.float64(0.1))


def test_sums_over_the_steps_of_a_loop_are_accumulated_once():
    program = unrolled(20)
    sums = sum([len(s.kernel.reductions) for s in schedule(program).steps if s.kernel.reductions])
    assert sums == 2
    x, scale = np.linspace(0.1, 0.2, 1000), np.float64(0.1)
    value, _, by_scale = compiled(program, [x, scale, np.float64(1)])
    np.testing.assert_allclose(value, np.sum(x * np.exp(20 * scale * x)))
    np.testing.assert_allclose(by_scale, np.sum(20 * x * x * np.exp(20 * scale * x)))


def test_sums_over_many_steps_are_joined_before_numbers_are_taken_together():
    """The sums of 300 steps are 300 single numbers: otherwise a step of its own would read them all."""
    steps = schedule(unrolled(300)).steps
    assert all(isinstance(step.kernel, LoopKernel) for step in steps)
    assert len(steps) < 60


def test_sums_over_different_axes_are_not_joined():
    x = np.random.default_rng(3).normal(size=(5, 5))
    program = program_of(lambda x: add(sum_op.bind(exp(x), axes=(0,)), sum_op.bind(sin(x), axes=(1,))), x)
    np.testing.assert_allclose(compiled(program, [x])[0], np.exp(x).sum(0) + np.sin(x).sum(1), rtol=1e-14)


def test_what_repeats_a_small_array_is_not_stored():
    """Two nests need the same row at each of 300 rows: the row is in memory, not 300 of it."""

    def twice(x, v):
        row = broadcast_to_op.bind(reshape_op.bind(tanh(exp(sin(v))), shape=(1, 1000)), shape=(300, 1000))
        region = Region((0,), (299,), (300,), (-1,))
        running = cumsum_op.bind(slice_op.bind(multiply(x, row), region=region), axis=0)
        return sum_op.bind(multiply(square(x), row), axes=(0, 1)), sum_op.bind(running, axes=(0, 1))

    steps = schedule(program_of(twice, np.ones((300, 1000)), N)).steps
    assert sum(step.kernel.text.count("tanh ") for step in steps) == 1
    written = [line for step in steps for line in step.kernel.text.splitlines() if "r0[i0, i1] =" in line]
    assert len(written) == 1
    assert "cumsum" in written[0]


def test_operands_of_a_concatenation_are_written_where_they_belong():
    def rows(x):
        return concat_op.bind(
            *[reshape_op.bind(multiply(sin(x), float(i)), shape=(1, 1000)) for i in range(5)], axis=0
        )

    (step,) = steps_of(rows, N)
    assert step.kernel.loops == 1
    assert step.kernel.text.count("sin ") == 1
    several = steps_of(lambda x, y: concat_op.bind(exp(x), y, axis=0), N, N[:500])
    assert [isinstance(s, NumpyStep) for s in several] == [False, False]


def test_an_update_is_a_choice_within_the_loop():
    region = Region((0,), (3,), (10,), (2,))
    (step,) = steps_of(
        lambda x, v: multiply(dynamic_update_slice_op.bind(exp(x), v, region=region), 3.0), N, N[:10]
    )
    assert step.kernel.loops == 1
    assert "where" in step.kernel.text


def test_running_sums_and_places_of_extrema_are_loops():
    steps = steps_of(lambda x: cumsum_op.bind(sin(x), axis=0), np.ones((50, 40)))
    assert [step.kernel.loops for step in steps] == [2]
    assert "cumsum along i0 of" in steps[0].kernel.text
    steps = steps_of(lambda x: argmax_op.bind(x, axis=1, dtype=np.dtype(np.int64)), np.ones((50, 40)))
    assert [step.kernel.loops for step in steps] == [2, 2]


def test_the_sum_over_rows_of_a_product_is_a_product_of_one_row():
    def bias(x, y):
        return sum_op.bind(negative(matmul_op.bind(x, y)), axes=(0,))

    steps = steps_of(bias, np.ones((300, 20)), np.ones((20, 30)))
    products = [dict(zip(Gemm.SYMBOLS, s.sizes, strict=True)) for s in steps if isinstance(s.kernel, Gemm)]
    assert [sorted((p["m"], p["n"], p["k"])) for p in products] == [[1, 20, 30]]
    x, y = np.arange(6.0).reshape(3, 2), np.ones((2, 4))
    (found,) = compiled(program_of(bias, x, y), [x, y])
    np.testing.assert_allclose(found, -(x @ y).sum(0))


def test_neighbors_are_one_nest_and_masks_are_left_out_in_its_middle():
    def differences(x):
        first, second = (slice_op.bind(x, region=Region((0,), (i,), (999,), (1,))) for i in (0, 1))
        return total(square(subtract(second, square(first))))

    (step,) = schedule(with_gradient(differences, N)).steps
    assert step.kernel.loops == 1
    masks = [i for i in step.kernel.instructions if isinstance(i, BoundsMask)]
    assert masks
    assert all(mask.wide for mask in masks)


def test_masks_of_halves_are_no_reason_for_a_loop_of_their_own():
    def halves(x):
        left = pad_op.bind(x, region=Region((0,), (0,), (1000,), (1,)), shape=(2000,))
        right = pad_op.bind(sin(x), region=Region((0,), (1000,), (1000,), (1,)), shape=(2000,))
        return add(left, right)

    kernels = [step.kernel for step in steps_of(halves, N)]
    assert not any(i.wide for k in kernels for i in k.instructions if isinstance(i, BoundsMask))


def test_two_sums_of_which_one_needs_the_other_are_two_nests():
    def variance(x):
        centered = subtract(x, divide(total(x), 1000.0))
        return total(square(centered))

    assert loops_of(variance, N) == [1, 1]


def test_a_cheap_value_is_computed_again_and_an_expensive_one_is_stored():
    x = program_of(lambda x: (lambda y: add(y, reverse(y)))(multiply(x, 3.0)), N)
    assert len(schedule(x).steps) == 1
    x = program_of(lambda x: (lambda y: add(y, reverse(y)))(sin(x)), N)
    assert [step.kernel.text.count("sin") for step in schedule(x).steps] == [1, 0]


def test_an_expensive_row_is_not_computed_for_every_column():
    def outer(row, x):
        return multiply(broadcast_to_op.bind(exp(row), shape=x.shape), x)

    x = np.ones((30, 40), np.float32)
    inner, outer_loop = (
        loops_of(outer, np.ones(40, np.float32), x),
        loops_of(outer, np.ones((30, 1), np.float32), x),
    )
    assert inner == [1, 2]  # the row in a kernel of its own
    assert outer_loop == [2]  # the column in the outer loop


def test_the_rule_by_which_a_value_is_stored_is_known():
    def rules(function, *operands):
        return sorted(Partition(program_of(function, *operands), host_facts).stored_by.values())

    def with_reverse(y):
        return add(y, reverse(y))

    rows = np.ones((30, 40), np.float32)
    assert rules(lambda x: with_reverse(multiply(x, 3.0)), N) == []
    assert rules(lambda x: with_reverse(sin(x)), N) == ["more visits than elements"]
    row = rules(lambda v, x: multiply(broadcast_to_op.bind(exp(v), shape=x.shape), x), rows[0], rows)
    assert row == ["needed in several iterations"]


def test_the_code_of_a_gradient_does_not_grow_with_each_part_of_an_array():
    """``h = concat([h, sin(h[-1:])], 0)`` in a loop, with starts of slices that are known at run time only."""

    def instructions(count):
        def grown(x, *starts):
            h = x
            for start in starts:
                last = slice_op.bind(h, start, region=Region((0,), (None,), (1,), (1,)))
                h = concat_op.bind(h, sin(multiply(last, 1.1)), axis=0)
            return sum_op.bind(h, axes=(0, 1))

        starts = [np.array(i) for i in range(count)]
        program = gradient_program(program_of(grown, np.ones((1, 2)), *starts), [0])
        steps = [step for step in schedule(simplify(program)).steps if isinstance(step.kernel, LoopKernel)]
        return sum(len(step.kernel.instructions) for step in steps)

    assert instructions(96) < 3 * instructions(48)


# ---- library calls, NumPy steps, aliases ---------------------------------------------------------------------------


def test_transposes_become_flags_and_only_those():
    def products(x, y):
        xt = transpose_op.bind(x, perm=(0, 2, 1))
        other = transpose_op.bind(y, perm=(2, 0, 1))  # no dimension of a matrix is contiguous
        return matmul_op.bind(xt, other)

    steps = steps_of(products, np.ones((2, 3, 4)), np.ones((3, 5, 2)))
    assert [isinstance(step.kernel, Gemm) for step in steps] == [False, True]
    assert steps[1].kernel.transposed == (True, False)


@pytest.mark.parametrize(("rows", "kernels"), [(1, 2), (6, 1)])
def test_products_that_differ_in_where_they_read_share_a_kernel(rows, kernels):
    def function(x, y, w):
        parts = [slice_op.bind(a, region=Region((0,), (i,), (rows,), (1,))) for i in (0, 7) for a in (x, y)]
        return [matmul_op.bind(part, w) for part in parts] + [matmul_op.bind(x, x), matmul_op.bind(y, x)]

    rng = np.random.default_rng(0)
    operands = [rng.normal(size=(40, 40)) for _ in range(3)]
    program = program_of(function, *operands)
    steps = [step for step in schedule(program).steps if isinstance(step.kernel, Gemm)]
    assert len(steps) == 6
    assert len({id(step.kernel) for step in steps}) == kernels
    for found, wanted in zip(compiled(program, operands), interpret(program, operands), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_what_is_known_of_a_program_is_known_of_one_like_it():
    for seed in range(60):
        program, _ = random_program(seed, 80)
        other = [op._replace(primitive=sin_op) if op.primitive is exp_op else op for op in program.ops]
        outputs = program.outputs[::2]
        like = dead_code_removed(program.replaced(tuple(other), outputs, program.avals))
        found, wanted = (
            Partition(like, host_facts, Partition(program, host_facts)),
            Partition(like, host_facts),
        )
        assert found.stored == wanted.stored
        for name in ("classes", "depth", "begun", "products", "addends"):
            assert getattr(found, name) == getattr(wanted, name)
        assert {s: astuple(t) for s, t in found.properties.items()} == {
            s: astuple(t) for s, t in wanted.properties.items()
        }


def test_products_of_dtypes_that_the_blas_does_not_support_are_loops():
    for dtype in (int, np.float16):
        (step,) = steps_of(matmul_op.bind, np.ones((2, 3), dtype), np.ones((3, 2), dtype))
        assert isinstance(step.kernel, LoopKernel)


def test_complex_functions_without_a_formula_are_numpy_steps():
    (step,) = steps_of(exp, np.ones(3, complex))
    assert isinstance(step.kernel, LoopKernel)
    (step,) = steps_of(atan, np.ones(3, complex))
    assert isinstance(step, NumpyStep)


def test_complex_products_are_blas_calls():
    (step,) = steps_of(matmul_op.bind, np.ones((2, 3), complex), np.ones((3, 2), complex))
    assert isinstance(step, KernelStep)


def test_a_reshape_costs_nothing():
    def flat(x):
        return total(multiply(reshape_op.bind(exp(x), shape=(12,)), np.float32(3).item()))

    assert loops_of(flat, np.ones((3, 4), np.float32)) == [1, 1]
    assert loops_of(lambda x: exp(reshape_op.bind(x, shape=(1, 3, 4, 1))), np.ones((3, 4))) == [1]


def test_an_alias_of_an_input_or_of_another_result_is_copied():
    program = program_of(lambda x: reshape_op.bind(x, shape=(6,)), np.ones((2, 3)))
    assert len(schedule(program).steps) == 1

    def both(x):
        y = exp(x)
        return y, reshape_op.bind(y, shape=(6,))

    plan = schedule(program_of(both, np.ones((2, 3))))
    assert len(plan.steps) == 2
    assert len(set(plan.outputs)) == 2


def test_an_alias_handed_out_alone_is_not_copied():
    plan = schedule(program_of(lambda x: reshape_op.bind(exp(x), shape=(6,)), np.ones((2, 3))))
    assert len(plan.steps) == 1
    assert plan.arena == 0


def test_a_primitive_without_a_form_runs_between_kernels():
    median = Primitive("median", abstract_eval=lambda x: x._replace(shape=()), impl=lambda x: np.median(x))
    steps = steps_of(lambda x: exp(median.bind(sin(x))), np.ones(5))
    assert [type(step).__name__ for step in steps] == ["KernelStep", "NumpyStep", "KernelStep"]
    assert [[op.primitive.name for op in step.ops] for step in steps] == [["sin"], ["median"], ["exp"]]


# ---- memory --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, tuning.split_cost_limit])
def test_everything_is_written_before_it_is_read_and_not_after(limit, override_tuning):
    override_tuning(split_cost_limit=limit, split_piece_cost=min(limit, tuning.split_piece_cost))
    for seed in range(60):
        program, _ = random_program(seed, 150)
        plan = schedule(program)
        inputs = range(len(program.inputs))
        first = len(program.inputs) + len(plan.results)
        sizes = [*[aval.size for aval in plan.results], *plan.lengths]
        empty = {storage for storage, size in enumerate(sizes, len(inputs)) if not size}
        written, seen = {*inputs, *empty}, set(inputs)
        for step in plan.steps:
            if isinstance(step, NumpyStep):
                reads, writes = step.storages, step.results
            else:
                names = [operand.name[0] for operand in step.kernel.operands]
                reads = [s for s, name in zip(step.storages, names, strict=True) if name in "au"]
                writes = [s for s, name in zip(step.storages, names, strict=True) if name == "r"]
            assert written.issuperset(reads)
            assert seen.isdisjoint(writes)
            seen.update(reads)
            written.update(writes)
        assert written.issuperset(plan.outputs)
        assert written == set(range(first + len(plan.offsets)))


def test_memory_given_back_in_any_order_is_one_range_again():
    for seed in range(200):
        order = random.Random(seed)
        arena, sizes = Arena(), [order.randrange(1, 1000) for _ in range(20)]
        places = [arena.take(owner, nbytes) for owner, nbytes in enumerate(sizes)]
        for owner in order.sample(range(20), 10):
            arena.give_back(owner)
            assert arena.take(owner, sizes[owner]) <= places[owner]
        for owner in order.sample(range(20), 20):
            arena.give_back(owner)
        whole = arena.size
        assert arena.take(0, whole) == 0
        assert arena.size == whole


def test_temporaries_share_the_arena_by_their_time():
    def alternate(x):
        for _ in range(50):
            x = add(sin(x), reverse(x))
        return x

    plan = schedule(program_of(alternate, np.ones(1000)))
    assert len(plan.offsets) > 40
    assert plan.arena <= 3 * 8064


def test_temporaries_that_live_at_once_do_not_overlap():
    def crossing(x):
        values = [sin(multiply(x, float(i) + 3)) for i in range(6)]
        result = x
        for value in values:
            result = add(result, reverse(value))
        return matmul_op.bind(
            reshape_op.bind(result, shape=(10, 10)), reshape_op.bind(values[0], shape=(10, 10))
        )

    program = program_of(crossing, np.ones(100))
    plan = schedule(program)
    first = len(program.inputs) + len(plan.results)
    uses: dict[int, list[int]] = {}
    for i, step in enumerate(plan.steps):
        for storage in step.storages:
            if storage >= first:
                uses.setdefault(storage, []).append(i)
    spans = [(min(u), max(u), plan.offsets[s - first]) for s, u in uses.items()]
    for begin, end, offset in spans:
        assert offset % 64 == 0
        for other_begin, other_end, other_offset in spans:
            if (
                (begin, end, offset) != (other_begin, other_end, other_offset)
                and begin <= other_end
                and other_begin <= end
            ):
                assert abs(offset - other_offset) >= 800


# ---- bounds --------------------------------------------------------------------------------------------------------


def test_a_chain_of_ten_thousand_ops_is_cut_into_few_kernels():
    def chain(x):
        for _ in range(5000):
            x = add(multiply(x, 0.999), 0.01)
        return x

    steps = steps_of(chain, N)
    assert 10_000 / tuning.split_piece_cost <= len(steps) <= 2 * 10_000 / tuning.split_piece_cost
    assert len({step.kernel.name for step in steps}) <= 5
    assert (
        max(len(step.kernel.instructions) for step in steps) <= tuning.split_piece_cost + 10
    )  # constants are free


@pytest.mark.parametrize("function", [sin, lambda w: multiply(w, 0.7)])
def test_unrolled_recomputation_stays_linear(function):
    def unrolled(w, steps):
        for _ in range(steps):
            w = add(multiply(function(w), 1.01), multiply(0.1, reverse(w)))
        return w

    counts = []
    for length in (50, 100):
        steps = steps_of(lambda w, length=length: unrolled(w, length), N)
        counts.append(sum(len(step.kernel.instructions) for step in steps))
        assert len({step.kernel.name for step in steps}) <= 3
    assert counts[1] <= 2.1 * counts[0]


def test_a_stencil_is_not_inlined_without_bound():
    def stencil(x):
        for _ in range(40):
            n = x.shape[0] - 1
            left, right = (slice_op.bind(x, region=Region((0,), (o,), (n,), (1,))) for o in (0, 1))
            x = add(multiply(left, 0.5), right)
        return x

    steps = steps_of(stencil, N)
    assert sum(len(step.kernel.instructions) for step in steps) < 40 * 20


def test_every_op_is_covered_by_some_step():
    program = with_gradient(lambda x, w: total(tanh(matmul_op.bind(x, w))), np.ones((4, 3)), np.ones((3, 2)))
    covered = {op.out for step in schedule(program).steps for op in step.ops}
    free = {op.out for op in program.ops if isinstance(op.primitive.lowering, Alias)}
    swapped = {op.out for op in program.ops if op.primitive is transpose_op}
    assert {op.out for op in program.ops} - free - swapped <= covered


def test_casts_fuse():
    assert loops_of(lambda x: total(cast_op.bind(x, dtype=np.dtype(np.float64))), N) == [1]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [((1641, 5), (0,)), ((2050, 8), (0,)), ((411, 32), (0,)), ((3, 403, 9), (1,)), ((40, 53, 9), (0, 1))],
)
def test_short_rows_are_added_several_at_a_time(dtype, shape, axes):
    def sums(x, y):
        difference = subtract(x, broadcast_to_op.bind(y, shape=x.shape))
        return sum_op.bind(square(difference), axes=axes), max_op.bind(difference, axes=axes)

    rng = np.random.default_rng(0)
    operands = [rng.integers(-9, 9, size).astype(dtype) for size in (shape, shape[-1:])]
    program = program_of(sums, *operands)
    (step,) = [s for s in schedule(program).steps if s.kernel.loops > 1 and s.kernel.rows > 1]
    assert "4 at a time" in step.kernel.text
    for found, wanted in zip(compiled(program, operands), interpret(program, operands), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_rows_are_added_one_by_one_where_that_costs_nothing():
    def rows(shape, function):
        steps = schedule(program_of(function, np.ones(shape))).steps
        return [s.kernel.rows for s in steps if s.kernel.loops > 1]

    def sums(x):
        return sum_op.bind(x, axes=(0,))

    assert set(rows((1000, 10), sums)) == {4}
    assert set(rows((100, 10), sums)) == {1}
    assert set(rows((1000, 100), sums)) == {1}
    assert set(rows((1000, 10), lambda x: sum_op.bind(exp(sin(x)), axes=(0,)))) == {1}
    assert set(rows((1000, 10), lambda x: (negative(x), sum_op.bind(x, axes=(0,))))) == {1}
    assert set(rows((1000, 10), lambda x: sum_op.bind(x, axes=(1,)))) == {1}


@pytest.mark.parametrize(("rows", "columns"), [(7, 0), (0, 7), (0, 0)])
def test_a_reduction_without_elements_loads_nothing(rows, columns):
    """A load that is hoisted out of an empty loop would read an array without elements."""
    program = program_of(lambda x: sum_op.bind(exp(x), axes=(1,)), np.ones((rows, columns)))
    for step in schedule(program).steps:
        assert not any(isinstance(instruction, Load) for instruction in step.kernel.instructions)
