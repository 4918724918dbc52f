"""Ops without a form written in ops that have one: for bodies, where a NumPy step would end the machine code.

Elsewhere these ops are faster as NumPy steps: each element of the result here costs a test for every operand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jittape.builder import Builder, Symbol, literal
from jittape.primitive import Primitive, recording_with
from jittape.primitives.broadcast import broadcast
from jittape.primitives.compare import where_op
from jittape.primitives.views import Region, concat_op, place_op, placed, update_op
from jittape.program import Op, Program

__all__ = ["written_out"]

MOST = 16
"""Operands of a concatenation that is written out."""


def written_out(program: Program) -> Program:
    """The program with the ops in `RULES` replaced."""
    if not any(op.primitive in RULES for op in program.ops):
        return program
    avals = dict(program.avals)
    replacement: dict[int, int] = {}
    ops: list[Op] = []
    for op in program.ops:
        op = op._replace(args=tuple([replacement.get(slot, slot) for slot in op.args]))
        rule = RULES.get(op.primitive)
        if rule is None or len(op.args) > MOST:
            ops.append(op)
            continue
        builder = Builder(max(avals) + 1, op.source)
        with recording_with(builder):
            out = rule(*[Symbol(slot, avals[slot]) for slot in op.args], **dict(op.params))
        ops += builder.ops
        avals.update(builder.avals)
        replacement[op.out] = out.slot
    outputs = tuple([replacement.get(slot, slot) for slot in program.outputs])
    return program.replaced(tuple(ops), outputs, avals)


def _true(shape: tuple[int, ...]) -> Symbol:
    symbol: Symbol = broadcast(literal(True, np.dtype(bool)), shape)
    return symbol


def _concat(*operands: Symbol, axis: int) -> Any:
    shape = list(operands[0].shape)
    shape[axis] = sum([x.shape[axis] for x in operands])
    total: Any = None
    offset = 0
    for x in operands:
        offsets = tuple([offset if a == axis else 0 for a in range(len(shape))])
        part = placed(x, offsets, tuple(shape))
        if total is None:
            total = part
        elif x.shape[axis]:
            total = where_op.bind(placed(_true(x.shape), offsets, tuple(shape)), part, total)
        offset += x.shape[axis]
    return total


def _update(x: Symbol, v: Symbol, *starts: Symbol, region: Region) -> Any:
    inside = place_op.bind(_true(v.shape), *starts, region=region, shape=x.shape)
    return where_op.bind(inside, place_op.bind(v, *starts, region=region, shape=x.shape), x)


RULES: Mapping[Primitive, Callable[..., Any]] = {concat_op: _concat, update_op: _update}
