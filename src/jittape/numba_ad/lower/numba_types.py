"""Types that Numba gives to results, and texts of them."""

from __future__ import annotations

import functools
import operator
from typing import Any

from numba import njit, types
from numba.core.errors import NumbaError
from numba.core.registry import cpu_target
from numba.extending import is_jitted

__all__ = [
    "is_float",
    "is_scalar_type",
    "may_write",
    "may_write_secretly",
    "new_array_text",
    "result_type",
    "unified",
]

BUILTIN = ("_operator", "builtins", "numpy")
"""Modules of the types of operators, of functions of `math`, and of ufuncs."""

SECRET_WRITES = {"ascontiguousarray", "asfortranarray", "dot", "fill_diagonal", "flat"}
"""Names through which Numba lets functions write arrays that are only read."""


@functools.cache
def _load_implementations() -> None:
    """Let Numba import its NumPy functions; it does so when it compiles for the first time."""
    cpu_target.target_context.refresh()


def result_type(function: Any, operands: list[Any]) -> Any:
    """Return the type that Numba gives to ``function(*operands)``; raise TypeError without one."""
    if type(function).__module__ in BUILTIN:
        return _constant_type(function, *operands)
    return _inferred_type(function, operands)


@functools.lru_cache(1024)
def _constant_type(function: Any, *operands: Any) -> Any:
    """Do the same for a function that never gets another type; Numba's resolution takes 0.5 ms."""
    return _inferred_type(function, list(operands))


def _inferred_type(function: Any, operands: list[Any]) -> Any:
    _load_implementations()
    context = cpu_target.typing_context
    context.refresh()
    if function is operator.pow and is_float(operands[0]) and isinstance(operands[1], types.IntegerLiteral):
        return operands[0]
    try:
        known = context._lookup_global(function)
        known = function if known is None and type(function).__module__ == "_operator" else known
        known = known or context.resolve_value_type(function)
        signature = context.resolve_function_type(known, tuple(operands), {})
    except (NumbaError, KeyError, ValueError) as error:
        raise TypeError(str(error).strip().splitlines()[0]) from None
    if signature is None:
        raise TypeError(f"Numba has no {function} for ({', '.join(str(t) for t in operands)})")
    return signature.return_type


@functools.lru_cache(1024)
def may_write(function: Any, operands: tuple[Any, ...]) -> bool:
    """Return whether an ``@njit`` function may write to its arrays: Numba cannot compile it for arrays to be read."""
    known = [kind.copy(readonly=True) if isinstance(kind, types.Array) else kind for kind in operands]
    if not function._can_compile:  # explicit signatures
        function = njit(function.py_func)
    try:
        result_type(function, known)
    except (TypeError, AttributeError):  # Numba's error for ``x += 1`` is an AttributeError
        return True
    return False


def may_write_secretly(function: Any, seen: set[Any] | None = None) -> bool:
    """Return whether an ``@njit`` function, or one that it calls, has names through which it may write its arrays."""
    seen = set() if seen is None else seen
    python = function.py_func
    if python in seen:
        return False
    seen.add(python)
    code = python.__code__
    cells = [cell.cell_contents for cell in python.__closure__ or ()]
    called = [python.__globals__.get(name) for name in code.co_names] + cells
    return not SECRET_WRITES.isdisjoint(code.co_names) or any(
        may_write_secretly(one, seen) for one in called if is_jitted(one)
    )


def new_array_text(function: str, sizes: list[str], kind: Any) -> str:
    """Return the text of a new array: a call of ``new_empty``, ``new_zeros`` or ``np.ones``."""
    turned = kind.layout == "F" and kind.ndim > 1
    shape = "".join(f"{size}, " for size in (sizes[::-1] if turned else sizes))
    return f"{function}(({shape}), np.{kind.dtype})" + (".T" if turned else "")


def unified(one: Any, other: Any) -> Any:
    """Return the type that holds values of both types; None without one."""
    return one if one == other else cpu_target.typing_context.unify_types(one, other)


def is_scalar_type(function: Any, operands: list[Any]) -> bool:
    """Return whether Numba's type of ``function(*operands)`` is a number."""
    try:
        return isinstance(result_type(function, operands), types.Number)
    except TypeError:
        return True


def is_float(one: Any) -> bool:
    """Return whether a Numba type is float32 or float64."""
    return isinstance(one, types.Float)
