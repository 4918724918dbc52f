"""Array names that a loop rebinds, as in ``x = F @ x``: memory of their own that each iteration writes at its end.

A loop carries the items of a tuple instead of the tuple.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jittape.errors import NoGradientError
from jittape.numba_ad.lower.array_names import TupleItems, is_live, is_shared, tuple_items, tuple_shape
from jittape.numba_ad.lower.build_ir import Builder
from jittape.numba_ad.lower.dead_statements import operands_of
from jittape.numba_ad.lower.merged_arrays import is_inside
from jittape.numba_ad.lower.whole_arrays import as_lazy, assign, materialize
from jittape.numba_ad.structured_ir import (
    Array,
    Constant,
    Dim,
    Loop,
    Resize,
    Root,
    Statement,
    Store,
    Value,
    walk,
)

__all__ = ["CarriedArrays", "CarriedTuples", "check_origins"]


@dataclass(eq=False)
class _Carried:
    """The array before the loop, the memory of the name in the loop, and the statements that fill it.

    It is `owned` if no other name refers to the array before the loop.
    """

    origin: Array
    storage: Array
    copy: list[Statement]
    owned: bool
    epochs: tuple[int, int] = (0, 0)

    @property
    def other_memory(self) -> tuple[tuple[Root, int], ...]:
        """The memory that other names may refer to if the name refers to the array before the loop."""
        root = self.origin.root
        return () if self.owned else (*root.origins, (root, root.epoch))

    def now(self) -> tuple[int, int]:
        """Return the numbers of writes so far."""
        return self.origin.root.epoch, self.storage.root.epoch


class CarriedArrays:
    """The names of arrays that a loop rebinds.

    An iteration reads the memory of a name and binds the name to new arrays. At its end, the last of them is copied
    into the memory. The memory is not written otherwise if another name refers to the array from before the loop,
    which is Python's array in the first iteration, or without iterations.
    """

    def __init__(self, builder: Builder, frame: Any, origins: dict[str, Array]) -> None:
        self._builder = builder
        self._frame = frame
        self._carried: dict[str, _Carried] = {}
        for name, origin in origins.items():
            position = len(builder.block.statements)
            storage = materialize(builder, as_lazy(builder, origin), name)
            storage.type = storage.type.copy(layout=origin.type.layout)
            copy = [
                s
                for s in builder.block.statements[position:]
                if s is storage.statement or isinstance(s, Loop)
            ]
            self._carried[name] = _Carried(origin, storage, copy, not is_shared(frame, origin.root, name))

    def begin(self) -> dict[str, Array]:
        """Return the arrays of the names at the beginning of an iteration."""
        for one in self._carried.values():
            one.epochs = one.now()
            one.storage.root.origins = one.other_memory
        return {name: one.storage for name, one in self._carried.items()}

    def finish(self, loop: Loop, after: dict[str, Any], wanted: set[str]) -> dict[str, Array]:
        """Append the copies at the end of an iteration; return the arrays after the loop.

        Refuse a name that the loop reads but does not bind to a new array in each iteration. Leave out other such
        names, and names that are read neither in the loop nor outside it (`wanted`).
        """
        read = self._read_roots(loop, after)
        kept: dict[str, Array] = {}
        for name, one in self._carried.items():
            used = one.storage.root in read
            if (used or name in wanted) and self._is_copyable(name, after, loop):
                kept[name] = after[name]
                continue
            if used:
                raise self._refusal(name)
            self._remove(one)
        for one in self._carried.values():
            one.storage.root.origins = ()
        self._builder.inside(loop.body, lambda: self._copy(kept))
        memory = {one.storage.root for one in self._carried.values()}
        for name, value in kept.items():
            one = self._carried[name]
            others = [
                (root, root.epoch if root in memory else epoch)
                for root, epoch in value.root.origins
                if root is not one.storage.root
            ]
            one.storage.root.origins = (*one.other_memory, *others)
        return {name: self._carried[name].storage for name in kept}

    def drop(self) -> None:
        """Remove the copies before the loop, which is lowered again."""
        for one in self._carried.values():
            self._remove(one)
            one.storage.root.origins = ()

    def _remove(self, one: _Carried) -> None:
        outer = self._builder.block
        outer.statements = [s for s in outer.statements if s not in one.copy]

    def _read_roots(self, loop: Loop, after: dict[str, Any]) -> set[Root]:
        blocks = [block for block in (loop.header, loop.body) if block is not None]
        found = {
            x.root for block in blocks for s in walk(block) for x in operands_of(s) if isinstance(x, Array)
        }
        return found | {value.root for name in self._carried if isinstance(value := after.get(name), Array)}

    def _is_copyable(self, name: str, after: dict[str, Any], loop: Loop) -> bool:
        """Return whether nothing but the copies can change the array that the name has after an iteration."""
        one, value = self._carried[name], after.get(name)
        if not isinstance(value, Array) or not self._is_unchanged(one):
            return False
        if (value.type.dtype, value.type.ndim) != (one.storage.type.dtype, one.storage.type.ndim):
            return False
        if not {root for root, _ in value.root.origins}.isdisjoint(_written_roots(loop)):
            return False
        written = any(other.storage.root.epoch != other.epochs[1] for other in self._carried.values())
        if written and is_shared(self._frame, value.root, name):
            return False  # two names of an array that an iteration writes would be two arrays in the next one
        source = [other for other in self._carried.values() if other.storage.root is value.root]
        return all(self._is_unchanged(other) for other in source) and (
            bool(source) or is_inside(value.root.block, loop.body)
        )

    def _is_unchanged(self, one: _Carried) -> bool:
        """Return whether an iteration writes neither the array before the loop nor the memory, unless it is owned."""
        before, memory = one.now()
        return before == one.epochs[0] and (one.owned or memory == one.epochs[1])

    def _copy(self, kept: dict[str, Array]) -> None:
        """Copy the last arrays of an iteration, first those that are memory of another name."""
        builder = self._builder
        roots = {self._carried[name].storage.root for name in kept}
        values = {name: value for name, value in kept.items() if value is not self._carried[name].storage}
        for name, value in values.items():
            for axis in range(value.type.ndim):
                sizes = [builder.dim(x, axis) for x in (self._carried[name].storage, value)]
                message = (
                    f"{builder.where.file}:{builder.where.line}: the array {name} changes its shape in the loop "
                    "(gradients need one shape)"
                )
                builder.effect(f"if {{0}} != {{1}}: raise ValueError({message!r})", sizes)
            if value.root in roots:
                values[name] = materialize(builder, as_lazy(builder, value), name)
        for name, value in values.items():
            assign(builder, self._carried[name].storage, value)

    def _refusal(self, name: str) -> NoGradientError:
        return self._builder.refusal(
            f"`{name}` may be undefined or refer to another array in the next iteration",
            "Bind it to a new array in each iteration, as in `u = u + v`, and write to no other name of the array; "
            "or write into the array, as in `u[:] = v`. To swap it with an argument, copy that before the loop, as in "
            "`u = u.copy()`.",
        )


def _written_roots(loop: Loop) -> set[Root]:
    return {s.array.root for s in walk(loop.body) if isinstance(s, (Store, Resize))}


def check_origins(builder: Builder, loop: Loop) -> None:
    """Refuse a loop that reads an array which was rebound before, and then writes one that it can be."""
    blocks = [block for block in (loop.header, loop.body) if block is not None]
    for statement in [s for block in blocks for s in walk(block) if not isinstance(s, Dim)]:
        for x in operands_of(statement):
            if isinstance(x, Array) and not is_inside(x.root.block, loop.body):
                builder.check_origin(x)


class CarriedTuples(TupleItems):
    """The names of tuples that a loop binds again: their items have names of their own in the loop, ``name.0``.

    Parameters
    ----------
    frame : Frame
        The call that has the loop.
    assigned : list of str
        Names that the loop assigns.
    shapes : dict
        What the tuples of these names have been found to be made of; None if an iteration changes it. The loop is
        lowered again when this becomes known.
    """

    def __init__(self, frame: Any, assigned: list[str], shapes: dict[str, Any]) -> None:
        super().__init__({})
        self._shapes = shapes
        for name in assigned:
            value = frame.variables.get(name)
            if isinstance(value, tuple) and is_live(frame, name) and shapes.get(name, value) is not None:
                shapes[name] = tuple_shape(value)
            elif isinstance(value, tuple) or not getattr(value, "undefined", value is None):
                continue
            if shapes.get(name) is not None:
                self.tuples[name] = shapes[name]

    def join(self, variables: dict[str, Any]) -> None:
        """Put the tuples in place of their items; a tuple with an item that cannot be read cannot be read."""
        super().join(variables)
        for name, shape in self.tuples.items():
            items = tuple_items(name, shape, variables.get(name)).values()
            unusable = [one for one in items if not isinstance(one, (Array, Constant, Value))]
            if unusable:
                variables[name] = unusable[0]
            if variables.get(name) is None:
                variables.pop(name, None)

    def have_items(self, variables: dict[str, Any], outside: set[str]) -> bool:
        """Return whether the tuples at the end of an iteration are made of the same; note it if one is not.

        A tuple that only the loop binds, and that is read after it (`outside`), is noted, too.
        """
        same = True
        for name, shape in self.tuples.items():
            value = variables.get(name)
            if not isinstance(value, tuple) or tuple_shape(value) != shape:
                self._shapes[name], same = None, False
        for name in outside - self.tuples.keys() - self._shapes.keys():
            value = variables.get(name)
            if isinstance(value, tuple):
                shape = tuple_shape(value)
                numbers = all(
                    isinstance(one, (Constant, Value)) for one in tuple_items(name, shape, value).values()
                )
                self._shapes[name], same = shape if numbers else None, False
        return same
