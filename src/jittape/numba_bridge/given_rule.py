"""Derivatives that users give to a `numba_op`, as rules for the gradients of ``@njit`` code that calls it."""

from __future__ import annotations

from typing import Any

from jittape.numba_ad.user_rules import add_rule

__all__ = ["add_numba_rule"]


def add_numba_rule(op: Any, vjp: Any) -> None:
    """Let the gradients of ``@njit`` code that calls a `numba_op` or its function use the derivative of the op."""
    passive: tuple[int, ...] = ()
    if isinstance(vjp, (tuple, list)):
        passive = tuple([i for i, rule in enumerate(vjp) if rule is None])
        function = _joined([None if rule is None else _dispatcher(rule) for rule in vjp], op)
    else:
        function = _dispatcher(vjp)
    add_rule(op.dispatcher, function, len(op.operands), passive=passive, user=op)


def _dispatcher(function: Any) -> Any:
    from jittape.numba_bridge.scalar_function import as_dispatcher

    return function.dispatcher if hasattr(function, "dispatcher") else as_dispatcher(function)


def _joined(rules: list[Any], op: Any) -> Any:
    """Return a function that returns the cotangents of all operands; that of a passive operand is 0."""
    from jittape.numba_bridge.derived_rule import function_of_text

    names = ", ".join(f"x{i}" for i in range(len(rules)))
    calls = [f"rule_{i}(g, out, {names})" if rule is not None else "0.0" for i, rule in enumerate(rules)]
    result = calls[0] if len(calls) == 1 else f"({', '.join(calls)})"
    text = f"def vjp(g, out, {names}):\n    return {result}\n"
    known = {f"rule_{i}": rule for i, rule in enumerate(rules) if rule is not None}
    return function_of_text(text, f"{op.name}_vjp", **known)
