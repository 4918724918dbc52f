"""Sums of an array and the result of an inner loop or branch, which are added up inside of it.

The gradient of an array that an inner loop or branch reads is such a sum: the inner one begins with zeros, and changes
a few elements. It begins with the other term instead, so that neither zeros are filled in nor whole arrays added. The
rewrite is exact except for rounding, so it is not a simplification.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jittape.compile.rewrite.program_editor import Editor, inner_additions
from jittape.control.body import body_of
from jittape.control.loop_parts import Parts, carry, stack
from jittape.core.forms import Control, Decomposition, Pad, Scatter, runs_of
from jittape.core.program import Body, Op, Program, is_dynamic_dim
from jittape.primitives.elementwise.arithmetic import add_op

__all__ = ["add_in_control", "is_zero"]


def add_in_control(program: Program) -> Program:
    """Return `program` with its sums of an array and a result of a loop or branch as results of that."""
    while True:
        changed = next(_rewritten(program), None)
        if changed is None:
            return program
        program = changed


def is_zero(slot: int, op_of: Mapping[int, Op]) -> bool:
    """Return whether all elements of a slot are the constant zero."""
    op = op_of.get(slot)
    while op is not None and op.primitive.is_broadcast:
        op = op_of.get(op.args[0])
    return op is not None and not op.args and dict(op.params).get("value") == 0


def _rewritten(program: Program) -> Iterator[Program]:
    """Yield the program with one of its sums rewritten, for each that can be."""
    runs = {
        slot: run
        for slot, run in runs_of(program.ops).items()
        if run[0].primitive.lowering.kind in ("loop", "branch")  # type: ignore[union-attr]
    }
    if not runs:
        return
    uses = Editor(program).uses
    op_of = {op.out: op for op in program.ops}
    for op in program.ops:
        aval = program.avals[op.out]
        if not op.primitive.is_addition or is_dynamic_dim(aval) or aval.size < 2:
            continue
        for result, other in (op.args, op.args[::-1]):
            run = runs.get(result)
            if run is None or uses[result] > 1 or _depends(other, {one.out for one in run}, op_of):
                continue
            new_run = _begun(run, op_of[result], other, op_of)
            if new_run is not None:
                yield _with_run(program, op, result, run, new_run)


def _depends(slot: int, sources: set[int], op_of: Mapping[int, Op]) -> bool:
    """Return whether a slot is one of `sources` or depends on one."""
    pending, seen = [slot], set()
    while pending:
        slot = pending.pop()
        if slot in sources:
            return True
        if slot in op_of and slot not in seen:
            seen.add(slot)
            pending += op_of[slot].args
    return False


def _begun(run: tuple[Op, ...], result: Op, other: int, op_of: Mapping[int, Op]) -> dict[int, Op] | None:
    """Return the ops of a run, by slot, such that `result` has `other` added to it; None if that saves nothing."""
    form = run[0].primitive.lowering
    assert isinstance(form, Control)
    make = _begun_loop if form.kind == "loop" else _begun_branch
    return make(run, result, other, op_of)


def _begun_loop(run: tuple[Op, ...], result: Op, other: int, op_of: Mapping[int, Op]) -> dict[int, Op] | None:
    """Return the ops of a loop whose carry begins with `other`: the body only adds to the carry, which was zero."""
    params = dict(result.params)
    kind, number = params["result_index"]
    if kind != "carry":
        return None
    body, fixed, carries = params["body"], params["fixed"], params["carries"]
    position = len(Parts.of_operands(result.args, params["trips"], 0, 0).head) + fixed + number
    inputs = Parts.of_body(body, fixed, carries).carries
    sums = _slots_of_sum(body.program, inputs[number], body.program.outputs[number])
    stacked = {dict(op.params)["result_index"] for op in run}
    if not sums or not is_zero(result.args[position], op_of) or {stack(s) for s in sums} & stacked:
        return None
    assert carry(number) in stacked
    args = (*result.args[:position], other, *result.args[position + 1 :])
    return {op.out: op._replace(args=args) for op in run}


def _slots_of_sum(program: Program, begin: int, end: int) -> set[int]:
    """Return the slots from `begin` to `end` if that is a sum with `begin` as a term and nothing else reads them."""
    editor = Editor(program)
    inner = inner_additions(editor)
    op_of = {op.out: op for op in program.ops}
    if end not in op_of or editor.uses[begin] != 1 or editor.uses[end] != 1:
        return set()
    found, pending = set(), [end]
    while pending:
        slot = pending.pop()
        found.add(slot)
        if slot == end or slot in inner:
            if not op_of[slot].primitive.is_addition:
                return set()
            pending += op_of[slot].args
    return found if begin in found else set()


def _begun_branch(
    run: tuple[Op, ...], result: Op, other: int, op_of: Mapping[int, Op]
) -> dict[int, Op] | None:
    """Return the ops of a branch whose bodies add their result to `other`, if one has zeros or a few elements."""
    params = dict(result.params)
    number, bodies = params["result_index"], params["bodies"]
    if not any(_is_sparse(body.program, body.program.outputs[number]) for body in bodies):
        return None
    longer = tuple([_with_addition(body, number) for body in bodies])
    return {
        op.out: op._replace(
            args=(*op.args, other), params=tuple(sorted({**dict(op.params), "bodies": longer}.items()))
        )
        for op in run
    }


def _is_sparse(program: Program, slot: int) -> bool:
    """Return whether a slot is zero except for some elements."""
    op_of = {op.out: op for op in program.ops}
    if is_zero(slot, op_of):
        return True
    op = op_of.get(slot)
    while op is not None and op.primitive.is_addition:
        op = op_of.get(op.args[-1])
    return op is not None and isinstance(op.primitive.lowering, Pad | Scatter | Decomposition | Control)


def _with_addition(body: Body, number: int) -> Body:
    """Return a body with one more input, which is added to an output."""
    program = body.program
    editor = Editor(program)
    out = program.outputs[number]
    more = total = editor.new_slot(program.avals[out])
    if not is_zero(out, {op.out: op for op in program.ops}):
        total = editor.bind(add_op, (more, out), None)
    outputs = (*program.outputs[:number], total, *program.outputs[number + 1 :])
    ops = (*program.ops, *editor.ops)
    return body_of(Program((*program.inputs, more), ops, outputs, editor.avals))


def _with_run(
    program: Program, addition: Op, result: int, run: tuple[Op, ...], new_run: dict[int, Op]
) -> Program:
    """Return the program with the new run in place of `run`, whose result replaces the sum."""
    new: dict[int, Op] = {}
    for op in program.ops:
        if op is addition:
            continue
        made = new_run.get(op.out, op)
        made = made._replace(out=addition.out) if op.out == result else made
        new[made.out] = made
    ops: dict[int, Op] = {}
    pending = [op.out for op in reversed(new.values())]
    while pending:
        slot = pending[-1]
        missing = [s for s in new[slot].args if s in new and s not in ops]
        if missing and slot not in ops:
            pending += missing
        else:
            ops.setdefault(slot, new[slot])
            pending.pop()
    return program.replaced(tuple(ops.values()), program.outputs, program.avals)
