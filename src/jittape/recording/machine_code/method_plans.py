"""Plans of calls: the body and the parameters that a method of a tensor, or a function, records for given arguments.

Machine code asks for a plan once per function and arguments, in the second step that calls it, and records later calls
by itself. Many arguments, such as the shape for an array of a new length, are met in one step only, and making a plan
takes as long as ten calls. A plan only names the edge of the trie; if Python has recorded another one, for instance
because of the tensor's dtype, machine code finds no edge and calls the Python method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from jittape.core.config import config
from jittape.core.primitive import INTERRUPTED, active_recorder, replace_recorder
from jittape.recording.machine_code.path_tables import (
    BOOL_NEXT,
    FLOAT_NEXT,
    FLOAT_OPERAND,
    FUNCTION_CALLS,
    INT_OPERAND,
    LAST_PLANS,
    LIST_BEGINS,
    METHOD_PLANS,
    MOST_KEPT_BYTES,
    NUMBERS,
    SEQUENCE_ENDS,
    TENSOR_OPERAND,
    TUPLE_BEGINS,
)
from jittape.recording.tensor import Tensor
from jittape.recording.trace import Trace
from jittape.recording.trie_insertion import operand_of
from jittape.transform.templates import shared_parameters, types_of

__all__ = ["drop_plans", "plan_function", "plan_method"]

_MOST = 4096
"""Maximum number of plans; then all are dropped. An entry takes some 300 bytes."""
_met_at: dict[tuple[Any, ...], int] = {}
"""Keys without a plan that machine code has asked for, and the number of slots of the trace at the last time."""


class _Float:
    """An aval of which a method may only ask whether it is that of a float."""

    class dtype:
        kind = "f"


class _Operand:
    """A tensor without shape and value, so that a method whose call depends on them has no plan."""

    _aval = _Float


class _Results(_Operand):
    """The results of a call, of which a function may only make a list, a tuple or a named tuple."""

    def __init__(self, count: int) -> None:
        self.items = [_Operand() for _ in range(count)]

    def __iter__(self) -> Iterator[_Operand]:
        return iter(self.items)


class _OneCall:
    """A recorder of one call with these operands and numbers. It refuses all else, also that of a signal handler."""

    intervals: Sequence[Any] = ()
    traced_in: Any = None

    def __init__(self, operands: Sequence[Any], count: int) -> None:
        self.call: tuple[Any, ...] | None = None
        self.result = _Results(count)
        self._own = {id(operand) for operand in operands}

    def apply(
        self, body: Callable[..., Any], arrays: tuple[Any, ...], static: tuple[Any, ...] = ()
    ) -> _Operand:
        are_own = all(id(a) in self._own or type(a) in _NUMBERS for a in arrays)
        if self.call is not None or not are_own:
            INTERRUPTED.refuse()
        self.call = body, arrays, static
        return self.result

    def tensor_of_array(self, array: np.ndarray[Any, Any]) -> Tensor:
        return operand_of(array)

    def __getattr__(self, name: str) -> Any:
        return getattr(INTERRUPTED, name)


def plan_method(key: tuple[Any, ...]) -> tuple[Any, ...] | bool:
    """Return the plan for a key of `METHOD_PLANS`, and add it: the method runs with a recorder of one call.

    In the first step with this call, the result is False.
    """
    if _is_new(key):
        return False
    import_module("jittape.numpy_api.numpy_functions")  # its adapters are imported by the true recorder
    plan = _planned(key, [_Operand()])
    return _kept(key, plan[:2] if isinstance(plan, tuple) and plan[2:] == (None, None) else False)


def plan_function(key: tuple[Any, ...]) -> tuple[Any, ...] | bool:
    """Return the plan for the call of a function, as `plan_method` does.

    Its third item converts a tuple of results, or is None. Its fourth item is None if the operands are those of the
    call. Otherwise it has the number of an operand, or a constant in a tuple, for each operand of the recorded call.
    The plan of a function of numbers that records nothing has the array of its values in place of the body.
    """
    if _is_new(key):
        return False
    _kept(key, False)  # until the function has run: machine code takes the call of one that creates tensors
    if FUNCTION_CALLS[key[0]][1] == NUMBERS:
        return _kept(key, _run(key, [], 1, 0, keeps_values=True) or False)
    return _kept(key, _planned(key, []))


def drop_plans() -> None:
    """Forget all plans, whose parameters may depend on settings."""
    METHOD_PLANS.clear()
    _met_at.clear()
    LAST_PLANS[:] = [None] * len(LAST_PLANS)
    for call in FUNCTION_CALLS.values():
        if isinstance(call, tuple) and isinstance(call[0], list):
            call[0][0] = None


config.on_change(drop_plans)


def _is_new(key: tuple[Any, ...]) -> bool:
    """Return whether machine code asks for the plan of a call in the first step that has this call.

    The slots of a trace become more within a step, and begin anew with the next.
    """
    recorder: Any = active_recorder()
    slots = recorder.node.n_slots if recorder.__class__ is Trace else 0
    before = _met_at.pop(key, -1)
    if slots <= before:
        return False
    if len(_met_at) >= _MOST:
        _met_at.clear()
    _met_at[key] = slots
    return True


def _kept(key: tuple[Any, ...], plan: tuple[Any, ...] | bool) -> tuple[Any, ...] | bool:
    if len(METHOD_PLANS) >= _MOST:
        METHOD_PLANS.clear()
    METHOD_PLANS[key] = plan
    return plan


def _planned(key: tuple[Any, ...], own: list[Any]) -> tuple[Any, ...] | bool:
    """Return body, parameters, conversion and operands of the call that a function records.

    `own` is the method's tensor. The function runs with other numbers a second time: none may be in the parameters, or
    in a constant.
    """
    for count in range(1, _MOST_RESULTS + 1):
        plan = _run(key, own, count, 0)
        if plan is not None:
            return plan if _run(key, own, count, 1) == plan else False
    return False


_MOST_RESULTS = 3
"""Maximum number of results of a function that returns a tuple."""


def _run(
    key: tuple[Any, ...], own: list[Any], count: int, numbers: int, keeps_values: bool = False
) -> tuple[Any, ...] | None:
    """Return the plan, or None if the function does anything else than to return the `count` results of one call.

    With `keeps_values`, the plan of a function that records no call has the values of its result.
    """
    function, names, *parts = key
    operands = [*own]
    following = iter(parts)
    arguments = [_argument(part, following, operands, numbers) for part in following]
    by_position = len(arguments) - len(names or ())
    given = dict(zip(names or (), arguments[by_position:], strict=True))
    recorder, before = _OneCall(operands, count), active_recorder()
    replace_recorder(recorder)
    try:
        result = function(*own, *arguments[:by_position], **given)
    except Exception:  # also errors of bad arguments, which the function raises again
        return None
    finally:
        replace_recorder(before)
    if recorder.call is None:
        return _values_of(result) if keeps_values else None
    body, arrays, static = recorder.call
    static = shared_parameters(static, types_of(static))
    order = _order(arrays, operands)
    if result is recorder.result:
        return None if order is False else (body, static, None, order)
    items = recorder.result.items
    if order is False or not isinstance(result, (list, tuple)) or [*result] != items:
        return None
    if result.__class__ is tuple:
        return (body, static, None, order) if count > 1 else None
    if result.__class__ is list:
        return (body, static, list, order) if count == 1 else None
    return body, static, getattr(result.__class__, "_make", None), order


def _values_of(result: Any) -> tuple[Any, ...] | None:
    """Return the plan for a tensor that is computed and small, else None."""
    buffer = result._buffer if result.__class__ is Tensor else None
    if buffer is None or buffer.array.nbytes > MOST_KEPT_BYTES:
        return None
    return buffer.array, (), None, None


def _order(arrays: tuple[Any, ...], operands: list[Any]) -> tuple[Any, ...] | bool | None:
    """Return which operand each of the recorded call is, None if they are the same, False if one is anything else."""
    if len(arrays) == len(operands) and all(a is o for a, o in zip(arrays, operands, strict=True)):
        return None
    places = {id(operand): i for i, operand in enumerate(operands)}
    found: tuple[Any, ...] = tuple([places.get(id(a), (a,)) for a in arrays])
    is_known = all(type(n) is int or type(n[0]) in _NUMBERS for n in found)
    return found if is_known and len({n for n in found if type(n) is int}) == len(operands) else False


_NUMBERS = frozenset((int, float))

_MAKERS: dict[Any, Callable[[int], Any]] = {
    TENSOR_OPERAND: lambda number: _Operand(),
    FLOAT_OPERAND: lambda number: float(("1.5", "2.75")[number]),  # another object each time
    INT_OPERAND: lambda number: int(("1000003", "1000005")[number]),
}
_SEQUENCES: dict[Any, type] = {LIST_BEGINS: list, TUPLE_BEGINS: tuple}


def _argument(part: Any, following: Iterator[Any], operands: list[Any], numbers: int) -> Any:
    """Return the argument that a part of a key stands for; add it to the `operands` if it is one."""
    if part.__class__ is not object:
        return part
    if part is BOOL_NEXT or part is FLOAT_NEXT:
        return next(following)
    if part in _SEQUENCES:
        items = iter(partial(next, following), SEQUENCE_ENDS)
        return _SEQUENCES[part]([_argument(item, following, operands, numbers) for item in items])
    operands.append(_MAKERS[part](numbers))
    return operands[-1]
