"""Traces whose values have extents in their shapes: of a function, and of the bodies of its loops and branches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Any

import numpy as np

from jittape.core.buffers import Buffer
from jittape.core.program import Aval
from jittape.core.symbolic.extent_functions import is_extent_of
from jittape.core.symbolic.extents import Extent, Extents, hint_of
from jittape.core.symbolic.memo_keys import memo_keys
from jittape.errors import ProgramError
from jittape.recording.body_tracing import BodyTrace, Recorded
from jittape.recording.function_trace import FunctionTrace, Leaf
from jittape.recording.shapes.extent_tensor import ExtentTensor, extent_tensor
from jittape.recording.symbolic_trace import SymbolicTrace
from jittape.recording.tensor import Tensor
from jittape.recording.trace import Trace
from jittape.recording.trie import trie
from jittape.recording.variable import Variable

__all__ = ["ExtentTrace", "body_trace"]


class _WithExtents(SymbolicTrace):
    """A trace of values with extents in their shapes.

    Attributes
    ----------
    extents : Extents
        They hash by their expressions while jittape's code runs, and by their values in the user's.
    """

    extents: Extents

    def apply(self, body: Callable[..., Any], arrays: tuple[Any, ...], static: tuple[Any, ...] = ()) -> Any:
        """Record a call, as `Trace.apply` does; parameters and operands may be extents."""
        with self.deriving(), memo_keys():  # the trie is a memory of calls
            return super().apply(body, arrays, static)

    def deriving(self) -> AbstractContextManager[Any]:
        """Return a context for code that is not the user's."""
        return self.extents.hashed_by_expression()

    def shape_tensor(self, numbers: Any, dtype: np.dtype[Any]) -> Any:
        """Return the integers of a shape as a tensor; it knows the extents among them."""
        parts = numbers if type(numbers) is tuple else (numbers,)
        if not any([is_extent_of(n, self.extents) for n in parts]):
            return super().shape_tensor(numbers, dtype)
        return extent_tensor(numbers, dtype)

    def known_extents(self, value: Any, kinds: str) -> Any:
        """Return what `jittape.primitives.shape.shape_extents.known_extents` does."""
        if value.__class__ is ExtentTensor:
            return value.extents
        if value._buffer is not None or value._aval.dtype.kind not in kinds or len(value._aval.shape) > 1:
            return None
        numbers = self.known_numbers(value)
        if numbers is None:
            return None
        return tuple(numbers) if value._aval.shape else numbers[0]

    def _recordable(self, a: Any) -> Any:
        return a if a.__class__ is Extent else super()._recordable(a)

    def _any_operands(
        self, parts: list[Any], arrays: tuple[Any, ...]
    ) -> tuple[list[Any], list[Tensor | Variable], list[Any]]:
        """Return what `Trace._any_operands` does; an extent is a number that other calls compute."""
        parts, fresh, scalars = super()._any_operands(parts, tuple(map(hint_of, arrays)))
        given = iter([a for a in arrays if not isinstance(a, (Tensor, Variable))])
        return parts, fresh, [a if a.__class__ is Extent else s for s, a in zip(scalars, given, strict=True)]


class ExtentTrace(_WithExtents, FunctionTrace):
    """The trace of a function with extents in the avals of its placeholders.

    Parameters
    ----------
    name, leaves, may_create
        As for `FunctionTrace`.
    extents : Extents
    """

    def __init__(self, name: str, leaves: Sequence[Any], may_create: bool, extents: Extents) -> None:
        FunctionTrace.__init__(self, name, leaves, may_create)
        self.extents = extents

    def placeholders(
        self, avals: Sequence[tuple[int, Aval]], same: Mapping[int, int] = MappingProxyType({})
    ) -> dict[int, Tensor]:
        """Do what `FunctionTrace.placeholders` does."""
        with self.deriving():
            return super().placeholders(avals, same)

    def created(self, initial: Tensor) -> Buffer:
        """Return the initial value of a Variable, as `FunctionTrace.created` does."""
        if self.owns(initial) and any([isinstance(s, Leaf) for s in self.program((initial._slot,))[1]]):
            raise ProgramError(
                "the arguments, which determine a Variable, have other extents than the placeholders"
            )
        return super().created(initial)

    def assign_shape(self, variable: Variable, value: Tensor) -> None:
        """End the tracing: guards on the shapes of Variables hold for plain numbers."""
        raise self.needed("the shape of a Variable")


class _ExtentBodyTrace(_WithExtents, BodyTrace):
    """The trace of a body within an `ExtentTrace`. Its paths have a root of their own, as no other trace uses them."""

    def __init__(self, op: str, outer: _WithExtents, function: Callable[..., Any], trips: int | None) -> None:
        BodyTrace.__init__(self, op, outer, function, trips)
        self.extents = outer.extents
        self._root = self.node = trie.separate_root()

    def finished(self, results: Sequence[Tensor], count: int) -> Recorded:
        """Do what `BodyTrace.finished` does."""
        with self.deriving():
            return super().finished(results, count)

    def close(self) -> None:
        """End the recording."""
        trie.forget(self._root)
        super().close()


def body_trace(op: str, outer: Trace, function: Callable[..., Any], trips: int | None) -> BodyTrace:
    """Return the trace of a body, with the arguments of `BodyTrace`."""
    made = _ExtentBodyTrace if isinstance(outer, _WithExtents) else BodyTrace
    return made(op, outer, function, trips)  # type: ignore[arg-type]
