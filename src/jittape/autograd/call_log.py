"""The log of calls of primitives, which `const_graph` repeats."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

__all__ = ["LoggedCall", "call_log", "calls_logged", "logs_calls"]


class LoggedCall(NamedTuple):
    """A call of a primitive on tensors, and its result."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    answer: Any


_log: ContextVar[list[LoggedCall] | None] = ContextVar("_log", default=None)


@contextmanager
def calls_logged() -> Iterator[list[LoggedCall]]:
    """Log the calls of primitives on tensors inside the context; they need no rule until a derivative asks for it."""
    calls: list[LoggedCall] = []
    token = _log.set(calls)
    try:
        yield calls
    finally:
        _log.reset(token)


def call_log() -> list[LoggedCall] | None:
    """Return the list that the innermost `calls_logged` fills; None outside of it."""
    return _log.get()


def logs_calls() -> bool:
    """Return whether calls of primitives are logged: operations are then to be repeated one by one."""
    return _log.get() is not None
