"""Reads and writes of arrays at arrays of ints and at masks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numba import types

from jittape.numba_ad.lower.build_ir import Builder, constant
from jittape.numba_ad.lower.whole_arrays import Lazy, as_lazy, check_unwritten, materialize
from jittape.numba_ad.structured_ir import Array, Scalar

__all__ = ["Mask", "Places", "selection"]


@dataclass(eq=False)
class Places:
    """The places along an axis that an array of ints names; a place may occur several times."""

    array: Array
    axis: int
    index: Lazy

    def _indices(self, indices: list[Scalar]) -> list[Scalar]:
        place = self.index.element([indices[self.axis]])
        return [*indices[: self.axis], place, *indices[self.axis + 1 :]]

    def _dims(self, builder: Builder) -> list[Scalar]:
        dims = [builder.dim(self.array, axis) for axis in range(self.array.type.ndim)]
        dims[self.axis] = self.index.dims[0]
        return dims

    def read(self, builder: Builder) -> Array:
        """Return a new array of the elements."""
        check_unwritten(builder, self.index)
        whole = as_lazy(builder, self.array)
        lazy = Lazy(
            self._dims(builder),
            whole.dtype,
            lambda indices: whole.element(self._indices(indices)),
            whole.reads + self.index.reads,
        )
        return materialize(builder, lazy, self.array.name)

    def write(self, builder: Builder, value: Any) -> None:
        """Write a number, or one element after the other; of equal places, the last one remains."""
        check_unwritten(builder, self.index)
        lazy = _values(builder, self.array, value)
        dims = self._dims(builder)
        if len(lazy.dims) not in (0, len(dims)):
            raise builder.refusal("the value has another rank than the target", "Write a loop.")
        for size, other in zip(dims, lazy.dims, strict=False):
            builder.require_equal(size, other)

        def step(indices: list[Scalar]) -> None:
            element = lazy.element(indices if lazy.dims else [])
            builder.store(self.array, self._indices(indices), element)

        builder.nest(dims, step)


@dataclass(eq=False)
class Mask:
    """The elements, or with a vector as the mask the rows, at which an array of bools is true."""

    array: Array
    mask: Array

    def _nest(
        self, builder: Builder, carry: Scalar | None, visit: Callable[[list[Scalar], Any], None]
    ) -> Any:
        """Run `visit` for each true element of the mask; `carry` counts them."""
        mask = as_lazy(builder, self.mask)

        def step(indices: list[Scalar], count: Any) -> Any:
            true = mask.element(indices)
            then, orelse = builder.new_block(), builder.new_block()
            builder.inside(then, lambda: visit(indices, count))
            builder.branch(true, then, orelse)
            return None if count is None else builder.binary("Add", count, true)

        return builder.reduce(mask.dims, carry, step, "count")

    def _rest(self, builder: Builder) -> list[Scalar]:
        return [builder.dim(self.array, axis) for axis in range(self.mask.type.ndim, self.array.type.ndim)]

    def _count(self, builder: Builder) -> Scalar:
        """Return the number of true elements."""
        mask = as_lazy(builder, self.mask)
        return builder.reduce(
            mask.dims,
            constant(0),
            lambda indices, n: builder.binary("Add", n, mask.element(indices)),
            "count",
        )

    def read(self, builder: Builder) -> Array:
        """Return a new array of the elements, in their order in memory of C."""
        rest = self._rest(builder)
        result = builder.alloc(self.array.name, self.array.type.dtype, [self._count(builder), *rest])

        def copy(indices: list[Scalar], place: Scalar) -> None:
            builder.nest(
                rest,
                lambda more: builder.store(
                    result, [place, *more], builder.load(self.array, [*indices, *more])
                ),
            )

        self._nest(builder, constant(0), copy)
        return result

    def write(self, builder: Builder, value: Any) -> None:
        """Write a number, or the elements of an array one after the other."""
        lazy = _values(builder, self.array, value)
        rest = self._rest(builder)
        if not lazy.dims:

            def fill(indices: list[Scalar], _: Any) -> None:
                builder.nest(
                    rest, lambda more: builder.store(self.array, [*indices, *more], lazy.element([]))
                )

            self._nest(builder, None, fill)
            return
        if len(lazy.dims) != 1 + len(rest):
            raise builder.refusal("the value has another rank than the target", "Write a loop.")
        for size, other in zip(rest, lazy.dims[1:], strict=True):
            builder.require_equal(size, other)

        def copy(indices: list[Scalar], place: Scalar) -> None:
            builder.nest(
                rest, lambda more: builder.store(self.array, [*indices, *more], lazy.element([place, *more]))
            )

        builder.require_equal(self._count(builder), lazy.dims[0])
        self._nest(builder, constant(0), copy)


def _values(builder: Builder, target: Array, value: Any) -> Lazy:
    """Return the values to write; those that are read from the target are computed before the first write."""
    lazy = as_lazy(builder, value)
    check_unwritten(builder, lazy)
    if any(array.root is target.root for array, _ in lazy.reads):
        lazy = as_lazy(builder, materialize(builder, lazy, "copied"))
    return lazy


def selection(builder: Builder, array: Array, axis: int, index: Any, parts: int) -> Places | Mask:
    """Return what ``array[..., index, ...]`` selects; `parts` counts the parts of the index."""
    lazy = as_lazy(builder, index)
    if lazy.dtype == types.boolean:
        mask = index if isinstance(index, Array) else materialize(builder, lazy, "mask")
        if parts > 1 or len(lazy.dims) not in (1, array.type.ndim):
            raise builder.refusal(
                "a mask must be the only index, with the rank of the array or a vector", "Write a loop."
            )
        if mask.root is array.root:
            raise builder.refusal("an array cannot be its own mask", "Use another name.")
        for position, size in enumerate(lazy.dims):
            builder.require_equal(builder.dim(array, position), size)
        return Mask(array, mask)
    if not isinstance(lazy.dtype, types.Integer) or len(lazy.dims) != 1:
        raise builder.refusal("an index must be an int, a slice, a mask or a vector of ints", "Write a loop.")
    if any(read.root is array.root for read, _ in lazy.reads):
        lazy = as_lazy(builder, materialize(builder, lazy, "places"))
    return Places(array, axis, lazy)
