"""Numbers of values that loops record, as text that computes them before the loops run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jittape.numba_ad.structured_ir import (
    Array,
    Block,
    Constant,
    Dim,
    Loop,
    Op,
    Statement,
    Value,
    is_inside,
    walk,
)

__all__ = ["Size", "recording_loops", "stack_size", "trip_count_text"]


@dataclass(frozen=True)
class Size:
    """A number: the text of an expression, and the lines that compute what it contains."""

    lines: tuple[str, ...]
    text: str


def trip_count_text(loop: Loop) -> str:
    """Return the text of the number of iterations of a loop over a range."""
    start, stop, step = loop.bounds
    if not isinstance(step, Constant) or step.value not in (1, -1):
        return f"trip_count({start.name}, {stop.name}, {step.name})"
    low, high = (start, stop) if step.value > 0 else (stop, start)
    if low.name != "0":
        return f"max(0, {high.name} - {low.name})"
    # Numba takes 4 ms to compile `max`; the size of an array is never negative.
    is_size = isinstance(high, Value) and isinstance(high.statement, Dim)
    return high.name if is_size else f"max(0, {high.name})"


def recording_loops(block: Block, count: Callable[[Loop], list[str]]) -> list[Loop]:
    """Return the loops inside `block`, at any depth, that record values.

    `count` returns texts whose sum is the number of values of an iteration.
    """
    return [s for s in walk(block) if isinstance(s, Loop) and count(s)]


def stack_size(loop: Loop, count: Callable[[Loop], list[str]]) -> Size | None:
    """Return how many values a loop records with the loops inside it; None if that depends on what they compute."""
    if loop.counter is None or loop.trips is not None:
        return None
    inner = recording_loops(loop.body, count)
    direct = [
        s for s in loop.body.statements if isinstance(s, Loop) and (s in inner or _any_inside(s, inner))
    ]
    if any(not any(one is s or _any_inside(s, [one]) for s in direct) for one in inner):
        return None  # a branch contains a loop that records
    sizes = [stack_size(s, count) for s in direct]
    if None in sizes:
        return None
    terms = count(loop) or ([] if sizes else ["0"])
    terms = [*terms, *[size.text for size in sizes if size is not None]]
    lines = [line for size in sizes if size is not None for line in size.lines]
    needed = _computed_inside(
        loop, [bound for s in [loop, *walk(loop.body)] if isinstance(s, Loop) for bound in s.bounds]
    )
    if needed is None:
        return None
    if not needed.varies and not lines:
        trips = trip_count_text(loop)
        return Size((), f"{trips} * {terms[0]}" if len(terms) == 1 else f"{trips} * ({' + '.join(terms)})")
    total = f"{loop.counter.name}_total"
    body = [*[_text(s) for s in needed.statements], *lines, f"{total} += {' + '.join(terms)}"]
    start, stop, step = [x.name for x in loop.bounds]
    head = [f"{total} = 0", f"for {loop.counter.name} in range({start}, {stop}, {step}):"]
    return Size((*head, *[f"    {line}" for line in body]), total)


@dataclass(frozen=True)
class _Needed:
    """Operations of an iteration that bounds of inner loops need, and whether these bounds vary between iterations."""

    statements: list[Statement]
    varies: bool


def _any_inside(outer: Loop, loops: list[Loop]) -> bool:
    return any(outer in one.outer.loops() for one in loops)


def _computed_inside(loop: Loop, bounds: list[Any]) -> _Needed | None:
    """Return the operations of an iteration that `bounds` need; None if they need something else, such as a read."""
    found: set[Any] = set()
    work = list(bounds)
    while work:
        one = work.pop()
        if not isinstance(one, (Value, Array)) or one in found or not is_inside(one, loop):
            continue
        found.add(one)
        if isinstance(one.statement, Op):
            if not one.statement.repeatable:
                return None
            work.extend(one.statement.operands)
        elif isinstance(one.statement, Dim):
            work.append(one.statement.array)
        elif not (isinstance(one.statement, Loop) and one is one.statement.counter):
            return None
    own = [s for s in loop.body.statements if getattr(s, "result", None) in found]
    return _Needed(own, bool(own) or loop.counter in found)


def _text(statement: Any) -> str:
    if isinstance(statement, Dim):
        return f"{statement.result.name} = {statement.array.name}.shape[{statement.axis}]"
    return (
        f"{statement.result.name} = {statement.rule.template.format(*[x.name for x in statement.operands])}"
    )
