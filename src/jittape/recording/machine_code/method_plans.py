"""Plans of method calls: the body and the parameters that a method of a tensor records for given arguments.

Machine code asks for a plan once per method and arguments, and records later calls by itself. A plan only names the
edge of the trie; if Python has recorded another one, for instance because of the tensor's dtype, machine code finds no
edge and calls the Python method.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from jittape.core.primitive import active_recorder, replace_recorder
from jittape.recording.machine_code.path_tables import (
    FLOAT_OPERAND,
    INT_OPERAND,
    METHOD_PLANS,
    TENSOR_OPERAND,
)

__all__ = ["plan_method"]

_MOST = 4096
"""Maximum number of plans; then all are dropped. An entry takes some 300 bytes."""


class _Float:
    """An aval of which a method may only ask whether it is that of a float."""

    class dtype:
        kind = "f"


class _Operand:
    """A tensor without shape and value, so that a method whose call depends on them has no plan."""

    _aval = _Float


class _Found(Exception):
    """The method does more than to record one call."""


class _OneCall:
    """A recorder of one call."""

    intervals: Sequence[Any] = ()
    traced_in: Any = None

    def __init__(self) -> None:
        self.call: tuple[Any, ...] | None = None
        self.result = _Operand()

    def apply(
        self, body: Callable[..., Any], arrays: tuple[Any, ...], static: tuple[Any, ...] = ()
    ) -> _Operand:
        if self.call is not None:
            raise _Found
        self.call = body, arrays, static
        return self.result

    def bind(self, *_: Any) -> Any:
        raise _Found


def plan_method(key: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]] | bool:
    """Return the plan for a key of `METHOD_PLANS`, and add it: the method runs with a recorder of one call."""
    method, names, *parts = key
    import_module("jittape.numpy_api.numpy_functions")  # its adapters are imported by the true recorder
    makers: dict[Any, Callable[[], Any]] = {
        TENSOR_OPERAND: _Operand,
        FLOAT_OPERAND: lambda: float("1.5"),  # another object each time
        INT_OPERAND: lambda: int("1000003"),
    }
    arguments = [makers[p]() if p.__class__ is object and p in makers else p for p in parts]
    own = _Operand()
    operands = [own, *[a for a, p in zip(arguments, parts, strict=True) if a is not p]]
    n_named = len(names or ())
    given = dict(zip(names or (), arguments[len(arguments) - n_named :], strict=True))
    recorder, before = _OneCall(), active_recorder()
    replace_recorder(recorder)
    try:
        result = method(own, *arguments[: len(arguments) - n_named], **given)
    except Exception:  # also errors of bad arguments, which the method raises again
        result = None
    finally:
        replace_recorder(before)
    plan: tuple[Callable[..., Any], tuple[Any, ...]] | bool = False
    if recorder.call is not None and result is recorder.result:
        body, arrays, static = recorder.call
        if len(arrays) == len(operands) and all(a is o for a, o in zip(arrays, operands, strict=True)):
            plan = body, static
    if len(METHOD_PLANS) >= _MOST:
        METHOD_PLANS.clear()
    METHOD_PLANS[key] = plan
    return plan
