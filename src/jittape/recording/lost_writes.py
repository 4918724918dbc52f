"""Writes that would be lost, because they go to a copy that only the call refers to: ``np.add(a, b, out=z[0])``.

In NumPy, ``z[0]`` is a view, so such a write reaches ``z``. Here ``z[0]`` is a copy. The number of references to the
target tells whether anything besides the call refers to it. Reading a part of a tensor therefore costs nothing more.
"""

from __future__ import annotations

from functools import cache
from sys import getrefcount
from typing import Any, cast

import numpy as np

from jittape.value_classes import NamedTuple

__all__ = ["LOST", "LOST_ROW", "ROW", "references_of_call", "refuse_lost_out", "refuse_lost_outs"]

ROW: Any = ("row",)
"""Mark of a tensor that iteration gave."""
LOST = (
    "the write would be lost: nothing else refers to this tensor, since a part of a tensor is a copy. Assign the "
    "result to the part, as in `z[0] = result`, or give the tensor a name"
)
LOST_ROW = (
    "a tensor that iteration gives is a copy: a write to it does not reach the tensor that is iterated over. Use "
    "`for i in range(len(z)): z[i, ...] = value`, or write to a copy of your own: `row = row.copy()`"
)


class References(NamedTuple):
    """References to a temporary during a call, counted where the function of that name counts them.

    Attributes
    ----------
    method : int
        By `Tensor._require_kept`, in a function that has the temporary as a parameter.
    out, outs : tuple of int
        By `refuse_lost_out` and `refuse_lost_outs`: see `_role`.
    """

    method: int
    out: tuple[int, ...]
    outs: tuple[int, ...]


def refuse_lost_outs(
    caller: Any, outs: tuple[Any, ...], inputs: tuple[Any, ...], known: tuple[int, ...]
) -> None:
    """Raise `TypeError` if a ufunc whose ``__array_ufunc__`` of `caller` runs would write to a temporary.

    NumPy makes the tuple `outs` itself, and then one more thing refers to each tensor, or the user makes it, and then
    one more thing refers to the tuple.
    """
    for i, target in enumerate(outs):
        if hasattr(target, "aval"):
            role = _role(target, caller, (*inputs, *outs[:i]))
            spare = getrefcount(target) + getrefcount(outs) - known[role]
            target._refuse_if_lost(spare)


def refuse_lost_out(caller: Any, target: Any, arguments: Any, known: tuple[int, ...]) -> None:
    """Raise `TypeError` if a function whose ``__array_function__`` of `caller` runs would write to a temporary."""
    if hasattr(target, "aval"):
        spare = getrefcount(target) - known[_role(target, caller, arguments)]
        target._refuse_if_lost(spare)


def _role(target: Any, caller: Any, arguments: Any) -> int:
    """Return 2 if the protocol of `target` runs, 0 if an earlier argument has its type, 1 otherwise.

    NumPy collects the first argument of each type that has the protocol, and then refers to it once more.
    """
    if target is caller:
        return 2
    return 0 if caller.__class__ is target.__class__ or _any_of(target.__class__, arguments) else 1


def _any_of(kind: type, arguments: Any) -> bool:
    return any(x.__class__ is kind or (isinstance(x, (list, tuple)) and _any_of(kind, x)) for x in arguments)


_UNKNOWN = (0, 0, 0)


class _Probe:
    """An operand that counts its references as a tensor does."""

    __slots__ = ("counts",)
    aval = None

    def __init__(self, counts: list[int]) -> None:
        self.counts = counts

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> None:
        refuse_lost_outs(self, kwargs["out"], inputs, _UNKNOWN)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> None:
        refuse_lost_out(self, kwargs["out"], args, _UNKNOWN)

    def _refuse_if_lost(self, count: int) -> None:
        self.counts.append(count)

    def _require_kept(self) -> None:
        self.counts.append(getrefcount(self))


class _OtherProbe(_Probe):
    """An operand of another type."""

    __slots__ = ()


def _method_of(target: Any) -> None:
    target._require_kept()


@cache
def references_of_call() -> References:
    """Return the references to temporaries, measured once; zeros if Python does not count those of names."""
    counts: list[int] = []
    named: Any = _Probe(counts)
    _method_of(named)
    _method_of(_Probe(counts))
    total, add = cast("Any", np.sum), cast("Any", np.add)
    for operand in (named, _OtherProbe(counts), 1.0):
        total(operand, out=_Probe(counts))
        add(operand, 1.0, out=_Probe(counts))
    of_name, method, *others = counts
    if of_name <= method:
        return References(0, _UNKNOWN, _UNKNOWN)
    return References(method, tuple(others[0::2]), tuple(others[1::2]))
