"""`ExtentTrace`: the trace of a function whose arguments have extents in their shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Any

from jittape.core.program import Aval
from jittape.core.symbolic.extents import Extent, Extents, hint_of
from jittape.recording.function_trace import FunctionTrace
from jittape.recording.tensor import Tensor
from jittape.recording.variable import Variable

__all__ = ["ExtentTrace"]


class ExtentTrace(FunctionTrace):
    """The trace of a function with extents in the avals of its placeholders.

    Parameters
    ----------
    name, leaves
        As for `FunctionTrace`.
    extents : Extents
        They hash by their expressions while jittape's code runs, and by their values in the user's.
    """

    def __init__(self, name: str, leaves: Sequence[Any], extents: Extents) -> None:
        super().__init__(name, leaves, False)
        self.extents = extents

    def placeholders(
        self, avals: Sequence[tuple[int, Aval]], same: Mapping[int, int] = MappingProxyType({})
    ) -> dict[int, Tensor]:
        """Do what `FunctionTrace.placeholders` does."""
        with self.deriving():
            return super().placeholders(avals, same)

    def apply(self, body: Callable[..., Any], arrays: tuple[Any, ...], static: tuple[Any, ...] = ()) -> Any:
        """Record a call, as `Trace.apply` does; parameters and operands may be extents."""
        with self.deriving():
            return super().apply(body, arrays, static)

    def deriving(self) -> AbstractContextManager[Any]:
        """Return a context for code that is not the user's."""
        return self.extents.hashed_by_expression()

    def _recordable(self, a: Any) -> Any:
        return a if a.__class__ is Extent else super()._recordable(a)

    def _any_operands(
        self, parts: list[Any], arrays: tuple[Any, ...]
    ) -> tuple[list[Any], list[Tensor | Variable], list[Any]]:
        """Return what `Trace._any_operands` does; an extent is a number that other calls compute."""
        parts, fresh, scalars = super()._any_operands(parts, tuple(map(hint_of, arrays)))
        given = iter([a for a in arrays if not isinstance(a, (Tensor, Variable))])
        return parts, fresh, [a if a.__class__ is Extent else s for s, a in zip(scalars, given, strict=True)]
