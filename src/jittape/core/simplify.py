"""Passes that make a program smaller without changing what it computes.

`simplify` runs them in order and checks the program before and afterwards. The rewrites are exact: they keep nans,
infinities, signs of zeros and rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jittape.core.forms import Control
from jittape.core.program import Body, Op, Program, bodies_of, check, dead_code_removed
from jittape.core.symbolic.memo_keys import memo_keys

__all__ = ["PASSES", "common_subexpressions_merged", "identities_removed", "simplify", "verify_each_pass"]

verify_each_pass = False
"""Whether to check the program after each pass, as the tests do; the checks of 4,800 ops take 3 ms each."""


def simplify(program: Program) -> Program:
    """Return the program after all passes, checking it before the first and after the last."""
    before = check(program)
    for rewrite in PASSES:
        program = rewrite(program)
        if verify_each_pass:
            before = check(program, before)
    return check(program, before)


def common_subexpressions_merged(program: Program) -> Program:
    """Compute equal ops on equal arguments once. Primitives are pure, so equal keys mean equal values."""
    seen: dict[object, int] = {}
    replacement: dict[int, int] = {}
    ops: list[Op] = []
    renamed = replacement.keys()
    for op in program.ops:
        if not renamed.isdisjoint(op.args):
            op = op._replace(args=tuple([replacement.get(slot, slot) for slot in op.args]))
        first = seen.setdefault(op.key, op.out)
        if first == op.out:
            ops.append(op)
        else:
            replacement[op.out] = first
    outputs = tuple([replacement.get(slot, slot) for slot in program.outputs])
    return program.replaced(tuple(ops), outputs, program.avals)


def identities_removed(program: Program) -> Program:
    """Drop ops that their own record declares to be the identity for these arguments (`Primitive.simplified`)."""
    replacement: dict[int, int] = {}
    producers: dict[int, Op] = {}
    ops: list[Op] = []
    renamed = replacement.keys()
    for op in program.ops:
        if not renamed.isdisjoint(op.args):
            op = op._replace(args=tuple([replacement.get(slot, slot) for slot in op.args]))
        rule = op.primitive.simplified
        same_as = None if rule is None else rule(op, producers)
        if same_as is not None and program.avals[same_as] == program.avals[op.out]:
            replacement[op.out] = same_as
        else:
            producers[op.out] = op
            ops.append(op)
    outputs = tuple([replacement.get(slot, slot) for slot in program.outputs])
    return program.replaced(tuple(ops), outputs, program.avals)


def extended_runs_merged(program: Program) -> Program:
    """Let loops and branches that differ only in results added to their bodies run once.

    A gradient requests further values of a loop or branch. If these are results of an op that the gradient added to a
    body, the body is the former one with more ops and outputs at the end.
    """
    runs: dict[Any, dict[tuple[Body, ...], None]] = {}
    with memo_keys():
        for op in program.ops:
            if isinstance(op.primitive.lowering, Control):
                runs.setdefault(_key_without_bodies(op), {})[tuple(bodies_of(op))] = None
        if all(len(found) < 2 for found in runs.values()):
            return program
        ops = tuple([_with_longest_bodies(op, runs) for op in program.ops])
    # Ops that have become equal would be one result of a run under two slots.
    return common_subexpressions_merged(program.replaced(ops, program.outputs, program.avals))


def _key_without_bodies(op: Op) -> Any:
    params = tuple([pair for pair in op.params if pair[0] not in ("body", "bodies", "result_index")])
    return op.primitive, op.args, params, len(bodies_of(op))


def _with_longest_bodies(op: Op, runs: Mapping[Any, Iterable[tuple[Body, ...]]]) -> Op:
    if not isinstance(op.primitive.lowering, Control):
        return op
    own = tuple(bodies_of(op))
    longer = [bodies for bodies in runs[_key_without_bodies(op)] if all(map(_extends, bodies, own))]
    longest = max(longer, key=lambda bodies: sum([len(body.program.ops) for body in bodies]))
    if longest is own:
        return op
    values = {"body": longest[:1], "bodies": (longest,)}
    return op._replace(params=tuple([(name, *values.get(name, (value,))) for name, value in op.params]))


def _extends(longer: Body, body: Body) -> bool:
    """Return whether `longer` is `body`, possibly with more ops and outputs at the end."""
    if longer is body:
        return True
    new, old = longer.program, body.program
    return (
        new.input_avals() == old.input_avals()
        and new.outputs[: len(old.outputs)] == old.outputs
        and [op.key for op in new.ops[: len(old.ops)]] == [op.key for op in old.ops]
    )


PASSES: tuple[Callable[[Program], Program], ...] = (
    dead_code_removed,
    identities_removed,
    common_subexpressions_merged,
    extended_runs_merged,
    dead_code_removed,
)
