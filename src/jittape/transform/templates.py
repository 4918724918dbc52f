"""What a call or a gradient rule records, kept without its slots, to be put down again at another place.

An unrolled loop makes the same few calls at each of its steps. What the bodies and rules of `PURE` append is decided by
the avals of the operands, by which of them are one value, by the parameters and by the default float dtype, and by
nothing else: they read no values, no settings and no other ops, and call nobody. So such a body is run once for each of
these *situations*, and a `Template` of its ops is renumbered wherever the situation comes again. A body that raises
leaves no template, and is run again. Everything else (functions of the user's, loops, random numbers) is run each time.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from jittape.core.builder import Builder
from jittape.core.primitive import Primitive
from jittape.core.program import Aval, Op, SourceLine
from jittape.primitives.indexing.index_keys import Picking, Slicing

__all__ = ["Memory", "Template", "has_pure_rules", "is_pure", "kinds_of"]

PURE = ("jittape.primitives.", "jittape.optimizers.")
"""Modules whose functions record nothing but what their operands and parameters say."""

LIMIT = 20_000
"""So many slots are remembered at most, of all situations together; a typical program has a few hundred."""

_PLAIN = frozenset((bool, int, str, types.NoneType, Slicing, Picking))
_new: Any = tuple.__new__
"""Makes a named tuple in half the time that calling its class takes."""


class Template(NamedTuple):
    """Ops whose slots are counted from 0: first the new ones, then those that are given.

    Attributes
    ----------
    n_new : int
        How many slots there are besides the given ones.
    ops : tuple of Op
        Without source lines.
    avals : tuple of Aval
        Of what the ops give.
    """

    n_new: int
    ops: tuple[Op, ...]
    avals: tuple[Aval, ...]

    @classmethod
    def of(
        cls, ops: Iterable[Op], avals: Iterable[Aval], first: int, end: int, given: Sequence[Any]
    ) -> Template:
        """The template of ops on the slots from `first` to `end`, which are new, and on those in `given`."""
        slots = [*range(first, end), *given]
        number = {slot: i for i, slot in reversed(list(enumerate(slots)))}
        relative = [
            Op(op.primitive, tuple([number[slot] for slot in op.args]), op.params, number[op.out])
            for op in ops
        ]
        return cls(end - first, tuple(relative), tuple(avals))

    def slots(self, first: int, given: Sequence[Any]) -> Sequence[Any]:
        """What the slots are where the new ones begin at `first`."""
        return [*range(first, first + self.n_new), *given] if self.n_new else given

    def at(self, slots: Sequence[Any], source: SourceLine | None) -> list[Op]:
        """The ops on `slots`, as the user's line `source` records them."""
        slot = slots.__getitem__
        return [
            _new(Op, (primitive, tuple(map(slot, args)), params, slots[out], source))
            for primitive, args, params, out, _ in self.ops
        ]

    def put(self, builder: Builder, given: Sequence[int]) -> Sequence[int]:
        """Append the ops, which are all that is new, to what `builder` has; the slots are returned."""
        if not self.n_new:
            return given
        slots = self.slots(builder.next_slot, given)
        builder.ops += self.at(slots, builder.source)
        builder.avals.update(zip(slots, self.avals, strict=False))
        builder.next_slot += self.n_new
        return slots


Known = TypeVar("Known")


class Memory(Generic[Known]):
    """What is known of situations; emptied when it is full.

    Threads may use it at once: at worst they do a thing twice.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, Known] = {}
        self._n_slots = 0

    def __len__(self) -> int:
        return len(self._known)

    def find(self, template_key: Hashable) -> Known | None:
        """What was kept for a situation."""
        return self._known.get(template_key)

    def keep(self, template_key: Hashable, known: Known, n_slots: int) -> None:
        """Remember what is known, of `n_slots` slots, unless it is too large for that."""
        if n_slots >= LIMIT:
            return
        self._n_slots += n_slots + 1
        if self._n_slots > LIMIT:
            self._known.clear()
            self._n_slots = n_slots + 1
        self._known[template_key] = known


def is_pure(body: Callable[..., Any]) -> bool:
    """Whether what `body`, a primitive or a function, records is decided by its operands and parameters alone."""
    if isinstance(body, Primitive):
        return is_pure(body.abstract_eval) and (body.promote_args is None or is_pure(body.promote_args))
    return isinstance(body, types.FunctionType) and body.__module__.startswith(PURE)


def has_pure_rules(primitive: Primitive) -> bool:
    """Whether the same holds for the gradient rules of `primitive`."""
    rules = (primitive.vjp,) if callable(primitive.vjp) else primitive.vjp
    return all([rule is None or is_pure(rule) for rule in rules])


def kinds_of(parameters: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """What equal parameters may differ in: 1, True and 1.0 are equal, and so are 0.0 and -0.0.

    None if there is one among them that is no plain data.
    """
    kinds: list[Any] = []
    for value in parameters:
        kind: Any = value.__class__
        if kind is tuple:
            kind = kinds_of(value)
            if kind is None:
                return None
        elif kind is float or kind is complex:
            kind = repr(value)
        elif kind not in _PLAIN:
            if not isinstance(value, np.dtype):
                return None
            kind = np.dtype
        kinds.append(kind)
    return tuple(kinds)
