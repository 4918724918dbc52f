"""Make programs out of functions, run them and take their gradients, without a tape: for the tests of primitives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jittape.core.buffers import allocate
from jittape.core.builder import Builder, Symbol, literal
from jittape.core.interpret import interpret
from jittape.core.primitive import active_recorder, recording_with
from jittape.core.program import Aval, Program, check
from jittape.core.simplify import simplify
from jittape.primitives.broadcast import broadcast
from jittape.runtime.executable import CompiledExecutable
from jittape.transform.differentiate import Reverse, TapeView, seen
from jittape.transform.op_paths import Path

Array = np.ndarray[Any, Any]


def aval_of(array: Any) -> Aval:
    array = np.asarray(array)
    return Aval(array.shape, array.dtype)


def program_of(function: Callable[..., Any], *operands: Any) -> Program:
    """The program of `function`, a body or a user-level function, for operands like these."""
    builder = Builder(0)
    inputs = [builder.new_slot(aval_of(x)) for x in operands]
    with recording_with(builder):
        out = function(*inputs)
    outputs = tuple(x.slot for x in (out if isinstance(out, (tuple, list)) else (out,)))
    slots = tuple(x.slot for x in inputs)
    return check(Program(slots, tuple(builder.ops), outputs, builder.avals))


def gradient_program(program: Program, wrt: Sequence[int]) -> Program:
    """The gradient of the first output of `program` with respect to inputs number `wrt`.

    Its inputs are those of `program` and the cotangent of the output. A gradient that is None becomes zeros.
    """
    builder = Builder(max(program.avals) + 1)
    builder.ops = list(program.ops)
    builder.avals = dict(program.avals)
    target = program.outputs[0]
    sources = [program.inputs[i] for i in wrt]
    path = Path(program.inputs, program.ops, program.avals, {})
    view = TapeView((0,), tuple((slot, slot) for slot in sorted(sources)), False)
    reverse = Reverse.between(path, seen(path, view), [target], sources)
    seed = builder.new_slot(program.avals[target])
    reverse.seed(builder, target, seed)
    assert reverse.run(builder) is None
    outputs = [or_zeros(builder, reverse.cotangents.get(slot), program.avals[slot]) for slot in sources]
    return check(Program((*program.inputs, seed.slot), tuple(builder.ops), tuple(outputs), builder.avals))


def or_zeros(builder: Builder, cotangent: Symbol | None, aval: Aval) -> int:
    """The slot of `cotangent`, or of zeros where there is none."""
    if cotangent is not None:
        return cotangent.slot
    with recording_with(builder):
        return int(broadcast(literal(0, aval.dtype), aval.shape).slot)


def value(function: Callable[..., Any], *operands: Any) -> Array:
    """What the interpreter makes of `function` at `operands`, after simplification."""
    operands = tuple(np.asarray(x) for x in operands)
    return interpret(simplify(program_of(function, *operands)), operands)[0]


def gradients(
    function: Callable[..., Any], *operands: Any, wrt: Sequence[int] | None = None, weight: Any = None
) -> list[Array]:
    """The gradients of ``sum(weight * function(*operands))``; the weight is ones if not given."""
    operands = tuple(np.asarray(x) for x in operands)
    program = program_of(function, *operands)
    seed = np.ones(*program.output_avals()[0]) if weight is None else np.asarray(weight)
    wrt = range(len(operands)) if wrt is None else wrt
    return interpret(simplify(gradient_program(program, wrt)), (*operands, seed))


def gradient(function: Callable[..., Any], x: Any) -> Array:
    """The gradient of the sum of a function of one operand."""
    return gradients(function, np.asarray(x, dtype=np.result_type(np.asarray(x), np.float16)))[0]


def derivative(function: Callable[..., Any], order: int) -> Callable[..., Any]:
    """The gradient of the sum of `function`, as a function of one handle again, `order` times over."""
    for _ in range(order):
        function = _derivative(function)
    return function


def _derivative(function: Callable[..., Any]) -> Callable[..., Any]:
    def differentiated(x: Symbol) -> Symbol:
        builder = active_recorder()
        assert isinstance(builder, Builder)
        begin = builder.next_slot
        out = function(x)
        # The walk sees the ops since `begin`; what came before does not depend on x through them.
        path = Path((x.slot,), tuple(builder.ops), dict(builder.avals), {})
        view = TapeView((begin,), ((begin, x.slot),), False)
        reverse = Reverse.between(path, seen(path, view), [out.slot], [x.slot])
        reverse.seed(builder, out.slot, broadcast(literal(1, out.dtype), out.shape))
        assert reverse.run(builder) is None
        found = reverse.cotangents.get(x.slot)
        return broadcast(literal(0, x.dtype), x.shape) if found is None else found

    return differentiated


def compiled(program: Program, operands: Sequence[Any], fill: float | None = None) -> list[Array]:
    """What the compiled kernels make of a program that has been simplified; `fill` stands in results before."""
    executable = CompiledExecutable(program, frozenset())
    buffers = [allocate(program.avals[slot]) for slot in program.inputs]
    for buffer, operand in zip(buffers, operands, strict=True):
        buffer.array[...] = operand
    if fill is not None:
        for buffer in executable.run(list(buffers)):
            buffer.array[...] = fill
        del buffer
    return [buffer.array.copy() for buffer in executable.run(list(buffers))]
