"""Programs that write many parts of arrays one after another: each is written in the array's memory."""

import random

import numpy as np
import pytest

import jittape as jt
from host_schedules import schedule
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.compile.rewrite.scatter_parts import writes_many_parts
from jittape.core.simplify import simplify
from jittape.core.tuning import tuning
from jittape.primitives.broadcast import sum_op
from jittape.primitives.elementwise.arithmetic import multiply
from jittape.primitives.elementwise.trigonometric import sin
from jittape.primitives.shape.views import Region, dynamic_update_slice_op, slice_op
from programs import gradient_program, program_of

LIMIT = tuning.fused_parts_limit


def writes(count):
    """Return the gradient of a program that writes `count` elements one after another, each from the one before."""

    def function(x, v):
        for i in range(count):
            before = slice_op.bind(x, region=Region((0,), (i,), (1,), (1,)))
            x = dynamic_update_slice_op.bind(
                x, sin(multiply(before, v)), region=Region((0,), (i + 1,), (1,), (1,))
            )
        return sum_op.bind(sin(x), axes=(0,))

    return simplify(gradient_program(program_of(function, np.zeros(count + 1), np.ones(1)), [1]))


def instructions(count):
    """Return the number of instructions in all loops."""
    found = schedule(writes(count))
    return sum(len(step.kernel.instructions) for step in found.steps if isinstance(step.kernel, LoopKernel))


def test_the_code_grows_as_the_number_of_writes():
    """Fused into loops over the whole array, every element is chosen among all that were written."""
    assert instructions(8 * LIMIT) <= 2.5 * instructions(4 * LIMIT)


def test_few_writes_are_parts_of_loops():
    assert not writes_many_parts(writes(LIMIT // 4))
    assert writes_many_parts(writes(LIMIT + 1))


def test_no_kernel_is_made_for_temporaries_too_small_to_share_memory(monkeypatch):
    made = []
    real = LoopKernel.in_place
    monkeypatch.setattr(LoopKernel, "in_place", lambda self, *pair: made.append(pair) or real(self, *pair))
    with tuning.override(fused_parts_limit=LIMIT**2):
        schedule(writes(2 * LIMIT))
    assert not made


# ---- random programs -------------------------------------------------------------------------------------------------


def line(draw, n, names, copies):
    """Return a statement that writes or reads parts of arrays, some of them earlier versions of one that is written."""
    a, b, j, k = draw.choice(names), draw.choice(names + copies), draw.randrange(n), draw.randrange(n)
    copy = f"c{len(copies)}"
    kinds = {
        f"{a}[{j}] = jt.sin({b}[{k}]) * v[{j % 3}]": 6,
        f"{a}[{j}] = {a}[{j}] + {b}[{k}] * 0.5": 2,
        f"{a}[{j}] = {b}[{k}]": 1,
        f"{a}[{j}] = 0.25": 1,
        f"{a}[{j // 2} : {j // 2 + 2}] = {b}[{n - 2} :] * 0.7": 1,
        f"{copy} = jt.identity({a})": 1,
        f"{copy} = jt.reduce_sum({a}) * {b} * 0.1": 1,
        f"total = total + jt.reduce_sum({b}[{j}] + {a} * {b})": 1,
    }
    found = draw.choices(list(kinds), kinds.values())[0]
    if found.startswith(copy):
        copies.append(copy)
    return found


def random_function(seed):
    draw = random.Random(seed)
    n, names, copies = draw.choice([9, 40]), ["x", "y"], []
    lines = [line(draw, n, names, copies) for _ in range(2 * LIMIT)]
    kept = " + ".join(f"jt.reduce_sum({name} * {name})" for name in names + copies)
    start = ["x, y, total = jt.identity(a), b * 1.0, jt.reduce_sum(v)"]
    body = "\n    ".join([*start, *lines, f"return total + {kept}"])
    scope = {"jt": jt}
    exec(f"def function(a, b, v):\n    {body}\n", scope)
    return scope["function"], n


@pytest.mark.parametrize("seed", range(8))
def test_random_writes_are_those_of_the_interpreter(seed):
    function, n = random_function(seed)
    rng = np.random.default_rng(seed)
    operands = [
        jt.constant(rng.normal(size=size))
        for size in ((n,) if seed % 2 else (n, 2), n if seed % 2 else (n, 2), 3)
    ]

    def step(*operands):
        with jt.GradientTape() as tape:
            for operand in operands:
                tape.watch(operand)
            value = function(*operands)
        return [value, *tape.gradient(value, list(operands))]

    # The first run of a path is interpreted, the second one is compiled.
    interpreted, compiled = ([result.numpy() for result in step(*operands)] for _ in range(2))
    traced = [result.numpy() for result in jt.function(step)(*operands)]
    for one, other, third in zip(interpreted, compiled, traced, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(third, one, rtol=1e-11, atol=1e-12)
