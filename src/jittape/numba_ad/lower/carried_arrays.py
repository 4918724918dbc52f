"""Array names that a loop rebinds, as in ``x = F @ x``: memory of their own that each iteration writes at its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jittape.errors import NoGradientError
from jittape.numba_ad.lower.build_ir import Builder
from jittape.numba_ad.lower.dead_statements import operands_of
from jittape.numba_ad.lower.whole_arrays import as_lazy, assign, materialize
from jittape.numba_ad.structured_ir import Array, Block, Loop, Root, Statement, walk

__all__ = ["CarriedArrays"]


@dataclass(eq=False)
class _Carried:
    """The array before the loop, the memory of the name in the loop, and the statements that fill it."""

    origin: Array
    storage: Array
    copy: list[Statement]
    epochs: tuple[int, int] = (0, 0)

    def now(self) -> tuple[int, int]:
        """Return the numbers of writes so far."""
        return self.origin.root.epoch, self.storage.root.epoch


class CarriedArrays:
    """The names of arrays that a loop rebinds.

    An iteration reads the memory of a name and binds the name to new arrays. At its end, the last of them is copied
    into the memory. The memory is not written otherwise: in the first iteration, or without iterations, Python's
    array is that from before the loop, which can have other names.
    """

    def __init__(self, builder: Builder, origins: dict[str, Array]) -> None:
        self._builder = builder
        self._carried: dict[str, _Carried] = {}
        for name, origin in origins.items():
            position = len(builder.block.statements)
            storage = materialize(builder, as_lazy(builder, origin), name)
            copy = [
                s
                for s in builder.block.statements[position:]
                if s is storage.statement or isinstance(s, Loop)
            ]
            self._carried[name] = _Carried(origin, storage, copy)

    def begin(self) -> dict[str, Array]:
        """Return the arrays of the names at the beginning of an iteration."""
        for one in self._carried.values():
            one.epochs = one.now()
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
            if (used or name in wanted) and self._is_copyable(one, after.get(name), loop):
                kept[name] = after[name]
                continue
            if used:
                raise self._refusal(name)
            outer = self._builder.block
            outer.statements = [s for s in outer.statements if s not in one.copy]
        self._builder.inside(loop.body, lambda: self._copy(kept))
        for name in kept:
            one = self._carried[name]
            one.storage.root.origin = (one.origin.root, one.origin.root.epoch)
        return {name: self._carried[name].storage for name in kept}

    def _read_roots(self, loop: Loop, after: dict[str, Any]) -> set[Root]:
        blocks = [block for block in (loop.header, loop.body) if block is not None]
        found = {
            x.root for block in blocks for s in walk(block) for x in operands_of(s) if isinstance(x, Array)
        }
        return found | {value.root for name in self._carried if isinstance(value := after.get(name), Array)}

    def _is_copyable(self, one: _Carried, value: Any, loop: Loop) -> bool:
        """Return whether nothing but the copies can change the array that the name has after an iteration."""
        if not isinstance(value, Array) or one.now() != one.epochs:
            return False
        if (value.type.dtype, value.type.ndim) != (one.storage.type.dtype, one.storage.type.ndim):
            return False
        source = [other for other in self._carried.values() if other.storage.root is value.root]
        return all(other.now() == other.epochs for other in source) and (
            bool(source) or _is_inside(value.root.block, loop.body)
        )

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
            "or write into the array, as in `u[:] = v`.",
        )


def _is_inside(block: Block | None, outer: Block) -> bool:
    while block is not None:
        if block is outer:
            return True
        block = block.parent
    return False
