"""Tests of the identity of objects in the code of a function, for which placeholders give other answers."""

from __future__ import annotations

import dis
import inspect
import itertools
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

__all__ = ["tests_bool_identity", "tests_object_identity"]

_SINGLETONS = (bool, type(None), type(...))


def tests_bool_identity(function: Callable[..., Any]) -> bool:
    """Return whether the code of `function` contains ``is True`` or ``is False``; traced numbers support neither."""
    return any(step.opname == "IS_OP" and isinstance(value.argval, bool) for value, step in _pairs(function))


def tests_object_identity(function: Callable[..., Any]) -> bool:
    """Return whether the code of `function` contains ``a is b`` or ``id(a)``."""
    return any(
        (
            step.opname == "IS_OP"
            and not (value.opname == "LOAD_CONST" and isinstance(value.argval, _SINGLETONS))
        )
        or (step.opname.startswith("LOAD_GLOBAL") and step.argval == "id")
        for value, step in _pairs(function)
    )


def _pairs(function: Callable[..., Any]) -> Iterator[tuple[dis.Instruction, dis.Instruction]]:
    """Yield all pairs of instructions that follow each other, those of inner functions too."""
    codes: list[Any] = [getattr(inspect.unwrap(function), "__code__", None)]
    while codes:
        code = codes.pop()
        if isinstance(code, CodeType):
            codes += code.co_consts
            yield from itertools.pairwise(dis.get_instructions(code))
