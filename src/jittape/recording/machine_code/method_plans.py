"""Plans of calls: the body and the parameters that a method of a tensor, or a function, records for given arguments.

Machine code asks for a plan once per function and arguments, and records later calls by itself. A plan only names the
edge of the trie; if Python has recorded another one, for instance because of the tensor's dtype, machine code finds no
edge and calls the Python method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from jittape.core.primitive import active_recorder, replace_recorder
from jittape.recording.machine_code.path_tables import (
    BOOL_NEXT,
    FLOAT_OPERAND,
    INT_OPERAND,
    LIST_BEGINS,
    METHOD_PLANS,
    SEQUENCE_ENDS,
    TENSOR_OPERAND,
    TUPLE_BEGINS,
)

__all__ = ["plan_function", "plan_method"]

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


class _Results(_Operand):
    """The results of a call, of which a function may only make a list."""

    def __init__(self) -> None:
        self.item = _Operand()

    def __iter__(self) -> Iterator[_Operand]:
        return iter((self.item,))


class _OneCall:
    """A recorder of one call."""

    intervals: Sequence[Any] = ()
    traced_in: Any = None

    def __init__(self) -> None:
        self.call: tuple[Any, ...] | None = None
        self.result = _Results()

    def apply(
        self, body: Callable[..., Any], arrays: tuple[Any, ...], static: tuple[Any, ...] = ()
    ) -> _Operand:
        if self.call is not None:
            raise _Found
        self.call = body, arrays, static
        return self.result

    def bind(self, *_: Any) -> Any:
        raise _Found


def plan_method(key: tuple[Any, ...]) -> tuple[Any, ...] | bool:
    """Return the plan for a key of `METHOD_PLANS`, and add it: the method runs with a recorder of one call."""
    import_module("jittape.numpy_api.numpy_functions")  # its adapters are imported by the true recorder
    plan = _planned(key, [_Operand()])
    return _kept(key, plan[:2] if isinstance(plan, tuple) and plan[2] is None else False)


def plan_function(key: tuple[Any, ...]) -> tuple[Any, ...] | bool:
    """Return the plan for the call of a function, as `plan_method` does.

    Its third item is the type `list` if the function makes a list of the results, else None.
    """
    return _kept(key, _planned(key, []))


def _kept(key: tuple[Any, ...], plan: tuple[Any, ...] | bool) -> tuple[Any, ...] | bool:
    if len(METHOD_PLANS) >= _MOST:
        METHOD_PLANS.clear()
    METHOD_PLANS[key] = plan
    return plan


def _planned(key: tuple[Any, ...], own: list[Any]) -> tuple[Any, ...] | bool:
    """Return body, parameters and conversion of the call that a function records; `own` is the method's tensor."""
    function, names, *parts = key
    operands = [*own]
    following = iter(parts)
    arguments = [_argument(part, following, operands) for part in following]
    by_position = len(arguments) - len(names or ())
    given = dict(zip(names or (), arguments[by_position:], strict=True))
    recorder, before = _OneCall(), active_recorder()
    replace_recorder(recorder)
    try:
        result = function(*own, *arguments[:by_position], **given)
    except Exception:  # also errors of bad arguments, which the function raises again
        return False
    finally:
        replace_recorder(before)
    if recorder.call is None:
        return False
    body, arrays, static = recorder.call
    if len(arrays) != len(operands) or not all(a is o for a, o in zip(arrays, operands, strict=True)):
        return False
    if result is recorder.result:
        return body, static, None
    is_list = result.__class__ is list and len(result) == 1 and result[0] is recorder.result.item
    return (body, static, list) if is_list else False


_MAKERS: dict[Any, Callable[[], Any]] = {
    TENSOR_OPERAND: _Operand,
    FLOAT_OPERAND: lambda: float("1.5"),  # another object each time
    INT_OPERAND: lambda: int("1000003"),
}
_SEQUENCES: dict[Any, type] = {LIST_BEGINS: list, TUPLE_BEGINS: tuple}


def _argument(part: Any, following: Iterator[Any], operands: list[Any]) -> Any:
    """Return the argument that a part of a key stands for; add it to the `operands` if it is one."""
    if part.__class__ is not object:
        return part
    if part is BOOL_NEXT:
        return next(following)
    if part in _SEQUENCES:
        items = iter(partial(next, following), SEQUENCE_ENDS)
        return _SEQUENCES[part]([_argument(item, following, operands) for item in items])
    operands.append(_MAKERS[part]())
    return operands[-1]
