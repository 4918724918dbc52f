"""Joining of sums: a sum of two sums over the same dimensions becomes one sum of an elementwise sum."""

from __future__ import annotations

from typing import Any, NamedTuple

from jittape.compile.analysis.op_class import OpClass
from jittape.compile.analysis.uses import Group
from jittape.compile.fuse.partition import Partition
from jittape.compile.rewrite.passes import Editor, primitives_of
from jittape.core.program import Op, Program
from jittape.primitives.broadcast import sum_op
from jittape.primitives.elementwise.arithmetic import add_op

__all__ = ["join_sums"]


class _Sum(NamedTuple):
    """What a sum is taken of, its parameters, and the nest that takes it."""

    operand: int
    params: tuple[tuple[str, Any], ...]
    group: Group


def join_sums(program: Program, partition: Partition) -> Program:
    """`program` with its sums of sums joined where one loop nest computes them all."""
    if not primitives_of(program).issuperset((sum_op, add_op)):
        return program
    editor = Editor(program)
    avals, uses = editor.avals, editor.uses
    sums: dict[int, _Sum] = {}
    nothing: list[_Sum] = []
    for op in program.ops:
        pair = nothing
        if op.primitive is add_op:
            pair = [sums[slot] for slot in op.args if slot in sums and uses[slot] == 1]
        elif op.primitive is sum_op and partition.kinds[op.out] is OpClass.REDUCE:
            sums[op.out] = _Sum(op.args[0], op.params, partition.group(op.out))
        if len(pair) < 2 or pair[0][1:] != pair[1][1:]:
            editor.ops.append(op)
            continue
        first, second = pair
        if avals[first.operand] != avals[second.operand]:
            editor.ops.append(op)
            continue
        added = editor.new_slot(avals[first.operand])
        editor.ops.append(Op(add_op, (first.operand, second.operand), (), added, op.source))
        editor.ops.append(Op(sum_op, (added,), first.params, op.out, op.source))
        sums[op.out] = first._replace(operand=added)
    return editor.result()
