"""Random programs that write to arrays in loops and branches; Python's own loops and branches are the reference.

A program is a nested tuple of statements over the state ``u`` (40 elements), ``m`` (8 by 9) and the number ``s``, and
over ``x``, from which they come and which stays. Both ways of running write to the same kind of tensors.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import jittape as jt

__all__ = ["Control", "by_jittape", "by_python", "program_of", "run"]

Block = tuple[tuple[Any, ...], ...]
State = tuple[Any, Any, Any]


class Control(NamedTuple):
    """Loops and branches: ``loop(first, last, body, state)`` and ``cond(predicate, one, other)``."""

    loop: Callable[..., Any]
    cond: Callable[..., Any]
    while_loop: Callable[..., Any]


def _python_loop(first: int, last: int, body: Callable[..., Any], state: Any) -> Any:
    for i in range(first, last):
        state = body(i, state)
    return state


def _jittape_while(first: int, last: int, body: Callable[..., Any], state: Any) -> Any:
    def step(i: Any, *state: Any) -> Any:
        return (i + 1, *body(i, state))

    return jt.while_loop(lambda i, *_: i < last, step, (jt.constant(first), *state))[1:]


by_python = Control(_python_loop, lambda p, one, other: one() if p else other(), _python_loop)
by_jittape = Control(jt.fori_loop, jt.cond, _jittape_while)


def program_of(seed: int, depth: int = 3) -> Block:
    """Return a random program."""
    return _block(np.random.default_rng([seed, 11]), depth, 3)


def _block(rng: np.random.Generator, depth: int, most: int) -> Block:
    return tuple([_statement(rng, depth) for _ in range(rng.integers(1, most + 1))])


def _statement(rng: np.random.Generator, depth: int) -> tuple[Any, ...]:
    kind = str(rng.choice(["loop", "while", "cond", "cond"] if depth and rng.random() < 0.6 else _SIMPLE))
    numbers = tuple([int(n) for n in rng.integers(0, 37, 6)])
    if kind in ("loop", "while"):
        first = int(rng.integers(0, 3))
        return kind, first, first + int(rng.integers(0, 5)), _block(rng, depth - 1, 3)
    if kind == "cond":
        one, other = _block(rng, depth - 1, 2), _block(rng, depth - 1, 2) if rng.random() < 0.5 else ()
        return kind, numbers, *((one, other) if rng.random() < 0.7 else (other, one))
    return kind, numbers


_SIMPLE = [
    "element", "added", "slice", "strided", "cell", "row", "number", "captured", "whole", "swap", "twice", "gathered",
]  # fmt: skip


def run(block: Block, x: Any, control: Control) -> Any:
    """Return a number that depends on all of the state after the program."""
    u, m = jt.tile(jt.sin(x[:10]), [4]), jt.reshape(jt.tile(jt.cos(x[:12]), [6]), [8, 9])
    u, m, s = _run(block, (u, m, jt.reduce_sum(x) * 0.1), x, 1, control)
    return jt.reduce_sum(u * _WEIGHTS[:40]) + jt.reduce_sum(m * _WEIGHTS[:72].reshape(8, 9)) + s


_WEIGHTS = np.cos(np.arange(72.0))


def _run(block: Block, state: State, x: Any, i: Any, control: Control) -> State:
    for kind, *rest in block:
        if kind in ("loop", "while"):
            first, last, inner = rest
            loop = control.loop if kind == "loop" else control.while_loop
            state = loop(
                first, last, lambda j, state, b=inner: _run(b, tuple(state), x, j + i % 3, control), state
            )
        elif kind == "cond":
            numbers, one, other = rest
            a = _place(numbers[0], i, 40)

            def taken(block: Block, before: State = tuple(state)) -> State:
                return _run(block, tuple(map(copy.copy, before)), x, i, control)

            predicate = jt.sin(state[0][a] * 5.0) + 0.3 > 0.0
            state = control.cond(predicate, lambda b=one: taken(b), lambda b=other: taken(b))
        else:
            state = _simple(kind, rest[0], tuple(state), x, i)
    return tuple(state)  # type: ignore[return-value]


def _place(number: int, i: Any, size: int) -> Any:
    return (i * (number % 5) + number) % size


def _simple(kind: str, n: tuple[int, ...], state: State, x: Any, i: Any) -> State:
    u, m, s = (copy.copy(part) for part in state)
    a, b, c = _place(n[0], i, 37), _place(n[1], i, 37), _place(n[2], i, 37)
    r, k = _place(n[3], i, 7), _place(n[4], i, 6)
    if kind == "element":
        u[a] = jt.sin(u[b]) * u[a + 1] + 0.1 * s
    elif kind == "added":
        u[a] += 0.5 * u[b] * u[c]
    elif kind == "slice":
        u[a : a + 3] = jt.cos(u[b : b + 3]) * u[c]
    elif kind == "strided":
        u[a % 30 : a % 30 + 6 : 2] *= u[b : b + 3]
    elif kind == "cell":
        m[r, k] = jt.tanh(m[r + 1, k] * u[a] + m[r, k + 2])
    elif kind == "row":
        m[r, k : k + 3] = m[r + 1, 0:3] * u[a : a + 3]
    elif kind == "number":
        s = jt.tanh(s + u[a] * m[r, k] * x[b % 12])
    elif kind == "captured":
        u[a] = x[b % 12] * x[c % 12] + jt.reduce_sum(x[k : k + 3])
    elif kind == "whole":
        u = jt.sin(u * 0.9) + x[b % 12]
    elif kind == "swap":
        old = u[a]
        u[a] = u[b] * 1.1
        u[b] = old
    elif kind == "twice":
        u[a] = u[b] * s
        u[b] = u[a] - jt.sin(u[c])
    elif kind == "gathered":
        places = jt.stack([b, c, b])
        u[a] = jt.reduce_prod(jt.gather(u, places))
    return u, m, s
