"""Variables among the arguments of a compiled function.

While the function is traced, a *placeholder* takes the place of each Variable, so that the trace holds for all
Variables of the same shape, dtype and trainability. A Variable is *pinned* if the trace was recorded with the Variable
itself, and holds for this Variable only: the function uses what distinguishes it from others (its name, its constraint,
its state in an optimizer), or also uses it from outside.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from jittape.core.program import Aval
from jittape.recording.function_trace import FunctionTrace
from jittape.recording.variable import Variable
from jittape.value_classes import value_class

__all__ = [
    "ArgumentVariable",
    "VariableGuard",
    "VariableKind",
    "kind_of_variable",
    "kinds_of",
    "to_pin",
    "variable_positions",
    "with_repeats",
    "with_variable_placeholders",
]


@value_class
class VariableKind:
    """The key of a Variable among the arguments.

    Attributes
    ----------
    aval : Aval
    trainable : bool
    same_as : int or None
        Position of the first leaf that is the same Variable; None for the first.
    """

    aval: Aval
    trainable: bool
    same_as: int | None = None

    def __str__(self) -> str:
        constant = "" if self.trainable else ", not trainable"
        return f"Variable {self.aval}{constant}" + (
            "" if self.same_as is None else f", the same as leaf {self.same_as}"
        )


@value_class
class ArgumentVariable:
    """A Variable that is argument number `number`, in place of the Variable that was traced."""

    number: int


def kind_of_variable(variable: Variable) -> VariableKind:
    """Return the key of a Variable, for one argument alone."""
    return VariableKind(variable._aval, variable._trainable)


def with_repeats(keys: tuple[Any, ...], leaves: Sequence[Any]) -> tuple[Any, ...]:
    """Return `keys`, in which repeated Variables refer to the first."""
    first: dict[int, int] = {}
    found = list(keys)
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, Variable) and first.setdefault(id(leaf), i) != i:
            found[i] = VariableKind(leaf._aval, leaf._trainable, same_as=first[id(leaf)])
    return tuple(found)


def kinds_of(leaves: Sequence[Any]) -> list[tuple[int, VariableKind]]:
    """Return positions and keys of the Variables among `leaves`."""
    keys = tuple([kind_of_variable(leaf) if isinstance(leaf, Variable) else None for leaf in leaves])
    return [(i, key) for i, key in enumerate(with_repeats(keys, leaves)) if key is not None]


def variable_positions(leaves: Sequence[Any]) -> set[int]:
    """Return the positions of the Variables."""
    return {i for i, leaf in enumerate(leaves) if isinstance(leaf, Variable)}


def with_variable_placeholders(
    tracing: FunctionTrace, leaves: list[Any], pinned: Collection[int]
) -> list[Any]:
    """Return `leaves` with placeholders for the Variables, except at the positions `pinned`."""
    return [
        tracing.variable_placeholder(i, leaf) if isinstance(leaf, Variable) and i not in pinned else leaf
        for i, leaf in enumerate(leaves)
    ]


def to_pin(tracing: FunctionTrace, leaves: Sequence[Any], failed: bool) -> set[int]:
    """Return the positions of Variables with placeholders that must be pinned, now that the function has run.

    If the function failed, created Variables or asked for a Variable itself, these are all Variables: it may compare
    them by identity. Otherwise they are the Variables that the function also uses from outside.
    """
    if not tracing.variable_placeholders:
        return set()
    if failed or tracing.made or tracing.variable_needed or tracing.needed_value is not None:
        return variable_positions(leaves)
    used = {id(variable) for variable in tracing.outer_variables()}
    return {
        i for i in variable_positions(leaves) if id(leaves[i]) in used and tracing.has_placeholder(leaves[i])
    }


class VariableGuard:
    """The Variables that a trace holds for.

    Parameters
    ----------
    tracing : FunctionTrace
        The trace of the function; its context must still be active.
    leaves : sequence
        The traced arguments.

    Attributes
    ----------
    free : tuple of int
        Positions of the Variables that had placeholders.
    pinned : dict of int to Variable
        The other Variables, by position.
    shapes : tuple of (Variable, tuple of int)
        The Variables from outside whose shape may change, with the shapes that the trace holds for.
    """

    def __init__(self, tracing: FunctionTrace, leaves: Sequence[Any]) -> None:
        positions = variable_positions(leaves)
        self.free = tuple([i for i in sorted(positions) if tracing.has_placeholder(leaves[i])])
        self.pinned = {i: leaves[i] for i in sorted(positions.difference(self.free))}
        outer = tracing.outer_variables()
        self._outer = outer if self.free else []
        self._outer_ids = frozenset(map(id, self._outer))
        declared = [v for v in outer if v._declared is not None]
        self._may_change = bool(declared)
        shapes = [(v, tracing.shape_changes.needed(v)) for v in declared]
        self.shapes = tuple([(v, shape) for v, shape in shapes if shape is not None])

    def holds(self, leaves: Sequence[Any]) -> bool:
        """Return whether the trace holds for the Variables among leaves of its keys, and for those from outside."""
        if self.shapes and self.changed_shape() is not None:
            return False
        for i, variable in self.pinned.items():
            if leaves[i] is not variable:
                return False
        return not self.free or self._outer_ids.isdisjoint([id(leaves[i]) for i in self.free])

    def changed_shape(self) -> tuple[Variable, tuple[int, ...]] | None:
        """Return a Variable from outside that has another shape now, with the shape that the trace holds for."""
        return next(((v, shape) for v, shape in self.shapes if v._aval.shape != shape), None)

    def may_change_shape(self, leaves: Sequence[Any]) -> bool:
        """Return whether the shape of a Variable, among the leaves or from outside, may change."""
        declared = [isinstance(leaf, Variable) and leaf._declared is not None for leaf in leaves]
        return self._may_change or any(declared)
