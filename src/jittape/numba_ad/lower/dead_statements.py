"""Removal of statements whose results are unused."""

from __future__ import annotations

from typing import Any

from jittape.numba_ad.structured_ir import (
    Array,
    Block,
    Effect,
    Function,
    If,
    IfPhi,
    Loop,
    LoopPhi,
    Op,
    Resize,
    Statement,
    Store,
    Value,
    inner_blocks,
    results_of,
    walk,
)

__all__ = ["operands_of", "remove_dead_statements", "remove_prints"]


def operands_of(statement: Statement) -> list[Any]:
    """Return the values and arrays that a statement reads, without those of inner blocks and phis."""
    if isinstance(statement, If):
        return [statement.condition]
    if isinstance(statement, Loop):
        return [*statement.bounds, statement.condition, statement.stop]
    found: list[Any] = []
    for name in ("array", "base", "value", "guard"):
        if hasattr(statement, name):
            found.append(getattr(statement, name))
    for name in ("operands", "indices"):
        found.extend(getattr(statement, name, ()))
    return found


def remove_dead_statements(function: Function) -> None:
    """Remove operations, reads, views and phis that neither the result nor an effect needs."""
    phis: dict[Any, IfPhi | LoopPhi] = {}
    work = results_of(function)
    for statement in walk(function.body):
        if isinstance(statement, If):
            phis.update({phi.result: phi for phi in statement.phis})
        elif isinstance(statement, Loop):
            phis.update({value: phi for phi in statement.phis for value in (phi.inner, phi.out)})
        if isinstance(statement, (Store, Resize, Effect, If, Loop)):
            work.extend(operands_of(statement))
        elif isinstance(statement, Op) and statement.draws:
            work.append(statement.result)
    live: set[Any] = set()
    while work:
        one = work.pop()
        if not isinstance(one, (Value, Array)) or one in live:
            continue
        live.add(one)
        if one in phis:
            phi = phis[one]
            if isinstance(phi, IfPhi):
                work.extend((phi.then, phi.orelse))
            else:
                work.extend((phi.init, phi.next, phi.inner))
        elif one.statement is not None and not isinstance(one.statement, Loop):
            work.extend(operands_of(one.statement))
    _prune(function.body, live)


def _prune(block: Block, live: set[Any]) -> None:
    kept: list[Statement] = []
    for statement in block.statements:
        if isinstance(statement, If):
            _prune(statement.then, live)
            _prune(statement.orelse, live)
            statement.phis = [phi for phi in statement.phis if phi.result in live]
            if not (statement.phis or statement.then.statements or statement.orelse.statements):
                continue
        elif isinstance(statement, Loop):
            if statement.header is not None:
                _prune(statement.header, live)
            _prune(statement.body, live)
            statement.phis = [phi for phi in statement.phis if phi.inner in live or phi.out in live]
            endless = statement.counter is None or statement.stop is not None
            if not (statement.phis or statement.body.statements or endless):
                continue
        elif (
            not isinstance(statement, (Store, Resize, Effect))
            and getattr(statement, "result", None) not in live
        ):
            continue
        kept.append(statement)
    block.statements = kept


def remove_prints(body: Block) -> None:
    """Remove the statements that print."""
    for block in [body, *inner_blocks(body)]:
        block.statements = [
            s for s in block.statements if not (isinstance(s, Effect) and s.template.startswith("print("))
        ]
