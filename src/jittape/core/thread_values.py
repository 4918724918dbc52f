"""Values of a thread that hold within a ``with`` statement; no interrupt leaves a wrong one behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

__all__ = ["replaced"]

Value = TypeVar("Value")


@contextmanager
def replaced(holder: Any, name: str, value: Value) -> Iterator[Value]:
    """Give an attribute, which only one thread uses, another value within a ``with`` statement.

    A signal handler may raise its exception where the statement is about to end. Python then ends it when the traceback
    is dropped. What encloses the statement may have restored its own value by then, so a late end replaces only the
    value that it set itself.

    Parameters
    ----------
    holder : object
    name : str
        Name of the attribute.
    value : object
        Known by its identity.
    """
    before, is_late = getattr(holder, name), False
    try:
        setattr(holder, name, value)  # a call: an interrupt may come right after it
        yield value
    except GeneratorExit:
        is_late = True
        raise
    finally:
        if not is_late or getattr(holder, name) is value:
            setattr(holder, name, before)
