"""Check that the derivatives which users give to functions return what generated code adds to cotangents."""

from __future__ import annotations

from typing import Any

from numba import types

from jittape.numba_ad.lower.numba_types import result_type
from jittape.numba_ad.structured_ir import Apply, Array, Function, Op, Statement, walk
from jittape.numba_ad.user_rules import UserRule

__all__ = ["check_rules"]


def check_rules(form: Function, activity: Any, purpose: str, is_forward: bool) -> None:
    """Raise TypeError for a rule of the user whose derivative Numba cannot compile or that has another form."""
    for s in walk(form.body):
        rule = s.rule if isinstance(s, Op) else s.rule.user if isinstance(s, Apply) else None
        if isinstance(rule, UserRule) and s.result in activity:  # type: ignore[attr-defined]
            found = _wrong_jvp(s, rule) if is_forward else _wrong_vjp(s, rule, activity)
            if found:
                where = s.where
                raise TypeError(f"{purpose}: {where.file}:{where.line}: `{where.text.strip()}`: {found}")


def _wrong_vjp(s: Any, rule: UserRule, activity: Any) -> str:
    """Return what is wrong with the vjp of a rule at a call; an empty text if nothing is."""
    result = s.result.type
    kind, failed = _returned(rule.vjp, [result, result, *[x.type for x in s.operands]])
    if failed:
        return failed
    name = rule.vjp.py_func.__name__
    if rule.count == 1:
        return _mismatch(f"the vjp {name} returns {kind}", kind, s.operands[0])
    if not isinstance(kind, types.BaseTuple) or len(kind) != rule.count:
        return (
            f"the vjp {name} returns {kind}, but the function has {rule.count} operands. Return a tuple with one "
            "cotangent for each operand"
        )
    for i, (x, item) in enumerate(zip(s.operands, kind.types, strict=True)):
        if x in activity and i not in rule.passive:
            found = _mismatch(f"item {i} of the result of the vjp {name} is {item}", item, x)
            if found:
                return found
    return ""


def _wrong_jvp(s: Statement, rule: UserRule) -> str:
    """Return what is wrong with the jvp of a rule of arrays at a call; an empty text if nothing is."""
    if rule.jvp is None or not isinstance(s, Apply):
        return ""
    kinds = [x.type for x in s.operands]
    kind, failed = _returned(rule.jvp, [s.result.type, *kinds, *kinds])
    if failed:
        return failed
    return _mismatch(f"the jvp {rule.jvp.py_func.__name__} returns {kind}", kind, s.result)


def _returned(function: Any, kinds: list[Any]) -> tuple[Any, str]:
    """Return the type of the result of a user's derivative, and why there is none."""
    try:
        return types.unliteral(result_type(function, kinds)), ""
    except TypeError as error:
        shown = ", ".join(map(str, kinds))
        return None, (
            f"Numba does not compile {function.py_func.__name__}, the derivative of a rule, for ({shown}): {error}"
        )


def _mismatch(given: str, kind: Any, x: Any) -> str:
    rank = x.type.ndim if isinstance(x, Array) else 0
    item = kind
    if rank:
        item = kind.dtype if isinstance(kind, types.Array) and kind.ndim == rank else None
    if isinstance(item, (types.Float, types.Integer)):
        return ""
    wanted = f"an array of floats with {rank} dimensions" if rank else "a float"
    return f"{given}, but it must be {wanted}, as the operand is {x.type}"
