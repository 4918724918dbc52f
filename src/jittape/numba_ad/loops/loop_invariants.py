"""Motion of loop-invariant operations and reads out of loops.

LLVM does the same to the primal. Here it also moves the adjoint out of the loop: cotangents are added up in a register
and written once, and a value that has to be recorded is recorded once. A read is guarded, because the loop may have no
iterations.
"""

from __future__ import annotations

from typing import Any

from numba import types

from jittape.numba_ad.scalar_rules import COMPARE
from jittape.numba_ad.structured_ir import (
    Array,
    Block,
    Constant,
    Dim,
    Effect,
    Function,
    If,
    Load,
    Loop,
    Op,
    Resize,
    Root,
    Statement,
    Store,
    Value,
    is_inside,
    walk,
)
from jittape.numba_ad.user_rules import UserRule

__all__ = ["move_invariants"]


def move_invariants(function: Function) -> None:
    """Move invariant operations and reads out of loops over ranges, the innermost loops first."""
    _visit(function.body)


def _visit(block: Block) -> None:
    found: list[Statement] = []
    for statement in block.statements:
        if isinstance(statement, If):
            _visit(statement.then)
            _visit(statement.orelse)
        elif isinstance(statement, Loop):
            _visit(statement.body)
            found.extend(_moved(statement))
        found.append(statement)
    block.statements = found


def _moved(loop: Loop) -> list[Statement]:
    """Remove the invariant statements from the body of a loop and return them."""
    if loop.counter is None or not isinstance(loop.bounds[2], Constant):
        return []
    written: set[Root] = {s.array.root for s in walk(loop.body) if isinstance(s, (Store, Resize))}
    moved: list[Statement] = []
    kept: list[Statement] = []
    guard: Any = None
    may_raise = False
    for s in loop.body.statements:
        may_raise = may_raise or any(isinstance(one, Effect) for one in _with_inner(s))
        if not _is_invariant(s, loop, written) or (isinstance(s, Load) and may_raise):
            kept.append(s)
            continue
        if isinstance(s, Load):
            if guard is None:
                guard = _has_iterations(loop)
                if isinstance(guard, Value):
                    moved.append(guard.statement)  # type: ignore[arg-type]
            s.guard = guard if isinstance(guard, Value) else None
        s.result.block = loop.outer  # type: ignore[attr-defined]
        moved.append(s)
    loop.body.statements = kept
    return moved


def _is_invariant(s: Statement, loop: Loop, written: set[Root]) -> bool:
    """Return whether a statement computes the same in each iteration and may run if there is none."""
    if isinstance(s, Op):
        return s.repeatable and not isinstance(s.rule, UserRule) and not _depends_on(s.operands, loop)
    if isinstance(s, Dim):
        return s.array.root not in written and not _depends_on([s.array], loop)
    if isinstance(s, Load) and s.guard is None:
        return s.array.root not in written and not _depends_on([s.array, *s.indices], loop)
    return False


def _with_inner(s: Statement) -> list[Statement]:
    if isinstance(s, If):
        return [s, *walk(s.then), *walk(s.orelse)]
    return [s, *walk(s.body)] if isinstance(s, Loop) else [s]


def _depends_on(operands: list[Any], loop: Loop) -> bool:
    """Return whether an operand is defined in the body of a loop."""
    return any(isinstance(one, (Value, Array)) and is_inside(one, loop) for one in operands)


def _has_iterations(loop: Loop) -> Any:
    """Return whether a loop has iterations, as a new value, or as a constant."""
    start, stop, step = loop.bounds
    name = "Lt" if step.value > 0 else "Gt"
    if (
        isinstance(start, Constant)
        and isinstance(stop, Constant)
        and range(start.value, stop.value, step.value)
    ):
        return Constant(True, types.boolean)
    assert loop.counter is not None
    value = Value(f"{loop.counter.name}_any", types.boolean, loop.outer)
    value.statement = Op(loop.where, value, COMPARE[name], [start, stop])
    return value
